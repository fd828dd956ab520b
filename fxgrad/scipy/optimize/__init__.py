"""`fxgrad.scipy.optimize`: minima, roots and fits by SciPy's own solvers, with derivatives of the solutions.

Solvers automatically receive gradients, Jacobians and products with Hessians. A solution is differentiated by the
implicit function theorem with respect to everything that the user's function reads, in both modes and to any order.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .minimization import *
    from .roots import *
    from .fitting import *
    from .programs import *

LazyPackage.of(__name__)
