"""Snapshots of values that are kept for later: arrays that user code can still write to are copied, and traced values
that it holds are replaced by twins.

A buffer may be refilled between two uses within one traced function, so every use is compared with the copy
made before; equal contents share one copy (weights used in a loop are kept once).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from .devices import is_on_cuda
from .interpreter import Tracer
from .surface import own


class Snapshots(dict[int, tuple[Any, Any]]):
    """A callable that turns a value into one that nobody else can write to.

    It holds id → (the value, which keeps the id taken; its copy).
    """

    __slots__ = ()

    def __call__(self, value: Any) -> Any:
        if type(value) is not np.ndarray:
            if isinstance(value, Tracer):
                found = self.get(id(value))
                if found is None:
                    found = self[id(value)] = value, own(value)
                return found[1]
            return copy_on_device(value) if is_on_cuda(value) else value
        found = self.get(id(value))
        if found is not None and has_same_bytes(found[1], value):
            return found[1]
        copy = value.copy()
        self[id(value)] = value, copy
        return copy


def hand_over(values: Sequence[Any]) -> list[Any]:
    """Return values that the library keeps as user code gets them, which may write into its arguments."""
    return [v.copy() if type(v) is np.ndarray else own(v) for v in values]


def copy_on_device(value: Any) -> Any:
    """Return a copy of an array on its own device; CuPy would make it on the one in use."""
    with value.device:
        return value.copy()


def has_same_bytes(a: Any, b: Any) -> bool:
    """Return whether two arrays hold the same bits (NaN equals NaN, 0 differs from −0); False where it is costly to
    tell."""
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and a.flags.c_contiguous
        and b.flags.c_contiguous
        and bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))
    )


def single_refcount() -> int:
    """Return what `getrefcount` says of an object with one name only. It depends on the version of Python."""
    value = object()
    return getrefcount(value)


SINGLE_REFCOUNT = single_refcount()


def snapshot_constants(
    values: Sequence[Any], needed: Sequence[Any], snapshot: Callable[[Any], Any]
) -> list[Any]:
    """Return operands to be kept by a rule: those that are `needed` belong to the level that asks, the others to the
    user."""
    return [v if n is not None else snapshot(v) for v, n in zip(values, needed)]


def copy_shared(values: Sequence[Any]) -> list[Any]:
    """Copy those values returned by user code that others can write to: views, and arrays to which user code still
    refers, because it closes over them or was given them. `values` has the only reference of its caller."""
    found: list[Any] = []
    for value in values:
        if type(value) is np.ndarray and (value.base is not None or getrefcount(value) > SINGLE_REFCOUNT + 1):
            value = value.copy()
        found.append(value)
    return found
