"""torch.distributed.algorithms: uneven inputs, and hooks of communication."""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from .join import *

LazyPackage.of(__name__)
