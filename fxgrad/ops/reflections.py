"""Householder reflections 1 − τvvᴴ, whose vectors are the columns of a matrix below its unit diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.library import load_library
from .kinds import general, on_numpy
from .linalg import (
    adjoint,
    column_matrix,
    compute_dtype,
    linalg_kernel,
    lower_triangle,
    matrix_product,
    require_square,
    slice_columns,
)
from .vocabulary import ops


def vectors_of(packed: Any) -> Any:
    """Return the vectors v as columns, with ones on the diagonal and zeros above."""
    return ops.where(np.eye(*aval_of(packed).shape[-2:], dtype=bool), 1, lower_triangle(packed, -1))


def apply_reflections(packed: Any, taus: Any, other: Any, is_adjoint: bool) -> Any:
    """Apply the reflections, the last one first, or their adjoints, the first one first."""
    vectors = vectors_of(packed)
    count = aval_of(taus).shape[-1]
    factors = ops.conjugate(taus) if is_adjoint else taus
    for i in range(count) if is_adjoint else reversed(range(count)):
        v, factor = slice_columns(vectors, i, i + 1), column_matrix(slice_entry(factors, i))
        other = other - matrix_product(factor * v, matrix_product(adjoint(v), other))
    return other


def slice_entry(x: Any, i: int) -> Any:
    """Return entry i of vectors, with its axis."""
    return ops.getitem(x, index=(*(slice(None),) * (aval_of(x).ndim - 1), slice(i, i + 1)))


def multiply_reflections(packed: Any, taus: Any) -> Any:
    """Return the first columns of the product of the reflections."""
    one = np.eye(*aval_of(packed).shape[-2:], dtype=bool)
    return apply_reflections(packed, taus, ops.where(one, ops.full_like(packed, value=1), 0), False)


# -- forms ------------------------------------------
def form_kernel(a: np.ndarray, *, form: str) -> list[np.ndarray]:
    lapack = load_library("scipy.linalg.lapack", "scipy", form)
    n = a.shape[-1]
    packed, taus = np.array(a), np.zeros((*a.shape[:-2], max(n - 1, 0)), a.dtype)
    name = {"hessenberg": "gehrd", "tridiagonal": "hetrd" if a.dtype.kind == "c" else "sytrd"}[form]
    (routine,) = lapack.get_lapack_funcs((name,), (packed,))
    options = {} if form == "hessenberg" else {"lower": 1}
    for index in np.ndindex(a.shape[:-2]) if n > 1 and a.size else ():
        found = routine(a[index], **options)
        packed[index], taus[index] = found[0], found[-2]
    return [packed, taus]


def form_aval(self: Any, a: Aval, *, form: str) -> list[Aval]:
    require_square(form, a)
    dtype = compute_dtype(form, a)
    return [Aval(a.shape, dtype), Aval((*a.shape[:-2], max(a.shape[-1] - 1, 0)), dtype)]


# LAPACK's results for A = QHQᴴ, or for the lower triangle of a Hermitian A = QTQᴴ: H or T with the vectors of the
# reflections of which Q is the product in the columns below, and their factors τ. `hessenberg` has the derivative.
reflected_form = general(
    "reflected_form",
    linalg_kernel("reflected_form", on_numpy(form_kernel)),
    abstract_rule=form_aval,
    tangent_rule=None,
    batch_rule=lambda a, *, size, form: reflected_form(a, form=form),
    multiple=True,
)
