"""`fxgrad.scipy.integrate`: integrals of samples and of functions, and differential equations, by SciPy's names."""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .differential_equations import *
    from .quadrature import *
    from .samples import *

LazyPackage.of(__name__, parts=("samples", "quadrature", "differential_equations"))
