"""The docstrings of functions that are primitives and call NumPy's ufuncs on plain arrays.

Each text describes the function, gives the derivative by each operand (in Python, with the names of this namespace;
tests compare it with the rules of the registry), and ends with an example. If a text gives no derivatives, the sentence
about them is generated from the primitive. The remaining text is common to all: see `documentation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, is_differentiable
from .documentation import NO_DERIVATIVE, WITH_OPTIONS, ZERO_DERIVATIVE, describe, describe_result

TEXTS = {
    "add": """The sum x + y.

    Derivatives: `1` by x, `1` by y.

    >>> fnp.add(fnp.array([1.0, 2.0]), 10)
    array([11., 12.])
    """,
    "subtract": """The difference x − y.

    Derivatives: `1` by x, `-1` by y.

    >>> fnp.subtract(fnp.array([1.0, 2.0]), 10)
    array([-9., -8.])
    """,
    "multiply": """The product x·y, entry by entry.

    Derivatives: `y` by x, `x` by y.

    >>> fnp.multiply(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    array([3., 8.])
    """,
    "divide": """The quotient x / y; of integers it is a floating-point number.

    Derivatives: `1 / y` by x, `-x / y**2` by y.

    >>> fnp.divide(fnp.array([1, 2]), 4)
    array([0.25, 0.5 ])
    """,
    "negative": """The number −x.

    Derivative: `-1`.

    >>> fnp.negative(fnp.array([1.0, -2.0]))
    array([-1.,  2.])
    """,
    "positive": """The number x itself, as a new array.

    Derivative: `1`.

    >>> fnp.positive(fnp.array([1.0, -2.0]))
    array([ 1., -2.])
    """,
    "reciprocal": """The number 1/x; of integers it is rounded toward zero.

    Derivative: `-1 / x**2`.

    >>> fnp.reciprocal(fnp.array([2.0, -4.0]))
    array([ 0.5 , -0.25])
    """,
    "floor_divide": """The quotient x / y rounded down.

    >>> fnp.floor_divide(fnp.array([7.0, -7.0]), 2)
    array([ 3., -4.])
    """,
    "remainder": """What is left of x when y is taken away as often as `floor_divide` says: it has the sign of y.

    Derivatives: `1` by x, `-floor(x / y)` by y; the steps between multiples of y are left out.

    >>> fnp.remainder(fnp.array([7.0, -7.0]), 3)
    array([1., 2.])
    """,
    "fmod": """What is left of x when y is taken away a whole number of times, toward zero: it has the sign of x.

    Derivatives: `1` by x, `-trunc(x / y)` by y; the steps between multiples of y are left out.

    >>> fnp.fmod(fnp.array([7.0, -7.0]), 3)
    array([ 1., -1.])
    """,
    "cbrt": """The cube root of x, negative for negative x.

    Derivative: `1 / (3 * cbrt(x)**2)`, which is infinite at 0.

    >>> fnp.cbrt(fnp.array([8.0, -27.0]))
    array([ 2., -3.])
    """,
    "exp": """The exponential function eˣ.

    Derivative: `exp(x)`.

    >>> fnp.exp(fnp.array([0.0, 1.0])).round(6)
    array([1.      , 2.718282])
    """,
    "exp2": """The power 2ˣ.

    Derivative: `exp2(x) * log(2)`.

    >>> fnp.exp2(fnp.array([3.0, -1.0]))
    array([8. , 0.5])
    """,
    "expm1": """eˣ − 1, without the subtraction: exact to rounding also where x is near 0.

    Derivative: `exp(x)`.

    >>> fnp.expm1(fnp.array([0.0, 1e-20]))
    array([0.e+00, 1.e-20])
    """,
    "log": """The natural logarithm of x: −∞ at 0, NaN for negative numbers (complex numbers have complex ones).

    Derivative: `1 / x`.

    >>> fnp.log(fnp.array([1.0, fnp.e]))
    array([0., 1.])
    """,
    "log2": """The logarithm of x to base 2.

    Derivative: `1 / (x * log(2))`.

    >>> fnp.log2(fnp.array([8.0, 0.5]))
    array([ 3., -1.])
    """,
    "log10": """The logarithm of x to base 10.

    Derivative: `1 / (x * log(10))`.

    >>> fnp.log10(fnp.array([100.0, 0.1]))
    array([ 2., -1.])
    """,
    "log1p": """log(1 + x), without the addition: exact to rounding also where x is near 0.

    Derivative: `1 / (1 + x)`.

    >>> fnp.log1p(fnp.array([0.0, 1e-20]))
    array([0.e+00, 1.e-20])
    """,
    "logaddexp": """log(eˣ + eʸ), without overflow: the sum of two numbers that are given by their logarithms.

    Derivatives: `1 / (1 + exp(y - x))` by x, `1 / (1 + exp(x - y))` by y; two equal infinities share it.

    >>> fnp.logaddexp(1000.0, 1000.0).round(6)
    np.float64(1000.693147)
    """,
    "logaddexp2": """log₂(2ˣ + 2ʸ), without overflow.

    Derivatives: `1 / (1 + exp2(y - x))` by x, `1 / (1 + exp2(x - y))` by y; two equal infinities share it.

    >>> fnp.logaddexp2(1000.0, 1000.0)
    np.float64(1001.0)
    """,
    "sin": """The sine of x, in radians.

    Derivative: `cos(x)`.

    >>> fnp.sin(fnp.array([0.0, fnp.pi / 2]))
    array([0., 1.])
    """,
    "cos": """The cosine of x, in radians.

    Derivative: `-sin(x)`.

    >>> fnp.cos(fnp.array([0.0, fnp.pi]))
    array([ 1., -1.])
    """,
    "tan": """The tangent of x, in radians.

    Derivative: `1 + tan(x)**2`.

    >>> fnp.tan(fnp.array([0.0, fnp.pi / 4])).round(6)
    array([0., 1.])
    """,
    "arcsin": """The angle between −π/2 and π/2 whose sine is x; NaN for real x beyond ±1.

    Derivative: `1 / sqrt(1 - x**2)`, which is infinite at ±1.

    >>> fnp.arcsin(fnp.array([0.0, 1.0])).round(6)
    array([0.      , 1.570796])
    """,
    "arccos": """The angle between 0 and π whose cosine is x; NaN for real x beyond ±1.

    Derivative: `-1 / sqrt(1 - x**2)`, which is infinite at ±1.

    >>> fnp.arccos(fnp.array([1.0, -1.0])).round(6)
    array([0.      , 3.141593])
    """,
    "arctan": """The angle between −π/2 and π/2 whose tangent is x.

    Derivative: `1 / (1 + x**2)`.

    >>> fnp.arctan(fnp.array([0.0, 1.0])).round(6)
    array([0.      , 0.785398])
    """,
    "arctan2": """The angle between −π and π from the horizontal axis to the point with height x and abscissa y.

    Derivatives: `y / (x**2 + y**2)` by x, `-x / (x**2 + y**2)` by y; NaN at the origin.

    >>> fnp.arctan2(1.0, -1.0).round(6)
    np.float64(2.356194)
    """,
    "sinh": """The hyperbolic sine of x.

    Derivative: `cosh(x)`.

    >>> fnp.sinh(fnp.array([0.0, 1.0])).round(6)
    array([0.      , 1.175201])
    """,
    "cosh": """The hyperbolic cosine of x.

    Derivative: `sinh(x)`.

    >>> fnp.cosh(fnp.array([0.0, 1.0])).round(6)
    array([1.      , 1.543081])
    """,
    "tanh": """The hyperbolic tangent of x.

    Derivative: `1 - tanh(x)**2`.

    >>> fnp.tanh(fnp.array([0.0, 1.0])).round(6)
    array([0.      , 0.761594])
    """,
    "arcsinh": """The number whose hyperbolic sine is x.

    Derivative: `1 / sqrt(1 + x**2)`.

    >>> fnp.arcsinh(fnp.array([0.0, 1.0])).round(6)
    array([0.      , 0.881374])
    """,
    "arccosh": """The number, not negative, whose hyperbolic cosine is x; NaN for real x below 1.

    Derivative: `1 / (sqrt(x - 1) * sqrt(x + 1))`, which is infinite at 1.

    >>> fnp.arccosh(fnp.array([1.0, 2.0])).round(6)
    array([0.      , 1.316958])
    """,
    "arctanh": """The number whose hyperbolic tangent is x; NaN for real x beyond ±1.

    Derivative: `1 / (1 - x**2)`.

    >>> fnp.arctanh(fnp.array([0.0, 0.5])).round(6)
    array([0.      , 0.549306])
    """,
    "degrees": """An angle in radians, x, in degrees: 180·x/π.

    Derivative: `180 / pi`.

    >>> fnp.degrees(fnp.array([0.0, fnp.pi]))
    array([  0., 180.])
    """,
    "radians": """An angle in degrees, x, in radians: π·x/180.

    Derivative: `pi / 180`.

    >>> fnp.radians(fnp.array([0.0, 180.0])).round(6)
    array([0.      , 3.141593])
    """,
    "absolute": """The absolute value |x|; of complex numbers their modulus, which is real.

    Derivative: `sign(x)`, and by convention 0 at 0; of complex numbers conj(x)/|x|.

    >>> fnp.absolute(fnp.array([-1.5, 2.0])), fnp.absolute(3 + 4j)
    (array([1.5, 2. ]), np.float64(5.0))
    """,
    "fabs": """The absolute value of real numbers, as a floating-point number.

    Derivative: `sign(x)`, and by convention 0 at 0.

    >>> fnp.fabs(fnp.array([-1.5, 2.0]))
    array([1.5, 2. ])
    """,
    "hypot": """The length √(x² + y²) of the vector (x, y), without overflow.

    Derivatives: `x / hypot(x, y)` by x, `y / hypot(x, y)` by y, by convention 0 at the origin.

    >>> fnp.hypot(3.0, 4.0)
    np.float64(5.0)
    """,
    "copysign": """The number with the magnitude of x and the sign of y.

    Derivatives: `copysign(1, x) * copysign(1, y)` by x, `0` by y.

    >>> fnp.copysign(fnp.array([1.0, -2.0]), -1)
    array([-1., -2.])
    """,
    "signbit": """Whether the sign of x is a minus, that of −0 and NaN included.

    >>> fnp.signbit(fnp.array([-1.0, 0.0, -0.0]))
    array([ True, False,  True])
    """,
    "maximum": """The greater of x and y; NaN if either is.

    Derivatives: `(1 + sign(x - y)) / 2` by x, `(1 + sign(y - x)) / 2` by y: operands that tie share it.

    >>> fnp.maximum(fnp.array([1.0, 5.0]), 3)
    array([3., 5.])
    """,
    "minimum": """The lesser of x and y; NaN if either is.

    Derivatives: `(1 + sign(y - x)) / 2` by x, `(1 + sign(x - y)) / 2` by y: operands that tie share it.

    >>> fnp.minimum(fnp.array([1.0, 5.0]), 3)
    array([1., 3.])
    """,
    "fmax": """The greater of x and y; if one of them is NaN, the other.

    Derivatives: `(1 + sign(x - y)) / 2` by x, `(1 + sign(y - x)) / 2` by y: operands that tie share it.

    >>> fnp.fmax(fnp.array([1.0, fnp.nan]), 3)
    array([3., 3.])
    """,
    "fmin": """The lesser of x and y; if one of them is NaN, the other.

    Derivatives: `(1 + sign(y - x)) / 2` by x, `(1 + sign(x - y)) / 2` by y: operands that tie share it.

    >>> fnp.fmin(fnp.array([1.0, fnp.nan]), 3)
    array([1., 3.])
    """,
    "floor": """The greatest whole number that is not above x.

    >>> fnp.floor(fnp.array([1.5, -1.5]))
    array([ 1., -2.])
    """,
    "ceil": """The least whole number that is not below x.

    >>> fnp.ceil(fnp.array([1.5, -1.5]))
    array([ 2., -1.])
    """,
    "trunc": """The whole number next to x toward zero.

    >>> fnp.trunc(fnp.array([1.5, -1.5]))
    array([ 1., -1.])
    """,
    "rint": """The whole number nearest to x; halves go to the even one.

    >>> fnp.rint(fnp.array([1.5, 2.5, -0.6]))
    array([ 2.,  2., -1.])
    """,
    "heaviside": """The step: 0 where x is negative, 1 where it is positive, y at 0.

    >>> fnp.heaviside(fnp.array([-1.0, 0.0, 2.0]), 0.5)
    array([0. , 0.5, 1. ])
    """,
    "nextafter": """The floating-point number next to x on the way to y.

    Derivatives: `0` by x, `0` by y, by convention.

    >>> fnp.nextafter(1.0, 2.0) - 1 == fnp.finfo(float).eps
    np.True_
    """,
    "spacing": """The distance from x to the next floating-point number away from zero.

    >>> fnp.spacing(1.0) == fnp.finfo(float).eps
    np.True_
    """,
    "ldexp": """The product x·2ʸ, for integers y.

    Derivative: `2.0**y` by x.

    >>> fnp.ldexp(fnp.array([1.0, 3.0]), fnp.array([4, -1]))
    array([16. ,  1.5])
    """,
    "real": """The real part of x.

    Derivative: `1`; the gradient of a complex operand is real.

    >>> fnp.real(fnp.array([1 + 2j, 3.0]))
    array([1., 3.])
    """,
    "imag": """The imaginary part of x, 0 of real numbers.

    Derivative: −i of complex numbers, by JAX's convention: the gradient of Im(z) is −i. Of real numbers `0`.

    >>> fnp.imag(fnp.array([1 + 2j, 3.0]))
    array([2., 0.])
    """,
    "conjugate": """The complex conjugate of x; real numbers are their own.

    Derivative: `1` of real numbers; of complex ones the tangent is conjugated, and so is the cotangent.

    >>> fnp.conjugate(fnp.array([1 + 2j, 3.0]))
    array([1.-2.j, 3.-0.j])
    """,
    "equal": """Whether x = y.

    >>> fnp.equal(fnp.array([1.0, 2.0]), 2)
    array([False,  True])
    """,
    "not_equal": """Whether x ≠ y.

    >>> fnp.not_equal(fnp.array([1.0, 2.0]), 2)
    array([ True, False])
    """,
    "less": """Whether x < y.

    >>> fnp.less(fnp.array([1.0, 2.0, 3.0]), 2)
    array([ True, False, False])
    """,
    "less_equal": """Whether x ≤ y.

    >>> fnp.less_equal(fnp.array([1.0, 2.0, 3.0]), 2)
    array([ True,  True, False])
    """,
    "greater": """Whether x > y.

    >>> fnp.greater(fnp.array([1.0, 2.0, 3.0]), 2)
    array([False, False,  True])
    """,
    "greater_equal": """Whether x ≥ y.

    >>> fnp.greater_equal(fnp.array([1.0, 2.0, 3.0]), 2)
    array([False,  True,  True])
    """,
    "isnan": """Whether x is NaN.

    >>> fnp.isnan(fnp.array([1.0, fnp.nan, fnp.inf]))
    array([False,  True, False])
    """,
    "isinf": """Whether x is infinite, of either sign.

    >>> fnp.isinf(fnp.array([1.0, fnp.nan, -fnp.inf]))
    array([False, False,  True])
    """,
    "isfinite": """Whether x is neither infinite nor NaN.

    >>> fnp.isfinite(fnp.array([1.0, fnp.nan, fnp.inf]))
    array([ True, False, False])
    """,
    "logical_and": """Whether x and y both hold; numbers other than 0 do.

    >>> fnp.logical_and(fnp.array([True, False]), fnp.array([2.0, 1.0]))
    array([ True, False])
    """,
    "logical_or": """Whether x or y holds, or both do; numbers other than 0 do.

    >>> fnp.logical_or(fnp.array([True, False]), fnp.array([0.0, 0.0]))
    array([ True, False])
    """,
    "logical_xor": """Whether one of x and y holds and the other does not; numbers other than 0 do.

    >>> fnp.logical_xor(fnp.array([True, False]), fnp.array([2.0, 1.0]))
    array([False,  True])
    """,
    "logical_not": """Whether x does not hold: False and 0 do not.

    >>> fnp.logical_not(fnp.array([0.0, 2.0]))
    array([ True, False])
    """,
    "bitwise_and": """The bits that are set in both integers, x & y.

    >>> fnp.bitwise_and(0b1100, 0b1010) == 0b1000
    np.True_
    """,
    "bitwise_or": """The bits that are set in either of the integers, x | y.

    >>> fnp.bitwise_or(0b1100, 0b1010) == 0b1110
    np.True_
    """,
    "bitwise_xor": """The bits that are set in one of the integers and not in the other, x ^ y.

    >>> fnp.bitwise_xor(0b1100, 0b1010) == 0b0110
    np.True_
    """,
    "bitwise_not": """The bits of an integer exchanged: ~x, which is −x − 1 for signed ones. Truth values are negated.

    >>> fnp.bitwise_not(fnp.array([0, 5]))
    array([-1, -6])
    """,
    "left_shift": """The bits of an integer x moved y places up: x·2ʸ.

    >>> fnp.left_shift(fnp.array([1, 3]), 2)
    array([ 4, 12])
    """,
    "right_shift": """The bits of an integer x moved y places down: x / 2ʸ rounded down.

    >>> fnp.right_shift(fnp.array([8, -3]), 1)
    array([ 4, -2])
    """,
    "gcd": """The greatest common divisor of two integers.

    >>> fnp.gcd(12, fnp.array([8, 9]))
    array([4, 3])
    """,
    "lcm": """The least common multiple of two integers.

    >>> fnp.lcm(4, fnp.array([6, 8]))
    array([12,  8])
    """,
}


def derivative_of(primitive: Any) -> str:
    """Say of a primitive without partial derivatives whether its results are numbers that do not move, or none that
    could."""
    try:
        result = primitive.abstract_eval([Aval((), np.dtype(float))] * len(primitive.partials), {})
    except TypeError:  # of integers only
        return NO_DERIVATIVE
    return ZERO_DERIVATIVE if is_differentiable(result.dtype) else NO_DERIVATIVE


def describe_primitive(primitive: Any) -> str | None:
    """The docstring of the function of a primitive; None if it has no text yet."""
    text = TEXTS.get(primitive.name)
    if text is None:
        return None
    reference = getattr(np, primitive.name)
    operands = ", ".join(("x", "y")[: len(primitive.partials)])
    details = ""
    if isinstance(reference, np.ufunc):
        details = describe_result(reference, operands) + WITH_OPTIONS
    derivative = "" if "Derivative" in text else derivative_of(primitive)
    return describe(text, f"numpy.{reference.__name__}", operands, derivative, details)
