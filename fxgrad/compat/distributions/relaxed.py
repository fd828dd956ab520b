"""Relaxed distributions: continuous ones near discrete ones, through whose samples gradients flow (Maddison, Mnih and
Teh, "The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax", 2017).
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from .._core.tensor import Tensor
from . import constraints
from .categorical import OverCategorical
from .odds import Odds
from .parameters import parameter
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import clamp_probs, torch


def draw_unit(shape, like: Tensor) -> Tensor:
    """Draw uniform numbers, kept off 0 and 1 as probabilities are."""
    return clamp_probs(torch.rand(shape, dtype=like.dtype, device=like.device))


class LogitRelaxedBernoulli(Odds):
    """The distribution of log odds whose sigmoid is relaxed from a Bernoulli variable."""

    temperature: Any = parameter("how far from 0 and 1 samples are")
    _fx_kept = ("temperature",)
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        self.temperature = temperature
        self._fx_start_odds(validate_args, probs, logits)

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs, noise = clamp_probs(self.probs.expand(shape)), draw_unit(shape, self.probs)
        return (torch.logit(noise) + torch.logit(probs)) / self.temperature

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        logits, value = torch.broadcast_tensors(self.logits, value)
        rest = logits - value * self.temperature
        log_temperature = torch.as_tensor(self.temperature, dtype=rest.dtype).log()
        return log_temperature + rest - 2 * torch.nn.functional.softplus(rest)


class RelaxedBernoulli(TransformedDistribution):
    """A relaxed Bernoulli distribution, of numbers between 0 and 1.

    Source: C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", 2016.

    >>> d = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.25))
    >>> d.log_prob(torch.tensor(0.5))
    tensor(-0.9808)
    """

    temperature: Any = parameter(
        "the lower it is, the nearer samples are to 0 and 1", read=attrgetter("base_dist.temperature")
    )
    probs = Odds.probs.within("base_dist")
    logits = Odds.logits.within("base_dist")
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(OverCategorical):
    """The distribution of logarithms of what is relaxed from a one-hot vector."""

    temperature: Any = parameter("how far from the corners samples are")
    _fx_kept = ("temperature",)
    support = constraints.real_vector  # whose exponentials add up to 1

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args=validate_args)

    def rsample(self, sample_shape=()) -> Tensor:
        noise = draw_unit(self._extended_shape(sample_shape), self.logits)
        gumbel = -(-noise.log()).log()
        return torch.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        count = self.event_shape[0]
        logits, value = torch.broadcast_tensors(self.logits, value)
        temperature = torch.as_tensor(self.temperature, dtype=value.dtype, device=value.device)
        log_scale = torch.lgamma(torch.full_like(temperature, float(count))) + (count - 1) * temperature.log()
        return torch.log_softmax(logits - value * temperature, -1).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A relaxed one-hot categorical distribution, of vectors of probabilities.

    Source: C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", 2016, and E. Jang, S. Gu and B. Poole,
    "Categorical reparameterization with Gumbel-softmax", 2016.

    >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), probs=torch.tensor([0.25, 0.75]))
    >>> d.log_prob(torch.tensor([0.5, 0.5]))
    tensor(-0.9808)
    """

    temperature: Any = parameter(
        "the lower it is, the nearer samples are to one-hot vectors", read=attrgetter("base_dist.temperature")
    )
    probs = OverCategorical.probs.within("base_dist")
    logits = OverCategorical.logits.within("base_dist")
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args: bool | None = None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)


__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical"]
