"""Elementary functions without cancellation, entropies, logistic functions, powers, losses."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...extend import Array, ArrayLike, ops
from .declare import special
from .elliptic_integrals import elliprf
from .hypergeometric import hyp1f1, hyp2f1

relative_entropy = partial(
    special, source="S. Boyd and L. Vandenberghe, Convex Optimization, 2004, section 3.1.5 and example 3.19"
)
power_transform = partial(
    special, source='G. E. P. Box and D. R. Cox, "An analysis of transformations", 1964'
)
LN2, LN10, DEGREE = math.log(2), math.log(10), math.pi / 180


# -- exponentials and logarithms ------------------------------------------
@special(lambda t, y, x: t * ops.exp(x), native="expm1", at=(0.7,))
def expm1(x: ArrayLike) -> Array:
    """eˣ − 1 without the subtraction, of real or complex x."""


@special(lambda t, y, x: t / (1 + x), native="log1p", at=(0.7,))
def log1p(x: ArrayLike) -> Array:
    """log(1 + x) without the addition, of real or complex x."""


@special(lambda t, y, x: t * (LN2 * y), native="exp2", at=(0.7,))
def exp2(x: ArrayLike) -> Array:
    """2ˣ of real x."""


@special(lambda t, y, x: t * (LN10 * y), at=(0.7,))
def exp10(x: ArrayLike) -> Array:
    """10ˣ of real x."""


@special(lambda t, y, x: t / (3 * y * y), native="cbrt", at=(0.7,))
def cbrt(x: ArrayLike) -> Array:
    """The real cube root of x."""


@special(lambda t, y, x: t * -ops.sin(x), at=(0.7,))
def cosm1(x: ArrayLike) -> Array:
    """cos(x) − 1 without the subtraction."""


def exprel_slope(x: Any) -> Any:
    """∫₀¹ s·eˣˢ ds, which is ₁F₁(2; 3; x)/2, by that series near 0 (far out SciPy's does not end)."""
    near = ops.less(ops.absolute(x), 1.0)
    inverse = 1 / ops.where(near, 1.0, x)
    away = ops.exp(x) * (inverse * (1 - inverse)) + inverse * inverse
    return ops.where(near, 0.5 * hyp1f1(2.0, 3.0, ops.where(near, x, 0.0)), away)


@special(lambda t, y, x: t * exprel_slope(x), at=(0.7,))
def exprel(x: ArrayLike) -> Array:
    """(eˣ − 1)/x, with 1 at 0.

    Source: N. J. Higham, Functions of Matrices, 2008, section 10.7.4, where it is φ₁.
    """


@special(
    lambda t, y, x, p: t * (p * x ** (p - 1)),
    lambda t, y, x, p: t * (x**p * ops.log(x)),
    at=(1.3, 0.7),
)
def powm1(x: ArrayLike, y: ArrayLike) -> Array:
    """xʸ − 1 without the subtraction."""


# -- degrees ------------------------------------------
@special(lambda t, y, x: t * (-DEGREE * sindg(x)), at=(40.0,))
def cosdg(x: ArrayLike) -> Array:
    """The cosine of x degrees."""


@special(lambda t, y, x: t * (DEGREE * cosdg(x)), at=(40.0,))
def sindg(x: ArrayLike) -> Array:
    """The sine of x degrees."""


@special(lambda t, y, x: t * (DEGREE * (1 + y * y)), at=(40.0,))
def tandg(x: ArrayLike) -> Array:
    """The tangent of x degrees."""


@special(lambda t, y, x: t * (-DEGREE * (1 + y * y)), at=(40.0,))
def cotdg(x: ArrayLike) -> Array:
    """The cotangent of x degrees."""


@special(
    lambda t, y, d, m, s: t * DEGREE,
    lambda t, y, d, m, s: t * (DEGREE / 60),
    lambda t, y, d, m, s: t * (DEGREE / 3600),
    at=(40.0, 3.0, 7.0),
)
def radian(d: ArrayLike, m: ArrayLike, s: ArrayLike) -> Array:
    """The angle of d degrees, m minutes and s seconds, in radians."""


@special(None, at=(0.7,))
def round(x: ArrayLike) -> Array:
    """The nearest integer, halves to even; its derivative is 0."""


# -- logistic functions ------------------------------------------
@special(lambda t, y, x: t * ops.sigmoid_slope(x), native="sigmoid", at=(0.7,))
def expit(x: ArrayLike) -> Array:
    """The logistic function 1/(1 + e⁻ˣ) of real x."""


@special(lambda t, y, x: t / (x * (1 - x)), at=(0.3,))
def logit(x: ArrayLike) -> Array:
    """log(x/(1 − x)), the inverse of `expit`: ∓∞ at 0 and 1, NaN outside."""


@special(lambda t, y, x: t * ops.sigmoid(-x), at=(0.7,))
def log_expit(x: ArrayLike) -> Array:
    """The logarithm of `expit`."""


# -- entropies ------------------------------------------
@relative_entropy(lambda t, y, x: t * (-ops.log(x) - 1), at=(0.7,))
def entr(x: ArrayLike) -> Array:
    """−x·log(x), with 0 at 0 and −∞ for negative x."""


@relative_entropy(
    lambda t, y, a, b: t * (ops.log(a / b) + 1),
    lambda t, y, a, b: t * (-a / b),
    at=(0.7, 0.4),
)
def rel_entr(x: ArrayLike, y: ArrayLike) -> Array:
    """x·log(x/y) for x, y > 0, 0 for x = 0 ≤ y, and ∞ otherwise."""


@relative_entropy(
    lambda t, y, a, b: t * ops.log(a / b),
    lambda t, y, a, b: t * ((b - a) / b),
    at=(0.7, 0.4),
)
def kl_div(x: ArrayLike, y: ArrayLike) -> Array:
    """x·log(x/y) − x + y for x, y > 0, y for x = 0 ≤ y, and ∞ otherwise: the summands of Kullback and Leibler's
    divergence, all of which are positive."""


def unless_zero(x: Any, value: Any) -> Any:
    """Return a value where x is not 0, and 0 elsewhere."""
    return ops.where(ops.equal(x, 0), 0.0, value)


@special(
    lambda t, y, a, b: t * ops.log(b),
    lambda t, y, a, b: t * unless_zero(a, a / b),
    at=(0.7, 0.4),
)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x·log(y), with 0 for x = 0, of real or complex numbers; along x = 0 its derivative in y is 0."""


@special(
    lambda t, y, a, b: t * log1p(b),
    lambda t, y, a, b: t * unless_zero(a, a / (1 + b)),
    at=(0.7, 0.4),
)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x·log(1 + y), with 0 for x = 0, of real or complex numbers; along x = 0 its derivative in y is 0."""


# -- Box and Cox's transformation ------------------------------------------
def log1p_quotient(u: Any) -> Any:
    """log(1 + u)/u, with 1 at 0: ₂F₁(1, 1; 2; −u), by that series near 0."""
    near = ops.less(ops.absolute(u), 0.5)
    return ops.where(
        near, hyp2f1(1.0, 1.0, 2.0, -ops.where(near, u, 0.0)), log1p(u) / ops.where(near, 1.0, u)
    )


def power_slope(y: Any, log_x: Any, lmbda: Any) -> Any:
    """∂y/∂λ of y = (e^(λ·L) − 1)/λ with L = log x, which is L²·∫₀¹ s·e^(λLs) ds near λ·L = 0."""
    u = lmbda * log_x
    near = ops.less(ops.absolute(u), 1.0)
    inside = ops.where(near, log_x, 0.0)
    by_series = inside * inside * exprel_slope(lmbda * inside)
    outside = (xlogy(ops.exp(u), ops.exp(log_x)) - y) / ops.where(near, 1.0, lmbda)
    return ops.where(near, by_series, outside)


@special(
    lambda t, y, x, lmbda: t * x ** (lmbda - 1),
    lambda t, y, x, lmbda: t * power_slope(y, ops.log(x), lmbda),
    at=(0.7, 0.4),
)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(x^λ − 1)/λ, with log(x) for λ = 0 (Box and Cox, "An analysis of transformations", 1964)."""


@power_transform(
    lambda t, y, x, lmbda: t * (1 + x) ** (lmbda - 1),
    lambda t, y, x, lmbda: t * power_slope(y, log1p(x), lmbda),
    at=(0.7, 0.4),
)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)^λ − 1)/λ, with log(1 + x) for λ = 0."""


def log_inverse(y: Any, lmbda: Any) -> Any:
    """log(1 + λ·y)/λ."""
    return y * log1p_quotient(lmbda * y)


@power_transform(formula=lambda y, lmbda: ops.exp(log_inverse(y, lmbda)), at=(0.7, 0.4))
def inv_boxcox(y: ArrayLike, lmbda: ArrayLike) -> Array:
    """The inverse of `boxcox`, (1 + λ·y)^(1/λ)."""


@power_transform(formula=lambda y, lmbda: ops.expm1(log_inverse(y, lmbda)), at=(0.7, 0.4))
def inv_boxcox1p(y: ArrayLike, lmbda: ArrayLike) -> Array:
    """The inverse of `boxcox1p`."""


# -- losses ------------------------------------------
def clip_symmetric(r: Any, delta: Any) -> Any:
    return ops.where(ops.less_equal(ops.absolute(r), delta), r, delta * ops.sign(r))


@special(
    lambda t, y, delta, r: t * ops.relu(ops.absolute(r) - delta),
    lambda t, y, delta, r: t * clip_symmetric(r, delta),
    at=(0.7, 0.4),
)
def huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """Huber's loss: r²/2 for |r| ≤ delta, and delta·(|r| − delta/2) beyond (Huber, "Robust estimation of a location
    parameter", 1964)."""


def pseudo_huber_partial_delta(t: Any, y: Any, delta: Any, r: Any) -> Any:
    """δ·(s − 1)²/s with s = √(1 + (r/δ)²)."""
    u = r / delta
    s = ops.sqrt(1 + u * u)
    rise = u * u / (s + 1)
    return t * (delta * rise * rise / s)


@special(
    pseudo_huber_partial_delta,
    lambda t, y, delta, r: t * (r / ops.sqrt(1 + (r / delta) ** 2)),
    at=(0.7, 0.4),
)
def pseudo_huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """delta²·(√(1 + (r/delta)²) − 1), a smooth Huber loss.

    Source: R. Hartley and A. Zisserman, Multiple View Geometry in Computer Vision, 2003, appendix 6.8.
    """


# -- the arithmetic-geometric mean ------------------------------------------
def agm_by_carlson(a: Any, b: Any) -> Any:
    unit = ops.stop_gradient(ops.maximum(ops.absolute(a), ops.absolute(b)))  # squares would overflow
    unit = ops.where(ops.equal(unit, 0), 1.0, ops.where(ops.less(a, 0), -unit, unit))
    a, b = a / unit, b / unit
    a, b = 0.5 * (a + b), ops.sqrt(a) * ops.sqrt(b)  # a step of its own, after which squares do not underflow
    return unit * (0.5 * math.pi / elliprf(0.0, a * a, b * b))


@special(formula=agm_by_carlson, at=(0.7, 0.4))
def agm(a: ArrayLike, b: ArrayLike) -> Array:
    """The arithmetic-geometric mean of a and b (https://dlmf.nist.gov/19.8.i)."""


__all__ = [
    "agm",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "cosdg",
    "cosm1",
    "cotdg",
    "entr",
    "exp2",
    "exp10",
    "expit",
    "expm1",
    "exprel",
    "huber",
    "inv_boxcox",
    "inv_boxcox1p",
    "kl_div",
    "log1p",
    "log_expit",
    "logit",
    "powm1",
    "pseudo_huber",
    "radian",
    "rel_entr",
    "round",
    "sindg",
    "tandg",
    "xlog1py",
    "xlogy",
]  # fmt: skip
