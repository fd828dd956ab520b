"""Shapes and slices under the names of jax.lax. Sizes are static; the starts of a dynamic slice may be traced."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy import broadcast_shapes

from .. import numpy as fnp
from .. import ops
from ..core.advice import fit_index
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.errors import DTypeError, IndexingError, ShapeError
from ..core.typing import Array, ArrayLike, Arrays, Shape
from ..numpy.composite import at_axis, cast, composite, dtype_of, kind, normalize_axis
from ..numpy.composite import operand as array
from ..numpy.composite import operands as arrays


# -- shapes ------------------------------------------
@composite()
def reshape(operand: ArrayLike, new_sizes: Any, dimensions: Any = None) -> Array:
    """The entries in another shape. It is linear.

    Args:
        operand: an array.
        new_sizes: the shape, of as many entries; ValueError otherwise.
        dimensions: the order in which the axes are put first; None leaves it.

    >>> fx.lax.reshape(fnp.array([[1.0, 2.0], [3.0, 4.0]]), (4,), (1, 0))
    array([1., 3., 2., 4.])
    """
    x = array(operand) if dimensions is None else fnp.transpose(operand, dimensions)
    return fnp.reshape(x, new_sizes)


@composite()
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: Any = None) -> Array:
    """The operand with the axes from `start_dimension` up to, but not including, `stop_dimension` merged into one. It
    is linear.

    >>> fx.lax.collapse(fnp.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = array(operand)
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(x.ndim)
    return fnp.reshape(x, (*x.shape[:start], -1, *x.shape[stop:]))


@composite()
def expand_dims(array: ArrayLike, dimensions: Any) -> Array:
    """The `array` with new axes of length one at the places `dimensions` of the result.

    >>> fx.lax.expand_dims(fnp.ones(3), (0, 2)).shape
    (1, 3, 1)
    """
    return fnp.expand_dims(as_value(array), tuple(dimensions))


@composite()
def squeeze(array: ArrayLike, dimensions: Any) -> Array:
    """The `array` without the axes `dimensions`, which have length one: ValueError otherwise.

    >>> fx.lax.squeeze(fnp.ones((1, 3, 1)), (0, 2)).shape
    (3,)
    """
    return fnp.squeeze(array, tuple(dimensions))


@composite()
def transpose(operand: ArrayLike, permutation: Any) -> Array:
    """The operand with its axes in another order: axis i of the result is axis permutation[i] of it.

    >>> fx.lax.transpose(fnp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return fnp.transpose(operand, tuple(permutation))


@composite()
def rev(operand: ArrayLike, dimensions: Any) -> Array:
    """The operand with the entries along the axes `dimensions` in the opposite order.

    >>> fx.lax.rev(fnp.array([1.0, 2.0, 3.0]), (0,))
    array([3., 2., 1.])
    """
    return fnp.flip(operand, tuple(dimensions))


@composite()
def broadcast(operand: ArrayLike, sizes: Any) -> Array:
    """The operand repeated along new leading axes of these `sizes`.

    >>> fx.lax.broadcast(fnp.array([1.0, 2.0]), (2,))
    array([[1., 2.],
           [1., 2.]])
    """
    return fnp.broadcast_to(operand, (*sizes, *array(operand).shape))


@composite()
def broadcast_in_dim(operand: ArrayLike, shape: Shape, broadcast_dimensions: Any) -> Array:
    """The operand in another shape, its axis i being axis broadcast_dimensions[i] there.

    Raises:
        ShapeError: not one place for each axis of the operand.

    >>> fx.lax.broadcast_in_dim(fnp.array([1.0, 2.0]), (2, 3), (0,))
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    x, places = array(operand), list(broadcast_dimensions)
    if len(places) != x.ndim or sorted(set(places)) != places:
        raise ShapeError(
            f"broadcast_dimensions {places} do not name one axis each for an operand of shape {x.shape}",
            hint=f"{x.ndim} different axes of the result in rising order: "
            f"{[*range(len(shape) - x.ndim, len(shape))]} are the last",
        )
    sizes = dict(zip(places, x.shape))
    return fnp.broadcast_to(fnp.reshape(x, [sizes.get(i, 1) for i in range(len(shape))]), tuple(shape))


@composite()
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """The operand x with as many new leading axes of size 1 as it takes to have `rank` axes; ShapeError where it has
    more.

    Raises:
        ShapeError: there are more axes than `rank`.

    >>> fx.lax.broadcast_to_rank(fnp.ones(3), 3).shape
    (1, 1, 3)
    """
    x = array(x)
    if rank < x.ndim:
        raise ShapeError(
            f"broadcast_to_rank: an operand of shape {x.shape} has more than {rank} axes",
            hint=f"a rank of {x.ndim} or more; fnp.reshape joins axes",
        )
    return fnp.reshape(x, (*[1] * (rank - x.ndim), *x.shape))


@composite()
def stack(operands: Any, axis: int = 0) -> Array:
    """Arrays of one shape, `operands`, joined along a new `axis`; ValueError where shapes differ.

    >>> fx.lax.stack([fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])], 1)
    array([[1., 3.],
           [2., 4.]])
    """
    return fnp.stack(arrays(operands), axis)


@composite()
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Any, ...]:
    """The parts of x along `axis`, without it: a tuple.

    >>> fx.lax.unstack(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([1., 2.]), array([3., 4.]))
    """
    return tuple(fnp.unstack(x, axis=axis))


@composite()
def concatenate(operands: Arrays, dimension: int) -> Array:
    """Arrays, `operands`, joined along the axis `dimension`; ValueError where other axes differ.

    >>> fx.lax.concatenate([fnp.array([1.0, 2.0]), fnp.array([3.0])], 0)
    array([1., 2., 3.])
    """
    return fnp.concatenate(arrays(operands), dimension)


@composite()
def tile(operand: ArrayLike, reps: Any) -> Array:
    """The operand repeated as a whole, reps[i] times along axis i.

    >>> fx.lax.tile(fnp.array([1.0, 2.0]), (2,))
    array([1., 2., 1., 2.])
    """
    return fnp.tile(array(operand), tuple(reps))


@composite()
def split(operand: ArrayLike, sizes: Any, axis: int = 0) -> list[Any]:
    """Consecutive parts of the operand, of these `sizes`, along `axis`: a list. ShapeError where the sizes do not add
    up to that of the axis.

    Raises:
        ShapeError: the sizes do not add up to that of the axis.

    >>> fx.lax.split(fnp.array([1.0, 2.0, 3.0]), (1, 2))
    [array([1.]), array([2., 3.])]
    """
    x = array(operand)
    if sum(sizes) != x.shape[axis]:
        raise ShapeError(
            f"the sizes {tuple(sizes)} do not add up to {x.shape[axis]}, the size of axis {axis}",
            hint=f"sizes whose sum is {x.shape[axis]}, or fnp.split(x, n) for equal parts",
        )
    return fnp.split(x, np.cumsum(sizes)[:-1], axis)


@composite()
def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Any) -> Array:
    """The operand among padding values, by which it is differentiated as well.

    Args:
        operand: an array.
        padding_value: a number without axes.
        padding_config: for every axis (low, high, interior), how many values go before and after (negative: entries are
            removed) and between each two entries.

    Raises:
        ShapeError: there is not one entry for each axis, interior padding is negative, or more is removed than
            there is.

    >>> fx.lax.pad(fnp.array([1.0, 2.0, 3.0]), 0.0, [(-1, 2, 1)])
    array([0., 2., 0., 3., 0., 0.])
    """
    x = array(operand)
    if len(padding_config) != x.ndim:
        raise ShapeError(
            f"padding_config has {len(padding_config)} entries for an operand of shape {x.shape}",
            hint=f"(low, high, interior) for each of the {x.ndim} axes",
        )
    shape, places, window = [], [], []
    for n, (low, high, interior) in zip(x.shape, padding_config):
        if interior < 0:
            raise ShapeError(
                f"interior padding is not negative: {interior}",
                hint="interior=0 puts nothing between entries; negative low and high cut",
            )
        start, wide = max(low, 0), max(n + (n - 1) * interior, 0)
        places.append(builtins.slice(start, start + wide, interior + 1))
        shape.append(start + wide + max(high, 0))
        window.append(builtins.slice(max(-low, 0), shape[-1] - max(-high, 0)))
        if low + wide + high < 0:
            raise ShapeError(
                f"the padding {(low, high, interior)} removes more than an axis of size {n} has",
                hint=f"negative numbers that together cut at most {n}",
            )
    around = ops.broadcast_to(cast(array(padding_value), dtype_of(x)), shape=tuple(shape))
    return ops.getitem(ops.update(around, x, index=tuple(places)), index=tuple(window))


# -- slices ------------------------------------------
@composite()
def slice(
    operand: ArrayLike,
    start_indices: Sequence[int] | Array,
    limit_indices: Sequence[int] | Array,
    strides: Any = None,
) -> Array:
    """Every stride-th entry of the operand from start to limit along every axis, without clipping and without negative
    indices.

    Args:
        operand: an array.
        start_indices, limit_indices: static integers, one for each axis; the limit is left out.
        strides: the steps, positive; None: 1.

    Raises:
        ShapeError: there is not one number for each axis.
        IndexingError: a slice is not within the operand.

    >>> fx.lax.slice(fnp.arange(6.0), (1,), (6,), (2,))
    array([1., 3., 5.])
    """
    x = array(operand)
    steps = (1,) * x.ndim if strides is None else tuple(strides)
    if not len(start_indices) == len(limit_indices) == len(steps) == x.ndim:
        raise ShapeError(
            f"starts, limits and strides are not one for each axis of shape {x.shape}",
            hint=f"{x.ndim} of each; x[start:limit:step] indexes as NumPy does",
        )
    for start, limit, step, n in zip(start_indices, limit_indices, steps, x.shape):
        if not 0 <= start <= limit <= n or step < 1:
            raise IndexingError(
                f"slice {start}:{limit}:{step} is not within an axis of size {n}",
                hint=f"0 <= start <= limit <= {n} and a step from 1 on; x[start:limit] takes negative numbers",
            )
    return ops.getitem(x, index=tuple(map(builtins.slice, start_indices, limit_indices, steps)))


@composite()
def slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, limit_index: ArrayLike, stride: int = 1, axis: int = 0
) -> Array:
    """The entries start_index:limit_index:stride of the operand along one `axis`, with the meaning of Python's slices.

    >>> fx.lax.slice_in_dim(fnp.arange(6.0), 1, None, 2)
    array([1., 3., 5.])
    """
    x = array(operand)
    part = builtins.slice(start_index, limit_index, stride)
    return ops.getitem(x, index=at_axis(part, normalize_axis(axis, x.ndim)))


@composite()
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One entry of the operand along one `axis`, which is kept with length one or, without `keepdims`, dropped.
    IndexingError if the static `index` is out of range; a negative one counts from the end.

    Raises:
        IndexingError: there is no such position.

    >>> fx.lax.index_in_dim(fnp.arange(6.0), -1)
    array([5.])
    """
    x = array(operand)
    axis = normalize_axis(axis, x.ndim)
    n = x.shape[axis]
    if not -n <= index < n:
        raise IndexingError(
            f"index {index} is out of bounds for axis {axis} with size {n}", hint=fit_index(n)
        )
    at = index % n
    return ops.getitem(x, index=at_axis(builtins.slice(at, at + 1) if keepdims else at, axis))


def clamp_starts(starts: Any, shape: Sequence[int], sizes: Sequence[int], wrap: Any) -> list[Any]:
    """Return the starts of a window in an array of a shape: negative ones count from the end (where `wrap`),
    and the window is moved to where it lies within the array."""
    starts = list(starts) if isinstance(starts, Sequence) else list(array(starts))
    if not len(starts) == len(shape) == len(sizes):
        raise ShapeError(
            f"{len(starts)} starts and sizes {tuple(sizes)} for an array of shape {tuple(shape)}",
            hint=f"a start and a size for each of the {len(shape)} axes",
        )
    wraps = [wrap] * len(starts) if isinstance(wrap, bool) else wrap
    return [clamp_start(*entry) for entry in zip(starts, shape, sizes, wraps)]


def clamp_start(start: Any, have: int, size: int, wrap: bool) -> Any:
    if not 0 <= index(size) <= have:
        raise ShapeError(f"a slice of size {size} of an axis of size {have}", hint=f"a size from 0 to {have}")
    start = array(start)
    if kind(start) not in "iu" or start.ndim:
        raise DTypeError(
            f"the start of a slice is an integer, not {aval_of(start)!r}",
            hint="start.astype(int), one number",
        )
    start = cast(start, np.intp)
    if wrap:
        start = ops.where(ops.less(start, 0), ops.add(start, have), start)
    return ops.minimum(ops.maximum(start, 0), have - size)


@composite()
def dynamic_slice(
    operand: ArrayLike, start_indices: ArrayLike, slice_sizes: Any, *, allow_negative_indices: Any = True
) -> Array:
    """A part of the operand of these sizes, at a start that may be traced and that differs between entries of `vmap`.

    Args:
        start_indices: an integer for every axis, or an array of them. Negative ones count from the end; a slice that
            would reach beyond the operand is moved to where it does not, as in JAX.
        slice_sizes: static integers.
        allow_negative_indices: False if negative starts mean 0; a bool, or one for every axis.

    Raises:
        ShapeError: not one start and size for each axis, or a size greater than its axis.
        DTypeError: a start is no integer.

    >>> fx.vmap(lambda i: fx.lax.dynamic_slice(fnp.arange(5.0), (i,), (2,)))(fnp.array([0, 2, 9]))
    array([[0., 1.],
           [2., 3.],
           [3., 4.]])
    """
    x = array(operand)
    starts = clamp_starts(start_indices, x.shape, slice_sizes, allow_negative_indices)
    return ops.dynamic_slice(x, *starts, sizes=tuple(slice_sizes))


@composite()
def dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, start_indices: ArrayLike, *, allow_negative_indices: Any = True
) -> Array:
    """The operand with a part replaced by `update`, whose place is determined as that of `dynamic_slice`.

    Args:
        operand: an array.
        update: an array with as many axes, converted to the operand's dtype; ShapeError for others.
        start_indices: an integer for every axis, which may be traced.
        allow_negative_indices: False if negative starts mean 0; a bool, or one for every axis.

    Raises:
        ShapeError: not one start for each axis, or an update with other axes or larger than the operand.
        DTypeError: a start is no integer.

    >>> fx.lax.dynamic_update_slice(fnp.zeros(4), fnp.array([1.0, 2.0]), (3,))
    array([0., 0., 1., 2.])
    """
    x = array(operand)
    u = cast(array(update), dtype_of(x))
    if u.ndim != x.ndim:
        raise ShapeError(
            f"an update of shape {u.shape} has not the axes of an operand of shape {x.shape}",
            hint=f"update.reshape({(1,) * (x.ndim - u.ndim) + u.shape})"
            if u.ndim < x.ndim
            else f"an update with {x.ndim} axes: update[0] has one fewer",
        )
    return ops.dynamic_update_slice(
        x, u, *clamp_starts(start_indices, x.shape, u.shape, allow_negative_indices)
    )


def starts_along(start: Any, axis: int, ndim: int) -> list[Any]:
    """Return the starts of a slice that is whole but for one axis."""
    return [start if i == axis else 0 for i in range(ndim)]


@composite()
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """A part of the operand along one `axis`, by `dynamic_slice`: `slice_size` entries from `start_index` on, which may
    be traced. `allow_negative_indices` is as there.

    >>> fx.lax.dynamic_slice_in_dim(fnp.arange(6.0), 4, 2)
    array([4., 5.])
    """
    x = array(operand)
    axis = normalize_axis(axis, x.ndim)
    sizes = [slice_size if i == axis else n for i, n in enumerate(x.shape)]
    starts = starts_along(start_index, axis, x.ndim)
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


@composite()
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One entry of the operand along one `axis`, at an `index` that may be traced; the axis is kept with length one or,
    without `keepdims`, dropped. `allow_negative_indices` is as of `dynamic_slice`.

    >>> fx.jit(lambda i: fx.lax.dynamic_index_in_dim(fnp.arange(5.0), i, keepdims=False))(3)
    np.float64(3.0)
    """
    x = array(operand)
    axis = normalize_axis(axis, x.ndim)
    y = dynamic_slice_in_dim(x, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return y if keepdims else ops.getitem(y, index=at_axis(0, axis))


@composite()
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """The operand with a part along one `axis` replaced by `update`, by `dynamic_update_slice`, from `start_index` on,
    which may be traced. `allow_negative_indices` is as of `dynamic_slice`.

    >>> fx.lax.dynamic_update_slice_in_dim(fnp.zeros(4), fnp.array([1.0, 2.0]), 1, 0)
    array([0., 1., 2., 0.])
    """
    x = array(operand)
    starts = starts_along(start_index, normalize_axis(axis, x.ndim), x.ndim)
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


@composite()
def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """The operand with one entry along one `axis` replaced by `update`, which may lack that axis, at an `index` that
    may be traced. `allow_negative_indices` is as of `dynamic_slice`.

    >>> fx.lax.dynamic_update_index_in_dim(fnp.zeros((2, 2)), fnp.array([1.0, 2.0]), 1, 0)
    array([[0., 0.],
           [1., 2.]])
    """
    x, u = array(operand), array(update)
    axis = normalize_axis(axis, x.ndim)
    if u.ndim != x.ndim:
        u = fnp.expand_dims(u, axis)
    return dynamic_update_slice_in_dim(x, u, index, axis, allow_negative_indices=allow_negative_indices)


__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "concatenate",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "expand_dims",
    "index_in_dim",
    "pad",
    "reshape",
    "rev",
    "slice",
    "slice_in_dim",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]
