"""Band matrices, stored as arrays whose rows are the diagonals: entry (i, j) of the matrix is entry (u + i − j, j) of
the array, where u is the number of diagonals above the main one. See `linalg` for the axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from .linalg import compute_dtype, row_matrix, sum_terms
from .systems import lapack, solver
from .vocabulary import ops


def shift_rows(x: Any, down: int) -> Any:
    """Move the rows of matrices down, or up, and fill the place they leave with zeros."""
    return shift(x, down, aval_of(x).ndim - 2)


def shift(x: Any, count: int, axis: int) -> Any:
    """Move entries along an axis, towards its end, or its start, and fill the place they leave with zeros."""
    shape = aval_of(x).shape
    n = shape[axis]
    if not count or not n:
        return x
    kept = slice(None, max(n - count, 0)) if count > 0 else slice(min(-count, n), None)
    part = ops.getitem(x, index=(*(slice(None),) * axis, kept))
    missing = n - aval_of(part).shape[axis]
    widths = [(0, 0)] * len(shape)
    widths[axis] = (missing, 0) if count > 0 else (0, missing)
    return ops.pad(part, widths=tuple(widths))


def diagonal_row(ab: Any, r: int) -> Any:
    """Return row r of a band, without its axis."""
    return ops.getitem(ab, index=(*(slice(None),) * (aval_of(ab).ndim - 2), r))


def banded_product(ab: Any, x: Any, upper: int) -> Any:
    """Multiply a banded matrix by the columns of x."""
    terms = []
    for r in range(aval_of(ab).shape[-2]):
        column = diagonal_row(ab, r)
        column = ops.reshape(column, shape=(*aval_of(column).shape, 1))
        terms.append(shift_rows(column * x, r - upper))
    return sum_terms(*terms)


def transpose_band(ab: Any, upper: int) -> Any:
    """Return the band of the transpose, which has `upper` diagonals below the main one."""
    ndim, count = aval_of(ab).ndim, aval_of(ab).shape[-2]
    rows = [row_matrix(shift(diagonal_row(ab, r), r - upper, ndim - 2)) for r in reversed(range(count))]
    return ops.concatenate(*rows, axis=ndim - 2)


def banded_aval(self: Any, ab: Aval, b: Aval, *, lower: int, upper: int) -> Aval:
    fits = (
        len(ab.shape) == len(b.shape) >= 2 and ab.shape[:-2] == b.shape[:-2] and ab.shape[-1] == b.shape[-2]
    )
    if not fits or ab.shape[-2] != lower + upper + 1:
        raise ShapeError(
            f"banded_solve: {lower} diagonals below and {upper} above the main one in an array of shape {ab.shape}, "
            f"right-hand sides of shape {b.shape}",
            hint=f"an array [..., {lower + upper + 1}, n] of diagonals, and right-hand sides [..., n, k]",
        )
    return Aval(b.shape, compute_dtype("banded_solve", ab, b))


def banded_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx)."""
    (ab, _), (tab, tb) = primals, tangents
    moved = None if tab is None else -banded_product(tab, x, params["upper"])
    return banded_solve(ab, sum_terms(tb, moved), **params)


def banded_kernel(xp: Any) -> Any:
    """Other libraries than NumPy have no routine for bands: they solve with the whole matrix."""
    if xp is np:
        return lambda ab, b, *, lower, upper: lapack().solve_banded(ab, b, lower, upper)

    def solve_whole(ab: Any, b: Any, *, lower: int, upper: int) -> Any:
        i = xp.arange(ab.shape[-1])
        row = upper + i[:, None] - i[None, :]
        inside = (row >= 0) & (row <= upper + lower)
        a = xp.zeros((*ab.shape[:-1][:-1], *row.shape), dtype=ab.dtype)
        for r in range(ab.shape[-2]):
            a = xp.where(inside & (row == r), ab[..., r, :][..., None, :], a)
        return xp.linalg.solve(a, b)

    return solve_whole


# A⁻¹b for a banded matrix.
banded_solve = solver(
    "banded_solve",
    banded_kernel,
    abstract_rule=banded_aval,
    tangent_rule=banded_tangent,
    transpose_rule=lambda ct, ab, b, *, lower, upper: [
        None,
        banded_solve(transpose_band(ab, upper), ct, lower=upper, upper=lower),
    ],
)
