"""Transforms of single numbers."""

from __future__ import annotations

import math
from typing import Any

from .._core.tensor import Size, Tensor
from . import constraints
from .base_transforms import Transform, widen
from .constraints import Constraint
from .utils import attribute_of, sum_rightmost, torch


class ElementwiseTransform(Transform):
    """The base of increasing bijections of numbers."""

    bijective = True
    domain = constraints.real
    sign: Any = 1
    _fx_settings = ()


class ExpTransform(ElementwiseTransform):
    """The map y = eˣ.

    >>> t = torch.distributions.ExpTransform()
    >>> x = torch.tensor(1.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(2.7183), tensor(1.))
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def broadcast_shapes(shape, *settings) -> Size:
    """The shape of values broadcast against settings, which may be numbers."""
    return Size(torch.broadcast_shapes(tuple(shape), *[getattr(s, "shape", ()) for s in settings]))


class PowerTransform(ElementwiseTransform):
    """The map y = xᵃ of positive numbers; `exponent` is a.

    >>> t = torch.distributions.PowerTransform(torch.tensor(2.0))
    >>> x = torch.tensor(3.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(9.), tensor(1.7918))
    """

    domain = codomain = constraints.positive
    _fx_settings = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return torch.as_tensor(self.exponent).sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape) -> Size:
        return broadcast_shapes(shape, self.exponent)

    inverse_shape = forward_shape


def sigmoid_inside(x: Tensor) -> Tensor:
    """The sigmoid, kept off 0 and 1."""
    limits = torch.finfo(x.dtype)
    return torch.sigmoid(x).clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(ElementwiseTransform):
    """The map y = 1/(1 + e⁻ˣ).

    >>> t = torch.distributions.SigmoidTransform()
    >>> x = torch.tensor(0.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(0.5000), tensor(-1.3863))
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return sigmoid_inside(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        softplus = torch.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class SoftplusTransform(ElementwiseTransform):
    """The map y = log(1 + eˣ).

    >>> t = torch.distributions.SoftplusTransform()
    >>> x = torch.tensor(0.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(0.6931), tensor(-0.6931))
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return torch.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -torch.nn.functional.softplus(-x)


class TanhTransform(ElementwiseTransform):
    """The map y = tanh x. With a cache the inverse of a result near ±1 is exact.

    >>> t = torch.distributions.TanhTransform()
    >>> x = torch.tensor(0.5)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(0.4621), tensor(-0.2402))
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh² x) without the difference, which is 0 from |x| = 9 on
        return 2.0 * (math.log(2.0) - x - torch.nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """The map y = |x|, whose inverse is the positive one.

    >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """

    domain, codomain = constraints.real, constraints.positive
    _fx_settings = ()

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """The map y = loc + scale · x.

    Args:
        loc, scale: Tensors or numbers.
        event_dim: how many dimensions are an event.

    >>> t = torch.distributions.AffineTransform(1.0, 2.0)
    >>> x = torch.tensor(3.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(7.), tensor(0.6931))
    """

    bijective = True
    _fx_settings = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = attribute_of("_event_dim")

    @property
    def domain(self) -> Constraint:
        return widen(constraints.real, self._event_dim)

    codomain: Any = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            each = self.scale.abs().log().expand(broadcast_shapes(x.shape, self.scale))
        else:
            each = torch.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(each, self._event_dim)

    def forward_shape(self, shape) -> Size:
        return broadcast_shapes(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(ElementwiseTransform):
    """The map y = F(x), the cumulative distribution function of a distribution of numbers: its samples become uniform.

    Args:
        distribution: what has `cdf`, `icdf` and `log_prob`.

    >>> t = torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))
    >>> x = torch.tensor(0.0)
    >>> t(x), t.log_abs_det_jacobian(x, t(x))
    (tensor(0.5000), tensor(-0.9189))
    """

    codomain = constraints.unit_interval
    _fx_settings = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = attribute_of("distribution.support")

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
    "SigmoidTransform", "SoftplusTransform", "TanhTransform",
]  # fmt: skip
