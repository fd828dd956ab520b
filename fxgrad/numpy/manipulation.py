"""Functions that rearrange entries without computing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import broadcast_shapes

from .. import ops
from ..core.advice import fit_reshape
from ..core.aval import Aval
from ..core.common_errors import check_ndim
from ..core.errors import ShapeError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike, Axis, Shape
from .composite import (
    at_axis,
    composite,
    fill_outside,
    line_up,
    normalize_axes,
    normalize_axis,
    operand,
    operands,
    reduced_axes,
)
from .documentation import LINEAR


def slice_axis(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """Take a slice along one axis."""
    return ops.getitem(x, index=at_axis(slice(start, stop, step), axis))


def entry_count(shape: Any) -> int:
    """Return the number of entries in an array of that shape."""
    return Aval(tuple(shape), None).size


# -- shape ------------------------------------------
@composite(np.reshape, derivative=LINEAR)
def reshape(a: ArrayLike, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The entries in another shape; one size may be -1.

    Raises:
        ValueError: `shape` has another number of entries, or more than one -1.

    >>> fx.grad(lambda x: fnp.reshape(x, (2, -1))[1, 0])(fnp.ones(4))
    array([0., 0., 1., 0.])
    """
    a = operand(a)
    shape = (shape.__index__(),) if hasattr(shape, "__index__") else tuple(n.__index__() for n in shape)
    if -1 in shape:
        known = -entry_count(shape)
        if shape.count(-1) > 1:
            raise ShapeError(
                f"reshape: the shape {shape} leaves {shape.count(-1)} sizes to be found",
                hint="-1 for one of them",
            )
        if known <= 0 or a.size % known:
            raise ShapeError(
                f"cannot reshape array of size {a.size} into shape {shape}", hint=fit_reshape(a.size, shape)
            )
        shape = tuple(a.size // known if n == -1 else n for n in shape)
    if order == "F":
        return transpose(ops.reshape(transpose(a), shape=shape[::-1]))
    return ops.reshape(a, shape=shape)


@composite(np.ravel, derivative=LINEAR)
def ravel(a: ArrayLike, order: str = "C") -> Array:
    """The entries as a vector, in C order or ("F") Fortran order.

    >>> fnp.ravel(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 2., 3., 4.])
    """
    return reshape(a, -1, order)


@composite(np.squeeze, derivative=LINEAR)
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """An array without its axes of size 1, or without the given ones; ValueError if one of these is longer.

    Raises:
        ValueError: an axis that is named has not size 1.

    >>> fnp.squeeze(fnp.ones((1, 3, 1))).shape
    (3,)
    """
    a = operand(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else reduced_axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ShapeError(
            f"squeeze: axis={axis} of shape {a.shape} has not the size 1",
            hint="axis=None for all axes of size 1, or x[0], x.sum(0) where another is to go",
        )
    return ops.reshape(a, shape=tuple(n for i, n in enumerate(a.shape) if i not in axes))


@composite(np.expand_dims, derivative=LINEAR)
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """An array with new axes of size 1, at these places of the result.

    >>> fnp.expand_dims(fnp.ones(3), (0, 2)).shape
    (1, 3, 1)
    """
    a = operand(a)
    places = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axes(tuple(places), a.ndim + len(places))
    sizes = iter(a.shape)
    return ops.reshape(a, shape=tuple(1 if i in axes else next(sizes) for i in range(a.ndim + len(places))))


def raise_ndim(ndim: int, place: Any, arrays: tuple) -> Any:
    """Return arrays with at least `ndim` axes; `place(shape)` gives the new shape."""
    results = tuple(x if x.ndim >= ndim else ops.reshape(x, shape=place(x.shape)) for x in operands(arrays))
    return results[0] if len(results) == 1 else results


@composite(np.atleast_1d, derivative=LINEAR)
def atleast_1d(*arys: Any) -> Array:
    """Arrays with at least one axis: numbers get one. Several arguments give a tuple.

    >>> fnp.atleast_1d(3.0)
    array([3.])
    """
    return raise_ndim(1, lambda shape: (1,), arys)


@composite(np.atleast_2d, derivative=LINEAR)
def atleast_2d(*arys: Any) -> Array:
    """Arrays with at least two axes; new axes come first. Several arguments give a tuple.

    >>> fnp.atleast_2d(fnp.array([1.0, 2.0]))
    array([[1., 2.]])
    """
    return raise_ndim(2, lambda shape: (1,) * (2 - len(shape)) + shape, arys)


@composite(np.atleast_3d, derivative=LINEAR)
def atleast_3d(*arys: Any) -> Array:
    """Arrays with at least three axes: a vector lies along the middle one, a matrix along the first two. Several
    arguments give a tuple.

    >>> fnp.atleast_3d(fnp.ones(4)).shape
    (1, 4, 1)
    """
    return raise_ndim(3, lambda shape: (1, *(shape or (1,)), 1) if len(shape) < 2 else (*shape, 1), arys)


@composite(np.broadcast_to, derivative=LINEAR)
def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> Array:
    """An array repeated, without a copy, along new axes and those of size 1 to a shape; ValueError where it does not
    fit. The cotangent is summed over the repetitions.

    >>> fnp.broadcast_to(fnp.array([1.0, 2.0]), (3, 2))
    array([[1., 2.],
           [1., 2.],
           [1., 2.]])
    """
    return ops.broadcast_to(operand(array), shape=(shape,) if hasattr(shape, "__index__") else tuple(shape))


@composite(np.broadcast_arrays, derivative=LINEAR)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Arrays broadcast to their common shape, in a tuple.

    >>> fnp.broadcast_arrays(fnp.ones((2, 1)), fnp.zeros(2))
    (array([[1., 1.],
           [1., 1.]]), array([[0., 0.],
           [0., 0.]]))
    """
    arrays = operands(args)
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple(ops.broadcast_to(x, shape=shape) for x in arrays)


# -- order of axes ------------------------------------------
@composite(np.transpose, derivative=LINEAR)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """An array with its axes in the opposite order, or in the order `axes`.

    Raises:
        ValueError: `axes` do not name each axis once.

    >>> fnp.transpose(fnp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    a = operand(a)
    if axes is None:
        return ops.permute(a, axes=tuple(range(a.ndim))[::-1])
    axes = normalize_axes(tuple(axes), a.ndim)
    if len(axes) != a.ndim:
        raise ShapeError(
            f"transpose: axes={axes} for an array of shape {a.shape}",
            hint=f"all of them, in the new order: {tuple(range(a.ndim))[::-1]} reverses them",
        )
    return ops.permute(a, axes=axes)


permute_dims = transpose


@composite(np.matrix_transpose, derivative=LINEAR)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """The matrices in the last two axes transposed; ValueError for arrays with fewer axes.

    Raises:
        ValueError: fewer than two axes.

    >>> fnp.matrix_transpose(fnp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = operand(x)
    check_ndim("matrix_transpose", "x", x, 2, or_more=True)
    return swapaxes(x, -1, -2)


@composite(np.moveaxis, derivative=LINEAR)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    """An array with some axes moved to other positions; the others keep their order.

    Raises:
        ValueError: not as many sources as destinations.

    >>> fnp.moveaxis(fnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = operand(a)
    source, destination = normalize_axes(source, a.ndim), normalize_axes(destination, a.ndim)
    if len(source) != len(destination):
        raise ShapeError(
            f"moveaxis: {len(source)} axes in source and {len(destination)} in destination",
            hint="a place for each axis",
        )
    order = [i for i in range(a.ndim) if i not in source]
    for target, axis in sorted(zip(destination, source)):
        order.insert(target, axis)
    return a if order == list(range(a.ndim)) else ops.permute(a, axes=tuple(order))


@composite(np.swapaxes, derivative=LINEAR)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """An array with two axes exchanged.

    >>> fnp.swapaxes(fnp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = operand(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[i], order[j] = j, i
    return ops.permute(a, axes=tuple(order))


@composite(np.rollaxis, derivative=LINEAR)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """An array with one axis moved before another; `moveaxis` is clearer.

    >>> fnp.rollaxis(fnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = operand(a)
    axis, start = normalize_axis(axis, a.ndim), start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - (axis < start))


# -- repeating ------------------------------------------
@composite(np.tile, derivative=LINEAR)
def tile(A: ArrayLike, reps: Any) -> Array:
    """An array repeated as a whole, the given number of times along each axis.

    >>> fnp.tile(fnp.array([1.0, 2.0]), 2)
    array([1., 2., 1., 2.])
    """
    A = operand(A)
    reps = (int(reps),) if hasattr(reps, "__index__") else tuple(int(n) for n in reps)
    rank = max(len(reps), A.ndim)
    reps, shape = (1,) * (rank - len(reps)) + reps, (1,) * (rank - A.ndim) + A.shape
    lanes = ops.reshape(A, shape=tuple(m for n in shape for m in (1, n)))
    spread = ops.broadcast_to(lanes, shape=tuple(m for pair in zip(reps, shape) for m in pair))
    return ops.reshape(spread, shape=tuple(r * n for r, n in zip(reps, shape)))


@composite(np.repeat, derivative=LINEAR)
def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> Array:
    """Every entry along an axis, or of the flattened array, repeated. The counts determine the shape: if they are
    staged or mapped this raises ConcretizationError.

    >>> fnp.repeat(fnp.array([1.0, 2.0]), [2, 1])
    array([1., 1., 2.])
    """
    a, axis = line_up(operand(a), axis)
    counts = np.asarray(concretize(operand(repeats), "repeat"))
    size = a.shape[axis]
    if counts.size == 1:
        count = int(counts.reshape(()))
        shape = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])
        spread = ops.broadcast_to(expand_dims(a, axis + 1), shape=shape)
        return ops.reshape(spread, shape=(*a.shape[:axis], size * count, *a.shape[axis + 1 :]))
    return take_positions(a, np.repeat(np.arange(size), counts), axis)


def take_positions(a: Any, positions: Any, axis: int) -> Array:
    """Take the entries at known positions along an axis."""
    return ops.getitem(a, positions, index=at_axis(ops.ARRAY, axis))


@composite(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: ArrayLike, window_shape: Any, axis: Axis = None, *, subok: bool = False,
                        writeable: bool = False) -> Array:  # fmt: skip
    """The windows of a shape at every place of some axes, which become the last axes; NumPy has it in
    `lib.stride_tricks`.

    >>> fx.grad(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum())(np.ones(3))
    array([1., 2., 1.])
    """
    x = operand(x)
    shape = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = normalize_axes(axis, x.ndim)
    if len(shape) != len(axes):
        raise ShapeError(
            f"window_shape {shape} has not one size for each of the axes {axes}",
            hint="axis=, of the same length as window_shape",
        )
    for size, a in zip(shape, axes):
        count = x.shape[a] - size + 1
        if size < 0 or count < 1:
            raise ShapeError(
                f"a window of size {size} does not fit into axis {a} of shape {x.shape}",
                hint=f"a window of 1 to {x.shape[a]}, or fnp.pad(x, …) first",
            )
        places = np.arange(count)[:, None] + np.arange(size)
        x = moveaxis(take_positions(x, places, a), a + 1, x.ndim)
    return x


# -- reversing and rotating ------------------------------------------
@composite(np.flip, derivative=LINEAR)
def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """An array with the entries along axes, all of them unless given, in the opposite order.

    >>> fnp.flip(fnp.array([1.0, 2.0, 3.0]))
    array([3., 2., 1.])
    """
    m = operand(m)
    return ops.flip(m, axes=normalize_axes(axis, m.ndim))


@composite(np.flipud, derivative=LINEAR)
def flipud(m: ArrayLike) -> Array:
    """An array with the entries along the first axis in the opposite order.

    Raises:
        ValueError: `m` has no axes.

    >>> fnp.flipud(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[3., 4.],
           [1., 2.]])
    """
    m = operand(m)
    check_ndim("flipud", "m", m, 1, or_more=True)
    return ops.flip(m, axes=(0,))


@composite(np.fliplr, derivative=LINEAR)
def fliplr(m: ArrayLike) -> Array:
    """An array with the entries along the second axis in the opposite order.

    Raises:
        ValueError: `m` has fewer than two axes.

    >>> fnp.fliplr(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 1.],
           [4., 3.]])
    """
    m = operand(m)
    check_ndim("fliplr", "m", m, 2, or_more=True)
    return ops.flip(m, axes=(1,))


@composite(np.roll, derivative=LINEAR)
def roll(a: ArrayLike, shift: ArrayLike, axis: Axis = None) -> Array:
    """Entries moved along axes, or in the flattened array; entries moved past the end come back at the beginning.

    >>> fnp.roll(fnp.array([1.0, 2.0, 3.0]), 1)
    array([3., 1., 2.])
    """
    a = operand(a)
    if axis is None:
        return ops.reshape(roll(ravel(a), shift, 0), shape=a.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for places, i in zip(*np.broadcast_arrays(np.asarray(shift), np.asarray(axes))):
        i = normalize_axis(int(i), a.ndim)
        split_at = -int(places) % a.shape[i] if a.shape[i] else 0
        if split_at:
            a = ops.concatenate(slice_axis(a, i, split_at, None), slice_axis(a, i, None, split_at), axis=i)
    return a


@composite(np.rot90, derivative=LINEAR)
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """The matrices in two axes rotated by k right angles, from the first axis towards the second.

    Raises:
        ValueError: `axes` are not two different ones.

    >>> fnp.rot90(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 4.],
           [1., 3.]])
    """
    m = operand(m)
    if len(axes) != 2 or len(set(normalize_axes(tuple(axes), m.ndim))) != 2:
        raise ShapeError(
            f"rot90: axes={axes} are not two different axes", hint="axes=(0, 1), the plane of the rotation"
        )
    i, j = normalize_axes(tuple(axes), m.ndim)
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return ops.flip(m, axes=(i, j))
    return flip(swapaxes(m, i, j), i) if k % 4 == 1 else swapaxes(flip(m, i), i, j)


# -- diagonals and triangles ------------------------------------------
@composite(np.diagonal, derivative=LINEAR)
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices in two axes, in the last axis of the result.

    Raises:
        ValueError: `axis1` and `axis2` are the same.

    >>> fnp.diagonal(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    a = operand(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    if i == j:
        raise ShapeError(f"diagonal: axis1={axis1} and axis2={axis2} are one axis", hint="axis1=-2, axis2=-1")
    a = moveaxis(a, (i, j), (-2, -1))
    rows, columns = a.shape[-2:]
    steps = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    index = (*(slice(None),) * (a.ndim - 2), ops.ARRAY, ops.ARRAY)
    return ops.getitem(a, steps - min(offset, 0), steps + max(offset, 0), index=index)


@composite(np.diag, derivative=LINEAR)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """The k-th diagonal of a matrix, or the matrix with a vector as its k-th diagonal. Other arrays raise ValueError.

    Raises:
        ValueError: `v` has neither one axis nor two.

    >>> fnp.diag(fnp.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    v = operand(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError(
            f"diag: v has shape {v.shape}, expected one or two axes",
            hint="fnp.diagonal(v, axis1=-2, axis2=-1), or fx.vmap(fnp.diag)",
        )
    n = v.size + abs(k)
    first = max(k, 0) - min(k, 0) * n
    places = slice(first, first + v.size * (n + 1), n + 1)
    return ops.reshape(ops.scatter_add(v, index=(places,), shape=(n * n,)), shape=(n, n))


@composite(np.diagflat, derivative=LINEAR)
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix that has all entries of an array on its k-th diagonal.

    >>> fnp.diagflat(fnp.array([1.0, 2.0]), 1)
    array([[0., 1., 0.],
           [0., 0., 2.],
           [0., 0., 0.]])
    """
    return diag(ravel(v), k)


@composite(np.tril, derivative=LINEAR)
def tril(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above the k-th diagonal.

    >>> fnp.tril(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 0.],
           [3., 4.]])
    """
    m = operand(m)
    return fill_outside(np.tri(*m.shape[-2:], k=k, dtype=bool), m, 0)


@composite(np.triu, derivative=LINEAR)
def triu(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below the k-th diagonal.

    >>> fnp.triu(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [0., 4.]])
    """
    m = operand(m)
    return fill_outside(~np.tri(*m.shape[-2:], k=k - 1, dtype=bool), m, 0)


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "diag", "diagflat", "diagonal", "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose",
    "moveaxis", "permute_dims", "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "squeeze",
    "swapaxes", "tile", "transpose", "tril", "triu",
]  # fmt: skip
