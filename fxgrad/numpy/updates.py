"""Functions that insert, delete and replace entries.

`put`, `place`, `put_along_axis` and `fill_diagonal` write into their first argument, as in NumPy; with `inplace=False`,
as in JAX, they return the updated copy instead.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
from numpy import copyto, putmask

from .. import ops
from ..core.arrays import as_value
from ..core.common_errors import check_ndim, check_option
from ..core.errors import ShapeError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike, Axis, Shape
from .composite import cast, composite, dtype_of, normalize_axis, operand
from .documentation import LINEAR
from .indexing import check_positions, known_mask
from .manipulation import entry_count, ravel, take_positions


# -- entries in and out ------------------------------------------
@composite(np.delete, derivative=LINEAR)
def delete(arr: ArrayLike, obj: Any, axis: Axis = None) -> Array:
    """An array without some entries along an axis. Their positions determine the shape: if these are staged or mapped
    this raises ConcretizationError.

    >>> fnp.delete(fnp.array([1.0, 2.0, 3.0]), 1)
    array([1., 3.])
    """
    arr = operand(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    obj = obj if isinstance(obj, slice) else concretize(as_value(obj), "delete")
    return take_positions(arr, np.delete(np.arange(arr.shape[axis]), obj), axis)


@composite(np.insert)
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: Axis = None) -> Array:
    """An array with values inserted before some positions along an axis, which must be known.

    >>> fx.jacobian(lambda x: fnp.insert(fnp.ones(2), 1, x))(5.0)
    array([0., 1., 0.])
    """
    arr = operand(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    size = arr.shape[axis]
    places = (
        np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(concretize(as_value(obj), "insert"))
    )
    if places.dtype == bool:
        places = places.nonzero()[0]
    given = cast(operand(values), dtype_of(arr))
    given = ops.reshape(given, shape=(*(1,) * (arr.ndim - given.ndim), *given.shape))
    if places.ndim == 0:  # the first axis of the values is the one along which they are put in
        given = ops.move_axis(given, 0, axis)
    places = places.astype(np.intp) if not places.size else places
    count = given.shape[axis] if places.size == 1 else places.size
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    order = np.insert(
        np.arange(size), places.item() if places.size == 1 else places, np.arange(size, size + count)
    )
    return take_positions(ops.concatenate(arr, ops.broadcast_to(given, shape=shape), axis=axis), order, axis)


@composite(np.resize, derivative=LINEAR)
def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """The entries in another shape, repeated from the beginning if there are too few.

    >>> fnp.resize(fnp.array([1.0, 2.0]), (2, 3))
    array([[1., 2., 1.],
           [2., 1., 2.]])
    """
    a = ravel(a)
    shape = (int(new_shape),) if hasattr(new_shape, "__index__") else tuple(int(n) for n in new_shape)
    if not a.size:
        return np.zeros(shape, dtype_of(a))
    return ops.reshape(take_positions(a, np.arange(entry_count(shape)) % a.size, 0), shape=shape)


@composite(np.trim_zeros, derivative=LINEAR)
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """An array without zeros at its beginning ('f') and end ('b'). Their positions must be known, otherwise it raises
    ConcretizationError.

    Raises:
        ValueError: `trim` has another letter than f and b.

    >>> fnp.trim_zeros(fnp.array([0.0, 1.0, 0.0, 2.0, 0.0]))
    array([1., 0., 2.])
    """
    filt, trim = operand(filt), trim.lower()
    check_option("trim_zeros", "trim", trim, ("fb", "f", "b"), aliases=("bf",))
    places = known_mask(ops.not_equal(filt, 0), "trim_zeros").nonzero()
    index = [slice(None)] * filt.ndim
    for i in range(filt.ndim) if axis is None else np.atleast_1d(axis):
        i = normalize_axis(int(i), filt.ndim)
        start, stop = (int(places[i].min()), int(places[i].max()) + 1) if places[i].size else (0, 0)
        index[i] = slice(start if "f" in trim else None, stop if "b" in trim or not stop else None)
    return ops.getitem(filt, index=tuple(index))


# -- entries replaced ------------------------------------------
def replace_flat(a: Any, targets: Any, values: Any) -> Any:
    """Return a copy with the entries at flat positions replaced by values, which are repeated as often as
    needed."""
    a, values, targets = operand(a), ravel(values), ravel(targets)
    if not values.size or not targets.size:
        return a
    values = take_positions(cast(values, dtype_of(a)), np.arange(targets.size) % values.size, 0)
    return ops.reshape(ops.update(ravel(a), values, targets, index=(ops.ARRAY,)), shape=a.shape)


@composite()
def put(a: ArrayLike, ind: Any, v: ArrayLike, mode: str = "raise", *, inplace: bool = True) -> Array:
    """Write `v`, repeated to the number of positions, into `a` at flat positions `ind`, with `mode` as in `take`, and
    return None; with `inplace=False` return a modified copy.

    The result is differentiated by the array and by what is put into it.

    https://numpy.org/doc/stable/reference/generated/numpy.put.html

    Raises:
        TypeError: a position is no integer.
        IndexError: a position is out of bounds, with `mode` "raise".

    >>> fnp.put(fnp.zeros(3), [0, 2], [1.0, 2.0], inplace=False)
    array([1., 0., 2.])
    """
    if inplace:
        return np.put(a, ind, v, mode)  # type: ignore[func-returns-value]
    return replace_flat(a, check_positions(ind, operand(a).size, mode), v)


@composite()
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Write `vals`, in turn and repeated as needed, into `arr` where a known mask is true, and return None; with
    `inplace=False` return a modified copy.

    The result is differentiated by the array and by what is put into it.

    https://numpy.org/doc/stable/reference/generated/numpy.place.html

    Raises:
        ValueError: there are no values, and the mask is not empty.

    >>> fnp.place(fnp.zeros(4), [True, False, True, True], [1.0, 2.0], inplace=False)
    array([1., 0., 2., 1.])
    """
    if inplace:
        return np.place(arr, mask, vals)  # type: ignore[func-returns-value]
    arr, vals = operand(arr), ravel(vals)
    mask = ops.not_equal(ops.reshape(operand(mask), shape=arr.shape), 0)
    if not vals.size:
        if np.any(known_mask(mask, "place")):
            raise ShapeError(
                "place: vals is empty and mask is not",
                hint="vals of one entry or more, which are repeated as needed",
            )
        return arr
    serial = ops.subtract(ops.cumsum(ravel(mask), axis=0), 1)
    chosen = ops.getitem(cast(vals, dtype_of(arr)), ops.remainder(serial, vals.size), index=(ops.ARRAY,))
    return ops.where(mask, ops.reshape(chosen, shape=arr.shape), arr)


@composite()
def put_along_axis(
    arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: Axis, *, inplace: bool = True
) -> Array:
    """Write `values` into `arr` at positions along an axis, one for each entry of `indices`, and return None; with
    `inplace=False` return a modified copy.

    The result is differentiated by the array and by what is put into it.

    https://numpy.org/doc/stable/reference/generated/numpy.put_along_axis.html

    Raises:
        ValueError: `indices` and `arr` have not the same number of axes.

    >>> fnp.put_along_axis(fnp.zeros((2, 2)), fnp.array([[1], [0]]), 5.0, 1, inplace=False)
    array([[0., 5.],
           [5., 0.]])
    """
    if inplace:
        return np.put_along_axis(arr, indices, values, axis)  # type: ignore[func-returns-value]
    arr = operand(arr)
    if axis is None:
        return ops.reshape(put_along_axis(ravel(arr), indices, values, 0, inplace=False), shape=arr.shape)
    axis, indices = normalize_axis(axis, arr.ndim), operand(indices)
    check_ndim("put_along_axis", "indices", indices, arr.ndim)
    grid = [np.arange(n).reshape((-1,) + (1,) * (arr.ndim - i - 1)) for i, n in enumerate(arr.shape)]
    grid[axis] = check_positions(indices, arr.shape[axis], "raise")
    shape = np.broadcast_shapes(*[g.shape for g in grid])
    values = ops.broadcast_to(cast(operand(values), dtype_of(arr)), shape=shape)
    return ops.update(arr, values, *grid, index=(ops.ARRAY,) * arr.ndim)


@composite()
def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """Write `val`, or its entries in turn, to the diagonal of `a`, and return None; with `inplace=False` return a
    modified copy. With `wrap` the diagonal of a tall matrix begins again below its end.

    The result is differentiated by the array and by what is put into it.

    https://numpy.org/doc/stable/reference/generated/numpy.fill_diagonal.html

    Raises:
        ValueError: `a` has fewer than two axes, or more than two of different sizes.

    >>> fx.grad(lambda x: fnp.sum(fnp.fill_diagonal(x, 0.0, inplace=False)))(fnp.ones((2, 2)))
    array([[0., 1.],
           [1., 0.]])
    """
    if inplace:
        return np.fill_diagonal(a, val, wrap)  # type: ignore[func-returns-value]
    a = operand(a)
    check_ndim("fill_diagonal", "a", a, 2, or_more=True)
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ShapeError(
            f"fill_diagonal: the axes of a, of shape {a.shape}, differ in size",
            hint="a.at[fnp.diag_indices(n, a.ndim)].set(val) for the first n entries",
        )
    step = 1 + sum(accumulate(a.shape[:0:-1], mul))
    stop = a.shape[1] ** 2 if a.ndim == 2 and not wrap else None
    return replace_flat(a, np.arange(a.size)[:stop:step], val)


__all__ = [
    "copyto", "delete", "fill_diagonal", "insert", "place", "put", "put_along_axis", "putmask", "resize", "trim_zeros",
]  # fmt: skip
