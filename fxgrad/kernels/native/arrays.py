"""NumPy arrays in machine code: the public fields of PyArrayObject, after the header of every Python object.

    struct { PyObject_HEAD; char *data; int nd; npy_intp *dimensions, *strides; … }       numpy/ndarraytypes.h

Reading an array's address takes a microsecond in Python, so the machine code reads it itself.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .ir import I1, I32, I64, PTR, Value

if TYPE_CHECKING:
    from ...core.aval import Aval
    from .ir import Function

HEAD = object.__basicsize__
WORD = ctypes.sizeof(ctypes.c_void_p)


@functools.cache
def are_readable() -> bool:
    """Whether arrays lie in memory as NumPy's headers say: asked once, of an array about which all is known."""
    array = np.empty((3, 5, 7), np.float32)[::2, 1:]
    if WORD != 8:
        return False
    data, axes, *lists = words(id(array) + HEAD, 4)
    if data != array.ctypes.data or axes & 0xFFFFFFFF != array.ndim:
        return False
    return [words(at, array.ndim) for at in lists] == [array.shape, array.strides]


def words(place: int, count: int) -> tuple[int, ...]:
    """Return the words that lie in memory from a place on. An array type of ctypes would be a cycle of references."""
    return tuple(ctypes.c_ssize_t.from_address(place + WORD * k).value for k in range(count))


def address(function: Function, array: Value) -> Value:
    """Return the address of the first entry of an array."""
    return function.load(array, PTR, HEAD // WORD)


def has_axes(function: Function, array: Value, count: int) -> Value:
    """Whether an array has this number of axes."""
    return function.load(array, I32, (HEAD + WORD) // 4).equals(count)


def is_dense(function: Function, array: Value, shape: Sequence[int], itemsize: int) -> Value:
    """Whether an array of as many axes has this shape, and lies in memory in the order of its axes without gaps, each
    entry at a multiple of its size."""
    place = function.cast("ptrtoint", address(function, array), I64)
    off = place & (itemsize - 1)
    lengths, strides = (function.load(array, PTR, HEAD // WORD + k) for k in (2, 3))
    step = itemsize
    for axis in reversed(range(len(shape))):
        off = off | (function.load(lengths, I64, axis) ^ shape[axis])
        if shape[axis] != 1:
            off = off | (function.load(strides, I64, axis) ^ step)
        step *= shape[axis]
    return off.equals(0)


@contextmanager
def when_dense(function: Function, avals: Sequence[Aval], arrays: Sequence[Value]) -> Iterator[None]:
    """Write a block that is entered where arrays have the shapes of these avals, and `is_dense` holds for each."""
    fits = function.constant(1, I1)
    for aval, array in zip(avals, arrays):
        fits = fits & has_axes(function, array, len(aval.shape))
    with function.when(fits):
        for aval, array in zip(avals, arrays):
            fits = fits & is_dense(function, array, aval.shape, aval.dtype.itemsize)
        with function.when(fits):
            yield
