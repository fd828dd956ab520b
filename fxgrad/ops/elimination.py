"""Gaussian elimination with pivoting, and functions of its factors. See `linalg` for the axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.library import load_library
from ..kernels import elimination
from .kinds import general, on_numpy
from .linalg import (
    adjoint,
    compute_dtype,
    linalg_kernel,
    lower_triangle,
    matrix_aval,
    matrix_function,
    matrix_product,
    matrix_transpose,
    slice_columns,
    upper_triangle,
)
from .systems import lapack
from .vocabulary import ops

INFO = np.dtype(np.int32)


def lu_kernel(xp: Any) -> Callable[..., Any]:
    """L and U in one matrix, the rows swapped with rows 0, 1, …, the order of rows that results."""

    def lu_by_lapack(a: Any) -> list[np.ndarray]:
        packed, pivots, _ = lapack().factor_matrix(a)
        return [np.ascontiguousarray(packed), pivots.astype(INFO), lapack().order_rows(pivots, a.shape[-2])]

    def lu_by_steps(a: Any) -> list[Any]:
        packed, pivots = elimination.factor_matrix(xp, a)
        return [packed, xp.astype(pivots, xp.int32), elimination.order_rows(xp, pivots, a.shape[-2])]

    return lu_by_lapack if xp is np else lu_by_steps


def slice_rows(a: Any, start: int | None, stop: int | None) -> Any:
    """Return the rows from `start` up to `stop`."""
    return ops.getitem(a, index=(*(slice(None),) * (aval_of(a).ndim - 2), slice(start, stop, None)))


def take_rows(a: Any, order: Any) -> Any:
    """Return the rows of matrices in an order, which each of them has."""
    shape = aval_of(a).shape
    order = ops.reshape(order, shape=(*aval_of(order).shape, 1))
    return ops.take_along(
        a, ops.broadcast_to(order, shape=(*aval_of(order).shape[:-1], shape[-1])), -2 + len(shape)
    )


def lu_triangles(lu: Any) -> tuple[Any, Any]:
    """Return (L, U): L has ones on the diagonal and k = min(m, n) columns, U has k rows."""
    m, n = aval_of(lu).shape[-2:]
    k = min(m, n)
    left = ops.where(np.eye(m, k, dtype=bool), 1, lower_triangle(slice_columns(lu, None, k), -1))
    return left, upper_triangle(slice_rows(lu, None, k))


def lu_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With Φ = L⁻¹PȦU⁻¹ of the leading square block: L̇ = L·(Φ below the diagonal), U̇ = (Φ on and above it)·U; the rows
    below and the columns on the right follow from L̇U + LU̇ = PȦ."""
    lu, _, order = ys
    *batch, m, n = aval_of(lu).shape
    k, rows, columns = min(m, n), len(batch), len(batch) + 1
    t = take_rows(tangents[0], order)
    (left, right), (top, below) = lu_triangles(lu), (slice_rows(t, None, k), slice_rows(t, k, None))
    l1, u1 = slice_rows(left, None, k), slice_columns(right, None, k)

    def solve_left(b: Any) -> Any:
        return ops.triangular_solve(l1, b, lower=True, unit_diagonal=True)

    def solve_right(b: Any) -> Any:
        x = ops.triangular_solve(matrix_transpose(u1), matrix_transpose(b), lower=True, unit_diagonal=False)
        return matrix_transpose(x)

    phi = solve_right(solve_left(slice_columns(top, None, k)))
    tl, tu = matrix_product(l1, lower_triangle(phi, -1)), matrix_product(upper_triangle(phi), u1)
    result = lower_triangle(tl, -1) + upper_triangle(tu)
    if n > k:
        beside = solve_left(slice_columns(top, k, None))
        beside = beside - matrix_product(lower_triangle(phi, -1), slice_columns(right, k, None))
        result = ops.concatenate(result, beside, axis=columns)
    if m > k:
        under = solve_right(below) - matrix_product(slice_rows(left, k, None), upper_triangle(phi))
        result = ops.concatenate(result, under, axis=rows)
    return [result, None, None]


def lu_aval(self: Any, a: Aval) -> list[Aval]:
    *batch, m, n = a.shape
    return [
        Aval(a.shape, compute_dtype("lu", a)),
        Aval((*batch, min(m, n)), INFO),
        Aval((*batch, m), np.dtype(np.intp)),
    ]


# PA = LU: (L below the diagonal and U, pivots counted from 0, the row of A for each row of PA).
lu = matrix_function("lu", lu_kernel, abstract_rule=lu_aval, tangent_rule=lu_tangent, multiple=True)


def diagnosis(name: str, kernel: Callable[..., Any], portable: Callable[..., Any]) -> Callable[..., Any]:
    """Declare an operation without derivative that gives a number for each matrix; portable(xp, a) is for other
    libraries than NumPy."""
    call = general(
        name,
        linalg_kernel(name, lambda xp: kernel if xp is np else partial(portable, xp)),
        abstract_rule=lambda self, a: Aval(a.shape[:-2], INFO),
        tangent_rule=None,
        batch_rule=lambda a, *, size: call(a),
    )
    return call


# The first pivot that is zero, and the order of the first leading minor that is not positive; 0 where there is none.
zero_pivot = diagnosis("zero_pivot", lambda a: lapack().factor_matrix(a)[2], elimination.find_zero_pivot)
indefinite_minor = diagnosis(
    "indefinite_minor", lambda a: lapack().find_indefinite(a), elimination.find_indefinite
)


def row_order_kernel(xp: Any) -> Callable[..., Any]:
    if xp is np:
        return lambda pivots, *, rows: lapack().order_rows(pivots.astype(np.intp), rows)
    return lambda pivots, *, rows: elimination.order_rows(xp, xp.astype(pivots, xp.int64), rows)


# The row of A for each row of PA, after the exchanges that pivots, counted from 0, describe.
row_order = general(
    "row_order",
    row_order_kernel,
    abstract_rule=lambda self, pivots, *, rows: Aval((*pivots.shape[:-1], rows), np.dtype(np.intp)),
    tangent_rule=None,
    batch_rule=lambda pivots, *, size, rows: row_order(pivots, rows=rows),
)


def permuted_identity(order: Any, like: Any) -> Any:
    """P with A = PLU, of the dtype of a matrix: its columns are the rows of the identity in that order."""
    n = aval_of(order).shape[-1]
    order = ops.reshape(order, shape=(*aval_of(order).shape[:-1], 1, n))
    return ops.convert(ops.equal(order, np.arange(n)[:, None]), dtype=aval_of(like).dtype)


# -- symmetric elimination ------------------------------------------
def ldl_kernel(a: np.ndarray, *, lower: bool, hermitian: bool) -> list[np.ndarray]:
    linalg = load_library("scipy.linalg", "scipy", "ldl")
    other = np.swapaxes(a, -1, -2)
    a = a * 0.5 + (np.conj(other) if hermitian else other) * 0.5
    factor, blocks = np.empty_like(a), np.empty_like(a)
    order = np.empty(a.shape[:-1], np.intp)
    for index in np.ndindex(a.shape[:-2]) if a.size else ():
        factor[index], blocks[index], order[index] = linalg.ldl(
            a[index], lower, hermitian, check_finite=False
        )
    return [factor, blocks, order]


def ldl_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With E = L⁻¹ȦL⁻ᴴ, where L is in the order of elimination: Ḋ is E in the blocks, L̇ = L·(E beside them)·D⁻¹."""
    factor, blocks, order = ys
    lower, flip = params["lower"], adjoint if params["hermitian"] else matrix_transpose
    factor = take_rows(factor, order)
    t = (tangents[0] + flip(tangents[0])) * 0.5
    t = take_rows(matrix_transpose(take_rows(matrix_transpose(t), order)), order)

    def divide(b: Any) -> Any:
        return ops.triangular_solve(factor, b, lower=lower, unit_diagonal=True)

    e = flip(divide(flip(divide(t))))
    n = aval_of(e).shape[-1]
    inside = ops.logical_or(np.eye(n, dtype=bool), ops.not_equal(ops.stop_gradient(blocks), 0))
    beside = ops.where(inside, 0, lower_triangle(e, -1) if lower else upper_triangle(e, 1))
    turned = matrix_product(factor, matrix_product(beside, ops.inv(blocks, strict=False)))
    return [
        take_rows(turned, ops.argsort(order, axis=aval_of(order).ndim - 1)),
        ops.where(inside, e, 0),
        None,
    ]


# (L, D, the order of elimination) with A = LDLᴴ, or LDLᵀ, of the Hermitian or symmetric part of A. Rows of L in that
# order are a triangle, lower or upper, with ones on its diagonal, and D has blocks of one and two: J. R. Bunch and
# L. Kaufman, Math. Comp. 31 (1977).
ldl = matrix_function(
    "ldl",
    on_numpy(ldl_kernel),
    abstract_rule=lambda self, a, **params: [
        matrix_aval(self, a),
        matrix_aval(self, a),
        Aval(a.shape[:-1], np.dtype(np.intp)),
    ],
    tangent_rule=ldl_tangent,
    multiple=True,
)


# -- pivots of columns ------------------------------------------
def column_order_kernel(a: np.ndarray) -> np.ndarray:
    linalg = load_library("scipy.linalg", "scipy", "qr with pivoting")
    order = np.empty((*a.shape[:-2], a.shape[-1]), INFO)
    order[...] = np.arange(a.shape[-1])
    for index in np.ndindex(a.shape[:-2]) if a.size else ():
        order[index] = linalg.qr(a[index], mode="r", pivoting=True, check_finite=False)[1]
    return order


# The order of columns by QR with pivoting: the next one is the farthest from the span of those before it.
column_order = general(
    "column_order",
    linalg_kernel("column_order", on_numpy(column_order_kernel)),
    abstract_rule=lambda self, a: Aval((*a.shape[:-2], a.shape[-1]), INFO),
    tangent_rule=None,
    batch_rule=lambda a, *, size: column_order(a),
)
