"""Discrete distributions: probabilities of integers, with a location."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import (
    Array,
    ArrayLike,
    ConcretizationError,
    UnsupportedError,
    as_value,
    aval_of,
    concretize,
    ops,
)
from .distribution import INFINITY, Distribution, any_of, is_constant, method, select
from .quantiles import least_count, least_point


class rv_discrete(Distribution):
    """A discrete distribution of whole numbers, by the hooks that a subclass states.

    `_logpmf(self, k, *shapes)` (or `_pmf`) are the probabilities, whose further arguments name the shapes. Without a
    `_cdf` they are summed, which needs a finite support, known also under `jit`.

    Args:
        a, b: the ends of the support; None: those that the class states.
        name: that of the distribution; None: that of the class.

    >>> class Halves(fx.scipy.stats.rv_discrete):
    ...     def _pmf(self, k):
    ...         return 0.5**k
    ...     def _cdf(self, k):
    ...         return 1 - 0.5**k
    >>> halves = Halves(a=1)
    >>> print(halves.pmf(2), halves.pmf(2.5), halves.cdf(2), halves.ppf(0.8))
    0.25 0.0 0.75 3.0
    """

    _further = ("loc",)
    _law = "_logpmf"

    def _pmf(self, k: Any, *shapes: Any) -> Any:
        return ops.exp(self._logpmf(k, *shapes))

    def _logpmf(self, k: Any, *shapes: Any) -> Any:
        return ops.log(self._pmf(k, *shapes))

    def _cdf(self, k: Any, *shapes: Any) -> Any:
        if type(self)._sf is not rv_discrete._sf:
            return 1 - self._sf(k, *shapes)
        return self._sum(ops.less_equal, k, shapes)

    def _sf(self, k: Any, *shapes: Any) -> Any:
        if type(self)._cdf is not rv_discrete._cdf:
            return 1 - self._cdf(k, *shapes)
        return self._sum(ops.greater, k, shapes)

    def _sum(self, compare: Callable[[Any, Any], Any], k: Any, shapes: Any) -> Any:
        """The sum of the probabilities on one side of k."""
        counts = self._points(max(aval_of(v).ndim for v in (k, *shapes)), aval_of(k).dtype, shapes)
        terms = ops.where(compare(counts, k), self._mass(counts, shapes), 0.0)
        return ops.where(ops.equal(k, k), ops.reduce_sum(terms, axes=(0,)), math.nan)

    def _entropy(self, *shapes: Any) -> Any:
        counts = self._points(
            max((aval_of(v).ndim for v in shapes), default=0), aval_of(shapes[0]).dtype, shapes
        )
        return ops.reduce_sum(self._mass(counts, shapes, self._surprise), axes=(0,))

    def _surprise(self, k: Any, *shapes: Any) -> Any:
        """-p·log p, with derivative 0 where p has underflown."""
        log_mass = self._logpmf(k, *shapes)
        some = ops.greater(log_mass, -INFINITY)
        log_mass = ops.where(some, log_mass, 0.0)
        return -ops.exp(log_mass) * log_mass

    def _points(self, ndim: int, dtype: np.dtype, shapes: Any) -> Any:
        """Return the points of the support, which is known and finite, along an axis before others. Where parameters
        differ some of them have no probability."""
        try:
            ends = [
                concretize(as_value(end), f"the support of {self.name}") for end in self._get_support(*shapes)
            ]
        except ConcretizationError as error:
            raise ConcretizationError(
                error.args[0], hint="parameters that fix the support are constants"
            ) from None
        if not np.all(np.isfinite(ends[0])) or not np.all(np.isfinite(ends[1])):
            raise UnsupportedError(
                f"{self.name}: a sum over a support without end is not known here",
                hint="define _cdf, or _entropy",
            )
        counts = np.arange(np.min(ends[0], initial=0), np.max(ends[1], initial=0) + 1, dtype=dtype)
        return counts.reshape(-1, *[1] * ndim)

    def _ppf(self, q: Any, *shapes: Any) -> Any:
        return self._least_count(lambda k, *shapes: self._cdf(k, *shapes), q, shapes)

    def _isf(self, q: Any, *shapes: Any) -> Any:
        return self._least_count(lambda k, *shapes: -self._sf(k, *shapes), -q, shapes)

    def _least_count(self, part: Callable[..., Any], q: Any, shapes: Any) -> Any:
        """Return the least k at which a part of the distribution reaches q, a constant between its jumps."""
        q, *shapes = map(ops.stop_gradient, (q, *shapes))
        lower, upper = self._get_support(*shapes)
        like = q + sum(0 * shape for shape in shapes)

        def reaches(k: Any) -> Any:  # as what is NaN does
            return ops.logical_not(ops.less(part(k, *shapes), q))

        if is_constant(lower, -INFINITY):
            return least_point(lambda z: reaches(ops.floor(z)), lower, upper, like)
        return least_count(reaches, lower + 0 * like, upper)

    def _count(self, z: Any) -> Any:
        return ops.floor(z)

    def _is_below(self, z: Any, lower: Any) -> Any:
        return ops.less(z, lower)

    def _inner_point(self, lower: Any, upper: Any) -> Any:
        return upper if is_constant(lower, -INFINITY) else lower

    def _least(self, lower: Any) -> Any:
        return lower - 1

    def _mass(self, z: Any, shapes: Any, law: Callable[..., Any] | None = None, outside: float = 0.0) -> Any:
        """A function of the probabilities, which is constant where none is."""
        lower, upper = self._get_support(*shapes)
        none = any_of(
            ops.less(ops.floor(z), z),  # which does not hold for NaN
            None if is_constant(lower, -INFINITY) else ops.less(z, lower),
            None if is_constant(upper, INFINITY) else ops.greater(z, upper),
        )
        return select(
            none, outside, (law or self._pmf)(select(none, self._inner_point(lower, upper), z), *shapes)
        )

    @method
    def logpmf(self, k: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The logarithm of the probability, -∞ for what is no whole number of the support."""
        given = self._arguments(k, args, kwargs)
        return given.finish(self._mass(self._standardize(given), given.shapes, self._logpmf, -INFINITY))

    @method
    def pmf(self, k: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The probability P(X = k), 0 for what is no whole number of the support."""
        given = self._arguments(k, args, kwargs)
        return given.finish(self._mass(self._standardize(given), given.shapes))

    @method
    def entropy(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The entropy -Σ p·log p."""
        given = self._arguments(None, args, kwargs)
        value = self._entropy(*given.shapes) + (0.0 if given.loc is None else 0.0 * given.loc)
        return given.finish(ops.convert(as_value(value), dtype=given.dtype))
