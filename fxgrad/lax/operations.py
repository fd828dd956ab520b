"""Elementwise operations, comparisons, bits and dtypes under the names of jax.lax.

Where jax.lax wants operands of one dtype and shape, these broadcast and promote as NumPy does: a program that
jax.lax accepts gives the same result here, one that it refuses may be accepted.
"""

from __future__ import annotations

from enum import IntEnum
from operator import index
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.typing import Array, ArrayLike, DType, PyTree, Shape
from ..numpy.composite import cast, composite, dtype_of, kind, operand
from ..transforms.custom.jvp_vjp import stop_gradient

# -- under NumPy's meaning ------------------------------------------
add, sub, mul, neg, pow = fnp.add, fnp.subtract, fnp.multiply, fnp.negative, fnp.power
rem, reciprocal, square, sqrt, cbrt = fnp.fmod, fnp.reciprocal, fnp.square, fnp.sqrt, fnp.cbrt
exp, exp2, expm1, log, log1p = fnp.exp, fnp.exp2, fnp.expm1, fnp.log, fnp.log1p
sin, cos, tan, asin, acos, atan, atan2 = fnp.sin, fnp.cos, fnp.tan, fnp.asin, fnp.acos, fnp.atan, fnp.atan2
sinh, cosh, tanh, asinh, acosh, atanh = fnp.sinh, fnp.cosh, fnp.tanh, fnp.asinh, fnp.acosh, fnp.atanh
abs, sign, floor, ceil, nextafter = fnp.abs, fnp.sign, fnp.floor, fnp.ceil, fnp.nextafter
max, min, real, imag, conj = fnp.maximum, fnp.minimum, fnp.real, fnp.imag, fnp.conj
eq, ne, lt, le, gt, ge = fnp.equal, fnp.not_equal, fnp.less, fnp.less_equal, fnp.greater, fnp.greater_equal
bitwise_and, bitwise_or, bitwise_xor = fnp.bitwise_and, fnp.bitwise_or, fnp.bitwise_xor
bitwise_not, shift_left, shift_right_arithmetic = fnp.bitwise_not, fnp.left_shift, fnp.right_shift
is_finite = fnp.isfinite


# -- arithmetic ------------------------------------------
@composite()
def div(x: ArrayLike, y: ArrayLike) -> Array:
    """x / y; the quotient of integers is rounded toward zero.

    >>> import fxgrad as fx
    >>> print(fx.lax.div(-7, 2), fx.lax.div(-7.0, 2.0))
    -3 -3.5
    """
    x, y = ops.promote_dtypes([operand(x), operand(y)])
    return ops.floor_divide(ops.subtract(x, ops.fmod(x, y)), y) if kind(x) in "iu" else ops.divide(x, y)


@composite()
def integer_pow(x: ArrayLike, y: int) -> Array:
    """x to the power of a Python integer."""
    return pow(x, index(y))


@composite()
def rsqrt(x: ArrayLike) -> Array:
    """1/√x."""
    return reciprocal(sqrt(x))


@composite()
def logistic(x: ArrayLike) -> Array:
    """1/(1 + e⁻ˣ), which neither overflows nor loses precision in its tails, like its derivatives.

    >>> import fxgrad as fx
    >>> print(fx.grad(fx.lax.logistic)(0.0), fx.grad(fx.lax.logistic)(-800.0))
    0.25 0.0
    """
    return ops.sigmoid(operand(x))


@composite()
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """x + i·y."""
    return ops.make_complex(operand(x), operand(y))


class RoundingMethod(IntEnum):
    """The ways in which `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


@composite()
def round(x: ArrayLike, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integer; halves go away from zero, or to even numbers as NumPy's do.

    >>> import fxgrad as fx
    >>> fx.lax.round(fx.numpy.array([0.5, -2.5])), fx.lax.round(fx.numpy.array([0.5, -2.5]), 1)
    (array([ 1., -3.]), array([ 0., -2.]))
    """
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return fnp.rint(x)
    whole = fnp.trunc(x)
    half = fnp.logical_and(ge(abs(x), add(abs(whole), 0.5)), ne(x, whole))  # large numbers are whole
    return ops.where(half, add(whole, sign(x)), whole)


# -- choice ------------------------------------------
@composite()
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """x limited to an interval; where it equals a limit the two share the derivative."""
    return fnp.minimum(fnp.maximum(x, min), max)


@composite()
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Entries of `on_true` where `pred` holds, of `on_false` elsewhere."""
    return fnp.where(pred, on_true, on_false)


@composite()
def select_n(which: ArrayLike, *cases: Any) -> Array:
    """Entries of the case whose number stands in `which`; False and True are 0 and 1.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.lax.select_n(fnp.array([0, 2, 1]), fnp.zeros(3), fnp.ones(3), 2 * fnp.ones(3))
    array([0., 2., 1.])
    """
    which = operand(which)
    chosen, *others = cases
    for number, case in enumerate(others, 1):
        chosen = ops.where(which if kind(which) == "b" else ge(which, number), case, chosen)
    return chosen


# -- bits ------------------------------------------
def as_unsigned(x: Any) -> Any:
    """Return integers as the unsigned ones of the same bits."""
    return cast(x, f"u{dtype_of(x).itemsize}")


@composite()
def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits of x moved y places down, with zeros above."""
    x = operand(x)
    return cast(ops.right_shift(as_unsigned(x), as_unsigned(operand(y))), dtype_of(x))


@composite()
def population_count(x: ArrayLike) -> Array:
    """The number of bits of integers that are set, negative ones in two's complement."""
    x = operand(x)
    return cast(fnp.bitwise_count(as_unsigned(x)), dtype_of(x))


@composite()
def clz(x: ArrayLike) -> Array:
    """The number of leading bits of integers that are zero.

    >>> import fxgrad as fx, numpy as np
    >>> print(fx.lax.clz(np.int32(1)), fx.lax.clz(np.int32(-1)))
    31 0
    """
    x = operand(x)
    bits, width = as_unsigned(x), dtype_of(x).itemsize * 8
    step = 1
    while step < width:  # the bits below the highest one are set
        bits = ops.bitwise_or(bits, ops.right_shift(bits, step))
        step *= 2
    return cast(ops.subtract(width, fnp.bitwise_count(bits)), dtype_of(x))


# -- dtypes and constants ------------------------------------------
@composite()
def convert_element_type(operand: ArrayLike, new_dtype: DType) -> Array:
    """The operand in another dtype; of complex numbers that become real, the real part."""
    dtype = np.dtype(new_dtype)
    x = fnp.asarray(operand)
    return cast(real(x) if kind(x) == "c" and dtype.kind in "fiu" else x, dtype)


@composite()
def bitcast_convert_type(operand: ArrayLike, new_dtype: DType) -> Array:
    """The bits of the operand read as numbers of another dtype; where these have another size, a last axis is added,
    or taken away. There is no derivative.

    >>> import fxgrad as fx, numpy as np
    >>> print(hex(fx.lax.bitcast_convert_type(np.float32(1.0), np.uint32)))
    0x3f800000
    """
    return ops.bitcast(fnp.asarray(operand), dtype=np.dtype(new_dtype))


def dtype(x: ArrayLike) -> np.dtype:
    """The dtype of an array or number."""
    return dtype_of(x)


@composite()
def full(shape: Shape, fill_value: ArrayLike, dtype: DType = None) -> Array:
    """An array of one value."""
    return fnp.full(shape, fill_value, dtype)


@composite()
def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DType = None, shape: Shape = None) -> Array:
    """An array of one value, of shape and dtype of another unless these are given."""
    x = operand(x)
    return fnp.full(x.shape if shape is None else shape, fill_value, dtype_of(x) if dtype is None else dtype)


def empty(shape: Shape, dtype: DType) -> np.ndarray:
    """An array of a shape whose entries are zeros: those of `jax.lax.empty` are arbitrary."""
    return np.zeros(shape, dtype)


def iota(dtype: DType, size: int) -> np.ndarray:
    """0, 1, …, size − 1."""
    return np.arange(size).astype(dtype)


def broadcasted_iota(dtype: DType, shape: Shape, dimension: int) -> np.ndarray:
    """Indices along one axis of an array of a shape.

    >>> import fxgrad as fx
    >>> fx.lax.broadcasted_iota(int, (2, 3), 1)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    return np.indices(tuple(shape), sparse=False)[dimension].astype(dtype)


def optimization_barrier(operand: PyTree) -> PyTree:
    """Return a pytree of arrays as it is: for programs written for JAX, which hold its compiler back by this function.

    >>> import fxgrad as fx
    >>> fx.lax.optimization_barrier((1.0, 2.0))
    (1.0, 2.0)
    """
    return operand


__all__ = [
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcasted_iota",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "complex",
    "conj",
    "convert_element_type",
    "cos",
    "cosh",
    "div",
    "dtype",
    "empty",
    "eq",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "full",
    "full_like",
    "ge",
    "gt",
    "imag",
    "integer_pow",
    "iota",
    "is_finite",
    "le",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "optimization_barrier",
    "population_count",
    "pow",
    "real",
    "reciprocal",
    "rem",
    "round",
    "rsqrt",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
]
