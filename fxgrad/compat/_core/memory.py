"""The shared memory of Tensors: the count, the time and the place of its in-place modifications.

Nodes and modifications take serial numbers from the same series, so the saved value of a node was modified if its
memory has a later number. Recording a node stores nothing here, and backward looks here only if there was any
modification after the node.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ...extend import (
    CPU,
    Tracer,
    device_of,
    devices,
    is_on_cuda,
    namespace_of,
    ops,
    use_device_of,
)
from ..errors import TensorError
from .dtypes import type_name
from .tape import AccumulateGrad, Node, next_serial, node_and_index

MAX_CHANGES = 64  # modifications of one memory, of which order and line are known


class VersionCounter:
    """The version counter of one memory: `version` counts its modifications, and `changes` are the last of them (order,
    operation, location). The counters in `linked` count on with it: those of Tensors that had another memory before."""

    __slots__ = ("changes", "linked", "owner_ref", "version")

    def __init__(self) -> None:
        self.version = 0
        self.linked: tuple[VersionCounter, ...] = ()
        self.changes: deque[tuple[int, str, Any]] = deque(maxlen=MAX_CHANGES)
        self.owner_ref: Any = None

    def version_at(self, order: int) -> int:
        """The version of the memory when the node of that serial number was recorded."""
        return self.version - sum(change[0] > order for change in self.changes)

    def change_after(self, order: int) -> tuple[int, str, Any] | None:
        """The first remembered modification after that serial number."""
        return next((change for change in self.changes if change[0] > order), None)


def memory_owner(value) -> Any:
    """The array that owns the memory of an array."""
    base: Any = getattr(value, "base", None)
    while type(base) is type(value):
        value, base = base, base.base
    return value


def memory_root(value) -> Any:
    """The array that owns the memory of an array, also of an alias with a version counter of its own."""
    owner = memory_owner(value)
    behind = getattr(owner, "base", None)
    return memory_root(behind.array) if type(behind) is Span else owner


def shares_memory(a, b) -> bool:
    """Whether the memory of an array belongs to the owner of another's; `b` may be a traced value, which has none."""
    base = a.base
    if base is not None and (base is b or base is getattr(b, "base", None)):
        return True
    return memory_owner(a) is memory_owner(b)


class VersionCounters:
    """The version counters of all memories that were modified; each goes with its owner. `latest_change` is the serial
    number of the last modification."""

    __slots__ = ("found", "latest_change")

    def __init__(self) -> None:
        self.found: dict[int, VersionCounter] = {}
        self.latest_change = 0

    def find(self, value) -> VersionCounter | None:
        """Return the counter of an array's memory, or None if it was never modified."""
        return self.found.get(id(memory_owner(value))) if self.found else None

    def of(self, value) -> VersionCounter:
        """Return the counter of an array's memory, creating it if necessary."""
        owner = memory_owner(value)
        key = id(owner)
        memory = self.found.get(key)
        if memory is None:
            memory = self.found[key] = VersionCounter()
            memory.owner_ref = weakref.ref(
                owner, partial(self.found.pop, key)
            )  # no Python code: Ctrl-C cannot stop it
        return memory

    def record_change(self, value, operation: str, site) -> None:
        """Count a modification."""
        memory = self.found.get(id(value)) if value.base is None else None
        if memory is None:
            memory = self.of(value)
        memory.version += 1
        for other in memory.linked:
            other.version += 1
        self.latest_change = order = next_serial()
        memory.changes.append((order, operation, site))

    def version(self, value) -> int:
        """How often the memory of an array was modified."""
        memory = self.find(value)
        return 0 if memory is None else memory.version


VERSIONS = VersionCounters()


def is_array(value) -> bool:
    """Whether a value has memory: arrays do, traced values do not."""
    return type(value) is np.ndarray or is_on_cuda(value)


def is_writable(array) -> bool:
    """Whether an array may be written into: all on a device may."""
    return type(array) is not np.ndarray or array.flags.writeable


def copy_array(value, order: Any = "C") -> Any:
    """Return a copy of an array, on its device."""
    if type(value) is np.ndarray:
        return ops.copy(value, order)
    with use_device_of([value], "copy"):
        return value.copy(order=order)


def write_array(memory, value) -> None:
    """Write a number or an array, which may be on another device, into an array."""
    if type(memory) is np.ndarray:
        is_here = type(value) is np.ndarray or not is_on_cuda(value)
        memory[...] = value if is_here else devices.put_array(value, CPU)
        return
    if type(value) is np.ndarray:
        value = devices.put_array(value, device_of(memory) or CPU) if value.ndim else value[()]
    with use_device_of([memory], "copy_"):
        memory[...] = value


def array_library(value) -> Any:
    """Return the library of an array; NumPy for other values."""
    return namespace_of(value) or np


def strides_only(array) -> np.ndarray:
    """Return a NumPy array with the shape and strides of one on a device. Its entries are nowhere: it is asked how
    views of it lie in memory, and never read."""
    return np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)


def ensure_unmodified(value, order: int, edge=None, node: Node | None = None) -> None:
    """Raise if an array, or an array inside a traced value, was modified in place after that serial number. `edge` says
    what made it (see `Node.next_edges`), `node` which node saved it, if any."""
    if isinstance(value, Tracer):
        for part in value.contents():
            ensure_unmodified(part, order, edge, node)
        return
    memory = VERSIONS.find(value) if is_array(value) else None
    change = None if memory is None else memory.change_after(order)
    if memory is None or change is None:
        return
    source = ""
    if edge is not None and type(edge) is not AccumulateGrad:
        maker, index = node_and_index(edge)
        source = f", which is output {index} of {maker.name().rpartition('Backward')[0]},"
    saved = "" if node is None else f"  saved for {node.name()} at {node.site.describe()}\n"
    raise TensorError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name(value.dtype)} {list(value.shape)}]{source} is at version {memory.version}; expected version "
        f"{memory.version_at(order)} instead.\n{saved}  modified by {change[1]} at {change[2].describe()}",
        hint="clone() what is to be modified, or modify it before it is used",
    )


def has_overlap(array) -> bool:
    """Whether several entries of an array share a place in memory."""
    if array.flags.forc or not array.size:
        return False
    axes = sorted([(abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1])
    reach = array.itemsize  # of the entries along the axes before
    for stride, n in axes:
        if not stride:
            return True
        if stride < reach:
            places = reduce(np.add.outer, [np.arange(n) * stride for stride, n in axes]).reshape(-1)
            places.sort()
            return bool((np.diff(places) < array.itemsize).any())
        reach += stride * (n - 1)
    return False


def ensure_no_overlap(array) -> None:
    """Raise if entries of an array that is to be written into share a place in memory."""
    if has_overlap(array):
        raise TensorError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
            hint="x = x.expand(…).clone(), whose entries are each in a place of its own",
        )


def is_same_view(a, b) -> bool:
    """Whether two arrays are the same entries of the same memory."""
    return a.shape == b.shape and (
        not a.size or (memory_address(a) == memory_address(b) and a.strides == b.strides)
    )


def memory_address(array) -> int:
    """The address of the first entry of an array."""
    return array.__array_interface__["data"][0] if type(array) is np.ndarray else array.data.ptr


def strided_view(
    array: np.ndarray, shape: Sequence[int], strides: Sequence[int], start: int, dtype=None
) -> np.ndarray:
    """Return the array of these strides in the memory of another, from `start` on, all in bytes. Raise ValueError if
    the memory is too small. It may have been known by another dtype than the one wanted."""
    owner = memory_owner(array)
    if not owner.flags.c_contiguous:
        owner = owner.transpose(sorted(range(owner.ndim), key=owner.strides.__getitem__, reverse=True))
    if type(owner) is not np.ndarray:
        return device_view(
            owner, tuple(shape), tuple(strides), start, array.dtype if dtype is None else np.dtype(dtype)
        )
    if owner.dtype.kind == "V":  # of a dtype that cannot be exported
        owner = owner.reshape(-1).view(np.uint8)
    return np.ndarray(tuple(shape), array.dtype if dtype is None else dtype, owner, start, tuple(strides))


def device_view(owner, shape: tuple[int, ...], strides: tuple[int, ...], start: int, dtype) -> Any:
    """Do so in the memory of a device, all of which belongs to `owner`."""
    data = owner.reshape(-1).view(np.uint8)
    reaches = [s * (n - 1) for s, n in zip(strides, shape)]
    last = start + sum([r for r in reaches if r > 0]) + dtype.itemsize
    if 0 not in shape and (start + sum([r for r in reaches if r < 0]) < 0 or last > data.size):
        raise ValueError("strides is incompatible with shape of requested array and size of buffer")
    if 0 in shape:
        return data[:0].view(dtype).reshape(shape)
    count = (data.size - start) // dtype.itemsize
    rest = data[start : start + count * dtype.itemsize].view(dtype)
    return array_library(owner).lib.stride_tricks.as_strided(rest, shape, strides)


def restride(x: np.ndarray, shape: Sequence[int], strides: Sequence[int], shift: int = 0) -> np.ndarray:
    """Return the array of these strides whose first entry is `shift` behind that of x, all in bytes. One without
    entries is in the memory of x as well."""
    shift = 0 if 0 in shape else shift
    if x.size and shift >= 0 and x.flags.c_contiguous and x.dtype.kind != "V" and type(x) is np.ndarray:
        try:
            return np.ndarray(tuple(shape), x.dtype, x, shift, tuple(strides))
        except ValueError:  # they lead out of x, though perhaps not out of what it is a view of
            pass
    start = memory_address(x) - memory_address(memory_owner(x))
    return strided_view(x, shape, strides, start + shift)


def copy_with_strides(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Copy an array into memory of its own, with these strides, in bytes."""
    made = copy_array(array)
    if made.strides != strides and made.size:
        reaches = [s * (n - 1) for s, n in zip(strides, array.shape)]
        start = -sum([r for r in reaches if r < 0])
        with use_device_of([array], "copy"):
            memory = array_library(array).zeros(sum(map(abs, reaches)) + array.itemsize, np.uint8)
            made = strided_view(memory, array.shape, strides, start, array.dtype)
            made[...] = array
    return made


def alias_memory(array: np.ndarray) -> np.ndarray:
    """Return an array in the same memory that has a version counter of its own."""
    if type(array) is not np.ndarray:
        return alias_device_memory(array)
    if not array.size:
        return np.empty_like(array)
    low, high = np.lib.array_utils.byte_bounds(array)
    span = np.asarray(Span(array, low, high - low))
    return np.ndarray(array.shape, array.dtype, span, memory_address(array) - low, array.strides)


def alias_device_memory(array) -> Any:
    """Do so for an array on a device, by a pointer of its own into that memory."""
    return array_library(array).ndarray(array.shape, array.dtype, array.data, array.strides)


class Span:
    """The bytes between two addresses, which belong to an array."""

    def __init__(self, array: np.ndarray, start: int, size: int):
        behind = memory_owner(array).base
        self.array = behind.array if type(behind) is Span else array  # no chain of aliases of aliases
        self.__array_interface__ = {
            "data": (start, not array.flags.writeable),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }
