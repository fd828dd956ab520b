"""Arrays as sets of numbers.

Equal values are one element, represented by the first of them, which gets the derivative. The number of elements
depends on the values. These must be known, as they are under grad, jvp and vjp, or `size` gives the number.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .. import ops
from ..core.typing import Array, ArrayLike, Axis
from .composite import cast, composite, dtype_of, known_value, normalize_axis, operand
from .documentation import NO_DERIVATIVE
from .indexing import SIZE_OPTIONS
from .joining import concatenate
from .manipulation import broadcast_to, entry_count, moveaxis, ravel, take_positions
from .signal import diff
from .sorting import lexsort, searchsorted

if TYPE_CHECKING:
    from numpy.lib._arraysetops_impl import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
else:
    UniqueAllResult = type(np.unique_all([]))
    UniqueCountsResult = type(np.unique_counts([]))
    UniqueInverseResult = type(np.unique_inverse([]))


def sort_into_groups(x: Any, equal_nan: bool = True) -> tuple[Any, Any, Any]:
    """Return the entries sorted, their positions, and which of the sorted ones is the first of those equal to
    it; arrays with more axes are sorted by slices along the first."""
    if x.ndim == 1:
        order = ops.argsort(x, axis=0)
        entries = take_positions(x, order, 0)
        differs = ops.not_equal(entries[1:], entries[:-1])
        if equal_nan:
            nan = ops.isnan(entries)
            differs = ops.logical_and(differs, ops.logical_not(ops.logical_and(nan[1:], nan[:-1])))
    else:
        rows = ops.reshape(x, shape=(x.shape[0], entry_count(x.shape[1:])))
        columns = [rows[:, i] for i in reversed(range(rows.shape[1]))]
        order = lexsort(columns) if columns else np.arange(x.shape[0])
        entries, rows = take_positions(x, order, 0), take_positions(rows, order, 0)
        differs = ops.reduce_any(ops.not_equal(rows[1:], rows[:-1]), axes=(1,))
    return entries, order, concatenate([np.ones(min(1, x.shape[0]), bool), differs])


def count_inside(mask: Any, size: int | None, operation: str) -> int:
    """Count the entries inside the mask, unless `size` says how many are wanted."""
    if size is not None:
        return size
    count = ops.reduce_sum(cast(mask, np.intp), axes=(0,))
    return int(known_value(count, operation, "size=n, which takes n elements, or fills up to n"))


def positions_inside(mask: Any, size: int) -> Any:
    """Return the positions of the first `size` entries inside the mask; beyond the last one where there are
    fewer."""
    return searchsorted(ops.cumsum(cast(mask, np.intp), axis=0), np.arange(1, size + 1))


def elements(entries: Any, order: Any, places: Any, fill_value: Any) -> tuple[Any, Any]:
    """Return the entries at places and their positions in the unsorted array, filled up with a value, or with
    the first of them."""
    count = entries.shape[0]
    if fill_value is None:
        places = ops.where(ops.less(places, count), places, places[:1])
    spare = cast(operand(0 if fill_value is None else fill_value), dtype_of(entries))
    entries = concatenate([entries, broadcast_to(spare, (1, *entries.shape[1:]))])
    return take_positions(entries, places, 0), take_positions(concatenate([order, [count]]), places, 0)


# -- one set ------------------------------------------
@overload
def unique(
    ar: ArrayLike, return_index: Literal[False] = False, return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False, axis: Axis = None, *, equal_nan: bool = True, sorted: bool = True,
    size: int | None = None, fill_value: ArrayLike | None = None,
) -> Array: ...  # fmt: skip
@overload
def unique(
    ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Axis = None, *, equal_nan: bool = True, sorted: bool = True, size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, ...]: ...  # fmt: skip
@composite(np.unique, further=SIZE_OPTIONS)
def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: Axis = None, *, equal_nan: bool = True, sorted: bool = True, size: int | None = None,
           fill_value: ArrayLike | None = None) -> Any:  # fmt: skip
    """The distinct entries of an array, sorted.

    Args:
        return_index, return_inverse, return_counts: give also the positions of the first of each, the positions in the
            result of all entries, and how often each is there.
        axis: take slices along this axis as the entries; by default numbers.
        equal_nan: whether NaN is equal to NaN (in slices it never is).
        size: give so many, for which the values need not be known; if there are fewer, the rest is `fill_value`, by
            default the least of them.

    >>> fx.jacobian(fnp.unique)(fnp.array([5.0, 2.0, 5.0]))
    array([[0., 1., 0.],
           [1., 0., 0.]])
    >>> fx.jit(lambda x: fnp.unique(x, size=3))([5, 2, 5])
    array([2, 5, 2])
    """
    x = operand(ar)
    shape, axis = x.shape, None if axis is None else normalize_axis(axis, x.ndim)
    x = ravel(x) if axis is None else moveaxis(x, axis, 0)
    entries, order, first = sort_into_groups(x, equal_nan)
    bounds = positions_inside(first, count_inside(first, size, "unique") + 1)
    values, index = elements(entries, order, bounds[:-1], fill_value)
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(index)
    if return_inverse:
        group = ops.cumsum(cast(first, np.intp), axis=0) - 1
        inverse = ops.scatter_add(group, order, index=(ops.ARRAY,), shape=group.shape)
        results.append(ops.reshape(inverse, shape=shape) if axis is None else inverse)
    if return_counts:
        results.append(diff(bounds))
    return results[0] if len(results) == 1 else tuple(results)


@composite(np.unique_all, further=SIZE_OPTIONS)
def unique_all(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAllResult[Any]:
    """The tuple (values, indices, inverse_indices, counts) of `unique`; NaN is not equal to NaN.

    >>> fnp.unique_all(fnp.array([3.0, 1.0, 3.0])).counts
    array([1, 2])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


@composite(np.unique_counts, further=SIZE_OPTIONS)
def unique_counts(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult[Any]:
    """The pair (values, counts) of `unique`; NaN is not equal to NaN.

    >>> fnp.unique_counts(fnp.array([3.0, 1.0, 3.0])).counts
    array([1, 2])
    """
    return UniqueCountsResult(
        *unique(x, False, False, True, equal_nan=False, size=size, fill_value=fill_value)
    )


@composite(np.unique_inverse, further=SIZE_OPTIONS)
def unique_inverse(
    x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult[Any]:
    """The pair (values, inverse_indices) of `unique`; NaN is not equal to NaN.

    >>> fnp.unique_inverse(fnp.array([3.0, 1.0, 3.0])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(x, False, True, equal_nan=False, size=size, fill_value=fill_value))


# NumPy's own leaves the order open.
@composite(partial(np.unique, equal_nan=False), further=SIZE_OPTIONS, origin="numpy.unique_values")
def unique_values(x: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct entries of an array, sorted; NaN is not equal to NaN. `size` and `fill_value` as for `unique`.

    >>> fnp.unique_values(fnp.array([3.0, 1.0, 3.0]))
    array([1., 3.])
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# -- two sets ------------------------------------------
def find_members(members: Any, values: Any) -> tuple[Any, Any]:
    """Return the position of the first member that is equal to each value, and whether there is one."""
    members, values = ops.promote_dtypes([ravel(members), operand(values)])
    if not members.size:
        none = ops.zeros_like(ops.not_equal(values, values))
        return cast(none, np.intp), none
    order = ops.argsort(members, axis=0)
    found = searchsorted(take_positions(members, order, 0), values)
    position = take_positions(order, ops.minimum(found, members.size - 1), 0)
    return position, ops.equal(take_positions(members, position, 0), values)


@composite(np.isin, derivative=NO_DERIVATIVE)
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Array:
    """Whether each entry is (or with `invert` is not) equal to one of the test elements.

    >>> fnp.isin(fnp.array([1.0, 2.0, 3.0]), fnp.array([2.0, 3.0]))
    array([False,  True,  True])
    """
    inside = find_members(test_elements, element)[1]
    return ops.logical_not(inside) if invert else inside


def members(ar: Any, assume_unique: bool) -> tuple[Any, Any, Any]:
    """Return the entries, their positions, and which are the first of those equal to them: sorted, unless
    they are unique."""
    x = ravel(ar)
    return (x, np.arange(x.size), np.ones(x.shape, bool)) if assume_unique else sort_into_groups(x)


@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: Literal[False] = False, *,
    size: int | None = None, fill_value: ArrayLike | None = None,
) -> Array: ...  # fmt: skip
@overload
def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, return_indices: Literal[True],
    size: int | None = None, fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...  # fmt: skip
@composite(np.intersect1d, further=SIZE_OPTIONS)
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *,
                size: int | None = None, fill_value: ArrayLike | None = None) -> Any:  # fmt: skip
    """The elements of both arrays, sorted; their derivative is that of the entries of the first.

    Args:
        return_indices: give (elements, their positions in the first array, those in the second).
        size, fill_value: as for `unique`.

    >>> fnp.intersect1d(fnp.array([1.0, 2.0, 3.0]), fnp.array([3.0, 2.0]))
    array([2., 3.])
    """
    ar1, ar2 = ops.promote_dtypes([ravel(ar1), ravel(ar2)])
    entries, order, first = sort_into_groups(ar1)
    position, common = find_members(ar2, entries)
    mask = ops.logical_and(first, common)
    places = positions_inside(mask, count_inside(mask, size, "intersect1d"))
    values, index = elements(entries, order, places, fill_value)
    if not return_indices:
        return values
    return values, index, elements(entries, position, places, fill_value)[1]


@composite(np.setdiff1d, further=SIZE_OPTIONS)
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of the first array that are not in the second, sorted unless they are unique; `size` and
    `fill_value` as for `unique`.

    >>> fnp.setdiff1d(fnp.array([1.0, 2.0, 3.0]), fnp.array([2.0]))
    array([1., 3.])
    """
    entries, order, first = members(ar1, assume_unique)
    mask = ops.logical_and(first, isin(entries, ar2, invert=True))
    places = positions_inside(mask, count_inside(mask, size, "setdiff1d"))
    return elements(entries, order, places, fill_value)[0]


@composite(np.setxor1d, further=SIZE_OPTIONS)
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of exactly one of the arrays, sorted; `size` and `fill_value` as for `unique`.

    >>> fnp.setxor1d(fnp.array([1.0, 2.0]), fnp.array([2.0, 3.0]))
    array([1., 3.])
    """
    pair = [members(x, assume_unique) for x in ops.promote_dtypes([ravel(ar1), ravel(ar2)])]
    (a, _, first_a), (b, _, first_b) = pair
    alone = concatenate([
        ops.logical_and(first_a, isin(a, b, invert=True)), ops.logical_and(first_b, isin(b, a, invert=True))
    ])  # fmt: skip
    entries = concatenate([a, b])
    order = ops.argsort(entries, axis=0)
    places = positions_inside(take_positions(alone, order, 0), count_inside(alone, size, "setxor1d"))
    return elements(take_positions(entries, order, 0), order, places, fill_value)[0]


@composite(np.union1d, further=SIZE_OPTIONS)
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The elements of both arrays, sorted; `size` and `fill_value` as for `unique`.

    >>> fnp.union1d(fnp.array([1.0, 2.0]), fnp.array([2.0, 3.0]))
    array([1., 2., 3.])
    """
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip
