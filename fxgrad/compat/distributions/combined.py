"""Combinations of distributions: independent ones as one, mixtures."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, ClassVar

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError, NotSupportedError
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import attribute_of, sum_rightmost, torch


class Independent(Distribution):
    """A distribution with dimensions of its batch taken as dimensions of the event: its log probabilities are summed
    over them.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions of the batch, from the right.
        validate_args: see `Distribution`.

    Raises:
        ArgumentValueError: the batch has fewer.

    >>> normals = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    >>> vector = torch.distributions.Independent(normals, 1)
    >>> vector.batch_shape, vector.event_shape, vector.log_prob(torch.zeros(3))
    (torch.Size([]), torch.Size([3]), tensor(-2.7568))
    """

    arg_constraints: ClassVar = {}
    base_dist: Distribution

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, base_distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ArgumentValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}",
                hint=f"reinterpreted_batch_ndims={len(batch)}, which makes all of the batch one event",
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(
            batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args
        )

    def _fx_expand_parameters(self, new: Any, batch_shape: Size) -> None:
        new.base_dist = self.base_dist.expand(
            batch_shape + self.event_shape[: self.reinterpreted_batch_ndims]
        )
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims

    has_rsample = attribute_of("base_dist.has_rsample")

    @property
    def has_enumerate_support(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        support = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    mean = attribute_of("base_dist.mean")
    mode = attribute_of("base_dist.mode")
    variance = attribute_of("base_dist.variance")

    def sample(self, sample_shape=()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotSupportedError(
                "Enumeration over cartesian product is not implemented",
                hint="d.base_dist.enumerate_support(), for one of the variables",
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family: which one is drawn is categorical.

    Args:
        mixture_distribution: a Categorical over the components.
        component_distribution: the components, along the last dimension of its batch.
        validate_args: see `Distribution`.

    Raises:
        ArgumentValueError: one is no such distribution, or their batches do not fit.

    >>> D = torch.distributions
    >>> mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), 0.5))
    >>> mixture.mean, mixture.cdf(torch.tensor(0.0))
    (tensor(0.), tensor(0.5000))
    """

    arg_constraints: ClassVar = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ArgumentValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical",
                hint="torch.distributions.Categorical(logits=x), whose categories are the components",
            )
        if not isinstance(component_distribution, Distribution):
            raise ArgumentValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution",
                hint="torch.distributions.Normal(torch.zeros(3), 1.0), a batch of components",
            )
        batch = component_distribution.batch_shape
        count = mixture_distribution.logits.shape[-1]
        if not batch:
            raise ArgumentValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]`, "
                "since the components have no batch",
                hint="components lie along the last dimension of the batch: Normal(torch.zeros(3), 1.0)",
            )
        for ours, theirs in zip(reversed(mixture_distribution.batch_shape), reversed(batch[:-1])):
            if ours not in (1, theirs) and theirs != 1:
                raise ArgumentValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch[:-1]})",
                    hint=f"a mixture of batch_shape {tuple(batch[:-1])}: "
                    f"Categorical(logits=torch.zeros({', '.join(map(str, batch))}))",
                )
        if count != batch[-1]:
            raise ArgumentValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({batch[-1]})",
                hint=f"Categorical(logits=torch.zeros({batch[-1]})) for {batch[-1]} components",
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    def _fx_expand_parameters(self, new: Any, batch_shape: Size) -> None:
        count = self._component_distribution.batch_shape[-1]
        new._component_distribution = self._component_distribution.expand((*batch_shape, count))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution over the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _fx_average(self, values: Tensor) -> Tensor:
        """Average over the components of events of (…, components, *event_shape)."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * len(self.event_shape))
        return (probs * values).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Tensor:
        return self._fx_average(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The law of total variance: the mean of the variances, and the variance of the means."""
        means = self._component_distribution.mean
        offsets = means - self.mean.unsqueeze(-1 - len(self.event_shape))
        return self._fx_average(self._component_distribution.variance) + self._fx_average(offsets.square())

    def _fx_beside_components(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        found = self._component_distribution.cdf(self._fx_beside_components(value))
        return (found * self._mixture_distribution.probs).sum(-1)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        found = self._component_distribution.log_prob(self._fx_beside_components(value))
        return (found + torch.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape=()) -> Tensor:
        with torch.no_grad():
            events = len(self.event_shape)
            chosen = self._mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            places = chosen.reshape(chosen.shape + (1,) * (events + 1))
            places = places.expand((*chosen.shape, 1, *self.event_shape))
            return samples.gather(-1 - events, places).squeeze(-1 - events)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


__all__ = ["Independent", "MixtureSameFamily"]
