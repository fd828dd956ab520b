"""Selection of entries by position, by condition, or by comparison. Positions may be traced; arguments that determine
the shape of the result (masks, the places of nonzeros) must be known.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy import diag_indices, index_exp, mask_indices, ndindex, s_, tril_indices, triu_indices

from .. import ops
from ..core.advice import fit_index
from ..core.arrays import as_value
from ..core.aval import PLAIN
from ..core.common_errors import check_ndim
from ..core.errors import DTypeError, IndexingError, ShapeError
from ..core.interpreter import Tracer
from ..core.typing import Array, ArrayLike, Arrays, Axis, Shape
from .composite import (
    at_axis,
    cast,
    composite,
    dtype_of,
    kind,
    known_value,
    line_up,
    normalize_axis,
    operand,
    operands,
)
from .documentation import LINEAR, NO_DERIVATIVE, described
from .manipulation import broadcast_arrays, ravel


# -- by position ------------------------------------------
def check_positions(indices: Any, size: int, mode: str) -> Array:
    """Return indices as an integer array, brought into range as `mode` says."""
    indices = operand(indices)
    if not indices.size:
        indices = cast(indices, np.intp)
    if kind(indices) not in "iu":
        raise DTypeError(f"positions must be integers, not {dtype_of(indices)}", hint="indices.astype(int)")
    if mode == "wrap":
        return ops.remainder(indices, size)
    if mode == "clip":
        return ops.minimum(ops.maximum(indices, 0), size - 1)
    are_known = not isinstance(indices, Tracer)
    if are_known and indices.size:
        axes = tuple(range(indices.ndim))
        least, greatest = (int(reduce(indices, axes=axes)) for reduce in (ops.reduce_min, ops.reduce_max))
        if least < -size or greatest >= size:
            worst = greatest if greatest >= size else least
            raise IndexingError(
                f"index {worst} is out of bounds for axis with size {size}", hint=fit_index(size)
            )
    return indices


@composite(np.take, derivative=LINEAR)
def take(
    a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str = "raise"
) -> Array:
    """Entries at positions along an axis. Both may be traced.

    Args:
        mode: what to do with positions out of range: 'raise', 'wrap' around or 'clip'.

    Raises:
        IndexError: a position is out of bounds, with `mode` "raise".
        TypeError: a position is no integer.

    >>> fx.grad(lambda x: fnp.sum(fnp.take(x, [0, 0, 2])))(fnp.ones(3))
    array([2., 0., 1.])
    """
    a, axis = line_up(operand(a), axis)
    index = (*at_axis(ops.ARRAY, axis), *(slice(None),) * (a.ndim - axis - 1))
    return ops.getitem(a, check_positions(indices, a.shape[axis], mode), index=index)


@composite(np.take_along_axis, derivative=LINEAR)
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Axis = -1) -> Array:
    """Entries at positions along an axis, with the other axes matched entry by entry (broadcasting). It is
    differentiated by the array; repeated positions add their cotangents.

    Raises:
        IndexError: a position is no integer, or out of bounds.
        ValueError: `indices` and `arr` have not the same number of axes.

    >>> fnp.take_along_axis(fnp.array([[3.0, 1.0, 2.0]]), fnp.array([[1, 2, 0]]), axis=1)
    array([[1., 2., 3.]])
    """
    arr = operand(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    indices = operand(indices)
    check_ndim("take_along_axis", "indices", indices, arr.ndim)
    if kind(indices) not in "iu":
        raise IndexingError("`indices` must be an integer array", hint="indices.astype(int)")
    indices = check_positions(indices, arr.shape[axis], "raise")
    rest = tuple(1 if i == axis else n for i, n in enumerate(arr.shape))
    shape = np.broadcast_shapes(rest, tuple(1 if i == axis else n for i, n in enumerate(indices.shape)))
    indices = ops.broadcast_to(indices, shape=(*shape[:axis], indices.shape[axis], *shape[axis + 1 :]))
    arr = ops.broadcast_to(arr, shape=(*shape[:axis], arr.shape[axis], *shape[axis + 1 :]))
    return ops.take_along(arr, indices, axis)


@composite(np.ix_, derivative=NO_DERIVATIVE)
def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays for the product of sequences of positions (or known masks), one along each axis.

    Raises:
        ValueError: a sequence has more than one axis.

    >>> fnp.arange(6.0).reshape(2, 3)[fnp.ix_([1], [0, 2])]
    array([[3., 5.]])
    """
    arrays = operands(args)
    for x in arrays:
        check_ndim("ix_", "index", x, 1)
    arrays = [nonzero(x)[0] if kind(x) == "b" else x for x in arrays]
    count = len(arrays)
    return tuple(
        ops.reshape(x, shape=tuple(x.size if i == axis else 1 for i in range(count)))
        for axis, x in enumerate(arrays)
    )


@composite(np.unravel_index, derivative=NO_DERIVATIVE)
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Array, ...]:
    """The positions along every axis of entries given by their flat positions; traced ones are not checked.

    >>> fnp.unravel_index(5, (2, 3))
    (np.int64(1), np.int64(2))
    """
    rest, shape = operand(indices), (shape,) if hasattr(shape, "__index__") else tuple(shape)
    places = []
    for size in shape if order == "F" else shape[::-1]:
        places.append(ops.remainder(rest, size))
        rest = ops.floor_divide(rest, size)
    return tuple(places if order == "F" else places[::-1])


@composite(np.ravel_multi_index, derivative=NO_DERIVATIVE)
def ravel_multi_index(multi_index: Arrays, dims: Any, mode: Any = "raise", order: str = "C") -> Array:
    """The flat positions of entries given by their positions along every axis; `mode` as in `take`.

    Raises:
        TypeError: a position is no integer.
        IndexError: a position is out of bounds, with `mode` "raise".
        ValueError: not one array of positions for each axis.

    >>> fnp.ravel_multi_index((1, 2), (2, 3))
    np.int64(5)
    """
    modes = (mode,) * len(dims) if isinstance(mode, str) else mode
    places = [check_positions(x, size, m) for x, size, m in zip(multi_index, dims, modes)]
    if len(places) != len(dims) or len(multi_index) != len(dims):
        raise ShapeError(
            f"ravel_multi_index: {len(multi_index)} arrays of indices for dims={tuple(dims)}",
            hint=f"an array of indices for each axis, {len(dims)} in all",
        )
    flat: Any = 0
    for place, size in list(zip(places, dims))[:: -1 if order == "F" else 1]:
        flat = ops.add(ops.multiply(flat, size), place)
    return flat


@composite(np.diag_indices_from, derivative=NO_DERIVATIVE)
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The positions of the main diagonal of an array, one index array for each axis; they depend only on the shape.

    Raises:
        ValueError: `arr` has fewer than two axes, or axes of different sizes.

    >>> fnp.diag_indices_from(fnp.ones((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    arr = operand(arr)
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ShapeError(
            f"diag_indices_from: arr has shape {arr.shape}, whose axes are not of one size",
            hint="fnp.diag_indices(n, ndim) for the first n entries of the diagonal",
        )
    return diag_indices(arr.shape[0], arr.ndim)


@composite(np.tril_indices_from, derivative=NO_DERIVATIVE)
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """The positions of a matrix on and below the k-th diagonal, one index array for each axis; they depend on the shape
    only.

    Raises:
        ValueError: `arr` has not two axes.

    >>> fnp.tril_indices_from(fnp.ones((2, 2)))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return tril_indices(*matrix_size(arr, k))


@composite(np.triu_indices_from, derivative=NO_DERIVATIVE)
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """The positions of a matrix on and above the k-th diagonal, one index array for each axis; they depend on the shape
    only.

    Raises:
        ValueError: `arr` has not two axes.

    >>> fnp.triu_indices_from(fnp.ones((2, 2)))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return triu_indices(*matrix_size(arr, k))


def matrix_size(x: Any, k: int) -> tuple[int, int, int]:
    """Return the rows of a matrix, the diagonal, and its columns."""
    shape = operand(x).shape
    if len(shape) != 2:
        raise ShapeError(
            f"an array of shape {shape} is not a matrix",
            hint="fnp.tril_indices(n, k, m), or triu_indices, with n rows and m columns",
        )
    return shape[0], k, shape[1]


# -- by condition ------------------------------------------
def known_mask(condition: Any, operation: str) -> Array:
    """Return the plain value of a mask that fixes a shape."""
    return known_value(
        condition, operation, "size=n, which takes n places, or fills up to n; or fnp.where(mask, x, 0)"
    )


SIZE_OPTIONS = ("size", "fill_value")


def places_inside(mask: Any, size: int) -> tuple[Any, Any]:
    """Return the positions of the first `size` true entries of a vector, and which of them there are: where there are
    fewer, the position is the number of entries."""
    count = mask.shape[0]
    order = ops.argsort(ops.logical_not(mask), axis=0)[:size]
    if size > count:
        order = ops.concatenate(order, np.full(size - count, count), axis=0)
    found = ops.less(np.arange(size), ops.reduce_sum(cast(mask, np.intp), axes=(0,)))
    return ops.where(found, order, count), found


def truth(condition: ArrayLike) -> Any:
    """Return which entries are not 0."""
    condition = operand(condition)
    return condition if kind(condition) == "b" else ops.not_equal(condition, 0)


@overload
def where(
    condition: ArrayLike, /, *, size: int | None = None, fill_value: Any = None
) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
@described("numpy.where", "", further=SIZE_OPTIONS)
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Array | tuple[Array, ...]:
    """Entries of x where the condition is true, of y elsewhere, all broadcast; without x and y,
    `nonzero(condition, size=size, fill_value=fill_value)`.

    It is linear in x and y: the derivative goes to the chosen entries alone, even if that of the other branch is
    infinite or NaN there.

    >>> float(fx.grad(lambda x: fnp.where(x < 1, x, fnp.sqrt(x)))(0.0))
    1.0
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if type(condition) not in PLAIN:
        condition = truth(condition)
    return ops.where(condition, x, y)


@composite(np.nonzero, derivative=NO_DERIVATIVE, further=SIZE_OPTIONS)
def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The positions of the nonzero entries, one array for each axis. Without `size` they must be known: values that are
    staged or mapped raise ConcretizationError.

    Args:
        size: the number of positions: the first ones, or `fill_value` beyond the last.
        fill_value: a number, or one for each axis; 0 if there is none.

    Raises:
        ValueError: `fill_value` has not a number for each axis.

    >>> fnp.nonzero(fnp.array([0.0, 5.0, 6.0]))
    (array([1, 2]),)
    >>> fx.jit(lambda x: fnp.nonzero(x > 3, size=3, fill_value=-1))(fnp.array([0.0, 5.0, 6.0]))
    (array([ 1,  2, -1]),)
    """
    if size is None:
        known = known_mask(a, "nonzero")
        return ops.find_nonzero(known) if type(known) is np.ndarray else known.nonzero()
    mask = truth(a)
    places, found = places_inside(ops.reshape(mask, shape=(mask.size,)), size)
    places = ops.where(found, places, 0)
    fills = fill_value if isinstance(fill_value, tuple | list) else (fill_value or 0,) * mask.ndim
    if len(fills) != mask.ndim:
        raise ShapeError(
            f"nonzero: {len(fills)} numbers in fill_value for {mask.ndim} axes", hint="one for each axis"
        )
    steps = [math.prod(mask.shape[i + 1 :]) for i in range(mask.ndim)]
    return tuple(
        ops.where(found, ops.remainder(ops.floor_divide(places, max(step, 1)), max(n, 1)), fill)
        for n, step, fill in zip(mask.shape, steps, fills)
    )


@composite(np.flatnonzero, derivative=NO_DERIVATIVE, further=SIZE_OPTIONS)
def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions of the nonzero entries in the flattened array. They must be known, as for `nonzero`, which says
    what `size` and `fill_value` are.

    >>> fnp.flatnonzero(fnp.array([[0.0, 5.0], [6.0, 0.0]]))
    array([1, 2])
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


@composite(np.argwhere, derivative=NO_DERIVATIVE, further=SIZE_OPTIONS)
def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions of the nonzero entries, one in each row. They must be known, as for `nonzero`, which says what
    `size` and `fill_value` are.

    >>> fnp.argwhere(fnp.array([[0.0, 5.0], [6.0, 0.0]]))
    array([[0, 1],
           [1, 0]])
    """
    if size is None:
        return np.argwhere(known_mask(a, "argwhere"))
    columns = nonzero(a, size=size, fill_value=fill_value)
    if not columns:
        return np.zeros((size, 0), np.intp)
    return ops.concatenate(*[ops.reshape(c, shape=(size, 1)) for c in columns], axis=1)


@composite(np.compress, derivative=LINEAR, further=SIZE_OPTIONS)
def compress(
    condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: None = None, *, size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:  # fmt: skip
    """Entries along an axis, or of the flattened array, at which a condition is true. Without `size` the condition
    determines the shape: if it is staged or mapped this raises ConcretizationError.

    Args:
        size: the number of entries: the first ones, or `fill_value` beyond the last.

    Raises:
        ValueError: `condition` has not one axis, or is longer than `a`.

    >>> fnp.compress([True, False, True], fnp.array([1.0, 2.0, 3.0]))
    array([1., 3.])
    >>> fx.jit(lambda x: fnp.compress(x > 1, x, size=3))(fnp.array([1.0, 2.0, 3.0]))
    array([2., 3., 0.])
    """
    mask = known_mask(condition, "compress") if size is None else truth(condition)
    check_ndim("compress", "condition", mask, 1)
    if size is None:
        return take(a, mask.nonzero()[0], axis)
    a, axis = line_up(operand(a), axis)
    if mask.shape[0] > a.shape[axis]:
        raise ShapeError(
            f"compress: the condition has {mask.shape[0]} entries, the axis {a.shape[axis]}",
            hint="a shorter condition",
        )
    places, found = places_inside(mask, size)
    entries = take(a, ops.where(found, places, 0), axis)
    found = ops.reshape(found, shape=(size, *(1,) * (a.ndim - axis - 1)))
    return ops.where(found, entries, cast(operand(fill_value), dtype_of(entries)))


@composite(np.extract, derivative=LINEAR, further=SIZE_OPTIONS)
def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """The entries at which a condition is true, as a vector. The condition determines the shape: if it is staged or
    mapped this raises ConcretizationError, unless `size` says how many there are, as for `compress`.

    >>> fnp.extract([True, False, True], fnp.array([1.0, 2.0, 3.0]))
    array([1., 3.])
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


# -- among several ------------------------------------------
@composite(np.select)
def select(condlist: Arrays, choicelist: Arrays, default: ArrayLike = 0) -> Array:
    """Entries of the first choice whose condition is true, and `default` if none is.

    Raises:
        ValueError: there are no conditions, or not as many choices.
        TypeError: a condition is not of truth values.

    >>> kinked = lambda x: fnp.select([x < 0, x > 1], [-x, 2 * x], 0.0)
    >>> fx.vmap(fx.grad(kinked))(fnp.array([-1.0, 0.5, 2.0]))
    array([-1.,  0.,  2.])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: {len(condlist)} conditions and {len(choicelist)} choices",
            hint="a choice for each condition, and default= for where none holds",
        )
    dtype = ops.result_dtype([as_value(v) for v in [*choicelist, default]])
    conditions, *choices = broadcast_arrays(*condlist), *operands([*choicelist, default])
    result = cast(choices.pop(), dtype)
    for condition, choice in reversed(list(zip(conditions, choices))):
        if kind(condition) != "b":
            raise DTypeError(
                f"select: a condition has dtype {dtype_of(condition)}, expected bool", hint="condition != 0"
            )
        result = ops.where(condition, cast(choice, dtype), result)
    return ops.broadcast_to(result, shape=np.broadcast_shapes(result.shape, conditions[0].shape))


@composite(np.choose)
def choose(a: ArrayLike, choices: ArrayLike, out: None = None, mode: str = "raise") -> Array:
    """Entries of the choice with the number in `a`; all operands are broadcast. It is differentiated by the choices.

    Raises:
        ValueError: with `mode` "raise", there is no choice of such a number.
        TypeError: `a` is not of integers.

    >>> fnp.choose(fnp.array([1, 0]), [fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])])
    array([3., 2.])
    """
    if not isinstance(choices, list | tuple):
        choices = list(operand(choices))
    arrays = ops.promote_dtypes([as_value(c) for c in choices])
    which = operand(a)
    if mode == "raise" and not isinstance(which, Tracer) and ((which < 0) | (which >= len(arrays))).any():
        raise ShapeError(
            "choose: a has a negative position", hint='mode="wrap" or "clip" for positions beyond the choices'
        )
    which = check_positions(which, len(arrays), mode)
    which, *arrays = broadcast_arrays(which, *arrays)
    stacked = ops.stack(arrays)
    return ops.getitem(ops.take_along(stacked, ops.reshape(which, shape=(1, *which.shape)), 0),
                       index=(0, *(slice(None),) * which.ndim))  # fmt: skip


__all__ = [
    "argwhere", "choose", "compress", "diag_indices", "diag_indices_from", "extract", "flatnonzero", "index_exp",
    "ix_", "mask_indices", "ndindex", "nonzero", "ravel_multi_index", "s_", "select", "take", "take_along_axis",
    "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index", "where",
]  # fmt: skip
