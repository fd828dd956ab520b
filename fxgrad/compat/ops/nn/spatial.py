"""Helpers of the operations on images (N, C, *spatial), or (C, *spatial) without a batch."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....core.aval import aval_of
from ..._core.errors import TensorError


def per_dimension(value, rank: int, name: str = "") -> tuple[int, ...]:
    """Return a number for each of `rank` dimensions, given one for all or a sequence."""
    if not isinstance(value, list | tuple):
        return (int(value),) * rank
    if len(value) == 1:
        return (int(value[0]),) * rank
    if len(value) != rank:
        raise TensorError(f"{name} must either be a single int, or a tuple of {rank} ints")
    return tuple(map(int, value))


def add_batch_axis(x, rank: int, operation: str) -> tuple[Any, bool]:
    """Return (x with a batch axis, whether it had one)."""
    aval = aval_of(x)
    if aval.ndim == rank + 2:
        return x, True
    if aval.ndim == rank + 1:
        return ops.reshape(x, shape=(1, *aval.shape)), False
    raise TensorError(
        f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {operation}, but got input of size: "
        f"{list(aval.shape)}"
    )


def remove_batch_axis(y, had: bool) -> Any:
    """Remove the axis that `add_batch_axis` has added."""
    return y if had else ops.reshape(y, shape=aval_of(y).shape[1:])
