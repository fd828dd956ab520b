"""Linear systems, inverses and least squares for stacks of matrices. See `linalg` for the axes.

A matrix is factored once for all operations that read it. `factors_of` gives the factors as further operands; `solve`,
the determinants, and their tangents and cotangents read these instead of the matrix. Their derivatives are those with
respect to the matrix.

Formulas: M. B. Giles, "An extended collection of matrix derivative results", Oxford 2008; for pseudo-inverses and
least squares G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.arrays import has_devices
from ..core.aval import Aval, aval_of, kind_of
from ..core.errors import ShapeError
from ..core.library import load_library
from .kinds import General, general, register
from .linalg import (
    LAPACK_DTYPES,
    adjoint,
    compute_dtype,
    conjugate_transpose,
    diagonal_mask,
    each_or_nan,
    linalg_kernel,
    lower_triangle,
    matrix_aval,
    matrix_function,
    matrix_product,
    matrix_transpose,
    require_square,
    sum_terms,
    upper_triangle,
)
from .vocabulary import ops


class Solver(General):
    """A primitive that is linear in its second operand; with a single matrix, all columns of a batch are solved for
    together. Further operands are factors of the matrix."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        a, b, *factors = values
        if is_batched[0] or any(is_batched[2:]):
            return super().batch(values, is_batched, size, params)
        ndim, wide = aval_of(b).ndim, aval_of(b).shape[-1]
        b = ops.permute(b, axes=(*range(1, ndim), 0))
        b = ops.reshape(b, shape=(*aval_of(b).shape[:-2], wide * size))
        x = self.call(a, b, *factors, **params)
        x = ops.reshape(x, shape=(*aval_of(x).shape[:-1], wide, size))
        return ops.permute(x, axes=(ndim - 1, *range(ndim - 1))), True


def solver(name: str, make: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a `Solver`."""

    def batch_rule(*operands: Any, size: int, **params: Any) -> Any:
        return call(*operands, **params)

    call = register(Solver(name, linalg_kernel(name, make, matrices=2), batch_rule=batch_rule, **rules)).call
    return call


# -- factors ------------------------------------------
def lapack() -> Any:
    """Return the kernels of triangles and factors."""
    from ..kernels import lapack  # when a system is first solved: it takes a third of a millisecond

    return lapack


def factorization_kernel(xp: Any) -> Any:
    def factorize(a: Any) -> Any:
        if xp is np:
            return lapack().factor_system(a)
        return a, xp.zeros(a.shape[:-1], dtype=xp.int64)  # which are not read: other libraries factor anew

    return factorize


def factorization_aval(self: Any, a: Aval) -> list[Aval]:
    require_square(self.name, a)
    return [Aval(a.shape, compute_dtype(self.name, a)), Aval(a.shape[:-1], np.dtype(np.intp))]


# (L and U in one matrix, exchanges of rows) with PA = LU. What reads them has the derivative, these have none.
factorization = general(
    "factorization",
    linalg_kernel("factorization", factorization_kernel),
    abstract_rule=factorization_aval,
    tangent_rule=None,
    batch_rule=lambda a, *, size: factorization(a),
    multiple=True,
)


def factors_of(a: Any) -> Sequence[Any]:
    """Return the factors of square matrices for the operations that take them, or nothing, where these do better with
    the matrices alone: small ones, and all if no routines of LAPACK are found."""
    aval = aval_of(a)
    if aval.dtype not in LAPACK_DTYPES and kind_of(aval.dtype) not in "biu":
        return ()  # which the operation itself refuses
    return factorization(a) if lapack().is_worth_factors(aval.shape[-1]) else ()


# -- linear systems ------------------------------------------
def solve_aval(self: Any, a: Aval, b: Aval, *factors: Aval, **params: Any) -> Aval:
    require_square(self.name, a)
    if len(b.shape) != len(a.shape) or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(
            f"{self.name}: matrices of shape {a.shape}, right-hand sides of shape {b.shape}",
            hint=f"right-hand sides [{', '.join(map(str, a.shape[:-1]))}, k]",
        )
    return Aval(b.shape, compute_dtype(self.name, a, b))


def solve_kernel(xp: Any) -> Any:
    def solve(a: Any, b: Any, *factors: Any, transposed: bool = False, strict: bool = True) -> Any:
        if xp is not np or not factors or not lapack().are_factors(factors[1]):
            return xp.linalg.solve(a, b) if strict or xp is not np else each_or_nan(np.linalg.solve, a, b)
        packed, pivots = factors
        if strict and not np.all(np.diagonal(packed, axis1=-2, axis2=-1)):
            raise np.linalg.LinAlgError("Singular matrix")  # as NumPy says it
        return lapack().solve_by_factors(packed, pivots, b, transposed)

    return solve


def solve_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx)."""
    (a, _, *factors), (ta, tb, *_) = primals, tangents
    return solve(a, sum_terms(tb, None if ta is None else -matrix_product(ta, x)), *factors, **params)


def solve_transpose(
    ct: Any, a: Any, b: Any, *factors: Any, transposed: bool = False, strict: bool = True
) -> list[Any]:
    """A⁻ᵀct, by the same factors."""
    other = ({"transposed": not transposed} if factors else {}) | ({} if strict else {"strict": False})
    return [None, solve(matrix_transpose(a), ct, *factors, **other), *[None] * len(factors)]


# With factors, which are those of Aᵀ with `transposed`, A itself is not read. A singular matrix is an error with
# `strict`, otherwise the solution has NaN or infinite entries.
solve = solver(
    "solve",
    solve_kernel,
    abstract_rule=solve_aval,
    tangent_rule=solve_tangent,
    transpose_rule=solve_transpose,
)


def triangular_kernel(xp: Any) -> Any:
    """A zero on the diagonal gives NaN. The standard has no triangular solver: there it is the general one."""

    def triangular_solve(a: Any, b: Any, *, lower: bool, unit_diagonal: bool) -> Any:
        if xp is np:
            return lapack().solve_triangular(a, b, lower, unit_diagonal)
        a, pivots = xp.tril(a) if lower else xp.triu(a), diagonal_mask(xp, a)
        a = xp.where(pivots, 1, a) if unit_diagonal else xp.where(pivots & (a == 0), xp.nan, a)
        if has_devices(xp):
            linalg = load_library("cupyx.scipy.linalg", "cuda12", "a triangular system on a GPU")
            return linalg.solve_triangular(a, b, lower=lower)
        return xp.linalg.solve(a, b)

    return triangular_solve


def triangular_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx), where Ȧ counts in the triangle only."""
    (a, _), (ta, tb) = primals, tangents
    if ta is not None:
        beyond = params["unit_diagonal"]
        ta = lower_triangle(ta, -beyond) if params["lower"] else upper_triangle(ta, beyond)
    return triangular_solve(a, sum_terms(tb, None if ta is None else -matrix_product(ta, x)), **params)


# Reads one triangle of A, and with `unit_diagonal` not the diagonal.
triangular_solve = solver(
    "triangular_solve",
    triangular_kernel,
    abstract_rule=solve_aval,
    tangent_rule=triangular_tangent,
    transpose_rule=lambda ct, a, b, *, lower, unit_diagonal: [
        None,
        triangular_solve(matrix_transpose(a), ct, lower=not lower, unit_diagonal=unit_diagonal),
    ],
)


def inv_kernel(xp: Any) -> Any:
    def inv(a: Any, *factors: Any, strict: bool) -> Any:
        if xp is np and not factors and lapack().is_worth_factors(a.shape[-1]):
            factors = lapack().factor_system(a)
        if xp is np and factors and lapack().are_factors(factors[1]):
            packed, pivots = factors
            if strict and not np.all(np.diagonal(packed, axis1=-2, axis2=-1)):
                raise np.linalg.LinAlgError("Singular matrix")
            return lapack().invert_factors(packed, pivots)
        if strict:
            return xp.linalg.inv(a)
        if xp is np:  # which says so where the elimination meets a zero pivot
            return each_or_nan(np.linalg.inv, a)
        singular = xp.linalg.slogdet(a)[0] == 0  # the same elimination meets the same zero pivot
        hollow = xp.where(singular[..., None, None], xp.nan, a)
        return xp.linalg.inv(hollow)

    return inv


def inv_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """−A⁻¹ȦA⁻¹."""
    return -matrix_product(matrix_product(y, tangents[0]), y)


# A singular matrix is an error with `strict`, otherwise NaN.
inv = matrix_function("inv", inv_kernel, abstract_rule=matrix_aval, tangent_rule=inv_tangent)


# -- least squares ------------------------------------------
def lstsq_kernel(xp: Any) -> Any:
    def lstsq(a: Any, b: Any, *factors: Any, rcond: float) -> Any:
        u, s, vh = factors or xp.linalg.svd(a, full_matrices=False)
        if s.shape[-1] == 0:
            return xp.zeros(
                (*a.shape[:-2], a.shape[-1], b.shape[-1]), dtype=(a[..., :0] @ b[..., :0, :]).dtype
            )
        large = s > rcond * s[..., :1]
        weight = xp.where(large, 1 / xp.where(large, s, xp.ones_like(s)), xp.zeros_like(s))
        return conjugate_transpose(xp, vh) @ (weight[..., None] * (conjugate_transpose(xp, u) @ b))

    return lstsq


def lstsq_aval(self: Any, a: Aval, b: Aval, *factors: Aval, rcond: float) -> Aval:
    if len(a.shape) < 2 or len(b.shape) != len(a.shape) or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(
            f"lstsq: matrices of shape {a.shape}, right-hand sides of shape {b.shape}",
            hint=f"right-hand sides [{', '.join(map(str, a.shape[:-1]))}, k]",
        )
    return Aval((*a.shape[:-2], a.shape[-1], b.shape[-1]), compute_dtype("lstsq", a, b))


def lstsq_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁺(ḃ − Ȧx) + A⁺A⁺ᴴȦᴴ(b − Ax) + (I − A⁺A)ȦᴴA⁺ᴴx, where the rank is constant (Golub and Pereyra)."""
    (a, b, *factors), (ta, tb, *_) = primals, tangents
    if ta is None:
        return lstsq(a, tb, *factors, **params)
    ah, tah, back = adjoint(a), adjoint(ta), exchange_sides(factors, adjoint)
    inside = lstsq(ah, matrix_product(tah, b - matrix_product(a, x)), *back, **params)
    aside = matrix_product(tah, lstsq(ah, x, *back, **params))
    change = sum_terms(tb, -matrix_product(ta, x), inside, -matrix_product(a, aside))
    return lstsq(a, change, *factors, **params) + aside


def exchange_sides(factors: Sequence[Any], flip: Callable[[Any], Any]) -> Sequence[Any]:
    """Return the singular vectors and values of Aᵀ or Aᴴ, by `flip`, from those of A, if they are given."""
    if not factors:
        return ()
    u, s, vh = factors
    return flip(vh), s, flip(u)


def lstsq_transpose(ct: Any, a: Any, b: Any, *factors: Any, rcond: float) -> list[Any]:
    """(Aᵀ)⁺ct, by the same singular values."""
    back = exchange_sides(factors, matrix_transpose)
    return [None, lstsq(matrix_transpose(a), ct, *back, rcond=rcond), *[None] * len(factors)]


def singular_factors_of(a: Any) -> Sequence[Any]:
    """Return (U, s, Vᴴ) as further operands of `lstsq`, without derivative."""
    return ops.svd(ops.stop_gradient(a), full=False)


# A⁺b: of the x that minimize ‖Ax − b‖ the shortest. Singular values ≤ rcond·(the greatest) count as zeros.
lstsq = solver(
    "lstsq",
    lstsq_kernel,
    abstract_rule=lstsq_aval,
    tangent_rule=lstsq_tangent,
    transpose_rule=lstsq_transpose,
)
