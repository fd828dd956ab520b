"""Elementwise primitives, each with one derivative rule for every operand.

A rule (t, y, *operands) gives t·∂y/∂operand. It serves forward and reverse mode, and complex numbers in JAX's
convention, because results are projected to real operands. If a rule returns `Masked(…, mask)`, the derivative is
structurally zero outside the mask (see `masked`).

Conventions at kinks: |x|′ = 0 at 0; ties of maximum and minimum share the derivative; steps (sign, floor, round)
have derivative 0 everywhere. x⁰ has derivative 0 in x also at 0, and ∂xᵖ/∂p = 0 at x = 0 for p > 0.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..core import arrays
from ..core.aval import aval_of
from ..core.common_errors import no_kernel
from ..core.errors import NotDifferentiableError
from ..kernels import conversion
from ..kernels.power import real_power
from ..kernels.selection import where_kernel
from .kinds import elementwise, namespace_function
from .masked import Masked

LN2, LN10 = math.log(2), math.log(10)

# -- arithmetic ------------------------------------------
add = elementwise("add", lambda t, y, a, b: t, lambda t, y, a, b: t, linear=(0, 1), finite=True, symbol="+")
subtract = elementwise(
    "subtract", lambda t, y, a, b: t, lambda t, y, a, b: negative(t), linear=(0, 1), finite=True, symbol="-"
)
multiply = elementwise(
    "multiply", lambda t, y, a, b: t * b, lambda t, y, a, b: t * a, linear=(0, 1), jointly=False, symbol="*"
)
divide = elementwise(
    "divide", lambda t, y, a, b: t / b, lambda t, y, a, b: negative(t * (y / b)), linear=(0,), symbol="/"
)
negative = elementwise("negative", lambda t, y, x: negative(t), linear=(0,), finite=True, symbol="-")
positive = elementwise("positive", lambda t, y, x: t, linear=(0,), finite=True)
power = elementwise(
    "power",
    lambda t, y, x, p: Masked(t * (p * power(x, p - 1)), not_equal(p, 0)),
    lambda t, y, x, p: Masked(t * (y * log(x)), logical_or(not_equal(x, 0), less_equal(p, 0))),
    kernel=namespace_function("power", "pow"),
    symbol="**",
)
square = elementwise("square", lambda t, y, x: t * (2 * x))
reciprocal = elementwise("reciprocal", lambda t, y, x: negative(t * (y * y)))
floor_divide = elementwise("floor_divide", None, None, symbol="//")
remainder = elementwise(
    "remainder", lambda t, y, a, b: t, lambda t, y, a, b: negative(t * floor_divide(a, b)), symbol="%"
)
fmod = elementwise("fmod", lambda t, y, a, b: t, lambda t, y, a, b: negative(t * trunc(a / b)))


def static_power_kernel(xp: Any) -> Any:
    def static_power(x: Any, *, p: Any) -> Any:
        if type(x) is np.ndarray and x.dtype.kind == "f":
            return real_power(x, p)
        try:
            return x**p
        except (ZeroDivisionError, OverflowError):  # of Python's numbers, where a derivative may be infinite
            if isinstance(x, (np.ndarray, np.generic)):
                raise
            with np.errstate(all="ignore"):
                return np.power(x * 1.0, p).item()

    return static_power


# xᵖ for a Python number p: the common case, with the simpler rule.
static_power = elementwise(
    "static_power",
    lambda t, y, x, *, p: (
        t
        if p == 1
        else t * (2 * x)
        if p == 2
        else Masked(t * x, False)
        if p == 0
        else t * (p * static_power(x, p=p - 1))
    ),
    kernel=static_power_kernel,
    static=("p",),
)

# -- exponentials and logarithms ------------------------------------------
exp = elementwise("exp", lambda t, y, x: t * y)
exp2 = elementwise("exp2", lambda t, y, x: t * (y * LN2))
expm1 = elementwise("expm1", lambda t, y, x: t * exp(x))  # y + 1 loses what y near −1 has lost
log = elementwise("log", lambda t, y, x: t / x)
log2 = elementwise("log2", lambda t, y, x: t / (x * LN2))
log10 = elementwise("log10", lambda t, y, x: t / (x * LN10))
log1p = elementwise("log1p", lambda t, y, x: t / (1 + x))
sqrt = elementwise("sqrt", lambda t, y, x: t / (2 * y))
cbrt = elementwise("cbrt", lambda t, y, x: t / (3 * (y * y)))


def half_where_tied(a: Any, b: Any, share: Any) -> Any:
    """Return `share`, but ½ where both operands are the same infinity."""
    return where(logical_and(equal(a, b), isinf(a)), 0.5, share)


def stable_logistic(x: Any, exp: Any) -> Any:
    """Compute 1/(1 + e⁻ˣ) from an exponential of at most 1, so that no derivative overflows."""
    ahead = greater_equal(x, 0)
    e = exp(where(ahead, negative(x), x))
    return where(ahead, 1.0, e) / (1 + e)


# d/da log(eᵃ + eᵇ) = 1/(1 + eᵇ⁻ᵃ), without losing ties at ±∞.
logaddexp = elementwise(
    "logaddexp",
    lambda t, y, a, b: t * half_where_tied(a, b, stable_logistic(a - b, exp)),
    lambda t, y, a, b: t * half_where_tied(a, b, stable_logistic(b - a, exp)),
)
logaddexp2 = elementwise(
    "logaddexp2",
    lambda t, y, a, b: t * half_where_tied(a, b, stable_logistic(a - b, exp2)),
    lambda t, y, a, b: t * half_where_tied(a, b, stable_logistic(b - a, exp2)),
)


# -- trigonometric and hyperbolic ------------------------------------------
def one_minus_square(x: Any) -> Any:
    """Compute 1 − x², exact to rounding also near ±1, with a derivative −2x that is exact also near 0."""
    return with_derivative_of((1 - x) * (1 + x), 1 - x * x)


# Complex x is divided by the factors one after another, since their product overflows to NaN. On a branch cut the
# sign of a zero tells the side: a number is subtracted, which leaves the other part alone, where 1 + x and 1 − x make
# +0 of −0.
def div_by_one_minus_square(t: Any, x: Any) -> Any:
    """t/(1 − x²)."""
    return t / (1 - x) / (1 + x) if is_complex(x) else t / one_minus_square(x)


def div_by_root(t: Any, x: Any) -> Any:
    """t/√(1 − x²)."""
    if is_complex(x):
        return t / sqrt(negative(x - 1)) / sqrt(x - (-1))
    return t / sqrt(one_minus_square(x))


sin = elementwise("sin", lambda t, y, x: t * cos(x))
cos = elementwise("cos", lambda t, y, x: negative(t * sin(x)))
tan = elementwise("tan", lambda t, y, x: t * (1 + y * y))
arcsin = elementwise("arcsin", lambda t, y, x: div_by_root(t, x), kernel=namespace_function("asin", "arcsin"))
arccos = elementwise(
    "arccos", lambda t, y, x: negative(div_by_root(t, x)), kernel=namespace_function("acos", "arccos")
)
arctan = elementwise(
    "arctan",
    lambda t, y, x: div_by_one_minus_square(t, x * 1j) if is_complex(x) else t / (1 + x * x),
    kernel=namespace_function("atan", "arctan"),
)
sinh = elementwise("sinh", lambda t, y, x: t * cosh(x))
cosh = elementwise("cosh", lambda t, y, x: t * sinh(x))
tanh = elementwise("tanh", lambda t, y, x: t * (1 - y * y))
arcsinh = elementwise(
    "arcsinh",
    lambda t, y, x: div_by_root(t, multiply_by_i(x)) if is_complex(x) else t / hypot(x, 1.0),
    kernel=namespace_function("asinh", "arcsinh"),
)
arccosh = elementwise(
    "arccosh",
    lambda t, y, x: t / (sqrt(x - 1) * sqrt(x - (-1))),
    kernel=namespace_function("acosh", "arccosh"),
)
arctanh = elementwise(
    "arctanh", lambda t, y, x: div_by_one_minus_square(t, x), kernel=namespace_function("atanh", "arctanh")
)
# Divided twice by the modulus, not by its square, which overflows; NaN at the origin, where no derivative exists.
arctan2 = elementwise(
    "arctan2",
    lambda t, y, a, b: t * (b / hypot(a, b) / hypot(a, b)),
    lambda t, y, a, b: negative(t * (a / hypot(a, b) / hypot(a, b))),
    kernel=namespace_function("atan2", "arctan2"),
)
degrees = elementwise("degrees", lambda t, y, x: t * (180 / math.pi), linear=(0,), finite=True)
radians = elementwise("radians", lambda t, y, x: t * (math.pi / 180), linear=(0,), finite=True)


# -- special functions ------------------------------------------
@cache
def bessel_nodes(order: int) -> list[tuple[float, float]]:
    """(cos θ − 1, weight) of the midpoint rule for Poisson's integral of I_n (DLMF 10.32.2). It converges
    geometrically, all its terms are positive, and 120 nodes are exact to rounding until eˣ overflows."""
    angles = (np.arange(120) + 0.5) * (math.pi / 120)
    weights = np.sin(angles) ** (2 * order) * (math.sqrt(math.pi) / 120 / math.gamma(order + 0.5))
    return list(zip((np.cos(angles) - 1).tolist(), weights.tolist()))


def bessel_i_kernel(xp: Any) -> Any:
    def bessel_i(x: Any, *, order: int) -> Any:
        if xp is np and order == 0:
            return np.i0(x)
        size = xp.abs(x * 1.0)
        total = sum(weight * xp.exp(size * rate) for rate, weight in bessel_nodes(order))
        total = xp.where(total == 0, xp.ones_like(total), total)  # where eˣ has long overflowed
        return (x * 0.5) ** order * (xp.exp(size) * total)

    return bessel_i


# The modified Bessel function I_n; its derivative is the mean of its two neighbours (DLMF 10.29.1), which is exact
# also at and near 0, at every order.
bessel_i = elementwise(
    "bessel_i",
    lambda t, y, x, *, order: (
        t * bessel_i(x, order=1)
        if order == 0
        else t * (0.5 * (bessel_i(x, order=order - 1) + bessel_i(x, order=order + 1)))
    ),
    kernel=bessel_i_kernel,
    static=("order",),
)


# -- magnitude and choice ------------------------------------------


def unit_vector_kernel(xp: Any) -> Any:
    def unit_vector(x: Any, length: Any) -> Any:
        length = xp.where(length == 0, xp.inf, length)
        if xp is np and np.iscomplexobj(x) and not np.iscomplexobj(length):
            y = np.empty(np.broadcast_shapes(np.shape(x), np.shape(length)), np.result_type(x, length))
            y.real, y.imag = x.real / length, x.imag / length
            return y[()]
        return x / length  # of complex numbers without subnormal ones, whose reciprocal is infinite

    return unit_vector


# x / |x|, and by convention 0 at 0: the first derivative of norms. Its own derivative at 0 is NaN: none exists.
unit_vector = elementwise(
    "unit_vector",
    lambda t, y, x, n: t / n,
    lambda t, y, x, n: negative(t * (y / n)),
    kernel=unit_vector_kernel,
)
# The sign of complex numbers is not a step: its derivative is that of `unit_vector`.
absolute = elementwise(
    "absolute",
    lambda t, y, x: t * (conjugate(unit_vector(x, y)) if is_complex(x) else sign(x)),
    kernel=namespace_function("abs", "absolute"),
)


def sign_partial(x: Any) -> None:
    """A step has no derivative to hand on, but the sign x/|x| of complex numbers has one, of another form."""
    if is_complex(x):
        raise NotDifferentiableError("sign of complex numbers has no derivative rule", hint="x / abs(x)")


fabs = elementwise("fabs", lambda t, y, x: t * sign(x), kernel=namespace_function("fabs", "abs"))
sign = elementwise("sign", lambda t, y, x: sign_partial(x))
hypot = elementwise(
    "hypot", lambda t, y, a, b: t * unit_vector(a, y), lambda t, y, a, b: t * unit_vector(b, y)
)
copysign = elementwise(
    "copysign", lambda t, y, a, b: t * copysign(copysign(1.0, a), copysign(1.0, a) * b), None
)


def halve_ties(t: Any, a: Any, b: Any) -> Any:
    """Halve `t` where a and b tie."""
    return where(equal(a, b), t * 0.5, t)


maximum = elementwise(
    "maximum",
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_not(less(a, b))),
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_not(less(b, a))),
    finite=True,
)
minimum = elementwise(
    "minimum",
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_not(less(b, a))),
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_not(less(a, b))),
    finite=True,
)
fmax = elementwise(
    "fmax",
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_or(greater_equal(a, b), isnan(b))),
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_or(greater_equal(b, a), isnan(a))),
    finite=True,
)
fmin = elementwise(
    "fmin",
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_or(less_equal(a, b), isnan(b))),
    lambda t, y, a, b: Masked(halve_ties(t, a, b), logical_or(less_equal(b, a), isnan(a))),
    finite=True,
)
where = elementwise(
    "where",
    None,
    lambda t, y, c, a, b: Masked(t, c),
    lambda t, y, c, a, b: Masked(t, logical_not(c)),
    kernel=where_kernel,
    linear=(1, 2),
    finite=True,
)

# -- steps: derivative 0 ------------------------------------------
floor = elementwise("floor", None)
ceil = elementwise("ceil", None)
trunc = elementwise("trunc", None)
rint = elementwise("rint", None, kernel=namespace_function("rint", "round"))
heaviside = elementwise("heaviside", None, None)
nextafter = elementwise("nextafter", None, None)
ldexp = elementwise("ldexp", lambda t, y, x, i: ldexp(t, i), None, linear=(0,))


def spacing_kernel(xp: Any) -> Any:
    if hasattr(xp, "spacing"):
        return xp.spacing
    if not hasattr(xp, "nextafter"):
        raise no_kernel("spacing", xp)
    return lambda x: xp.copysign(xp.nextafter(xp.abs(x), xp.full_like(x, math.inf)) - xp.abs(x), x)


spacing = elementwise("spacing", None, kernel=spacing_kernel)


def round_kernel(xp: Any) -> Any:
    return lambda x, *, decimals: xp.round(x, decimals) if decimals else xp.round(x)


round = elementwise("round", None, kernel=round_kernel, static=("decimals",))

# -- complex ------------------------------------------
# As maps of real and imaginary parts these are linear; the projection to real operands takes real parts.


def is_complex(x: Any) -> bool:
    return aval_of(x).dtype.kind == "c"


def multiply_by_i(t: Any) -> Any:
    """Compute i·t, without the product of an infinite part and 0."""
    return make_complex(negative(imag(t)), real(t))


def multiply_by_minus_i(t: Any, x: Any) -> Any:
    """Compute −i·t; for a real x its real part, which is 0."""
    return negative(multiply_by_i(t)) if is_complex(x) else t * 0.0


real = elementwise("real", lambda t, y, x: t, linear=(0,), finite=True)
imag = elementwise("imag", lambda t, y, x: multiply_by_minus_i(t, x), linear=(0,), finite=True)
conjugate = elementwise(
    "conjugate", lambda t, y, x: conjugate(t), kernel=namespace_function("conj"), linear=(0,), finite=True
)


def angle_kernel(xp: Any) -> Any:
    return xp.angle if hasattr(xp, "angle") else lambda x: xp.atan2(xp.imag(x), xp.real(x))


angle = elementwise("angle", lambda t, y, x: multiply_by_minus_i(t, x) / x, kernel=angle_kernel)


def make_complex_kernel(xp: Any) -> Any:
    if xp is not np:
        return lambda a, b: xp.add(a, xp.multiply(b, 1j))

    def make_complex(a: Any, b: Any) -> Any:
        """Set the parts one by one: in a + b·1j an infinite b would make the real part NaN."""
        z = np.empty(np.broadcast_shapes(np.shape(a), np.shape(b)), np.result_type(a, b, 1j))
        z.real, z.imag = a, b
        return z[()]

    return make_complex


make_complex = elementwise(
    "make_complex",
    lambda t, y, a, b: t,
    lambda t, y, a, b: multiply_by_i(t),
    kernel=make_complex_kernel,
    linear=(0, 1),
    finite=True,
)


# -- dtype and identity ------------------------------------------


def conversion_kernel(xp: Any) -> Any:
    def convert(x: Any, *, dtype: Any) -> Any:
        if type(x) in (bool, int, float, complex):
            return np.asarray(x).astype(dtype)[()]
        if xp is np:
            return conversion.convert(x, dtype)
        return xp.astype(x, arrays.dtype_in(xp, dtype))

    return convert


convert = elementwise(
    "convert",
    lambda t, y, x, *, dtype: t,
    kernel=conversion_kernel,
    linear=(0,),
    finite=True,
    static=("dtype",),
)
# A result of Python arithmetic among traced Python scalars is weak, as it is among plain ones.
weaken = elementwise(
    "weaken",
    lambda t, y, x: t,
    linear=(0,),
    finite=True,
    kernel=lambda xp: lambda x: x.item() if hasattr(x, "item") and x.ndim == 0 else x,
)
stop_gradient = elementwise("stop_gradient", None, kernel=lambda xp: lambda x: x)
# The value itself, under a name by which policies of `checkpoint` know it.
checkpoint_name = elementwise(
    "checkpoint_name",
    lambda t, y, x, *, label: t,
    kernel=lambda xp: lambda x, *, label: x,
    linear=(0,),
    finite=True,
    static=("label",),
)


def with_derivative_kernel(xp: Any) -> Any:
    def with_derivative_of(value: Any, model: Any) -> Any:
        shape = getattr(model, "shape", ())
        have = getattr(value, "shape", ())
        return value if have == shape else xp.broadcast_to(value, np.broadcast_shapes(have, shape))

    return with_derivative_of


# The value of the first operand with the derivative of the second: for quantities that are equal in exact
# arithmetic, but of which only the second has a derivative formula without 0/0 (norm(x)², for one).
with_derivative_of = elementwise(
    "with_derivative_of",
    None,
    lambda t, y, value, model: t,
    kernel=with_derivative_kernel,
    linear=(1,),
    finite=True,
)

# -- comparison, logic, bits ------------------------------------------
equal = elementwise("equal", None, None, symbol="==")
not_equal = elementwise("not_equal", None, None, symbol="!=")
less = elementwise("less", None, None, symbol="<")
less_equal = elementwise("less_equal", None, None, symbol="<=")
greater = elementwise("greater", None, None, symbol=">")
greater_equal = elementwise("greater_equal", None, None, symbol=">=")
isnan = elementwise("isnan", None)
isinf = elementwise("isinf", None)
isfinite = elementwise("isfinite", None)
signbit = elementwise("signbit", None)
logical_not = elementwise("logical_not", None)
logical_and = elementwise("logical_and", None, None)
logical_or = elementwise("logical_or", None, None)
logical_xor = elementwise("logical_xor", None, None)
bitwise_and = elementwise("bitwise_and", None, None, symbol="&")
bitwise_or = elementwise("bitwise_or", None, None, symbol="|")
bitwise_xor = elementwise("bitwise_xor", None, None, symbol="^")
bitwise_not = elementwise(
    "bitwise_not", None, kernel=namespace_function("bitwise_invert", "invert"), symbol="~"
)
left_shift = elementwise(
    "left_shift", None, None, kernel=namespace_function("bitwise_left_shift", "left_shift"), symbol="<<"
)
right_shift = elementwise(
    "right_shift", None, None, kernel=namespace_function("bitwise_right_shift", "right_shift"), symbol=">>"
)
gcd = elementwise("gcd", None, None)
lcm = elementwise("lcm", None, None)
