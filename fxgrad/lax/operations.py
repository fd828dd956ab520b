"""Operations of jax.lax that NumPy has not, or means otherwise: arithmetic, choice, bits and dtypes.

jax.lax requires operands of one dtype and shape; these operations broadcast and promote as NumPy does. A program that
jax.lax accepts gives the same result here; one that it refuses may be accepted.
"""

from __future__ import annotations

from enum import IntEnum
from operator import index
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.arrays import as_value
from ..core.errors import DTypeError
from ..core.interpreter import api_boundary
from ..core.shapes import as_dtype, as_shape
from ..core.typing import Array, ArrayLike, DType, PyTree, Shape
from ..numpy.composite import cast, composite, dtype_of, kind, operand
from ..transforms.custom.jvp_vjp import stop_gradient
from .elementwise import abs, add, ge, ne, pow, real, reciprocal, sign, sqrt


# -- arithmetic ------------------------------------------
@composite()
def div(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient x / y; that of integers is rounded toward zero. Operands broadcast and promote; it is differentiated
    by both.

    >>> print(fx.lax.div(-7, 2), fx.lax.div(-7.0, 2.0))
    -3 -3.5
    """
    x, y = ops.promote_dtypes([operand(x), operand(y)])
    return ops.floor_divide(ops.subtract(x, ops.fmod(x, y)), y) if kind(x) in "iu" else ops.divide(x, y)


@composite()
def integer_pow(x: ArrayLike, y: int) -> Array:
    """x to the power `y`, a Python integer, which is static: TypeError for other numbers. The derivative is y·xʸ⁻¹.

    >>> fx.grad(lambda x: fx.lax.integer_pow(x, 3))(2.0)
    np.float64(12.0)
    """
    return pow(x, index(y))


@composite()
def rsqrt(x: ArrayLike) -> Array:
    """1/√x: ∞ at 0, NaN of negative real numbers. The derivative is −½·x^(−3/2).

    >>> fx.lax.rsqrt(fnp.array([4.0, 0.25]))
    array([0.5, 2. ])
    """
    return reciprocal(sqrt(x))


@composite()
def logistic(x: ArrayLike) -> Array:
    """1/(1 + e⁻ˣ), which neither overflows nor loses precision in its tails, like its derivatives.

    >>> print(fx.grad(fx.lax.logistic)(0.0), fx.grad(fx.lax.logistic)(-800.0))
    0.25 0.0
    """
    return ops.sigmoid(operand(x))


@composite()
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The complex numbers x + i·y of real ones, which broadcast; complex64 of float32, else complex128. It is linear.

    >>> fx.lax.complex(fnp.array([1.0, 2.0]), 3.0)
    array([1.+3.j, 2.+3.j])
    """
    return ops.make_complex(operand(x), operand(y))


class RoundingMethod(IntEnum):
    """The ways in which `round` treats halves: away from zero, or to the even neighbour.

    >>> fx.lax.round(2.5, fx.lax.RoundingMethod.TO_NEAREST_EVEN)
    np.float64(2.0)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


@composite()
def round(x: ArrayLike, rounding_method: int = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The nearest integer, in the dtype of x; halves are rounded away from zero, or to even numbers as in NumPy. Its
    derivative is 0.

    Args:
        x: real numbers.
        rounding_method: `RoundingMethod.AWAY_FROM_ZERO` or `RoundingMethod.TO_NEAREST_EVEN`.

    >>> fx.lax.round(fnp.array([0.5, -2.5])), fx.lax.round(fnp.array([0.5, -2.5]), 1)
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
    """x limited to the interval from `min` to `max`, which broadcast; where x equals a limit, both share the
    derivative.

    >>> fx.lax.clamp(0.0, fnp.array([-1.0, 0.5, 2.0]), 1.0)
    array([0. , 0.5, 1. ])
    """
    return fnp.minimum(fnp.maximum(x, min), max)


@composite()
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Entries of `on_true` where `pred` is true, of `on_false` elsewhere; all three broadcast. The derivative goes only
    to the chosen entries.

    >>> fx.lax.select(fnp.array([True, False]), fnp.array([1.0, 2.0]), fnp.zeros(2))
    array([1., 0.])
    """
    return fnp.where(pred, on_true, on_false)


@composite()
def select_n(which: ArrayLike, *cases: Any) -> Array:
    """Entries of the case with the number `which`; False and True are 0 and 1. The derivative goes only to the chosen
    entries.

    Args:
        which: truth values, for two cases, or integers; one beyond the last counts as the last.
        cases: arrays, which broadcast.

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
    if kind(x) not in "iu":
        raise DTypeError(
            f"bits are those of integers, not of {dtype_of(x)}",
            hint="x.astype(int), or lax.bitcast_convert_type",
        )
    return cast(x, f"u{dtype_of(x).itemsize}")


@composite()
def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits of integers x moved y places down, with zeros above; negative ones are read as their bits.

    Raises:
        DTypeError: x is not of integers.

    >>> print(fx.lax.shift_right_logical(np.int8(-1), np.int8(4)))
    15
    """
    x = operand(x)
    return cast(ops.right_shift(as_unsigned(x), as_unsigned(operand(y))), dtype_of(x))


@composite()
def population_count(x: ArrayLike) -> Array:
    """The number of bits of integers that are set, negative ones in two's complement, in the dtype of x.

    Raises:
        DTypeError: x is not of integers.

    >>> print(fx.lax.population_count(np.int8(-1)), fx.lax.population_count(np.int8(6)))
    8 2
    """
    x = operand(x)
    return cast(fnp.bitwise_count(as_unsigned(x)), dtype_of(x))


@composite()
def clz(x: ArrayLike) -> Array:
    """The number of leading bits of integers that are zero.

    Raises:
        DTypeError: x is not of integers.

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
    """The operand in another dtype; of complex numbers that become real, the real part. Between floating and complex
    dtypes it is linear; to integers and truth values the derivative ends.

    Args:
        operand: an array or number.
        new_dtype: what `np.dtype` takes.

    >>> fx.lax.convert_element_type(fnp.array([1.7, -1.7]), int)
    array([ 1, -1])
    """
    dtype = np.dtype(new_dtype)
    x = fnp.asarray(operand)
    return cast(real(x) if kind(x) == "c" and dtype.kind in "fiu" else x, dtype)


@composite()
def bitcast_convert_type(operand: ArrayLike, new_dtype: DType) -> Array:
    """The bits of the operand read as numbers of another dtype; where these have another size, a last axis is added, or
    taken away. There is no derivative.

    Args:
        operand: an array or number.
        new_dtype: what `np.dtype` takes.

    >>> print(hex(fx.lax.bitcast_convert_type(np.float32(1.0), np.uint32)))
    0x3f800000
    """
    return ops.bitcast(fnp.asarray(as_value(operand)), dtype=as_dtype(new_dtype, "bitcast_convert_type"))


def dtype(x: ArrayLike) -> np.dtype:
    """The dtype of an array, number or traced value, as in NumPy.

    >>> fx.lax.dtype(1.0)
    dtype('float64')
    """
    return dtype_of(x)


@composite()
def full(shape: Shape, fill_value: ArrayLike, dtype: DType = None) -> Array:
    """An array of one value, which may be traced.

    Args:
        shape: a size or a tuple of sizes.
        fill_value: the value, by which it is differentiated.
        dtype: of the result; None: that of the value.

    >>> fx.lax.full((2,), 7.0)
    array([7., 7.])
    """
    return fnp.full(shape, as_value(fill_value), dtype)


@composite()
def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DType = None, shape: Shape = None) -> Array:
    """An array of one value, of shape and dtype of another unless these are given.

    Args:
        x: the array whose shape and dtype are meant; its entries play no part.
        fill_value: the value, by which it is differentiated.
        dtype, shape: those of the result instead.

    >>> fx.lax.full_like(fnp.ones((1, 3)), 7)
    array([[7., 7., 7.]])
    """
    x = operand(x)
    return fnp.full(x.shape if shape is None else shape, fill_value, dtype_of(x) if dtype is None else dtype)


@api_boundary
def empty(shape: Shape, dtype: DType) -> np.ndarray:
    """An array of a `shape` and a `dtype` whose entries are zeros: those of `jax.lax.empty` are arbitrary.

    >>> fx.lax.empty((2,), float)
    array([0., 0.])
    """
    return np.zeros(shape, dtype)


@api_boundary
def iota(dtype: DType, size: int) -> np.ndarray:
    """The numbers 0, 1, …, size − 1.

    Args:
        dtype: of the result.
        size: a static integer from 0 on.

    Raises:
        DTypeError: what is given for the dtype is none.
        ShapeError: the size is no such integer.

    >>> fx.lax.iota(float, 3)
    array([0., 1., 2.])
    """
    (length,) = as_shape((size,), "iota")
    return np.arange(length).astype(as_dtype(dtype, "iota"))


@api_boundary
def broadcasted_iota(dtype: DType, shape: Shape, dimension: int) -> np.ndarray:
    """Indices along one axis of an array of a shape.

    Args:
        dtype: of the result.
        shape: a tuple of sizes.
        dimension: the axis along which the entries count.

    >>> fx.lax.broadcasted_iota(int, (2, 3), 1)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    return np.indices(tuple(shape), sparse=False)[dimension].astype(dtype)


@api_boundary
def optimization_barrier(operand: PyTree) -> PyTree:
    """Return a pytree of arrays unchanged: for programs written for JAX, which restrict its compiler by this function.

    >>> fx.lax.optimization_barrier((1.0, 2.0))
    (1.0, 2.0)
    """
    return operand


__all__ = [
    "RoundingMethod",
    "bitcast_convert_type",
    "broadcasted_iota",
    "clamp",
    "clz",
    "complex",
    "convert_element_type",
    "div",
    "dtype",
    "empty",
    "full",
    "full_like",
    "integer_pow",
    "iota",
    "logistic",
    "optimization_barrier",
    "population_count",
    "round",
    "rsqrt",
    "select",
    "select_n",
    "shift_right_logical",
    "stop_gradient",
]
