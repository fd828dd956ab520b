"""The gamma function: log |Γ| and the first two derivatives of log Γ.

Arguments below 10 are shifted near 2 by Γ(x + 1) = x·Γ(x), where polynomials are exact also near the zeros of the
function; the factors are collected, so that one logarithm or one division suffices. Larger arguments use the asymptotic
series (Abramowitz and Stegun, 6.1.41, 6.3.18, 6.4.12), and negative ones are reflected (6.1.17, 6.3.7, 6.4.7): their
results near zeros are exact only up to the rounding of the terms. Polynomials interpolate at Chebyshev nodes, with 50
digits.
"""

from __future__ import annotations

import math

from ... import gamma
from ..ir import Value, fma, polynomial
from .declare import function, in_double, inline
from .formats import full_like, guard

# log Γ(2 + z)/z, to 5·10⁻¹⁸, for −¾ ≤ z ≤ ½
LOG_GAMMA = (
    0.42278433509846713, 0.32246703342411326, -0.06735230105319989, 0.02058080842777418, -0.007385551028502159,
    0.002890510331383695, -0.0011927539179523957, 0.0005096695054915424, -0.00022315464669130103,
    9.945783913330653e-05, -4.4927323253898135e-05, 2.0503882702645786e-05, -9.433730911910839e-06,
    4.395623759794621e-06, -2.0532766649484134e-06, 8.781963368636073e-07, -4.5172517222650804e-07,
    3.66529171043464e-07, -1.736660316326268e-08, -7.727327530285385e-08, -1.4427747303509595e-07,
)  # fmt: skip
# ψ(3/2 + t)/(3/2 + t − its zero), to 2·10⁻¹⁷, for |t| ≤ ½
PSI = (
    0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884, 0.09498872445494122,
    -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512, -0.011908218001568644,
    0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769, 0.0015566317474486838,
    -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789, 0.0002272331660987376,
    -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394,
)  # fmt: skip
STEPS = range(8)  # by which what is less than 10 comes near 2


def series(coefficients: tuple[float, ...], x: Value) -> tuple[Value, Value]:
    """Return 1/x and an asymptotic series in 1/x²."""
    inverse = 1.0 / x
    return inverse, polynomial(inverse * inverse, coefficients)


def set_large_aside(x: Value) -> tuple[Value, Value]:
    """Return the mask of large x, and x with 2 in their places."""
    large = ~(x < gamma.LARGE)
    return large, guard(large, 2.0, x)


def nearest_offset(x: Value) -> Value:
    """x less the nearest integer."""
    return x - x.intrinsic("rint")


@function
@in_double
def log_gamma_above(x: Value) -> Value:
    """log Γ(x) for x > 0, to 3 ulp, beside its zeros 1 and 2 as well."""
    large, y = set_large_aside(x)
    product = full_like(x, 1.0)
    for _ in STEPS:
        beyond = y > 2.5
        y = beyond.select(y - 1.0, y)
        product = beyond.select(product * y, product)
    low, below = y < 0.5, y < 1.25
    z = low.select(y, y - below.select(full_like(x, 1.0), 2.0))
    log = large.select(x, low.select(fma(y, y, y), below.select(y, product))).call("log")
    near = fma(z, polynomial(z, LOG_GAMMA), below.select(-log, log))
    inverse, rest = series(gamma.STIRLING, guard(~large, gamma.LARGE, x))
    far = fma(x - 0.5, log - 1.0, fma(inverse, rest, 0.5 * math.log(2 * math.pi / math.e)))
    return large.select(far, near)


@function
@in_double
def log_gamma(x: Value) -> Value:
    """log |Γ(x)|; ∞ at the poles."""
    strange = ~(x > 0.0)
    y = guard(strange, 1.0, x).call("log_gamma_above")

    def reflected() -> Value:
        apart = nearest_offset(guard(~(x.intrinsic("fabs") < math.inf), 0.0, x))
        pole = apart.equals(0.0)
        sine = (guard(pole, 0.5, apart) * math.pi).call("sin").intrinsic("fabs")
        above = guard(x.is_nan() | x.equals(-math.inf), 1.0, 1.0 - x).call("log_gamma_above")
        return x.is_nan().select(x, pole.select(math.inf, (math.pi / sine).call("log") - above))

    return x.function.rarely(strange, y, reflected)


@function
@in_double
def digamma_above(x: Value) -> Value:
    """ψ(x) for x > 0, to 3 ulp, beside its zero as well."""
    large, y = set_large_aside(x)
    low = y < 1.0
    sum_of_inverses, product = low.select(full_like(x, -1.0), 0.0), low.select(y, full_like(x, 1.0))
    y = low.select(y + 1.0, y)
    for _ in STEPS:
        beyond = y > 2.0
        y = beyond.select(y - 1.0, y)
        sum_of_inverses = beyond.select(fma(sum_of_inverses, y, product), sum_of_inverses)
        product = beyond.select(product * y, product)
    zero, rest_of_zero = gamma.PSI_ZERO
    near = fma((y - zero) - rest_of_zero, polynomial(y - 1.5, PSI), sum_of_inverses / product)

    def far() -> Value:
        z = guard(~large, gamma.LARGE, x)
        inverse, rest = series(gamma.PSI_SERIES, z)
        return z.call("log") + inverse * fma(inverse, rest, -0.5)

    return x.function.rarely(large, near, far)


@function
@in_double
def digamma(x: Value) -> Value:
    """ψ = Γ′/Γ; NaN at the poles, but ∓∞ at ±0."""
    strange = ~(x > 0.0)
    y = guard(strange, 1.0, x).call("digamma_above")

    def reflected() -> Value:
        endless = ~(x.intrinsic("fabs") < math.inf)
        apart = nearest_offset(guard(endless, 0.0, x))
        pole = apart.equals(0.0)
        safe = guard(pole, 0.5, apart)
        steep = safe.intrinsic("fabs") > 0.25
        rest = (
            full_like(x, 0.5).intrinsic("copysign", safe) - safe
        )  # whose tangent is exact where cot is small
        tangent = (steep.select(rest, safe) * math.pi).call("tan")
        cotangent = steep.select(tangent, 1.0 / guard(steep, 1.0, tangent))
        y = guard(endless, 1.0, 1.0 - x).call("digamma_above") - math.pi * cotangent
        origin = full_like(x, -math.inf).intrinsic("copysign", -x)
        at_pole = x.equals(0.0).select(origin, math.nan)
        return x.is_nan().select(x, (pole | endless).select(at_pole, y))

    return x.function.rarely(strange, y, reflected)


@function
@in_double
def trigamma_above(x: Value) -> Value:
    """ψ′(x) for x > 0, to 3 ulp: the sum of 1/(x + k)², in pairs, up to where the series holds."""
    large, y = set_large_aside(x)
    total = full_like(x, 0.0)
    for _ in range(5):
        square, next_square = y * y, (y + 1.0) * (y + 1.0)
        total = total + (1.0 / square + 1.0 / next_square)
        y = y + 2.0
    inverse, rest = series(gamma.BERNOULLI, large.select(x, y))
    tail = inverse * (fma(inverse * inverse, rest, 1.0) + 0.5 * inverse)
    return large.select(tail, tail + total)


@function
@in_double
def trigamma(x: Value) -> Value:
    """ψ′, the derivative of digamma; ∞ at the poles."""
    strange = ~(x > 0.0)
    y = guard(strange, 1.0, x).call("trigamma_above")

    def reflected() -> Value:
        apart = nearest_offset(guard(~(x.intrinsic("fabs") < math.inf), 0.0, x))
        pole = apart.equals(0.0)
        ratio = math.pi / (guard(pole, 0.5, apart) * math.pi).call("sin")
        above = guard(x.is_nan() | x.equals(-math.inf), 1.0, 1.0 - x).call("trigamma_above")
        at_pole = x.equals(-math.inf).select(math.nan, full_like(x, math.inf))
        return x.is_nan().select(x, pole.select(at_pole, ratio * ratio - above))

    return x.function.rarely(strange, y, reflected)


POLYGAMMA = ("digamma", "trigamma")  # by the order of the derivative


@inline("f")
def polygamma(x: Value, *, n: int) -> Value:
    """The derivative of order n of ψ."""
    return x.call(POLYGAMMA[n])


polygamma.covers = lambda dtype, *, n: n < len(POLYGAMMA)  # type: ignore[attr-defined]
