"""Gaussian elimination with partial pivoting, which NumPy does not hand out, and the diagnoses of `linalg.*_ex`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import Aval, aval_of
from ...ops.kinds import General
from ...ops.linalg import columns, field, lower, product, supported, transposed, upper
from .._core.primitives import declare

INFO = np.dtype(np.int32)


def eliminated(a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(L and U in one matrix, the rows swapped with rows 0, 1, …, the order of rows that results)."""
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


def parts(lu: Any) -> tuple[Any, Any]:
    """(L, U): with ones on the diagonal, k = min(m, n) columns; k rows."""
    m, n = aval_of(lu).shape[-2:]
    k = min(m, n)
    left = ops.where(np.eye(m, k, dtype=bool), 1, lower(columns(lu, None, k), -1))
    return left, upper(lu[..., :k, :])


def lu_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """With Φ = L⁻¹PȦU⁻¹ of the leading square block: L̇ = L·(Φ below the diagonal), U̇ = (Φ on and above it)·U; the rows
    below and the columns on the right follow from L̇U + LU̇ = PȦ."""
    lu, _, order = ys
    k = min(aval_of(lu).shape[-2:])
    t = fnp.take_along_axis(tangents[0], fnp.expand_dims(order, -1), -2)
    (left, right), (top, below) = parts(lu), (t[..., :k, :], t[..., k:, :])
    l1, u1 = left[..., :k, :], right[..., :k]

    def solve_left(b: Any) -> Any:
        return ops.triangular_solve(l1, b, lower=True, unit_diagonal=True)

    def solve_right(b: Any) -> Any:
        x = ops.triangular_solve(transposed(u1), transposed(b), lower=True, unit_diagonal=False)
        return transposed(x)

    phi = solve_right(solve_left(top[..., :k]))
    tl, tu = product(l1, lower(phi, -1)), product(upper(phi), u1)
    if right.shape[-1] > k:
        tu = fnp.concatenate([tu, solve_left(top[..., k:]) - product(lower(phi, -1), right[..., k:])], -1)
    square = lower(tl, -1) if tu.shape[-1] == k else fnp.concatenate([lower(tl, -1), tu[..., k:] * 0], -1)
    tlu = square + upper(tu)
    if left.shape[-2] > k:
        tlu = fnp.concatenate([tlu, solve_right(below) - product(left[..., k:, :], upper(phi))], -2)
    return [tlu, None, None]


def lu_aval(self: Any, a: Aval) -> list[Aval]:
    *batch, m, n = a.shape
    return [
        Aval(a.shape, field("lu", a)),
        Aval((*batch, min(m, n)), INFO),
        Aval((*batch, m), np.dtype(np.intp)),
    ]


# PA = LU: (L below the diagonal and U, pivots counted from 0, the row of A for each row of PA).
lu = declare(
    General,
    "lu",
    supported("lu", lambda xp: eliminated),
    abstract=lu_aval,
    tangent=lu_tangent,
    batched=lambda a, *, size: lu(a),
    multiple=True,
)


def first(condition: np.ndarray) -> np.ndarray:
    """The place, counted from 1, of the first that is true along the last axis; 0 where none is."""
    return np.where(condition.any(-1), condition.argmax(-1) + 1, 0).astype(INFO)


def zero_pivot_kernel(a: np.ndarray) -> np.ndarray:
    if np.all(np.linalg.slogdet(a)[0] != 0):  # the same elimination meets the same zeros
        return np.zeros(a.shape[:-2], INFO)
    return first(np.diagonal(eliminated(a)[0], axis1=-2, axis2=-1) == 0)


def indefinite_minor_kernel(a: np.ndarray) -> np.ndarray:
    def definite(block: np.ndarray) -> bool:
        try:
            np.linalg.cholesky(block)
        except np.linalg.LinAlgError:
            return False
        return True

    if definite(a):
        return np.zeros(a.shape[:-2], INFO)
    n = a.shape[-1]
    flags = [[not definite(x[:k, :k]) for k in range(1, n + 1)] for x in a.reshape(-1, n, n)]
    return first(np.array(flags)).reshape(a.shape[:-2])


def diagnosis(name: str, kernel: Any) -> Any:
    """A primitive without derivative that gives a number for each matrix."""
    call = declare(
        General,
        name,
        supported(name, lambda xp: kernel),
        abstract=lambda self, a: Aval(a.shape[:-2], INFO),
        tangent=None,
        batched=lambda a, *, size: call(a),
    )
    return call


# The first pivot that is zero, and the order of the first leading minor that is not positive; 0 where there is none.
zero_pivot = diagnosis("zero_pivot", zero_pivot_kernel)
indefinite_minor = diagnosis("indefinite_minor", indefinite_minor_kernel)


def permutation(pivots: Any, size: int) -> Any:
    """The order of rows that swaps (counted from 1) result in."""
    batch = aval_of(pivots).shape[:-1]
    places = np.arange(size)
    order = ops.broadcast_to(places, shape=(*batch, size))
    for k in range(aval_of(pivots).shape[-1]):
        found = ops.convert(pivots[..., k : k + 1], dtype=places.dtype) - 1
        mine, other = order[..., k : k + 1], fnp.take_along_axis(order, found, -1)
        order = ops.where(places == k, other, ops.where(ops.equal(places, found), mine, order))
    return order


def permuted_identity(order: Any, like: Any) -> Any:
    """P with A = PLU, of the dtype of a matrix: its columns are the rows of the identity in that order."""
    n = aval_of(order).shape[-1]
    chosen = ops.equal(fnp.expand_dims(order, -2), np.arange(n)[:, None])
    return ops.convert(chosen, dtype=aval_of(like).dtype)
