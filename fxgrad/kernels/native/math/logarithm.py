"""Logarithms: log x = k·ln 2 + log(1 + f) with x = 2ᵏ·(1 + f), √½ ≤ 1 + f < √2.

Polynomials are minimax, computed by Remez's algorithm with 45 digits; they take no division.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir import Value, fma, polynomial
from .declare import function, inline
from .exponential import LN2, falling
from .formats import (
    bits_of,
    format_of,
    guard,
    invalid,
    is_outside,
    is_tiny,
    number_bits,
    number_of,
    pole,
    size_bits,
    with_bits,
)

# (log(1 + f) − f + f²/2)/f³, to 2⁻⁵⁷ and 2⁻³⁰ of log(1 + f)
LOGARITHM = {
    "double": (0.3333333333333314, -0.2499999999998796, 0.20000000000066695, -0.16666666669830418,
               0.1428571428007264, -0.12499999691033571, 0.11111111148670966, -0.10000015224732019,
               0.09090923902833468, -0.0833291306962792, 0.07691530047641328, -0.07149446487937564,
               0.06684591510161056, -0.061966206127749064, 0.056683220660991254, -0.05678019258153491,
               0.06503823616510872, -0.059813903069642786, 0.026145562626730432),
    "float": (0.33333313, -0.2500001, 0.2000212, -0.16668, 0.14219512, -0.124054864, 0.118883684,
              -0.11676434, 0.067471474),
}  # fmt: skip


def split(x: Value) -> tuple[Value, Value]:
    """Return k as bits and f of a normal positive x."""
    number, root = format_of(x), number_bits(x, math.sqrt(0.5))
    bits = bits_of(x)
    k = (bits - root) >> number.digits
    return k, with_bits(bits - (k << number.digits)) - 1.0


def log_of_sum(f: Value, k: Value, rest: Value | None = None) -> Value:
    """log(1 + f) + k·ln 2 + rest."""
    high, low = LN2[f.type.element]
    tail = f * fma(f, polynomial(f, LOGARITHM[f.type.element]), -0.5)
    return fma(k, high, f + fma(f, tail, k * low if rest is None else fma(k, low, rest)))


@function
def log(x: Value) -> Value:
    """The natural logarithm, to 1 ulp."""
    return logarithm(x, log_of_sum)


def logarithm(x: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """Return combine(f, k) for positive normal x, and the values of the logarithm elsewhere."""
    number = format_of(x)
    rare = is_outside(x, number.least_normal, number.infinity)
    k, f = split(guard(rare, 1.0, x))
    return x.function.rarely(rare, combine(f, number_of(k)), lambda: exceptional(x, combine))


def exceptional(x: Value, combine: Callable[[Value, Value], Value]) -> Value:
    """A logarithm anywhere: of subnormal numbers after scaling, and at the ends of its domain."""
    up = format_of(x).digits + 2
    passing = x.is_nan() | x.equals(math.inf)
    positive = ~passing & (bits_of(x) > 0)
    tiny = positive & (bits_of(x) < format_of(x).least_normal)
    scaled = tiny.select(guard(~tiny, 1.0, x) * 2.0**up, x)
    k, f = split(positive.select(scaled, 1.0))
    k = number_of(k)
    y = passing.select(x, combine(f, tiny.select(k - float(up), k)))
    zero = size_bits(x).compare("==", 0)
    return invalid(~passing & ~positive & ~zero, pole(zero, y, -1.0))


def log_above_one(u: Value, rest: Value | None = None) -> Value:
    """log(1 + u + rest): f = u·2⁻ᵏ + (2⁻ᵏ − 1) is rounded once at most, without a division."""
    k, _ = split(u + 1.0)
    down = with_bits(format_of(u).one - (k << format_of(u).digits))
    f = fma(u, down, down - 1.0)
    if rest is not None:  # times 1/(1 + f), near enough
        rest = rest * down * (1.0 - f)
    return log_of_sum(f, number_of(k), rest)


@function
def log1p(x: Value) -> Value:
    """log(1 + x), to 1.5 ulp."""
    high = 2.0 ** (format_of(x).digits + 4)
    rare, tiny = ~((x > -1.0) & (x < high)), is_tiny(x, 1)
    y = tiny.select(x, log_above_one(guard(rare | tiny, 0.0, x)))

    def far() -> Value:
        large = (x >= high).select(x, 1.0).call("log")
        y = x.is_nan().select(x, large)
        return invalid(x < -1.0, pole(x.equals(-1.0), y, -1.0))

    return x.function.rarely(rare, y, far)


# -- logarithms to other bases: log(1 + f)/log b = f·c + f²·p(f)·c with c = 1/log b in two parts
BASES = {
    ("log2", "double"): (1.4426950408889634, 2.0355273740931033e-17, 1.0, 0.0),
    ("log2", "float"): (1.4426950216293335, 1.9259629911266175e-08, 1.0, 0.0),
    ("log10", "double"): (0.4342944819032518, 1.098319650216765e-17, 0.3010299956639812, -2.8037281277851704e-18),
    ("log10", "float"): (0.4342944920063019, -1.0103050052231683e-08, 0.3010300099849701, -1.4320988897559699e-08),
}  # fmt: skip


def log_to_base(name: str, f: Value, k: Value) -> Value:
    """The logarithm of (1 + f)·2ᵏ to the base that `name` says."""
    head, rest, two, two_rest = BASES[name, f.type.element]
    product = f * head
    lost = fma(f, head, -product) + f * rest
    bend = f * (f * fma(f, polynomial(f, LOGARITHM[f.type.element]), -0.5)) * head
    if two_rest:
        lost = fma(k, two_rest, lost)
    whole = k * two
    total = whole + product
    lost = (whole - total) + product + lost + (fma(k, two, -whole) if two_rest else 0.0)
    return total + (bend + lost)


@function
def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return logarithm(x, lambda f, k: log_to_base("log2", f, k))


@function
def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    return logarithm(x, lambda f, k: log_to_base("log10", f, k))


# -- logarithms of sums of exponentials ------------------------------------------
@inline("f")
def softplus(x: Value) -> Value:
    """log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)."""
    return ((x > 0.0) | x.is_nan()).select(x, 0.0) + falling(x).call("log1p")


def not_a_number(x: Value, y: Value) -> Value:
    """Return y, but NaN where x is NaN, with the flag that NumPy's scalar comparisons raise there."""
    return x.function.rarely(x.is_nan(), y, lambda: invalid(x.is_nan(), y))


@function
def logaddexp(x: Value, y: Value) -> Value:
    """log(eˣ + eʸ)."""
    same = x.equals(y)
    difference = same.select(0.0, x) - same.select(0.0, y)
    larger = (x > y).select(x, y)
    total = larger + falling(difference).call("log1p")
    return not_a_number(difference, total)


@function
def logaddexp2(x: Value, y: Value) -> Value:
    """log2(2ˣ + 2ʸ)."""
    same = x.equals(y)
    difference = same.select(0.0, x) - same.select(0.0, y)
    larger = (x > y).select(x, y)
    e = (-difference.intrinsic("fabs")).call("exp2")
    total = larger + e.call("log1p") * (1 / math.log(2))
    return not_a_number(difference, total)


# -- inverse hyperbolic functions ------------------------------------------
@function
def arcsinh(x: Value) -> Value:
    """log(1 + |x| + x²/(1 + √(1 + x²))) with the sign of x."""
    size = x.intrinsic("fabs")
    high = 2.0 ** (format_of(x).digits // 2 + 4)
    rare, tiny = ~(size < high), is_tiny(x, 2)
    safe = guard(rare | tiny, 0.0, size)
    more = safe * safe / (fma(safe, safe, 1.0).intrinsic("sqrt") + 1.0)
    u = safe + more
    y = log_above_one(u, (safe - u) + more).intrinsic("copysign", x)

    def far() -> Value:
        return (rare.select(size, 1.0).call("log") + math.log(2)).intrinsic("copysign", x)

    return x.function.rarely(rare, tiny.select(x, y), far)


@function
def arccosh(x: Value) -> Value:
    """log(1 + t + √(t² + 2t)) with t = x − 1."""
    high = 2.0 ** (format_of(x).digits // 2 + 4)
    rare = ~((x >= 1.0) & (x < high))
    t = guard(rare, 1.0, x) - 1.0
    root = fma(t, t, 2.0 * t).intrinsic("sqrt")
    u = t + root
    large, small = (t > root).select(t, root), (t > root).select(root, t)
    y = log_above_one(u, (large - u) + small)

    def far() -> Value:
        large = x.is_nan().select(x, (x >= high).select(x, 1.0).call("log") + math.log(2))
        return invalid(x < 1.0, large)

    return x.function.rarely(rare, y, far)


@function
def arctanh(x: Value) -> Value:
    """½·log(1 + 2|x|/(1 − |x|)) with the sign of x."""
    size = x.intrinsic("fabs")
    rare, tiny = ~(size < 1.0), is_tiny(x, 2)
    safe = guard(rare | tiny, 0.0, size)
    below = 1.0 - safe
    lost = (1.0 - below) - safe
    inverse = 1.0 / below
    u = 2.0 * safe * inverse
    rest = fma(-u, below, 2.0 * safe) - u * lost
    y = tiny.select(x, (0.5 * log_above_one(u, rest * inverse)).intrinsic("copysign", x))

    def far() -> Value:
        return invalid(size > 1.0, pole(size.equals(1.0), x)).intrinsic("copysign", x)

    return x.function.rarely(rare, y, far)
