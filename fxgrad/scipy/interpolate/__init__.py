"""`fxgrad.scipy.interpolate`: functions through given values, by the names of scipy.interpolate.

They have derivatives in the places at which they are asked, in the values, and in the places of these.
"""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from .grids import *
    from .lines import *
    from .piecewise import *
    from .splines import *

LazyPackage.of(__name__, parts=("piecewise", "splines", "lines", "grids"))
