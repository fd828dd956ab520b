"""torch.cuda: CUDA devices, through CuPy."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
