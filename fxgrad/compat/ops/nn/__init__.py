"""The operations of nn.functional: one file a family."""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
