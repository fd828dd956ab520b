"""Dynamic slices: their sizes are fixed, and their starts may be traced. Callers clamp the starts to the bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.arrays import has_devices
from ..core.aval import Aval, aval_of
from .indexing import ARRAY, getitem, update
from .kinds import linear
from .masked import Masked, Support, ones_like
from .vocabulary import ops


def window_slices(starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple([slice(int(start), int(start) + n) for start, n in zip(starts, sizes)])


def window_indices(starts: Sequence[Any], sizes: Sequence[int], size: int) -> list[Any]:
    """Return the index arrays of a window for every batch entry, with the batch axis first."""
    rank = len(sizes)
    arrays = [np.arange(size).reshape((size,) + (1,) * rank)]
    for i, (start, n) in enumerate(zip(starts, sizes)):
        steps = np.arange(n).reshape((n,) + (1,) * (rank - i - 1))
        arrays.append(ops.add(ops.reshape(start, shape=(size,) + (1,) * rank), steps))
    return arrays


def zeros_of_shape(like: Any, shape: tuple[int, ...]) -> Any:
    """Return zeros of another shape, in the dtype and array library of `like`."""
    total = ops.reduce_sum(like, axes=tuple(range(aval_of(like).ndim)))
    return ops.broadcast_to(ops.zeros_like(total), shape=shape)


def window_positions(xp: Any, starts: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """Return index arrays of a window whose starts are on a device, where the host does not look at them."""
    rank = len(sizes)
    return tuple(
        start + xp.reshape(xp.arange(n), (n,) + (1,) * (rank - i - 1))
        for i, (start, n) in enumerate(zip(starts, sizes))
    )


def window_index(xp: Any, starts: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, ...]:
    """Return an index of a window: slices, unless its starts are on a device."""
    is_known = not has_devices(xp) or all(type(start) is int for start in starts)
    return window_slices(starts, sizes) if is_known else window_positions(xp, starts, sizes)


def dynamic_slice_kernel(xp: Any) -> Callable:
    if xp is np:
        return lambda x, *starts, sizes: x[window_slices(starts, sizes)]
    return lambda x, *starts, sizes: x[window_index(xp, starts, sizes)]


def dynamic_slice_transpose(ct: Any, x: Aval, *starts: Any, sizes: tuple[int, ...]) -> Masked:
    def support() -> Any:
        ones = ones_like(ct, *starts)
        return ops.not_equal(dynamic_update_slice(zeros_of_shape(ones, x.shape), ones, *starts), 0)

    return Masked(dynamic_update_slice(zeros_of_shape(ct, x.shape), ct, *starts), Support(support), True)


def dynamic_slice_batch(
    x: Any, *starts: Any, size: int, sizes: tuple[int, ...], indexed: bool = False
) -> Any:
    if indexed:
        return getitem(x, *window_indices(starts, sizes, size), index=(ARRAY,) * (len(sizes) + 1))
    return dynamic_slice(x, 0, *starts, sizes=(size, *sizes))


# x[start : start + n, …] for a start and a size n of every axis.
dynamic_slice = linear(
    "dynamic_slice",
    dynamic_slice_kernel,
    shape_rule=lambda x, *starts, sizes: sizes,
    transpose_rule=dynamic_slice_transpose,
    batch_rule=dynamic_slice_batch,
)


def dynamic_update_kernel(xp: Any) -> Callable:
    def dynamic_update_slice(x: Any, u: Any, *starts: Any) -> Any:
        out = xp.asarray(x, copy=True)
        out[window_index(xp, starts, u.shape)] = u
        return out

    return dynamic_update_slice


def dynamic_update_transpose(ct: Any, x: Aval, u: Aval, *starts: Any) -> list[Any]:
    nothing = zeros_of_shape(ct, u.shape)

    def support() -> Any:
        ones = ones_like(ct, *starts)
        return ops.not_equal(dynamic_update_slice(ones, zeros_of_shape(ones, u.shape), *starts), 0)

    kept = dynamic_update_slice(ct, nothing, *starts)
    return [Masked(kept, Support(support), True), dynamic_slice(ct, *starts, sizes=u.shape)]


def dynamic_update_batch(x: Any, u: Any, *starts: Any, size: int, indexed: bool = False) -> Any:
    if indexed:
        arrays = window_indices(starts, aval_of(u).shape[1:], size)
        return update(x, u, *arrays, index=(ARRAY,) * len(arrays))
    return dynamic_update_slice(x, u, 0, *starts)


# x with the window at the starts replaced by u.
dynamic_update_slice = linear(
    "dynamic_update_slice",
    dynamic_update_kernel,
    count=2,
    shape_rule=lambda x, u, *starts: x.shape,
    transpose_rule=dynamic_update_transpose,
    batch_rule=dynamic_update_batch,
)
