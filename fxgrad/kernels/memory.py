"""Memory for large results, and the amount of freed memory that the process keeps.

A step of a program that differentiates frees about as much memory as the next one takes. The C library of Linux returns
large blocks to the system immediately, and the system provides new zeroed pages with one page fault each, which takes a
fifth to a half of such a step. `keep_freed_memory` asks glibc (`mallopt`) to allocate arrays of up to 128 MB on its
heap, and to keep up to 256 MB of free memory at its end. Other C libraries are left alone, and so is a process that
never differentiates: the first use of reverse mode calls it.

With FXGRAD_MEMORY=system in the environment nothing is changed. Settings of glibc's own (MALLOC_TRIM_THRESHOLD_,
GLIBC_TUNABLES, …) take precedence.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..core.costs import FAR_CACHE_ENTRIES, SHARED_ENTRIES, TRANSPOSED_BLOCK
from .registry import share_calls

MEGABYTE = 1 << 20
KEPT = 256 * MEGABYTE  # what may be free at the end of the heap before it is given back
LARGEST = 128 * MEGABYTE  # an array above that has pages of its own, which it gives back when it is freed
LARGEST_BEFORE = 32 * MEGABYTE  # as glibc before 2.35 allows
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # numbers of `mallopt`, in malloc.h
SHARED_ROWS = 16  # rows from which on threads share the rows, and not the columns
BYTE_WORK = 0.5  # operations that a byte which is stored takes as long as
GLIBC_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")


def allocate(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an uninitialized array of a shape and dtype."""
    return np.empty(shape, dtype)


def zeros(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an array of zeros; threads share what is large, unless that has fresh pages of its own."""
    size = prod(shape)
    if size < SHARED_ENTRIES or size * np.dtype(dtype).itemsize > LARGEST:
        return np.zeros(shape, dtype)
    y = allocate(shape, dtype)
    store(y, y.dtype.type(0))
    return y


def copy(x: np.ndarray, order: Any = "C") -> np.ndarray:
    """Return a copy of an array, row-major or in another of NumPy's orders."""
    if x.size < FAR_CACHE_ENTRIES:
        return x.copy(order)
    y = np.empty_like(x, order=order, subok=False)
    store(y, x)
    return y


def join(xs: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Join arrays along an axis."""
    if len(xs) * xs[0].size < SHARED_ENTRIES or not all([x.flags.c_contiguous for x in xs]):
        return np.concatenate(xs, axis)
    y = allocate(
        (*xs[0].shape[:axis], sum([x.shape[axis] for x in xs]), *xs[0].shape[axis + 1 :]), np.result_type(*xs)
    )
    store_joined(y, xs, axis)
    return y


def store_joined(target: np.ndarray, xs: Sequence[np.ndarray], axis: int) -> None:
    """Store the joined arrays in an array of that shape."""
    if target.size < SHARED_ENTRIES:
        np.concatenate(xs, axis, target)
        return
    stops = list(itertools.accumulate([x.shape[axis] for x in xs]))
    head = (slice(None),) * axis
    parts = [target[(*head, slice(stop - x.shape[axis], stop))] for x, stop in zip(xs, stops)]

    def store_some(first: int, last: int) -> None:
        for part, x in zip(parts[first:last], xs[first:last]):
            part[...] = x

    if len(xs) >= SHARED_ROWS:
        share_calls(store_some, len(xs), target.nbytes * BYTE_WORK)
        return
    for part, x in zip(parts, xs):
        store(part, x)


def store(target: np.ndarray, x: Any) -> None:
    """Store an array in another one, to whose shape it is broadcast, which has other memory; threads share what is
    large."""
    if target.size < FAR_CACHE_ENTRIES:
        target[...] = x
        return
    if np.shape(x) != target.shape:
        x = np.broadcast_to(x, target.shape)
    near = min(range(x.ndim), key=lambda axis: abs(x.strides[axis]) or x.nbytes, default=0)
    is_turned = near < x.ndim - 1 and target.flags.c_contiguous
    if not is_turned or min(x.shape[near], x.shape[-1]) <= 2 * TRANSPOSED_BLOCK:
        near = -1
    if target.size < SHARED_ENTRIES:
        store_rows(target, x, near)
        return
    outermost = sorted(range(x.ndim), key=lambda a: -abs(target.strides[a]))
    axis = next((a for a in outermost if x.shape[a] >= SHARED_ROWS), int(np.argmax(x.shape)))
    head = (slice(None),) * axis

    def store_part(first: int, last: int) -> None:
        part = (*head, slice(first, last))
        store_rows(target[part], x[part], near)

    share_calls(store_part, x.shape[axis], target.nbytes * BYTE_WORK)


def store_rows(target: np.ndarray, x: np.ndarray, near: int) -> None:
    """Store an array in one of its shape: at once, or block by block where its columns, along the axis `near`, lie as
    the rows of that, since the lines of the cache that hold many rows push out one another."""
    if near < 0:
        target[...] = x
        return
    head = (slice(None),) * near
    for start in range(0, x.shape[near], TRANSPOSED_BLOCK):
        rows = (*head, slice(start, start + TRANSPOSED_BLOCK))
        for first in range(0, x.shape[-1], TRANSPOSED_BLOCK):
            block = (*rows, ..., slice(first, first + TRANSPOSED_BLOCK))
            target[block] = x[block]


def is_left_to_the_system() -> bool:
    """Return whether the user has decided about memory."""
    environment = os.environ
    return (
        environment.get("FXGRAD_MEMORY", "") == "system"
        or any(name in environment for name in GLIBC_VARIABLES)
        or "glibc.malloc." in environment.get("GLIBC_TUNABLES", "")
    )


def has_glibc() -> bool:
    """Return whether the C library is glibc."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):  # Windows, or another library
        return False


@cache
def keep_freed_memory() -> bool:
    """Ask the C library to keep freed memory for the whole process; return whether it does."""
    if is_left_to_the_system() or not has_glibc():
        return False
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, OSError, AttributeError):
        return False
    mallopt(TOP_PAD, 16 * MEGABYTE)  # how much more is taken from the system at once
    large = mallopt(MMAP_THRESHOLD, LARGEST) or mallopt(MMAP_THRESHOLD, LARGEST_BEFORE)
    return bool(mallopt(TRIM_THRESHOLD, KEPT) and large)
