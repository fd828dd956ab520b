"""Distributions of a variable that is known in standard form, by the formulas of `fxgrad.random.laws`.

A formula is a program over torch's functions, as a user would write it, and not one operation: so it has torch's nodes,
promotion and overloads.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

from ...random import laws
from .._core.tensor import Tensor
from .distribution import Distribution
from .utils import torch


def log_beta(a: Tensor, b: float) -> Tensor:
    """The logarithm of the beta function."""
    return torch.lgamma(a) + math.lgamma(b) - torch.lgamma(a + b)


FUNCTIONS = laws.Functions(torch, torch.special, SimpleNamespace(betaln=log_beta))


class LocationScale(Distribution):
    """The base of distributions of loc + scale·z, for z of a law."""

    loc: Any
    scale: Any
    _fx_law: ClassVar[laws.Law]
    _fx_shapes: ClassVar[tuple[str, ...]] = ()  # the parameters that are the law's

    def _fx_standardize(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _fx_place(self, z: Tensor) -> Tensor:
        return self.loc + self.scale * z

    def _fx_log_scale(self) -> Tensor:
        return self.scale.log()

    def _fx_apply(self, formula: str, *values: Tensor) -> Tensor:
        """Apply a formula of the law."""
        return getattr(self._fx_law, formula)(*values, *[getattr(self, name) for name in self._fx_shapes])

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return self._fx_apply("_logpdf", self._fx_standardize(value)) - self._fx_log_scale()

    def _fx_cdf(self, value: Tensor) -> Tensor:
        return self._fx_apply("_cdf", self._fx_standardize(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._fx_place(self._fx_apply("_ppf", value))

    def entropy(self) -> Tensor:
        return self._fx_apply("_entropy") + self._fx_log_scale()


class Rate(LocationScale):
    """The base of distributions of z/rate, for z of a law."""

    rate: Any

    def _fx_standardize(self, x: Tensor) -> Tensor:
        return self.rate * x

    def _fx_place(self, z: Tensor) -> Tensor:
        return z / self.rate

    def _fx_log_scale(self) -> Tensor:
        return -self.rate.log()
