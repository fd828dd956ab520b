"""Kernel density estimates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import random as fxrandom
from ... import tree
from ...extend import Array, ArrayLike, ShapeError, StructureError, api_boundary, ops, wrong_shape
from ...nn.rows import logsumexp
from .. import special
from .distribution import as_floats, method
from .generator import check_that_all_is_plain, is_of_numpy, random_key

LOG_2PI = math.log(2 * math.pi)


@tree.register_pytree_node_class
class gaussian_kde:
    """An estimate of a density by a normal distribution around each point of a sample (Scott, "Multivariate Density
    Estimation", 1992), differentiable in the sample and in the weights.

    Args:
        dataset: the sample, [n] or [d, n].
        bw_method: "scott" (None), "silverman", a number, or a function of the estimate: the factor that a bandwidth is
            in relation to the covariance of the sample.
        weights: one for each point; equal unless given.

    Raises:
        ValueError: there are less than two points, or `bw_method` is none of these.
        ShapeError: the weights are not one for each point.
        LinAlgError: the points are in a subspace.

    >>> estimate = fx.scipy.stats.gaussian_kde(np.array([0.0, 1.0, 3.0]))
    >>> print(f"{estimate.logpdf(1.0)[0]:.6f}", f"{estimate.integrate_box_1d(-np.inf, 1.0):.6f}")
    -1.537604 0.448018
    """

    factor: Array | float
    covariance: Array

    @api_boundary
    def __init__(self, dataset: ArrayLike, bw_method: Any = None, weights: ArrayLike | None = None):
        given, _ = as_floats([dataset, *([] if weights is None else [weights])], "gaussian_kde")
        self.dataset: Array = fnp.atleast_2d(given[0])
        if math.prod(self.dataset.shape) < 2 or self.dataset.ndim != 2:
            raise ShapeError(
                f"gaussian_kde: a sample [n] or [d, n] of several points is needed, not {given[0].shape}",
                hint="two points or more: [n], or [d, n] for points of d components",
            )
        self.weights: Array
        if weights is None:
            self.weights = np.full(self.n, 1 / self.n, dtype=self.dataset.dtype)
        elif given[1].shape != (self.n,):
            raise wrong_shape("gaussian_kde", "weights", given[1].shape, (self.n,))
        else:
            self.weights = given[1] / fnp.sum(given[1])
        self.neff: Array = 1 / fnp.sum(ops.square(self.weights))
        self.set_bandwidth(bw_method)

    @property
    def d(self) -> int:
        """The number of components of a point."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def tree_flatten(self) -> tuple[list[Any], None]:
        """Return the arrays of which the estimate consists."""
        return [self.dataset, self.weights, self.neff, self.factor, self.covariance], None

    @classmethod
    def tree_unflatten(cls, auxiliary: None, children: tuple[Any, ...]) -> gaussian_kde:
        """Make an estimate of its arrays.

        Args:
            auxiliary, children: what `tree_flatten` gave.
        """
        self = object.__new__(cls)
        self.dataset, self.weights, self.neff, self.factor, self.covariance = children
        return self

    def set_bandwidth(self, bw_method: float | str | Callable[[gaussian_kde], Any] | None = None) -> None:
        """Take another bandwidth; see the class.

        Raises:
            StructureError: there is no such rule.
        """
        if bw_method is None or bw_method == "scott":
            self.factor = self.scotts_factor()
        elif isinstance(bw_method, str):
            if bw_method != "silverman":
                raise StructureError(
                    f"gaussian_kde: there is no bw_method={bw_method!r}",
                    hint='bw_method="scott", "silverman", a number, or a function of the estimate',
                )
            self.factor = self.silverman_factor()
        else:
            self.factor = bw_method(self) if callable(bw_method) else bw_method
        centred = self.dataset - fnp.sum(self.weights * self.dataset, axis=1, keepdims=True)
        spread = (self.weights * centred) @ centred.T / (1 - fnp.sum(ops.square(self.weights)))
        self.covariance = spread * ops.square(self.factor)

    def scotts_factor(self) -> Any:
        """The factor of Scott's rule, n^(-1/(d + 4)) for the effective number of points."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """The factor of Silverman's rule, (n·(d + 2)/4)^(-1/(d + 4)) for the effective number of points."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    @property
    def inv_cov(self) -> Array:
        """The inverse of `covariance`."""
        return fnp.linalg.inv(self.covariance)

    def _points(self, points: Any) -> Any:
        """Return points as an array [d, m]."""
        (points,), _ = as_floats([points], "gaussian_kde")
        points = fnp.atleast_2d(points)
        if points.shape[0] != self.d and points.shape == (1, self.d):
            points = points.T  # one point
        if points.shape[0] != self.d:
            raise ShapeError(
                f"gaussian_kde: points [{self.d}, m] are needed, not of shape {points.shape}",
                hint="points.T, where a row is a point",
            )
        return points

    def _log_normal(self, deviation: Any, covariance: Any) -> Any:
        """The logarithm of the normal density of deviations [d, ...]."""
        factor = fnp.linalg.cholesky(covariance)
        flat = fnp.reshape(deviation, (self.d, -1))
        scaled = ops.triangular_solve(factor, flat, lower=True, unit_diagonal=False)
        distance = fnp.reshape(fnp.sum(ops.square(scaled), axis=0), deviation.shape[1:])
        log_det = 2 * fnp.sum(fnp.log(fnp.diagonal(factor)))
        return -0.5 * (distance + self.d * LOG_2PI + log_det)

    @method
    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points [d, m] (or [m] for d = 1), without underflow far from the sample."""
        deviation = self._points(x)[:, :, None] - self.dataset[:, None, :]
        return logsumexp(self._log_normal(deviation, self.covariance) + fnp.log(self.weights), axis=1)

    @method
    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points [d, m] (or [m] for d = 1)."""
        return ops.exp(self.logpdf(points))

    pdf = __call__ = evaluate

    @method
    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times that of a normal distribution.

        Args:
            mean: that of the normal distribution, of shape (d,).
            cov: its covariance, of shape (d, d).

        Raises:
            ShapeError: the shapes do not fit the dimensions.
        """
        (mean, cov), _ = as_floats([mean, cov], "gaussian_kde")
        mean, cov = fnp.atleast_1d(mean), fnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ShapeError(
                f"gaussian_kde: a mean [{self.d}] is needed, with its covariance; not {mean.shape}, {cov.shape}",
                hint=f"mean of shape ({self.d},), and cov ({self.d}, {self.d})",
            )
        densities = ops.exp(self._log_normal(self.dataset - mean[:, None], self.covariance + cov))
        return fnp.sum(self.weights * densities)

    @method
    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of the density from low to high, for d = 1.

        Raises:
            StructureError: the points have more than one component.
        """
        if self.d != 1:
            raise StructureError(
                f"gaussian_kde: integrate_box_1d is for points of one component, these have {self.d}",
                hint="marginal([i]).integrate_box_1d(low, high) for the component i",
            )
        (low, high), _ = as_floats([low, high], "gaussian_kde")
        scale = ops.sqrt(self.covariance[0, 0])
        ends = (special.ndtr((end - self.dataset[0]) / scale) for end in (high, low))
        upper, lower = ends
        return fnp.sum(self.weights * (upper - lower))

    @method
    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two estimates.

        Raises:
            StructureError: the points of both have not as many components.
        """
        if other.d != self.d:
            raise StructureError(
                f"gaussian_kde: estimates for {self.d} and {other.d} components",
                hint="marginal(dimensions) of the one with more",
            )
        deviation = self.dataset[:, :, None] - other.dataset[:, None, :]
        densities = ops.exp(self._log_normal(deviation, self.covariance + other.covariance))
        return self.weights @ densities @ other.weights

    def resample(self, size: int | None = None, seed: Any = None) -> Array:
        """Draw points [d, size] of the estimate, as many as the sample has unless `size` is given; `seed` is a key.
        Without one, or with a seed or a generator of NumPy's, they are drawn with one of that, outside of transforms.

        Raises:
            StructureError: there is no key inside a transform.
        """
        if is_of_numpy(seed):
            check_that_all_is_plain(
                "gaussian_kde.resample", [self.dataset, self.weights, self.covariance], "seed"
            )
            seed = random_key(seed)
        size = self.n if size is None else size
        choice, noise = fxrandom.split(seed)
        picked = fxrandom.choice(choice, self.n, (size,), p=self.weights)
        steps = fxrandom.multivariate_normal(noise, np.zeros(self.d), self.covariance, (size,))
        return fnp.take(self.dataset, picked, axis=1) + steps.T

    def marginal(self, dimensions: ArrayLike) -> gaussian_kde:
        """The estimate for some components, with the same factor.

        Raises:
            StructureError: the dimensions are not different ones.
        """
        chosen = np.atleast_1d(np.asarray(dimensions))
        if not np.issubdtype(chosen.dtype, np.integer) or len(np.unique(chosen % self.d)) != len(chosen):
            raise StructureError(
                f"gaussian_kde.marginal: dimensions are different whole numbers, not {dimensions}",
                hint=f"each of 0 to {self.d - 1} once at most",
            )
        return gaussian_kde(self.dataset[chosen], bw_method=self.factor, weights=self.weights)
