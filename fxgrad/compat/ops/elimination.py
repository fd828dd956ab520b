"""Gaussian elimination with partial pivoting, and the diagnoses of `linalg.*_ex`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import Aval, aval_of
from ...kernels import lapack
from ...ops.kinds import General
from ...ops.linalg import (
    compute_dtype,
    linalg_kernel,
    lower_triangle,
    matrix_product,
    matrix_transpose,
    slice_columns,
    upper_triangle,
)
from .._core.primitives import declare_primitive

INFO = np.dtype(np.int32)


def lu_kernel(a) -> list[np.ndarray]:
    """L and U in one matrix, the rows swapped with rows 0, 1, …, the order of rows that results."""
    packed, pivots, _ = lapack.factor_matrix(a)
    return [np.ascontiguousarray(packed), pivots.astype(INFO), lapack.order_rows(pivots, a.shape[-2])]


def lu_triangles(lu) -> tuple[Any, Any]:
    """Return (L, U): L has ones on the diagonal and k = min(m, n) columns, U has k rows."""
    m, n = aval_of(lu).shape[-2:]
    k = min(m, n)
    left = ops.where(np.eye(m, k, dtype=bool), 1, lower_triangle(slice_columns(lu, None, k), -1))
    return left, upper_triangle(lu[..., :k, :])


def lu_tangent(ys, primals, tangents, params: dict) -> list[Any]:
    """With Φ = L⁻¹PȦU⁻¹ of the leading square block: L̇ = L·(Φ below the diagonal), U̇ = (Φ on and above it)·U; the rows
    below and the columns on the right follow from L̇U + LU̇ = PȦ."""
    lu, _, order = ys
    k = min(aval_of(lu).shape[-2:])
    t = fnp.take_along_axis(tangents[0], fnp.expand_dims(order, -1), -2)
    (left, right), (top, below) = lu_triangles(lu), (t[..., :k, :], t[..., k:, :])
    l1, u1 = left[..., :k, :], right[..., :k]

    def solve_left(b) -> Any:
        return ops.triangular_solve(l1, b, lower=True, unit_diagonal=True)

    def solve_right(b) -> Any:
        x = ops.triangular_solve(matrix_transpose(u1), matrix_transpose(b), lower=True, unit_diagonal=False)
        return matrix_transpose(x)

    phi = solve_right(solve_left(top[..., :k]))
    tl, tu = matrix_product(l1, lower_triangle(phi, -1)), matrix_product(upper_triangle(phi), u1)
    if right.shape[-1] > k:
        tu = fnp.concatenate(
            [tu, solve_left(top[..., k:]) - matrix_product(lower_triangle(phi, -1), right[..., k:])], -1
        )
    square = (
        lower_triangle(tl, -1)
        if tu.shape[-1] == k
        else fnp.concatenate([lower_triangle(tl, -1), tu[..., k:] * 0], -1)
    )
    tlu = square + upper_triangle(tu)
    if left.shape[-2] > k:
        tlu = fnp.concatenate(
            [tlu, solve_right(below) - matrix_product(left[..., k:, :], upper_triangle(phi))], -2
        )
    return [tlu, None, None]


def lu_aval(self, a: Aval) -> list[Aval]:
    *batch, m, n = a.shape
    return [
        Aval(a.shape, compute_dtype("lu", a)),
        Aval((*batch, min(m, n)), INFO),
        Aval((*batch, m), np.dtype(np.intp)),
    ]


# PA = LU: (L below the diagonal and U, pivots counted from 0, the row of A for each row of PA).
lu_primitive = declare_primitive(
    General,
    "lu",
    linalg_kernel("lu", lambda xp: lu_kernel),
    abstract_rule=lu_aval,
    tangent_rule=lu_tangent,
    batch_rule=lambda a, *, size: lu_primitive(a),
    multiple=True,
)


def declare_diagnosis(name: str, kernel) -> Any:
    """Declare a primitive without derivative that gives a number for each matrix."""
    call = declare_primitive(
        General,
        name,
        linalg_kernel(name, lambda xp: kernel),
        abstract_rule=lambda self, a: Aval(a.shape[:-2], INFO),
        tangent_rule=None,
        batch_rule=lambda a, *, size: call(a),
    )
    return call


# The first pivot that is zero, and the order of the first leading minor that is not positive; 0 where there is none.
zero_pivot = declare_diagnosis("zero_pivot", lambda a: lapack.factor_matrix(a)[2])
indefinite_minor = declare_diagnosis("indefinite_minor", lapack.find_indefinite)


# The order of rows after the swaps that pivots, counted from 1, describe.
permutation = declare_primitive(
    General,
    "permutation",
    lambda xp: lambda pivots, *, rows: lapack.order_rows(pivots.astype(np.intp) - 1, rows),
    abstract_rule=lambda self, pivots, *, rows: Aval((*pivots.shape[:-1], rows), np.dtype(np.intp)),
    tangent_rule=None,
    batch_rule=lambda pivots, *, size, rows: permutation(pivots, rows=rows),
)


def permuted_identity(order, like) -> Any:
    """P with A = PLU, of the dtype of a matrix: its columns are the rows of the identity in that order."""
    n = aval_of(order).shape[-1]
    chosen = ops.equal(fnp.expand_dims(order, -2), np.arange(n)[:, None])
    return ops.convert(chosen, dtype=aval_of(like).dtype)
