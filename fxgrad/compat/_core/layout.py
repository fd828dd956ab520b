"""Strides and memory orders of Tensors. Traced values have the strides that arrays would have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, BatchTracer, PrimalTracer, use_context
from .bits import memory_array
from .memory import copy_array, is_array, strides_only
from .modes import with_modes
from .tensor import Tensor, make_tensor, refresh


class memory_format:
    """An order in which the entries of a Tensor lie in memory.

    Args:
        name: the name.
        order: the dimensions by decreasing stride; None: as they come.

    >>> torch.zeros(1, 2, 3, 5).contiguous(memory_format=torch.channels_last).stride()
    (30, 1, 10, 2)
    """

    def __init__(self, name: str, order: tuple[int, ...] | None = None):
        self.name, self.order = name, order  # the dimensions by decreasing stride; None: as they come

    def __repr__(self) -> str:
        return f"torch.{self.name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))
FORMATS = (contiguous_format, preserve_format, channels_last, channels_last_3d)


def layout_array(tensor: Tensor) -> np.ndarray:
    """Return an array with the shape and strides of the Tensor: its own, or one in place of traced values whose content
    means nothing. Results of what is computed of batches are taken to be contiguous."""
    value, meta = refresh(tensor)._fx_value, tensor._fx_view_meta
    base = tensor if meta is None or meta.base is None else meta.base
    if is_array(value) and base._fx_memory_layout is None:
        return value if meta is None else memory_array(tensor)
    here = contained_array(base._fx_value) if base._fx_memory_layout is None else base._fx_memory_layout()
    if here is None or here.shape != base._fx_value.shape:
        here = np.empty(base._fx_value.shape, base._fx_value.dtype)
    if meta is None or base is tensor:
        return here
    with use_context(with_modes(CURRENT.get(), grad=False)):
        found = memory_array(meta.chain(make_tensor(tensor._fx_tape, here)))
    return found if is_array(found) else np.empty(value.shape, value.dtype)  # traced: at traced positions


def entry_layout(tensor: Tensor, dim: int | None) -> np.ndarray | None:
    """Return what `layout_array` gives for the first entry along a dimension; for the whole where that is None."""
    here = layout_array(tensor)
    if dim is None:
        return here
    return here[(*(slice(None),) * dim, 0, ...)] if here.shape[dim] else None


def contained_array(value) -> np.ndarray | None:
    """Return the array in which a traced value is computed, with all batch axes; None where nothing is computed."""
    while not is_array(value):
        if isinstance(value, PrimalTracer):
            value = value.primal
        elif isinstance(value, BatchTracer):
            value = value.value
        else:
            return None
    return value


def first_entry(value) -> np.ndarray | None:
    """Return the part of `contained_array` that is one entry of all batches; None if there is none."""
    array, levels = contained_array(value), batch_levels(value)
    return None if array is None or 0 in array.shape[: len(levels)] else array[(*(0,) * len(levels), ...)]


def batch_levels(value) -> list[Any]:
    """The levels that batch a traced value, the innermost first."""
    found = []
    while isinstance(value, PrimalTracer | BatchTracer):
        if isinstance(value, BatchTracer):
            found.append(value.interpreter)
            value = value.value
        else:
            value = value.primal
    return found


def can_view_as(array, shape: Sequence[int]) -> bool:
    """Whether an array can be viewed in this shape."""
    if not array.size:
        return True
    try:
        np.reshape(array if type(array) is np.ndarray else strides_only(array), shape, copy=False)
    except ValueError:
        return False
    return True


def element_strides(array) -> tuple[int, ...]:
    """torch's strides: counted in entries; dimensions of length one and empty arrays, where NumPy's strides do not
    matter, have those of contiguous ones."""
    if not array.size:
        return contiguous_strides(array.shape)
    item = array.itemsize
    return tuple([s // item for s in array.strides])


def contiguous_strides(shape: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """The strides of contiguous entries, with the last dimension of `order` fastest."""
    result, step = [0] * len(shape), 1
    for d in reversed(range(len(shape)) if order is None else order):
        result[d] = step
        step *= max(shape[d], 1)
    return tuple(result)


def is_contiguous_in(array, order: Sequence[int] | None = None) -> bool:
    """Whether the entries are contiguous in memory, with the last dimension of `order` fastest."""
    if order is not None and len(order) != array.ndim:
        return False
    if not array.size or (order is None and array.flags.c_contiguous):
        return True
    wanted = contiguous_strides(array.shape, order)
    return all(n == 1 or s == w for n, s, w in zip(array.shape, element_strides(array), wanted))


def order_of(strides: Sequence[int]) -> tuple[int, ...]:
    """The dimensions by decreasing stride."""
    return tuple(sorted(range(len(strides)), key=lambda d: -abs(strides[d])))


def memory_order(array) -> tuple[int, ...] | None:
    """The dimensions of an array by decreasing stride; None if it is row-major. Where an entry is repeated, the
    dimension stays where it is."""
    if array.flags.c_contiguous:
        return None
    strides = list(array.strides)
    for d in reversed(range(len(strides) - 1)):
        strides[d] = strides[d] or strides[d + 1]
    order = order_of(strides)
    return None if order == tuple(range(len(order))) else order


def copy_in_order(array: np.ndarray, order: Sequence[int] | None) -> np.ndarray:
    """Copy an array so that its entries are contiguous, with the last dimension of `order` fastest."""
    if order is None:
        return copy_array(array)
    return copy_array(array.transpose(order)).transpose(inverse_order(order))


def inverse_order(order: Sequence[int]) -> list[int]:
    """The places of the dimensions in an order of them."""
    return sorted(range(len(order)), key=order.__getitem__)
