"""Distributions of integers (Johnson, Kemp and Kotz, "Univariate Discrete Distributions", 2005)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...extend import aval_of, ops
from ...random import laws
from ...random.laws import DISCRETE, chapter
from .. import special
from .distribution import INFINITY, all_of
from .mass import rv_discrete


def log_choose(n: Any, k: Any) -> Any:
    """The logarithm of the binomial coefficient."""
    return -ops.log(n + 1) - special.betaln(n - k + 1, k + 1)


def is_count(n: Any) -> Any:
    """Whether numbers are whole and not negative."""
    return ops.logical_and(ops.greater_equal(n, 0), ops.equal(ops.floor(n), n))


def is_probability(p: Any) -> Any:
    """Whether numbers are from 0 to 1."""
    return ops.logical_and(ops.greater_equal(p, 0), ops.less_equal(p, 1))


class Binom(rv_discrete):
    """The binomial distribution, of the number of successes in n trials of probability p.

    >>> print(f"{fx.scipy.stats.binom.pmf(2, 4, 0.5):.6f}", fx.scipy.stats.binom.ppf(0.5, 10, 0.3))
    0.375000 3.0
    """

    _source = chapter(DISCRETE, 3)
    a: Any = 0.0
    _sampler = "binomial"

    def _argcheck(self, n: Any, p: Any) -> Any:
        return ops.logical_and(is_count(n), is_probability(p))

    def _get_support(self, n: Any, p: Any) -> tuple[Any, Any]:
        return 0.0, n

    def _logpmf(self, k: Any, n: Any, p: Any) -> Any:
        return log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p)

    def _cdf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betaincc(k + 1, n - k, p)

    def _sf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betainc(k + 1, n - k, p)

    def _stats(self, n: Any, p: Any) -> Any:
        var = n * p * (1 - p)
        return n * p, var, (1 - 2 * p) / ops.sqrt(var), (1 - 6 * p * (1 - p)) / var


class Bernoulli(rv_discrete):
    """The distribution of Bernoulli, of 1 with probability p and else 0.

    >>> print(fx.scipy.stats.bernoulli.pmf(1, 0.25), fx.scipy.stats.bernoulli.ppf(0.9, 0.25))
    0.25 1.0
    """

    _source = chapter(DISCRETE, 3)
    a: Any = 0.0
    b: Any = 1.0

    def _argcheck(self, p: Any) -> Any:
        return is_probability(p)

    def _logpmf(self, k: Any, p: Any) -> Any:
        return special.xlogy(k, p) + special.xlog1py(1 - k, -p)

    def _cdf(self, k: Any, p: Any) -> Any:
        return 1 - p + 0 * k  # for the k of [0, 1), as nothing else is asked for

    def _sf(self, k: Any, p: Any) -> Any:
        return p + 0 * k

    def _stats(self, p: Any) -> Any:
        var = p * (1 - p)
        return p, var, (1 - 2 * p) / ops.sqrt(var), (1 - 6 * var) / var

    def _entropy(self, p: Any) -> Any:
        return special.entr(p) + special.entr(1 - p)


class Poisson(laws.Poisson, rv_discrete):
    """The distribution of Poisson, of mean μ.

    >>> logpmf = fx.scipy.stats.poisson.logpmf
    >>> print(f"{logpmf(3, 2.0):.6f}", fx.grad(logpmf, argnums=1)(3, 2.0))
    -1.712318 0.5
    """

    a: Any = 0.0
    _sampler = "poisson"

    def _argcheck(self, mu: Any) -> Any:
        return ops.greater_equal(mu, 0)

    def _cdf(self, k: Any, mu: Any) -> Any:
        return special.gammaincc(k + 1, mu)

    def _sf(self, k: Any, mu: Any) -> Any:
        return special.gammainc(k + 1, mu)

    def _stats(self, mu: Any) -> Any:
        return mu, mu, 1 / ops.sqrt(mu), 1 / mu

    def _entropy(self, mu: Any) -> Any:
        large = ops.greater(mu, 1000)
        some, many = ops.where(large, 1.0, mu), ops.where(large, mu, 1000.0)
        around = np.arange(-400.0, 401.0, dtype=aval_of(mu).dtype).reshape(-1, *[1] * aval_of(mu).ndim)
        counts = (
            ops.floor(ops.stop_gradient(some)) + around
        )  # at least twelve standard deviations on either side
        total = ops.reduce_sum(self._mass(counts, (some,), self._surprise), axes=(0,))
        # The asymptotic series of Evans, Boersma, Blachman and Jagers, "The entropy of a Poisson distribution", 1988.
        series = -(1 / 12 + (1 / 24 + (19 / 360 + 9 / (80 * many)) / many) / many) / many
        return ops.where(large, 0.5 * ops.log(2 * math.pi * math.e * many) + series, total)


class Geom(rv_discrete):
    """The geometric distribution, of the number of trials of probability p up to the first success.

    >>> print(f"{fx.scipy.stats.geom.pmf(3, 0.5):.6f}", fx.scipy.stats.geom.ppf(0.9, 0.5))
    0.125000 4.0
    """

    _source = chapter(DISCRETE, 5)
    a: Any = 1.0
    _sampler = "geometric"

    def _argcheck(self, p: Any) -> Any:
        return all_of(ops.greater(p, 0), ops.less_equal(p, 1))

    def _logpmf(self, k: Any, p: Any) -> Any:
        return special.xlog1py(k - 1, -p) + ops.log(p)

    def _cdf(self, k: Any, p: Any) -> Any:
        return -ops.expm1(self._logsf(k, p))

    def _sf(self, k: Any, p: Any) -> Any:
        return ops.exp(self._logsf(k, p))

    def _logsf(self, k: Any, p: Any) -> Any:
        return k * ops.log1p(-p)

    def _stats(self, p: Any) -> Any:
        return 1 / p, (1 - p) / ops.square(p), (2 - p) / ops.sqrt(1 - p), 6 + ops.square(p) / (1 - p)

    def _entropy(self, p: Any) -> Any:
        return (special.entr(p) + special.entr(1 - p)) / p


class NBinom(rv_discrete):
    """The negative binomial distribution, of the number of failures before n successes of probability p; n > 0 need
    not be whole.

    >>> print(fx.scipy.stats.nbinom.pmf(0, 2, 0.5), fx.scipy.stats.nbinom.mean(2, 0.5))
    0.25 2.0
    """

    _source = chapter(DISCRETE, 5)
    a: Any = 0.0

    def _argcheck(self, n: Any, p: Any) -> Any:
        return all_of(ops.greater(n, 0), ops.greater(p, 0), ops.less_equal(p, 1))

    def _logpmf(self, k: Any, n: Any, p: Any) -> Any:
        ways = special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n)
        return ways + n * ops.log(p) + special.xlog1py(k, -p)

    def _cdf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betainc(n, k + 1, p)

    def _sf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betaincc(n, k + 1, p)

    def _stats(self, n: Any, p: Any) -> Any:
        rest = 1 - p
        skew = (2 - p) / ops.sqrt(n * rest)
        return n * rest / p, n * rest / ops.square(p), skew, 6 / n + ops.square(p) / (n * rest)


class BetaBinom(rv_discrete):
    """The binomial distribution with a probability that has the beta distribution of shapes a and b.

    >>> print(f"{fx.scipy.stats.betabinom.pmf(1, 3, 1.0, 1.0):.6f}")
    0.250000
    """

    _source = chapter(DISCRETE, 6)
    a: Any = 0.0

    def _argcheck(self, n: Any, a: Any, b: Any) -> Any:
        return all_of(is_count(n), ops.greater(a, 0), ops.greater(b, 0))

    def _get_support(self, n: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return 0.0, n

    def _logpmf(self, k: Any, n: Any, a: Any, b: Any) -> Any:
        return log_choose(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)

    def _stats(self, n: Any, a: Any, b: Any) -> Any:
        total = a + b
        p = a / total
        var = n * (total + n) * p * (1 - p) / (total + 1)
        skew = (total + 2 * n) * (b - a) / (ops.sqrt(var) * (total + 2) * total)
        heavy = total * (total - 1 + 6 * n) + 3 * a * b * (n - 2) + 6 * ops.square(n)
        heavy = (
            (heavy - 3 * p * b * n * (6 - n) - 18 * p * (1 - p) * ops.square(n))
            * ops.square(total)
            * (1 + total)
        )
        kurtosis = heavy / (n * a * b * (total + 2) * (total + 3) * (total + n)) - 3
        return n * p, var, skew, kurtosis


class HyperGeom(rv_discrete):
    """The hypergeometric distribution, of the number of marked ones among N that are drawn of M, of which n are marked.

    >>> print(f"{fx.scipy.stats.hypergeom.pmf(1, 10, 4, 3):.6f}")
    0.500000
    """

    _source = chapter(DISCRETE, 6)

    def _argcheck(self, M: Any, n: Any, N: Any) -> Any:
        return all_of(*map(is_count, (M, n, N)), *(ops.less_equal(v, M) for v in (n, N)))

    def _get_support(self, M: Any, n: Any, N: Any) -> tuple[Any, Any]:
        return ops.maximum(N - (M - n), 0.0), ops.minimum(n, N)

    def _logpmf(self, k: Any, M: Any, n: Any, N: Any) -> Any:
        return log_choose(n, k) + log_choose(M - n, N - k) - log_choose(M, N)

    def _stats(self, M: Any, n: Any, N: Any) -> Any:
        p, rest = n / M, M - N
        var = N * p * (1 - p) * rest / (M - 1)
        skew = (M - 2 * n) * ops.sqrt(M - 1) * (M - 2 * N) / (ops.sqrt(N * n * (M - n) * rest) * (M - 2))
        heavy = (M - 1) * ops.square(M) * (M * (M + 1) - 6 * n * (M - n) - 6 * N * rest)
        heavy = heavy + 6 * n * N * (M - n) * rest * (5 * M - 6)
        return N * p, var, skew, heavy / (n * N * (M - n) * rest * (M - 2) * (M - 3))


class RandInt(rv_discrete):
    """The uniform distribution of the whole numbers from low up to, but not with, high.

    >>> print(fx.scipy.stats.randint.pmf(3, 1, 5), fx.scipy.stats.randint.ppf(0.5, 1, 5))
    0.25 2.0
    """

    _source = chapter(DISCRETE, 6)

    def _argcheck(self, low: Any, high: Any) -> Any:
        whole = (ops.equal(ops.floor(v), v) for v in (low, high))
        return all_of(ops.greater(high, low), *whole)

    def _get_support(self, low: Any, high: Any) -> tuple[Any, Any]:
        return low, high - 1

    def _logpmf(self, k: Any, low: Any, high: Any) -> Any:
        return -ops.log(high - low) + 0 * k

    def _cdf(self, k: Any, low: Any, high: Any) -> Any:
        return (k - low + 1) / (high - low)

    def _sf(self, k: Any, low: Any, high: Any) -> Any:
        return (high - 1 - k) / (high - low)

    def _stats(self, low: Any, high: Any) -> Any:
        square = ops.square(high - low)
        return 0.5 * (low + high - 1), (square - 1) / 12, 0.0, -1.2 * (square + 1) / (square - 1)

    def _entropy(self, low: Any, high: Any) -> Any:
        return ops.log(high - low)


class Zipf(rv_discrete):
    """The distribution of Zipf, of probabilities k⁻ᵃ/ζ(a) for k ≥ 1.

    >>> print(f"{fx.scipy.stats.zipf.pmf(1, 2.0):.6f}", f"{fx.scipy.stats.zipf.sf(1, 2.0):.6f}")
    0.607927 0.392073
    """

    _source = chapter(DISCRETE, 11)
    a: Any = 1.0

    def _argcheck(self, a: Any) -> Any:
        return ops.greater(a, 1)

    def _logpmf(self, k: Any, a: Any) -> Any:
        return -a * ops.log(k) - ops.log(special.zeta(a, 1.0))

    def _sf(self, k: Any, a: Any) -> Any:
        return special.zeta(a, k + 1) / special.zeta(a, 1.0)

    def _munp(self, n: int, a: Any) -> Any:
        finite = ops.greater(a, n + 1)
        order = ops.where(finite, a - n, 2.0)
        return ops.where(finite, special.zeta(order, 1.0) / special.zeta(a, 1.0), INFINITY)


class DLaplace(rv_discrete):
    """The discrete distribution of Laplace, of probabilities tanh(a/2)·e^(-a·|k|).

    Source: S. Inusah and T. J. Kozubowski, "A discrete analogue of the Laplace distribution", 2006.

    >>> print(f"{fx.scipy.stats.dlaplace.pmf(0, 2.0):.6f}")
    0.761594
    """

    def _logpmf(self, k: Any, a: Any) -> Any:
        return ops.log(ops.tanh(0.5 * a)) - a * ops.absolute(k)

    def _cdf(self, k: Any, a: Any) -> Any:
        below = ops.exp(a * (ops.minimum(k, -1.0) + 1)) / (ops.exp(a) + 1)
        above = 1 - ops.exp(-a * ops.maximum(k, 0.0)) / (ops.exp(a) + 1)
        return ops.where(ops.less(k, 0), below, above)

    def _sf(self, k: Any, a: Any) -> Any:
        return self._cdf(-k - 1, a)

    def _stats(self, a: Any) -> Any:
        e = ops.exp(a)
        var = 2 * e / ops.square(e - 1)
        fourth = 2 * e * (ops.square(e) + 10 * e + 1) / (e - 1) ** 4
        return 0.0, var, 0.0, fourth / ops.square(var) - 3

    def _entropy(self, a: Any) -> Any:
        return a / ops.sinh(a) - ops.log(ops.tanh(0.5 * a))


binom: Binom = Binom()
bernoulli: Bernoulli = Bernoulli()
poisson: Poisson = Poisson()
geom: Geom = Geom()
nbinom: NBinom = NBinom()
betabinom: BetaBinom = BetaBinom()
hypergeom: HyperGeom = HyperGeom()
randint: RandInt = RandInt()
zipf: Zipf = Zipf()
dlaplace: DLaplace = DLaplace()
