"""Exponentials: eˣ = 2ⁿ·(1 + s) with n = round(x/ln 2) and s = e^(x − n·ln 2) − 1.

Polynomials are minimax, computed by Remez's algorithm with 45 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ir import Value, fma, polynomial
from .declare import function, inline
from .formats import exceeds, format_of, full_like, guard, is_tiny, power_of_two, round_to_integer, scale

# ln 2 in two parts, of which the first times n is exact in a multiplication with addition.
LN2 = {
    "double": (0.6931471805599453, 2.3190468138462996e-17),
    "float": (0.693147182464599609375, -1.904654323148236017e-9),
}
# (eʳ − 1 − r)/r², to 2⁻⁵⁸ and 2⁻²⁸ of eʳ, for |r| ≤ ln 2/2
EXPONENTIAL = {
    "double": (0.5000000000000012, 0.166666666666667, 0.04166666666651541, 0.008333333333306539,
               0.0013888888947030731, 0.00019841269918731384, 2.480148991670941e-05, 2.755721518207241e-06,
               2.7631292244126645e-07, 2.511819055844609e-08),
    "float": (0.5, 0.16666518, 0.0416662, 0.008368896, 0.0013950801),
}  # fmt: skip
# (2ʳ − 1 − r·ln 2)/r², likewise, for |r| ≤ ½
BINARY = {
    "double": (0.24022650695910133, 0.055504108664821694, 0.009618129107593562, 0.0013333558146385572,
               0.00015403530457864064, 1.5252733863607455e-05, 1.3215434898765273e-06, 1.0178047582151225e-07,
               7.0738493525585186e-09, 4.457264663304997e-10),
    "float": (0.2402265, 0.055503618, 0.009618022, 0.001339046, 0.00015472196),
}  # fmt: skip
# Where 2ⁿ is a normal number; where eˣ overflows or is zero for certain.
NORMAL = {"double": 708.0, "float": 87.0}
ABOVE = {"double": 710.0, "float": 89.0}
BELOW = {"double": -746.0, "float": -104.0}


def reduce(x: Value, least: float = 0.0) -> tuple[Value, Value, Value]:
    """Return x − n·ln 2 as an exact part and a rest, and the bits of n. A `least` that is too small to matter keeps
    the rest from being subnormal."""
    n, bits = round_to_integer(x * (1 / math.log(2)))
    high, low = LN2[x.type.element]
    return fma(n, -high, x), fma(n, -low, least), bits


def bend(lead: Value, rest: Value, coefficients: Sequence[float] = ()) -> Value:
    """eʳ − 1 − lead for r = lead + rest."""
    r = lead + rest
    return fma(r * polynomial(r, coefficients or EXPONENTIAL[r.type.element]), r, rest)


def power(x: Value) -> tuple[Value, Value]:
    """Return eʳ and the bits of n."""
    lead, rest, bits = reduce(x, 2.0**-90)
    return lead + bend(lead, rest) + 1.0, bits


def scale_far(x: Value, n: Value) -> Value:
    """x·2ⁿ where the result may be subnormal or overflow, of n as bits: in two steps."""
    digits = x.type.bits - format_of(x).digits  # where n stands in the bits of shifter + n
    n = (n << digits) >> digits
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def extreme(x: Value, above: float, below: float, compute: Callable[[Value], Value]) -> Value:
    """Return `compute` of x between two bounds; beyond, the result overflows or is zero, ∞ gives ∞, NaN gives NaN."""
    passing = x.is_nan() | x.equals(math.inf)
    x_safe = passing.select(0.0, x)
    x_safe = (x_safe > above).select(above, x_safe)
    x_safe = (x_safe < below).select(below, x_safe)
    return passing.select(x, compute(x_safe))


@function
def exp(x: Value) -> Value:
    """eˣ, to 1 ulp."""
    element = x.type.element
    rare, gone = exceeds(x, NORMAL[element]), x.equals(-math.inf)  # which is what masks put into scores
    y = gone.select(0.0, scale(*power(guard(rare, 0.0, x))))
    return x.function.rarely(
        rare & ~gone, y, lambda: extreme(x, ABOVE[element], BELOW[element], lambda x: scale_far(*power(x)))
    )


def binary_power(x: Value) -> tuple[Value, Value]:
    """Return 2ʳ for r = x − n, and the bits of n."""
    whole, n = round_to_integer(x)
    r = x - whole
    high, low = LN2[x.type.element]
    return fma(r, high, fma(r, low, r * r * polynomial(r, BINARY[x.type.element]))) + 1.0, n


@function
def exp2(x: Value) -> Value:
    """2ˣ, to 1 ulp."""
    limit, below = {"double": (1021.0, -1076.0), "float": (125.0, -151.0)}[x.type.element]
    rare = exceeds(x, limit)
    y = scale(*binary_power(guard(rare, 0.0, x)))
    above = 2.0 * (format_of(x).bias + 1)
    return x.function.rarely(
        rare, y, lambda: extreme(x, above / 2, below, lambda x: scale_far(*binary_power(x)))
    )


@function
def expm1(x: Value) -> Value:
    """eˣ − 1, to 1 ulp."""
    rare, tiny = exceeds(x, NORMAL[x.type.element] * 0.95), is_tiny(x, 1)
    whole, part = less_one(guard(rare | tiny, 0.0, x))
    y = tiny.select(x, whole + part)
    return x.function.rarely(rare, y, lambda: (x < 0.0).select(-1.0, x.call("exp")))


def less_one(x: Value) -> tuple[Value, Value]:
    """eˣ − 1 = (2ⁿ − 1 + 2ⁿ·lead) + 2ⁿ·bend, as these two parts."""
    lead, rest, n = reduce(x)
    unit = scale(full_like(x, 1.0), n)
    return fma(unit, lead, unit - 1.0), unit * bend(lead, rest)


# -- hyperbolic functions ------------------------------------------
# (sinh r − r)/r³ in r², to 2⁻⁶² and 2⁻³⁷ of sinh r, and (cosh r − 1 − r²/2)/r⁴, to 2⁻⁷⁰ and 2⁻³³, for |r| ≤ ln 2/2
SINH = {
    "double": (0.16666666666666677, 0.008333333333321634, 0.00019841269886129137, 2.7557244196441947e-06,
               2.5109044820338318e-08),
    "float": (0.16666667, 0.008333289, 0.00019904932),
}  # fmt: skip
COSH = {
    "double": (0.041666666666666685, 0.0013888888888873435, 2.4801587348861142e-05, 2.7557252136744243e-07,
               2.0921665099962977e-09),
    "float": (0.04166646, 0.0013935439),
}  # fmt: skip


def hyperbolic(x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Return parts of sinh r and cosh r − 1 for r = x − n·ln 2, and the hyperbolic cosine and sine of n·ln 2, for use
    in the addition theorems."""
    lead, rest, bits = reduce(x)
    r = lead + rest
    square = r * r
    sine = fma(r, square * polynomial(square, SINH[x.type.element]), rest)
    cosine = square * fma(square, polynomial(square, COSH[x.type.element]), 0.5)
    half = full_like(x, 0.5)
    up, down = scale(half, bits), scale(half, -bits)
    return lead, sine, cosine, up + down, up - down


def half_power(x: Value) -> Value:
    """eˣ/2 for large x."""

    def compute(x: Value) -> Value:
        y, n = power(x)
        return scale_far(y, n - 1)

    return extreme(x, ABOVE[x.type.element] + 0.7, 0.0, compute)


@function
def sinh(x: Value) -> Value:
    """The hyperbolic sine."""
    rare, tiny = exceeds(x, NORMAL[x.type.element]), is_tiny(x, 2)
    lead, sine, cosine, c, s = hyperbolic(guard(rare | tiny, 0.0, x))
    y = tiny.select(x, fma(c, lead, s) + fma(c, sine, s * cosine))
    return x.function.rarely(rare, y, lambda: half_power(x.intrinsic("fabs")).intrinsic("copysign", x))


@function
def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    rare = exceeds(x, NORMAL[x.type.element])
    lead, sine, cosine, c, s = hyperbolic(guard(rare | is_tiny(x, 2), 0.0, x))
    y = fma(s, lead, c) + fma(s, sine, c * cosine)
    return x.function.rarely(rare, y, lambda: half_power(x.intrinsic("fabs")))


# (tanh x − x)/x³ in x², to 2⁻⁵⁷ and 2⁻²⁸ of tanh x, for |x| ≤ 0.6
TANH = {
    "double": (-0.3333333333333312, 0.1333333333329935, -0.05396825394913829, 0.021869487998668277,
               -0.008863226722327396, 0.0035920368984492038, -0.0014552126907923235, 0.0005871789224628672,
               -0.0002303760129367361, 7.928827517524177e-05, -1.7165083676504557e-05),
    "float": (-0.333333, 0.13331918, -0.053783346, 0.020794159, -0.0058928602),
}  # fmt: skip


@function
def tanh(x: Value) -> Value:
    """A polynomial near 0, and 1 − 2/(e^(2|x|) + 1) elsewhere; to 1.5 ulp."""
    bound = {"double": 20.0, "float": 10.0}[x.type.element]
    size, far = x.intrinsic("fabs"), exceeds(x, 0.6)
    y = 1.0 - 2.0 / (scale(*power(2.0 * guard(exceeds(x, bound), bound, size))) + 1.0)
    small = guard(far, 0.0, size)
    square = fma(small, small, 2.0**-90)
    near = fma(small, square * polynomial(square, TANH[x.type.element]), small)
    return x.is_nan().select(x, far.select(y, near).intrinsic("copysign", x))


# -- the logistic function ------------------------------------------
def falling(x: Value) -> Value:
    """e^−|x|."""
    return (-x.intrinsic("fabs")).call("exp")


@function
def sigmoid(x: Value) -> Value:
    """1/(1 + e⁻ˣ), from an exponential of at most 1."""
    e = falling(x)
    return (x < 0.0).select(e, 1.0) / (e + 1.0)


@function
def sigmoid_slope(x: Value) -> Value:
    """The derivative of sigmoid."""
    e = falling(x)
    return e / ((e + 1.0) * (e + 1.0))


@inline("f")
def silu(x: Value) -> Value:
    """x·sigmoid(x)."""
    return x * x.call("sigmoid")


@function
def silu_slope(x: Value) -> Value:
    """The derivative of silu: s·(1 + x·(1 − s)) with s = sigmoid(x), 0 at −∞."""
    x = (x < -1000.0).select(-1000.0, x)
    x = (x > 80.0).select(80.0, x)
    e = x.call("exp")
    rest = 1.0 / (e + 1.0)
    return e * rest * fma(x, rest, 1.0)
