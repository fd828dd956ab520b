"""Strides of Tensors, and orders of their entries in memory. Traced values have the strides that arrays would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.interpreter import CURRENT, within
from .memory import is_array
from .modes import with_modes
from .tensor import Tensor, current, make

if TYPE_CHECKING:
    from collections.abc import Sequence


class memory_format:
    """An order of the entries of a Tensor in memory.

    >>> import fxgrad.compat as torch
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


def layout(tensor: Tensor) -> np.ndarray:
    """An array with the shape and strides of the Tensor: its own, or one without content in place of traced values."""
    value = current(tensor).value
    if is_array(value):
        return value
    aspect = tensor.aspect
    if aspect is None or aspect.base is None:
        return np.empty(value.shape, value.dtype)
    with within(with_modes(CURRENT.get(), grad=False)):
        base = aspect.base.value
        return aspect.steps(make(tensor.tape, np.empty(base.shape, base.dtype))).value


def viewable(array: Any, shape: Sequence[int]) -> bool:
    """Whether there are strides that make an array one of this shape."""
    if not array.size:
        return True
    try:
        np.reshape(array, shape, copy=False)
    except ValueError:
        return False
    return True


def item_strides(array: Any) -> tuple[int, ...]:
    """torch's strides: counted in entries, and those of dimensions of length one and of empty arrays as if they were
    contiguous where NumPy's do not matter."""
    if not array.size:
        return standard_strides(array.shape)
    item = array.itemsize
    return tuple([s // item for s in array.strides])


def standard_strides(shape: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """The strides of the entries one after the other, the last dimension of `order` fastest."""
    result, step = [0] * len(shape), 1
    for d in reversed(range(len(shape)) if order is None else order):
        result[d] = step
        step *= max(shape[d], 1)
    return tuple(result)


def is_contiguous_in(array: Any, order: Sequence[int] | None = None) -> bool:
    """Whether the entries lie one after the other, the last dimension of `order` fastest."""
    if order is not None and len(order) != array.ndim:
        return False
    if not array.size:
        return True
    wanted = standard_strides(array.shape, order)
    return all(n == 1 or s == w for n, s, w in zip(array.shape, item_strides(array), wanted))


def arranged(array: np.ndarray, order: Sequence[int] | None) -> np.ndarray:
    """A copy whose entries lie one after the other, the last dimension of `order` fastest."""
    if order is None:
        return np.array(array, order="C")
    places = sorted(range(len(order)), key=order.__getitem__)
    return np.array(array.transpose(order), order="C").transpose(places)
