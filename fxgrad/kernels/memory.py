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

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..core.costs import TRANSPOSED_BLOCK

MEGABYTE = 1 << 20
KEPT = 256 * MEGABYTE  # what may be free at the end of the heap before it is given back
LARGEST = 128 * MEGABYTE  # an array above that has pages of its own, which it gives back when it is freed
LARGEST_BEFORE = 32 * MEGABYTE  # as glibc before 2.35 allows
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # numbers of `mallopt`, in malloc.h
GLIBC_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")


def allocate(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an uninitialized array of a shape and dtype."""
    return np.empty(shape, dtype)


def store(target: np.ndarray, x: np.ndarray) -> None:
    """Store an array in a row-major one of its shape, which has other memory: block by block, where its columns lie as
    the rows of that, since the lines of the cache that hold many rows push out one another."""
    near = min(range(x.ndim), key=lambda axis: abs(x.strides[axis]) or x.nbytes, default=0)
    is_turned = near < x.ndim - 1 and target.flags.c_contiguous
    if not is_turned or min(x.shape[near], x.shape[-1]) <= 2 * TRANSPOSED_BLOCK:
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
