"""`fxgrad.scipy.spatial`: distances, rotations and look-ups of neighbours with the names of scipy.spatial."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import distance, transform
    from .trees import *

LazyPackage.of(__name__)
