"""The normal distribution and distributions derived from it.

Formulas are those of Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions", 1994 and 1995, where no
other source is named.
"""

from __future__ import annotations

import math
from typing import Any

from ...extend import ops
from ...random import laws
from ...random.laws import CONTINUOUS_1, HALF_LOG_2PI, LOG_2, chapter
from .. import special
from .density import Folded, Symmetric, Transformed, rv_continuous
from .distribution import INFINITY, all_of, stats_of_moments


class Norm(laws.Normal, Symmetric):
    """The normal distribution, of density e^(-x²/2)/√2π.

    >>> print(f"{fx.scipy.stats.norm.logcdf(-40.0):.6f}", fx.grad(fx.scipy.stats.norm.logpdf)(3.0, loc=1.0, scale=2.0))
    -804.608442 -0.5
    """

    _holds_at_infinity = True
    _sampler = "normal"

    def _logcdf(self, x: Any) -> Any:
        return special.log_ndtr(x)

    def _munp(self, n: int) -> Any:
        return 0.0 if n % 2 else float(math.prod(range(1, n, 2)))


norm: Norm = Norm()


class HalfNorm(Folded):
    """The distribution of |X| for a normal variable X.

    >>> print(f"{fx.scipy.stats.halfnorm.logsf(40.0):.6f}")
    -803.915295
    """

    _source = chapter(CONTINUOUS_1, 13)
    _base = norm

    def _cdf(self, x: Any) -> Any:
        return special.erf(math.sqrt(0.5) * x)

    def _ppf(self, q: Any) -> Any:
        return math.sqrt(2) * special.erfinv(q)

    def _munp(self, n: int) -> Any:
        return 2 ** (0.5 * n) * math.gamma(0.5 * (n + 1)) / math.sqrt(math.pi)


class LogNorm(Transformed):
    """The distribution of e^(s·X) for a normal variable X: its logarithm has the standard deviation s.

    >>> print(f"{fx.scipy.stats.lognorm.mean(1.0):.6f}", fx.scipy.stats.lognorm.pdf(0.0, 1.0))
    1.648721 0.0
    """

    _source = chapter(CONTINUOUS_1, 14)
    a: Any = 0.0
    _base = norm
    _closed = False

    def _variable(self, x: Any, s: Any) -> Any:
        return ops.log(x) / s

    def _log_slope(self, x: Any, s: Any) -> Any:
        return -ops.log(s * x)

    def _point(self, u: Any, s: Any) -> Any:
        return ops.exp(s * u)

    def _munp(self, n: int, s: Any) -> Any:
        return ops.exp(0.5 * ops.square(n * s))

    def _stats(self, s: Any) -> Any:
        more = ops.expm1(ops.square(s))
        p = more + 1
        return (ops.sqrt(p), p * more, ops.sqrt(more) * (p + 2), more * (p**3 + 3 * p**2 + 6 * p + 6))

    def _entropy(self, s: Any) -> Any:
        return HALF_LOG_2PI + 0.5 + ops.log(s)


class SkewNorm(rv_continuous):
    """The skew normal distribution, of density 2·φ(x)·Φ(a·x) (Azzalini, "A class of distributions which includes the
    normal ones", 1985). Its distribution function is exact to 1e-16 absolute, not relative.

    >>> print(f"{fx.scipy.stats.skewnorm.cdf(0.0, 1.0):.6f}")
    0.250000
    """

    def _argcheck(self, a: Any) -> Any:
        return ops.isfinite(a)

    def _logpdf(self, x: Any, a: Any) -> Any:
        return LOG_2 + norm._logpdf(x) + special.log_ndtr(a * x)

    def _cdf(self, x: Any, a: Any) -> Any:
        return ops.maximum(special.ndtr(x) - 2 * special.owens_t(x, a), 0.0)

    def _sf(self, x: Any, a: Any) -> Any:
        return self._cdf(-x, -a)

    def _stats(self, a: Any) -> Any:
        mean = math.sqrt(2 / math.pi) * a / ops.hypot(a, 0 * a + 1)
        var = 1 - ops.square(mean)
        ratio = ops.square(mean) / var
        return (
            mean,
            var,
            0.5 * (4 - math.pi) * (mean / ops.sqrt(var)) ** 3,
            2 * (math.pi - 3) * ops.square(ratio),
        )


class TruncNorm(rv_continuous):
    """The normal distribution on [a, b], which is in standard form: (limit - loc)/scale.

    Far in a tail as well, where the normal distribution has no mass: Chopin, "Fast simulation of truncated Gaussian
    distributions", 2011.

    >>> print(f"{fx.scipy.stats.truncnorm.logpdf(40.01, 40.0, 41.0):.6f}")
    3.289453
    """

    def _argcheck(self, a: Any, b: Any) -> Any:
        return ops.less(a, b)

    def _get_support(self, a: Any, b: Any) -> tuple[Any, Any]:
        return a, b

    def _logpdf(self, x: Any, a: Any, b: Any) -> Any:
        return norm._logpdf(x) - log_mass(a, b)

    def _cdf(self, x: Any, a: Any, b: Any) -> Any:
        return ops.exp(self._logcdf(x, a, b))

    def _sf(self, x: Any, a: Any, b: Any) -> Any:
        return ops.exp(self._logsf(x, a, b))

    def _logcdf(self, x: Any, a: Any, b: Any) -> Any:
        return log_mass(a, x) - log_mass(a, b)

    def _logsf(self, x: Any, a: Any, b: Any) -> Any:
        return log_mass(x, b) - log_mass(a, b)

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        return truncated_quantile(q, a, b)

    def _isf(self, q: Any, a: Any, b: Any) -> Any:
        return -truncated_quantile(q, -b, -a)

    def _stats(self, a: Any, b: Any) -> Any:
        mass = log_mass(a, b)
        at_a, at_b = (ops.exp(norm._logpdf(end) - mass) for end in (a, b))
        low, high = (ops.where(ops.isinf(end), 0.0, end) for end in (a, b))
        moments = [1.0, at_a - at_b]
        for n in (2, 3, 4):  # by parts: mₙ = (n - 1)·mₙ₋₂ + aⁿ⁻¹·f(a) - bⁿ⁻¹·f(b)
            moments.append((n - 1) * moments[n - 2] + low ** (n - 1) * at_a - high ** (n - 1) * at_b)
        return stats_of_moments(*moments[1:])

    def _entropy(self, a: Any, b: Any) -> Any:
        mass = log_mass(a, b)
        at_a, at_b = (ops.exp(norm._logpdf(end) - mass) for end in (a, b))
        low, high = (ops.where(ops.isinf(end), 0.0, end) for end in (a, b))
        return HALF_LOG_2PI + 0.5 + mass + 0.5 * (low * at_a - high * at_b)


def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability of [a, b], a ≤ b, in the lower tail where it is in the upper one."""
    upper = ops.greater(a, 0)
    a, b = ops.where(upper, -b, a), ops.where(upper, -a, b)
    apart = ops.logical_and(ops.less(a, 0), ops.greater(b, 0))
    # Both sides of a choice are computed: what is not chosen gets a point at which it is finite.
    infinite = ops.equal(a, -INFINITY)
    low = ops.where(ops.logical_or(apart, infinite), -2.0, a)
    high = ops.where(apart, -1.0, b)
    ends = special.log_ndtr(high)
    tail = ends + ops.log(-ops.expm1(ops.where(infinite, -INFINITY, special.log_ndtr(low) - ends)))
    middle = ops.log1p(-special.ndtr(a) - special.ndtr(-ops.where(apart, b, 1.0)))
    return ops.where(apart, middle, tail)


def truncated_quantile(q: Any, a: Any, b: Any) -> Any:
    """The quantile of the truncated normal distribution, from the tail in which it is: next to probability 1 the
    logarithm has no digits left."""
    mass = log_mass(a, b)
    upper = ops.greater(special.ndtr(a) + q * ops.exp(mass), 0.5)
    start, share = ops.where(upper, -b, a), ops.where(upper, 1 - q, q)
    point = special.ndtri_exp(ops.logaddexp(special.log_ndtr(start), ops.log(share) + mass))
    return ops.where(upper, -point, point)


class JohnsonSU(Transformed):
    """Johnson's distribution without bounds, of x for a normal variable a + b·arsinh(x).

    Source: N. L. Johnson, "Systems of frequency curves generated by methods of translation", 1949.

    >>> print(f"{fx.scipy.stats.johnsonsu.ppf(0.5, 1.0, 1.0):.6f}")
    -1.175201
    """

    _base = norm

    def _argcheck(self, a: Any, b: Any) -> Any:
        return all_of(ops.equal(a, a), ops.greater(b, 0))

    def _variable(self, x: Any, a: Any, b: Any) -> Any:
        return a + b * ops.arcsinh(x)

    def _log_slope(self, x: Any, a: Any, b: Any) -> Any:
        return ops.log(b) - ops.log(ops.hypot(x, 0 * x + 1))

    def _point(self, u: Any, a: Any, b: Any) -> Any:
        return ops.sinh((u - a) / b)

    def _munp(self, n: int, a: Any, b: Any) -> Any:
        # sinhⁿ is a sum of exponentials, whose expectations are e^(c²/(2b²) - c·a/b).
        terms = ((n - 2 * i, (-1) ** i * math.comb(n, i)) for i in range(n + 1))
        return sum(weight * ops.exp(0.5 * ops.square(c / b) - c * a / b) for c, weight in terms) / 2**n


class JohnsonSB(Transformed):
    """Johnson's distribution on [0, 1], of x for a normal variable a + b·log(x/(1 - x)).

    Source: N. L. Johnson, "Systems of frequency curves generated by methods of translation", 1949.

    >>> print(fx.scipy.stats.johnsonsb.ppf(0.5, 0.0, 1.0))
    0.5
    """

    a: Any = 0.0
    b: Any = 1.0
    _base = norm
    _closed = False

    def _argcheck(self, a: Any, b: Any) -> Any:
        return all_of(ops.equal(a, a), ops.greater(b, 0))

    def _variable(self, x: Any, a: Any, b: Any) -> Any:
        return a + b * (ops.log(x) - ops.log1p(-x))

    def _log_slope(self, x: Any, a: Any, b: Any) -> Any:
        return ops.log(b) - ops.log(x) - ops.log1p(-x)

    def _point(self, u: Any, a: Any, b: Any) -> Any:
        return ops.sigmoid((u - a) / b)


halfnorm: HalfNorm = HalfNorm()
lognorm: LogNorm = LogNorm()
skewnorm: SkewNorm = SkewNorm()
truncnorm: TruncNorm = TruncNorm()
johnsonsu: JohnsonSU = JohnsonSU()
johnsonsb: JohnsonSB = JohnsonSB()
