"""Indexing primitives.

An index is a template with one entry for each axis (slices, integers, None for new axes), in which `ARRAY` marks the
places of integer arrays. These arrays are operands, so that they may be traced. `parse_index` makes both from whatever
NumPy accepts between brackets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core import arrays as arrays_module
from ..core.advice import fit_index
from ..core.arrays import as_value
from ..core.aval import SCALARS, Aval, aval_of, kind_of
from ..core.errors import ConcretizationError, IndexingError
from ..core.interpreter import Tracer, concretize
from ..kernels.memory import zeros
from ..kernels.selection import combine_at, find_nonzero, take_at
from .kinds import linear
from .masked import Masked, Support, ones_like
from .vocabulary import ops

ARRAY = Ellipsis


def parse_index(x: Any, key: Any) -> tuple[Any, list[Any], tuple]:
    """Parse x[key] into (x, index arrays, template); x gains an axis for every boolean scalar in the key."""
    entries: list[Any] = list(key) if isinstance(key, tuple) else [key]
    entries = [e if e is None or e is Ellipsis or isinstance(e, slice) else parse_entry(e) for e in entries]
    shape = aval_of(x).shape
    for i, e in enumerate(entries):  # x[True] is x[None][[0]], x[False] is x[None][[]]
        if type(e) is BooleanIndex:
            before = sum(1 for f in entries[:i] if f is not None and f is not Ellipsis)
            if Ellipsis in [f for f in entries[:i] if not hasattr(f, "shape")]:
                raise IndexingError(
                    "a boolean scalar after an ellipsis in an index is not supported",
                    hint="x[..., None] for True, x[..., None][..., :0] for False",
                )
            shape = (*shape[:before], 1, *shape[before:])
            entries[i] = np.zeros(1 if e.value else 0, np.intp)
    if shape != aval_of(x).shape:
        x = ops.reshape(x, shape=shape)
    flat: list[Any] = []
    for e in entries:
        if hasattr(e, "shape") and kind_of(e.dtype) == "b":
            flat.extend(
                mask_to_indices(e, shape, len([f for f in flat if f is not None and f is not Ellipsis]))
            )
        else:
            flat.append(e)
    used = sum(1 for e in flat if e is not None and e is not Ellipsis)
    if used > len(shape):
        raise IndexingError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed",
            hint=f"at most {len(shape)} of them; x[..., i] indexes the last axis, x[:, None] adds one",
        )
    dots = [i for i, e in enumerate(flat) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexingError(
            "an index can only have a single ellipsis ('...')",
            hint="one ..., and : for each axis that is taken whole",
        )
    at = dots[0] if dots else len(flat)
    flat[at : at + len(dots)] = [slice(None)] * (len(shape) - used)
    if any(hasattr(e, "shape") for e in flat):  # integers beside arrays take part in their broadcasting
        axes = iter(shape)
        sizes = [0 if e is None else next(axes) for e in flat]
        flat = [integer_array(e, n) if type(e) is int or is_number(e) else e for e, n in zip(flat, sizes)]
    arrays = [e for e in flat if hasattr(e, "shape")]
    return x, arrays, tuple(ARRAY if hasattr(e, "shape") else e for e in flat)


class BooleanIndex:
    """A boolean scalar used as an index."""

    __slots__ = ("value",)

    def __init__(self, value: bool):
        self.value = value


def parse_entry(e: Any) -> Any:
    """Convert an index entry to an int, a `BooleanIndex` or an integer or boolean array."""
    if isinstance(e, bool | np.bool_):
        return BooleanIndex(bool(e))
    if isinstance(e, int | np.integer) and not isinstance(e, Tracer):
        return int(e)
    array = np.asarray(e, dtype=np.intp) if isinstance(e, list | tuple) and not len(e) else as_value(e)
    aval = aval_of(array)
    if kind_of(aval.dtype) not in "iub":
        raise IndexingError(
            "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are "
            f"valid indices, not {aval.dtype}",
            hint="index.astype(int)",
        )
    if aval.ndim == 0 and kind_of(aval.dtype) == "b":
        return BooleanIndex(bool(concretize(array, "bool()")))
    return int(array) if type(array) is np.ndarray and aval.ndim == 0 else array


def is_number(entry: Any) -> bool:
    """Whether a traced entry stands for a number of Python's."""
    return isinstance(entry, Tracer) and entry.is_number


def integer_array(i: Any, size: int) -> Any:
    low, high = getattr(i, "bounds", (-size - 1, size))
    if (
        not -size <= low <= high < size and abs(2 * i + 1) > 2 * size
    ):  # one comparison: a decision where `i` is traced
        raise IndexingError(
            f"index {int(i)} is out of bounds for axis with size {size}", hint=fit_index(size)
        )
    return i if isinstance(i, Tracer) else np.asarray(i)


def mask_to_indices(mask: Any, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """Return the integer arrays that a boolean mask stands for."""
    try:
        mask = concretize(mask, "indexing")
    except ConcretizationError as error:
        raise IndexingError(
            "a boolean mask whose values are not known (staged or batched) has a result of unknown shape",
            hint="use fnp.where(mask, x, 0), or x.at[…] with integer indices",
        ) from error
    for i, (n, m) in enumerate(zip(mask.shape, shape[axis:])):
        if n != m:
            raise IndexingError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                f"{m} but size of corresponding boolean axis is {n}",
                hint=f"a mask of shape {shape[axis : axis + len(mask.shape)]}, made from x itself: x[x > 0]",
            )
    if len(mask.shape) > len(shape) - axis:
        raise IndexingError(
            "too many indices for array: the boolean mask has too many axes",
            hint=f"a mask of {len(shape) - axis} axes at most: mask.any(-1), say",
        )
    return find_nonzero(mask) if type(mask) is np.ndarray else mask.nonzero()


def fill_template(index: tuple, arrays: Any, xp: Any = np) -> tuple:
    """Put the arrays in their places in the template. The Array API wants the axes that are left over marked."""
    if not arrays:
        return index if xp is np or Ellipsis in index else (*index, ...)
    rest = iter(arrays)
    return tuple([xp.asarray(next(rest)) if e is ARRAY else e for e in index])


def getitem_shape(x: Aval, *arrays: Aval, index: tuple) -> tuple[int, ...]:
    """Return the shape that NumPy itself gives, on arrays without data."""
    stand_in = np.broadcast_to(np.zeros((), bool), x.shape)
    return stand_in[
        fill_template(index, [np.broadcast_to(np.zeros((), np.intp), a.shape) for a in arrays])
    ].shape


def array_axes_position(index: tuple, arrays: Any) -> tuple[int, int]:
    """Return (position, count) of the axes of the index arrays in the result, by NumPy's placement rule."""
    places = [i for i, e in enumerate(index) if e is ARRAY]
    count = max((aval_of(a).ndim for a in arrays), default=0)
    if not places:
        return 0, 0
    adjacent = places[-1] - places[0] == len(places) - 1
    return (places[0] - sum(1 for e in index[: places[0]] if type(e) is int) if adjacent else 0), count


def explicit_index(shape: tuple[int, ...], index: tuple, arrays: Any, size: int) -> tuple[list[Any], tuple]:
    """Return (index arrays, template) for batched index arrays: every axis is indexed by an array, each laid along its
    axes of the result (batch axis first), so that the result needs no rearrangement."""
    avals = [aval_of(a) for a in arrays]
    at, count = max((a.ndim - 1 for a in avals), default=0), 0
    position, _ = array_axes_position(index, [Aval(a.shape[1:], a.dtype) for a in avals])
    count = at
    rank = 1 + count + sum(1 for e in index if e is None or isinstance(e, slice))

    def lay_along(array: Any, axis: int) -> Any:
        """Lay the last axes of an array at `axis` of the result, with its batch axis, if any, first."""
        aval = aval_of(array)
        return ops.reshape(array, shape=(*aval.shape, *(1,) * (rank - axis - aval.ndim)))

    result, axes, rest, axis = [lay_along(np.arange(size), 0)], iter(shape), iter(arrays), 1
    seen = 0  # axes of the result passed so far that stem from slices and None
    for e in index:
        if e is None:
            seen += 1
            continue
        n = next(axes)
        if e is ARRAY:
            array = next(rest)
            own = aval_of(array).shape
            start = 1 + position + count - (len(own) - 1)
            result.append(
                ops.reshape(
                    array, shape=(size, *(1,) * (start - 1), *own[1:], *(1,) * (rank - start - len(own) + 1))
                )
            )
        else:
            axis = 1 + seen + (count if seen >= position else 0)
            entries = np.arange(*e.indices(n))
            result.append(entries.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1)))
            seen += 1
    return result, (ARRAY,) * len(result)


def batch_index(x_shape: tuple[int, ...], arrays: Any, index: tuple, size: int, indexed: bool) -> Any:
    """Return (arrays, template, axis): the index for an operand with a leading batch axis; `axis` is where the batch
    axis of the result (or of the updates) then lies."""
    if indexed:
        arrays, index = explicit_index(x_shape, index, arrays, size)
        return arrays, index, 0
    places = [i for i, e in enumerate(index) if e is ARRAY]
    split_up = places and places[-1] - places[0] != len(places) - 1
    return arrays, (slice(None), *index), array_axes_position(index, arrays)[1] if split_up else 0


def move_axis(x: Any, source: int, target: int) -> Any:
    if source == target:
        return x
    axes = [i for i in range(aval_of(x).ndim) if i != source]
    axes.insert(target, source)
    return ops.permute(x, axes=tuple(axes))


def getitem_transpose(ct: Any, x: Aval, *arrays: Any, index: tuple) -> Masked:
    value = scatter_add(ct, *arrays, index=index, shape=x.shape)

    def support() -> Any:
        return ops.not_equal(scatter_add(ones_like(ct, *arrays), *arrays, index=index, shape=x.shape), 0)

    return Masked(value, Support(support), True)


def getitem_batch(x: Any, *arrays: Any, size: int, index: tuple, indexed: bool = False) -> Any:
    arrays, index, axis = batch_index(aval_of(x).shape[1:], arrays, index, size, indexed)
    return move_axis(getitem(x, *arrays, index=index), axis, 0)


def getitem_kernel(xp: Any) -> Any:
    def getitem(x: Any, *arrays: Any, index: tuple) -> Any:
        at = fill_template(index, arrays, xp)
        if type(x) in SCALARS:
            x = np.asarray(x)
        return take_at(x, at) if arrays and xp is np else x[at]

    return getitem


def getitem_shared(x: Any, *arrays: Any, size: int, index: tuple) -> Any:
    """The axis of the batch is one more axis of the index arrays."""
    if ARRAY not in index:  # whatever the arrays are
        y = getitem(x, *arrays, index=index)
        return ops.broadcast_to(y, shape=(size, *aval_of(y).shape))
    shapes = [aval_of(a).shape for a in arrays]
    rank = max(map(len, shapes))
    arrays = tuple(
        [
            a if len(s) == rank else ops.reshape(a, shape=(s[0], *(1,) * (rank - len(s)), *s[1:]))
            for a, s in zip(arrays, shapes)
        ]
    )
    return move_axis(getitem(x, *arrays, index=index), array_axes_position(index, arrays)[0], 0)


getitem = linear(
    "getitem",
    getitem_kernel,
    shape_rule=getitem_shape,
    transpose_rule=getitem_transpose,
    batch_rule=getitem_batch,
    shared_rule=getitem_shared,
)


def scatter_add_kernel(xp: Any) -> Any:
    def scatter_add(u: Any, *arrays: Any, index: tuple, shape: tuple[int, ...]) -> Any:
        if arrays and xp is np:
            return combine_at("add", lambda: zeros(shape, u.dtype), fill_template(index, arrays), u)
        out = zeros(shape, u.dtype) if xp is np else xp.zeros(shape, dtype=u.dtype)
        if not arrays:
            out[index] = u
        else:
            xp.add.at(out, fill_template(index, arrays, xp), u)
        return out

    return scatter_add


def scatter_add_batch(
    u: Any, *arrays: Any, size: int, index: tuple, shape: tuple[int, ...], indexed: bool = False
) -> Any:
    arrays, index, axis = batch_index(shape, arrays, index, size, indexed)
    return scatter_add(move_axis(u, 0, axis), *arrays, index=index, shape=(size, *shape))


# Zeros of the given shape with `u` added at the index: the transpose of getitem.
scatter_add = linear(
    "scatter_add",
    scatter_add_kernel,
    shape_rule=lambda u, *arrays, index, shape: shape,
    transpose_rule=lambda ct, u, *arrays, index, shape: getitem(ct, *arrays, index=index),
    batch_rule=scatter_add_batch,
)


def update_kernel(xp: Any) -> Any:
    def update(x: Any, u: Any, *arrays: Any, index: tuple) -> Any:
        out = xp.array(x, copy=True) if hasattr(xp, "array") else xp.asarray(x, copy=True)
        at = fill_template(index, arrays, xp)
        out[at] = last_of_entry(xp, x, u, at) if arrays and arrays_module.has_devices(xp) else u
        return out

    return update


def last_of_entry(xp: Any, x: Any, u: Any, at: tuple) -> Any:
    """Return u with the last of several updates of one entry in place of all of them, since a device writes them in any
    order."""
    places = xp.reshape(xp.arange(math.prod(x.shape)), x.shape)[at]
    if 0 in places.shape:
        return u
    serial = xp.reshape(xp.arange(math.prod(places.shape)), places.shape)
    last = xp.zeros(math.prod(x.shape), dtype=xp.int64)
    xp.maximum.at(last, places, serial)
    return xp.take(xp.broadcast_to(u, places.shape), last[places])


def update_transpose(ct: Any, x: Aval, u: Aval, *arrays: Any, index: tuple) -> list[Any]:
    """Where several updates meet in one entry the last one wins, and gets the cotangent."""
    to_u = getitem(ct, *arrays, index=index)
    zero = ops.zeros_like(to_u)

    def support() -> Any:
        ones = ones_like(ct, *arrays)
        nothing = ops.zeros_like(getitem(ones, *arrays, index=index))
        return ops.not_equal(update(ones, nothing, *arrays, index=index), 0)

    to_x = Masked(update(ct, zero, *arrays, index=index), Support(support), True)
    if arrays:
        to_u = Masked(to_u, last_update_mask(x, u, arrays, index))
    return [to_x, to_u]


def last_update_mask(x: Aval, u: Aval, arrays: Any, index: tuple) -> Any:
    """Return the mask of the updates that no later one overwrites. It broadcasts to them, since it is the same for all
    places along the axes that no array indexes."""
    axes = iter(x.shape)
    sizes = [0 if e is None else next(axes) for e in index]
    shape = np.broadcast_shapes(*[aval_of(a).shape for a in arrays])
    serial = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    places = (ARRAY,) * len(arrays)
    table = np.zeros([n for n, e in zip(sizes, index) if e is ARRAY], np.intp)
    winners = update(table, serial, *arrays, index=places)
    position, count = array_axes_position(index, arrays)
    return ops.reshape(
        ops.equal(getitem(winners, *arrays, index=places), serial),
        shape=(*(1,) * position, *shape, *(1,) * (u.ndim - position - count)),
    )


def update_batch(x: Any, u: Any, *arrays: Any, size: int, index: tuple, indexed: bool = False) -> Any:
    arrays, index, axis = batch_index(aval_of(x).shape[1:], arrays, index, size, indexed)
    return update(x, move_axis(u, 0, axis), *arrays, index=index)


# x with the entries at the index replaced by u, which has exactly the shape of x[index].
update = linear(
    "update",
    update_kernel,
    count=2,
    shape_rule=lambda x, u, *arrays, index: x.shape,
    transpose_rule=update_transpose,
    batch_rule=update_batch,
)


def take_along_index(positions: Any, axis: int) -> tuple[list[Any], tuple]:
    """Return (index arrays, template) for positions along one axis, with the other axes matched entry by entry."""
    shape = aval_of(positions).shape
    arrays = [
        positions if i == axis else np.arange(n).reshape((-1,) + (1,) * (len(shape) - i - 1))
        for i, n in enumerate(shape)
    ]
    return arrays, (ARRAY,) * len(shape)


def take_along(x: Any, positions: Any, axis: int) -> Any:
    """Take x[…, positions, …] along one axis, with the other axes matched entry by entry."""
    arrays, index = take_along_index(positions, axis)
    return getitem(x, *arrays, index=index)
