"""Dtypes, what is known of them, and what is known of values without their data."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..core.aval import WEAK_TYPES, aval_of
from ..core.interpreter import Tracer, as_value
from ..core.typing import Array, ArrayLike, Axis, DType
from .composite import NO_DERIVATIVE, composite, dtype_of, is_beyond_numpy, operands

bool = bool_ = np.bool_
int8, int16, int32, int64, int_, intp = np.int8, np.int16, np.int32, np.int64, np.int_, np.intp
uint8, uint16, uint32, uint64, uint, uintp = np.uint8, np.uint16, np.uint32, np.uint64, np.uint, np.uintp
float16, float32, float64, longdouble = np.float16, np.float32, np.float64, np.longdouble
complex64, complex128, clongdouble = np.complex64, np.complex128, np.clongdouble
# The names of C's types.
byte, short, intc, long, longlong = np.byte, np.short, np.intc, np.long, np.longlong
ubyte, ushort, uintc, ulong, ulonglong = np.ubyte, np.ushort, np.uintc, np.ulong, np.ulonglong
half, single, double, csingle, cdouble = np.half, np.single, np.double, np.csingle, np.cdouble
# Kinds of dtypes, for `issubdtype`.
generic, number, inexact, integer, floating = np.generic, np.number, np.inexact, np.integer, np.floating
complexfloating, signedinteger, unsignedinteger = np.complexfloating, np.signedinteger, np.unsignedinteger
dtype = np.dtype
False_, True_ = np.False_, np.True_
isdtype, issubdtype, promote_types = np.isdtype, np.issubdtype, np.promote_types


def finfo(dtype: DType) -> Array:
    """As `numpy.finfo`, also for bfloat16."""
    dtype = np.dtype(dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype))
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def iinfo(int_type: DType) -> Array:
    """As `numpy.iinfo`; a traced value stands for its dtype."""
    return np.iinfo(int_type.dtype if isinstance(int_type, Tracer) else int_type)


def result_type(*arrays_and_dtypes: Any) -> Array:
    """As `numpy.result_type`; traced Python scalars are weak, as plain ones are (NEP 50)."""
    return np.result_type(*[promotion_stand_in(v) if is_beyond_numpy(v) else v for v in arrays_and_dtypes])


def promotion_stand_in(value: Any) -> Any:
    """Return a dtype or Python scalar that promotes as the value does."""
    aval = aval_of(as_value(value))
    return WEAK_TYPES[aval.dtype.kind](1) if aval.weak else aval.dtype


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> builtins.bool:
    """As `numpy.can_cast`; a value stands for its dtype."""
    return np.can_cast(aval_of(from_).dtype if is_beyond_numpy(from_) else from_, to, casting)


@composite(np.common_type, derivative=NO_DERIVATIVE)
def common_type(*arrays: ArrayLike) -> Array:
    return np.common_type(*[np.empty(0, dtype_of(x)) for x in operands(arrays)])


@composite(np.min_scalar_type)
def min_scalar_type(a: ArrayLike, /) -> Array:
    """The smallest dtype that holds a scalar; the dtype of an array. Of traced values always the latter."""
    return dtype_of(a)


def isscalar(element: ArrayLike) -> builtins.bool:
    """As `numpy.isscalar`; a traced value is a scalar if it has no axes."""
    return element.ndim == 0 if isinstance(element, Tracer) else np.isscalar(element)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the axes of an array, number, tracer or (nested) sequence of them."""
    return aval_of(as_value(a)).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of entries, in all or along some axes."""
    sizes = shape(a)
    axes = range(len(sizes)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    total = 1
    for axis in axes:
        total *= sizes[axis]
    return total


__all__ = [
    "False_", "True_", "bool", "bool_", "byte", "can_cast", "cdouble", "clongdouble", "common_type", "complex64",
    "complex128", "complexfloating", "csingle", "double", "dtype", "finfo", "float16", "float32", "float64", "floating",
    "generic", "half", "iinfo", "inexact", "int8", "int16", "int32", "int64", "int_", "intc", "integer", "intp",
    "isdtype", "isscalar", "issubdtype", "long", "longdouble", "longlong", "min_scalar_type", "ndim", "number",
    "promote_types", "result_type", "shape", "short", "signedinteger", "single", "size", "ubyte", "uint", "uint8",
    "uint16", "uint32", "uint64", "uintc", "uintp", "ulong", "ulonglong", "unsignedinteger", "ushort",
]  # fmt: skip
