"""The exponential distribution, and distributions of monotone functions of it.

Formulas are those of Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994 and 1995, where no
other source is named.
"""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from ...random import laws
from ...random.laws import APERY, CONTINUOUS_1, CONTINUOUS_2, EULER, LOG_2, chapter
from .. import special
from .density import HalfSquare, Symmetric, Transformed, rv_continuous
from .distribution import INFINITY, magnitude


class Expon(laws.Exponential, rv_continuous):
    """The exponential distribution, of density e⁻ˣ for x ≥ 0.

    >>> print(fx.scipy.stats.expon.logsf(1000.0, scale=0.5), fx.scipy.stats.expon.cdf(1e-20))
    -2000.0 1e-20
    """

    a: Any = 0.0

    def _sf(self, x: Any) -> Any:
        return ops.exp(-x)

    def _logsf(self, x: Any) -> Any:
        return -x

    def _isf(self, q: Any) -> Any:
        return -ops.log(q)

    def _munp(self, n: int) -> Any:
        return float(math.factorial(n))


expon: Expon = Expon()


class WeibullMin(laws.Weibull, Transformed):
    """The distribution of Weibull, of density c·xᶜ⁻¹·e^(-xᶜ) for x > 0.

    >>> print(f"{fx.scipy.stats.weibull_min.pdf(1.0, 2.0):.6f}")
    0.735759
    """

    a: Any = 0.0
    _base = expon

    def _variable(self, x: Any, c: Any) -> Any:
        return x**c

    def _log_slope(self, x: Any, c: Any) -> Any:
        return ops.log(c) + special.xlogy(c - 1, x)

    def _point(self, u: Any, c: Any) -> Any:
        return u ** (1 / c)


class InvWeibull(WeibullMin):
    """The distribution of Fréchet, of density c·x⁻ᶜ⁻¹·e^(-x⁻ᶜ) for x > 0.

    >>> print(f"{fx.scipy.stats.invweibull.cdf(1.0, 2.0):.6f}")
    0.367879
    """

    _source = chapter(CONTINUOUS_2, 22)
    _falling = True
    _closed = False

    def _variable(self, x: Any, c: Any) -> Any:
        return x**-c

    def _log_slope(self, x: Any, c: Any) -> Any:
        return ops.log(c) - (c + 1) * ops.log(x)

    def _point(self, u: Any, c: Any) -> Any:
        return u ** (-1 / c)

    def _munp(self, n: int, c: Any) -> Any:
        finite = ops.greater(c, n)
        return ops.where(finite, ops.exp(special.gammaln(ops.where(finite, 1 - n / c, 1.0))), INFINITY)

    def _entropy(self, c: Any) -> Any:
        return EULER * (1 + 1 / c) - ops.log(c) + 1


class Rayleigh(HalfSquare):
    """The distribution of Rayleigh, of density x·e^(-x²/2) for x > 0.

    >>> print(f"{fx.scipy.stats.rayleigh.sf(2.0):.6f}")
    0.135335
    """

    _source = chapter(CONTINUOUS_1, 18)
    _base = expon

    def _munp(self, n: int) -> Any:
        return 2 ** (0.5 * n) * math.gamma(1 + 0.5 * n)

    def _entropy(self) -> Any:
        return 0.5 * EULER + 1 - 0.5 * LOG_2


class Pareto(laws.Pareto, Transformed):
    """The distribution of Pareto, of density b·x^(-b - 1) for x ≥ 1.

    >>> print(fx.scipy.stats.pareto.sf(10.0, 3.0), f"{fx.scipy.stats.pareto.pdf(1.0, 3.0):.6f}")
    0.001 3.000000
    """

    a: Any = 1.0
    _base = expon

    def _variable(self, x: Any, b: Any) -> Any:
        return b * ops.log(x)

    def _log_slope(self, x: Any, b: Any) -> Any:
        return ops.log(b) - ops.log(x)

    def _sf(self, x: Any, b: Any) -> Any:
        return x**-b

    def _point(self, u: Any, b: Any) -> Any:
        return ops.exp(u / b)

    def _munp(self, n: int, b: Any) -> Any:
        return ops.where(ops.greater(b, n), b / (b - n), INFINITY)

    def _stats(self, b: Any) -> Any:
        var = ops.where(ops.greater(b, 2), b / ((b - 2) * ops.square(b - 1)), INFINITY)
        skew = 2 * (b + 1) / (b - 3) * ops.sqrt(ops.maximum(b - 2, 0.0) / b)
        kurtosis = 6 * (b**3 + b * b - 6 * b - 2) / (b * (b - 3) * (b - 4))
        return (
            self._munp(1, b),
            var,
            ops.where(ops.greater(b, 3), skew, math.nan),
            ops.where(ops.greater(b, 4), kurtosis, math.nan),
        )


pareto: Pareto = Pareto()


class Lomax(Transformed):
    """The distribution of X - 1 for X of `pareto`, of density c·(1 + x)^(-c - 1) for x ≥ 0.

    >>> print(fx.scipy.stats.lomax.sf(9.0, 3.0))
    0.001
    """

    _source = chapter(CONTINUOUS_1, 20)
    a: Any = 0.0
    _base = expon

    def _variable(self, x: Any, c: Any) -> Any:
        return c * ops.log1p(x)

    def _log_slope(self, x: Any, c: Any) -> Any:
        return ops.log(c) - ops.log1p(x)

    def _sf(self, x: Any, c: Any) -> Any:
        return (1 + x) ** -c

    def _point(self, u: Any, c: Any) -> Any:
        return ops.expm1(u / c)

    def _munp(self, n: int, c: Any) -> Any:
        return sum(
            (-1) ** (n - i) * math.comb(n, i) * (pareto._munp(i, c) if i else 1.0) for i in range(n + 1)
        )

    def _stats(self, c: Any) -> Any:
        mean, *rest = pareto._stats(c)
        return mean - 1, *rest

    def _entropy(self, c: Any) -> Any:
        return pareto._entropy(c)


class PowerLaw(Transformed):
    """The distribution of a power of a uniform variable, of density a·xᵃ⁻¹ for 0 ≤ x ≤ 1.

    >>> print(fx.scipy.stats.powerlaw.cdf(0.5, 2.0))
    0.25
    """

    _source = chapter(CONTINUOUS_2, 25)
    a: Any = 0.0
    b: Any = 1.0
    _base = expon
    _falling = True

    def _variable(self, x: Any, a: Any) -> Any:
        return -a * ops.log(x)

    def _log_slope(self, x: Any, a: Any) -> Any:
        return ops.log(a) - ops.log(x)

    def _logpdf(self, x: Any, a: Any) -> Any:
        return ops.log(a) + special.xlogy(a - 1, x)

    def _cdf(self, x: Any, a: Any) -> Any:
        return x**a

    def _point(self, u: Any, a: Any) -> Any:
        return ops.exp(-u / a)

    def _munp(self, n: int, a: Any) -> Any:
        return a / (a + n)

    def _entropy(self, a: Any) -> Any:
        return 1 - 1 / a - ops.log(a)


class GumbelL(Transformed):
    """The distribution of the logarithm of an exponential variable, of density e^(x - eˣ): that of least values.

    >>> print(f"{fx.scipy.stats.gumbel_l.cdf(0.0):.6f}")
    0.632121
    """

    _source = chapter(CONTINUOUS_2, 22)
    _base = expon

    def _variable(self, x: Any) -> Any:
        return ops.exp(x)

    def _log_slope(self, x: Any) -> Any:
        return x

    def _logpdf(self, x: Any) -> Any:
        return x - ops.exp(x)

    def _point(self, u: Any) -> Any:
        return ops.log(u)

    def _stats(self) -> Any:
        return -EULER, math.pi**2 / 6, -12 * math.sqrt(6) * APERY / math.pi**3, 2.4

    def _entropy(self) -> Any:
        return EULER + 1


class GumbelR(laws.Gumbel, GumbelL):
    """The distribution of -X for X of `gumbel_l`, of density e^(-x - e⁻ˣ): that of greatest values.

    >>> print(f"{fx.scipy.stats.gumbel_r.cdf(0.0):.6f}")
    0.367879
    """

    _falling = True

    def _variable(self, x: Any) -> Any:
        return ops.exp(-x)

    def _log_slope(self, x: Any) -> Any:
        return -x

    def _point(self, u: Any) -> Any:
        return -ops.log(u)

    def _stats(self) -> Any:
        return EULER, math.pi**2 / 6, 12 * math.sqrt(6) * APERY / math.pi**3, 2.4


class Laplace(laws.Laplace, Symmetric):
    """The distribution of Laplace, of density e^-|x|/2.

    >>> print(f"{fx.scipy.stats.laplace.sf(1000.0, scale=10.0):.6e}")
    1.860038e-44
    """

    def _logcdf(self, x: Any) -> Any:
        return ops.where(ops.less(x, 0), x - LOG_2, ops.log1p(-0.5 * ops.exp(-magnitude(x))))

    def _munp(self, n: int) -> Any:
        return 0.0 if n % 2 else float(math.factorial(n))


weibull_min: WeibullMin = WeibullMin(name="weibull_min")
invweibull: InvWeibull = InvWeibull()
rayleigh: Rayleigh = Rayleigh()
lomax: Lomax = Lomax()
powerlaw: PowerLaw = PowerLaw()
gumbel_l: GumbelL = GumbelL(name="gumbel_l")
gumbel_r: GumbelR = GumbelR(name="gumbel_r")
laplace: Laplace = Laplace()
