"""Dtypes, their properties, and abstract properties of values."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import (
    False_,
    True_,
    bool,
    bool_,
    byte,
    cdouble,
    clongdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    dtype,
    float16,
    float32,
    float64,
    floating,
    generic,
    half,
    inexact,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    isdtype,
    issubdtype,
    long,
    longdouble,
    longlong,
    number,
    promote_types,
    short,
    signedinteger,
    single,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
)

from ..core.arrays import as_value
from ..core.aval import WEAK_TYPES, aval_of
from ..core.interpreter import Tracer, api_boundary, concretize
from ..core.typing import ArrayLike, Axis, DType
from .composite import composite, dtype_of, is_beyond_numpy, operands
from .documentation import NO_DERIVATIVE, described


@api_boundary
@described("numpy.finfo", NO_DERIVATIVE)
def finfo(dtype: DType) -> np.finfo[Any]:
    """The limits of a floating dtype, bfloat16 included; a traced value stands for its dtype.

    >>> float(fnp.finfo(fnp.float32).eps)
    1.1920928955078125e-07
    """
    dtype = np.dtype(dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype))
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


@api_boundary
@described("numpy.iinfo", NO_DERIVATIVE)
def iinfo(int_type: DType) -> np.iinfo[Any]:
    """The limits of an integer dtype; a traced value stands for its dtype.

    >>> fnp.iinfo(fnp.int8).max
    127
    """
    return np.iinfo(int_type.dtype if isinstance(int_type, Tracer) else int_type)


@described("numpy.result_type", NO_DERIVATIVE)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The common dtype of arrays and dtypes; traced Python scalars are weak, as plain ones are (NEP 50).

    >>> fnp.result_type(fnp.float32, 1.0)
    dtype('float32')
    """
    return np.result_type(*[promotion_stand_in(v) if is_beyond_numpy(v) else v for v in arrays_and_dtypes])


def promotion_stand_in(value: Any) -> Any:
    """Return a dtype or Python scalar that promotes as the value does."""
    aval = aval_of(as_value(value))
    return WEAK_TYPES[aval.dtype.kind](1) if aval.weak else aval.dtype


@api_boundary
@described("numpy.can_cast", NO_DERIVATIVE)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> builtins.bool:
    """Whether a dtype can be cast to another by a casting rule; a value stands for its dtype.

    >>> fnp.can_cast(fnp.float64, fnp.float32)
    False
    """
    return np.can_cast(aval_of(from_).dtype if is_beyond_numpy(from_) else from_, to, casting)


@composite(np.common_type, derivative=NO_DERIVATIVE)
def common_type(*arrays: ArrayLike) -> type[np.inexact[Any]]:
    """The floating dtype of computations with the arrays; integers become float64.

    >>> fnp.common_type(fnp.ones(2, dtype=int), fnp.ones(2, dtype=fnp.float32)).__name__
    'float64'
    """
    return np.common_type(*[np.empty(0, dtype_of(x)) for x in operands(arrays)])


@composite(np.min_scalar_type, derivative=NO_DERIVATIVE)
def min_scalar_type(a: ArrayLike, /) -> np.dtype[Any]:
    """The smallest dtype that can hold a scalar, or the dtype of an array. That of a traced scalar hangs on its value.

    >>> fnp.min_scalar_type(200)
    dtype('uint8')
    """
    if isinstance(a, Tracer) and a.ndim == 0:
        return np.min_scalar_type(concretize(a, "min_scalar_type"))
    return dtype_of(a)


@described("numpy.isscalar", NO_DERIVATIVE)
def isscalar(element: ArrayLike) -> builtins.bool:
    """Whether a value is a number or a string; a traced value without axes is one.

    >>> fnp.isscalar(3.0), fnp.isscalar(fnp.ones(2))
    (True, False)
    """
    return element.ndim == 0 if isinstance(element, Tracer) else np.isscalar(element)


@described("numpy.shape", NO_DERIVATIVE)
def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the axes of an array, number, traced value or (nested) sequence of them: a tuple of integers, never
    traced.

    >>> fnp.shape([[1.0, 2.0, 3.0]])
    (1, 3)
    """
    return aval_of(as_value(a)).shape


@described("numpy.ndim", NO_DERIVATIVE)
def ndim(a: ArrayLike) -> int:
    """The number of axes of an array, number, traced value or (nested) sequence of them: an integer, never traced.

    >>> fnp.ndim([[1.0, 2.0, 3.0]])
    2
    """
    return len(shape(a))


@described("numpy.size", NO_DERIVATIVE)
def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of entries, in all or along some axes: an integer, never traced.

    >>> fnp.size([[1.0, 2.0, 3.0]], 1)
    3
    """
    sizes = shape(a)
    axes = range(len(sizes)) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    total = 1
    for i in axes:
        total *= sizes[i]
    return total


__all__ = [
    "False_", "True_", "bool", "bool_", "byte", "can_cast", "cdouble", "clongdouble", "common_type", "complex64",
    "complex128", "complexfloating", "csingle", "double", "dtype", "finfo", "float16", "float32", "float64", "floating",
    "generic", "half", "iinfo", "inexact", "int8", "int16", "int32", "int64", "int_", "intc", "integer", "intp",
    "isdtype", "isscalar", "issubdtype", "long", "longdouble", "longlong", "min_scalar_type", "ndim", "number",
    "promote_types", "result_type", "shape", "short", "signedinteger", "single", "size", "ubyte", "uint", "uint8",
    "uint16", "uint32", "uint64", "uintc", "uintp", "ulong", "ulonglong", "unsignedinteger", "ushort",
]  # fmt: skip
