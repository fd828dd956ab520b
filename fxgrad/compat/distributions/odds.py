"""Distributions of binary events and of their counts, given by probabilities or by log odds."""

from __future__ import annotations

import math
from typing import Any

from ...random import laws
from ...random.laws import DISCRETE, chapter
from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError, NotSupportedError
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .parameters import computed_parameter, parameter
from .positive import Gamma
from .standard import FUNCTIONS
from .utils import (
    attribute_of,
    draw_inside,
    draw_uniform,
    known_truth,
    logits_to_probs,
    probs_to_logits,
    torch,
)

EITHER = "Either `probs` or `logits` must be specified, but not both."


def probs_of(distribution: Any) -> Tensor:
    """Return the probabilities of a distribution that is given by its log odds, or log probabilities."""
    return logits_to_probs(distribution.logits, distribution._fx_is_binary)


def logits_of(distribution: Any) -> Tensor:
    """Return the log odds, or log probabilities, of a distribution that is given by its probabilities."""
    return probs_to_logits(distribution.probs, distribution._fx_is_binary)


class Odds(Distribution):
    """The base of distributions with the parameter `probs` or `logits`; each determines the other."""

    _fx_is_binary = True
    _fx_given: str  # which of them it is

    def _fx_choose(self, probs: Any, logits: Any) -> Any:
        """Record whether `probs` or `logits` is given, and return it."""
        if (probs is None) == (logits is None):
            raise ArgumentValueError(EITHER, hint="probs=p from 0 to 1, or logits=x of any numbers")
        self._fx_given = "logits" if probs is None else "probs"
        return logits if probs is None else probs

    def _fx_start_odds(self, validate_args: bool | None, probs: Any, logits: Any, **parameters: Any) -> None:
        """Set `probs` or `logits`, whichever is given, and other parameters in its dtype, broadcast against each
        other."""
        value = self._fx_choose(probs, logits)
        for name, other in parameters.items():
            if isinstance(other, Tensor) and isinstance(value, Tensor):
                parameters[name] = other.to(value.dtype)
        self._fx_start_with(validate_args, **parameters, **{self._fx_given: value})

    probs = computed_parameter("the probability p; or", constraints.unit_interval)(probs_of)
    logits = computed_parameter("its log odds", constraints.real)(logits_of)


class OddsWithShape(Odds):
    """The base of those that tell the shape of their parameter."""

    @property
    def _param(self) -> Tensor:
        return vars(self)[self._fx_given]

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape


def log_bernoulli(logits: Tensor, value: Tensor) -> Tensor:
    """The logarithm of the probability of 0 or 1 at these log odds."""
    logits, value = torch.broadcast_tensors(logits, value)
    return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")


class Bernoulli(OddsWithShape, ExponentialFamily):
    """The distribution of 1 with the probability p, and 0 otherwise.

    Raises:
        ArgumentValueError: both are given, or neither.

    >>> d = torch.distributions.Bernoulli(0.25)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.3863), tensor(0.2500))
    """

    _fx_source = chapter(DISCRETE, 3)
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        self._fx_start_odds(validate_args, probs, logits)

    mean = attribute_of("probs")

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return torch.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return log_bernoulli(self.logits, value)

    def entropy(self) -> Tensor:
        return -log_bernoulli(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        return self._fx_enumerate(values, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x) -> Tensor:
        return torch.nn.functional.softplus(x)


class ContinuousBernoulli(OddsWithShape, ExponentialFamily):
    """The distribution of numbers in [0, 1] with a density proportional to pˣ·(1 - p)¹⁻ˣ (Loaiza-Ganem and Cunningham,
    "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019). Between the two numbers
    `lims`, p is so near to ½ that Taylor's series are used.

    >>> d = torch.distributions.ContinuousBernoulli(0.25)
    >>> d.log_prob(torch.tensor(0.5)), d.mean
    (tensor(-0.0498), tensor(0.4102))
    """

    support = constraints.unit_interval
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args: bool | None = None):
        self._lims = tuple(lims)
        self._fx_start_odds(validate_args, probs, logits)

    @property
    def _fx_regular(self) -> Tensor:
        """Where p is not near ½."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    @property
    def _fx_safe_probs(self) -> Tensor:
        """p, and the lower limit in its place near ½, where quotients would be 0/0."""
        return torch.where(self._fx_regular, self.probs, self._lims[0])

    @property
    def _fx_log_factor(self) -> Tensor:
        """The logarithm of the factor by which the density is normalized: 2·artanh(1 - 2p)/(1 - 2p)."""
        p, square = self._fx_safe_probs, (self.probs - 0.5).square()
        regular = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        return torch.where(self._fx_regular, regular, math.log(2) + (4 / 3 + 104 / 45 * square) * square)

    @property
    def mean(self) -> Tensor:
        p, offset = self._fx_safe_probs, self.probs - 0.5
        regular = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        near = 0.5 + (1 / 3 + 16 / 45 * offset.square()) * offset
        return torch.where(self._fx_regular, regular, near)

    @property
    def variance(self) -> Tensor:
        p, square = self._fx_safe_probs, (self.probs - 0.5).square()
        regular = p * (p - 1) / (1 - 2 * p).square() + 1 / ((-p).log1p() - p.log()).square()
        return torch.where(self._fx_regular, regular, 1 / 12 - (1 / 15 - 128 / 945 * square) * square)

    def rsample(self, sample_shape=()) -> Tensor:
        return self.icdf(draw_inside(self._extended_shape(sample_shape), self.probs))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return log_bernoulli(self.logits, value) + self._fx_log_factor

    def _fx_cdf(self, value: Tensor) -> Tensor:
        p = self._fx_safe_probs
        regular = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        return torch.where(self._fx_regular, regular, value).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._fx_safe_probs
        regular = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return torch.where(self._fx_regular, regular, value)

    def entropy(self) -> Tensor:
        log_one, log_zero = self.probs.log(), (-self.probs).log1p()
        return self.mean * (log_zero - log_one) - self._fx_log_factor - log_zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x) -> Tensor:
        """log((eˣ - 1)/x), by its series near 0."""
        regular = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = torch.where(regular, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        near = 0.5 * x + x.square() / 24 - x.pow(4) / 2880
        return torch.where(regular, (safe.exp() - 1).abs().log() - safe.abs().log(), near)


class Geometric(Odds):
    """The distribution of the number of failures before the first success: k has the probability p·(1−p)ᵏ.

    Raises:
        ArgumentValueError: a probability is 0.

    >>> d = torch.distributions.Geometric(0.25)
    >>> d.log_prob(torch.tensor(2.0)), d.mean
    (tensor(-1.9617), tensor(3.))
    """

    _fx_source = chapter(DISCRETE, 5)
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        self._fx_start_odds(validate_args, probs, logits)
        if self._validate_args and probs is not None and known_truth(self.probs > 0) is False:
            value = self.probs
            raise ArgumentValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{value[value <= 0]}",
                hint="logits= of any numbers, or probs.clamp(min=1e-6)",
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            noise = draw_uniform(self._extended_shape(sample_shape), self.probs)
            return (noise.log() / (-self.probs).log1p()).floor()

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        value, probs = torch.broadcast_tensors(value, self.probs)
        # no failures are certain at probability 1, and 0 · log 0 is 0
        probs_of_failures = torch.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs_of_failures).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return -log_bernoulli(self.logits, self.probs) / self.probs


# -- counts ------------------------------------------
class Binomial(OddsWithShape):
    """The distribution of the number of successes: k of n have the probability C(n, k)·pᵏ·(1−p)ⁿ⁻ᵏ.

    >>> d = torch.distributions.Binomial(3, torch.tensor(0.5))
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.9808), tensor(1.5000))
    """

    _fx_source = chapter(DISCRETE, 3)
    total_count = parameter("among how many trials", constraints.nonnegative_integer)
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args: bool | None = None):
        self._fx_start_odds(validate_args, probs, logits, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        choices = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        return choices + value * self.logits - n * torch.nn.functional.softplus(self.logits)

    def _fx_common_count(self, name: str) -> int:
        """The number of trials, which has to be the same in the whole batch."""
        count = int(self.total_count.max())
        if not known_truth(self.total_count.eq(count)):
            raise NotSupportedError(
                f"Inhomogeneous total count not supported by `{name}`.", hint="one Binomial for each count"
            )
        return count

    def entropy(self) -> Tensor:
        self._fx_common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._fx_common_count("enumerate_support")
        values = torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return self._fx_enumerate(values, expand)


class NegativeBinomial(OddsWithShape):
    """The distribution of the number of successes before so many failures, r: k has the probability Γ(k +
    r)/(k!·Γ(r))·pᵏ·(1−p)ʳ.

    >>> d = torch.distributions.NegativeBinomial(3.0, torch.tensor(0.25))
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.1507), tensor(1.))
    """

    _fx_source = chapter(DISCRETE, 5)
    total_count = parameter("the failures, a number that need not be whole", constraints.greater_than_eq(0))
    probs = computed_parameter(Odds.probs.text, constraints.half_open_interval(0.0, 1.0))(probs_of)
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args: bool | None = None):
        self._fx_start_odds(validate_args, probs, logits, total_count=total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return torch.poisson(rates.sample(sample_shape))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        n, logsigmoid = self.total_count, torch.nn.functional.logsigmoid
        each = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        certain = n + value == 0  # where lgamma(n + value) - lgamma(n) is 0, and would be ∞ - ∞
        choices = torch.lgamma(torch.where(certain, 1.0, n + value)) - torch.lgamma(1 + value)
        return each + choices - torch.lgamma(torch.where(certain, 1.0, n))


class Poisson(ExponentialFamily):
    """The Poisson distribution, of the number of independent events: k has the probability rateᵏ·e^(−rate)/k!.

    >>> d = torch.distributions.Poisson(2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.3069), tensor(2.))
    """

    _fx_law = laws.Poisson.over(FUNCTIONS)
    rate = parameter("their mean", constraints.nonnegative)
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args: bool | None = None):
        self._fx_start_with(validate_args, rate=rate)

    mean = attribute_of("rate")

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    variance = attribute_of("rate")

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return self._fx_law._logpmf(value, self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x) -> Tensor:
        return x.exp()


__all__ = ["Bernoulli", "Binomial", "ContinuousBernoulli", "Geometric", "NegativeBinomial", "Poisson"]
