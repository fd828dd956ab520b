"""Continuous distributions of positive numbers, and of proportions."""

from __future__ import annotations

import math

from ...random import laws
from ...random.laws import CONTINUOUS_1, CONTINUOUS_2, VECTORS, chapter
from .._core.tensor import Tensor
from ..errors import ArgumentValueError
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .parameters import parameter
from .standard import FUNCTIONS, Rate
from .utils import broadcast_all, draw_exponential, torch


def clamp_tiny(value: Tensor) -> Tensor:
    """Keep samples off 0, where densities may be infinite."""
    return value.clamp(min=torch.finfo(value.dtype).tiny)


class Exponential(Rate, ExponentialFamily):
    """The exponential distribution, of waiting times: of density rate·e^(−rate·x) for x ≥ 0.

    >>> d = torch.distributions.Exponential(2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.3069), tensor(0.5000))
    """

    _fx_law = laws.Exponential.over(FUNCTIONS)
    rate = parameter("of events; the mean is 1/rate", constraints.positive)
    support = constraints.nonnegative
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args: bool | None = None):
        self._fx_start_with(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()) -> Tensor:
        return draw_exponential(self._extended_shape(sample_shape), self.rate) / self.rate

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x) -> Tensor:
        return -(-x).log()


class Gamma(Rate, ExponentialFamily):
    """The gamma distribution, of density rateᵃ·x^(a−1)·e^(−rate·x)/Γ(a) for x > 0, a the concentration.

    >>> a = torch.tensor(0.5, requires_grad=True)
    >>> torch.distributions.Gamma(a, 2.0).rsample((3,)).sum().backward()
    >>> a.grad is not None
    True
    """

    _fx_law = laws.Gamma.over(FUNCTIONS)
    _fx_shapes = ("concentration",)
    icdf = Distribution.icdf  # torch has none
    concentration = parameter("the shape", constraints.positive)
    rate = parameter("the inverse of the scale", constraints.positive)
    support = constraints.nonnegative
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args: bool | None = None):
        self._fx_start_with(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return clamp_tiny(torch._standard_gamma(self.concentration.expand(shape)) / self.rate)

    def log_prob(self, value: Tensor) -> Tensor:
        return super().log_prob(torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y) -> Tensor:
        return torch.lgamma(x + 1) - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The chi-squared distribution: of the sum of squares of so many normal variables.

    >>> d = torch.distributions.Chi2(2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.1931), tensor(2.))
    """

    _fx_source = chapter(CONTINUOUS_1, 18)
    df = parameter(
        "their number, the degrees of freedom", constraints.positive, lambda self: 2 * self.concentration
    )

    def __init__(self, df, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)


class FisherSnedecor(Distribution):
    """The F distribution: of the ratio of two mean squares of normal variables, of df1 and df2 of them. Its density is
    ∝ x^(df1/2 − 1)·(1 + x·df1/df2)^(−(df1 + df2)/2).

    >>> d = torch.distributions.FisherSnedecor(3.0, 4.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.0684), tensor(2.))
    """

    _fx_source = chapter(CONTINUOUS_2, 27)
    df1 = parameter("the degrees of freedom of the first one", constraints.positive)
    df2 = parameter("those of the second one", constraints.positive)
    support = constraints.positive

    def __init__(self, df1, df2, validate_args: bool | None = None):
        self._fx_start_with(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        df2 = torch.where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = torch.where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.square() * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).square() * (df2 - 4))

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        halves = [(0.5 * df).expand(shape) for df in (self.df1, self.df2)]
        first, second = (clamp_tiny(torch._standard_gamma(half) / half) for half in halves)
        return clamp_tiny(first / second)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = torch.lgamma(half1) + torch.lgamma(half2) - torch.lgamma(half1 + half2)
        power = half1 * ratio.log() + (half1 - 1) * value.log()
        return power - (half1 + half2) * (ratio * value).log1p() - normalizer


# -- parts of a whole ------------------------------------------
class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution, of vectors of probabilities: of density ∏ xᵢ^(aᵢ−1)/B(a), a the concentrations.

    Raises:
        ArgumentValueError: `concentration` has no dimension.

    >>> d = torch.distributions.Dirichlet(torch.tensor([1.0, 3.0]))
    >>> d.log_prob(torch.tensor([0.5, 0.5])), d.mean
    (tensor(-0.2877), tensor([0.2500, 0.7500]))
    """

    _fx_source = chapter(VECTORS, 49)
    concentration = parameter("(…, K)", constraints.independent(constraints.positive, 1))
    support = constraints.simplex

    def __init__(self, concentration, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ArgumentValueError(
                "`concentration` parameter must be at least one-dimensional.",
                hint="torch.ones(3), one entry for each part; Beta(a, b) has two",
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable vector; where all concentrations are below 1 the first corner, one of those that are."""
        above = (self.concentration - 1).clamp(min=0)
        total = above.sum(-1, True)
        corner = torch.zeros_like(above)
        corner[..., 0] = 1
        inside = (self.concentration >= 1).any(-1, True)
        return torch.where(inside, above / torch.where(inside, total, 1.0), corner)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        total = a.sum(-1, True)
        return a * (total - a) / (total.square() * (total + 1))

    def rsample(self, sample_shape=()) -> Tensor:
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return torch.special.xlogy(a - 1, value).sum(-1) - self._log_normalizer(a)

    def entropy(self) -> Tensor:
        a = self.concentration
        total = a.sum(-1)
        spread = (total - a.shape[-1]) * torch.digamma(total) - ((a - 1) * torch.digamma(a)).sum(-1)
        return self._log_normalizer(a) + spread

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x) -> Tensor:
        return torch.lgamma(x).sum(-1) - torch.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The beta distribution, of a probability: of density x^(a−1)·(1−x)^(b−1)/B(a, b).

    >>> d = torch.distributions.Beta(2.0, 3.0)
    >>> d.log_prob(torch.tensor(0.5)), d.mean
    (tensor(0.4055), tensor(0.4000))
    """

    _fx_source = chapter(CONTINUOUS_2, 25)
    concentration1 = parameter(
        "the first concentration, often α",
        constraints.positive,
        lambda self: self._dirichlet.concentration[..., 0],
    )
    concentration0 = parameter(
        "the second, often β; the mean is α/(α + β)",
        constraints.positive,
        lambda self: self._dirichlet.concentration[..., 1],
    )
    support = constraints.unit_interval

    def __init__(self, concentration1, concentration0, validate_args: bool | None = None):
        both = torch.stack(broadcast_all(concentration1, concentration0), -1)
        # both are checked as parameters of this distribution, by their own names
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.square() * (total + 1))

    def rsample(self, sample_shape=()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y) -> Tensor:
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)


__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma"]
