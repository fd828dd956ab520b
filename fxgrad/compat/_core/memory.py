"""Memory that Tensors share: how often it was modified in place, when, and by what.

A node remembers its serial number, and modifications take theirs from the same series; so what a node kept was
modified since if its memory has a later number. Nothing is written down while a node is recorded: backward looks
here only if there was any modification after it.
"""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.interpreter import Tracer
from .dtypes import type_name
from .errors import TensorError
from .tape import AccumulateGrad, as_edge, serial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tape import Node

REMEMBERED = 64  # modifications of one memory, of which order and line are known


class Memory:
    """The modifications of one memory: `version` counts them; `changes` are the last (order, operation, site). The
    counts in `also` go on with it: those of Tensors that had another memory before."""

    __slots__ = ("also", "changes", "keeper", "version")

    def __init__(self) -> None:
        self.version = 0
        self.also: tuple[Memory, ...] = ()
        self.changes: deque[tuple[int, str, Any]] = deque(maxlen=REMEMBERED)
        self.keeper: Any = None

    def version_at(self, order: int) -> int:
        """The version when the node of that serial number was recorded."""
        return self.version - sum(change[0] > order for change in self.changes)

    def change_after(self, order: int) -> tuple[int, str, Any] | None:
        """The first remembered modification after that."""
        return next((change for change in self.changes if change[0] > order), None)


def root(value: Any) -> Any:
    """The array that owns the memory of an array."""
    base: Any = getattr(value, "base", None)
    while type(base) is type(value):
        value, base = base, base.base
    return value


class Memories:
    """The Memory of every owner that was modified; it goes with its owner. `latest` is the last serial number."""

    __slots__ = ("found", "latest")

    def __init__(self) -> None:
        self.found: dict[int, Memory] = {}
        self.latest = 0

    def get(self, value: Any) -> Memory | None:
        """The Memory of an array, or None if it was never modified."""
        return self.found.get(id(root(value))) if self.found else None

    def of(self, value: Any) -> Memory:
        """The Memory of an array."""
        owner = root(value)
        key = id(owner)
        memory = self.found.get(key)
        if memory is None:
            memory = self.found[key] = Memory()
            memory.keeper = weakref.ref(
                owner, partial(self.found.pop, key)
            )  # no Python code: Ctrl-C cannot stop it
        return memory

    def modified(self, value: Any, operation: str, site: Any) -> None:
        """Count a modification."""
        memory = self.of(value)
        memory.version += 1
        for other in memory.also:
            other.version += 1
        self.latest = order = serial()
        memory.changes.append((order, operation, site))

    def version(self, value: Any) -> int:
        """How often the memory of an array was modified."""
        memory = self.get(value)
        return 0 if memory is None else memory.version


MEMORIES = Memories()


def is_array(value: Any) -> bool:
    """Whether a value has memory of its own kind: arrays, not traced values."""
    return type(value) is np.ndarray or hasattr(value, "__cuda_array_interface__")


def ensure_unmodified(value: Any, order: int, parent: Any = None, node: Node | None = None) -> None:
    """Raise if an array, or one of which a traced value is made, was modified in place after that serial number.
    `parent` is what made it (see `Node.parents`), `node` what has kept it, if it is one."""
    if isinstance(value, Tracer):
        for part in value.contents():
            ensure_unmodified(part, order, parent, node)
        return
    memory = MEMORIES.get(value) if is_array(value) else None
    change = None if memory is None else memory.change_after(order)
    if memory is None or change is None:
        return
    source = ""
    if parent is not None and type(parent) is not AccumulateGrad:
        maker, index = as_edge(parent)
        source = f", which is output {index} of {maker.name().partition('Backward')[0]},"
    saved = "" if node is None else f"  saved for {node.name()} at {node.site.describe()}\n"
    raise TensorError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name(value.dtype)} {list(value.shape)}]{source} is at version {memory.version}; expected version "
        f"{memory.version_at(order)} instead.\n{saved}  modified by {change[1]} at {change[2].describe()}",
        hint="clone() what is to be modified, or modify it before it is used",
    )


def overlapping(array: Any) -> bool:
    """Whether several entries have a place in memory in common."""
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


def ensure_separate(array: Any) -> None:
    """Raise unless every entry of an array that is to be written into has a place of its own."""
    if overlapping(array):
        raise TensorError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def same_place(a: Any, b: Any) -> bool:
    """Whether two arrays are the same entries of one memory."""
    return a.shape == b.shape and (not a.size or (address(a) == address(b) and a.strides == b.strides))


def address(array: Any) -> int:
    """Where the first entry of an array is."""
    return array.__array_interface__["data"][0] if type(array) is np.ndarray else array.data.ptr


def strided(
    array: np.ndarray, shape: Sequence[int], strides: Sequence[int], start: int, dtype: Any = None
) -> np.ndarray:
    """The array of these strides in the memory of another, from `start` on; in bytes. ValueError if it has too few.
    The memory may be known by another dtype than the one wanted."""
    owner = root(array)
    if not owner.flags.c_contiguous:
        owner = owner.transpose(sorted(range(owner.ndim), key=owner.strides.__getitem__, reverse=True))
    if owner.dtype.kind == "V":  # of a dtype that cannot be exported
        owner = owner.reshape(-1).view(np.uint8)
    return np.ndarray(tuple(shape), array.dtype if dtype is None else dtype, owner, start, tuple(strides))


def alias(array: np.ndarray) -> np.ndarray:
    """The same memory with a count of modifications of its own."""
    if not array.size:
        return np.empty_like(array)
    low, high = np.lib.array_utils.byte_bounds(array)
    span = np.asarray(Span(array, low, high - low))
    return np.ndarray(array.shape, array.dtype, span, address(array) - low, array.strides)


class Span:
    """The bytes between two addresses, which belong to an array."""

    def __init__(self, array: np.ndarray, start: int, size: int):
        behind = root(array).base
        self.array = behind.array if type(behind) is Span else array  # no chain of aliases of aliases
        self.__array_interface__ = {
            "data": (start, not array.flags.writeable),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }
