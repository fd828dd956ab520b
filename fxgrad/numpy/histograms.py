"""Counts of integers, and of values between edges.

Counts have no derivative with respect to the counted values. Sums of weights are differentiable in the weights, and
edges computed from the data are differentiable in the data.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.common_errors import check_ndim, wrong_shape
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.typing import Array, ArrayLike, Arrays
from .composite import cast, composite, dtype_of, ensure, kind, known_value, operand
from .creation import linspace
from .joining import unstack
from .manipulation import entry_count as size_of
from .manipulation import ravel
from .reductions import max, min
from .signal import diff
from .sorting import searchsorted


def sum_in_bins(places: Any, inside: Any, weights: Any, count: int) -> Any:
    """Sum the weights (None: ones) of what is inside at each of `count` places, in double precision."""
    if weights is None:
        weights = np.ones(places.shape, np.intp)
    wide = cast(weights, np.result_type(dtype_of(weights), float)) if kind(weights) in "fc" else weights
    sums = ops.scatter_add(wide, ops.where(inside, places, count), index=(ops.ARRAY,), shape=(count + 1,))
    return cast(sums[:count], dtype_of(weights))


@composite(np.bincount, further=("length",))
def bincount(
    x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """Count how often each integer occurs, or sum its weights.

    Args:
        x: non-negative integers, with one axis.
        weights: of the entries of `x`, real.
        minlength: the least length of the result, which otherwise ends with the greatest integer.
        length: the exact length, as in JAX: integers beyond are not counted, so that `x` need not be known.

    Raises:
        TypeError: `x` is not of integers, or `weights` are complex.
        ValueError: `x` has not one axis, or `weights` another length.

    >>> fx.jacobian(lambda w: fnp.bincount([0, 2, 2], w))(fnp.ones(3))
    array([[1., 0., 0.],
           [0., 0., 0.],
           [0., 1., 1.]])
    """
    x = operand(x)
    if kind(x) not in "biu" and x.size:
        raise DTypeError(
            f"bincount: x has dtype {dtype_of(x)}, expected an integer one",
            hint="x.astype(int), or fnp.histogram",
        )
    check_ndim("bincount", "x", x, 1)
    x = cast(x, np.intp)
    ensure(ops.greater_equal(x, 0), "'list' argument must have no negative elements", "x - x.min()")
    if weights is not None:
        weights = operand(weights)
        if kind(weights) == "c":
            raise DTypeError(
                f"bincount: weights has the complex dtype {dtype_of(weights)}",
                hint="two counts, with weights.real and with weights.imag",
            )
        if weights.shape != x.shape:
            raise wrong_shape("bincount", "weights", weights.shape, x.shape)
        weights = cast(weights, float)
    if length is None:
        greatest = known_value(max(x, initial=-1), "bincount", "fnp.bincount(x, length=n)")
        length = builtins.max(int(greatest) + 1, minlength)
    return sum_in_bins(x, ops.logical_and(ops.greater_equal(x, 0), ops.less(x, length)), weights, length)


# -- edges ------------------------------------------
def data_range(a: Any, range: Any) -> tuple[Any, Any]:
    """Return the range that is given, or that of the data."""
    if range is not None:
        first, last = map(as_value, range)
        ensure(
            ops.less_equal(first, last),
            "max must be larger than min in range parameter.",
            "range=(low, high)",
        )
        return first, last
    return (min(a), max(a)) if a.size else (0, 1)


def bin_edges(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """Return the edges of the bins for flattened data."""
    if kind(a) == "c":
        raise DTypeError("complex numbers have no histogram", hint="that of their real and imaginary parts")
    if isinstance(bins, str):
        if weights is not None:
            raise StructureError(
                f"histogram: bins={bins!r} is no rule for weighted data", hint="bins=10, say, or the edges"
            )
        data = known_value(a, f"a histogram with bins={bins!r}", "bins=n, or their edges")
        bins = np.histogram_bin_edges(data, bins, range).size - 1
    bins = operand(bins)
    if bins.ndim:
        check_ndim("histogram", "bins", bins, 1)
        ensure(
            ops.less_equal(bins[:-1], bins[1:]),
            "`bins` must increase monotonically, when an array",
            "fnp.sort(bins)",
        )
        return bins
    if kind(bins) not in "iu":
        raise DTypeError(
            f"histogram: bins has dtype {dtype_of(bins)}, expected an integer",
            hint="bins.astype(int), or an array of edges",
        )
    count = int(known_value(bins, "a histogram", "a number of bins that does not depend on traced values"))
    if count < 1:
        raise ShapeError(f"histogram: bins={count}, which is no number of bins", hint="bins=10, say")
    first, last = data_range(a, range)
    dtype = ops.result_dtype([first, last, a])
    dtype = dtype if dtype.kind == "f" else np.result_type(dtype, float)
    first, last = operand(first), operand(last)
    ensure(
        ops.logical_and(ops.isfinite(first), ops.isfinite(last)),
        "the range of the data is not finite",
        "range=(low, high), or only what fnp.isfinite holds of",
    )
    empty = ops.equal(first, last)
    first, last = ops.where(empty, first - 0.5, first), ops.where(empty, last + 0.5, last)
    edges = linspace(first, last, count + 1, dtype=dtype)
    ensure(
        ops.less(edges[:-1], edges[1:]),
        f"Too many bins for data range. Cannot create {count} finite-sized bins.",
        "fewer bins, or a wider range=",
    )
    return edges


def find_bins(a: Any, edges: Any) -> tuple[Any, Any]:
    """Return the number of the bin of each value, and whether there is one; the last bin includes both of its
    edges."""
    last = edges.size - 2
    found = ops.subtract(searchsorted(edges, a, "right"), 1)
    inside = ops.logical_and(ops.greater_equal(a, edges[0]), ops.less_equal(a, edges[-1]))
    return ops.where(ops.equal(a, edges[-1]), last, found), inside


def flatten_data(a: Any, weights: Any) -> tuple[Any, Any]:
    """Return data and weights with one axis."""
    a = operand(a)
    if weights is not None:
        weights = operand(weights)
        if weights.shape != a.shape:
            raise wrong_shape("histogram", "weights", weights.shape, a.shape)
        weights = ravel(weights)
    return ravel(cast(a, np.uint8) if kind(a) == "b" else a), weights


@composite(np.histogram_bin_edges)
def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """The edges of the bins of a histogram. Edges computed from the data vary with its smallest and its largest entry.

    Raises:
        ValueError: `weights` have another shape than `a`, or `bins` is not positive, or an array with several axes.
        TypeError: complex numbers.
        TypeError: `bins` is no integer, name or array, or a name while there are weights.

    >>> fnp.histogram_bin_edges(fnp.array([0.0, 1.0, 4.0]), 2)
    array([0., 2., 4.])
    """
    a, weights = flatten_data(a, weights)
    return bin_edges(a, bins, range, weights)


# -- histograms ------------------------------------------
@composite(np.histogram)
def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Any, Any]:
    """Return the number of entries in each bin, and the edges of the bins.

    Args:
        bins: how many of equal width, or their edges, or the name of one of NumPy's estimators of their number, for
            which the values must be known.
        range: the outer edges; by default the least and the greatest entry.
        density: divide by the widths and the total.
        weights: of the entries.

    Raises:
        ValueError: `weights` have another shape than `a`, or `bins` is not positive, or an array with several axes.
        TypeError: complex numbers.
        TypeError: `bins` is no integer, name or array, or a name while there are weights.

    >>> fx.jacobian(lambda w: fnp.histogram([1.0, 2.0, 9.0], 2, weights=w)[0])(fnp.ones(3))
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    a, weights = flatten_data(a, weights)
    edges = bin_edges(a, bins, range, weights)
    counts = sum_in_bins(*find_bins(a, edges), weights, edges.size - 1)
    if density:
        counts = counts / cast(diff(edges), float) / counts.sum()
    return counts, edges


def repeat_for_axes(value: Any, count: int, name: str) -> list[Any]:
    """Return the entries of a sequence, or one value repeated for all axes."""
    try:
        values = list(value)
    except TypeError:
        return [value] * count
    if len(values) != count:
        raise ShapeError(
            f"{name} for {len(values)} axes, of points that have {count}",
            hint=f"one for all axes, or {count} of them",
        )
    return values


@composite(np.histogramdd)
def histogramdd(
    sample: Arrays,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Any, list[Any]]:
    """The number of points in each box, and the edges along every axis.

    Args:
        sample: points in the rows of a matrix, or a sequence with the coordinates along every axis.
        bins, range: as for `histogram`, the same for all axes or a sequence.
        density, weights: as for `histogram`.

    Raises:
        ValueError: not one entry of `bins` or `range` for each axis, or `bins` that are not positive.
        TypeError: complex numbers.
        TypeError: an entry of `bins` is neither an integer nor an array.

    >>> fnp.histogramdd(fnp.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), bins=2)[0]
    array([[1., 0.],
           [0., 2.]])
    """
    by_rows = getattr(sample, "ndim", 1) == 2
    columns = [ravel(column) for column in (unstack(operand(sample), axis=1) if by_rows else sample)]
    count = len(columns)
    ranges = [None] * count if range is None else repeat_for_axes(range, count, "range")
    edges = [
        bin_edges(x, b, r, None) for x, b, r in zip(columns, repeat_for_axes(bins, count, "bins"), ranges)
    ]
    place, inside = 0, True
    for x, e in zip(columns, edges):
        along, within = find_bins(x, e)
        place, inside = ops.add(ops.multiply(place, e.size - 1), along), ops.logical_and(inside, within)
    weights = np.ones(columns[0].shape) if weights is None else cast(operand(weights), float)
    shape = tuple([e.size - 1 for e in edges])
    counts = ops.reshape(sum_in_bins(place, inside, weights, size_of(shape)), shape=shape)
    if density:
        total = counts.sum()
        for i, e in enumerate(edges):
            counts = counts / ops.reshape(diff(e), shape=(e.size - 1, *(1,) * (count - i - 1)))
        counts = counts / total
    return counts, edges


@composite(np.histogram2d)
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Any, Any, Any]:
    """The number of points in each rectangle, the edges along x, and the edges along y; `bins` may be the edges for
    both axes.

    Raises:
        ValueError: `x` and `y` have different lengths.

    >>> fnp.histogram2d(fnp.array([0.0, 1.0, 1.0]), fnp.array([0.0, 1.0, 0.9]), bins=2)[0]
    array([[1., 0.],
           [0., 2.]])
    """
    x, y = operand(x), operand(y)
    if len(x) != len(y):
        raise ShapeError(
            f"histogram2d: x has {len(x)} entries and y {len(y)}",
            hint="x and y are the coordinates of points, one of each for a point",
        )
    if hasattr(bins, "__len__") and len(bins) > 2:
        bins = [bins, bins]
    counts, (x_edges, y_edges) = histogramdd([x, y], bins, range, density, weights)
    return counts, x_edges, y_edges


__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
