"""`fxgrad.scipy.interpolate`: interpolation, with the names of scipy.interpolate.

Interpolants are differentiable in the points of evaluation, in the values, and in the points of the values.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .piecewise import *
    from .splines import *
    from .lines import *
    from .grids import *
    from .radial import *

LazyPackage.of(__name__)
