"""Sorting along a dimension, selection by rank, search in sorted sequences, and counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import SCALARS, aval_of, concretize, native_function, ops
from .._core.device_level import run_on_host
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.promotion import convert_value
from .._declare.spaces import expose
from ..errors import TensorError
from .arguments import normalize_dim, normalize_dims
from .declarers import expose_as_method, kind, value_dtype
from .direct import find_median, find_medians
from .entries import by_entries
from .reduction import declare_selection, ensure_elements, take_with_indices


def sort_order(x, axis: int, descending: bool) -> Any:
    """The indices that sort along an axis; equal elements keep their order, NaN is the greatest."""
    if kind(x) == "c":
        raise TensorError(
            "Sort currently does not support complex dtypes on CPU", hint="x.abs(), or torch.view_as_real(x)"
        )
    if not descending:
        return ops.argsort(x, axis=axis)
    last = aval_of(x).shape[axis] - 1
    return ops.subtract(last, ops.flip(ops.argsort(ops.flip(x, axes=(axis,)), axis=axis), axes=(axis,)))


def row_and_axis(x, dim: int) -> tuple[Any, int]:
    """Return (the Tensor with at least one dimension, the axis)."""
    axis = normalize_dim(dim, aval_of(x).ndim)
    return (x if aval_of(x).shape else ops.reshape(x, shape=(1,))), axis


def take_entries(x, places, axis: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return (the elements at the places, the places), as numbers where `shape` is ()."""
    values = ops.take_along(x, places, axis)
    return (values, places) if shape else (ops.reshape(values, shape=()), ops.reshape(places, shape=()))


def sort_arguments(input, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Every sort is stable."""
    return (input,), {"dim": dim, "descending": descending}


@declare_selection("sort", arguments=sort_arguments)
def sort(input, dim: int, descending: bool) -> Any:
    """The entries in order: (values, indices) in order along a dimension. Equal elements always keep their order, NaN
    is the greatest.

    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0]), descending=True).indices.tolist()
    [0, 2, 1]
    """
    x, axis = row_and_axis(input, dim)
    return take_entries(x, sort_order(x, axis, descending), axis, aval_of(input).shape)


@expose("function method")
@with_out
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@operation("input")
def argsort(input, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The places of the entries in ascending order along a dimension."""
    x, axis = row_and_axis(input, dim)
    return ops.reshape(sort_order(x, axis, descending), shape=aval_of(input).shape)


def rank_few(values: Sequence[Any], params: dict) -> Any:
    """Return the function of machine code that finds the greatest or least entries of rows where they are few."""
    (x,), k, dim = values, params["k"], params["dim"]
    in_rows = type(x) is np.ndarray and x.ndim > 0 and dim in (-1, x.ndim - 1) and type(k) is int
    return native_function("ranking.ranker")(x, k, not params["largest"]) if in_rows else None


@declare_selection("topk", direct=rank_few)
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k greatest (or least) elements in order, and their places."""
    x, axis = row_and_axis(input, dim)
    if not 0 <= k <= aval_of(x).shape[axis]:
        raise TensorError("selected index k out of range", hint=f"k = 0 … {aval_of(x).shape[axis]}")
    places = ops.getitem(sort_order(x, axis, largest), index=(slice(None),) * axis + (slice(0, k, None),))
    return take_entries(x, ops.positive(places), axis, aval_of(input).shape)  # not a view of all places


def take_rank(x, rank, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """Return (element, place) of one rank along an axis, or of a rank for each row."""
    row_shape = tuple(1 if i == axis else n for i, n in enumerate(aval_of(x).shape))
    rank = ops.broadcast_to(rank, shape=row_shape)
    return take_with_indices(x, ops.take_along(sort_order(x, axis, False), rank, axis), axis, keepdim)


@declare_selection("kthvalue")
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th least element along a dimension, and its place."""
    x, axis = row_and_axis(input, dim)
    if not 1 <= k <= aval_of(x).shape[axis]:
        raise TensorError(
            "kthvalue(): selected number k out of range for dimension " + str(axis),
            hint=f"k = 1 … {aval_of(x).shape[axis]}, counted from 1",
        )
    return take_rank(x, np.asarray(k - 1), axis, keepdim and aval_of(input).ndim > 0)


# -- medians and quantiles ------------------------------------------
def count_not_nan(x, axis: int) -> Any:
    """Count the elements along an axis, which stays with length one, that are not NaN."""
    shape = aval_of(x).shape
    present = np.ones(shape, bool) if kind(x) != "f" else ops.logical_not(ops.isnan(x))
    count = ops.reduce_sum(ops.convert(present, dtype=np.dtype(np.int64)), axes=(axis,))
    return ops.restore_axes(count, shape, (axis,))


def median_rank(x, axis: int, skip_nan: bool) -> Any:
    """The rank of the median, the lower of two; in a row with NaN the rank of the first NaN, unless NaN is skipped."""
    size, count = aval_of(x).shape[axis], count_not_nan(x, axis)
    if skip_nan:
        return ops.maximum((count - 1) // 2, 0)
    return ops.where(ops.less(count, size), count, (size - 1) // 2)


def declare_median(name: str, skip_nan: bool, words: str) -> None:
    """Declare median or nanmedian, in both forms."""

    def median_along(input, dim: int, keepdim: bool = False) -> Any:
        x, axis = row_and_axis(input, dim)
        ensure_elements(name, x, (axis,))
        return take_rank(x, median_rank(x, axis, skip_nan), axis, keepdim and aval_of(input).ndim > 0)

    def median_of_all(input) -> Any:
        x = fnp.ravel(input)
        if aval_of(x).size == 0:
            return np.full((), np.nan, value_dtype(x))
        value = take_rank(x, median_rank(x, 0, skip_nan), 0, False)[0]
        if kind(x) != "f":
            return value
        ties = ops.logical_or(ops.equal(x, value), ops.logical_and(ops.isnan(x), ops.isnan(value)))
        count = ops.reduce_sum(ops.convert(ties, dtype=value_dtype(x)), axes=(0,))
        return ops.with_derivative_of(
            ops.stop_gradient(value), ops.reduce_sum(ops.where(ties, x, 0), axes=(0,)) / count
        )

    node = f"{name.title()}Backward1"
    along = declare_selection(name, spaces="", node=node, direct=find_medians)(median_along)
    whole = operation("input", name=name, spaces="", direct=find_median)(median_of_all)

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out=None) -> Any:
        return whole(input, out=out) if dim is None else along(input, dim, keepdim, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The median, of two the lower{words}; with `dim` (values, indices)."
    expose("function method", name)(function)


declare_median("median", False, "")
declare_median("nanmedian", True, ", of what is not NaN")


@declare_selection("mode")
def mode(input, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along a dimension, of several the least, and its last place."""
    x, axis = row_and_axis(input, dim)
    ensure_elements("mode", x, (axis,))
    found = sort_order(x, axis, False)
    values = ops.take_along(x, found, axis)
    head = (slice(None),) * axis
    late, early = (ops.getitem(values, index=(*head, s)) for s in (slice(1, None), slice(None, -1)))
    first = np.ones_like(np.empty(aval_of(values).shape)[(*head, slice(0, 1))], bool)
    begins = ops.concatenate(first, ops.not_equal(late, early), axis=axis)
    size = aval_of(x).shape[axis]
    steps = np.arange(size).reshape((size,) + (1,) * (aval_of(x).ndim - axis - 1))
    lengths = steps - ops.cummax(ops.where(begins, steps, 0), axis=axis)
    end = ops.argmax(lengths, axis=axis)
    places = ops.take_along(found, ops.restore_axes(end, aval_of(x).shape, (axis,)), axis)
    return take_with_indices(x, places, axis, keepdim and aval_of(input).ndim > 0)


# How a position between two elements becomes that of one; None: the result is between these as well.
INTERPOLATIONS = {
    "linear": None, "lower": ops.floor, "higher": ops.ceil, "midpoint": None, "nearest": ops.rint,
}  # fmt: skip


def declare_quantile(name: str, skip_nan: bool, doc: str) -> None:
    """Declare quantile or nanquantile."""

    def compute(
        input, q, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        dtype, shape = value_dtype(input), aval_of(input).shape
        if interpolation not in INTERPOLATIONS:
            *names, last = INTERPOLATIONS
            raise TensorError(
                f"{name}() interpolation must be one of {', '.join(names)} or {last}, but got {interpolation}",
                hint='interpolation="linear"',
            )
        q = check_shares(name, q, dtype)
        axis = None if dim is None else normalize_dim(dim, len(shape))
        rows = ops.sort(fnp.statistics.move_sample_first(input, axis if shape else None), axis=0)
        size = rows.shape[0]
        if size == 0:
            raise TensorError(f"{name}() input tensor must be non-empty", hint="only where x.numel() > 0")
        count = fnp.statistics.count_numbers(rows)
        position = ops.reshape(q, shape=(aval_of(q).size, *(1,) * (rows.ndim - 1)))
        position = position * ops.convert(ops.maximum(count - 1, 0), dtype=dtype)
        if not skip_nan:  # the first NaN is behind all numbers
            position = ops.where(ops.less(count, size), ops.convert(count, dtype=dtype), position)
        found = take_between(rows, position, interpolation)
        return fnp.statistics.restore_sample_axes(
            found, aval_of(q).shape, input, axis if shape else None, keepdim
        )

    compute.__doc__ = doc
    operation("input q", numbers="q", name=name, by_value=True, copies_operands=True)(compute)


def check_shares(name: str, q, dtype) -> Any:
    """Convert the quantiles to the dtype of the elements; raise unless they are in [0, 1], as far as they are known."""
    if aval_of(q).weak:
        if type(q) in SCALARS and not 0 <= q <= 1:
            raise TensorError(
                f"{name}() q must be in the range [0, 1] but got {q}",
                hint=f"q={q / 100}, of percent" if 1 < q <= 100 else "q=0.5, the median",
            )
        q = convert_value(q, dtype)
    elif value_dtype(q) != dtype:
        raise TensorError(f"{name}() q tensor must be same dtype as the input tensor", hint="q.to(x.dtype)")
    if aval_of(q).ndim > 1:
        raise TensorError(f"{name}() q must be a scalar or 1D tensor", hint="q.flatten()")
    if type(q) is np.ndarray and not ((q >= 0) & (q <= 1)).all():
        raise TensorError(f"{name}() q values must be in the range [0, 1]", hint="q / 100, of percent")
    return q


def take_between(rows, position, interpolation: str) -> Any:
    """Take elements along the first axis at positions that need not be whole."""

    def take(whole) -> Any:
        return ops.take_along(rows, ops.convert(whole, dtype=np.dtype(np.int64)), 0)

    choose = INTERPOLATIONS[interpolation]
    if choose is not None:
        return take(choose(position))
    below, above = ops.floor(position), ops.ceil(position)
    low, high = take(below), take(above)
    weight = 0.5 if interpolation == "midpoint" else ops.subtract(position, below)
    between = ops.add(low, ops.multiply(weight, ops.subtract(high, low)))
    return ops.where(ops.equal(below, above), low, between)


declare_quantile(
    "quantile",
    False,
    "The quantiles q of all elements, or along a dimension; several q give the first dimension of the result.",
)
declare_quantile("nanquantile", True, "The quantiles of what is not NaN.")


# -- places in what is sorted ------------------------------------------
def searchsorted_values(sequence, values, right: bool, out_int32: bool) -> Any:
    """The places of values in a sorted sequence."""
    found = ops.searchsorted(
        sequence, convert_value(values, value_dtype(values)), side="right" if right else "left"
    )
    return ops.convert(found, dtype=np.dtype(np.int32 if out_int32 else np.int64))


@operation("sorted_sequence input sorter", numbers="input", spaces="function")
def searchsorted(
    sorted_sequence,
    input,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter=None,
) -> Any:
    """The places at which elements keep a sorted sequence sorted."""
    if side not in (None, "left", "right"):
        raise TensorError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}",
            hint=f"side={'right' if str(side).lower().startswith('r') else 'left'!r}",
        )
    if right and side == "left":
        raise TensorError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
            "True",
            hint='side="right", without right=',
        )
    if sorter is not None:
        sorted_sequence = ops.take_along(sorted_sequence, sorter, aval_of(sorted_sequence).ndim - 1)
    return searchsorted_values(sorted_sequence, input, right or side == "right", out_int32)


@operation("input boundaries", spaces="function", numbers="input")
def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False) -> Any:
    """The numbers of the intervals between boundaries that contain the elements."""
    if aval_of(boundaries).ndim != 1:
        raise TensorError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({aval_of(boundaries).ndim})",
            hint="torch.searchsorted takes a row of boundaries for every row",
        )
    return searchsorted_values(boundaries, input, right, out_int32)


# -- counting ------------------------------------------
@operation("input weights", out=False, constant=(0,), own_precision=True)
@by_entries
def bincount(input, weights=None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sums of the weights."""
    if aval_of(input).ndim != 1 or kind(input) not in "iu" or (input.size and input.min() < 0):
        raise TensorError(
            "bincount only supports 1-d non-negative integral inputs.",
            hint="x.flatten().long(); torch.unique(x, return_counts=True) counts other values",
        )
    if minlength < 0:
        raise TensorError("minlength should be >= 0", hint="minlength=0")
    given = None if weights is None else weights.astype(np.float64)
    counted = np.bincount(input, given, minlength)
    single = weights is not None and value_dtype(weights) == np.float32
    return counted.astype(np.float32) if single else counted


@operation("input", constant=(0,))
@by_entries
def histc(input, bins: int = 100, min=0, max=0) -> Any:
    """How many elements lie in each of `bins` intervals of equal length from min to max."""
    if bins <= 0:
        raise TensorError("bins must be > 0", hint="bins=100")
    values = np.reshape(input, -1)
    low, high = min, max
    if low == high and values.size:
        low, high = values.min(), values.max()
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise TensorError("torch.histc: max must be larger than min", hint=f"min={high}, max={low}")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise TensorError(
            f"torch.histc: range of [{low}, {high}] is not finite", hint="x[x.isfinite()], or min=… and max=…"
        )
    return np.histogram(values, bins, (low, high))[0].astype(values.dtype)


def unique_arguments(
    input,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The result is always sorted."""
    return (input,), {"inverse": return_inverse, "counts": return_counts, "dim": dim}


def one_or_several(first, *others) -> Any:
    """Return the only result, or a tuple of several."""
    return (first, *others) if others else first


@operation("input", results=one_or_several, out=False, arguments=unique_arguments, spaces="function")
def unique(input, inverse: bool, counts: bool, dim: int | None) -> Any:
    """The distinct elements in order (or slices along a dimension), and on request the place of each element among
    them, and their counts."""
    axis = None if dim is None else normalize_dims(dim, aval_of(input).ndim)[0]
    values = concretize(input, "unique")
    found = np.unique(values, return_inverse=inverse, return_counts=counts, axis=axis, equal_nan=False)
    return list(found) if isinstance(found, tuple) else [found]


@operation("input", results=one_or_several, out=False, spaces="function")
def unique_consecutive(
    input, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along a dimension) that differ from their predecessor; options as in `unique`."""
    values = concretize(input, "unique_consecutive")
    options = {"return_inverse": return_inverse, "return_counts": return_counts, "dim": dim}
    return run_on_host(find_runs, {"values": values, **options})


def find_runs(values: np.ndarray, return_inverse: bool, return_counts: bool, dim: int | None) -> list[Any]:
    """Find the elements that differ from their predecessor, the place of each element among them, and their counts."""
    axis = 0 if dim is None else normalize_dim(dim, values.ndim)
    rows = values.reshape(-1) if dim is None or not values.ndim else np.moveaxis(values, axis, 0)
    differs = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    begins = np.concatenate([np.ones(min(len(rows), 1), bool), differs])
    found = [np.moveaxis(rows[begins], 0, axis)]
    if return_inverse:
        places = np.cumsum(begins) - 1
        found.append(places.reshape(values.shape) if dim is None else places)
    if return_counts:
        found.append(np.diff(np.append(np.flatnonzero(begins), len(rows))))
    return found


for function in (unique, unique_consecutive):
    expose_as_method(function)
