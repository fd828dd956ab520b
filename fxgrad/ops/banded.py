"""Band matrices, stored as arrays whose rows are the diagonals: entry (i, j) of the matrix is entry (u + i − j, j) of
the array, where u is the number of diagonals above the main one. See `linalg` for the axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from .linalg import compute_dtype, matrix_transpose, sum_terms
from .systems import lapack, solver
from .vocabulary import ops


def skew(x: Any, rows: int, first: int, size: int) -> Any:
    """Move row r of matrices r places along the next axis, and keep `size` places from `first` on, of which those
    that nothing moves to are zero. `rows` is the axis of the rows."""
    shape = aval_of(x).shape
    before, (m, n), after = shape[:rows], shape[rows : rows + 2], shape[rows + 2 :]
    widths = tuple((0, m) if axis == rows + 1 else (0, 0) for axis in range(len(shape)))
    flat = ops.reshape(ops.pad(x, widths=widths), shape=(*before, m * (n + m), *after))
    flat = ops.getitem(
        flat, index=(*(slice(None),) * rows, slice(m * (n + m - 1)))
    )  # rows shorter by one entry
    moved = ops.reshape(flat, shape=(*before, m, n + m - 1, *after))
    return ops.getitem(moved, index=(*(slice(None),) * (rows + 1), slice(first, first + size)))


def banded_product(ab: Any, x: Any, upper: int) -> Any:
    """Multiply a banded matrix by the columns of x."""
    band, columns = aval_of(ab).shape, aval_of(x).shape
    rows = len(band) - 2
    terms = ops.reshape(ab, shape=(*band, 1)) * ops.reshape(x, shape=(*columns[:-2], 1, *columns[-2:]))
    return ops.reduce_sum(skew(terms, rows, upper, band[-1]), axes=(rows,))


def whole_matrix(ab: Any, upper: int) -> Any:
    """Return a banded matrix with all its entries."""
    shape = aval_of(ab).shape
    return matrix_transpose(skew(matrix_transpose(ab), len(shape) - 2, upper, shape[-1]))


def transpose_band(ab: Any, upper: int) -> Any:
    """Return the band of the transpose, which has `upper` diagonals below the main one."""
    shape = aval_of(ab).shape
    return ops.flip(skew(ab, len(shape) - 2, upper, shape[-1]), axes=(len(shape) - 2,))


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
