"""Sorting, sorting permutations, and searches in sorted arrays.

Traced values are sorted by a stable algorithm, whatever `kind` is; NaN comes last. Derivatives move with the entries,
and equal entries keep their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.common_errors import check_ndim, check_option, wrong_shape
from ..core.costs import SHARED_ENTRIES
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.typing import Array, ArrayLike, Axis
from .composite import cast, composite, dtype_of, ensure, kind, line_up, normalize_axis, operand, operands
from .documentation import NO_DERIVATIVE
from .indexing import check_positions
from .joining import concatenate
from .manipulation import ravel, take_positions

# What NumPy's own functions have not yet.
FURTHER = () if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else ("descending",)


# -- sorting ------------------------------------------
def sort_with(a: Any, axis: Any, order: Any, descending: bool, function: Any) -> Any:
    """Apply `function` (a primitive that sorts) along an axis; descending by way of what orders the other way
    round, so that equal entries keep their order and NaN comes last."""
    if order is not None:
        raise ShapeError(
            f"order={order!r} names fields, which arrays of numbers do not have", hint="leave order= out"
        )
    a = operand(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    if not descending:
        return function(a, axis=axis)
    reverse = ops.negative if kind(a) in "fc" else ops.bitwise_not
    found = function(reverse(a), axis=axis)
    return reverse(found) if function is ops.sort else found


@composite(np.sort, further=FURTHER, below=SHARED_ENTRIES)
def sort(a: ArrayLike, axis: Axis = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
         descending: bool = False) -> Array:  # fmt: skip
    """The entries along an axis in ascending order.

    Args:
        axis: None sorts all entries.
        descending: sort in descending order; NaN comes last all the same.

    Raises:
        ValueError: `order` is given: arrays have no fields.

    >>> fx.grad(lambda x: fnp.dot(fnp.sort(x), [1.0, 2.0, 3.0]))(fnp.array([5.0, 9.0, 1.0]))
    array([2., 3., 1.])
    """
    return sort_with(a, axis, order, descending, ops.sort)


@composite(np.argsort, further=FURTHER, derivative=NO_DERIVATIVE)
def argsort(a: ArrayLike, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
            descending: bool = False) -> Array:  # fmt: skip
    """The positions of the entries along an axis in ascending (or `descending`) order; equal entries keep their order,
    whatever `kind` on traced values.

    Raises:
        ValueError: `order` is given: arrays have no fields.

    >>> fnp.argsort(fnp.array([3.0, 1.0, 2.0]), descending=True)
    array([0, 2, 1])
    """
    a, axis = line_up(operand(a), axis)
    return sort_with(a, axis, order, descending, ops.argsort)


@composite(np.sort_complex)
def sort_complex(a: ArrayLike) -> Array:
    """The entries along the last axis in ascending order, by real and then by imaginary parts, as complex numbers.

    >>> fnp.sort_complex(fnp.array([2.0, 1j]))
    array([0.+1.j, 2.+0.j])
    """
    a = sort(a)
    if kind(a) == "c":
        return a
    single = dtype_of(a) in (np.dtype(code) for code in "bhBH")
    return cast(a, np.complex64 if single else np.complex128)


def check_kth(kth: Any, size: int) -> None:
    """Raise NumPy's errors for positions that are out of range."""
    np.argpartition(np.zeros(size, bool), kth)


@composite(np.partition)
def partition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The entries along an axis, with the one at position `kth` where sorting would place it. Entries before and after
    it, whose order NumPy leaves open, are sorted as well if the array is traced.

    >>> fnp.partition(fnp.array([3.0, 1.0, 2.0]), 0)[0]
    np.float64(1.0)
    """
    y = sort(a, axis, order=order)
    check_kth(kth, y.shape[0 if axis is None else axis])
    return y


@composite(np.argpartition, derivative=NO_DERIVATIVE)
def argpartition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Array:
    """The positions of the entries along an axis in the order of `partition`.

    >>> fnp.argpartition(fnp.array([3.0, 1.0, 2.0]), 0)[0]
    np.int64(1)
    """
    y = argsort(a, axis, order=order)
    check_kth(kth, y.shape[0 if axis is None else axis])
    return y


@composite(np.lexsort, derivative=NO_DERIVATIVE)
def lexsort(keys: Any, axis: Axis = -1) -> Array | np.intp:
    """The positions that sort by the last key, equal entries by the key before it, and so on.

    Raises:
        TypeError: there are no keys.
        ValueError: the keys have different shapes.

    >>> fnp.lexsort((fnp.array([2.0, 1.0, 0.0]), fnp.array([1.0, 1.0, 0.0])))
    array([2, 1, 0])
    """
    keys = operands(keys)
    if not keys:
        raise StructureError(
            "lexsort: there are no keys", hint="a sequence of arrays, the last of which is compared first"
        )
    if len({key.shape for key in keys}) > 1:
        raise ShapeError(
            f"lexsort: the keys have the shapes {sorted({key.shape for key in keys})}",
            hint="fnp.broadcast_arrays(*keys)",
        )
    if not keys[0].ndim:
        return np.intp(0)
    axis = normalize_axis(axis, keys[0].ndim)
    order = ops.argsort(keys[0], axis=axis)
    for key in keys[1:]:
        order = ops.take_along(order, ops.argsort(ops.take_along(key, order, axis), axis=axis), axis)
    return order


# -- searching ------------------------------------------
@composite(np.searchsorted, derivative=NO_DERIVATIVE)
def searchsorted(a: ArrayLike, v: ArrayLike, side: Any = "left", sorter: ArrayLike | None = None) -> Array:
    """The positions at which values can be inserted into a sorted array so that it stays sorted.

    Args:
        a: the array, with one axis, in ascending order.
        v: the values.
        side: 'left' of entries that are equal to the value, or 'right' of them.
        sorter: the positions that sort `a`, where it is not sorted.

    Raises:
        ValueError: `a` has not one axis, `sorter` another shape, or there is no such `side`.

    >>> fnp.searchsorted(fnp.array([1.0, 2.0, 3.0]), fnp.array([2.0, 2.5]))
    array([1, 2])
    """
    check_option("searchsorted", "side", side, ("left", "right"))
    a, v = ops.promote_dtypes([operand(a), as_value(v)])
    if a.ndim != 1:
        raise ShapeError(f"an array with one axis can be searched, not one of shape {a.shape}",
                         hint="fx.vmap over the others")  # fmt: skip
    if sorter is not None:
        sorter = operand(sorter)
        if sorter.shape != a.shape:
            raise wrong_shape("searchsorted", "sorter", sorter.shape, a.shape)
        a = take_positions(a, check_positions(sorter, a.size, "raise"), 0)
    return ops.searchsorted(a, v, side=side)


@composite(np.digitize, derivative=NO_DERIVATIVE)
def digitize(x: ArrayLike, bins: Any, right: bool = False) -> Array:
    """The numbers of the bins that contain the values.

    Args:
        x: the values, real.
        bins: the edges, in ascending or in descending order.
        right: whether a value that is equal to an edge belongs to the bin that ends there.

    Raises:
        TypeError: `x` is complex.
        ValueError: `bins` has not one axis.

    >>> fnp.digitize(fnp.array([0.5, 2.0]), fnp.array([0.0, 1.0, 2.0]))
    array([1, 3])
    """
    x, bins = operand(x), operand(bins)
    if kind(x) == "c":
        raise DTypeError(f"digitize: x has the complex dtype {dtype_of(x)}", hint="x.real or abs(x)")
    check_ndim("digitize", "bins", bins, 1)
    early, late = bins[:-1], bins[1:]
    falling = ops.reduce_any(ops.greater(bins[:1], bins[-1:]), axes=(0,))
    ensure(
        ops.where(falling, ops.greater_equal(early, late), ops.less_equal(early, late)),
        "bins must be monotonically increasing or decreasing",
        "fnp.sort(bins)",
    )
    edges = ops.where(falling, ops.flip(bins, axes=(0,)), bins)
    found = searchsorted(edges, x, "left" if right else "right")
    return ops.where(falling, ops.subtract(bins.size, found), found)


# -- interpolation ------------------------------------------
def wrap_period(x: Array, xp: Array, fp: Array, period: Any) -> tuple[Array, Array, Array]:
    """Return (x, xp, fp) within one period, the points sorted, and continued by one on either side."""
    period = ops.absolute(operand(period))
    ensure(ops.not_equal(period, 0), "period must be a non-zero value", "period=None where nothing repeats")
    x, xp = ops.remainder(x, period), ops.remainder(xp, period)
    order = ops.argsort(xp, axis=0)
    xp, fp = take_positions(xp, order, 0), take_positions(fp, order, 0)
    xp = concatenate([ops.subtract(xp[-1:], period), xp, ops.add(xp[:1], period)])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


def interpolate_line(x: Any, at: Any, value: Any, x0: Any, f0: Any, x1: Any, f1: Any) -> Any:
    """Evaluate the line through (x0, f0) and (x1, f1) at x, from its `value` at one of these points, which is
    thus exact."""
    width, f0_finite, f1_finite = ops.subtract(x1, x0), ops.isfinite(f0), ops.isfinite(f1)
    regular = ops.logical_and(ops.logical_and(f0_finite, f1_finite), ops.not_equal(width, 0))
    rise, run = ops.subtract(*(ops.where(regular, f, 0) for f in (f1, f0))), ops.where(regular, width, 1)
    y = ops.add(value, ops.multiply(ops.divide(rise, run), ops.subtract(x, at)))
    # Between two values of which one is infinite there is nothing else, and between ∞ and −∞ nothing at all.
    infinite = ops.where(ops.logical_or(f1_finite, ops.equal(f0, f1)), f0, np.nan)
    between = ops.where(ops.isnan(x), x, ops.where(f0_finite, f1, infinite))
    return ops.where(regular, y, ops.where(ops.equal(x, at), value, between))


def end_value(end: Any, default: Any) -> Any:
    """Return the value beyond the points, in the dtype of those at them."""
    if end is None:
        return default
    if kind(operand(end)) == "c" and kind(default) != "c":
        raise DTypeError("interp: left or right is complex, and fp is not", hint="fp.astype(complex)")
    return cast(operand(end), dtype_of(default))


@composite(np.interp)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: Any = None,
) -> Array:
    """The piecewise linear function through points, differentiable with respect to all arguments.

    At a point its derivative is that of the piece to the right, at the last one that of the piece to the left; beyond
    the points it is 0.

    Args:
        x: where the function is evaluated.
        xp, fp: the points, in ascending order of xp; fp may be complex.
        left, right: the values beyond the first and the last point; by default, those of these points.
        period: of the function, of which the points may then be in any order; `left` and `right` do not matter.

    Raises:
        TypeError: `x` or `xp` is complex, or `left` or `right` while `fp` is real.
        ValueError: `xp` and `fp` are empty, or have different lengths.

    >>> f = lambda x: fnp.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 4.0])
    >>> fx.vmap(fx.grad(f))(fnp.array([-1.0, 0.5, 1.0, 2.0]))
    array([0., 3., 1., 1.])
    """
    x, xp, fp = operands([x, xp, fp])
    if kind(x) == "c" or kind(xp) == "c":
        raise DTypeError(
            f"interp: x has dtype {dtype_of(x)} and xp {dtype_of(xp)}, expected real ones",
            hint="fnp.abs(x), or the real and imaginary parts one after the other",
        )
    if xp.ndim != 1 or fp.shape != xp.shape or not xp.size:
        raise ShapeError(
            f"xp and fp must be as long as each other, and not empty: {xp.shape} and {fp.shape}",
            hint="fx.vmap(fnp.interp, (None, None, 0))(x, xp, fp) for several functions fp",
        )
    x, xp, fp = cast(x, float), cast(xp, float), cast(fp, complex if kind(fp) == "c" else float)
    if period is not None:
        x, xp, fp = wrap_period(x, xp, fp, period)
        left = right = None
    last = xp.size - 1
    below, above = ops.less(x, xp[0]), ops.greater(x, xp[-1])
    here = ops.maximum(
        ops.subtract(searchsorted(xp, x, "right"), 1), 0
    )  # the last point that is not right of x
    start = ops.minimum(here, max(last - 1, 0))
    stop = ops.minimum(ops.add(start, 1), last)
    (at, value), first, second = ([take_positions(p, i, 0) for p in (xp, fp)] for i in (here, start, stop))
    x = ops.where(ops.logical_or(below, above), at, x)
    y = interpolate_line(x, at, value, *first, *second)
    left, right = end_value(left, fp[0]), end_value(right, fp[-1])
    return ops.where(below, left, ops.where(above, right, y))


__all__ = [
    "argpartition", "argsort", "digitize", "interp", "lexsort", "partition", "searchsorted", "sort", "sort_complex",
]  # fmt: skip
