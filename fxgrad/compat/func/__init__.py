"""torch.func: transforms of functions of Tensors, which nest with one another and with `backward()`."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
