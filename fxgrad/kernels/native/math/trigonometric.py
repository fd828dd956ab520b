"""Sines, cosines and tangents. x − n·π/2 is computed with π in three parts (Cody and Waite) up to a bound, and far out
from the bits of 1/π that matter (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).

Polynomials are minimax, computed by Remez's algorithm with 45 digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

from ..ir import Value, fma, polynomial
from .declare import function
from .formats import (
    bits_of,
    exceeds,
    format_of,
    guard,
    invalid,
    is_tiny,
    power_of_two,
    round_to_integer,
    size_bits,
    with_bits,
)

PI = {
    "double": (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
    "float": (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
}
NEAR = {"double": 2.0**30, "float": 4000.0}  # where three parts of π are enough
# (sin r − r)/r³ in r², to 2⁻⁵⁸ and 2⁻²⁸ of sin r, for |r| ≤ π/4
SINE = {
    "double": (-0.16666666666666632, 0.008333333333322398, -0.00019841269829793605, 2.755731368667852e-06,
               -2.5050757255108823e-08, 1.589674379243354e-10),
    "float": (-0.16666655, 0.008332177, -0.00019517164),
}  # fmt: skip
# (cos r − 1 + r²/2)/r⁴ in r², to 2⁻⁶⁴ and 2⁻³³, for |r| ≤ π/4
COSINE = {
    "double": (0.0416666666666666, -0.0013888888888874103, 2.4801587289469062e-05, -2.755731434835569e-07,
               2.08757227091848e-09, -1.1359617450295354e-11),
    "float": (0.041666646, -0.0013887367, 2.4438332e-05),
}  # fmt: skip
# (tan r − r)/r³ in r², to 2⁻⁵⁶ and 2⁻²⁹ of tan r, for |r| ≤ π/4
TANGENT = {
    "double": (0.33333333333332776, 0.13333333333414932, 0.053968253926517225, 0.02186948961265623,
               0.008863219112306413, 0.0035922895513567513, 0.0014547550715135237, 0.0005950770305681795,
               0.0002223433236954866, 0.00013660108070011987, -2.6493022321316577e-05,
               8.95508118852299e-05, -4.492984203564726e-05, 2.087609998264951e-05),
    "float": (0.3333335, 0.1333266, 0.05406021, 0.02128062, 0.010840018, 8.404038e-05, 0.004379061),
}  # fmt: skip
STEP = 24  # binary places from one row of the table of 1/π to the next


def odd_polynomial(r: Value, rest: Value, coefficients: tuple[float, ...]) -> Value:
    """r + rest + r³·p(r²)."""
    square = r * r
    return r + fma(r, square * polynomial(square, coefficients), rest)


def even_polynomial(r: Value, rest: Value, coefficients: tuple[float, ...]) -> Value:
    """1 − r²/2 − r·rest + r⁴·p(r²)."""
    square = r * r
    half = square * 0.5
    near = 1.0 - half
    lost = (1.0 - near) - half
    return near + fma(square * square, polynomial(square, coefficients), lost - r * rest)


def reduce_near(x: Value) -> tuple[Value, Value, Value]:
    """Return r + rest = x − n·π/2 with the nearest n, and n as bits; |x| ≤ NEAR."""
    n, bits = round_to_integer(x * (2 / math.pi))
    first, second, third = (part / 2 for part in PI[x.type.element])
    lead = fma(n, -first, x)  # exact
    product = n * second
    r = lead - product
    return r, ((lead - r) - product) - fma(n, third, fma(n, second, -product)), bits


@functools.cache
def inverse_pi_rows() -> list[float]:
    """2^(24·k)/π modulo 4 for k = 0, …, 40, each as the sum of four numbers. π by Machin's formula."""
    places = 1300

    def arctangent_of_inverse(n: int) -> int:
        term, total, k = (1 << places) // n, 0, 0
        while term:
            total += (-1) ** k * (term // (2 * k + 1))
            term, k = term // (n * n), k + 1
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    inverse = (1 << 2 * places) // pi
    rows = []
    for k in range(41):
        rest = (inverse << STEP * k) % (4 << places)
        for _ in range(4):
            part = rest / (1 << places)
            rest -= int(Fraction(part) * (1 << places))
            rows.append(part)
    return rows


def sum_with_error(x: Value, y: Value) -> tuple[Value, Value]:
    """Return x + y, rounded, and the error of the rounding (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def distill(terms: list[Value]) -> list[Value]:
    """Add terms up without losing anything: the last one becomes the rounded sum."""
    terms = list(terms)
    for i in range(len(terms) - 1):
        terms[i + 1], terms[i] = sum_with_error(terms[i], terms[i + 1])
    return terms


def reduce_far(x: Value) -> tuple[Value, Value, Value]:
    """Reduce as `reduce_near` does, for any finite double of at least 2²⁰. With x = m·2^(24k), where m is an integer if
    k > 0, only 2^(24k)/π modulo 4 matters: the rest changes x/π by multiples of 4."""
    function = x.function
    exponent = (size_bits(x) >> 52) - (1023 + 52)
    row = (exponent < 0).select(0, exponent) * 2731 >> 16  # the quotient by 24
    m = x * power_of_two(row * -STEP) * 2.0
    table = function.table("fx.inverse_pi", inverse_pi_rows())
    products: list[Value] = []
    for i in range(4):
        factor = function.gather(table, row * 4 + i, "double")
        product = m * factor
        products += [product, fma(m, factor, -product)]
    terms = distill([p - (p * 0.25).intrinsic("rint") * 4.0 for p in products[2::-1]])
    n = terms[-1].intrinsic("rint")
    terms = [*terms[:-1], *products[3:], terms[-1] - n]
    for _ in range(3):
        terms = distill(terms)
    turns, more = terms[-1], terms[-2]
    high, low, _ = (part / 2 for part in PI["double"])
    r = turns * high
    rest = fma(turns, high, -r) + fma(more, high, turns * low)
    return r, rest, bits_of(n + format_of(x).shifter)


def trigonometric(x: Value, name: str, combine: Callable[[Value, Value, Value], Value]) -> Value:
    """Return combine(r, rest, n) for r + rest = x − n·π/2."""
    rare, tiny = exceeds(x, NEAR[x.type.element]), is_tiny(x, 2)
    usual = combine(*reduce_near(guard(rare | tiny, 0.0, x)))
    if name != "cos":
        usual = tiny.select(x, usual)

    def far() -> Value:
        endless = size_bits(x) >= format_of(x).infinity
        if x.type.element == "float":
            wide = x.function.cast("fpext", endless.select(1.0, x), x.type.of("double"))
            y = x.function.cast("fptrunc", wide.call(name), x.type)
        else:
            y = combine(*reduce_far((rare & ~endless).select(x, NEAR["double"])))
        y = x.is_nan().select(x, y)
        return invalid(size_bits(x).equals(format_of(x).infinity), y)

    return x.function.rarely(rare, usual, far)


def is_odd(n: Value) -> Value:
    return (n & 1).equals(1)


def sine_at(r: Value, rest: Value, n: Value) -> Value:
    """sin(r + rest + n·π/2)."""
    element = r.type.element
    y = is_odd(n).select(even_polynomial(r, rest, COSINE[element]), odd_polynomial(r, rest, SINE[element]))
    return with_bits(bits_of(y) ^ ((n >> 1) << (r.type.bits - 1)))


@function
def sin(x: Value) -> Value:
    """The sine, to 1 ulp."""
    return trigonometric(x, "sin", sine_at)


@function
def cos(x: Value) -> Value:
    """The cosine, to 1 ulp: the sine a quarter of a turn further."""
    return trigonometric(x, "cos", lambda r, rest, n: sine_at(r, rest, n + 1))


@function
def tan(x: Value) -> Value:
    """The tangent: of x − n·π/2 for even n, and minus its reciprocal for odd n."""

    def combine(r: Value, rest: Value, n: Value) -> Value:
        y = odd_polynomial(r, fma(rest, r * r, rest), TANGENT[r.type.element])
        return is_odd(n).select(-1.0 / is_odd(n).select(y, 1.0).fence(), y)

    return trigonometric(x, "tan", combine)
