"""Remainders and integer quotients. They are exact: x − q·y with integer q is representable, whatever x and y are."""

from __future__ import annotations

from ..ir import Value, fma
from .declare import function
from .formats import format_of, full_like, guard, invalid, power_of_two, size_bits

PLACES = 20  # binary ones by which a multiple of y differs from the next in the long division


def rest(x: Value, y: Value) -> Value:
    """x modulo y for positive numbers with a quotient below 2ᵈ."""
    q = (x / y).intrinsic("trunc")
    left = fma(-q, y, x)
    return (left < 0.0).select(left + y, left)  # q was rounded up


def long_rest(x: Value, y: Value) -> Value:
    """The same whatever the quotient, for y ≤ x: modulo multiples of y by powers of two, the largest first."""
    number, f = format_of(x), x.function
    y_places = size_bits(y) >> number.digits
    steps = (2 * number.bias + number.digits) // PLACES + 1
    with f.loop(steps, carry=[x]) as loop:
        (left,) = loop.carry
        exponent = f.splat(loop.index, x.type.width) if x.type.width > 1 else loop.index
        if exponent.type != y_places.type:
            exponent = f.cast("trunc", exponent, y_places.type)
        exponent = (steps - 1 - exponent) * PLACES
        fits = (y_places + exponent) <= (size_bits(left) >> number.digits)
        half = fits.select(exponent, 0) >> 1
        divisor = y * power_of_two(half) * power_of_two(fits.select(exponent, 0) - half)
        smaller = rest(left, guard(~fits, 1.0, divisor))
        loop.update(fits.select(smaller, left))
    (left,) = loop.carry
    return rest(left, y)


@function
def fmod(x: Value, y: Value) -> Value:
    """x − q·y with q = x/y cut off: with the sign of x."""
    number = format_of(x)
    above, below = x.intrinsic("fabs"), y.intrinsic("fabs")
    wrong = (size_bits(x) >= number.infinity) | (size_bits(y) > number.infinity) | y.equals(0.0)
    places = (size_bits(x) >> number.digits) - (size_bits(y) >> number.digits)
    far = (size_bits(y) < number.least_normal) | (places >= number.digits - 1)
    less = size_bits(x) < size_bits(y)
    rare = wrong | (far & ~less)
    usual = less.select(above, rest(guard(rare | less, 1.0, above), guard(rare | less, 1.0, below)))

    def long_division() -> Value:
        plain = wrong | less
        return plain.select(above, long_rest(guard(plain, 1.0, above), guard(plain, 1.0, below)))

    result = x.function.rarely(rare, usual, long_division).intrinsic("copysign", x)

    def not_numbers() -> Value:
        nan = x.is_nan() | y.is_nan()
        found = x.is_nan().select(x, y.is_nan().select(y, result))
        return invalid(~nan & wrong, found)

    return x.function.rarely(wrong, result, not_numbers)


@function
def remainder(x: Value, y: Value) -> Value:
    """x − q·y with q = ⌊x/y⌋: with the sign of y."""
    left = x.call("fmod", y)
    crossed = ((left < 0.0) ^ (y < 0.0)) & ~left.equals(0.0) & ~left.is_nan()
    result = crossed.select(guard(~crossed, 0.0, left) + guard(~crossed, 0.0, y), left)
    return left.equals(0.0).select(left.intrinsic("copysign", y), result)


@function
def floor_divide(x: Value, y: Value) -> Value:
    """⌊x/y⌋, from the exact remainder."""
    zero = y.equals(0.0)
    above, below = guard(zero, 1.0, x), guard(zero, 1.0, y)
    left = above.call("fmod", below)
    quotient = (above - left) / below
    crossed = ((left < 0.0) ^ (y < 0.0)) & ~left.equals(0.0) & ~left.is_nan()
    quotient = crossed.select(quotient - 1.0, quotient)
    down = quotient.intrinsic("floor")
    whole = (quotient - down > 0.5).select(down + 1.0, down)
    signed = full_like(x, 0.0).intrinsic("copysign", above / below)
    result = quotient.equals(0.0).select(signed, whole)
    return x.function.rarely(zero, result, lambda: guard(~zero, 1.0, x) / guard(~zero, 1.0, y))
