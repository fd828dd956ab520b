"""The bits of floating-point numbers, which functions take apart and put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..ir import Value


class Format(NamedTuple):
    """A format of IEEE 754: the bits of its significand after the point, and the bias of its exponent."""

    digits: int
    bias: int

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.digits

    @property
    def infinity(self) -> int:
        """The bits of ∞, which are greater than those of all finite positive numbers and less than those of NaN."""
        return (2 * self.bias + 1) << self.digits

    @property
    def least_normal(self) -> int:
        """The bits of the least normal number."""
        return 1 << self.digits

    @property
    def shifter(self) -> float:
        """1.5·2ᵈ, near which all numbers are integers: x + shifter − shifter is x rounded, for |x| < 2ᵈ⁻²."""
        return 1.5 * 2.0**self.digits

    @property
    def shifter_bits(self) -> int:
        return ((self.bias + self.digits) << self.digits) + (1 << (self.digits - 1))


FORMATS = {"double": Format(52, 1023), "float": Format(23, 127)}


def format_of(x: Value) -> Format:
    return FORMATS[x.type.element]


def bits_of(x: Value) -> Value:
    """The bits of numbers as integers, which compare like positive numbers, and raise no flag with NaN."""
    return x.bits_as(x.type.integer.element)


def size_bits(x: Value) -> Value:
    """The bits of |x|."""
    return bits_of(x) & ((1 << (x.type.bits - 1)) - 1)


def number_bits(x: Value, number: float) -> int:
    """The bits of a positive constant in the format of x."""
    return int(np.array(number, f"f{x.type.bits // 8}").view(f"i{x.type.bits // 8}"))


def exceeds(x: Value, bound: float) -> Value:
    """The mask of |x| > bound, which holds for NaN."""
    return size_bits(x) > number_bits(x, bound)


def full_like(x: Value, number: float) -> Value:
    """The same number in all lanes of the type of x."""
    return x.function.constant(number, x.type)


def guard(mask: Value, harmless: float, x: Value) -> Value:
    """Return x with a harmless number in the lanes of a mask, so that later operations raise no flag there."""
    return mask.select(harmless, x).fence()


def is_tiny(x: Value, power: int) -> Value:
    """The mask of |x|ᵖ that is lost in 1 + |x|ᵖ, by far: where a function that begins x + O(x¹⁺ᵖ) is x, and terms of
    its polynomial may be subnormal, which is slow."""
    return size_bits(x) < number_bits(x, 2.0 ** -((format_of(x).digits + 3) // power))


def is_outside(x: Value, low: int, high: int) -> Value:
    """The mask of numbers whose bits are outside low, …, high − 1, by one comparison after a shift."""
    least = -(1 << (x.type.bits - 1))
    return (bits_of(x) - (low + least if low + least >= least else low)) >= high - low + least


def with_bits(i: Value) -> Value:
    """The floating-point numbers of these bits."""
    return i.bits_as({64: "double", 32: "float"}[i.type.bits])


def round_to_integer(x: Value) -> tuple[Value, Value]:
    """Return x rounded to an integer n, as a number and as the bits of shifter + n, which end in those of n; |x| <
    2ᵈ⁻²."""
    shifted = x + format_of(x).shifter
    return shifted - format_of(x).shifter, bits_of(shifted)


def number_of(i: Value) -> Value:
    """Convert integers below 2ᵈ⁻² to numbers, by additions: processors without AVX-512 convert lane by lane."""
    number = {64: FORMATS["double"], 32: FORMATS["float"]}[i.type.bits]
    return with_bits(i + number.shifter_bits) - number.shifter


def power_of_two(n: Value) -> Value:
    """2ⁿ for the low bits of integers n, in the range of normal numbers."""
    number = {64: FORMATS["double"], 32: FORMATS["float"]}[n.type.bits]
    return with_bits((n + number.bias) << number.digits)


def scale(x: Value, n: Value) -> Value:
    """x·2ⁿ where n, a bits_of(shifter + n), keeps x normal: an addition to the exponent."""
    return with_bits(bits_of(x) + (n << format_of(x).digits))


def invalid(mask: Value, value: Value) -> Value:
    """Return `value`, but NaN with the flag "invalid" in the lanes of a mask."""
    wrong = mask.select(full_like(value, -1.0), 1.0).fence().intrinsic("sqrt")
    return mask.select(wrong, value)


def pole(mask: Value, value: Value, at: float = 1.0) -> Value:
    """Return `value`, but ±∞ (the sign of `at`) with the flag "divide by zero" in the lanes of a mask."""
    zero = mask.select(full_like(value, 0.0), 1.0).fence()
    return mask.select(at / zero, value)
