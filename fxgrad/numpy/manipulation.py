"""Functions that move entries without computing anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike, Axis, DType, Shape
from .composite import (
    at_axis,
    cast,
    composite,
    fill_outside,
    normalize_axes,
    normalize_axis,
    operand,
    operands,
)

broadcast_shapes = np.broadcast_shapes


def slice_axis(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """Take a slice along one axis."""
    return ops.getitem(x, index=at_axis(slice(start, stop, step), axis))


def entry_count(shape: Any) -> int:
    """Return the number of entries in an array of that shape."""
    return Aval(tuple(shape), None).size


# -- shape ------------------------------------------
@composite(np.reshape)
def reshape(a: ArrayLike, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The entries in another shape; one size may be -1.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.grad(lambda x: fnp.reshape(x, (2, -1))[1, 0])(fnp.ones(4))
    array([0., 0., 1., 0.])
    """
    a = operand(a)
    shape = (shape.__index__(),) if hasattr(shape, "__index__") else tuple(n.__index__() for n in shape)
    if -1 in shape:
        known = -entry_count(shape)
        if shape.count(-1) > 1:
            raise ShapeError("can only specify one unknown dimension")
        if known <= 0 or a.size % known:
            raise ShapeError(f"cannot reshape array of size {a.size} into shape {shape}")
        shape = tuple(a.size // known if n == -1 else n for n in shape)
    if order == "F":
        return transpose(ops.reshape(transpose(a), shape=shape[::-1]))
    return ops.reshape(a, shape=shape)


@composite(np.ravel)
def ravel(a: ArrayLike, order: str = "C") -> Array:
    return reshape(a, -1, order)


@composite(np.squeeze)
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    a = operand(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else normalize_axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
    return ops.reshape(a, shape=tuple(n for i, n in enumerate(a.shape) if i not in axes))


@composite(np.expand_dims)
def expand_dims(a: ArrayLike, axis: Axis) -> Array:
    a = operand(a)
    axis = axis if isinstance(axis, tuple | list) else (axis,)
    axes = normalize_axes(tuple(axis), a.ndim + len(axis))
    sizes = iter(a.shape)
    return ops.reshape(a, shape=tuple(1 if i in axes else next(sizes) for i in range(a.ndim + len(axis))))


def raise_ndim(ndim: int, place: Any, arrays: tuple) -> Any:
    """Return arrays with at least `ndim` axes; `place(shape)` gives the new shape."""
    results = tuple(x if x.ndim >= ndim else ops.reshape(x, shape=place(x.shape)) for x in operands(arrays))
    return results[0] if len(results) == 1 else results


@composite(np.atleast_1d)
def atleast_1d(*arys: Any) -> Array:
    return raise_ndim(1, lambda shape: (1,), arys)


@composite(np.atleast_2d)
def atleast_2d(*arys: Any) -> Array:
    return raise_ndim(2, lambda shape: (1,) * (2 - len(shape)) + shape, arys)


@composite(np.atleast_3d)
def atleast_3d(*arys: Any) -> Array:
    return raise_ndim(3, lambda shape: (1, *(shape or (1,)), 1) if len(shape) < 2 else (*shape, 1), arys)


@composite(np.broadcast_to)
def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> Array:
    return ops.broadcast_to(operand(array), shape=(shape,) if hasattr(shape, "__index__") else tuple(shape))


@composite(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple:
    arrays = operands(args)
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple(ops.broadcast_to(x, shape=shape) for x in arrays)


# -- order of axes ------------------------------------------
@composite(np.transpose)
def transpose(a: ArrayLike, axes: Axis = None) -> Array:
    a = operand(a)
    if axes is None:
        return ops.permute(a, axes=tuple(range(a.ndim))[::-1])
    axes = normalize_axes(tuple(axes), a.ndim)
    if len(axes) != a.ndim:
        raise ShapeError("axes don't match array")
    return ops.permute(a, axes=axes)


permute_dims = transpose


@composite(np.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Array:
    x = operand(x)
    if x.ndim < 2:
        raise ShapeError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@composite(np.moveaxis)
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Array:
    a = operand(a)
    source, destination = normalize_axes(source, a.ndim), normalize_axes(destination, a.ndim)
    if len(source) != len(destination):
        raise ShapeError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(a.ndim) if i not in source]
    for target, axis in sorted(zip(destination, source)):
        order.insert(target, axis)
    return a if order == list(range(a.ndim)) else ops.permute(a, axes=tuple(order))


@composite(np.swapaxes)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    a = operand(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[i], order[j] = j, i
    return ops.permute(a, axes=tuple(order))


@composite(np.rollaxis)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    a = operand(a)
    axis, start = normalize_axis(axis, a.ndim), start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - (axis < start))


# -- joining and splitting ------------------------------------------
@composite(np.concatenate)
def concatenate(arrays: ArrayLike, /, axis: Axis = 0, out: None = None, *, dtype: DType = None,
                casting: str = "same_kind") -> Array:  # fmt: skip
    """Arrays joined along an axis, in their common dtype; axis=None joins their entries.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.grad(lambda x: fnp.sum(fnp.concatenate([x, x**2])))(fnp.ones(2))
    array([3., 3.])
    """
    arrays = operands(arrays)
    if not arrays:
        raise ShapeError("need at least one array to concatenate")
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    if any(x.ndim == 0 for x in arrays):
        raise ShapeError("zero-dimensional arrays cannot be concatenated", hint="use fnp.stack")
    arrays = ops.promote_dtypes(arrays) if dtype is None else [cast(x, dtype) for x in arrays]
    return ops.concatenate(*arrays, axis=normalize_axis(axis, arrays[0].ndim))


concat = concatenate


@composite(np.stack)
def stack(
    arrays: ArrayLike, axis: int = 0, out: None = None, *, dtype: DType = None, casting: str = "same_kind"
) -> Array:
    """Arrays of one shape joined along a new axis."""
    arrays = operands(arrays)
    if not arrays:
        raise ShapeError("need at least one array to stack")
    if len({x.shape for x in arrays}) > 1:
        raise ShapeError("all input arrays must have the same shape")
    return concatenate([expand_dims(x, axis) for x in arrays], axis, dtype=dtype)


@composite(np.unstack)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple:
    x = operand(x)
    if x.ndim == 0:
        raise ShapeError("Input array must be at least 1-d.")
    axis = normalize_axis(axis, x.ndim)
    return tuple(ops.getitem(x, index=(*at_axis(i, axis), *(slice(None),) * (x.ndim - axis - 1)))
                 for i in range(x.shape[axis]))  # fmt: skip


@composite(np.vstack)
def vstack(tup: ArrayLike, *, dtype: DType = None, casting: str = "same_kind") -> Array:
    return concatenate([atleast_2d(x) for x in tup], dtype=dtype)


row_stack = vstack  # its former name


@composite(np.hstack)
def hstack(tup: ArrayLike, *, dtype: DType = None, casting: str = "same_kind") -> Array:
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype)


@composite(np.dstack)
def dstack(tup: ArrayLike) -> Array:
    return concatenate([atleast_3d(x) for x in tup], 2)


@composite(np.column_stack)
def column_stack(tup: ArrayLike) -> Array:
    return concatenate([x if x.ndim > 1 else ops.reshape(x, shape=(x.size, 1)) for x in operands(tup)], 1)


@composite(np.block)
def block(arrays: ArrayLike) -> Array:
    """An array from nested lists of blocks: the innermost are joined along the last axis."""

    def depth(item: Any) -> int:
        return 1 + depth(item[0]) if isinstance(item, list) else 0

    def widest(item: Any) -> int:
        return max(map(widest, item)) if isinstance(item, list) else len(aval_of(operand(item)).shape)

    levels = depth(arrays)
    ndim = max(levels, widest(arrays))

    def build(item: Any, level: int) -> Any:
        if isinstance(item, list):
            return concatenate([build(i, level + 1) for i in item], level - levels)
        item = operand(item)
        return ops.reshape(item, shape=(*(1,) * (ndim - item.ndim), *item.shape))

    return build(arrays, 0)


@composite(np.append)
def append(arr: ArrayLike, values: ArrayLike, axis: Axis = None) -> Array:
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concatenate([arr, values], axis)


@composite(np.array_split)
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list:
    """Parts of an array along an axis: at the given places, or so many of nearly equal size."""
    ary = operand(ary)
    axis = normalize_axis(axis, ary.ndim)
    size = ary.shape[axis]
    if hasattr(indices_or_sections, "__len__"):
        places = [int(i) for i in indices_or_sections]
    else:
        count = int(indices_or_sections)
        if count <= 0:
            raise ShapeError("number sections must be larger than 0.")
        places = [size // count * i + min(i, size % count) for i in range(1, count)]
    return [slice_axis(ary, axis, start, stop) for start, stop in zip([0, *places], [*places, size])]


@composite(np.split)
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list:
    """As `array_split`, but equal parts must be exactly equal."""
    ary = operand(ary)
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ShapeError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@composite(np.hsplit)
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    ary = operand(ary)
    if ary.ndim == 0:
        raise ShapeError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@composite(np.vsplit)
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    if operand(ary).ndim < 2:
        raise ShapeError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@composite(np.dsplit)
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    if operand(ary).ndim < 3:
        raise ShapeError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


# -- repeating ------------------------------------------
@composite(np.tile)
def tile(A: ArrayLike, reps: Any) -> Array:
    A = operand(A)
    reps = (int(reps),) if hasattr(reps, "__index__") else tuple(int(n) for n in reps)
    rank = max(len(reps), A.ndim)
    reps, shape = (1,) * (rank - len(reps)) + reps, (1,) * (rank - A.ndim) + A.shape
    lanes = ops.reshape(A, shape=tuple(m for n in shape for m in (1, n)))
    spread = ops.broadcast_to(lanes, shape=tuple(m for pair in zip(reps, shape) for m in pair))
    return ops.reshape(spread, shape=tuple(r * n for r, n in zip(reps, shape)))


@composite(np.repeat)
def repeat(a: ArrayLike, repeats: ArrayLike, axis: Axis = None) -> Array:
    """Every entry along an axis several times; the counts fix the shape, so they must be known."""
    a = operand(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    counts = np.asarray(concretize(operand(repeats), "repeat"))
    size = a.shape[axis]
    if counts.size == 1:
        count = int(counts.reshape(()))
        shape = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])
        spread = ops.broadcast_to(expand_dims(a, axis + 1), shape=shape)
        return ops.reshape(spread, shape=(*a.shape[:axis], size * count, *a.shape[axis + 1 :]))
    return take_positions(a, np.repeat(np.arange(size), counts), axis)


def take_positions(a: Any, positions: Any, axis: int) -> Any:
    """Take the entries at known positions along an axis."""
    return ops.getitem(a, positions, index=at_axis(ops.ARRAY, axis))


@composite(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: ArrayLike, window_shape: Any, axis: Axis = None, *, subok: bool = False,
                        writeable: bool = False) -> Array:  # fmt: skip
    """The windows of a shape at every place of some axes, which become the last axes; NumPy has it in
    `lib.stride_tricks`.

    >>> import fxgrad as fx, numpy as np
    >>> fx.grad(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum())(np.ones(3))
    array([1., 2., 1.])
    """
    x = operand(x)
    shape = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = normalize_axes(axis, x.ndim)
    if len(shape) != len(axes):
        raise ShapeError(f"window_shape {shape} has not one size for each of the axes {axes}")
    for size, a in zip(shape, axes):
        count = x.shape[a] - size + 1
        if size < 0 or count < 1:
            raise ShapeError(f"a window of size {size} does not fit into axis {a} of shape {x.shape}")
        places = np.arange(count)[:, None] + np.arange(size)
        x = ops.move_axis(take_positions(x, places, a), a + 1, x.ndim)
    return x


# -- reversing and rotating ------------------------------------------
@composite(np.flip)
def flip(m: ArrayLike, axis: Axis = None) -> Array:
    m = operand(m)
    return ops.flip(m, axes=normalize_axes(axis, m.ndim))


@composite(np.flipud)
def flipud(m: ArrayLike) -> Array:
    m = operand(m)
    if m.ndim < 1:
        raise ShapeError("Input must be >= 1-d.")
    return ops.flip(m, axes=(0,))


@composite(np.fliplr)
def fliplr(m: ArrayLike) -> Array:
    m = operand(m)
    if m.ndim < 2:
        raise ShapeError("Input must be >= 2-d.")
    return ops.flip(m, axes=(1,))


@composite(np.roll)
def roll(a: ArrayLike, shift: ArrayLike, axis: Axis = None) -> Array:
    """Entries moved along axes, those at the end coming back at the beginning."""
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


@composite(np.rot90)
def rot90(m: ArrayLike, k: int = 1, axes: Axis = (0, 1)) -> Array:
    m = operand(m)
    if len(axes) != 2 or len(set(normalize_axes(tuple(axes), m.ndim))) != 2:
        raise ShapeError("Axes must be two different ones")
    i, j = normalize_axes(tuple(axes), m.ndim)
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return ops.flip(m, axes=(i, j))
    return flip(swapaxes(m, i, j), i) if k % 4 == 1 else swapaxes(flip(m, i), i, j)


# -- diagonals and triangles ------------------------------------------
@composite(np.diagonal)
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    a = operand(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    if i == j:
        raise ShapeError("axis1 and axis2 cannot be the same")
    a = moveaxis(a, (i, j), (-2, -1))
    rows, columns = a.shape[-2:]
    steps = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    index = (*(slice(None),) * (a.ndim - 2), ops.ARRAY, ops.ARRAY)
    return ops.getitem(a, steps - min(offset, 0), steps + max(offset, 0), index=index)


@composite(np.diag)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix of which a vector is the diagonal."""
    v = operand(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError("Input must be 1- or 2-d.")
    n = v.size + abs(k)
    first = max(k, 0) - min(k, 0) * n
    places = slice(first, first + v.size * (n + 1), n + 1)
    return ops.reshape(ops.scatter_add(v, index=(places,), shape=(n * n,)), shape=(n, n))


@composite(np.diagflat)
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    return diag(ravel(v), k)


@composite(np.tril)
def tril(m: ArrayLike, k: int = 0) -> Array:
    m = operand(m)
    return fill_outside(np.tri(*m.shape[-2:], k=k, dtype=bool), m, 0)


@composite(np.triu)
def triu(m: ArrayLike, k: int = 0) -> Array:
    m = operand(m)
    return fill_outside(~np.tri(*m.shape[-2:], k=k - 1, dtype=bool), m, 0)


__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "diag", "diagflat",
    "diagonal", "dsplit", "dstack", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack",
    "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat", "reshape", "roll",
    "rollaxis", "rot90", "row_stack", "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "tril", "triu",
    "unstack", "vsplit", "vstack",
]  # fmt: skip
