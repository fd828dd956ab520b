"""Laws of probability: the formulas that `fxgrad.scipy.stats` and `fxgrad.compat.distributions` have in common, and the
sources of these and of the samplers of `fxgrad.random`.

A law is that of a standard variable, of location 0 and scale 1. Its formulas are written over a namespace `_f` of
functions, as kernels are over a namespace of arrays: over `fxgrad.ops` and `fxgrad.scipy.special`, or over torch's
functions. The methods have the names by which subclasses of SciPy's `rv_continuous` state them:
`_logpdf`, `_cdf`, its inverse `_ppf`, and `_entropy`. Arguments after the first are the shapes.
"""

from __future__ import annotations

import math
from typing import Any, Self

EULER, APERY = 0.57721566490153286061, 1.2020569031595942854  # γ and ζ(3)
LOG_2, LOG_PI = math.log(2), math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

# -- sources ------------------------------------------
CONTINUOUS_1 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1, 1994"
CONTINUOUS_2 = "Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2, 1995"
DISCRETE = "Johnson, Kemp and Kotz, Univariate Discrete Distributions, 2005"
DISCRETE_VECTORS = "Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions, 1997"
VECTORS = "Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, 2000"
ANGLES = "K. V. Mardia and P. E. Jupp, Directional Statistics, 2000, section 3.5"


def chapter(book: str, number: int) -> str:
    """Name a chapter of a book."""
    return f"{book}, chapter {number}"


# -- laws ------------------------------------------
class Functions:
    """The functions of several modules: those of a name are taken from the first one that has it."""

    def __init__(self, *modules: Any):
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        found = [] if name.startswith("_") else [m for m in self._modules if hasattr(m, name)]
        if not found:
            raise AttributeError(f"none of the modules has a function {name!r}")
        return vars(self).setdefault(name, getattr(found[0], name))


class Law:
    """The base of laws: the source of their formulas, and the functions over which these are written."""

    _source: str = ""
    _f: Any

    @classmethod
    def over(cls, f: Functions) -> Self:
        """Return the law with its formulas over these functions."""
        law = cls()
        law._f = f
        return law


class Normal(Law):
    """The normal law, of density e^(−x²/2)/√2π."""

    _source = chapter(CONTINUOUS_1, 13)

    def _logpdf(self, x: Any) -> Any:
        return -0.5 * self._f.square(x) - HALF_LOG_2PI

    def _cdf(self, x: Any) -> Any:
        return self._f.ndtr(x)

    def _ppf(self, q: Any) -> Any:
        return self._f.ndtri(q)

    def _entropy(self) -> Any:
        return HALF_LOG_2PI + 0.5


class Laplace(Law):
    """The law of Laplace, of density e^−|x|/2."""

    _source = chapter(CONTINUOUS_2, 24)

    def _logpdf(self, x: Any) -> Any:
        return -self._f.absolute(x) - LOG_2

    def _cdf(self, x: Any) -> Any:
        below = self._f.less(x, 0)
        half = 0.5 * self._f.exp(self._f.where(below, x, -x))
        return self._f.where(below, half, 1 - half)

    def _ppf(self, q: Any) -> Any:
        below = self._f.less(q, 0.5)
        size = self._f.log(2 * self._f.where(below, q, 1 - q))  # exact in both tails
        return self._f.where(below, size, -size)

    def _entropy(self) -> Any:
        return LOG_2 + 1


class Cauchy(Law):
    """The law of Cauchy, of density 1/(π·(1 + x²))."""

    _source = chapter(CONTINUOUS_1, 16)

    def _logpdf(self, x: Any) -> Any:
        return -LOG_PI - self._f.log1p(self._f.square(x))

    def _cdf(self, x: Any) -> Any:
        # arctan(x) + π/2 without the loss of digits in the lower tail
        return self._f.arctan2(0 * x + 1, -x) / math.pi

    def _ppf(self, q: Any) -> Any:
        lower = self._f.less(q, 0.5)
        cotangent = 1 / self._f.tan(math.pi * self._f.where(lower, q, 1 - q))
        return self._f.where(lower, -cotangent, cotangent)

    def _entropy(self) -> Any:
        return math.log(4 * math.pi)


class StudentT(Law):
    """The law of Student, of density proportional to (1 + x²/df)^(−(df + 1)/2)."""

    _source = chapter(CONTINUOUS_2, 28)

    def _logpdf(self, x: Any, df: Any) -> Any:
        f = self._f
        # log(√df·B(df/2, 1/2)) does not cancel for large df as two gamma functions would.
        norm = 0.5 * f.log(df) + f.betaln(0.5 * df, 0.5)
        return -0.5 * (df + 1) * f.log1p(f.square(x) / df) - norm

    def _entropy(self, df: Any) -> Any:
        f, half = self._f, 0.5 * (df + 1)
        spread = half * (f.digamma(half) - f.digamma(0.5 * df))
        return spread + 0.5 * f.log(df) + f.betaln(0.5 * df, 0.5)


class VonMises(Law):
    """The law of von Mises on the circle, of density e^(κ·cos x)/(2π·I₀(κ))."""

    _source = ANGLES

    def _logpdf(self, x: Any, kappa: Any) -> Any:
        # by cos x − 1 and e^−κ·I₀(κ), since both terms grow like κ
        fallen = -2 * kappa * self._f.square(self._f.sin(0.5 * x))
        return fallen - self._f.log(2 * math.pi * self._f.i0e(kappa))


class Exponential(Law):
    """The exponential law, of density e⁻ˣ for x ≥ 0."""

    _source = chapter(CONTINUOUS_1, 19)

    def _logpdf(self, x: Any) -> Any:
        return -x

    def _cdf(self, x: Any) -> Any:
        return -self._f.expm1(-x)

    def _ppf(self, q: Any) -> Any:
        return -self._f.log1p(-q)

    def _entropy(self) -> Any:
        return 1.0


class Gamma(Law):
    """The gamma law, of density xᵃ⁻¹·e⁻ˣ/Γ(a) for x > 0."""

    _source = chapter(CONTINUOUS_1, 17)

    def _logpdf(self, x: Any, a: Any) -> Any:
        return self._f.xlogy(a - 1, x) - x - self._f.gammaln(a)

    def _cdf(self, x: Any, a: Any) -> Any:
        return self._f.gammainc(a, x)

    def _entropy(self, a: Any) -> Any:
        return a + self._f.gammaln(a) + (1 - a) * self._f.digamma(a)


class InverseGamma(Law):
    """The law of 1/X for a gamma variable X."""

    _source = chapter(CONTINUOUS_1, 17)

    def _entropy(self, a: Any) -> Any:
        return a + self._f.gammaln(a) - (a + 1) * self._f.digamma(a)


class Gumbel(Law):
    """The law of Gumbel, that of greatest values, of density e^(−x − e⁻ˣ)."""

    _source = chapter(CONTINUOUS_2, 22)

    def _logpdf(self, x: Any) -> Any:
        return -x - self._f.exp(-x)

    def _cdf(self, x: Any) -> Any:
        return self._f.exp(-self._f.exp(-x))

    def _ppf(self, q: Any) -> Any:
        return -self._f.log(-self._f.log(q))

    def _entropy(self) -> Any:
        return EULER + 1


class Weibull(Law):
    """The law of Weibull, of distribution function 1 − e^(−xᶜ) for x > 0."""

    _source = chapter(CONTINUOUS_1, 21)

    def _munp(self, n: int, c: Any) -> Any:
        return self._f.exp(self._f.gammaln(1 + n / c))

    def _entropy(self, c: Any) -> Any:
        return EULER * (1 - 1 / c) - self._f.log(c) + 1


class Pareto(Law):
    """The law of Pareto, of density b·x^(−b − 1) for x ≥ 1."""

    _source = chapter(CONTINUOUS_1, 20)

    def _entropy(self, b: Any) -> Any:
        return 1 + 1 / b - self._f.log(b)


class Poisson(Law):
    """The law of Poisson: k has the probability μᵏ·e^−μ/k!."""

    _source = chapter(DISCRETE, 4)

    def _logpmf(self, k: Any, mu: Any) -> Any:
        return self._f.xlogy(k, mu) - self._f.gammaln(k + 1) - mu
