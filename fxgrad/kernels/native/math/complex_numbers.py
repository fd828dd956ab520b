"""Functions of complex numbers, computed as in NumPy's loops from a vector of real and one of imaginary parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..ir import Function, Value, fma
from .declare import inline
from .formats import full_like


class Complex(NamedTuple):
    """A vector of complex numbers."""

    real: Value
    imag: Value

    @property
    def function(self) -> Function:
        return self.real.function


COMPLEX: dict[str, Callable[..., Any]] = {}  # by the primitives' names


def covers(name: str, **params: object) -> bool:
    """Tell whether there is code for a primitive on complex operands."""
    return name in COMPLEX and (name != "static_power" or params["p"] == 2)


def apply(name: str, *operands: Any, **params: object) -> Any:
    """Append the code of a primitive of complex operands; return the result."""
    return COMPLEX[name](*operands, **params)


def complex_function(*names: str) -> Callable[[Callable], Callable]:
    """Declare a function of complex vectors, under its name or others."""

    def declare(write: Callable) -> Callable:
        for name in names or (write.__name__,):
            COMPLEX[name] = write
        return write

    return declare


def select(mask: Value, x: Complex, y: Complex) -> Complex:
    """Choose by a mask, lane by lane."""
    return Complex(*(mask.select(a, b) for a, b in zip(x, y)))


# -- arithmetic ------------------------------------------
@complex_function()
def add(x: Complex, y: Complex) -> Complex:
    return Complex(x.real + y.real, x.imag + y.imag)


@complex_function()
def subtract(x: Complex, y: Complex) -> Complex:
    return Complex(x.real - y.real, x.imag - y.imag)


@complex_function()
def multiply(x: Complex, y: Complex) -> Complex:
    """x·y, each part rounded twice."""
    real = fma(x.real, y.real, -(x.imag * y.imag))
    return Complex(real, fma(x.real, y.imag, x.imag * y.real))


@complex_function()
def divide(x: Complex, y: Complex) -> Complex:
    """x/y without overflow on the way (R. L. Smith, Algorithm 116, Comm. ACM 5, 1962); parts over |0| at 0."""
    across, along = y.imag.intrinsic("fabs"), y.real.intrinsic("fabs")
    zero = across.equals(0.0) & along.equals(0.0)
    swap = ~(along >= across)
    large, small = swap.select(y.imag, y.real), swap.select(y.real, y.imag)
    ratio = small / zero.select(1.0, large)
    scale = 1.0 / (zero.select(0.0, large) + small * ratio)
    a, b = swap.select(x.imag, x.real), swap.select(x.real, x.imag)
    first, second = (zero.select(0.0, v * ratio) for v in (b, a))
    return Complex((a + first) * scale, swap.select(second - b, b - second) * scale)


@complex_function()
def unit_vector(x: Complex, length: Complex) -> Complex:
    """x/length, 0 where the length is, which is real."""
    size = length.real.equals(0.0).select(math.inf, length.real)
    return Complex(x.real / size, x.imag / size)


@complex_function()
def reciprocal(x: Complex) -> Complex:
    """1/x, likewise."""
    swap = x.real.intrinsic("fabs") <= x.imag.intrinsic("fabs")
    large, small = swap.select(x.imag, x.real), swap.select(x.real, x.imag)
    ratio = small / large
    below = large + small * ratio
    one, other = full_like(large, 1.0), -ratio
    return Complex(swap.select(ratio, one) / below, swap.select(-one, other) / below)


@complex_function()
def square(x: Complex) -> Complex:
    return multiply(x, x)


@complex_function()
def static_power(x: Complex, *, p: float) -> Complex:
    return square(x)


@complex_function()
def negative(x: Complex) -> Complex:
    return Complex(-x.real, -x.imag)


@complex_function("positive", "weaken")
def positive(x: Complex) -> Complex:
    return x


# -- parts ------------------------------------------
@inline("f")
def make_complex(x: Value, y: Value) -> Complex:
    return Complex(x, y)


@complex_function()
def conjugate(x: Complex) -> Complex:
    return Complex(x.real, -x.imag)


@complex_function()
def real(x: Complex) -> Value:
    return x.real


@complex_function()
def imag(x: Complex) -> Value:
    return x.imag


@complex_function()
def absolute(x: Complex) -> Value:
    return x.real.call("hypot", x.imag)


@complex_function()
def angle(x: Complex) -> Value:
    return x.imag.call("arctan2", x.real)


# -- comparisons and choices ------------------------------------------
@complex_function()
def equal(x: Complex, y: Complex) -> Value:
    return x.real.equals(y.real) & x.imag.equals(y.imag)


@complex_function()
def not_equal(x: Complex, y: Complex) -> Value:
    return ~equal(x, y)


@complex_function()
def isnan(x: Complex) -> Value:
    return x.real.is_nan() | x.imag.is_nan()


def is_endless(x: Value) -> Value:
    return x.intrinsic("fabs").equals(math.inf)


@complex_function()
def isinf(x: Complex) -> Value:
    return is_endless(x.real) | is_endless(x.imag)


@complex_function()
def isfinite(x: Complex) -> Value:
    return (x.real.intrinsic("fabs") < math.inf) & (x.imag.intrinsic("fabs") < math.inf)


@complex_function()
def logical_not(x: Complex) -> Value:
    return x.real.equals(0.0) & x.imag.equals(0.0)


@complex_function()
def where(condition: Value, x: Complex, y: Complex) -> Complex:
    return select(condition, x, y)


# -- the exponential ------------------------------------------
@complex_function()
def exp(x: Complex) -> Complex:
    """eˣ·(cos y + i·sin y), in two factors eˣ where eˣ alone would overflow or vanish; at ∞ as C99 (annex G) says."""
    bound = {"double": 700.0, "float": 85.0}[x.real.type.element]
    rare = ~(x.real.intrinsic("fabs") < bound) | ~(x.imag.intrinsic("fabs") < math.inf)
    cosine, sine = x.imag.call("cos"), x.imag.call("sin")
    growth = x.real.call("exp")
    usual = Complex(growth * cosine, growth * sine)

    def far() -> tuple[Value, ...]:
        half = (x.real * 0.5).call("exp")
        y = Complex(half * cosine * half, half * sine * half)
        turning = ~(x.imag.intrinsic("fabs") < math.inf)
        gone, endless = x.real.equals(-math.inf), x.real.equals(math.inf)
        nothing = full_like(half, 0.0)
        y = select(turning & gone, Complex(nothing, nothing.intrinsic("copysign", x.imag)), y)
        y = Complex((turning & endless).select(math.inf, y.real), y.imag)
        return select(x.imag.equals(0.0), Complex(growth, x.imag), y)

    return Complex(*x.function.rarely_all(rare, usual, far))
