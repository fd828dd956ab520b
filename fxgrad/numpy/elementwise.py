"""Elementwise functions. Most are the primitives themselves: NumPy's ufunc on plain arrays, at the cost of one
more Python call. They take operands only; `out=`, `where=` and `dtype=` belong to NumPy's ufuncs (`np.add` on
traced values understands the last two).

Conventions at kinks are those of `ops.elementwise`: |x|′ = 0 at 0, ties of maximum and minimum share the
derivative, steps have derivative 0.
"""

from __future__ import annotations

import builtins
from functools import cache, reduce
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import Aval, is_differentiable
from ..core.errors import DTypeError, ShapeError
from ..core.interpreter import Tracer, as_value, concretize
from ..core.typing import Array, ArrayLike, Axis
from ..ops import operators
from .composite import (
    DIFFERENTIABLE,
    NO_DERIVATIVE,
    ZERO_DERIVATIVE,
    at_axis,
    cast,
    composite,
    dtype_of,
    fill_outside,
    kind,
    normalize_axis,
    operand,
)
from .dtypes import finfo

# -- the primitives, under all their names ------------------------------------------
add, subtract, multiply, negative, positive = ops.add, ops.subtract, ops.multiply, ops.negative, ops.positive
divide = true_divide = ops.divide
floor_divide, fmod, reciprocal = ops.floor_divide, ops.fmod, ops.reciprocal
mod = remainder = ops.remainder
sqrt, square, cbrt = operators.sqrt, operators.square, ops.cbrt
exp, exp2, expm1 = ops.exp, ops.exp2, ops.expm1
log, log2, log10, log1p = ops.log, ops.log2, ops.log10, ops.log1p
logaddexp, logaddexp2 = ops.logaddexp, ops.logaddexp2

sin, cos, tan = ops.sin, ops.cos, ops.tan
asin, acos, atan = arcsin, arccos, arctan = ops.arcsin, ops.arccos, ops.arctan
sinh, cosh, tanh = ops.sinh, ops.cosh, ops.tanh
asinh, acosh, atanh = arcsinh, arccosh, arctanh = ops.arcsinh, ops.arccosh, ops.arctanh
atan2 = arctan2 = ops.arctan2
degrees = rad2deg = ops.degrees
radians = deg2rad = ops.radians

abs = absolute = ops.absolute
fabs, hypot, copysign, signbit = ops.fabs, ops.hypot, ops.copysign, ops.signbit
maximum, minimum, fmax, fmin = ops.maximum, ops.minimum, ops.fmax, ops.fmin
floor, ceil, trunc, rint, heaviside = ops.floor, ops.ceil, ops.trunc, ops.rint, ops.heaviside
nextafter, spacing, ldexp = ops.nextafter, ops.spacing, ops.ldexp
real, imag = ops.real, ops.imag
conj = conjugate = ops.conjugate

equal, not_equal = ops.equal, ops.not_equal
less, less_equal, greater, greater_equal = ops.less, ops.less_equal, ops.greater, ops.greater_equal
isnan, isinf, isfinite = ops.isnan, ops.isinf, ops.isfinite
logical_and, logical_or, logical_xor = ops.logical_and, ops.logical_or, ops.logical_xor
logical_not = ops.logical_not
bitwise_and, bitwise_or, bitwise_xor = ops.bitwise_and, ops.bitwise_or, ops.bitwise_xor
invert = bitwise_invert = bitwise_not = ops.bitwise_not
bitwise_left_shift = left_shift = ops.left_shift
bitwise_right_shift = right_shift = ops.right_shift
gcd, lcm = ops.gcd, ops.lcm


# -- arithmetic ------------------------------------------
def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 raised to x2. A Python number as exponent has the simpler derivative rule.

    The derivative of x⁰ is 0, also at 0, and the square of a root has the derivative of the radicand.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(fx.grad(lambda x: fnp.power(x, 3)))(fnp.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if isinstance(x1, Tracer) and not x1.weak and type(x2) in (int, float) and kind(x1) in "fc":
        return x1**x2
    return ops.power(x1, x2)


pow = power


@composite(np.sign)
def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1, a step; for complex numbers x/|x| (0 at 0), which has a derivative."""
    x = operand(x)
    return ops.unit_vector(x, absolute(x)) if kind(x) == "c" else ops.sign(x)


@composite(np.float_power)
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    dtype = np.result_type(ops.result_dtype([as_value(x1), as_value(x2)]), np.float64)
    return ops.power(cast(operand(x1), dtype), cast(operand(x2), dtype))


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Any, Any]:
    """Return (x1 // x2, x1 % x2)."""
    return floor_divide(x1, x2), remainder(x1, x2)


def to_floating(x: Any) -> Any:
    """Convert an array to the floating-point dtype in which NumPy's ufuncs compute with it."""
    x = operand(x)
    return x if kind(x) in "fc" else add(x, np.float16(0))


@composite(np.modf)
def modf(x: ArrayLike, /) -> tuple[Any, Any]:
    x = to_floating(x)
    whole = trunc(x)
    return copysign(ops.where(isinf(x), 0, subtract(x, whole)), x), whole


@composite(np.frexp)
def frexp(x: ArrayLike, /) -> tuple[Any, Any]:
    """Return (mantissa, exponent) with x = mantissa·2^exponent and the mantissa's modulus in [½, 1)."""
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

    >>> import fxgrad as fx, fxgrad.numpy as fnp
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
    x = absolute(operand(x))
    bits = [bitwise_and(right_shift(x, i), 1) for i in range(dtype_of(x).itemsize * 8)]
    return cast(reduce(add, bits), np.uint8)


@composite(np.packbits)
def packbits(a: ArrayLike, /, axis: Axis = None, bitorder: str = "big") -> Array:
    """Eight truth values along an axis as one uint8."""
    a = operand(a)
    if kind(a) not in "biu":
        raise DTypeError("Expected an input array of integer or boolean data type")
    axis, rows, shape = move_axis_last(a, axis)
    bits = cast(not_equal(rows, 0), np.uint8)
    count = -(-shape[-1] // 8)
    bits = ops.pad(bits, widths=(*((0, 0),) * (len(shape) - 1), (0, 8 * count - shape[-1])))
    places = multiply(
        ops.reshape(bits, shape=(*shape[:-1], count, 8)), np.left_shift(1, bit_shifts(bitorder))
    )
    return ops.move_axis(cast(ops.reduce_sum(places, axes=(len(shape),)), np.uint8), len(shape) - 1, axis)


@composite(np.unpackbits)
def unpackbits(a: ArrayLike, /, axis: Axis = None, count: Any = None, bitorder: str = "big") -> Array:
    """The bits of every uint8 along an axis, `count` of them (or all but so many, if negative)."""
    a = operand(a)
    if dtype_of(a) != np.uint8:
        raise DTypeError("Expected an input array of unsigned byte data type")
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
    if name not in ("big", "little"):
        raise ShapeError("'bitorder' must be either 'little' or 'big'")
    return np.arange(8)[:: -1 if name == "big" else 1]


def move_axis_last(x: Any, axis: Any) -> tuple[int, Any, tuple[int, ...]]:
    """Return the axis, the array with this axis moved to the end, and its shape; None stands for all entries
    in a row."""
    if axis is None:
        x, axis = ops.reshape(x, shape=(x.size,)), 0
    axis = normalize_axis(axis, x.ndim)
    rows = ops.move_axis(x, axis, x.ndim - 1)
    return axis, rows, rows.shape


@composite(np.clip)
def clip(
    a: ArrayLike,
    a_min: ArrayLike = None,
    a_max: ArrayLike = None,
    out: None = None,
    *,
    min: ArrayLike = None,
    max: ArrayLike = None,
) -> Array:
    """Values limited to an interval; where a value equals a limit the two share the derivative.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
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
    return ops.round(operand(a), decimals=decimals)


around = round


@composite(np.fix, derivative=ZERO_DERIVATIVE)
def fix(x: ArrayLike, out: None = None) -> Array:
    return trunc(operand(x))


@composite(np.nan_to_num)
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: ArrayLike = None, neginf: ArrayLike = None
) -> Array:
    """NaN and infinities replaced by numbers; the derivative is 0 where that happens. Never in place."""
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


@composite(np.angle)
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The argument of complex numbers, in radians unless `deg`."""
    result = ops.angle(operand(z))
    return multiply(result, 180 / np.pi) if deg else result


@composite(np.real_if_close)
def real_if_close(a: ArrayLike, tol: Any = 100) -> Array:
    """Real parts, where all imaginary parts are near 0, which must be known."""
    a = operand(a)
    known = concretize(a, "real_if_close") if kind(a) == "c" else None
    return a if known is None or np.iscomplexobj(np.real_if_close(known, tol)) else real(a)


# -- tests ------------------------------------------
@composite(np.isclose, derivative=NO_DERIVATIVE)
def isclose(a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Array:
    a, b = operand(a), operand(b)
    b = cast(b, np.result_type(dtype_of(b), 1.0))
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    result = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(result, logical_and(isnan(a), isnan(b))) if equal_nan else result


@composite(np.allclose, derivative=NO_DERIVATIVE)
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Array:
    return all_hold(isclose(a, b, rtol, atol, equal_nan))


@composite(np.array_equal, derivative=NO_DERIVATIVE)
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    a1, a2 = operand(a1), operand(a2)
    if a1.shape != a2.shape:
        return False
    same = equal(a1, a2)
    return all_hold(logical_or(same, logical_and(isnan(a1), isnan(a2))) if equal_nan else same)


@composite(np.array_equiv, derivative=NO_DERIVATIVE)
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
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
    return logical_and(isinf(x), logical_not(signbit(x)))


@composite(np.isneginf, derivative=NO_DERIVATIVE)
def isneginf(x: ArrayLike, out: None = None) -> Array:
    return logical_and(isinf(x), signbit(x))


@composite(np.isreal, derivative=NO_DERIVATIVE)
def isreal(x: ArrayLike) -> Array:
    return equal(imag(operand(x)), 0)


@composite(np.iscomplex, derivative=NO_DERIVATIVE)
def iscomplex(x: ArrayLike) -> Array:
    return not_equal(imag(operand(x)), 0)


def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype is complex, whatever the values."""
    return kind(as_value(x)) == "c"


__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "allclose", "angle", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "around", "array_equal", "array_equiv", "asin", "asinh", "atan", "atan2",
    "atanh", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "clip", "conj", "conjugate", "copysign", "cos",
    "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs", "fix",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal",
    "heaviside", "hypot", "imag", "invert", "isclose", "iscomplex", "iscomplexobj", "isfinite", "isinf",
    "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "mod", "modf", "multiply", "nan_to_num", "negative",
    "nextafter", "not_equal", "packbits", "positive", "pow", "power", "rad2deg", "radians", "real", "real_if_close",
    "reciprocal",
    "remainder", "right_shift", "rint", "round", "sign", "signbit", "sin", "sinc", "sinh", "spacing", "sqrt",
    "square", "subtract", "tan", "tanh", "true_divide", "trunc", "unpackbits",
]  # fmt: skip


def derivative_note(primitive: Any) -> str:
    """Return what the docstring of a primitive says of its derivative."""
    if builtins.any(rule is not None for rule in primitive.partials):
        return DIFFERENTIABLE
    try:
        result = primitive.abstract_eval([Aval((), np.dtype(float))] * len(primitive.partials), {})
    except TypeError:  # of integers only
        return NO_DERIVATIVE
    return ZERO_DERIVATIVE if is_differentiable(result.dtype) else NO_DERIVATIVE


for _name in __all__:
    if globals()[_name].__doc__ is None:
        globals()[_name].__doc__ = f"As `numpy.{_name}`, {derivative_note(globals()[_name].primitive)}."
    if hasattr(globals()[_name], "primitive"):
        globals()[_name].__module__ = __name__.rpartition(".")[0]  # where pickle finds it, and users do
