"""`fxgrad.scipy.ndimage`: resampling and filters of images, with the names of scipy.ndimage."""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .filters import *
    from .geometry import *

LazyPackage.of(__name__, parts=("geometry", "filters"))
