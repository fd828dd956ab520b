"""Gaussian elimination with partial pivoting, which NumPy does not expose, and the diagnoses of `linalg.*_ex`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import Aval, aval_of
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


def eliminate(a) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (L and U in one matrix, the rows swapped with rows 0, 1, …, the order of rows that results)."""
    *batch, m, n = a.shape
    lu: Any = np.array(a).reshape(prod(batch), m, n)
    every = np.arange(len(lu))
    pivots = np.zeros((len(lu), min(m, n)), INFO)
    order = np.tile(np.arange(m), (len(lu), 1))
    for k in range(min(m, n)):
        size = np.abs(lu[:, k:, k])
        if np.iscomplexobj(lu):  # LAPACK compares |Re| + |Im|
            size = np.abs(lu[:, k:, k].real) + np.abs(lu[:, k:, k].imag)
        found = k + np.argmax(size, axis=1)
        pivots[:, k] = found
        for x in (lu, order):
            x[every, k], x[every, found] = x[every, found], x[every, k].copy()
        pivot = lu[:, k, k]
        lu[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)[:, None]
        lu[:, k + 1 :, k + 1 :] -= lu[:, k + 1 :, k, None] * lu[:, k, None, k + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*batch, min(m, n)), order.reshape(*batch, m)


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
    linalg_kernel("lu", lambda xp: eliminate),
    abstract_rule=lu_aval,
    tangent_rule=lu_tangent,
    batch_rule=lambda a, *, size: lu_primitive(a),
    multiple=True,
)


def first_true(condition: np.ndarray) -> np.ndarray:
    """The place, counted from 1, of the first true entry along the last axis; 0 where there is none."""
    return np.where(condition.any(-1), condition.argmax(-1) + 1, 0).astype(INFO)


def zero_pivot_kernel(a: np.ndarray) -> np.ndarray:
    if np.all(np.linalg.slogdet(a)[0] != 0):  # the same elimination meets the same zeros
        return np.zeros(a.shape[:-2], INFO)
    return first_true(np.diagonal(eliminate(a)[0], axis1=-2, axis2=-1) == 0)


def indefinite_minor_kernel(a: np.ndarray) -> np.ndarray:
    def is_definite(block: np.ndarray) -> bool:
        try:
            np.linalg.cholesky(block)
        except np.linalg.LinAlgError:
            return False
        return True

    if is_definite(a):
        return np.zeros(a.shape[:-2], INFO)
    n = a.shape[-1]
    flags = [[not is_definite(x[:k, :k]) for k in range(1, n + 1)] for x in a.reshape(-1, n, n)]
    return first_true(np.array(flags)).reshape(a.shape[:-2])


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
zero_pivot = declare_diagnosis("zero_pivot", zero_pivot_kernel)
indefinite_minor = declare_diagnosis("indefinite_minor", indefinite_minor_kernel)


def permutation(pivots, size: int) -> Any:
    """The order of rows after the swaps that pivots, counted from 1, describe."""
    batch = aval_of(pivots).shape[:-1]
    places = np.arange(size)
    order = ops.broadcast_to(places, shape=(*batch, size))
    for k in range(aval_of(pivots).shape[-1]):
        found = ops.convert(pivots[..., k : k + 1], dtype=places.dtype) - 1
        mine, other = order[..., k : k + 1], fnp.take_along_axis(order, found, -1)
        order = ops.where(places == k, other, ops.where(ops.equal(places, found), mine, order))
    return order


def permuted_identity(order, like) -> Any:
    """P with A = PLU, of the dtype of a matrix: its columns are the rows of the identity in that order."""
    n = aval_of(order).shape[-1]
    chosen = ops.equal(fnp.expand_dims(order, -2), np.arange(n)[:, None])
    return ops.convert(chosen, dtype=aval_of(like).dtype)
