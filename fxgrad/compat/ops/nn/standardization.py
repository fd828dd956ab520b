"""Standardization of rows: (x − mean)/√(variance + eps) over the last axes, and the linear parts of its derivative.
NumPy works on blocks of rows; machine code is generated from the formulas and their neighbours.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

from ....extend import Aval, General, aval_of, normalization_kernels, ops
from ..._core.primitives import declare_primitive


def mean_rows(x, axes: tuple[int, ...]) -> Any:
    """The mean over axes, which stay with length one."""
    shape = aval_of(x).shape
    return ops.restore_axes(ops.reduce_sum(x, axes=axes), shape, axes) / prod(shape[a] for a in axes)


def shift_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def deflate_tangent(y, primals, tangents, params: dict) -> Any:
    (t, u, before, after), (dt, du, dbefore, dafter), axes = primals, tangents, params["axes"]
    terms = [] if dt is None else [deflate(dt, u, before, after, axes=axes)]
    if du is not None:
        inner = t * before
        terms.append(
            ops.negative(after * (du * mean_rows(u * inner, axes) + u * mean_rows(du * inner, axes)))
        )
    if dbefore is not None:
        terms.append(deflate(t * dbefore, u, ops.full_like(before, value=1), after, axes=axes))
    if dafter is not None:
        terms.append(dafter * deflate(t, u, before, ops.full_like(after, value=1), axes=axes))
    return reduce(ops.add, terms)


def deflate_batch(t, u, *factors, size: int, axes: tuple[int, ...]) -> Any:
    rank = aval_of(t).ndim
    aligned = [ops.reshape(v, shape=(size, *(1,) * (rank - v.ndim), *v.shape[1:])) for v in factors]
    return deflate(t, u, *aligned, axes=shift_axes(axes))


def deflate_formula(t, u, before, after, *, axes: tuple[int, ...]) -> Any:
    s = t * before
    mean, slope = mean_rows(s, axes), mean_rows(u * s, axes)
    return [after * (s - mean - u * slope)]


def standardize_formula(x, *, axes: tuple[int, ...], eps: float) -> Any:
    middle = mean_rows(x, axes)
    u = x - middle
    variance = mean_rows(ops.square(u), axes)
    return [u * (1 / ops.sqrt(variance + eps)), middle, variance]


# after·(s − mean(s) − u·mean(u·s)) with s = before·t: what of a tangent survives that mean and length stay as they are.
# Its transpose in t has the two factors, which broadcast, exchanged.
deflate = declare_primitive(
    General,
    "deflated",
    normalization_kernels.deflate_kernel,
    abstract_rule=lambda self, t, u, before, after, *, axes: Aval(t.shape, t.dtype),
    tangent_rule=deflate_tangent,
    transpose_rule=lambda ct, t, u, before, after, *, axes: [
        deflate(ct, u, after, before, axes=axes),
        None,
        None,
        None,
    ],
    batch_rule=deflate_batch,
)
deflate.primitive.formula, deflate.primitive.formula_from = deflate_formula, 0


def standardize_aval(self, x: Aval, *, axes: tuple[int, ...], eps: float) -> Any:
    small = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return x, Aval(small, x.dtype), Aval(small, x.dtype)


def standardize_tangent(ys, primals, tangents, params: dict) -> list[Any]:
    """The tangents of x̂, mean and variance."""
    (t,), (u, _, variance), axes = tangents, ys, params["axes"]
    spread = ops.sqrt(variance + params["eps"])
    moved = deflate(t, u, 1 / spread, ops.full_like(variance, value=1), axes=axes)
    return [moved, mean_rows(t, axes), 2 * spread * mean_rows(u * t, axes)]


# ((x − mean)/√(variance + eps), mean, variance).
standardize = declare_primitive(
    General,
    "standardized",
    normalization_kernels.standardize_kernel,
    abstract_rule=standardize_aval,
    tangent_rule=standardize_tangent,
    batch_rule=lambda x, *, size, axes, eps: standardize(x, axes=shift_axes(axes), eps=eps),
    multiple=True,
)
standardize.primitive.formula, standardize.primitive.formula_from = standardize_formula, 0
