"""TransformedDistribution: the distribution of transformed samples of another distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core.tensor import Size, Tensor
from ..errors import ArgumentValueError
from . import constraints
from .combined import Independent
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import attribute_of, sum_rightmost, torch

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of the transformed samples of another distribution.

    Args:
        base_distribution: the distribution of the samples.
        transforms: one, or a list, the first one first.
        validate_args: see `Distribution`.

    Raises:
        ArgumentValueError: these are no transforms, or take events of more dimensions than the base has.

    >>> D = torch.distributions
    >>> lognormal = D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform())
    >>> lognormal.log_prob(torch.tensor(1.0)) == D.LogNormal(0.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(True)
    """

    arg_constraints: ClassVar = {}
    base_dist: Any

    def __init__(self, base_distribution, transforms, validate_args: bool | None = None):
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ArgumentValueError(
                f"transforms must be a Transform or list, but was {transforms}",
                hint="a list, [ExpTransform(), AffineTransform(0.0, 2.0)]: list(transforms) makes one",
            )
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ArgumentValueError(
                "transforms must be a Transform or a list of Transforms",
                hint="[ExpTransform(), AffineTransform(0.0, 2.0)]: objects, not classes",
            )
        else:
            self.transforms = transforms
        transform = ComposeTransform(self.transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        needed = transform.domain.event_dim
        if len(base_shape) < needed:
            raise ArgumentValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got {base_shape}.",
                hint=f"base_distribution.expand({[1] * needed}), or "
                f"Normal(torch.zeros({', '.join(['n'] * needed)}), 1.0)",
            )
        shape = transform.forward_shape(base_shape)
        wide = transform.inverse_shape(shape)  # as parameters of the transforms broadcast it
        if tuple(wide) != base_shape:
            base_distribution = base_distribution.expand(
                wide[: len(wide) - len(base_distribution.event_shape)]
            )
        missing = needed - len(base_distribution.event_shape)
        if missing > 0:
            base_distribution = Independent(base_distribution, missing)
        self.base_dist = base_distribution
        event_dim = transform.codomain.event_dim + max(len(base_distribution.event_shape) - needed, 0)
        cut = len(shape) - event_dim
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def _fx_expand_parameters(self, new: Any, batch_shape: Size) -> None:
        super()._fx_expand_parameters(new, batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])

    has_rsample = attribute_of("base_dist.has_rsample")

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def _fx_transform(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()) -> Tensor:
        return self._fx_transform(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape=()) -> Tensor:
        return self._fx_transform(self.base_dist.rsample(sample_shape))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        event_dim = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        log_prob = self.base_dist.log_prob(y)
        return total + sum_rightmost(log_prob, event_dim - len(self.base_dist.event_shape))

    def _fx_from_rising(self, value: Tensor) -> Tensor:
        """Turn a value of a distribution function round where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int):
            return value if sign == 1 else 1 - value
        return torch.where(sign < 0, 1 - value, value)

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._fx_from_rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._fx_transform(self.base_dist.icdf(self._fx_from_rising(value)))
