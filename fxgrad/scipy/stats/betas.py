"""The beta distribution and distributions derived from it.

Formulas are those of Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994 and 1995, where no
other source is named.
"""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from ...random import laws
from ...random.laws import CONTINUOUS_2, chapter
from .. import special
from .density import Symmetric, Transformed, rv_continuous
from .distribution import INFINITY, magnitude
from .normal import norm


class Beta(rv_continuous):
    """The beta distribution, of density xᵃ⁻¹·(1 - x)ᵇ⁻¹/B(a, b) for 0 < x < 1.

    >>> cdf = fx.scipy.stats.beta.cdf
    >>> print(f"{cdf(0.5, 2.0, 3.0):.6f}", f"{fx.grad(cdf, argnums=1)(0.5, 2.0, 3.0):.6f}")
    0.687500 -0.195289
    """

    _source = chapter(CONTINUOUS_2, 25)
    a: Any = 0.0
    b: Any = 1.0
    _sampler = "beta"

    def _logpdf(self, x: Any, a: Any, b: Any) -> Any:
        return special.xlog1py(b - 1, -x) + special.xlogy(a - 1, x) - special.betaln(a, b)

    def _cdf(self, x: Any, a: Any, b: Any) -> Any:
        return special.betainc(a, b, x)

    def _sf(self, x: Any, a: Any, b: Any) -> Any:
        return special.betaincc(a, b, x)

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        return special.betaincinv(a, b, q)

    def _isf(self, q: Any, a: Any, b: Any) -> Any:
        return special.betainccinv(a, b, q)

    def _munp(self, n: int, a: Any, b: Any) -> Any:
        return math.prod([(a + i) / (a + b + i) for i in range(n)])

    def _stats(self, a: Any, b: Any) -> Any:
        total = a + b
        skew = 2 * (b - a) * ops.sqrt((total + 1) / (a * b)) / (total + 2)
        kurtosis = 6 * (ops.square(a - b) * (total + 1) - a * b * (total + 2))
        return (
            a / total,
            a * b / (ops.square(total) * (total + 1)),
            skew,
            kurtosis / (a * b * (total + 2) * (total + 3)),
        )

    def _entropy(self, a: Any, b: Any) -> Any:
        inner = (a - 1) * special.digamma(a) + (b - 1) * special.digamma(b)
        return special.betaln(a, b) - inner + (a + b - 2) * special.digamma(a + b)


beta: Beta = Beta()


class Arcsine(rv_continuous):
    """The arcsine distribution, of density 1/(π·√(x·(1 - x))) for 0 < x < 1.

    >>> print(f"{fx.scipy.stats.arcsine.cdf(0.25):.6f}")
    0.333333
    """

    _source = chapter(CONTINUOUS_2, 25)
    a: Any = 0.0
    b: Any = 1.0

    def _logpdf(self, x: Any) -> Any:
        return -math.log(math.pi) - 0.5 * ops.log(x) - 0.5 * ops.log1p(-x)

    def _cdf(self, x: Any) -> Any:
        return self._from_both_ends(x, 1 - x)

    def _sf(self, x: Any) -> Any:
        return self._from_both_ends(1 - x, x)

    def _from_both_ends(self, x: Any, rest: Any) -> Any:
        """2/π·arcsin(√x), from 1 - x where that is small, where the derivative is infinite."""
        near = ops.less(x, 0.5)
        part = 2 / math.pi * ops.arcsin(ops.sqrt(ops.where(near, x, rest)))
        return ops.where(near, part, 1 - part)

    def _ppf(self, q: Any) -> Any:
        return ops.square(ops.sin(0.5 * math.pi * q))

    def _isf(self, q: Any) -> Any:
        return ops.square(ops.cos(0.5 * math.pi * q))

    def _stats(self) -> Any:
        return 0.5, 0.125, 0.0, -1.5

    def _entropy(self) -> Any:
        return math.log(math.pi / 4)


class BetaPrime(rv_continuous):
    """The distribution of the odds X/(1 - X) of a beta variable X, of density xᵃ⁻¹·(1 + x)⁻ᵃ⁻ᵇ/B(a, b) for x > 0.

    >>> print(f"{fx.scipy.stats.betaprime.sf(1e10, 2.0, 3.0):.6e}")
    4.000000e-30
    """

    _source = chapter(CONTINUOUS_2, 25)
    a: Any = 0.0

    def _logpdf(self, x: Any, a: Any, b: Any) -> Any:
        return special.xlogy(a - 1, x) - special.xlog1py(a + b, x) - special.betaln(a, b)

    def _cdf(self, x: Any, a: Any, b: Any) -> Any:
        above = ops.greater(
            x, 1
        )  # from the side on which the variable of the beta distribution does not round to 1
        return ops.where(
            above,
            special.betaincc(b, a, 1 / (1 + x)),
            special.betainc(a, b, ops.where(above, 0.5, x / (1 + x))),
        )

    def _sf(self, x: Any, a: Any, b: Any) -> Any:
        above = ops.greater(x, 1)
        return ops.where(
            above,
            special.betainc(b, a, 1 / (1 + x)),
            special.betaincc(a, b, ops.where(above, 0.5, x / (1 + x))),
        )

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        part = special.betaincinv(a, b, q)
        rest = special.betainccinv(b, a, q)
        return ops.where(ops.less(part, 0.5), part / (1 - part), (1 - rest) / rest)

    def _isf(self, q: Any, a: Any, b: Any) -> Any:
        part = special.betainccinv(a, b, q)
        rest = special.betaincinv(b, a, q)
        return ops.where(ops.less(part, 0.5), part / (1 - part), (1 - rest) / rest)

    def _munp(self, n: int, a: Any, b: Any) -> Any:
        finite = ops.greater(b, n)
        return ops.where(finite, math.prod([(a + i) / (b - i - 1) for i in range(n)]), INFINITY)

    def _entropy(self, a: Any, b: Any) -> Any:
        at_a, at_b, at_both = (special.digamma(v) for v in (a, b, a + b))
        return special.betaln(a, b) - (a - 1) * (at_a - at_b) + (a + b) * (at_both - at_b)


betaprime: BetaPrime = BetaPrime()


class F(Transformed):
    """Fisher's distribution of the ratio of two χ² variables, each divided by its degrees of freedom.

    >>> print(f"{fx.scipy.stats.f.ppf(0.95, 2.0, 10.0):.6f}")
    4.102821
    """

    _source = chapter(CONTINUOUS_2, 27)
    a: Any = 0.0
    _base = betaprime

    def _base_shapes(self, dfn: Any, dfd: Any) -> tuple[Any, ...]:
        return 0.5 * dfn, 0.5 * dfd

    def _variable(self, x: Any, dfn: Any, dfd: Any) -> Any:
        return x * (dfn / dfd)

    def _log_slope(self, x: Any, dfn: Any, dfd: Any) -> Any:
        return ops.log(dfn / dfd)

    def _point(self, u: Any, dfn: Any, dfd: Any) -> Any:
        return u * (dfd / dfn)

    def _munp(self, n: int, dfn: Any, dfd: Any) -> Any:
        return (dfd / dfn) ** n * betaprime._munp(n, 0.5 * dfn, 0.5 * dfd)

    def _stats(self, dfn: Any, dfd: Any) -> Any:
        m, n = dfn, dfd
        var = 2 * ops.square(n) * (m + n - 2) / (m * ops.square(n - 2) * (n - 4))
        skew = (2 * m + n - 2) / (n - 6) * ops.sqrt(8 * ops.maximum(n - 4, 0.0) / (m * (m + n - 2)))
        heavy = m * (5 * n - 22) * (m + n - 2) + (n - 4) * ops.square(n - 2)
        kurtosis = 12 * heavy / (m * (n - 6) * (n - 8) * (m + n - 2))
        return (
            ops.where(ops.greater(n, 2), n / (n - 2), INFINITY),
            ops.where(ops.greater(n, 4), var, INFINITY),
            ops.where(ops.greater(n, 6), skew, math.nan),
            ops.where(ops.greater(n, 8), kurtosis, math.nan),
        )

    def _entropy(self, dfn: Any, dfd: Any) -> Any:
        m, n = 0.5 * dfn, 0.5 * dfd
        inner = (1 - m) * special.digamma(m) - (1 + n) * special.digamma(n) + (m + n) * special.digamma(m + n)
        return ops.log(dfd / dfn) + special.betaln(m, n) + inner


class T(laws.StudentT, Symmetric):
    """Student's distribution with df degrees of freedom, of density proportional to (1 + x²/df)^(-(df + 1)/2); the
    normal one for df = ∞.

    >>> print(f"{fx.scipy.stats.t.ppf(0.975, 5.0):.6f}", f"{fx.grad(fx.scipy.stats.t.logpdf, argnums=1)(1.0, 5.0):.6f}")
    2.570582 0.018653
    """

    def _logpdf(self, x: Any, df: Any) -> Any:
        normal = ops.isinf(df)
        return ops.where(normal, norm._logpdf(x), super()._logpdf(x, ops.where(normal, 1.0, df)))

    def _cdf(self, x: Any, df: Any) -> Any:
        normal = ops.isinf(df)
        df = ops.where(normal, 1.0, df)
        # (1 + x/√(x² + df))/2 has a beta distribution of equal shapes, and is smooth in x.
        root = ops.hypot(x, ops.sqrt(df))
        part = 0.5 * (df / (root + magnitude(x))) / root
        shorter = special.betainc(0.5 * df, 0.5 * df, part)
        return ops.where(normal, special.ndtr(x), ops.where(ops.less(x, 0), shorter, 1 - shorter))

    def _ppf(self, q: Any, df: Any) -> Any:
        normal = ops.isinf(df)
        df = ops.where(normal, 1.0, df)
        below = ops.less(q, 0.5)
        part = special.betaincinv(0.5 * df, 0.5 * df, ops.where(below, q, 1 - q))
        size = ops.sqrt(df) * (0.5 - part) / ops.sqrt(part * (1 - part))
        return ops.where(normal, special.ndtri(q), ops.where(below, -size, size))

    def _stats(self, df: Any) -> Any:
        normal = ops.isinf(df)
        n = ops.where(normal, 1.0, df)
        mean = ops.where(ops.greater(df, 1), 0.0, INFINITY)
        var = ops.where(ops.greater(n, 2), n / (n - 2), ops.where(ops.greater(n, 1), INFINITY, math.nan))
        skew = ops.where(ops.greater(df, 3), 0.0, math.nan)
        kurtosis = ops.where(ops.greater(n, 4), 6 / (n - 4), ops.where(ops.greater(n, 2), INFINITY, math.nan))
        return mean, ops.where(normal, 1.0, var), skew, ops.where(normal, 0.0, kurtosis)

    def _entropy(self, df: Any) -> Any:
        normal = ops.isinf(df)
        return ops.where(normal, norm._entropy(), super()._entropy(ops.where(normal, 1.0, df)))


arcsine: Arcsine = Arcsine()
f: F = F()
t: T = T()
