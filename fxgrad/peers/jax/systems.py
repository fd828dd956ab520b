"""`jax.scipy.linalg`: linear systems and factors, which are NaN or infinite where SciPy refuses a matrix."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...numpy.linalg.matrices import as_inexact, as_square_matrix
from ...scipy import linalg as here
from ...scipy.linalg.systems import apply_transposition
from ...scipy.linalg.systems import solve_triangle as solve_columns_of
from . import linalg
from .dtypes import result_type
from .lifting import lift
from .numpy import asarray

__all__ = ["cho_factor", "cho_solve", "cholesky", "inv", "solve", "solve_triangular", "sqrtm"]


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return U with A = UᴴU, or with `lower` L with A = LLᴴ, of the Hermitian matrix of which a triangle is given; NaN
    if it is not definite."""
    return linalg.cholesky(a, upper=not lower, symmetrize_input=False)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Return the factor, and which it is, for `cho_solve`."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with ax = b for the factor of a, which is NaN where that is."""
    return solve_by_factor(c_and_lower, b, check_finite=False)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the inverse, which is NaN for a singular matrix."""
    return linalg.inv(a)


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
    check_finite: bool = True, assume_a: str = "gen",
) -> Any:  # fmt: skip
    """Return x with ax = b, which is NaN or infinite for a singular matrix, or one that is not definite where that is
    assumed: `assume_a="pos"`."""
    if assume_a != "pos":
        return linalg.solve(a, b)
    return solve_by_factor(cho_factor(a, lower), b, check_finite=False)


solve_by_factor = lift(here.cho_solve)


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    debug: Any = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return x with ax = b for a triangle, which is NaN if a zero is on its diagonal."""
    return solve_triangle(asarray(a), asarray(b), trans, lower, unit_diagonal)


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """Return the square root of a matrix, as complex numbers."""
    root = lift(here.sqrtm)(A)
    return root.astype(result_type(root, 0j))


@lift
def solve_triangle(a: Any, b: Any, trans: int | str, lower: bool, unit_diagonal: bool) -> Any:
    """Solve with the operations of `fxgrad.scipy.linalg`, without its question whether the matrix is singular."""
    a, flipped = apply_transposition(as_square_matrix(a), trans)
    return solve_columns_of(a, as_inexact(fnp.asarray(b)), bool(lower) != flipped, bool(unit_diagonal))
