"""Families whose samples are transformed samples of simpler ones."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from ...random import laws
from ...random.laws import CONTINUOUS_1, chapter
from .._core.tensor import Size, Tensor
from . import constraints
from .continuous import Cauchy, Normal, Uniform
from .distribution import Distribution
from .parameters import parameter
from .positive import Exponential, Gamma
from .standard import FUNCTIONS, LocationScale
from .transformed_distribution import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from .utils import attribute_of, broadcast_all, euler_constant, torch


class LogNormal(TransformedDistribution):
    """The distribution of exponentials of normal variables: of density e^(−(log x − loc)²/(2·scale²))/(x·scale·√2π).

    >>> d = torch.distributions.LogNormal(0.0, 1.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.9189), tensor(1.6487))
    """

    _fx_source = chapter(CONTINUOUS_1, 14)
    loc = parameter("the mean of the logarithm", constraints.real, attrgetter("base_dist.loc"))
    scale = parameter(
        "the standard deviation of the logarithm", constraints.positive, attrgetter("base_dist.scale")
    )
    support = constraints.positive

    def __init__(self, loc, scale, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """The distribution of vectors of probabilities made of normal variables by stick breaking.

    Source: J. Aitchison and S. M. Shen, "Logistic-normal distributions: some properties and uses", 1980.

    >>> d = torch.distributions.LogisticNormal(torch.zeros(1), torch.ones(1))
    >>> d.log_prob(torch.tensor([0.5, 0.5]))
    tensor(0.4674)
    """

    loc = parameter(
        "the mean of these, (…, K - 1); events have K entries",
        constraints.real,
        attrgetter("base_dist.base_dist.loc"),
    )
    scale = parameter(
        "their standard deviation", constraints.positive, attrgetter("base_dist.base_dist.scale")
    )
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args: bool | None = None):
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class Half(TransformedDistribution):
    """The base of the distributions of moduli of variables that are symmetric about 0."""

    scale = parameter(
        "the scale of the symmetric distribution", constraints.positive, attrgetter("base_dist.scale")
    )
    support = constraints.nonnegative
    cdf = Distribution.cdf  # by a formula, not by the transform

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """The distribution of moduli of normal variables of mean 0: of twice their density, for x ≥ 0.

    >>> d = torch.distributions.HalfNormal(1.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.7258), tensor(0.7979))
    """

    _fx_source = chapter(CONTINUOUS_1, 13)

    def __init__(self, scale, validate_args: bool | None = None):
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)

    def _fx_cdf(self, value: Tensor) -> Tensor:
        return torch.erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * torch.erfinv(value)


class HalfCauchy(Half):
    """The distribution of moduli of Cauchy variables of median 0: of twice their density, for x ≥ 0.

    >>> d = torch.distributions.HalfCauchy(1.0)
    >>> d.log_prob(torch.tensor(1.0))
    tensor(-1.1447)
    """

    _fx_source = chapter(CONTINUOUS_1, 16)

    def __init__(self, scale, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.scale, math.inf)

    variance = mean

    def _fx_cdf(self, value: Tensor) -> Tensor:
        return torch.atan(value / self.scale) * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        quarter = math.pi / 2  # where the tangent is infinite, which the rounded number is not
        near, far = torch.tan(value * quarter), 1 / torch.tan((1 - value) * quarter)
        return self.scale * torch.where(value < 0.5, near, far)


class Gumbel(LocationScale, TransformedDistribution):
    """The Gumbel distribution, of the greatest of many: of density e^(−z − e^(−z))/scale with z = (x − loc)/scale.

    >>> d = torch.distributions.Gumbel(0.0, 1.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.3679), tensor(0.5772))
    """

    _fx_law = laws.Gumbel.over(FUNCTIONS)
    loc = parameter("the mode", constraints.real)
    scale = parameter("the scale", constraints.positive)
    support = constraints.real
    cdf = Distribution.cdf  # by a formula, not by the transforms

    def __init__(self, loc, scale, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits, ones = torch.finfo(self.loc.dtype), torch.ones_like(self.loc.detach())
        base = Uniform(limits.tiny * ones, (1 - limits.eps) * ones, validate_args=False)
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -1.0),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _fx_expand_parameters(self, new: Any, batch_shape: Size) -> None:
        Gumbel.__init__(
            new, self.loc.expand(batch_shape), self.scale.expand(batch_shape), validate_args=False
        )

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    mode = attribute_of("loc")

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.square()


class Weibull(TransformedDistribution):
    """The Weibull distribution, of lifetimes: of density k/scale·z^(k−1)·e^(−zᵏ) with z = x/scale, k the concentration.

    >>> d = torch.distributions.Weibull(1.0, 2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.3069), tensor(0.8862))
    """

    _fx_law = laws.Weibull.over(FUNCTIONS)
    scale = parameter("the scale", constraints.positive)
    concentration = parameter("the shape: above 1 what is old fails more often", constraints.positive)
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(torch.ones_like(self.scale.detach()), validate_args=False)
        power = PowerTransform(self.concentration.reciprocal())
        super().__init__(base, [power, AffineTransform(0, self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * self._fx_law._munp(1, self.concentration)

    @property
    def mode(self) -> Tensor:
        inside = self.concentration > 1  # of others the density falls from 0 on
        c = torch.where(inside, self.concentration, 1.0)
        return self.scale * ((c - 1) / c).pow(c.reciprocal())

    @property
    def variance(self) -> Tensor:
        first, second = (self._fx_law._munp(n, self.concentration) for n in (1, 2))
        return self.scale.square() * (second - first.square())

    def entropy(self) -> Tensor:
        return self._fx_law._entropy(self.concentration) + self.scale.log()


class Pareto(TransformedDistribution):
    """The Pareto distribution, with a tail that falls like a power: of density a·scaleᵃ/x^(a+1) for x ≥ scale, with
    a = `alpha`.

    >>> d = torch.distributions.Pareto(1.0, 2.0)
    >>> d.log_prob(torch.tensor(2.0)), d.mean
    (tensor(-1.3863), tensor(2.))
    """

    _fx_law = laws.Pareto.over(FUNCTIONS)
    alpha = parameter("the power with which the probability of more falls", constraints.positive)
    scale = parameter("the least value", constraints.positive)

    def __init__(self, scale, alpha, validate_args: bool | None = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    mode = attribute_of("scale")

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.square() * alpha / ((alpha - 1).square() * (alpha - 2))

    def entropy(self) -> Tensor:
        return self._fx_law._entropy(self.alpha) + self.scale.log()


class Kumaraswamy(TransformedDistribution):
    """The distribution of Kumaraswamy: like a beta distribution, with a simple distribution function
    1 - (1 - xᵃ)ᵇ.

    Source: P. Kumaraswamy, "A generalized probability density function for double-bounded random processes", 1980.

    >>> d = torch.distributions.Kumaraswamy(2.0, 1.0)
    >>> d.log_prob(torch.tensor(0.5)), d.mean
    (tensor(0.), tensor(0.6667))
    """

    concentration1 = parameter("a", constraints.positive)
    concentration0 = parameter("b", constraints.positive)
    support = constraints.unit_interval

    def __init__(self, concentration1, concentration0, validate_args: bool | None = None):
        a, b = self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.zeros_like(a.detach()), torch.ones_like(a.detach()), validate_args=False)
        transforms = [
            PowerTransform(b.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(a.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _fx_moment(self, n: int) -> Tensor:
        """The mean of xⁿ: b·B(1 + n/a, b)."""
        b, above = self.concentration0, 1 + n / self.concentration1
        return (torch.lgamma(above) + torch.lgamma(b + 1) - torch.lgamma(above + b)).exp()

    @property
    def mean(self) -> Tensor:
        return self._fx_moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return torch.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self._fx_moment(2) - self.mean.square()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class InverseGamma(TransformedDistribution):
    """The distribution of reciprocals of gamma variables: of density rateᵃ·x^(−a−1)·e^(−rate/x)/Γ(a), a the
    concentration.

    >>> d = torch.distributions.InverseGamma(3.0, 2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.6137), tensor(1.))
    """

    _fx_law = laws.InverseGamma.over(FUNCTIONS)
    concentration = Gamma.concentration.within("base_dist")
    rate = Gamma.rate.within("base_dist")
    support = constraints.positive

    def __init__(self, concentration, rate, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args=False)
        power = PowerTransform(torch.tensor(-1.0, dtype=base.rate.dtype, device=base.rate.device))
        super().__init__(base, power, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        a = torch.where(self.concentration > 1, self.concentration, 2.0)
        return torch.where(self.concentration > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = torch.where(self.concentration > 2, self.concentration, 3.0)
        value = (self.rate / (a - 1)).square() / (a - 2)
        return torch.where(self.concentration > 2, value, math.inf)

    def entropy(self) -> Tensor:
        return self._fx_law._entropy(self.concentration) + self.rate.log()


__all__ = [
    "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal", "LogisticNormal", "Pareto",
    "Weibull",
]  # fmt: skip
