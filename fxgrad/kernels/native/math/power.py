"""Powers and roots. The logarithm of a base is taken as a sum of two numbers: the exponent magnifies its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ir import Value, fma, polynomial
from .declare import function, inline
from .exponential import LN2, bend, reduce, scale_far
from .formats import (
    exceeds,
    format_of,
    full_like,
    guard,
    invalid,
    is_outside,
    number_of,
    pole,
    round_to_integer,
    scale,
    size_bits,
    with_bits,
)
from .logarithm import split

if TYPE_CHECKING:
    import numpy as np

# (2·artanh s − 2·s − ⅔·s³)/s⁵ in s², to 2⁻⁶⁵ of 2·artanh s, for |s| ≤ (√2 − 1)/(√2 + 1)
ARTANH = (0.4000000000000227, 0.2857142857009225, 0.2222222252129013, 0.18181784242374036, 0.15386763304580123,
          0.13256673625288298, 0.13197710501065602)  # fmt: skip
# For results in float32: (log(1 + f) − f + f²/2)/f³ to 2⁻³⁵ of log(1 + f), and (eʳ − 1 − r)/r² to 2⁻³⁴ of eʳ
SHORT_LOGARITHM = (0.33333333892817324, -0.24999997071320204, 0.1999991120446808, -0.16666855407960207,
                   0.1429017657620579, -0.12498280778999153, 0.11014753051393235, -0.09924568869831234,
                   0.09988733292955262, -0.0986316123552056, 0.053864748805787836)  # fmt: skip
SHORT_EXPONENTIAL = (0.5000000077932869, 0.166666668635863, 0.041666269830976446, 0.008333263714599472,
                     0.0013946082332632228, 0.00019918718722390272)  # fmt: skip
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
# m^(−1/3), to 2⁻¹⁷, for 1 ≤ m ≤ 2
INVERSE_ROOT = (1.781059239586397, -1.566032253261378, 1.2437878700285032, -0.5978726978633772, 0.15607098501064282,
                -0.017018888252156413)  # fmt: skip
LARGEST = 2.0**64  # an exponent so large that it matters no more how large


def sum_in_order(x: Value, y: Value) -> tuple[Value, Value]:
    """Return x + y, rounded, and the error of the rounding, for |x| ≥ |y| or x = 0 (Dekker)."""
    total = x + y
    return total, (x - total) + y


def exact_log(f: Value, k: Value) -> tuple[Value, Value]:
    """Return log(1 + f) + k·ln 2 as the sum of two doubles, to 2⁻⁶⁴: 2·artanh(f/(2 + f))."""
    below, below_rest = sum_in_order(full_like(f, 2.0), f)
    inverse = 1.0 / below
    s = f * inverse
    s_rest = fma(-s, below_rest, fma(-s, below, f)) * inverse
    square = s * s
    square_rest = fma(s, s, -square) + 2.0 * s * s_rest
    cube = s * square
    cube_rest = fma(s, square, -cube) + fma(s, square_rest, s_rest * square)
    third = cube * TWO_THIRDS[0]
    third_rest = fma(cube, TWO_THIRDS[0], -third) + fma(cube, TWO_THIRDS[1], cube_rest * TWO_THIRDS[0])
    high, low = LN2["double"]
    whole = k * high
    whole_rest = fma(k, high, -whole) + k * low
    total, first = sum_in_order(whole, 2.0 * s)
    total, second = sum_in_order(total, third)
    rest = fma(cube * square, polynomial(square, ARTANH), third_rest + fma(s_rest, 2.0, whole_rest))
    return sum_in_order(total, rest + (first + second))


def times_log(y: Value, f: Value, k: Value, exact: bool) -> tuple[Value, Value]:
    """Return y·(log(1 + f) + k·ln 2) as a number and a rest; not `exact` to 2⁻³⁵ only."""
    if not exact:
        tail = f * fma(f, polynomial(f, SHORT_LOGARITHM), -0.5)
        return y * fma(k, LN2["double"][0], fma(f, tail, f)), full_like(f, 0.0)
    log, rest = exact_log(f, k)
    product = y * log
    return product, fma(y, rest, fma(y, log, -product))


def general_power(x: Value, y: Value, exact: bool) -> Value:
    """xʸ = e^(y·log x) of doubles, in the domain of the usual case and elsewhere."""
    number, coefficients = format_of(x), () if exact else SHORT_EXPONENTIAL
    strange = is_outside(x, number.least_normal, number.infinity) | exceeds(y, LARGEST)
    k, f = split(guard(strange, 1.0, x))
    product, rest = times_log(guard(strange, 1.0, y), f, number_of(k), exact)
    rare = strange | exceeds(product, 708.0)
    lead, more, n = reduce(guard(rare, 0.0, product), 2.0**-90)
    if exact:
        more = more + guard(rare, 0.0, rest)
    usual = scale(lead + bend(lead, more, coefficients) + 1.0, n)

    def far() -> Value:
        size = x.intrinsic("fabs")
        tiny = size_bits(x) < number.least_normal
        endless = (size_bits(x) >= number.infinity) | (size_bits(y) >= number.infinity)
        zero = x.equals(0.0)
        scaled = tiny.select(guard(~tiny, 1.0, size) * 2.0**54, size)
        k, f = split(guard(endless | zero, 1.0, scaled))
        k = number_of(k)
        exponent = exceeds(y, LARGEST).select((y < 0.0).select(-LARGEST, full_like(y, LARGEST)), y)
        k = (tiny & ~zero).select(k - 54.0, k)
        product, rest = times_log(guard(endless | zero, 0.0, exponent), f, k, exact)
        beyond = exceeds(product, 800.0)
        product = beyond.select((product < 0.0).select(-746.0, full_like(x, 710.0)), product)
        lead, more, n = reduce(product)
        power = scale_far(lead + bend(lead, more + guard(beyond, 0.0, rest)) + 1.0, n)
        # where the base or the exponent is 0 or ∞
        unlimited = ~((y > 0.0) ^ (size > 1.0))
        limit = size.equals(1.0).select(1.0, unlimited.select(math.inf, full_like(x, 0.0)))
        y_infinite = size_bits(y).equals(number.infinity)
        power = (endless | zero).select(limit, power)
        whole = y.intrinsic("rint").equals(y)
        half = y * 0.5
        odd = whole & ~half.intrinsic("rint").equals(half)
        power = odd.select(power.intrinsic("copysign", x), power)
        power = invalid((x < 0.0) & ~x.equals(-math.inf) & ~whole & ~y_infinite & ~y.is_nan(), power)
        power = pole(zero & (y < 0.0) & ~y_infinite, power).intrinsic("copysign", power)
        power = x.is_nan().select(x, y.is_nan().select(y, power))
        return (y.equals(0.0) | x.equals(1.0)).select(1.0, power)

    return x.function.rarely(rare, usual, far)


@function
def power(x: Value, y: Value) -> Value:
    """xʸ, to 1 ulp."""
    if x.type.element == "double":
        return general_power(x, y, exact=True)
    cast, wide = x.function.cast, x.type.of("double")
    result = cast("fpext", x, wide).call("short_power", cast("fpext", y, wide))
    return cast("fptrunc", result, x.type)


@function
def short_power(x: Value, y: Value) -> Value:
    """xʸ of doubles, exact enough for float32."""
    return general_power(x, y, exact=False)


STATIC: dict[float, Callable[[Value], Value]] = {
    0: lambda x: full_like(x, 1.0 if x.type.is_float else 1),
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    -1: lambda x: 1.0 / x,
    0.5: lambda x: x.intrinsic("sqrt"),
}


@inline("iuf")
def static_power(x: Value, *, p: float) -> Value:
    """xᵖ for a number p."""
    found = STATIC.get(p)
    return found(x) if found else x.call("power", full_like(x, p))


def covers_static_power(dtype: np.dtype, *, p: float) -> bool:
    if dtype.kind in "iu":
        return type(p) is int and 0 <= p <= 3
    return isinstance(p, (int, float)) and (p != 3 or dtype.itemsize > 2)


static_power.covers = covers_static_power  # type: ignore[attr-defined]


@function
def cbrt(x: Value) -> Value:
    """The cube root to 1 ulp, from an inverse root that is improved once and corrected by the residual of its cube."""
    number = format_of(x)
    rare = (size_bits(x) >= number.infinity) | (size_bits(x) < number.least_normal)
    size = x.intrinsic("fabs")

    def root(size: Value) -> Value:
        exponent = (size_bits(size) >> number.digits) - number.bias
        m = with_bits(size_bits(size) - (exponent << number.digits))
        whole = number_of(exponent)
        third, third_bits = round_to_integer((whole - 1.0) * (1 / 3))
        left = fma(third, -3.0, whole)
        w = polynomial(m, INVERSE_ROOT)
        h = fma(-m * w, w * w, 1.0)
        w = fma(w * h, polynomial(h, (1 / 3, 2 / 9, 14 / 81)), w)
        first, second = left.equals(1.0), left.equals(2.0)
        factor = first.select(2.0 ** (1 / 3), second.select(full_like(x, 2.0 ** (2 / 3)), 1.0))
        m = m * first.select(2.0, second.select(full_like(x, 4.0), 1.0))
        slope = w * w / (factor * factor)
        y = m * slope
        square = y * y
        lacks = fma(-fma(y, y, -square), y, fma(-square, y, m))
        return scale(fma(lacks, slope * (1 / 3), y), third_bits)

    def far() -> Value:
        passing = (size_bits(x) >= number.infinity) | x.equals(0.0)
        y = root(guard(passing, 1.0, size * 2.0**54)) * 2.0**-18
        return passing.select(x, y.intrinsic("copysign", x))

    return x.function.rarely(rare, root(guard(rare, 1.0, size)).intrinsic("copysign", x), far)


@function
def hypot(x: Value, y: Value) -> Value:
    """√(x² + y²), to 1 ulp, without overflow on the way."""
    if x.type.element == "float":
        cast, wide = x.function.cast, x.type.of("double")
        x_wide, y_wide = cast("fpext", x, wide), cast("fpext", y, wide)
        return at_infinity(
            x, y, cast("fptrunc", fma(x_wide, x_wide, y_wide * y_wide).intrinsic("sqrt"), x.type)
        )
    large, small = x.intrinsic("fabs"), y.intrinsic("fabs")
    swap = size_bits(x) < size_bits(y)
    large, small = swap.select(small, large), swap.select(large, small)
    rare = exceeds(large, 2.0**500) | ~exceeds(small, 2.0**-450)

    def root(large: Value, small: Value) -> Value:
        return fma(large, large, small * small).intrinsic("sqrt")

    def far() -> Value:
        endless = size_bits(large) >= format_of(x).infinity
        big, little = exceeds(large, 2.0**500), ~exceeds(large, 2.0**-400)
        up = big.select(2.0**-600, little.select(2.0**600, full_like(x, 1.0)))
        down = big.select(2.0**600, little.select(2.0**-600, full_like(x, 1.0)))
        y_far = root(guard(endless, 1.0, large) * up, guard(endless, 1.0, small) * up) * down
        return at_infinity(x, y, endless.select(large + small, y_far))

    return x.function.rarely(rare, root(guard(rare, 1.0, large), guard(rare, 1.0, small)), far)


def at_infinity(x: Value, y: Value, result: Value) -> Value:
    """Return ∞ where an operand is infinite, also beside NaN."""
    endless = x.intrinsic("fabs").equals(math.inf) | y.intrinsic("fabs").equals(math.inf)
    return endless.select(math.inf, result)
