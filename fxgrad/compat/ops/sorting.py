"""Order along a dimension: sorting, selection by rank, places in what is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.aval import SCALARS, aval_of
from ...core.interpreter import concrete
from .._core.errors import DimensionError, TensorError
from .._core.tensor import Tensor
from .._declare.operation import exposed, in_dtype, operation
from .declarers import dtype_of, kind
from .dimensions import dimension, dimensions, flattened
from .reduction import at, elements


def order(x: Any, axis: int, descending: bool) -> Any:
    """The places that sort along an axis; equal elements keep their order, NaN is the greatest."""
    if kind(x) == "c":
        raise TensorError("Sort currently does not support complex dtypes on CPU")
    if not descending:
        return ops.argsort(x, axis=axis)
    last = aval_of(x).shape[axis] - 1
    return ops.subtract(last, ops.flip(ops.argsort(ops.flip(x, axes=(axis,)), axis=axis), axes=(axis,)))


def row(x: Any, dim: int) -> tuple[Any, int]:
    """(the Tensor with a dimension at least, the axis)."""
    axis = dimension(dim, aval_of(x).ndim)
    return (x if aval_of(x).shape else ops.reshape(x, shape=(1,))), axis


def picked(x: Any, places: Any, axis: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """(the elements at the places, the places), of the rank that `shape` has."""
    values = ops.take_along(x, places, axis)
    return (values, places) if shape else (ops.reshape(values, shape=()), ops.reshape(places, shape=()))


@elements("sort", spaces="")
def sort_values(input: Any, dim: int, descending: bool) -> Any:
    """The elements in order, and the places from which they come."""
    x, axis = row(input, dim)
    return picked(x, order(x, axis, descending), axis, aval_of(input).shape)


@exposed("function method")
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None
) -> Any:
    """(values, indices) in order along a dimension. Equal elements always keep their order, NaN is the greatest.

    >>> import fxgrad.compat as torch
    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0]), descending=True).indices.tolist()
    [0, 2, 1]
    """
    return sort_values(input, dim, descending, out=out)


@operation("input", node="SortBackward0")
def msort(input: Any) -> Any:
    """The elements in order along the first dimension."""
    x, axis = row(input, 0)
    return picked(x, order(x, axis, False), axis, aval_of(input).shape)[0]


@operation("input")
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The places that sort."""
    x, axis = row(input, dim)
    return ops.reshape(order(x, axis, descending), shape=aval_of(input).shape)


@elements("topk")
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest (or least) elements in order, and their places."""
    x, axis = row(input, dim)
    if not 0 <= k <= aval_of(x).shape[axis]:
        raise TensorError(
            "selected index k out of range", hint=f"there are {aval_of(x).shape[axis]} elements"
        )
    places = ops.getitem(order(x, axis, largest), index=(slice(None),) * axis + (slice(0, k, None),))
    return picked(x, ops.positive(places), axis, aval_of(input).shape)  # not a view of all places


def ranked(x: Any, rank: Any, axis: int, keepdim: bool, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """(element, place) of a rank along an axis, or of a rank for each row."""
    found = order(x, axis, False)
    row_shape = tuple(1 if i == axis else n for i, n in enumerate(aval_of(x).shape))
    places = ops.take_along(found, ops.broadcast_to(rank, shape=row_shape), axis)
    values = ops.take_along(x, places, axis)
    if keepdim and shape:
        return values, places
    final = shape[:axis] + shape[axis + 1 :]
    return ops.reshape(values, shape=final), ops.reshape(places, shape=final)


@elements("kthvalue")
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th least element along a dimension, and its place."""
    x, axis = row(input, dim)
    if not 1 <= k <= aval_of(x).shape[axis]:
        raise TensorError("kthvalue(): selected number k out of range for dimension " + str(axis))
    return ranked(x, np.asarray(k - 1), axis, keepdim, aval_of(input).shape)


# -- medians and quantiles ------------------------------------------
def numbers(x: Any, axis: int) -> Any:
    """How many along an axis, which stays with length one, are not NaN."""
    shape = aval_of(x).shape
    present = np.ones(shape, bool) if kind(x) != "f" else ops.logical_not(ops.isnan(x))
    count = ops.reduce_sum(ops.convert(present, dtype=np.dtype(np.int64)), axes=(axis,))
    return ops.reshape(count, shape=(*shape[:axis], 1, *shape[axis + 1 :]))


def middle(x: Any, axis: int, skip_nan: bool) -> Any:
    """The rank of the median, of two the lower; where there is NaN that of the first, unless it is skipped."""
    size, count = aval_of(x).shape[axis], numbers(x, axis)
    if skip_nan:
        return ops.maximum((count - 1) // 2, 0)
    return ops.where(ops.less(count, size), count, (size - 1) // 2)


def medians(name: str, skip_nan: bool, words: str) -> None:
    """median or nanmedian, in their two forms."""

    def by_dimension(input: Any, dim: int, keepdim: bool = False) -> Any:
        x, axis = row(input, dim)
        if aval_of(x).shape[axis] == 0:
            raise DimensionError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
        return ranked(x, middle(x, axis, skip_nan), axis, keepdim, aval_of(input).shape)

    def of_all(input: Any) -> Any:
        x = flattened(input)
        if aval_of(x).size == 0:
            return np.full((), np.nan, dtype_of(x))
        value = ranked(x, middle(x, 0, skip_nan), 0, False, (aval_of(x).size,))[0]
        if kind(x) != "f":
            return value
        ties = ops.logical_or(ops.equal(x, value), ops.logical_and(ops.isnan(x), ops.isnan(value)))
        count = ops.reduce_sum(ops.convert(ties, dtype=dtype_of(x)), axes=(0,))
        return ops.graft(ops.stop_gradient(value), ops.reduce_sum(ops.where(ties, x, 0), axes=(0,)) / count)

    along = elements(name, spaces="")(by_dimension)
    whole = operation("input", name=name, spaces="")(of_all)

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
        return whole(input, out=out) if dim is None else along(input, dim, keepdim, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The median, of two the lower{words}; with `dim` (values, indices)."
    exposed("function method", name)(function)


medians("median", False, "")
medians("nanmedian", True, ", of what is not NaN")


@elements("mode")
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along a dimension, of several the least, and its last place."""
    x, axis = row(input, dim)
    found = order(x, axis, False)
    values = ops.take_along(x, found, axis)
    head = (slice(None),) * axis
    late, early = (ops.getitem(values, index=(*head, s)) for s in (slice(1, None), slice(None, -1)))
    first = np.ones_like(np.empty(aval_of(values).shape)[(*head, slice(0, 1))], bool)
    begins = ops.concatenate(first, ops.not_equal(late, early), axis=axis)
    size = aval_of(x).shape[axis]
    steps = np.arange(size).reshape((size,) + (1,) * (aval_of(x).ndim - axis - 1))
    lengths = steps - ops.cummax(ops.where(begins, steps, 0), axis=axis)
    end = ops.argmax(lengths, axis=axis)
    kept = tuple(1 if i == axis else n for i, n in enumerate(aval_of(x).shape))
    places = ops.take_along(found, ops.reshape(end, shape=kept), axis)
    return at(x, places, axis, keepdim) if aval_of(input).shape else picked(x, places, 0, ())


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@operation("input q", by_value=True)
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The quantiles q of all elements, or along a dimension; several q give the first dimension of the result."""
    return quantiles("quantile", input, q, dim, keepdim, interpolation, False)


@operation("input q", by_value=True)
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The quantiles of what is not NaN."""
    return quantiles("nanquantile", input, q, dim, keepdim, interpolation, True)


def quantiles(name: str, x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    """See `quantile`."""
    if interpolation not in INTERPOLATIONS:
        raise TensorError(
            f"{name}() interpolation must be one of {', '.join(INTERPOLATIONS[:-1])} or {INTERPOLATIONS[-1]}, but got "
            f"{interpolation}"
        )
    if kind(x) != "f" or dtype_of(x).itemsize == 2:
        raise TensorError(f"{name}() input tensor must be either float or double dtype")
    dtype, shape = dtype_of(x), aval_of(x).shape
    if aval_of(q).weak:
        if type(q) in SCALARS and not 0 <= q <= 1:
            raise TensorError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = in_dtype(q, dtype)
    elif dtype_of(q) != dtype:
        raise TensorError(f"{name}() q tensor must be same dtype as the input tensor")
    if aval_of(q).ndim > 1:
        raise TensorError(f"{name}() q must be a scalar or 1D tensor")
    if type(q) is np.ndarray and not ((q >= 0) & (q <= 1)).all():
        raise TensorError(f"{name}() q values must be in the range [0, 1]")
    axis = -1 if dim is None else dimension(dim, len(shape))
    if dim is None or not shape:
        rows, lead = flattened(x), ()
        final: tuple[int, ...] = (1,) * len(shape) if keepdim else ()
    else:
        rows = ops.move_axis(x, axis, len(shape) - 1)
        lead = aval_of(rows).shape[:-1]
        final = tuple(1 if i == axis else n for i, n in enumerate(shape)) if keepdim else lead
    size = aval_of(rows).shape[-1]
    if size == 0:
        raise TensorError(f"{name}() input tensor must be non-empty")
    last = len(lead)
    values = ops.take_along(rows, order(rows, last, False), last)
    count = numbers(rows, last)
    rank = ops.maximum(count - 1, 0) if skip_nan else ops.where(ops.less(count, size), count, size - 1)
    spoiled = None if skip_nan else ops.less(count, size)
    position = flattened(q) * ops.convert(rank, dtype=dtype)  # a row of quantiles for each row
    if spoiled is not None:  # by the first NaN, in the rank behind the numbers
        position = ops.where(spoiled, ops.convert(rank, dtype=dtype), position)
    below, above = ops.floor(position), ops.ceil(position)
    if interpolation == "lower":
        above = below
    elif interpolation == "higher":
        below = above
    elif interpolation == "nearest":
        below = above = ops.rint(position)
    low, high = (
        ops.take_along(values, ops.convert(p, dtype=np.dtype(np.int64)), last) for p in (below, above)
    )
    weight = 0.5 if interpolation == "midpoint" else ops.subtract(position, below)
    between = ops.add(low, ops.multiply(weight, ops.subtract(high, low)))
    found = (
        low
        if interpolation in ("lower", "higher", "nearest")
        else ops.where(ops.equal(below, above), low, between)
    )
    found = ops.move_axis(found, last, 0)
    return ops.reshape(found, shape=(*aval_of(q).shape, *final))


# -- places in what is sorted ------------------------------------------
def searched(sequence: Any, values: Any, right: bool, out_int32: bool) -> Any:
    """The places of values in a sorted sequence."""
    found = ops.searchsorted(sequence, in_dtype(values, dtype_of(values)), side="right" if right else "left")
    return ops.convert(found, dtype=np.dtype(np.int32 if out_int32 else np.int64))


@operation("sorted_sequence input sorter", spaces="function")
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """The places at which elements keep a sorted sequence sorted."""
    if side not in (None, "left", "right"):
        raise TensorError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise TensorError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
            "True"
        )
    if sorter is not None:
        sorted_sequence = ops.take_along(sorted_sequence, sorter, aval_of(sorted_sequence).ndim - 1)
    return searched(sorted_sequence, input, right or side == "right", out_int32)


@operation("input boundaries", spaces="function", numbers=True)
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The numbers of the intervals between boundaries in which elements lie."""
    if aval_of(boundaries).ndim != 1:
        raise TensorError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({aval_of(boundaries).ndim})"
        )
    return searched(boundaries, input, right, out_int32)


# -- counting ------------------------------------------
@operation("input weights", out=False, constant=(0,), own_precision=True)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sums of the weights."""
    if aval_of(input).ndim != 1 or kind(input) not in "iu":
        raise TensorError("bincount only supports 1-d non-negative integral inputs.")
    values = concrete(input, "bincount")
    if values.size and values.min() < 0:
        raise TensorError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise TensorError("minlength should be >= 0")
    given = None if weights is None else concrete(weights, "bincount").astype(np.float64)
    counted = np.bincount(values, given, minlength)
    single = weights is not None and dtype_of(weights) == np.float32
    return counted.astype(np.float32) if single else counted


@operation("input", constant=(0,))
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    """How many elements lie in each of `bins` intervals of equal length from min to max."""
    if bins <= 0:
        raise TensorError("bins must be > 0")
    values = concrete(input, "histc").reshape(-1)
    low, high = min, max
    if low == high and values.size:
        low, high = values.min(), values.max()
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise TensorError("torch.histc: max must be larger than min")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise TensorError(f"torch.histc: range of [{low}, {high}] is not finite")
    return np.histogram(values, bins, (low, high))[0].astype(values.dtype)


@exposed("function method")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order (or parts along a dimension), where each came to be, and how often it occurs."""
    found = unique_values(input, return_inverse, return_counts, dim)
    return found if len(found) > 1 else found[0]


@operation("input", spaces="", name="unique", results=tuple, out=False)
def unique_values(input: Any, inverse: bool, counts: bool, dim: int | None) -> Any:
    """See `unique`."""
    axis = None if dim is None else dimensions(dim, aval_of(input).ndim)[0]
    values = concrete(input, "unique")
    found = np.unique(values, return_inverse=inverse, return_counts=counts, axis=axis, equal_nan=False)
    return list(found) if isinstance(found, tuple) else [found]


@exposed("function method")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or parts along a dimension) that differ from the one before, as `unique`."""
    found = consecutive_values(input, return_inverse, return_counts, dim)
    return found if len(found) > 1 else found[0]


@operation("input", spaces="", name="unique_consecutive", results=tuple, out=False)
def consecutive_values(input: Any, inverse: bool, counts: bool, dim: int | None) -> Any:
    """See `unique_consecutive`."""
    values = concrete(input, "unique_consecutive")
    axis = 0 if dim is None else dimension(dim, values.ndim)
    rows = values.reshape(-1) if dim is None else np.moveaxis(values, axis, 0)
    differs = (rows[1:] != rows[:-1]).reshape(max(len(rows) - 1, 0), -1).any(1)
    begins = np.concatenate([np.ones(min(len(rows), 1), bool), differs])
    found = [np.moveaxis(rows[begins], 0, axis)]
    if inverse:
        places = np.cumsum(begins) - 1
        found.append(places.reshape(values.shape) if dim is None else places)
    if counts:
        found.append(np.diff(np.append(np.flatnonzero(begins), len(rows))))
    return found
