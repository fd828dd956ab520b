"""Distributions with elementary distribution functions: uniform, logistic, Cauchy's and their relatives.

Formulas are those of Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994 and 1995, where no
other source is named.
"""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from ...random import laws
from ...random.laws import APERY, CONTINUOUS_1, CONTINUOUS_2, LOG_2, LOG_PI, chapter
from .density import Folded, Symmetric, Transformed, rv_continuous
from .distribution import all_of, magnitude, stats_of_moments


class Uniform(rv_continuous):
    """The uniform distribution on [loc, loc + scale].

    >>> print(fx.scipy.stats.uniform.cdf(2.5, loc=2.0, scale=2.0), fx.scipy.stats.uniform.pdf(1.0))
    0.25 1.0
    """

    _source = chapter(CONTINUOUS_2, 26)
    a: Any = 0.0
    b: Any = 1.0

    def _logpdf(self, x: Any) -> Any:
        return 0.0 * x

    def _pdf(self, x: Any) -> Any:
        return 0.0 * x + 1

    def _cdf(self, x: Any) -> Any:
        return x

    def _ppf(self, q: Any) -> Any:
        return q

    def _isf(self, q: Any) -> Any:
        return 1 - q

    def _munp(self, n: int) -> Any:
        return 1 / (n + 1)

    def _entropy(self) -> Any:
        return 0.0


uniform: Uniform = Uniform()


class LogUniform(Transformed):
    """The distribution of a variable on [a, b], a > 0, whose logarithm is uniform.

    Source: R. W. Hamming, "On the distribution of numbers", 1970.

    >>> print(f"{fx.scipy.stats.loguniform.ppf(0.5, 1.0, 100.0):.6f}")
    10.000000
    """

    _base = uniform

    def _argcheck(self, a: Any, b: Any) -> Any:
        return all_of(ops.greater(a, 0), ops.greater(b, a))

    def _get_support(self, a: Any, b: Any) -> tuple[Any, Any]:
        return a, b

    def _variable(self, x: Any, a: Any, b: Any) -> Any:
        return (ops.log(x) - ops.log(a)) / (ops.log(b) - ops.log(a))

    def _log_slope(self, x: Any, a: Any, b: Any) -> Any:
        return -ops.log(x) - ops.log(ops.log(b) - ops.log(a))

    def _point(self, u: Any, a: Any, b: Any) -> Any:
        return ops.exp(ops.log(a) + u * (ops.log(b) - ops.log(a)))

    def _munp(self, n: int, a: Any, b: Any) -> Any:
        return (b**n - a**n) / (n * (ops.log(b) - ops.log(a)))

    def _entropy(self, a: Any, b: Any) -> Any:
        return 0.5 * (ops.log(a) + ops.log(b)) + ops.log(ops.log(b) - ops.log(a))


class Triang(rv_continuous):
    """The triangular distribution on [0, 1] with its peak at c.

    >>> print(fx.scipy.stats.triang.pdf(0.25, 0.5), fx.scipy.stats.triang.cdf(0.5, 0.5))
    1.0 0.5
    """

    _source = chapter(CONTINUOUS_2, 26)
    a: Any = 0.0
    b: Any = 1.0

    def _argcheck(self, c: Any) -> Any:
        return all_of(ops.greater_equal(c, 0), ops.less_equal(c, 1))

    def _pdf(self, x: Any, c: Any) -> Any:
        rising = ops.logical_or(ops.less(x, c), ops.equal(c, 1))
        rise, fall = ops.where(rising, c, 1.0), ops.where(rising, 1.0, 1 - c)
        return 2 * ops.where(rising, x / rise, (1 - x) / fall)

    def _cdf(self, x: Any, c: Any) -> Any:
        rising = ops.less(x, c)
        rise, fall = ops.where(rising, c, 1.0), ops.where(rising, 1.0, 1 - c)
        return ops.where(rising, ops.square(x) / rise, 1 - ops.square(1 - x) / fall)

    def _sf(self, x: Any, c: Any) -> Any:
        return self._cdf(1 - x, 1 - c)

    def _ppf(self, q: Any, c: Any) -> Any:
        rising = ops.less(q, c)
        rise, fall = ops.where(rising, c * q, 1.0), ops.where(rising, 1.0, (1 - c) * (1 - q))
        return ops.where(rising, ops.sqrt(rise), 1 - ops.sqrt(fall))

    def _isf(self, q: Any, c: Any) -> Any:
        return 1 - self._ppf(q, 1 - c)

    def _stats(self, c: Any) -> Any:
        spread = 1 - c + c * c
        skew = math.sqrt(2) * (2 * c - 1) * (c + 1) * (c - 2) / (5 * spread**1.5)
        return (1 + c) / 3, spread / 18, skew, -0.6

    def _entropy(self, c: Any) -> Any:
        return 0.5 - LOG_2 + 0 * c


class Logistic(Symmetric):
    """The logistic distribution, of distribution function 1/(1 + e⁻ˣ).

    >>> print(fx.scipy.stats.logistic.cdf(0.0), fx.scipy.stats.logistic.logcdf(-1000.0))
    0.5 -1000.0
    """

    _source = chapter(CONTINUOUS_2, 23)

    def _logpdf(self, x: Any) -> Any:
        return x - 2 * ops.softplus(x)

    def _cdf(self, x: Any) -> Any:
        return ops.sigmoid(x)

    def _logcdf(self, x: Any) -> Any:
        return -ops.softplus(-x)

    def _ppf(self, q: Any) -> Any:
        return ops.log(q) - ops.log1p(-q)

    def _stats(self) -> Any:
        return 0.0, math.pi**2 / 3, 0.0, 1.2

    def _entropy(self) -> Any:
        return 2.0


logistic: Logistic = Logistic()


class Fisk(Transformed):
    """The log-logistic distribution, of distribution function 1/(1 + x⁻ᶜ) for x > 0.

    >>> print(fx.scipy.stats.fisk.cdf(1.0, 3.0))
    0.5
    """

    _source = chapter(CONTINUOUS_2, 23)
    a: Any = 0.0
    _base = logistic
    _closed = False

    def _variable(self, x: Any, c: Any) -> Any:
        return c * ops.log(x)

    def _log_slope(self, x: Any, c: Any) -> Any:
        return ops.log(c) - ops.log(x)

    def _point(self, u: Any, c: Any) -> Any:
        return ops.exp(u / c)

    def _munp(self, n: int, c: Any) -> Any:
        finite = ops.greater(c, n)
        angle = math.pi * n / ops.where(finite, c, 2.0 * n)
        return ops.where(finite, angle / ops.sin(angle), math.inf)

    def _entropy(self, c: Any) -> Any:
        return 2 - ops.log(c)


class Cauchy(laws.Cauchy, Symmetric):
    """The distribution of Cauchy, of density 1/(π·(1 + x²)).

    >>> print(f"{fx.scipy.stats.cauchy.sf(1e20):.6e}", fx.scipy.stats.cauchy.cdf(0.0))
    3.183099e-21 0.5
    """

    def _stats(self) -> Any:
        return math.nan, math.nan, math.nan, math.nan

    def _munp(self, n: int) -> Any:
        return math.nan


cauchy: Cauchy = Cauchy()


class HalfCauchy(Folded):
    """The distribution of |X| for X of `cauchy`.

    >>> print(f"{fx.scipy.stats.halfcauchy.sf(1e20):.6e}")
    6.366198e-21
    """

    _source = chapter(CONTINUOUS_1, 16)
    _base = cauchy

    def _cdf(self, x: Any) -> Any:
        return 2 / math.pi * ops.arctan(x)

    def _ppf(self, q: Any) -> Any:
        return ops.tan(0.5 * math.pi * q)

    def _munp(self, n: int) -> Any:
        return math.inf

    def _stats(self) -> Any:
        return math.inf, math.inf, math.nan, math.nan


class HypSecant(Symmetric):
    """The hyperbolic secant distribution, of density 1/(π·cosh x).

    >>> print(fx.scipy.stats.hypsecant.cdf(0.0))
    0.5
    """

    _source = chapter(CONTINUOUS_2, 23)

    def _logpdf(self, x: Any) -> Any:
        return -LOG_PI + LOG_2 + x - ops.softplus(2 * x)

    def _cdf(self, x: Any) -> Any:
        shorter = 2 / math.pi * ops.arctan(ops.exp(-magnitude(x)))
        return ops.where(ops.less(x, 0), shorter, 1 - shorter)

    def _ppf(self, q: Any) -> Any:
        return ops.log(ops.tan(0.5 * math.pi * q))

    def _isf(self, q: Any) -> Any:
        return -ops.log(ops.tan(0.5 * math.pi * q))

    def _stats(self) -> Any:
        return 0.0, 0.25 * math.pi**2, 0.0, 2.0

    def _entropy(self) -> Any:
        return math.log(2 * math.pi)


class HalfLogistic(Folded):
    """The distribution of |X| for X of `logistic`.

    >>> print(fx.scipy.stats.halflogistic.pdf(0.0))
    0.5
    """

    _source = chapter(CONTINUOUS_2, 23)
    _base = logistic

    def _cdf(self, x: Any) -> Any:
        near = ops.less(x, 1.0)  # further out the derivative of tanh cancels
        return ops.where(near, ops.tanh(0.5 * ops.where(near, x, 0.0)), 1 - self._sf(x))

    def _ppf(self, q: Any) -> Any:
        return 2 * ops.arctanh(q)

    def _stats(self) -> Any:
        return stats_of_moments(2 * LOG_2, math.pi**2 / 3, 9 * APERY, 7 * math.pi**4 / 15)


loguniform: LogUniform = LogUniform()
reciprocal: LogUniform = loguniform
triang: Triang = Triang()
fisk: Fisk = Fisk()
halfcauchy: HalfCauchy = HalfCauchy()
hypsecant: HypSecant = HypSecant()
halflogistic: HalfLogistic = HalfLogistic()
