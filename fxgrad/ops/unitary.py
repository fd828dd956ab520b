"""Unitary factors: polar decomposition, Hessenberg's and Schur's forms. See `linalg` for the axes.

With A = QTQᴴ, E = QᴴȦQ and the skew Ω = QᴴQ̇, the tangent of the form is Ṫ = E + TΩ − ΩT. The zeros of T determine Ω,
column by column. Where they leave a phase free, Q keeps it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from ..core.library import load_library
from .elimination import slice_rows
from .kinds import on_numpy
from .linalg import (
    adjoint,
    compute_dtype,
    conjugate_transpose,
    is_complex,
    lower_triangle,
    matrix_function,
    matrix_product,
    matrix_transpose,
    nan_where,
    require_square,
    slice_columns,
    upper_triangle,
)
from .matrix_equations import sylvester
from .vocabulary import ops


# -- polar decomposition ------------------------------------------
def polar_kernel(xp: Any) -> Any:
    def polar_unitary(a: Any) -> Any:
        u, _, vh = xp.linalg.svd(a, full_matrices=False)
        return u @ vh

    return polar_unitary


def polar_aval(self: Any, a: Aval) -> Aval:
    if len(a.shape) < 2 or a.shape[-2] < a.shape[-1]:
        raise ShapeError(
            f"polar: the operand has shape {a.shape}, it must not have more columns than rows",
            hint="that of the transposed matrix (.mT), whose factors are the transposed ones",
        )
    return Aval(a.shape, compute_dtype("polar", a))


def polar_tangent(u: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """UΩ + (1 − UUᴴ)ȦP⁻¹, where PΩ + ΩP = UᴴȦ − ȦᴴU (N. J. Higham, Functions of Matrices, section 8.2). It exists
    where A has full rank."""
    (a,), (t,) = primals, tangents
    p, along = matrix_product(adjoint(u), a), matrix_product(adjoint(u), t)
    result = matrix_product(u, sylvester(p, p, along - adjoint(along)))
    m, n = aval_of(a).shape[-2:]
    if m > n:
        outward = t - matrix_product(u, along)
        result = result + matrix_transpose(ops.solve(matrix_transpose(p), matrix_transpose(outward)))
    return result


# U with A = UP, orthonormal columns of U, and P Hermitian positive semidefinite.
polar_unitary = matrix_function(
    "polar_unitary", polar_kernel, abstract_rule=polar_aval, tangent_rule=polar_tangent
)


# -- forms ------------------------------------------
def form_kernel(name: str) -> Any:
    """Return a kernel that calls a function of scipy.linalg, for the form and Q, for every matrix."""

    def decompose(a: np.ndarray) -> list[np.ndarray]:
        linalg = load_library("scipy.linalg", "scipy", name)
        form, q = np.empty_like(a), np.empty_like(a)
        for index in np.ndindex(a.shape[:-2]) if a.size else ():
            if not np.isfinite(a[index]).all():
                form[index] = q[index] = np.nan
            elif name == "schur":
                form[index], q[index] = linalg.schur(a[index], "complex" if a.dtype.kind == "c" else "real")
            else:
                form[index], q[index] = linalg.hessenberg(a[index], calc_q=True)
        return [form, q]

    return decompose


def form_aval(self: Any, a: Aval) -> list[Aval]:
    require_square(self.name, a)
    return [Aval(a.shape, compute_dtype(self.name, a))] * 2


def entries(a: Any, rows: slice, columns: slice) -> Any:
    """Return a block of matrices."""
    return ops.getitem(a, index=(*(slice(None),) * (aval_of(a).ndim - 2), rows, columns))


def skew_of_columns(columns: list[Any], like: Any) -> Any:
    """Return the skew-Hermitian matrix of the columns below the diagonal, from the first on, and an imaginary
    diagonal entry as the first of each column."""
    ndim, n = aval_of(like).ndim, aval_of(like).shape[-1]
    padded = []
    for column in columns:
        missing = n - aval_of(column).shape[-2]
        padded.append(ops.pad(column, widths=(*[(0, 0)] * (ndim - 2), (missing, 0), (0, 0))))
    lower = ops.concatenate(*padded, axis=ndim - 1)
    return lower - adjoint(lower_triangle(lower, -1))


def form_tangents(form: Any, q: Any, turn: Any, e: Any) -> list[Any]:
    """Return [Ṫ, Q̇] from Ω and E."""
    return [e + matrix_product(form, turn) - matrix_product(turn, form), matrix_product(q, turn)]


def schur_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """(tⱼⱼ − T)Ωⱼ = Eⱼ − Ω T of the rows below the diagonal, column by column. NaN where eigenvalues repeat, and of a
    real form with blocks of two, for a complex pair."""
    form, q = ys
    n = aval_of(form).shape[-1]
    if not n:
        return [tangents[0], tangents[0]]
    blocks = ops.not_equal(lower_triangle(ops.stop_gradient(form), -1), 0)
    paired = ops.reduce_any(blocks, axes=(aval_of(form).ndim - 2, aval_of(form).ndim - 1))
    paired = ops.reshape(paired, shape=(*aval_of(paired).shape, 1, 1))
    e = matrix_product(adjoint(q), matrix_product(tangents[0], nan_where(q, paired)))
    one = np.eye(n, dtype=bool)
    known: Any = None  # the columns of Ω so far, with zeros on and above the diagonal
    columns = []
    for j in range(n):
        here, below = slice(j, j + 1), slice(j + 1, None)
        zero = ops.zeros_like(entries(form, here, here))
        column = zero
        if j + 1 < n:
            right = entries(e, below, here)
            if j:
                right = right - matrix_product(
                    entries(known, below, slice(None)), entries(form, slice(None, j), here)
                )
            shifted = ops.where(one[j + 1 :, j + 1 :], entries(form, here, here), 0) - entries(
                form, below, below
            )
            column = ops.concatenate(
                zero,
                ops.triangular_solve(shifted, right, lower=False, unit_diagonal=False),
                axis=aval_of(form).ndim - 2,
            )
        columns.append(column)
        full = ops.pad(column, widths=(*[(0, 0)] * (aval_of(form).ndim - 2), (j, 0), (0, 0)))
        known = full if known is None else ops.concatenate(known, full, axis=aval_of(form).ndim - 1)
    tform, tq = form_tangents(form, q, skew_of_columns(columns, form), e)
    return [upper_triangle(tform), tq]


# (T, Z) with A = ZTZᴴ, unitary Z and triangular T, which for real matrices has blocks of two on its diagonal.
schur = matrix_function(
    "schur",
    on_numpy(form_kernel("schur")),
    abstract_rule=form_aval,
    tangent_rule=schur_tangent,
    multiple=True,
)


def hessenberg_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """Ωⱼ₊₁hⱼ₊₁,ⱼ = (E + HΩ)ⱼ − Σ Ωₖhₖⱼ over k ≤ j, of the rows from j + 1 on; the first column of Q is fixed. NaN where
    an entry below the diagonal is zero. LAPACK makes these entries real, which fixes the phases of the columns of Q."""
    form, q = ys
    n, ndim = aval_of(form).shape[-1], aval_of(form).ndim
    if n < 3:
        return [tangents[0], ops.zeros_like(tangents[0])]
    e = matrix_product(adjoint(q), matrix_product(tangents[0], q))
    columns = [ops.zeros_like(slice_columns(form, None, 1))]
    for j in range(n - 1):
        here, next_row, below = slice(j, j + 1), slice(j + 1, j + 2), slice(j + 1, None)
        known = ops.concatenate(*columns, axis=ndim - 1)
        past = matrix_product(entries(known, below, slice(None)), entries(form, slice(j + 1), here))
        ahead = matrix_product(entries(form, below, slice(None)), columns[j])
        beside = entries(form, next_row, here)
        beside = nan_where(beside, ops.equal(ops.stop_gradient(beside), 0))
        column = (entries(e, below, here) + ahead - past) / beside
        first = slice_rows(column, None, 1)
        phase = (
            ops.make_complex(0.0, ops.imag(first))
            if is_complex(form)
            else ops.zeros_like(entries(form, next_row, here))
        )
        above = -adjoint(entries(known, next_row, slice(None)))
        columns.append(ops.concatenate(above, phase, slice_rows(column, 1, None), axis=ndim - 2))
    tform, tq = form_tangents(form, q, ops.concatenate(*columns, axis=ndim - 1), e)
    return [upper_triangle(tform, -1), tq]


# (H, Q) with A = QHQᴴ, unitary Q whose first column is that of the identity, and zeros of H two below the diagonal.
hessenberg = matrix_function(
    "hessenberg",
    on_numpy(form_kernel("hessenberg")),
    abstract_rule=form_aval,
    tangent_rule=hessenberg_tangent,
    multiple=True,
)


# -- bases of ranges and null spaces ------------------------------------------
def factors_of_rank(a: Any, rank: int) -> list[Any]:
    """Return (U, s, Vᴴ) for `lstsq`, with zeros for all singular values but the first `rank`."""
    u, s, vh = ops.singular_factors_of(a)
    return [u, ops.where(np.arange(aval_of(s).shape[-1]) < rank, s, 0), vh]


def basis_kernel(xp: Any) -> Any:
    def space_basis(a: Any, *, rank: int, null: bool) -> Any:
        u, _, vh = xp.linalg.svd(a, full_matrices=True)
        return [conjugate_transpose(xp, vh[..., rank:, :]) if null else u[..., :, :rank]]

    return space_basis


def basis_aval(self: Any, a: Aval, *, rank: int, null: bool) -> list[Aval]:
    *batch, m, n = a.shape
    return [Aval((*batch, n, n - rank) if null else (*batch, m, rank), compute_dtype("space_basis", a))]


def basis_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """−A⁺ȦQ for the null space, (1 − QQᴴ)ȦA⁺Q for the range: the bases that do not turn within the space. Functions of
    the space have the derivative that these give; A⁺ is of the rank that stays (Golub and Pereyra 1973)."""
    (q,), (a,), (t,) = ys, primals, tangents
    factors = factors_of_rank(a, params["rank"])
    if params["null"]:
        return [-ops.lstsq(a, matrix_product(t, q), *factors, rcond=0.0)]
    moved = matrix_product(t, ops.lstsq(a, q, *factors, rcond=0.0))
    return [moved - matrix_product(q, matrix_product(adjoint(q), moved))]


# [An orthonormal basis] of the null space of matrices of a rank, or of their range.
space_basis = matrix_function(
    "space_basis", basis_kernel, abstract_rule=basis_aval, tangent_rule=basis_tangent, multiple=True
)
