"""Distributions of one of several categories, and of the counts of categories."""

from __future__ import annotations

import math
from typing import Any

from ...random import laws
from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError, NotSupportedError
from . import constraints
from .distribution import Distribution
from .odds import Binomial, OddsWithShape, logits_of, probs_of
from .parameters import computed_parameter, parameter
from .utils import attribute_of, torch


class Categorical(OddsWithShape):
    """The distribution of a category, a whole number from 0 on: k has the probability pₖ.

    Raises:
        ArgumentValueError: both are given, or neither, or what has no dimension.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    _fx_source = laws.chapter(laws.DISCRETE_VECTORS, 35)
    probs = computed_parameter(
        "(…, categories), not negative; they are divided by their sum; or", constraints.simplex
    )(probs_of)
    logits = computed_parameter("log probabilities but for a constant", constraints.real_vector)(logits_of)
    has_enumerate_support = True
    _fx_is_binary = False

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        value = self._fx_choose(probs, logits)
        if value.dim() < 1:
            raise ArgumentValueError(
                f"`{self._fx_given}` parameter must be at least one-dimensional.",
                hint=f"{self._fx_given}=torch.tensor([0.5, 0.5]): one entry for each category",
            )
        if self._fx_given == "probs":
            value = value / value.sum(-1, keepdim=True)
        else:
            value = value - value.logsumexp(-1, keepdim=True)
        vars(self)[self._fx_given] = value
        super().__init__(value.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return torch.full(self.batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    variance = mean

    def sample(self, sample_shape=()) -> Tensor:
        sample_shape = Size(sample_shape)
        with torch.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = torch.multinomial(rows, sample_shape.numel(), True)
            return drawn.mT.reshape(self._extended_shape(sample_shape))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(value.shape, self.batch_shape)
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.long().expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._fx_enumerate(torch.arange(self._num_events, device=self._param.device), expand)


class OverCategorical(Distribution):
    """The base of distributions over a categorical one, whose parameters they have."""

    probs = Categorical.probs.within("_categorical")
    logits = Categorical.logits.within("_categorical")
    param_shape = attribute_of("_categorical.param_shape", "The shape of the parameter.")
    _categorical: Categorical

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )


class OneHotCategorical(OverCategorical):
    """The distribution of vectors of zeros with a one at the category that is drawn.

    >>> d = torch.distributions.OneHotCategorical(torch.tensor([0.25, 0.75]))
    >>> d.log_prob(torch.tensor([0.0, 1.0])), d.mean
    (tensor(-0.2877), tensor([0.2500, 0.7500]))
    """

    _fx_source = laws.chapter(laws.DISCRETE_VECTORS, 35)
    support = constraints.one_hot
    has_enumerate_support = True

    _param = attribute_of("_categorical._param")
    mean = attribute_of("probs")

    @property
    def mode(self) -> Tensor:
        return self._fx_one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _fx_one_hot(self, places: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(places, self.event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape=()) -> Tensor:
        return self._fx_one_hot(self._categorical.sample(sample_shape))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        return self._fx_enumerate(
            torch.eye(count, dtype=self._param.dtype, device=self._param.device), expand
        )


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients on to the probabilities as if they were these: the
    straight-through estimator of Bengio, Léonard and Courville, "Estimating or propagating gradients through
    stochastic neurons" (2013).

    >>> probs = torch.tensor([0.25, 0.75], requires_grad=True)
    >>> sample = torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()
    >>> sample.sum().item(), sample.requires_grad
    (1.0, True)
    """

    def rsample(self, sample_shape=()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OverCategorical):
    """The distribution of how often each category is drawn: k₁, k₂, … have the probability n!·∏ pᵢ^kᵢ/kᵢ!.

    Raises:
        NotSupportedError: `total_count` is no int. It is a NotImplementedError.

    >>> d = torch.distributions.Multinomial(3, torch.tensor([0.5, 0.5]))
    >>> d.log_prob(torch.tensor([1.0, 2.0])), d.mean
    (tensor(-0.9808), tensor([1.5000, 1.5000]))
    """

    _fx_source = laws.chapter(laws.DISCRETE_VECTORS, 35)
    total_count: Any = parameter("the number of draws, an int")

    def __init__(self, total_count: int = 1, probs=None, logits=None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotSupportedError(
                "inhomogeneous total_count is not supported",
                hint="one Multinomial for each count, or total_count as an int",
            )
        self.total_count = total_count
        super().__init__(probs, logits, validate_args=validate_args)

    @property
    def _binomial(self) -> Binomial:
        """The distribution of how often a category is drawn, for each."""
        return Binomial(self.total_count, self.probs, validate_args=False)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        counts = torch.nn.functional.one_hot(drawn, self.event_shape[0]).sum(0)
        return counts.to(self.probs.dtype)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        logits, value = torch.broadcast_tensors(self.logits, value)
        # what cannot be drawn is not, which is certain
        logits = torch.where((value == 0) & (logits == -math.inf), 0.0, logits)
        choices = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return choices + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        count: Any = torch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        binomial = self._binomial
        times = binomial.enumerate_support(expand=False)[1:]
        weighted = binomial.log_prob(times).exp() * torch.lgamma(times + 1)
        return count * self._categorical.entropy() - torch.lgamma(count + 1) + weighted.sum((0, -1))


__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]
