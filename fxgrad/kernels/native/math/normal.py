"""Error functions and the normal distribution. Near 0, erf x = x·(1 + q(x²)); elsewhere erfc x = e^(−x²)·r(x), where r
is a quotient.

Coefficients are minimax, computed with 45 digits and more; those of quantiles are in `kernels.special`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ... import special
from ..ir import Value, fma, polynomial
from .declare import function, in_double
from .formats import exceeds, full_like, guard, is_tiny

# erf x/x − 1 in x², to 2⁻⁶³ and 2⁻³⁰ of erf x, for |x| ≤ 1
SERIES = {
    "double": (0.1283791670955126, -0.3761263890318375, 0.11283791670954857, -0.026866170645072903,
               0.005223977624780955, -0.0008548326978747125, 0.00012055331037075004, -1.4925593511015418e-05,
               1.6460972881793106e-06, -1.635002589423797e-07, 1.4657884256679133e-08, -1.1365682624527597e-09,
               5.945289257375883e-11),
    "float": (0.12837917, -0.37612626, 0.112835854, -0.026853813, 0.0051883273, -0.00080101885, 7.853835e-05),
}  # fmt: skip
# e^(x²)·erfc x as a quotient of polynomials, to 2⁻⁵⁴ and 2⁻²⁴ with these digits, for x ≥ ⅓
QUOTIENT = {
    "double": (
        (1.0000000000011517, 2.4822809821857232, 3.0403966077575335, 2.385107321919337, 1.317534530928665,
         0.5339217919779903, 0.16078102276268888, 0.03563611125662817, 0.005600072702757681,
         0.0005699326765004148, 2.917383944378055e-05),
        (1.0, 3.610660149304293, 6.114590299480698, 6.426276261163469, 4.670349609589547, 2.4728593241335637,
         0.9774283279589073, 0.28991402351877577, 0.06366845231173204, 0.009951725069387534,
         0.0010101793672200481, 5.1709284067828073e-05),
    ),
    "float": (
        (1.0000136, 1.3935919, 0.9097927, 0.32066658, 0.055303443),
        (1.0, 2.522122, 2.7549734, 1.6615418, 0.5683674, 0.098022796),
    ),
}  # fmt: skip
SMALL = 1.0  # up to where erf is a polynomial
NEAR = 0.35  # up to where the complement is taken of erf, by its series
LARGEST = {"double": 30.0, "float": 12.0}  # beyond which erfc is 0
FARTHEST = 1e8  # beyond which the quotient is 1/(x·√π)


def series(x: Value, square: Value) -> Value:
    """erf x of |x| ≤ SMALL."""
    return fma(x, polynomial(square, SERIES[x.type.element]), x)


def polynomial_by_parity(x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial as the sum of its even and odd powers: far out this halves the chain of roundings, and that of x²
    affects numerator and denominator alike."""
    square = x * x
    return fma(x, polynomial(square, coefficients[1::2]), polynomial(square, coefficients[::2]))


def quotient(
    size: Value, evaluate: Callable[[Value, Sequence[float]], Value] = polynomial_by_parity
) -> Value:
    """e^(x²)·erfc x for ⅓ ≤ x ≤ FARTHEST."""
    above, below = QUOTIENT[size.type.element]
    return evaluate(size, above) / evaluate(size, below)


def gaussian(square: Value, rest: Value) -> Value:
    """e^−(square + rest), for a square and the error of its rounding."""
    e = (-square).call("exp")
    return fma(e, -rest, e)


def clamp(x: Value, low: float, high: float) -> Value:
    """|x| between two bounds; the upper one for NaN."""
    size = exceeds(x, high).select(high, x.intrinsic("fabs"))
    return guard(~exceeds(x, low), low, size)


@function
def erf(x: Value) -> Value:
    """The error function, to 1 ulp."""
    near, tiny = ~exceeds(x, SMALL), is_tiny(x, 2)
    size = clamp(x, SMALL, 6.5)
    small = guard(~near, 0.0, x)
    flat = guard(tiny, 0.0, small)
    inner = series(small, flat * flat)
    outer = fma(-((-(size * size)).call("exp")), quotient(size, polynomial), 1.0)
    y = near.select(inner, outer.intrinsic("copysign", x))
    return x.is_nan().select(x, y)


def complement(x: Value, size: Value, square: Value, rest: Value, half: bool) -> Value:
    """erfc x, or half of it, for NEAR < |x| < LARGEST, from |x| and x² = square + rest."""
    scale = 0.5 if half else 1.0
    small = guard(exceeds(x, SMALL), 0.0, x)
    inner = scale - series(small, fma(small, small, 2.0**-90)) * scale
    tail = gaussian(square, rest) * (quotient(size) * scale)
    outer = (x < 0.0).select(2.0 * scale - tail, tail)
    return (exceeds(x, NEAR) & ~((x < 0.0) & ~exceeds(x, SMALL))).select(outer, inner)


@function
@in_double
def erfc(x: Value) -> Value:
    """1 − erf x, to 5 ulp also where that is small."""
    size = clamp(x, NEAR, LARGEST[x.type.element])
    square = size * size
    y = complement(x, size, square, fma(size, size, -square), False)
    return x.is_nan().select(x, y)


@function
def normal_cdf(x: Value) -> Value:
    """Φ(x) = erfc(−x/√2)/2, to 5 ulp also in the lower tail: from x²/2, which the rounding of x/√2
    does not touch."""
    root = math.sqrt(0.5)
    size = clamp(x, NEAR / root, LARGEST[x.type.element] / root)
    half = size * 0.5
    square = size * half
    scaled = guard(exceeds(x, 10.0), 10.0, x).intrinsic("copysign", x) * -root
    y = complement(scaled, size * root, square, fma(half, size, -square), True)
    return x.is_nan().select(x, y)


@function
@in_double
def erfcx(x: Value) -> Value:
    """e^(x²)·erfc x, to 5 ulp."""
    near, far, huge = x < NEAR, exceeds(x, FARTHEST), x < -26.63
    inside = guard(~near | huge, 0.0, x)
    square = inside * inside
    growth = square.call("exp")
    inner = fma(growth, fma(inside, inside, -square), growth) * inside.call("erfc")
    outer = quotient(guard(near | far, 1.0, x))
    last = math.sqrt(1 / math.pi) / guard(~far, 1.0, x.intrinsic("fabs"))
    y = near.select(huge.select(math.inf, inner), far.select(last, outer))
    return x.is_nan().select(x, y)


@function
@in_double
def log_normal_cdf(x: Value) -> Value:
    """log Φ(x), also where Φ(x) is below all numbers."""
    low = x < -1.0
    size = guard(~low, 0.0, x.intrinsic("fabs"))
    tail = (size * math.sqrt(0.5)).call("erfcx") * 0.5
    lower = fma(size * -0.5, size, tail.call("log"))
    upper = (-guard(low, 0.0, -x).call("normal_cdf")).call("log1p")
    return x.is_nan().select(x, low.select(lower, upper))


# -- quantiles ------------------------------------------
def quantile(q: Value, tail: Value) -> Value:
    """The inverse of Φ at ½ + q, given also the smaller one of the probabilities ½ ± q."""
    central = 0.180625 - q * q
    inner = q * (polynomial(central, special.CENTRAL[0]) / polynomial(central, special.CENTRAL[1]))
    outer = exceeds(q, 0.425)

    def far() -> Value:
        r = (-guard(~outer, 0.5, tail).call("log")).intrinsic("sqrt")
        t = (r > 5.0).select(r - 5.0, r - 1.6)
        pairs = zip(special.MIDDLE, special.FAR)
        above, beneath = (
            polynomial(t, [(r > 5.0).select(full_like(r, f), m) for m, f in zip(*pair)]) for pair in pairs
        )
        return (above / beneath).intrinsic("copysign", q)

    return q.function.rarely(outer, inner, far)


@function
@in_double
def normal_quantile(p: Value) -> Value:
    """The inverse of the normal distribution function, to 1e-15; ±∞ at 0 and 1."""
    inside = (p > 0.0) & (p < 1.0)
    safe = guard(~inside, 0.5, p)
    y = quantile(safe - 0.5, (safe < 0.5).select(safe, 1.0 - safe))
    end = p.equals(0.0) | p.equals(1.0)
    y = end.select(guard(~end, 1.0, p - 0.5) * math.inf, y)
    return (inside | end).select(y, math.nan)


@function
@in_double
def erf_inv(x: Value) -> Value:
    """The inverse of erf: erf x = 2·Φ(√2·x) − 1, so that no digit of a small x is lost; to 1e-15."""
    size = x.intrinsic("fabs")
    inside = size < 1.0
    safe = guard(~inside, 0.0, x)
    y = quantile(0.5 * safe, 0.5 * (1.0 - safe.intrinsic("fabs"))) * math.sqrt(0.5)
    y = size.equals(1.0).select(guard(~size.equals(1.0), 1.0, x) * math.inf, y)
    return (inside | size.equals(1.0)).select(y, math.nan)
