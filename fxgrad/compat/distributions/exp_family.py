"""Exponential families, whose entropy follows from their normalizer."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .distribution import Distribution
from .utils import absent_member, absent_property, sum_rightmost, torch

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base of distributions with densities exp(⟨t(x), θ⟩ − F(θ) + k(x)).

    One of your own defines `_natural_params`, the tuple θ, `_log_normalizer(*θ)`, which is F, and
    `_mean_carrier_measure`, the mean of k. The entropy is F − ⟨θ, ∇F⟩ − E k, and the Kullback-Leibler divergence of two
    of one family the Bregman divergence of F (Nielsen and Nock, "Entropies and cross-entropies of exponential
    families", 2010).

    Args:
        batch_shape: the shape of a batch of distributions.
        event_shape: the shape of one sample.
        validate_args: see `Distribution`.

    >>> exponential = torch.distributions.Exponential(torch.tensor(2.0))
    >>> bool(torch.isclose(torch.distributions.ExponentialFamily.entropy(exponential), exponential.entropy()))
    True
    """

    _natural_params: Any = absent_property("_natural_params", "The tuple θ.")
    _mean_carrier_measure: Any = absent_property("_mean_carrier_measure", "The mean of k.")

    def _log_normalizer(self, *natural_params) -> Tensor:
        raise absent_member(self, "_log_normalizer")

    def _fx_normalizer_gradients(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """Return (θ, F(θ), ∇F(θ)), differentiable in θ."""
        with torch.enable_grad():
            found = self._natural_params
            params = tuple(p if p.requires_grad else p.detach().requires_grad_() for p in found)
            normalizer = self._log_normalizer(*params)
            gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        return params, normalizer, gradients

    def entropy(self) -> Tensor:
        params, normalizer, gradients = self._fx_normalizer_gradients()
        result = normalizer - self._mean_carrier_measure
        for param, gradient in zip(params, gradients):
            result = result - sum_rightmost(param * gradient, param.dim() - len(self.batch_shape))
        return result
