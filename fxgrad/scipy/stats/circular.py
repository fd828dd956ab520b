"""Distributions of angles (Mardia and Jupp, "Directional Statistics", 2000)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...extend import aval_of, ops
from ...random import laws
from ...random.laws import ANGLES
from .. import special
from .density import Symmetric, rv_continuous
from .distribution import all_of, magnitude


class VonMises(laws.VonMises, Symmetric):
    """The distribution of von Mises on the circle, of density e^(κ·cos x)/(2π·I₀(κ)), continued with its period 2π.

    The distribution function is an integral by Gauss and Legendre's rule over the angles that matter (SciPy's is a
    normal approximation for κ > 50); quantiles are in [-π, π].

    >>> print(f"{fx.scipy.stats.vonmises.logpdf(0.0, 2.0):.6f}", f"{fx.scipy.stats.vonmises.cdf(0.0, 2.0):.6f}")
    -0.661871 0.500000
    """

    _nodes, _weights = (0.5 * v for v in np.polynomial.legendre.leggauss(64))
    _nodes = _nodes + 0.5  # of [0, 1]

    def _argcheck(self, kappa: Any) -> Any:
        return ops.greater_equal(kappa, 0)

    def _cdf(self, x: Any, kappa: Any) -> Any:
        turns = ops.rint(ops.stop_gradient(x) / (2 * math.pi))
        angle = x - 2 * math.pi * turns
        start = -magnitude(angle)  # in the lower half, from which the tail is integrated downwards
        # Beyond nine standard deviations is less than 1e-18 of it.
        width = ops.minimum(start + math.pi, 9 / ops.sqrt(ops.maximum(ops.stop_gradient(kappa), 1.0)))
        points = start[..., None] - width[..., None] * self._nodes.astype(aval_of(x).dtype)
        densities = ops.exp(self._logpdf(points, kappa[..., None])) * self._weights.astype(aval_of(x).dtype)
        part = width * ops.reduce_sum(densities, axes=(densities.ndim - 1,))
        return turns + ops.where(ops.less(angle, 0), part, 1 - part)

    def _ppf(self, q: Any, kappa: Any) -> Any:
        return vonmises_line._ppf(q, kappa)

    def _entropy(self, kappa: Any) -> Any:
        mean = special.i1e(kappa) / special.i0e(kappa)
        return ops.log(2 * math.pi * special.i0e(kappa)) + kappa * (1 - mean)


class VonMisesLine(VonMises):
    """The distribution of von Mises on [-π, π].

    >>> print(fx.scipy.stats.vonmises_line.pdf(4.0, 2.0))
    0.0
    """

    a: Any = -math.pi
    b: Any = math.pi

    def _ppf(self, q: Any, kappa: Any) -> Any:
        return rv_continuous._ppf(self, q, kappa)


class WrapCauchy(rv_continuous):
    """Cauchy's distribution wrapped around the circle, of density (1 - c²)/(2π·(1 + c² - 2c·cos x)) on [0, 2π].

    >>> print(f"{fx.scipy.stats.wrapcauchy.pdf(0.0, 0.5):.6f}")
    0.477465
    """

    _source = ANGLES
    a: Any = 0.0
    b: Any = 2 * math.pi

    def _argcheck(self, c: Any) -> Any:
        return all_of(ops.greater(c, 0), ops.less(c, 1))

    def _logpdf(self, x: Any, c: Any) -> Any:
        distance = ops.square(1 - c) + 4 * c * ops.square(ops.sin(0.5 * x))
        return ops.log1p(-c) + ops.log1p(c) - ops.log(2 * math.pi * distance)

    def _cdf(self, x: Any, c: Any) -> Any:
        return ops.arctan2((1 + c) / (1 - c) * ops.sin(0.5 * x), ops.cos(0.5 * x)) / math.pi

    def _sf(self, x: Any, c: Any) -> Any:
        return self._cdf(2 * math.pi - x, c)

    def _ppf(self, q: Any, c: Any) -> Any:
        return 2 * ops.arctan2((1 - c) / (1 + c) * ops.sin(math.pi * q), ops.cos(math.pi * q))

    def _isf(self, q: Any, c: Any) -> Any:
        return 2 * math.pi - self._ppf(q, c)

    def _entropy(self, c: Any) -> Any:
        return ops.log(2 * math.pi) + ops.log1p(-ops.square(c))


vonmises: VonMises = VonMises()
vonmises_line: VonMisesLine = VonMisesLine(name="vonmises_line")
wrapcauchy: WrapCauchy = WrapCauchy()
