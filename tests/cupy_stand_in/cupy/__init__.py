"""CuPy's face over NumPy's arrays, for machines without a GPU; see `tests.cupy_stand_in`."""

import numpy as _np

from . import cuda, fft, lib, linalg, random  # noqa: F401
from ._array import ndarray  # noqa: F401
from ._functions import *  # noqa: F403
from ._functions import FUNCTIONS, ufunc  # noqa: F401
from ._memory import POOLS as _POOLS  # noqa: F401
from ._memory import MemoryPool as _MemoryPool
from ._memory import pool_of as _pool_of
from ._modules import RawKernel, RawModule  # noqa: F401
from .cuda import is_available  # noqa: F401

__version__ = "14.2.0"
globals().update(FUNCTIONS["cupy"])
# What CuPy takes over from NumPy.
_NAMES = """
bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp int_ uint intc float16 float32 float64
complex64 complex128 half single double csingle cdouble byte ubyte short ushort long ulong longlong ulonglong
generic number integer signedinteger unsignedinteger inexact floating complexfloating dtype bool inf nan pi e
euler_gamma newaxis finfo iinfo promote_types min_scalar_type issubdtype isscalar isdtype broadcast_shapes
index_exp s_ ndindex
"""
for _name in _NAMES.split():
    globals()[_name] = getattr(_np, _name)


def get_default_memory_pool() -> _MemoryPool:
    """The pool of the current device."""
    return _pool_of(cuda.get_device_id())


def get_default_pinned_memory_pool():
    """The pool of pinned memory."""
    return cuda.PINNED
