"""Running reductions, differences and integrals along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.aval import aval_of
from ...lax import reductions
from .._core.errors import TensorError
from .._core.tensor import Tensor
from .._declare.operation import expose, operation, promote_values
from .declarers import kind
from .dimensions import normalize_dim
from .reduction import declare_selection, sum_operand


def accumulate_along(function, x, dim) -> Any:
    """Apply a cumulative primitive along a dimension; a Tensor without dimensions is its own result."""
    axis = normalize_dim(dim, aval_of(x).ndim)
    return function(x, axis=axis) if aval_of(x).shape else ops.positive(x)


@operation("input", inplace=True)
def cumsum(input, dim: int, *, dtype=None) -> Any:
    """The sums of all elements up to each.

    >>> import fxgrad.compat as torch
    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0).tolist()
    [1, 3, 6]
    """
    return accumulate_along(ops.cumsum, sum_operand(input, dtype), dim)


@operation("input", inplace=True)
def cumprod(input, dim: int, *, dtype=None) -> Any:
    """The products of all elements up to each."""
    return accumulate_along(ops.cumprod, sum_operand(input, dtype), dim)


@operation("input")
def logcumsumexp(input, dim: int) -> Any:
    """log Σ eˣ of all elements up to each."""
    return accumulate_along(reductions.running_logsumexp, input, dim)


def declare_running_extreme(name: str, extreme, doc: str) -> Any:
    """Declare cummax or cummin: the extremes so far, and the places of the last elements that reached them."""

    def compute(input, dim: int) -> Any:
        shape = aval_of(input).shape
        axis = normalize_dim(dim, len(shape))
        if not shape:
            return ops.positive(input), np.zeros((), np.int64)
        y = extreme(input, axis=axis)
        steps = np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - axis - 1))
        hit = ops.equal(input, y)
        if kind(input) == "f":
            hit = ops.logical_or(hit, ops.isnan(input))
        places = ops.cummax(ops.where(hit, steps, 0), axis=axis)
        return ops.take_along(input, places, axis), places

    compute.__doc__ = doc
    return declare_selection(name)(compute)


cummax = declare_running_extreme("cummax", ops.cummax, "The greatest element up to each, and its place.")
cummin = declare_running_extreme("cummin", ops.cummin, "The least element up to each, and its place.")


def slice_elements(x, axis: int, start: int | None, stop: int | None) -> Any:
    """Slice the elements start … stop - 1 along an axis."""
    return ops.getitem(x, index=((slice(None),) * axis + (slice(start, stop, None),)))


@operation("input prepend append")
def diff(input, n: int = 1, dim: int = -1, prepend=None, append=None) -> Any:
    """The n-th differences of neighbours along a dimension."""
    if not aval_of(input).shape:
        raise TensorError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise TensorError(f"order must be non-negative but got {n}")
    axis = normalize_dim(dim, aval_of(input).ndim)
    pieces = [v for v in (prepend, input, append) if v is not None]
    x = ops.concatenate(*promote_values(pieces, "arithmetic"), axis=axis) if len(pieces) > 1 else input
    for _ in range(min(n, aval_of(x).shape[axis])):
        late, early = slice_elements(x, axis, 1, None), slice_elements(x, axis, None, -1)
        x = ops.logical_xor(late, early) if kind(x) == "b" else ops.subtract(late, early)
    return x


# -- integrals ------------------------------------------
def trapezoid_areas(y, x, dx, dim: int) -> tuple[Any, int]:
    """Return (the areas of the trapezoids between neighbours, their axis)."""
    axis = normalize_dim(dim, aval_of(y).ndim)
    if kind(y) in "biu":
        y = ops.convert(y, dtype=promote_values((y,), "float")[0].dtype)
    width: Any = 1.0 if dx is None else dx
    if x is not None:
        if aval_of(x).ndim == 1:
            width = ops.subtract(slice_elements(x, 0, 1, None), slice_elements(x, 0, None, -1))
            width = ops.reshape(width, shape=aval_of(width).shape + (1,) * (aval_of(y).ndim - axis - 1))
        else:
            place = axis - aval_of(y).ndim + aval_of(x).ndim
            width = ops.subtract(slice_elements(x, place, 1, None), slice_elements(x, place, None, -1))
    return 0.5 * width * ops.add(slice_elements(y, axis, 1, None), slice_elements(y, axis, None, -1)), axis


@operation("y x", spaces="", name="trapezoid")
def trapezoid_values(y, x, dx, dim: int) -> Any:
    """The integral by the trapezoidal rule."""
    areas, axis = trapezoid_areas(y, x, dx, dim)
    return ops.reduce_sum(areas, axes=(axis,))


@operation("y x", spaces="", name="cumulative_trapezoid")
def cumulative_trapezoid_values(y, x, dx, dim: int) -> Any:
    """The integrals up to each element but the first, by the trapezoidal rule."""
    areas, axis = trapezoid_areas(y, x, dx, dim)
    return ops.cumsum(areas, axis=axis)


@expose()
def trapezoid(y: Tensor, x=None, *, dx=None, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, at points `x` or of distance `dx`."""
    return trapezoid_values(y, x, dx, dim)


@expose()
def cumulative_trapezoid(y: Tensor, x=None, *, dx=None, dim: int = -1) -> Tensor:
    """The integrals up to each element but the first, by the trapezoidal rule."""
    return cumulative_trapezoid_values(y, x, dx, dim)


expose("function", "trapz")(trapezoid)
