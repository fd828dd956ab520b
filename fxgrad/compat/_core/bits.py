"""The conjugate bit and the negative bit of a view: reads and writes of its entries apply them.

NumPy has no such arrays. A Tensor with a bit set therefore holds a separate read-only array, with the strides of the
memory. It is recomputed from the memory whenever the Tensor is used (`views.LazyMeta`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...extend import use_device_of
from .memory import copy_with_strides, is_array, write_array

if TYPE_CHECKING:
    from .tensor import Tensor

CONJ, NEG = 1, 2


def apply_bits(array, bits: int) -> Any:
    """Compute the conjugates or negatives for which the bits stand. Either is its own inverse."""
    with use_device_of([array], "conj"):
        if bits & CONJ:
            array = np.conjugate(array)
        if bits & NEG:
            array = np.negative(array)
    return np.asarray(array) if isinstance(array, np.generic) else array


def read_with_bits(memory, bits: int) -> Any:
    """Return the entries that an array in memory has with these bits, as a read-only array of the same strides."""
    value = apply_bits(memory, bits)
    if is_array(value):
        value = copy_with_strides(value, memory.strides) if value.strides != memory.strides else value
        if type(value) is np.ndarray:
            value.flags.writeable = False
    return value


def has_bit(tensor: Tensor, bit: int = CONJ | NEG) -> bool:
    """Whether the entries of a Tensor are read as conjugates, or as negatives, of those in memory."""
    meta = tensor._fx_view_meta
    return meta is not None and bool(meta.bits & bit)


def memory_array(tensor: Tensor) -> Any:
    """The array in whose memory the entries of a Tensor are; its value where that is traced."""
    value, meta = tensor._fx_value, tensor._fx_view_meta
    return value if meta is None or not meta.bits or meta.memory is None else meta.memory


def write_memory(tensor: Tensor, value) -> None:
    """Write these entries into the memory of a Tensor, as its bits require."""
    memory = memory_array(tensor)
    write_array(memory, apply_bits(value, tensor._fx_view_meta.bits) if has_bit(tensor) else value)
