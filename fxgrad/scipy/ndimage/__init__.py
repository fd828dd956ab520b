"""`fxgrad.scipy.ndimage`: resampling and filters of images, with the names of scipy.ndimage."""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .geometry import *
    from .filters import *

LazyPackage.of(__name__)
