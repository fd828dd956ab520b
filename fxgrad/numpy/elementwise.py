"""Elementwise functions composed of others; `ufuncs` has those that are primitives."""

from __future__ import annotations

import builtins
import operator
from functools import cache, reduce
from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.common_errors import check_option
from ..core.errors import DTypeError
from ..core.interpreter import Tracer, concretize
from ..core.typing import Array, ArrayLike, Axis, Binary, DType
from ..ops.options import call_ufunc, of_operands
from .composite import (
    at_axis,
    cast,
    composite,
    dtype_of,
    fill_outside,
    kind,
    line_up,
    operand,
)
from .documentation import NO_DERIVATIVE, ONLY_OPERANDS, WITH_OPTIONS, ZERO_DERIVATIVE, described
from .dtypes import finfo
from .ufuncs import (
    absolute,
    add,
    bitwise_and,
    copysign,
    cos,
    divide,
    equal,
    floor,
    floor_divide,
    greater_equal,
    imag,
    isfinite,
    isinf,
    isnan,
    ldexp,
    less,
    less_equal,
    log2,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    real,
    remainder,
    right_shift,
    signbit,
    sin,
    subtract,
    trunc,
)


# -- arithmetic ------------------------------------------
@described("numpy.power", "", WITH_OPTIONS)
@of_operands("x1", "x2")
def power(
    x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, where: Any = True, dtype: DType = None
) -> Array:
    """x1 raised to x2. Integers to negative integers raise ValueError; `float_power` takes them.

    Derivatives: `x2 * x1**(x2 - 1)` by x1, `x1**x2 * log(x1)` by x2. That of x⁰ is 0, also at 0; by x2 it is 0 at
    x1 = 0 for x2 > 0. The square of a root has the derivative of the radicand.

    >>> fx.vmap(fx.grad(lambda x: fnp.power(x, 3)))(fnp.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if out is not None or where is not True or dtype is not None:
        return call_ufunc("power", (x1, x2), out, where, dtype)
    if isinstance(x1, Tracer) and not x1.weak and type(x2) in (int, float) and kind(x1) in "fc":
        return operator.pow(x1, x2)
    return ops.power(x1, x2)


pow: Binary = power


@composite(np.sign, derivative="")
def sign(x: ArrayLike, /) -> Array:
    """−1, 0 or 1, a step: its derivative is 0, by convention also at 0. Of complex numbers it is x/|x|, and 0 at 0,
    which has a derivative.

    >>> fnp.sign(fnp.array([-2.0, 0.0, 3.0])), fnp.sign(3 + 4j)
    (array([-1.,  0.,  1.]), np.complex128(0.6+0.8j))
    """
    x = operand(x)
    return complex_sign(x) if kind(x) == "c" else ops.sign(x)


def complex_sign(x: Any) -> Any:
    """x/|x|, and where |x| is infinite what NumPy gives: the sign of the infinite part, and NaN of two."""
    length, real, imag = absolute(x), ops.real(x), ops.imag(x)
    beside = ops.where(ops.isinf(imag), np.nan, 0.0)
    first = ops.where(ops.isinf(real), ops.copysign(1.0, real) + beside, 0.0)
    second = ops.where(ops.isinf(real), beside, ops.copysign(1.0, imag))
    direction = ops.where(ops.equal(length, 0), 0, ops.unit_vector(x, length))
    return ops.where(
        ops.isinf(length), ops.convert(ops.make_complex(first, second), dtype=x.dtype), direction
    )


@composite(np.float_power)
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 raised to x2, in float64 at least: integers have powers with negative exponents. Derivatives are those of
    `power`.

    >>> fnp.float_power(2, -1)
    np.float64(0.5)
    """
    dtype = np.result_type(ops.result_dtype([as_value(x1), as_value(x2)]), np.float64)
    return ops.power(cast(operand(x1), dtype), cast(operand(x2), dtype))


@described("numpy.divmod", "", ONLY_OPERANDS)
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Any, Any]:
    """The pair (x1 // x2, x1 % x2): the quotient rounded down, and what is left, which has the sign of x2. Derivatives
    are those of `floor_divide` and of `remainder`.

    >>> fnp.divmod(fnp.array([7.0, -7.0]), 3)
    (array([ 2., -3.]), array([1., 2.]))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def to_floating(x: Any) -> Array:
    """Convert an array to the floating-point dtype in which NumPy's ufuncs compute with it."""
    x = operand(x)
    return x if kind(x) in "fc" else add(x, np.float16(0))


@composite(np.modf)
def modf(x: ArrayLike, /) -> tuple[Any, Any]:
    """The pair (fractional part, whole part) of x; both have its sign. The fractional part has derivative 1, the whole
    part 0.

    >>> fnp.modf(fnp.array([1.5, -2.25]))
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    x = to_floating(x)
    whole = trunc(x)
    return copysign(ops.where(isinf(x), 0, subtract(x, whole)), x), whole


@composite(np.frexp)
def frexp(x: ArrayLike, /) -> tuple[Any, Any]:
    """The pair (mantissa, exponent) with x = mantissa·2^exponent and the mantissa's modulus in [½, 1). The exponent is
    an integer; the mantissa has derivative 2^−exponent.

    >>> fnp.frexp(fnp.array([1.0, 10.0]))
    (array([0.5  , 0.625]), array([1, 4], dtype=int32))
    """
    x = to_floating(x)
    ordinary = logical_and(isfinite(x), not_equal(x, 0))
    exponent = cast(add(floor(log2(fill_outside(ordinary, absolute(x), 1))), 1), np.int32)
    mantissa = absolute(ldexp(x, negative(exponent)))
    # The logarithm is rounded, and so may be on the wrong side of an integer.
    off = subtract(cast(greater_equal(mantissa, 1), np.int32), cast(less(mantissa, 0.5), np.int32))
    exponent = fill_outside(ordinary, add(exponent, off), 0)
    return ops.where(ordinary, ldexp(x, negative(exponent)), x), exponent


@composite(np.sinc)
def sinc(x: ArrayLike) -> Array:
    """sin(πx)/(πx), with derivatives of all orders at and near 0: there it is computed as ∫₀¹ cos(πxt) dt.

    >>> print(fnp.isclose(fx.grad(fx.grad(fnp.sinc))(0.0), -(fnp.pi**2) / 3))
    True
    """
    u = multiply(operand(x), np.pi)
    near = less(absolute(u), np.pi)
    total: Any = 0
    for node, weight in zip(*gauss_nodes()):
        total = add(total, multiply(cos(multiply(u, node)), weight))
    far = ops.where(near, np.pi, u)
    return ops.where(near, total, divide(sin(far), far))


@cache
def gauss_nodes() -> tuple[list[float], list[float]]:
    """Return nodes and weights on [0, 1], enough of them for cos(πt) and its derivatives."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


@composite(np.bitwise_count, derivative=NO_DERIVATIVE)
def bitwise_count(x: ArrayLike, /) -> Array:
    """How many bits are set in the absolute value of integers, as uint8.

    >>> fnp.bitwise_count(fnp.array([5, -1, 255]))
    array([2, 1, 8], dtype=uint8)
    """
    x = absolute(operand(x))
    bits = [bitwise_and(right_shift(x, i), 1) for i in range(dtype_of(x).itemsize * 8)]
    return cast(reduce(add, bits), np.uint8)


@composite(np.packbits, derivative=NO_DERIVATIVE)
def packbits(a: ArrayLike, /, axis: Axis = None, bitorder: str = "big") -> Array:
    """Eight booleans along an axis as one uint8, with zeros filling the last one; `axis=None` takes the flattened
    array. Entries that are neither integers nor booleans raise TypeError.

    Raises:
        TypeError: `a` is neither of integers nor of truth values.
        ValueError: there is no such `bitorder`.

    >>> fnp.packbits(fnp.array([True, False, True]))
    array([160], dtype=uint8)
    """
    a = operand(a)
    if kind(a) not in "biu":
        raise DTypeError(
            f"packbits: a has dtype {dtype_of(a)}, which has no bits to take", hint="a != 0, which is boolean"
        )
    axis, rows, shape = move_axis_last(a, axis)
    bits = cast(not_equal(rows, 0), np.uint8)
    count = -(-shape[-1] // 8)
    bits = ops.pad(bits, widths=(*((0, 0),) * (len(shape) - 1), (0, 8 * count - shape[-1])))
    places = multiply(
        ops.reshape(bits, shape=(*shape[:-1], count, 8)), np.left_shift(1, bit_shifts(bitorder))
    )
    return ops.move_axis(cast(ops.reduce_sum(places, axes=(len(shape),)), np.uint8), len(shape) - 1, axis)


@composite(np.unpackbits, derivative=NO_DERIVATIVE)
def unpackbits(a: ArrayLike, /, axis: Axis = None, count: Any = None, bitorder: str = "big") -> Array:
    """The bits of every uint8 along an axis as uint8, the first `count` of them (or without the last ones, if
    negative). Other dtypes raise TypeError.

    Raises:
        TypeError: `a` is not of dtype uint8.
        ValueError: there is no such `bitorder`.

    >>> fnp.unpackbits(fnp.array([160], dtype=fnp.uint8), count=4)
    array([1, 0, 1, 0], dtype=uint8)
    """
    a = operand(a)
    if dtype_of(a) != np.uint8:
        raise DTypeError(f"unpackbits: a has dtype {dtype_of(a)}, expected uint8", hint="a.astype(np.uint8)")
    axis, rows, shape = move_axis_last(a, axis)
    places = ops.reshape(rows, shape=(*shape, 1))
    bits = bitwise_and(right_shift(places, cast(bit_shifts(bitorder), np.uint8)), np.uint8(1))
    size = 8 * shape[-1]
    bits = ops.reshape(bits, shape=(*shape[:-1], size))
    wanted = size if count is None else count if count >= 0 else size + count
    bits = ops.pad(bits, widths=(*((0, 0),) * (len(shape) - 1), (0, builtins.max(wanted - size, 0))))
    bits = ops.getitem(bits, index=at_axis(slice(0, wanted), len(shape) - 1))
    return ops.move_axis(bits, len(shape) - 1, axis)


def bit_shifts(name: str) -> Any:
    """Return how far each of eight bits is shifted."""
    check_option("packbits", "bitorder", name, ("big", "little"))
    return np.arange(8)[:: -1 if name == "big" else 1]


def move_axis_last(x: Any, axis: Any) -> tuple[int, Any, tuple[int, ...]]:
    """Return the axis, the array with this axis moved to the end, and its shape; None stands for all entries
    in a row."""
    x, axis = line_up(x, axis)
    rows = ops.move_axis(x, axis, x.ndim - 1)
    return axis, rows, rows.shape


@composite(np.clip)
def clip(
    a: ArrayLike,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: None = None,
    *,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Array:
    """Values limited to an interval; where a value equals a limit, both share the derivative.

    >>> fx.grad(lambda x: fnp.sum(fnp.clip(x, -1, 1) ** 2))(fnp.array([-3.0, 0.5]))
    array([0., 1.])
    """
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = operand(a)
    if low is not None:
        a = maximum(a, low)
    return a if high is None else minimum(a, high)


@composite(np.round, derivative=ZERO_DERIVATIVE)
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Numbers rounded to the given number of decimals, halves to even digits; negative `decimals` round to tens and
    hundreds.

    >>> fnp.round(fnp.array([0.125, 2.5]), 2)
    array([0.12, 2.5 ])
    """
    return ops.round(operand(a), decimals=decimals)


around = round


@composite(origin="numpy.fix", derivative=ZERO_DERIVATIVE)
def fix(x: ArrayLike, out: None = None) -> Array:
    """The whole number next to x toward zero: `trunc`, by the name that NumPy gave up in 2.5.

    >>> fnp.fix(fnp.array([1.5, -1.5]))
    array([ 1., -1.])
    """
    return trunc(operand(x))


@composite(np.nan_to_num)
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """NaN and infinities replaced by numbers; the derivative is 0 where an entry is replaced, and 1 elsewhere. Never in
    place: `copy=False` on traced values makes a new array as well.

    >>> fx.jvp(fnp.nan_to_num, (fnp.array([1.0, fnp.nan]),), (fnp.ones(2),))
    (array([1., 0.]), array([1., 0.]))
    """
    x = operand(x)
    if kind(x) not in "fc":
        return x
    if kind(x) == "c":
        parts = [nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (real(x), imag(x))]
        return cast(ops.make_complex(*parts), dtype_of(x))
    limits = finfo(dtype_of(x))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    finite = fill_outside(logical_not(isnan(x)), x, nan)
    finite = fill_outside(not_equal(x, np.inf), finite, high)
    return fill_outside(not_equal(x, -np.inf), finite, low)


@composite(np.angle, derivative="")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The argument of complex numbers, between −π and π, in radians unless `deg`. Its derivative at 0 is NaN; that of
    real numbers is 0.

    >>> fnp.angle(fnp.array([1j, -1.0]), deg=True)
    array([ 90., 180.])
    """
    result = ops.angle(operand(z))
    return multiply(result, 180 / np.pi) if deg else result


@composite(np.real_if_close)
def real_if_close(a: ArrayLike, tol: Any = 100) -> Array:
    """The real parts if all imaginary parts are near 0, otherwise the array itself. The dtype depends on values:
    complex ones that are staged or mapped raise ConcretizationError.

    >>> fnp.real_if_close(fnp.array([1 + 1e-16j, 2.0]))
    array([1., 2.])
    """
    a = operand(a)
    known = concretize(a, "real_if_close") if kind(a) == "c" else None
    return a if known is None or np.iscomplexobj(np.real_if_close(known, tol)) else real(a)


# -- tests ------------------------------------------
@composite(np.isclose, derivative=NO_DERIVATIVE)
def isclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Array:
    """Whether |a − b| ≤ atol + rtol·|b|, entry by entry; two equal infinities are close, two NaN if `equal_nan`.

    >>> fnp.isclose(fnp.array([1.0, 1.0]), fnp.array([1.0 + 1e-9, 1.1]))
    array([ True, False])
    """
    a, b = operand(a), operand(b)
    b = cast(b, np.result_type(dtype_of(b), 1.0))
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    result = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(result, logical_and(isnan(a), isnan(b))) if equal_nan else result


@composite(np.allclose, derivative=NO_DERIVATIVE)
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    """Whether all entries are close to each other in the sense of `isclose`: one boolean, traced if the arrays are.

    >>> fnp.allclose(fnp.array([1.0, 2.0]), fnp.array([1.0, 2.0 + 1e-9]))
    True
    """
    return all_hold(isclose(a, b, rtol, atol, equal_nan))


@composite(np.array_equal, derivative=NO_DERIVATIVE)
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array | builtins.bool:
    """Whether two arrays have the same shape and the same entries. Different shapes decide immediately; otherwise the
    result is a boolean that is traced if the entries are.

    >>> fnp.array_equal(fnp.array([1.0, 2.0]), fnp.array([1.0, 2.0]))
    True
    """
    a1, a2 = operand(a1), operand(a2)
    if a1.shape != a2.shape:
        return False
    same = equal(a1, a2)
    return all_hold(logical_or(same, logical_and(isnan(a1), isnan(a2))) if equal_nan else same)


@composite(np.array_equiv, derivative=NO_DERIVATIVE)
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array | builtins.bool:
    """Whether two arrays broadcast to one shape in which all entries are the same.

    >>> fnp.array_equiv(fnp.array([1.0, 1.0]), 1.0)
    True
    """
    a1, a2 = operand(a1), operand(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return all_hold(equal(a1, a2))


def all_hold(x: Any) -> Any:
    return ops.reduce_all(x, axes=tuple(range(x.ndim)))


@composite(np.isposinf, derivative=NO_DERIVATIVE)
def isposinf(x: ArrayLike, out: None = None) -> Array:
    """Whether x is +∞.

    >>> fnp.isposinf(fnp.array([fnp.inf, -fnp.inf, 1.0]))
    array([ True, False, False])
    """
    return logical_and(isinf(x), logical_not(signbit(x)))


@composite(np.isneginf, derivative=NO_DERIVATIVE)
def isneginf(x: ArrayLike, out: None = None) -> Array:
    """Whether x is −∞.

    >>> fnp.isneginf(fnp.array([fnp.inf, -fnp.inf, 1.0]))
    array([False,  True, False])
    """
    return logical_and(isinf(x), signbit(x))


@composite(np.isreal, derivative=NO_DERIVATIVE)
def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0, entry by entry.

    >>> fnp.isreal(fnp.array([1 + 2j, 3.0]))
    array([False,  True])
    """
    return equal(imag(operand(x)), 0)


@composite(np.iscomplex, derivative=NO_DERIVATIVE)
def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not 0, entry by entry.

    >>> fnp.iscomplex(fnp.array([1 + 2j, 3.0]))
    array([ True, False])
    """
    return not_equal(imag(operand(x)), 0)


@described("numpy.isrealobj", NO_DERIVATIVE)
def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype is not complex, whatever the values: a Python bool.

    >>> fnp.isrealobj(fnp.array([1.0, 2.0]))
    True
    """
    return not iscomplexobj(x)


@described("numpy.iscomplexobj", NO_DERIVATIVE)
def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype is complex, whatever the values: a Python bool.

    >>> fnp.iscomplexobj(fnp.array([1 + 0j]))
    True
    """
    return kind(as_value(x)) == "c"


__all__ = [
    "allclose", "angle", "around", "array_equal", "array_equiv", "bitwise_count", "clip", "divmod", "fix",
    "float_power", "frexp", "isclose", "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal",
    "isrealobj", "modf", "nan_to_num", "packbits", "pow", "power", "real_if_close", "round", "sign",
    "sinc", "unpackbits",
]  # fmt: skip
