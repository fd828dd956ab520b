"""Running reductions, differences and integrals along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import aval_of, ops
from .._declare.operation import operation
from .._declare.promotion import promote_values
from ..errors import TensorError
from .arguments import dim_index, normalize_dim
from .arithmetic import logaddexp_of_any
from .declarers import add_aliases, kind
from .direct import running_extreme, running_total
from .reduction import declare_selection, sum_operand


def accumulate_along(function, x, dim) -> Any:
    """Apply a cumulative primitive along a dimension; return a Tensor without dimensions unchanged."""
    axis = normalize_dim(dim, aval_of(x).ndim)
    y = function(x, axis=axis) if aval_of(x).shape else ops.positive(x)
    return y if aval_of(y).dtype == aval_of(x).dtype else ops.convert(y, dtype=aval_of(x).dtype)


# In what torch's loops accumulate; what overflows on the way need not in the end.
ACCUMULATES_IN = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}


def accumulate_precisely(function, x, dim) -> Any:
    """Apply a cumulative primitive in double precision, of numbers of single precision."""
    dtype = aval_of(x).dtype
    wide = ACCUMULATES_IN.get(dtype)
    if wide is None:
        return accumulate_along(function, x, dim)
    return ops.convert(accumulate_along(function, ops.convert(x, dtype=wide), dim), dtype=dtype)


@operation("input", inplace=True, by_value=False, direct=running_total("add"))
def cumsum(input, dim: int, *, dtype=None) -> Any:
    """The sums of all elements up to each.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0).tolist()
    [1, 3, 6]
    """
    return accumulate_precisely(ops.cumsum, sum_operand(input, dtype), dim)


@operation("input", inplace=True, by_value=False, direct=running_total("multiply"))
def cumprod(input, dim: int, *, dtype=None) -> Any:
    """The products of all elements up to each."""
    return accumulate_precisely(ops.cumprod, sum_operand(input, dtype), dim)


@operation("input")
def logcumsumexp(input, dim: int) -> Any:
    """The running log Σ eˣ of all elements up to each."""
    return accumulate_along(running_logaddexp, input, dim)


def running_logaddexp(x, axis: int) -> Any:
    """log Σ eˣ up to each place: the k-th round computes it for the last 2ᵏ places."""
    reach = 1
    while reach < x.shape[axis]:
        first, before, rest = (
            ops.getitem(x, index=dim_index(axis, part))
            for part in (slice(None, reach), slice(None, -reach), slice(reach, None))
        )
        x = ops.concatenate(first, logaddexp_of_any(rest, before), axis=axis)
        reach *= 2
    return x


def declare_running_extreme(name: str, extreme, ufunc: np.ufunc, doc: str) -> Any:
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
    return declare_selection(name, direct=running_extreme(ufunc))(compute)


cummax = declare_running_extreme(
    "cummax", ops.cummax, np.maximum, "The greatest element up to each, and its place."
)
cummin = declare_running_extreme(
    "cummin", ops.cummin, np.minimum, "The least element up to each, and its place."
)


@operation("input prepend append")
def diff(input, n: int = 1, dim: int = -1, prepend=None, append=None) -> Any:
    """The n-th differences of neighbours along a dimension."""
    if not aval_of(input).shape:
        raise TensorError("diff expects input to be at least one-dimensional", hint="x.reshape(1)")
    if n < 0:
        raise TensorError(f"order must be non-negative but got {n}", hint=f"n={-n}")
    axis = normalize_dim(dim, aval_of(input).ndim)
    if n == 0:
        return input if kind(input) == "b" else ops.positive(input)
    pieces = [v for v in (prepend, input, append) if v is not None]
    x = ops.concatenate(*promote_values(pieces, "arithmetic"), axis=axis) if len(pieces) > 1 else input
    return fnp.diff(x, min(n, x.shape[axis]), axis)


# -- integrals ------------------------------------------
def trapezoid_areas(y, x, dx, dim: int) -> tuple[Any, int]:
    """Return (the areas of the trapezoids between neighbours, their axis)."""
    axis = normalize_dim(dim, aval_of(y).ndim)
    y, x = (promote_values((y,), "float")[0], None) if x is None else promote_values((y, x), "float")
    axis_from_end = axis - y.ndim
    width: Any = 1.0 if dx is None else dx
    if x is not None:
        if x.ndim == 1:
            x = ops.reshape(x, shape=(*x.shape, *(1,) * (-1 - axis_from_end)))
        width = fnp.diff(x, axis=axis_from_end)
    late, early = (ops.getitem(y, index=dim_index(axis, s)) for s in (slice(1, None), slice(None, -1)))
    return 0.5 * width * ops.add(late, early), axis


@operation("y x", spaces="function", out=False)
def trapezoid(y, x=None, *, dx=None, dim: int = -1) -> Any:
    """The integral along a dimension by the trapezoidal rule, at points `x` or of distance `dx`."""
    areas, axis = trapezoid_areas(y, x, dx, dim)
    return ops.reduce_sum(areas, axes=(axis,))


@operation("y x", spaces="function", out=False)
def cumulative_trapezoid(y, x=None, *, dx=None, dim: int = -1) -> Any:
    """The integrals up to each element except the first, by the trapezoidal rule."""
    areas, axis = trapezoid_areas(y, x, dx, dim)
    return ops.cumsum(areas, axis=axis)


add_aliases("function", trapz=trapezoid)
