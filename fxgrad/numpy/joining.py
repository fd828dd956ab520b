"""Functions that join arrays, and that split them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import aval_of
from ..core.common_errors import check_ndim
from ..core.errors import ShapeError
from ..core.typing import Array, ArrayLike, Arrays, Axis, DType
from .composite import (
    at_axis,
    cast,
    composite,
    normalize_axis,
    operand,
    operands,
)
from .documentation import LINEAR
from .manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ravel,
    slice_axis,
)


@composite(np.concatenate, derivative=LINEAR)
def concatenate(arrays: Arrays, /, axis: Axis = 0, out: None = None, *, dtype: DType = None,
                casting: str = "same_kind") -> Array:  # fmt: skip
    """Arrays joined along an axis, in their common dtype; axis=None joins their entries.

    Raises:
        ValueError: no arrays, arrays without axes, or sizes that differ along another axis.

    >>> fx.grad(lambda x: fnp.sum(fnp.concatenate([x, x**2])))(fnp.ones(2))
    array([3., 3.])
    """
    arrays = operands(arrays)
    if not arrays:
        raise ShapeError(
            "need at least one array to concatenate",
            hint="fnp.zeros((0,)), the empty array, where there may be no part",
        )
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    if any(x.ndim == 0 for x in arrays):
        raise ShapeError("zero-dimensional arrays cannot be concatenated", hint="use fnp.stack")
    arrays = ops.promote_dtypes(arrays) if dtype is None else [cast(x, dtype) for x in arrays]
    return ops.concatenate(*arrays, axis=normalize_axis(axis, arrays[0].ndim))


concat = concatenate


@composite(np.stack, derivative=LINEAR)
def stack(
    arrays: Arrays, axis: int = 0, out: None = None, *, dtype: DType = None, casting: str = "same_kind"
) -> Array:
    """Arrays of one shape joined along a new axis.

    Raises:
        ValueError: there are no arrays, or their shapes differ.

    >>> fnp.stack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])], axis=1)
    array([[1., 3.],
           [2., 4.]])
    """
    arrays = operands(arrays)
    if not arrays:
        raise ShapeError(
            "need at least one array to stack",
            hint="fnp.zeros((0,)), the empty array, where there may be no part",
        )
    if len({x.shape for x in arrays}) > 1:
        raise ShapeError(
            f"stack: the arrays have the shapes {sorted({x.shape for x in arrays})}",
            hint="fnp.concatenate, or fnp.broadcast_arrays(*arrays) before",
        )
    return concatenate([expand_dims(x, axis) for x in arrays], axis, dtype=dtype)


@composite(np.unstack, derivative=LINEAR)
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, without it: a tuple.

    Raises:
        ValueError: `x` has no axes.

    >>> fnp.unstack(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([1., 2.]), array([3., 4.]))
    """
    x = operand(x)
    check_ndim("unstack", "x", x, 1, or_more=True)
    axis = normalize_axis(axis, x.ndim)
    return tuple(ops.getitem(x, index=(*at_axis(i, axis), *(slice(None),) * (x.ndim - axis - 1)))
                 for i in range(x.shape[axis]))  # fmt: skip


@composite(np.vstack, derivative=LINEAR)
def vstack(tup: Arrays, *, dtype: DType = None, casting: str = "same_kind") -> Array:
    """Arrays joined along the first axis; vectors are rows.

    >>> fnp.vstack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])])
    array([[1., 2.],
           [3., 4.]])
    """
    return concatenate([atleast_2d(x) for x in tup], dtype=dtype)


row_stack = vstack  # its former name


@composite(np.hstack, derivative=LINEAR)
def hstack(tup: Arrays, *, dtype: DType = None, casting: str = "same_kind") -> Array:
    """Arrays joined along the second axis; vectors one after the other.

    >>> fnp.hstack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])])
    array([1., 2., 3., 4.])
    """
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype)


@composite(np.dstack, derivative=LINEAR)
def dstack(tup: Arrays) -> Array:
    """Arrays joined along the third axis; vectors and matrices get it.

    >>> fnp.dstack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])])
    array([[[1., 3.],
            [2., 4.]]])
    """
    return concatenate([atleast_3d(x) for x in tup], 2)


@composite(np.column_stack, derivative=LINEAR)
def column_stack(tup: Arrays) -> Array:
    """Vectors and matrices joined as the columns of a matrix.

    >>> fnp.column_stack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])])
    array([[1., 3.],
           [2., 4.]])
    """
    return concatenate([x if x.ndim > 1 else ops.reshape(x, shape=(x.size, 1)) for x in operands(tup)], 1)


@composite(np.block, derivative=LINEAR)
def block(arrays: ArrayLike | Sequence[Any]) -> Array:
    """An array from nested lists of blocks: the innermost are joined along the last axis.

    >>> fnp.block([[fnp.eye(2), fnp.zeros((2, 1))], [fnp.ones((1, 2)), 7.0]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 7.]])
    """
    depth = depth_of(arrays)
    return join_blocks(arrays, -depth, max(depth, widest_rank(arrays)))


def depth_of(blocks: Any) -> int:
    """How deep lists of blocks are nested."""
    return 1 + depth_of(blocks[0]) if isinstance(blocks, list) else 0


def widest_rank(blocks: Any) -> int:
    """The largest number of axes of a block."""
    return max(map(widest_rank, blocks)) if isinstance(blocks, list) else len(aval_of(operand(blocks)).shape)


def join_blocks(blocks: Any, axis: int, ndim: int) -> Any:
    """Join nested lists of blocks, the outer ones along an axis and those in them along the next; a block gets `ndim`
    axes."""
    if isinstance(blocks, list):
        return concatenate([join_blocks(b, axis + 1, ndim) for b in blocks], axis)
    block = operand(blocks)
    return ops.reshape(block, shape=(*(1,) * (ndim - block.ndim), *block.shape))


@composite(np.append, derivative=LINEAR)
def append(arr: ArrayLike, values: ArrayLike, axis: Axis = None) -> Array:
    """An array followed by values, along an axis or both flattened: a new array.

    >>> fnp.append(fnp.array([1.0, 2.0]), 3.0)
    array([1., 2., 3.])
    """
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concatenate([arr, values], axis)


@composite(np.array_split, derivative=LINEAR)
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an array along an axis, in a list: split at the given places, or into a number of nearly equal parts.

    Raises:
        ValueError: the number of parts is not positive.

    >>> fnp.array_split(fnp.arange(5.0), 2)
    [array([0., 1., 2.]), array([3., 4.])]
    """
    ary = operand(ary)
    axis = normalize_axis(axis, ary.ndim)
    size = ary.shape[axis]
    if hasattr(indices_or_sections, "__len__"):
        places = [int(i) for i in indices_or_sections]
    else:
        count = int(indices_or_sections)
        if count <= 0:
            raise ShapeError(
                f"array_split: {count} parts",
                hint="how many parts, from 1 on, or a list of the places to split at",
            )
        places = [size // count * i + min(i, size % count) for i in range(1, count)]
    return [slice_axis(ary, axis, start, stop) for start, stop in zip([0, *places], [*places, size])]


@composite(np.split, derivative=LINEAR)
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an array along an axis, in a list: split at the given places, or into a number of equal parts;
    ValueError if these cannot be equal.

    Raises:
        ValueError: `ary` cannot be divided into parts of one size.

    >>> fnp.split(fnp.arange(4.0), [1, 3])
    [array([0.]), array([1., 2.]), array([3.])]
    """
    ary = operand(ary)
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ShapeError(
            f"split: axis {axis} of size {ary.shape[axis]} cannot be divided into {indices_or_sections} equal parts",
            hint="fnp.array_split, whose parts may differ by one, or a list of the places to split at",
        )
    return array_split(ary, indices_or_sections, axis)


@composite(np.hsplit, derivative=LINEAR)
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the second axis, of a vector along its only one: see `split`.

    Raises:
        ValueError: `ary` has no axes, or cannot be divided into parts of one size.

    >>> fnp.hsplit(fnp.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    [array([[1.],
           [3.]]), array([[2.],
           [4.]])]
    """
    ary = operand(ary)
    check_ndim("hsplit", "ary", ary, 1, or_more=True)
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@composite(np.vsplit, derivative=LINEAR)
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the first axis, of two or more: see `split`.

    Raises:
        ValueError: `ary` has fewer than two axes, or cannot be divided into parts of one size.

    >>> fnp.vsplit(fnp.array([[1.0, 2.0], [3.0, 4.0]]), 2)
    [array([[1., 2.]]), array([[3., 4.]])]
    """
    check_ndim("vsplit", "ary", operand(ary), 2, or_more=True)
    return split(ary, indices_or_sections, 0)


@composite(np.dsplit, derivative=LINEAR)
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts of an array along the third axis: see `split`.

    Raises:
        ValueError: `ary` has fewer than three axes, or cannot be divided into parts of one size.

    >>> [part.shape for part in fnp.dsplit(fnp.ones((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    check_ndim("dsplit", "ary", operand(ary), 3, or_more=True)
    return split(ary, indices_or_sections, 2)


__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack",
    "hsplit", "hstack", "row_stack", "split", "stack", "unstack", "vsplit", "vstack",
]  # fmt: skip
