"""The gamma distribution and distributions derived from it.

Formulas are those of Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994 and 1995, where no
other source is named.
"""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from ...random import laws
from ...random.laws import CONTINUOUS_1, CONTINUOUS_2, EULER, LOG_2, chapter
from .. import special
from .density import HalfSquare, Symmetric, Transformed, rv_continuous
from .distribution import INFINITY, Distribution


class Gamma(laws.Gamma, rv_continuous):
    """The gamma distribution, of density xᵃ⁻¹·e⁻ˣ/Γ(a) for x > 0.

    >>> gamma = fx.scipy.stats.gamma
    >>> print(f"{gamma.logsf(2000.0, 2.0):.6f}", f"{fx.grad(gamma.cdf, argnums=1)(1.0, 2.0):.6f}")
    -1992.398598 -0.276196
    """

    a: Any = 0.0
    _sampler = "gamma"

    def _sf(self, x: Any, a: Any) -> Any:
        return special.gammaincc(a, x)

    def _logcdf(self, x: Any, a: Any) -> Any:
        return log_tail(Distribution._logcdf(self, x, a), x, ops.log(x), a, upper=False)

    def _logsf(self, x: Any, a: Any) -> Any:
        return log_tail(Distribution._logsf(self, x, a), x, ops.log(x), a, upper=True)

    def _ppf(self, q: Any, a: Any) -> Any:
        return special.gammaincinv(a, q)

    def _isf(self, q: Any, a: Any) -> Any:
        return special.gammainccinv(a, q)

    def _munp(self, n: int, a: Any) -> Any:
        return math.prod([a + i for i in range(n)])

    def _stats(self, a: Any) -> Any:
        return a, a, 2 / ops.sqrt(a), 6 / a


def log_tail(log_part: Any, x: Any, w: Any, a: Any, upper: bool) -> Any:
    """The logarithm of a part of the gamma distribution at x = eʷ, where the part itself has underflown by the density
    of log X times an integral that has not."""
    within = ops.logical_and(ops.isfinite(x), ops.isfinite(w))
    gone = ops.logical_and(within, ops.less(log_part, -400.0))
    a, x, w = (ops.where(gone, v, otherwise) for v, otherwise in ((a, 1.0), (x, 1.0), (w, 0.0)))
    moment = ops.gamma_moment(a, w, ops.equal(w, w) if upper else ops.not_equal(w, w), n=0)
    return ops.where(gone, a * w - x - special.gammaln(a) + ops.log(moment), log_part)


gamma: Gamma = Gamma()


class Erlang(Gamma):
    """The gamma distribution under the name that it has for whole numbers a.

    >>> print(f"{fx.scipy.stats.erlang.sf(1.0, 2):.6f}")
    0.735759
    """


class Chi2(Transformed):
    """The χ² distribution with df degrees of freedom, that of twice a gamma variable.

    >>> print(f"{fx.scipy.stats.chi2.sf(3.841459, 1.0):.6f}")
    0.050000
    """

    _source = chapter(CONTINUOUS_1, 18)
    a: Any = 0.0
    _base = gamma
    _sampler = "chisquare"

    def _base_shapes(self, df: Any) -> tuple[Any, ...]:
        return (0.5 * df,)

    def _variable(self, x: Any, df: Any) -> Any:
        return 0.5 * x

    def _log_slope(self, x: Any, df: Any) -> Any:
        return -LOG_2

    def _point(self, u: Any, df: Any) -> Any:
        return 2 * u

    def _munp(self, n: int, df: Any) -> Any:
        return 2**n * gamma._munp(n, 0.5 * df)

    def _stats(self, df: Any) -> Any:
        return df, 2 * df, ops.sqrt(8 / df), 12 / df

    def _entropy(self, df: Any) -> Any:
        return LOG_2 + gamma._entropy(0.5 * df)


class Chi(HalfSquare):
    """The χ distribution with df degrees of freedom, of the length of a vector of df normal variables.

    >>> print(f"{fx.scipy.stats.chi.mean(2.0):.6f}")
    1.253314
    """

    shapes = ("df",)
    _source = chapter(CONTINUOUS_1, 18)
    _base = gamma

    def _base_shapes(self, df: Any) -> tuple[Any, ...]:
        return (0.5 * df,)

    def _logpdf(self, x: Any, df: Any) -> Any:
        half = 0.5 * df
        return LOG_2 * (1 - half) - special.gammaln(half) + special.xlogy(df - 1, x) - 0.5 * ops.square(x)

    def _munp(self, n: int, df: Any) -> Any:
        return 2 ** (0.5 * n) * ops.exp(special.gammaln(0.5 * (df + n)) - special.gammaln(0.5 * df))

    def _entropy(self, df: Any) -> Any:
        half = 0.5 * df
        return special.gammaln(half) + half - 0.5 * LOG_2 - (half - 0.5) * special.digamma(half)


class Maxwell(HalfSquare):
    """The distribution of Maxwell, of density √(2/π)·x²·e^(-x²/2) for x > 0.

    >>> print(f"{fx.scipy.stats.maxwell.mean():.6f}")
    1.595769
    """

    _source = chapter(CONTINUOUS_1, 18)
    _base = gamma

    def _base_shapes(self) -> tuple[Any, ...]:
        return (1.5,)

    def _logpdf(self, x: Any) -> Any:
        return 0.5 * math.log(2 / math.pi) + 2 * ops.log(x) - 0.5 * ops.square(x)

    def _munp(self, n: int) -> Any:
        return 2 ** (0.5 * n) * math.gamma(0.5 * (3 + n)) / math.gamma(1.5)

    def _entropy(self) -> Any:
        return EULER + 0.5 * math.log(2 * math.pi) - 0.5


class Nakagami(Transformed):
    """The distribution of Nakagami, of density proportional to x^(2ν - 1)·e^(-ν·x²) for x > 0.

    >>> print(f"{fx.scipy.stats.nakagami.cdf(1.0, 1.0):.6f}")
    0.632121
    """

    _source = chapter(CONTINUOUS_1, 18)
    a: Any = 0.0
    _base = gamma

    def _base_shapes(self, nu: Any) -> tuple[Any, ...]:
        return (nu,)

    def _variable(self, x: Any, nu: Any) -> Any:
        return nu * ops.square(x)

    def _log_slope(self, x: Any, nu: Any) -> Any:
        return ops.log(2 * nu * x)

    def _logpdf(self, x: Any, nu: Any) -> Any:
        constant = LOG_2 + special.xlogy(nu, nu) - special.gammaln(nu)
        return constant + special.xlogy(2 * nu - 1, x) - nu * ops.square(x)

    def _point(self, u: Any, nu: Any) -> Any:
        return ops.sqrt(u / nu)

    def _munp(self, n: int, nu: Any) -> Any:
        return ops.exp(special.gammaln(nu + 0.5 * n) - special.gammaln(nu)) / nu ** (0.5 * n)

    def _entropy(self, nu: Any) -> Any:
        return gamma._entropy(nu) - LOG_2 - 0.5 * (ops.log(nu) + special.digamma(nu))


class InvGamma(laws.InverseGamma, Transformed):
    """The distribution of 1/X for a gamma variable X, of density x^(-a - 1)·e^(-1/x)/Γ(a) for x > 0.

    >>> print(f"{fx.scipy.stats.invgamma.cdf(1.0, 1.0):.6f}", fx.scipy.stats.invgamma.pdf(0.0, 1.0))
    0.367879 0.0
    """

    a: Any = 0.0
    _base = gamma
    _falling = True
    _closed = False

    def _base_shapes(self, a: Any) -> tuple[Any, ...]:
        return (a,)

    def _variable(self, x: Any, a: Any) -> Any:
        return 1 / x

    def _log_slope(self, x: Any, a: Any) -> Any:
        return -2 * ops.log(x)

    def _logpdf(self, x: Any, a: Any) -> Any:
        return -(a + 1) * ops.log(x) - special.gammaln(a) - 1 / x

    def _point(self, u: Any, a: Any) -> Any:
        return 1 / u

    def _munp(self, n: int, a: Any) -> Any:
        return ops.where(ops.greater(a, n), 1 / math.prod([a - i for i in range(1, n + 1)]), INFINITY)

    def _stats(self, a: Any) -> Any:
        var = ops.where(ops.greater(a, 2), 1 / (ops.square(a - 1) * (a - 2)), INFINITY)
        skew = ops.where(ops.greater(a, 3), 4 * ops.sqrt(ops.maximum(a - 2, 0.0)) / (a - 3), math.nan)
        kurtosis = ops.where(ops.greater(a, 4), 6 * (5 * a - 11) / ((a - 3) * (a - 4)), math.nan)
        return self._munp(1, a), var, skew, kurtosis


class GenGamma(rv_continuous):
    """The generalized gamma distribution, of density |c|·x^(c·a - 1)·e^(-xᶜ)/Γ(a) for x > 0, c of either sign.

    >>> print(f"{fx.scipy.stats.gengamma.pdf(1.0, 1.0, 2.0):.6f}")
    0.735759
    """

    _source = chapter(CONTINUOUS_1, 17)
    a: Any = 0.0
    _closed = False

    def _argcheck(self, a: Any, c: Any) -> Any:
        return ops.logical_and(ops.greater(a, 0), ops.not_equal(c, 0))

    def _logpdf(self, x: Any, a: Any, c: Any) -> Any:
        return ops.log(ops.absolute(c)) + (c * a - 1) * ops.log(x) - x**c - special.gammaln(a)

    def _cdf(self, x: Any, a: Any, c: Any) -> Any:
        rising = ops.greater(c, 0)
        return ops.where(rising, special.gammainc(a, x**c), special.gammaincc(a, x**c))

    def _sf(self, x: Any, a: Any, c: Any) -> Any:
        rising = ops.greater(c, 0)
        return ops.where(rising, special.gammaincc(a, x**c), special.gammainc(a, x**c))

    def _ppf(self, q: Any, a: Any, c: Any) -> Any:
        rising = ops.greater(c, 0)
        return ops.where(rising, special.gammaincinv(a, q), special.gammainccinv(a, q)) ** (1 / c)

    def _isf(self, q: Any, a: Any, c: Any) -> Any:
        rising = ops.greater(c, 0)
        return ops.where(rising, special.gammainccinv(a, q), special.gammaincinv(a, q)) ** (1 / c)

    def _munp(self, n: int, a: Any, c: Any) -> Any:
        order = a + n / c
        finite = ops.greater(order, 0)
        moment = ops.exp(special.gammaln(ops.where(finite, order, 1.0)) - special.gammaln(a))
        return ops.where(finite, moment, INFINITY)

    def _entropy(self, a: Any, c: Any) -> Any:
        return (
            a * (1 - special.digamma(a))
            + special.digamma(a) / c
            + special.gammaln(a)
            - ops.log(ops.absolute(c))
        )


class LogGamma(Transformed):
    """The distribution of the logarithm of a gamma variable, of density e^(c·x - eˣ)/Γ(c).

    >>> print(f"{fx.scipy.stats.loggamma.logcdf(-1000.0, 2.0):.6f}")
    -2000.693147
    """

    _source = chapter(CONTINUOUS_1, 17)
    _base = gamma

    def _base_shapes(self, c: Any) -> tuple[Any, ...]:
        return (c,)

    def _variable(self, x: Any, c: Any) -> Any:
        return ops.exp(x)

    def _log_slope(self, x: Any, c: Any) -> Any:
        return x

    def _logpdf(self, x: Any, c: Any) -> Any:
        return c * x - ops.exp(x) - special.gammaln(c)

    def _logcdf(self, x: Any, c: Any) -> Any:
        variable = ops.exp(x)
        return log_tail(Distribution._logcdf(gamma, variable, c), variable, x, c, upper=False)

    def _point(self, u: Any, c: Any) -> Any:
        return ops.log(u)

    def _stats(self, c: Any) -> Any:
        var = special.polygamma(1, c)
        return (
            special.digamma(c),
            var,
            special.polygamma(2, c) / var**1.5,
            special.polygamma(3, c) / ops.square(var),
        )

    def _entropy(self, c: Any) -> Any:
        return special.gammaln(c) - c * special.digamma(c) + c


class Levy(rv_continuous):
    """The distribution of Lévy, of density e^(-1/(2x))/√(2π·x³) for x > 0.

    >>> print(f"{fx.scipy.stats.levy.cdf(1.0):.6f}")
    0.317311
    """

    _source = chapter(CONTINUOUS_1, 12)
    a: Any = 0.0
    _closed = False

    def _logpdf(self, x: Any) -> Any:
        return -0.5 * math.log(2 * math.pi) - 1.5 * ops.log(x) - 0.5 / x

    def _cdf(self, x: Any) -> Any:
        return special.erfc(ops.sqrt(0.5 / x))

    def _sf(self, x: Any) -> Any:
        return special.erf(ops.sqrt(0.5 / x))

    def _ppf(self, q: Any) -> Any:
        return 1 / ops.square(special.ndtri(0.5 * q))

    def _isf(self, q: Any) -> Any:
        return 0.5 / ops.square(special.erfinv(q))

    def _stats(self) -> Any:
        return INFINITY, INFINITY, math.nan, math.nan

    def _munp(self, n: int) -> Any:
        return INFINITY

    def _entropy(self) -> Any:
        return 0.5 * (1 + 3 * EULER + math.log(16 * math.pi))


def size_to_power(x: Any, exponent: Any) -> Any:
    """|x|^exponent, with derivative 0 at 0."""
    zero = ops.equal(x, 0)
    return ops.where(zero, 0.0, ops.absolute(ops.where(zero, 1.0, x)) ** exponent)


class GenNorm(Symmetric):
    """The generalized normal distribution, of density proportional to e^-|x|^β.

    >>> print(f"{fx.scipy.stats.gennorm.logpdf(1.0, 2.0):.6f}")
    -1.572365
    """

    _source = chapter(CONTINUOUS_2, 24)

    def _logpdf(self, x: Any, beta: Any) -> Any:
        return ops.log(0.5 * beta) - special.gammaln(1 / beta) - size_to_power(x, beta)

    def _cdf(self, x: Any, beta: Any) -> Any:
        zero = ops.equal(ops.absolute(x) ** beta, 0)  # where the gamma distribution's variable is not smooth
        shorter = 0.5 * special.gammaincc(1 / beta, ops.absolute(ops.where(zero, 1.0, x)) ** beta)
        at_zero = 0.5 + x * self._pdf(0 * x, beta)
        return ops.where(zero, at_zero, ops.where(ops.less(x, 0), shorter, 1 - shorter))

    def _ppf(self, q: Any, beta: Any) -> Any:
        below = ops.less(q, 0.5)
        half = ops.equal(q, 0.5)
        tail = ops.where(half, 0.1, ops.where(below, q, 1 - q))
        size = special.gammainccinv(1 / beta, 2 * tail) ** (1 / beta)
        return ops.where(half, (q - 0.5) / self._pdf(0 * q, beta), ops.where(below, -size, size))

    def _munp(self, n: int, beta: Any) -> Any:
        return 0.0 if n % 2 else ops.exp(special.gammaln((n + 1) / beta) - special.gammaln(1 / beta))

    def _stats(self, beta: Any) -> Any:
        var, fourth = self._munp(2, beta), self._munp(4, beta)
        return 0.0, var, 0.0, fourth / ops.square(var) - 3

    def _entropy(self, beta: Any) -> Any:
        return 1 / beta - ops.log(0.5 * beta) + special.gammaln(1 / beta)


erlang: Erlang = Erlang()
chi2: Chi2 = Chi2()
chi: Chi = Chi()
maxwell: Maxwell = Maxwell()
nakagami: Nakagami = Nakagami()
invgamma: InvGamma = InvGamma()
gengamma: GenGamma = GenGamma()
loggamma: LogGamma = LogGamma()
levy: Levy = Levy()
gennorm: GenNorm = GenNorm()
