"""Slices whose place is a value: fixed sizes at starts that may be traced. The starts are within bounds: who makes
them brings them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval, aval_of
from .indexing import ARRAY, getitem, update
from .kinds import linear
from .masked import Masked, Support
from .vocabulary import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def window(starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple([slice(int(start), int(start) + n) for start, n in zip(starts, sizes)])


def windows(starts: Sequence[Any], sizes: Sequence[int], size: int) -> list[Any]:
    """The index arrays of a window for every batch entry, the batch axis first."""
    rank = len(sizes)
    arrays = [np.arange(size).reshape((size,) + (1,) * rank)]
    for i, (start, n) in enumerate(zip(starts, sizes)):
        steps = np.arange(n).reshape((n,) + (1,) * (rank - i - 1))
        arrays.append(ops.add(ops.reshape(start, shape=(size,) + (1,) * rank), steps))
    return arrays


def zeros(like: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of another shape, in dtype and array library of an array."""
    total = ops.reduce_sum(like, axes=tuple(range(aval_of(like).ndim)))
    return ops.broadcast_to(ops.zeros_like(total), shape=shape)


def slice_kernel(xp: Any) -> Callable:
    return lambda x, *starts, sizes: x[window(starts, sizes)]


def slice_transposed(ct: Any, x: Aval, *starts: Any, sizes: tuple[int, ...]) -> Masked:
    def support() -> Any:
        ones = ops.full_like(ct, value=1)
        return ops.not_equal(dynamic_update_slice(zeros(ct, x.shape), ones, *starts), 0)

    return Masked(dynamic_update_slice(zeros(ct, x.shape), ct, *starts), Support(support), True)


def slice_batched(x: Any, *starts: Any, size: int, sizes: tuple[int, ...], indexed: bool = False) -> Any:
    if indexed:
        return getitem(x, *windows(starts, sizes, size), index=(ARRAY,) * (len(sizes) + 1))
    return dynamic_slice(x, 0, *starts, sizes=(size, *sizes))


# x[start : start + n, …] for a start and a size n of every axis.
dynamic_slice = linear(
    "dynamic_slice",
    slice_kernel,
    shape=lambda x, *starts, sizes: sizes,
    transposed=slice_transposed,
    batched=slice_batched,
)


def update_kernel(xp: Any) -> Callable:
    def dynamic_update_slice(x: Any, u: Any, *starts: Any) -> Any:
        out = xp.asarray(x, copy=True)
        out[window(starts, u.shape)] = u
        return out

    return dynamic_update_slice


def update_transposed(ct: Any, x: Aval, u: Aval, *starts: Any) -> list[Any]:
    nothing = zeros(ct, u.shape)

    def support() -> Any:
        return ops.not_equal(dynamic_update_slice(ops.full_like(ct, value=1), nothing, *starts), 0)

    kept = dynamic_update_slice(ct, nothing, *starts)
    return [Masked(kept, Support(support), True), dynamic_slice(ct, *starts, sizes=u.shape)]


def update_batched(x: Any, u: Any, *starts: Any, size: int, indexed: bool = False) -> Any:
    if indexed:
        arrays = windows(starts, aval_of(u).shape[1:], size)
        return update(x, u, *arrays, index=(ARRAY,) * len(arrays))
    return dynamic_update_slice(x, u, 0, *starts)


# x with the window at the starts replaced by u.
dynamic_update_slice = linear(
    "dynamic_update_slice",
    update_kernel,
    count=2,
    shape=lambda x, u, *starts: x.shape,
    transposed=update_transposed,
    batched=update_batched,
)
