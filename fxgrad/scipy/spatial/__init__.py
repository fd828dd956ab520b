"""`fxgrad.scipy.spatial`: distances, rotations and look-ups of neighbours with the names of scipy.spatial."""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import distance, transform
    from .trees import KDTree as KDTree
    from .trees import KDTree as cKDTree
    from .distance import distance_matrix as distance_matrix

LazyPackage.of(__name__)
