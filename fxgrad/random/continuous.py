"""Continuous distributions derived from uniform and normal numbers, differentiable in their parameters.

Samples are computed in float64 and rounded to the requested dtype, so that one key gives the same numbers in every
precision, up to rounding. Parameters outside their domain give NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.shapes import as_shape
from ..core.typing import Array, ArrayLike, DType, Key, Shape
from ..numpy.composite import cast
from .keys import check_one_key, split
from .laws import CONTINUOUS_1, CONTINUOUS_2, Cauchy, Exponential, Gumbel, Laplace, Pareto, Weibull, chapter
from .parameters import (
    floating_dtype,
    prepare_arguments,
    read_dtype,
    sampler,
    standard_exponential,
    standard_normal,
    uniform_fraction,
    uniform_open,
)

ROUNDING_STEPS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def uniform(
    key: Key, shape: Shape = (), dtype: DType = None, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0
) -> Array:
    """Uniform numbers in [minval, maxval): minval + u·(maxval − minval), rounded, for u a multiple of 2⁻⁵³ (2⁻²⁴ in
    float32, 2⁻¹¹ in float16, 2⁻⁸ in bfloat16) in [0, 1).

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 26.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a real floating dtype, float64 by default.
        minval, maxval: the bounds, which broadcast to the shape; both are differentiable.

    Returns:
        Array of the given shape and dtype.

    Raises:
        DTypeError: the key is no key, or the dtype no floating one.
        ShapeError: the bounds do not broadcast to the shape.

    >>> x = fx.random.uniform(fx.random.key(1), (2, 3), minval=-1)
    >>> x.shape, bool((abs(x) <= 1).all())
    ((2, 3), True)
    """
    dtype, shape = floating_dtype(dtype, "uniform"), as_shape(shape, "uniform")
    u = uniform_fraction(check_one_key(key, "uniform"), shape)
    if dtype.name in ROUNDING_STEPS:  # else rounding could give 1
        u = ops.floor(u / ROUNDING_STEPS[dtype.name]) * ROUNDING_STEPS[dtype.name]
    if type(minval) in (int, float) and minval == 0 and type(maxval) in (int, float) and maxval == 1:
        return cast(u, dtype)
    _, shape, low, high = prepare_arguments(key, shape, "uniform", minval, maxval)
    return cast(low + u * (high - low), dtype)


def normal(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Standard normal numbers, by inversion of the distribution function.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, 1994, chapter 13.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a floating dtype, float64 by default; complex numbers have independent real and imaginary parts of
            variance ½.

    Returns:
        Array of the given shape and dtype.

    >>> fx.random.normal(fx.random.key(0), (3,))
    array([-2.27188415, -0.70132792, -1.21898019])
    """
    shape, key = as_shape(shape, "normal"), check_one_key(key, "normal")
    if dtype is None or read_dtype(dtype, "normal").kind != "c":
        return cast(standard_normal(key, shape), floating_dtype(dtype, "normal"))
    pair = standard_normal(key, (*shape, 2)) * math.sqrt(0.5)
    return cast(ops.make_complex(pair[..., 0], pair[..., 1]), np.dtype(dtype))


def truncated_normal(
    key: Key, lower: ArrayLike, upper: ArrayLike, shape: Shape = None, dtype: DType = None
) -> Array:
    """Standard normal numbers between two bounds, by inversion: accurate also in the tails, if the nearer bound is
    within 37 of 0.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, 1994, chapter 13.

    Args:
        key: a key.
        lower, upper: the bounds, differentiable; may be infinite.
        shape: the shape of the result, that of the bounds by default.
        dtype: a real floating dtype.

    Returns:
        Array in which lower ≤ x ≤ upper; NaN where lower > upper, and where both bounds are farther out.

    >>> x = fx.random.truncated_normal(fx.random.key(0), 10.0, 11.0, (1000,))
    >>> bool((x >= 10).all() and (x <= 11).all())
    True
    """
    key, shape, lower, upper = prepare_arguments(key, shape, "truncated_normal", lower, upper)
    dtype = floating_dtype(dtype, "truncated_normal")
    turned = ops.greater(lower, 0)  # onto the lower tail, where probabilities are small numbers
    low = ops.normal_cdf(ops.where(turned, -upper, lower))
    high = ops.normal_cdf(ops.where(turned, -lower, upper))
    x = ops.normal_quantile(low + uniform_open(key, shape) * (high - low))
    x = ops.where(turned, -x, x)
    x = ops.with_derivative_of(ops.minimum(ops.maximum(x, lower), upper), x)  # what rounding put outside
    nowhere = ops.logical_or(ops.greater(lower, upper), ops.equal(high, 0))
    return cast(ops.where(nowhere, math.nan, x), dtype)


@sampler(Exponential)
def exponential(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Exponential numbers of mean 1, of density e⁻ˣ.

    >>> fx.random.exponential(fx.random.key(0), (3,)).round(3)
    array([4.461, 1.421, 2.194])
    """
    return standard_exponential(key, shape)


@sampler(Laplace)
def laplace(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Laplace numbers, of density e^(−|x|)/2.

    >>> fx.random.laplace(fx.random.key(0), (3,)).round(3)
    array([-3.768, -0.728, -1.501])
    """
    u = 2 * uniform_open(key, shape) - 1
    return -ops.sign(u) * ops.log1p(-ops.absolute(u))


@sampler(Gumbel)
def gumbel(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Gumbel numbers, of distribution function exp(−e⁻ˣ), the limit law of maxima.

    >>> fx.random.gumbel(fx.random.key(0), (3,)).round(3)
    array([-1.495, -0.351, -0.786])
    """
    return -ops.log(standard_exponential(key, shape))


@sampler(chapter(CONTINUOUS_2, 23))
def logistic(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Logistic numbers, of distribution function 1/(1 + e⁻ˣ).

    >>> fx.random.logistic(fx.random.key(0), (3,)).round(3)
    array([-4.45 , -1.144, -2.076])
    """
    u = uniform_open(key, shape)
    return ops.log(u) - ops.log1p(-u)


@sampler(Cauchy)
def cauchy(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Cauchy numbers, of density 1/(π·(1 + x²)).

    >>> fx.random.cauchy(fx.random.key(0), (3,)).round(3)
    array([-27.555,  -1.055,  -2.739])
    """
    u = uniform_open(key, shape)
    return ops.tan(math.pi * (u - 0.5))


@sampler(chapter(CONTINUOUS_1, 18))
def maxwell(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Maxwell numbers: the lengths of normal vectors of three components.

    >>> fx.random.maxwell(fx.random.key(0), (3,)).round(3)
    array([2.672, 0.612, 2.806])
    """
    vectors = standard_normal(key, (*shape, 3))
    return ops.norm2(vectors, axes=(len(vectors.shape) - 1,))


@sampler(chapter(CONTINUOUS_1, 18), loc="the middle", scale="the unit of the distance from it")
def double_sided_maxwell(
    key: Key, loc: ArrayLike, scale: ArrayLike, shape: Shape = (), dtype: DType = None
) -> Array:
    """loc + scale·(a Maxwell number of either sign), of density ∝ y²·e^(−y²/2) for y = (x − loc)/scale.

    >>> fx.random.double_sided_maxwell(fx.random.key(0), 0.0, 1.0, (3,)).round(3)
    array([-2.513,  2.841,  1.672])
    """
    size, sign = split(key)
    signs = ops.where(ops.less(uniform_fraction(sign, shape), 0.5), -1.0, 1.0)
    return loc + scale * (maxwell(size, shape) * signs)


@sampler(chapter(CONTINUOUS_1, 18), scale="the standard deviation of the two entries")
def rayleigh(key: Key, scale: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Rayleigh numbers: the lengths of normal vectors of two components, times `scale`.

    >>> fx.random.rayleigh(fx.random.key(0), 2.0, (3,)).round(3)
    array([5.974, 3.371, 4.19 ])
    """
    return ops.multiply(scale, ops.sqrt(2 * standard_exponential(key, shape)))


@sampler(chapter(CONTINUOUS_1, 14), sigma="the standard deviation of the logarithm")
def lognormal(key: Key, sigma: ArrayLike = 1.0, shape: Shape = None, dtype: DType = None) -> Array:
    """exp(sigma·a normal number).

    >>> fx.random.lognormal(fx.random.key(0), 0.5, (3,)).round(3)
    array([0.321, 0.704, 0.544])
    """
    return ops.exp(sigma * standard_normal(key, shape))


@sampler(Pareto, b="the exponent, positive")
def pareto(key: Key, b: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Pareto numbers, of density b·x^(−b−1) for x ≥ 1.

    >>> fx.random.pareto(fx.random.key(0), 3.0, (3,)).round(3)
    array([4.424, 1.606, 2.078])
    """
    return ops.exp(standard_exponential(key, shape) / positive_or_nan(b))


@sampler(Weibull, scale="the unit of x", concentration="the exponent, positive")
def weibull_min(
    key: Key, scale: ArrayLike, concentration: ArrayLike, shape: Shape = (), dtype: DType = None
) -> Array:
    """Weibull numbers, of distribution function 1 − exp(−(x/scale)^concentration).

    >>> fx.random.weibull_min(fx.random.key(0), 1.0, 2.0, (3,)).round(3)
    array([2.112, 1.192, 1.481])
    """
    return ops.multiply(
        scale, ops.power(standard_exponential(key, shape), 1 / positive_or_nan(concentration))
    )


@sampler(
    chapter(CONTINUOUS_2, 26),
    left="the least number",
    mode="the likeliest, between the others",
    right="the greatest",
)
def triangular(
    key: Key, left: ArrayLike, mode: Any, right: ArrayLike, shape: Shape = None, dtype: DType = None
) -> Array:
    """Numbers between `left` and `right` with a triangular density whose peak is at `mode`.

    >>> fx.random.triangular(fx.random.key(0), 0.0, 1.0, 3.0, (3,)).round(3)
    array([0.186, 0.851, 0.578])
    """
    ordered = ops.logical_and(ops.less_equal(left, mode), ops.less_equal(mode, right))
    mode = ops.where(ordered, mode, math.nan)
    u, width = uniform_open(key, shape), ops.subtract(right, left)
    x = ops.where(
        ops.less(u * width, mode - left),
        ops.add(left, ops.sqrt(u * width * (mode - left))),
        ops.subtract(right, ops.sqrt((1 - u) * width * (right - mode))),
    )
    return x


@sampler(mean="the mean, positive")
def wald(key: Key, mean: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Wald (inverse Gaussian) numbers of the given mean and shape parameter 1.

    Michael, Schucany and Haas, "Generating random variates using transformations with multiple roots" (1976).

    >>> fx.random.wald(fx.random.key(0), 2.0, (3,)).round(3)
    array([0.35 , 3.166, 0.192])
    """
    mean = positive_or_nan(mean)
    first, second = split(key)
    y = mean * ops.square(standard_normal(first, shape))
    # The smaller root m·(1 + y/2 − √(y + y²/4)), without its cancellation, or m² over it.
    root = mean / (1 + 0.5 * y + ops.sqrt(y * (1 + 0.25 * y)))
    chosen = ops.less_equal(uniform_fraction(second, shape) * (mean + root), mean)
    return ops.where(chosen, root, mean * (mean / root))


def positive_or_nan(value: ArrayLike) -> Array:
    """Return a parameter that must be positive: NaN where it is not."""
    found = ops.where(ops.greater(value, 0), value, math.nan)
    return found[()] if type(found) is np.ndarray else found  # a number, which meets arrays of any library


__all__ = [
    "cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell",
    "normal", "pareto", "rayleigh", "triangular", "truncated_normal", "uniform", "wald", "weibull_min",
]  # fmt: skip
