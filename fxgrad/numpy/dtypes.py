"""Dtypes, what is known of them, and of values without their data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import WEAK_TYPES, aval_of
from ..core.interpreter import Tracer, as_value
from .composite import beyond_numpy

bool_, int8, int16, int32, int64 = np.bool_, np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128
iinfo, isdtype, issubdtype, promote_types = np.iinfo, np.isdtype, np.issubdtype, np.promote_types


def finfo(dtype: Any) -> Any:
    """As `numpy.finfo`, also for bfloat16."""
    dtype = dtype.dtype if hasattr(dtype, "dtype") else np.dtype(dtype)
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """As `numpy.result_type`; traced Python scalars are weak, as plain ones are (NEP 50)."""
    return np.result_type(*[stand_in(v) if beyond_numpy(v) else v for v in arrays_and_dtypes])


def stand_in(value: Any) -> Any:
    """A dtype or Python scalar that promotes as the value does."""
    aval = aval_of(as_value(value))
    return WEAK_TYPES[aval.dtype.kind](1) if aval.weak else aval.dtype


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """As `numpy.can_cast`; a value stands for its dtype."""
    return np.can_cast(aval_of(from_).dtype if beyond_numpy(from_) else from_, to, casting)


def isscalar(element: Any) -> bool:
    """As `numpy.isscalar`; a traced value is a scalar if it has no axes."""
    return element.ndim == 0 if isinstance(element, Tracer) else np.isscalar(element)


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes of an array, number, tracer or (nested) sequence of them."""
    return aval_of(as_value(a)).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of entries, in all or along some axes."""
    sizes = shape(a)
    axes = range(len(sizes)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    total = 1
    for axis in axes:
        total *= sizes[axis]
    return total


__all__ = [
    "bool_", "can_cast", "complex64", "complex128", "finfo", "float16", "float32", "float64", "iinfo", "int8",
    "int16", "int32", "int64", "isdtype", "isscalar", "issubdtype", "ndim", "promote_types", "result_type",
    "shape", "size", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
