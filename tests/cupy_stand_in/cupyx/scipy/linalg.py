"""Triangular systems and the LU factors, as CuPy has them."""

from __future__ import annotations

import numpy as np
from cupy._array import run


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=False):
    """Solve a·x = b, of stacks as well; a zero on the diagonal gives what is not finite."""
    return run(
        "solve_triangular", substitute, a, b, {0: "N", 1: "T", 2: "C"}.get(trans, trans), lower, unit_diagonal
    )


def substitute(a: np.ndarray, b: np.ndarray, trans: str, lower: bool, unit_diagonal: bool) -> np.ndarray:
    """Substitute row by row."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[:-1] != b.shape[: a.ndim - 1]:
        raise ValueError("incompatible dimensions")
    dtype = np.result_type(a, b, np.float32)
    a, is_vector = np.asarray(a, dtype), b.ndim == a.ndim - 1
    x = np.array(b[..., None] if is_vector else b, dtype)
    a = np.tril(a) if lower else np.triu(a)
    if trans != "N":
        a, lower = a.swapaxes(-1, -2).conj() if trans == "C" else a.swapaxes(-1, -2), not lower
    n = a.shape[-1]
    for i in range(n) if lower else reversed(range(n)):
        if not unit_diagonal:
            x[..., i, :] /= a[..., i, i, None]
        rest = slice(i + 1, None) if lower else slice(None, i)
        x[..., rest, :] -= a[..., rest, i, None] * x[..., i, None, :]
    return x[..., 0] if is_vector else x


def lu_factor(a, overwrite_a=False, check_finite=True):
    """Factor one matrix, as (lu, pivots)."""
    return run("lu_factor", factor, a)


def factor(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eliminate with the largest entry of each column as pivot."""
    if a.ndim != 2:
        raise ValueError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    lu = np.array(a, np.result_type(a, np.float32))
    pivots = np.arange(min(a.shape), dtype=np.int32)
    for k in range(min(a.shape)):
        pivots[k] = p = k + int(np.argmax(np.abs(lu[k:, k].real) + np.abs(lu[k:, k].imag)))
        lu[[k, p]] = lu[[p, k]]
        if lu[k, k] != 0:
            lu[k + 1 :, k] /= lu[k, k]
            lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu, pivots


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """Solve a system whose matrix is factored."""
    return run("lu_solve", solve_factored, *lu_and_piv, b, trans)


def solve_factored(lu: np.ndarray, pivots: np.ndarray, b: np.ndarray, trans: int) -> np.ndarray:
    """Substitute twice."""
    kind = {0: "N", 1: "T", 2: "C"}[trans]
    order = np.arange(len(lu))
    for k, p in enumerate(pivots):
        order[[k, p]] = order[[p, k]]
    if kind == "N":
        return substitute(lu, substitute(lu, b[order], "N", True, True), "N", False, False)
    x = substitute(lu, substitute(lu, b, kind, False, False), kind, True, True)
    return x[np.argsort(order)]
