"""Arithmetic, comparisons, choices and rounding: few instructions each, inlined at their uses."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir import Value
from .declare import inline
from .formats import format_of, size_bits


# -- arithmetic ------------------------------------------
@inline("iuf")
def add(x: Value, y: Value) -> Value:
    return x + y


@inline("iuf")
def subtract(x: Value, y: Value) -> Value:
    return x - y


@inline("iuf")
def multiply(x: Value, y: Value) -> Value:
    return x * y


@inline("f")
def divide(x: Value, y: Value) -> Value:
    return x / y


@inline("iuf")
def negative(x: Value) -> Value:
    return -x


@inline("iuf", "positive", "real", "conjugate", "weaken")
def positive(x: Value) -> Value:
    return x


@inline("iuf")
def square(x: Value) -> Value:
    return x * x


@inline("f")
def reciprocal(x: Value) -> Value:
    return 1.0 / x


@inline("f")
def sqrt(x: Value) -> Value:
    return x.intrinsic("sqrt")


@inline("f")
def degrees(x: Value) -> Value:
    return x * (180 / math.pi)


@inline("f")
def radians(x: Value) -> Value:
    return x * (math.pi / 180)


@inline("if")
def absolute(x: Value) -> Value:
    return x.intrinsic("fabs") if x.type.is_float else (x < 0).select(-x, x)


@inline("f")
def fabs(x: Value) -> Value:
    return x.intrinsic("fabs")


@inline("f")
def unit_vector(x: Value, length: Value) -> Value:
    """x/length, 0 where the length is."""
    return x / length.equals(0.0).select(math.inf, length)


@inline("if")
def sign(x: Value) -> Value:
    """−1, 0 or 1; NaN for NaN."""
    zero, one = x.function.constant(0, x.type), x.function.constant(1, x.type)
    y = (x > 0).select(one, (x < 0).select(-1, zero))
    return x.is_nan().select(x, y) if x.type.is_float else y


@inline("f")
def copysign(x: Value, y: Value) -> Value:
    return x.intrinsic("copysign", y)


@inline("f")
def heaviside(x: Value, middle: Value) -> Value:
    """0 below 0, 1 above, `middle` at 0."""
    y = (x > 0.0).select(1.0, (x < 0.0).select(0.0, middle))
    return x.is_nan().select(x, y)


# -- comparisons ------------------------------------------
def declare(names: dict[str, str], kinds: str, write: Callable[[str], Callable[..., Value]]) -> None:
    """Declare functions of one form, from a table of names and their instructions."""
    for name, part in names.items():
        inline(kinds, name)(write(part))


declare(
    {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="},
    "if",
    lambda relation: lambda x, y: x.compare(relation, y),
)
declare({"equal": "==", "not_equal": "!="}, "iuf", lambda relation: lambda x, y: x.compare(relation, y))


@inline("f")
def isnan(x: Value) -> Value:
    return x.is_nan()


@inline("f")
def isinf(x: Value) -> Value:
    return size_bits(x).equals(format_of(x).infinity)


@inline("f")
def isfinite(x: Value) -> Value:
    return size_bits(x) < format_of(x).infinity


@inline("f")
def signbit(x: Value) -> Value:
    return x.bits_as(x.type.integer.element) < 0


# -- choices ------------------------------------------
@inline("biuf")
def where(condition: Value, x: Value, y: Value) -> Value:
    return condition.select(x, y)


def choose(relation: str, nan_wins: bool) -> Callable[[Value, Value], Value]:
    """Return a function that gives x if it is in a relation to y, and else y; with NaN, NaN or the other number."""

    def chosen(x: Value, y: Value) -> Value:
        first = x.compare(relation, y)
        if x.type.is_float:
            first = first | (x if nan_wins else y).is_nan()
        return first.select(x, y)

    return chosen


declare({"maximum": ">", "minimum": "<"}, "if", lambda relation: choose(relation, True))
declare({"fmax": ">", "fmin": "<"}, "if", lambda relation: choose(relation, False))


@inline("f")
def relu(x: Value) -> Value:
    """max(x, 0), NaN for NaN."""
    return ((x > 0.0) | x.is_nan()).select(x, 0.0)


# -- bits and truth values ------------------------------------------
@inline("biu", "bitwise_and")
def bitwise_and(x: Value, y: Value) -> Value:
    return x & y


@inline("biu")
def bitwise_or(x: Value, y: Value) -> Value:
    return x | y


@inline("biu")
def bitwise_xor(x: Value, y: Value) -> Value:
    return x ^ y


@inline("biu")
def bitwise_not(x: Value) -> Value:
    return ~x


@inline("iu")
def left_shift(x: Value, y: Value) -> Value:
    """As NumPy has it, 0 where all bits leave. (Hardware takes y modulo the width.)"""
    return (y & -x.type.bits).equals(0).select(x << y, 0)


@inline("u")
def right_shift(x: Value, y: Value) -> Value:
    return (y & -x.type.bits).equals(0).select(x.logical_shift(y), 0)


@inline("b")
def logical_and(x: Value, y: Value) -> Value:
    return x & y


@inline("b")
def logical_or(x: Value, y: Value) -> Value:
    return x | y


@inline("b")
def logical_xor(x: Value, y: Value) -> Value:
    return x ^ y


@inline("b")
def logical_not(x: Value) -> Value:
    return ~x


# -- rounding ------------------------------------------
@inline("f", "round")
def round_(x: Value, *, decimals: int) -> Value:
    return x.intrinsic("rint")


round_.covers = lambda dtype, *, decimals: decimals == 0  # type: ignore[attr-defined]
declare(
    {name: name for name in ("floor", "ceil", "trunc", "rint")},
    "f",
    lambda name: lambda x: x.intrinsic(name),
)
