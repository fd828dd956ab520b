"""Cumulative distribution functions and their inverses.

Values are SciPy's; derivatives are those of the incomplete gamma and beta functions that they equal, and of inverses
by the implicit function theorem.
"""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...extend import Array, ArrayLike, ops
from .bessel_functions import ive
from .declare import REFUSED, slope, special
from .elementary import boxcox, xlog1py
from .gamma_functions import beta_law, betainc, betaincc, betaln, gamma_law, gammainc, gammaincc

noncentral = partial(
    special,
    source="N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions 2, 1995, chapter 29",
)


# -- the gamma distribution, chi square, Poisson's ------------------------------------------
@gamma_law(formula=lambda a, b, x: gammainc(b, a * x), at=(0.7, 1.6, 1.3))
def gdtr(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The gamma distribution function of rate a and shape b."""


@gamma_law(formula=lambda a, b, x: gammaincc(b, a * x), at=(0.7, 1.6, 1.3))
def gdtrc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """1 − `gdtr` without the subtraction."""


@gamma_law(equation=lambda a, p, b, x: gdtr(a, b, x) - p, at=(0.4, 1.6, 1.3))
def gdtria(p: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The rate a with `gdtr(a, b, x) = p`."""


@gamma_law(equation=lambda b, a, p, x: gdtr(a, b, x) - p, at=(0.7, 0.4, 1.3))
def gdtrib(a: ArrayLike, p: ArrayLike, x: ArrayLike) -> Array:
    """The shape b with `gdtr(a, b, x) = p`."""


@gamma_law(equation=lambda x, a, b, p: gdtr(a, b, x) - p, at=(0.7, 1.6, 0.4))
def gdtrix(a: ArrayLike, b: ArrayLike, p: ArrayLike) -> Array:
    """The x with `gdtr(a, b, x) = p`."""


@gamma_law(formula=lambda v, x: gammainc(0.5 * v, 0.5 * x), at=(2.7, 1.6))
def chdtr(v: ArrayLike, x: ArrayLike) -> Array:
    """The chi square distribution function of v degrees of freedom."""


@gamma_law(formula=lambda v, x: gammaincc(0.5 * v, 0.5 * x), at=(2.7, 1.6))
def chdtrc(v: ArrayLike, x: ArrayLike) -> Array:
    """1 − `chdtr` without the subtraction."""


@gamma_law(equation=lambda x, v, p: chdtrc(v, x) - p, at=(2.7, 0.4))
def chdtri(v: ArrayLike, p: ArrayLike) -> Array:
    """The x with `chdtrc(v, x) = p`."""


@gamma_law(equation=lambda v, p, x: chdtr(v, x) - p, at=(0.4, 1.6))
def chdtriv(p: ArrayLike, x: ArrayLike) -> Array:
    """The degrees of freedom v with `chdtr(v, x) = p`."""


def poisson_partial(t: Any, y: Any, k: Any, m: Any) -> Any:
    """The Poisson probability of ⌊k⌋, which is the density of the gamma distribution of shape ⌊k⌋ + 1 at m."""
    return t * ops.gamma_density(ops.floor(k) + 1.0, m)


@gamma_law(None, lambda t, y, k, m: -poisson_partial(t, y, k, m), at=(2, 1.6))
def pdtr(k: ArrayLike, m: ArrayLike) -> Array:
    """The Poisson distribution function of mean m at k, a step function of k."""


@gamma_law(None, poisson_partial, at=(2, 1.6))
def pdtrc(k: ArrayLike, m: ArrayLike) -> Array:
    """1 − `pdtr` without the subtraction, a step function of k."""


@gamma_law(None, ..., equation=lambda m, k, y: gammaincc(ops.floor(k) + 1.0, m) - y, at=(2, 0.4))
def pdtri(k: ArrayLike, y: ArrayLike) -> Array:
    """The mean m with `pdtr(k, m) = y`."""


@gamma_law(equation=lambda k, p, m: gammaincc(k + 1, m) - p, at=(0.6, 2.6))
def pdtrik(p: ArrayLike, m: ArrayLike) -> Array:
    """The real k at which the Poisson distribution function of mean m, continued between whole numbers, is p."""


# -- the beta distribution, the binomial ones, F and t ------------------------------------------
@beta_law(equation=lambda a, p, b, x: betainc(a, b, x) - p, at=(0.4, 1.6, 0.3))
def btdtria(p: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The a with `betainc(a, b, x) = p`."""


@beta_law(equation=lambda b, a, p, x: betainc(a, b, x) - p, at=(1.6, 0.4, 0.3))
def btdtrib(a: ArrayLike, p: ArrayLike, x: ArrayLike) -> Array:
    """The b with `betainc(a, b, x) = p`."""


def binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    return betaincc(k + 1.0, n - k, p)


def negative_binomial_cdf(k: Any, n: Any, p: Any) -> Any:
    return betainc(n * 1.0, k + 1.0, p)


@beta_law(None, ..., ..., formula=lambda k, n, p: binomial_cdf(ops.floor(k), n, p), at=(2, 5, 0.3))
def bdtr(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The binomial distribution function of n trials of probability p at k, a step function of k."""


@beta_law(
    None, ..., ..., formula=lambda k, n, p: betainc(ops.floor(k) + 1.0, n - ops.floor(k), p), at=(2, 5, 0.3)
)
def bdtrc(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """1 − `bdtr` without the subtraction, a step function of k."""


@beta_law(None, ..., ..., equation=lambda p, k, n, y: binomial_cdf(ops.floor(k), n, p) - y, at=(2, 5, 0.4))
def bdtri(k: ArrayLike, n: ArrayLike, y: ArrayLike) -> Array:
    """The probability p with `bdtr(k, n, p) = y`."""


@beta_law(equation=lambda k, y, n, p: binomial_cdf(k, n, p) - y, at=(0.7, 5.0, 0.4))
def bdtrik(y: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The real k at which the binomial distribution function, continued between whole numbers, is y."""


@beta_law(equation=lambda n, k, y, p: binomial_cdf(k, n, p) - y, at=(2.0, 0.6, 0.4))
def bdtrin(k: ArrayLike, y: ArrayLike, p: ArrayLike) -> Array:
    """The real number n of trials with `bdtr(k, n, p) = y`."""


@beta_law(None, ..., ..., formula=lambda k, n, p: negative_binomial_cdf(ops.floor(k), n, p), at=(2, 5, 0.6))
def nbdtr(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of k failures at most before n successes of probability p, a step function of k."""


@beta_law(None, ..., ..., formula=lambda k, n, p: betaincc(n * 1.0, ops.floor(k) + 1.0, p), at=(2, 5, 0.6))
def nbdtrc(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """1 − `nbdtr` without the subtraction, a step function of k."""


@beta_law(
    None, ..., ..., equation=lambda p, k, n, y: negative_binomial_cdf(ops.floor(k), n, p) - y, at=(2, 5, 0.4)
)
def nbdtri(k: ArrayLike, n: ArrayLike, y: ArrayLike) -> Array:
    """The probability p with `nbdtr(k, n, p) = y`."""


@beta_law(equation=lambda k, y, n, p: negative_binomial_cdf(k, n, p) - y, at=(0.6, 4.0, 0.4))
def nbdtrik(y: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The real k at which `nbdtr`, continued between whole numbers, is y."""


@beta_law(equation=lambda n, k, y, p: negative_binomial_cdf(k, n, p) - y, at=(2.0, 0.6, 0.4))
def nbdtrin(k: ArrayLike, y: ArrayLike, p: ArrayLike) -> Array:
    """The real number n of successes with `nbdtr(k, n, p) = y`."""


def f_share(dfn: Any, dfd: Any, x: Any) -> Any:
    return dfn * x / (dfd + dfn * x)


@beta_law(formula=lambda dfn, dfd, x: betainc(0.5 * dfn, 0.5 * dfd, f_share(dfn, dfd, x)), at=(2.7, 3.4, 0.8))
def fdtr(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike) -> Array:
    """Fisher's F distribution function of dfn and dfd degrees of freedom."""


@beta_law(
    formula=lambda dfn, dfd, x: betaincc(0.5 * dfn, 0.5 * dfd, f_share(dfn, dfd, x)), at=(2.7, 3.4, 0.8)
)
def fdtrc(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike) -> Array:
    """1 − `fdtr` without the subtraction."""


@beta_law(equation=lambda x, dfn, dfd, p: fdtr(dfn, dfd, x) - p, at=(2.7, 3.4, 0.4))
def fdtri(dfn: ArrayLike, dfd: ArrayLike, p: ArrayLike) -> Array:
    """The x with `fdtr(dfn, dfd, x) = p`."""


@beta_law(equation=lambda dfd, dfn, p, x: fdtr(dfn, dfd, x) - p, at=(2.7, 0.6, 1.2))
def fdtridfd(dfn: ArrayLike, p: ArrayLike, x: ArrayLike) -> Array:
    """The degrees of freedom dfd with `fdtr(dfn, dfd, x) = p`."""


def student_density(df: Any, t: Any) -> Any:
    return ops.exp(-xlog1py(0.5 * (df + 1), t * t / df) - betaln(0.5 * df, 0.5)) / ops.sqrt(df)


def student_tail(df: Any, t: Any) -> Any:
    """The probability beyond |t| on one side, with the sign of −t: the distribution function but for a constant."""
    return -0.5 * ops.sign(t) * betainc(0.5 * df, 0.5, df / (df + t * t))


def student_slope(df: Any, t: Any) -> Any:
    """The derivative with respect to df, an odd function of t."""
    zero = ops.equal(t, 0)
    at_zero = t * slope(student_density, (df, t), 0)
    return ops.where(zero, at_zero, slope(student_tail, (df, ops.where(zero, 1.0, t)), 0))


@beta_law(
    lambda ct, y, df, t: ct * student_slope(df, t),
    lambda ct, y, df, t: ct * student_density(df, t),
    at=(2.7, 0.8),
)
def stdtr(df: ArrayLike, t: ArrayLike) -> Array:
    """Student's t distribution function of df degrees of freedom."""


@beta_law(equation=lambda t, df, p: stdtr(df, t) - p, at=(2.7, 0.3))
def stdtrit(df: ArrayLike, p: ArrayLike) -> Array:
    """The t with `stdtr(df, t) = p`."""


@beta_law(equation=lambda df, p, t: stdtr(df, t) - p, at=(0.7, 0.6))
def stdtridf(p: ArrayLike, t: ArrayLike) -> Array:
    """The degrees of freedom df with `stdtr(df, t) = p`."""


# -- noncentral chi square ------------------------------------------
def noncentral_density(x: Any, df: Any, nc: Any) -> Any:
    """½·e^(−(x + λ)/2)·(x/λ)^(df/4 − ½)·I(√(λx)) of the order df/2 − 1, which is the central density for λ = 0."""
    central = ops.equal(nc, 0)
    nc = ops.where(central, 1.0, nc)
    gap = ops.sqrt(x) - ops.sqrt(nc)
    root = ops.sqrt(x * nc)
    density = ops.exp(-0.5 * gap * gap) * (x / nc) ** (0.25 * df - 0.5) * ive(0.5 * df - 1, root)
    return 0.5 * ops.where(central, ops.gamma_density(0.5 * df, 0.5 * x), density)


@noncentral(
    lambda t, y, x, df, nc: t * noncentral_density(x, df, nc),
    REFUSED,
    lambda t, y, x, df, nc: t * -noncentral_density(x, df + 2, nc),
    at=(1.7, 3, 0.8),
)
def chndtr(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    """The noncentral chi square distribution function of df degrees of freedom and noncentrality nc ≥ 0."""


@noncentral(..., REFUSED, ..., equation=lambda x, p, df, nc: chndtr(x, df, nc) - p, at=(0.4, 3, 0.8))
def chndtrix(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    """The x with `chndtr(x, df, nc) = p`."""


@noncentral(..., REFUSED, ..., equation=lambda nc, x, df, p: chndtr(x, df, nc) - p, at=(4.7, 3, 0.4))
def chndtrinc(x: ArrayLike, df: ArrayLike, p: ArrayLike) -> Array:
    """The noncentrality nc with `chndtr(x, df, nc) = p`."""


# -- Tukey's lambda, Kolmogorov's ------------------------------------------
@special(equation=lambda p, x, lmbda: boxcox(p, lmbda) - boxcox(1 - p, lmbda) - x, at=(0.7, 0.4))
def tklmbda(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The distribution function of Tukey's lambda distribution, whose inverse is (pˡ − (1 − p)ˡ)/l.

    Source: B. L. Joiner and J. R. Rosenblatt, "Some properties of the range in samples from Tukey's symmetric lambda
    distributions", 1971.
    """


TERMS = 8


def kolmogorov_slope(x: Any) -> Any:
    """The derivative of 2·Σ (−1)ᵏ⁻¹·e^(−2k²x²), for small x by Jacobi's transformation (Kolmogorov, "Sulla
    determinazione empirica di una legge di distribuzione", 1933)."""
    near = ops.less(x, 1.0)
    far, small = ops.where(near, 1.0, x), ops.where(near, ops.where(ops.greater(x, 0), x, 1.0), 1.0)
    direct = reflected = 0.0
    for k in range(1, TERMS + 1):
        direct = direct + (-1) ** k * 8 * k * k * far * ops.exp(-2.0 * k * k * far * far)
        c = ((2 * k - 1) * math.pi) ** 2 / 8
        reflected = reflected - ops.exp(-c / (small * small)) * (2 * c / (small * small) - 1)
    reflected = math.sqrt(2 * math.pi) * reflected / (small * small)
    return ops.where(near, ops.where(ops.greater(x, 0), reflected, 0.0), direct)


@special(lambda t, y, x: t * kolmogorov_slope(x), at=(0.7,))
def kolmogorov(y: ArrayLike) -> Array:
    """The probability that Kolmogorov's statistic exceeds y, 2·Σ (−1)ᵏ⁻¹·e^(−2k²y²).

    Source: A. N. Kolmogorov, "Sulla determinazione empirica di una legge di distribuzione", 1933.
    """


@special(lambda t, y, p: t / kolmogorov_slope(y), at=(0.4,))
def kolmogi(p: ArrayLike) -> Array:
    """The inverse of `kolmogorov`.

    Source: A. N. Kolmogorov, "Sulla determinazione empirica di una legge di distribuzione", 1933.
    """


__all__ = [
    "bdtr", "bdtrc", "bdtri", "bdtrik", "bdtrin", "btdtria", "btdtrib", "chdtr", "chdtrc", "chdtri", "chdtriv",
    "chndtr", "chndtrinc", "chndtrix", "fdtr", "fdtrc", "fdtri", "fdtridfd", "gdtr", "gdtrc", "gdtria", "gdtrib",
    "gdtrix", "kolmogi", "kolmogorov", "nbdtr", "nbdtrc", "nbdtri", "nbdtrik", "nbdtrin", "pdtr", "pdtrc", "pdtri",
    "pdtrik", "stdtr", "stdtridf", "stdtrit", "tklmbda",
]  # fmt: skip
