"""Inverse trigonometric functions. Polynomials are minimax, computed by Remez's algorithm with 45 digits."""

from __future__ import annotations

import math

from ..ir import Value, fma, polynomial
from .declare import function
from .formats import exceeds, format_of, full_like, guard, invalid, is_tiny, size_bits
from .trigonometric import PI

# (arctan r − r)/r³ in r², to 2⁻⁵⁹ and 2⁻³⁰ of arctan r, for |r| ≤ tan(π/8)
ARCTANGENT = {
    "double": (-0.333333333333332, 0.1999999999995304, -0.14285714280144488, 0.11111110781007244,
               -0.09090897691094427, 0.07692059090809583, -0.06663091877887506, 0.05847804572612209,
               -0.05038937988340825, 0.03805558207805079, -0.01789770755082601),
    "float": (-0.33333316, 0.19998468, -0.14243478, 0.10593379, -0.06077069),
}  # fmt: skip
# (arcsin r − r)/r³ in r², to 2⁻⁶⁰ and 2⁻³² of arcsin r, for |r| ≤ ½
ARCSINE = {
    "double": (0.1666666666666676, 0.07499999999970824, 0.04464285717458933, 0.03038194270882467,
               0.02237221495905045, 0.017351612516495498, 0.013980814646723941, 0.01139895939542827,
               0.010779995065950733, 0.003707355881945923, 0.021705207886226843, -0.020995986277566322,
               0.0326267574412763),
    "float": (0.1666666, 0.07500504, 0.044516962, 0.031807657, 0.014438816, 0.037516184),
}  # fmt: skip
TURN = math.tan(math.pi / 8)


def angle(above: Value, below: Value) -> Value:
    """The arctangent of above/below, both positive, above ≤ below: π/4 + arctan((above − below)/(above + below)) where
    the quotient exceeds tan(π/8)."""
    element = above.type.element
    steep = above > below * TURN
    r = steep.select(above - below, above) / steep.select(above + below, below)
    quarter, quarter_rest = (part / 4 for part in PI[element][:2])
    zero = full_like(above, 0.0)
    square = r * r
    tail = fma(r, square * polynomial(square, ARCTANGENT[element]), steep.select(quarter_rest, zero))
    # |r| ≤ tan(π/8) < π/4
    return steep.select(quarter, zero) + (r + tail)


def complement(flip: Value, y: Value, whole: float, parts: tuple[float, ...]) -> Value:
    """Return whole·π − y in the lanes of a mask; `parts` are the parts of π."""
    return flip.select(parts[0] * whole - (y - parts[1] * whole), y)


@function
def arctan(x: Value) -> Value:
    """The arctangent, to 2 ulp."""
    size, element = x.intrinsic("fabs"), x.type.element
    tiny, far = is_tiny(x, 2), exceeds(x, 2.0**64)
    safe = guard(tiny, 0.0, far.select(2.0**64, size))
    flip = exceeds(x, 1.0)
    one = full_like(x, 1.0)
    y = complement(flip, angle(flip.select(1.0, safe), flip.select(safe, one)), 0.5, PI[element])
    return (tiny | x.is_nan()).select(x, y.intrinsic("copysign", x))


@function
def arctan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), to 2 ulp."""
    element, number = x.type.element, format_of(x)
    above, below = y.intrinsic("fabs"), x.intrinsic("fabs")
    flip = size_bits(above) > size_bits(below)
    large, small = flip.select(above, below), flip.select(below, above)
    high, low = 2.0 ** (number.bias - 2), 2.0 ** (number.digits + 4 - number.bias)
    rare = exceeds(large, high) | ~exceeds(small, low)

    def whole_angle(small: Value, large: Value) -> Value:
        a = complement(flip, angle(small, large), 0.5, PI[element])
        return complement(is_negative(x), a, 1.0, PI[element])

    def far() -> Value:
        endless = size_bits(small).equals(number.infinity)
        one = full_like(x, 1.0)
        above, below = endless.select(one, small), endless.select(one, large)
        flat = size_bits(below).equals(number.infinity)
        above, below = flat.select(0.0, above), flat.select(1.0, below)
        nan = x.is_nan() | y.is_nan()
        nothing = large.equals(0.0)
        above, below = guard(nan, 0.0, above), guard(nan | nothing, 1.0, below)
        big, little = exceeds(below, high / 4), ~exceeds(below, low * 2.0**number.digits)
        factor = big.select(0.25, little.select(full_like(x, 2.0 ** (2 * number.digits)), 1.0))
        return nan.select(x + y, whole_angle(above * factor, below * factor))

    one = guard(rare, 1.0, large)
    result = x.function.rarely(rare, whole_angle(guard(rare, 0.5, small), one), far)
    return result.intrinsic("copysign", y)


def is_negative(x: Value) -> Value:
    """The mask of a set sign, also of −0."""
    return x.bits_as(x.type.integer.element) < 0


@function
def arcsin(x: Value) -> Value:
    """The arcsine, to 2 ulp: beyond ½ as π/2 − 2·arcsin √((1 − |x|)/2)."""
    size, tiny, outside = x.intrinsic("fabs"), is_tiny(x, 2), exceeds(x, 1.0)
    flip = exceeds(x, 0.5)
    safe = guard(tiny | outside, 0.0, size)
    square = flip.select((1.0 - safe) * 0.5, safe * safe)
    root = square.intrinsic("sqrt")
    r = flip.select(root, safe)
    tail = r * (square * polynomial(square, ARCSINE[x.type.element]))
    lost = fma(-root, root, square) / (2.0 * guard(square.equals(0.0), 1.0, root))
    half, half_rest = (part / 2 for part in PI[x.type.element][:2])
    y = flip.select((half - 2.0 * root) - (2.0 * (tail + lost) - half_rest), r + tail)
    return at_ends(x, outside, tiny.select(x, y.intrinsic("copysign", x)))


@function
def arccos(x: Value) -> Value:
    """The arccosine, to 2 ulp: 2·arcsin √((1 − |x|)/2) beyond ½, else π/2 − arcsin x."""
    size, tiny, outside = x.intrinsic("fabs"), is_tiny(x, 2), exceeds(x, 1.0)
    flip = exceeds(x, 0.5)
    safe = guard(outside, 0.0, size)
    flat = guard(tiny, 0.0, safe)
    square = flip.select((1.0 - safe) * 0.5, flat * flat)
    root = square.intrinsic("sqrt")
    r = flip.select(root, safe)
    tail = r * (square * polynomial(square, ARCSINE[x.type.element]))
    lost = fma(-root, root, square) / (2.0 * guard(square.equals(0.0), 1.0, root))
    first, rest = PI[x.type.element][:2]
    negative = is_negative(x)
    near = (first / 2 - negative.select(-r, r)) + (negative.select(tail, -tail) + rest / 2)
    far = 2.0 * root + 2.0 * (tail + lost)
    far = negative.select((first - 2.0 * root) - (2.0 * (tail + lost) - rest), far)
    return at_ends(x, outside, flip.select(far, near))


def at_ends(x: Value, outside: Value, y: Value) -> Value:
    """Return y, but NaN for x = NaN and, with the flag "invalid", elsewhere outside of the domain."""
    return x.function.rarely(outside, y, lambda: x.is_nan().select(x, invalid(outside & ~x.is_nan(), y)))
