"""`fxgrad.scipy.integrate`: integrals of samples and of functions, and differential equations, by SciPy's names."""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .samples import *
    from .quadrature import *
    from .differential_equations import *
    from .boundary_values import *

LazyPackage.of(__name__)
