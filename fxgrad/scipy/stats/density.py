"""Continuous distributions: a density with location and scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import Array, ArrayLike, as_value, ops
from ...random import laws
from .distribution import INFINITY, Distribution, any_of, is_constant, method, select
from .quantiles import quantile


class rv_continuous(Distribution):
    """A continuous distribution, by the hooks that a subclass states.

    `_logpdf(self, x, *shapes)` (or `_pdf`) is the density in standard form, whose further arguments name the shapes;
    `_cdf` the distribution function. All else may be stated too and is derived otherwise: `_ppf` by search, with
    derivatives by the implicit function theorem.

    >>> class Ramp(fx.scipy.stats.rv_continuous):
    ...     def _logpdf(self, x, slope):
    ...         return fnp.log(slope) + (slope - 1) * fnp.log(x)
    ...     def _cdf(self, x, slope):
    ...         return x**slope
    >>> ramp = Ramp(a=0.0, b=1.0)
    >>> print(ramp.ppf(0.25, 2.0), fx.grad(ramp.ppf)(0.25, 2.0))
    0.5 1.0
    """

    _further = ("loc", "scale")
    _law = "_logpdf"
    _closed = True  # whether the ends of the support are points at which the density is evaluated

    def _pdf(self, z: Any, *shapes: Any) -> Any:
        return ops.exp(self._logpdf(z, *shapes))

    def _logpdf(self, z: Any, *shapes: Any) -> Any:
        return ops.log(self._pdf(z, *shapes))

    def _ppf(self, q: Any, *shapes: Any) -> Any:
        return quantile(lambda z: self._cdf(z, *shapes), q, *self._get_support(*shapes))

    def _isf(self, q: Any, *shapes: Any) -> Any:
        return quantile(lambda z: -self._sf(z, *shapes), -q, *self._get_support(*shapes))

    def _density(
        self,
        law: Callable[..., Any],
        outside: float,
        rescale: Callable[[Any, Any], Any],
        x: Any,
        args: Any,
        kwargs: Any,
    ) -> Any:
        """A function of the density in standard form, rescaled; a constant outside the support."""
        given = self._arguments(x, args, kwargs)
        z = self._standardize(given)
        lower, upper = self._get_support(*given.shapes)
        beyond = any_of(self._are_beyond(lower, -INFINITY, z), self._are_beyond(upper, INFINITY, z))
        value = law(select(beyond, self._inner_point(lower, upper), z), *given.shapes)
        value = value if given.scale is None else rescale(value, given.scale)
        return given.finish(select(beyond, outside, value))

    def _are_beyond(self, end: Any, infinity: float, z: Any) -> Any:
        """Which points are beyond an end of the support, as it is where it is infinite; None for none."""
        if self._is_nowhere(end, infinity):
            return None
        closed = self._closed and not is_constant(end, infinity)
        if infinity < 0:
            return (ops.less if closed else ops.less_equal)(z, end)
        return (ops.greater if closed else ops.greater_equal)(z, end)

    @method
    def logpdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The logarithm of the density, -∞ outside the support."""
        return self._density(self._logpdf, -INFINITY, lambda y, scale: y - ops.log(scale), x, args, kwargs)

    @method
    def pdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The density, 0 outside the support. Where it is 0, also at an end of the support or because it underflows, so
        is its derivative."""

        def density(z: Any, *shapes: Any) -> Any:
            y = self._pdf(z, *shapes)
            return ops.where(ops.equal(y, 0), 0.0, y)  # without derivatives 0·∞

        return self._density(density, 0.0, ops.divide, x, args, kwargs)

    def _level_off(self, value: Any, below: float, above: float, z: Any, shapes: Sequence[Any]) -> Any:
        """Values of a part, without derivatives 0·∞ where they are an end's and the density, their derivative,
        underflows."""
        if type(value) is np.ndarray:
            return value
        flat = ops.equal(self._pdf(z, *shapes), 0)
        for end in (below, above):
            if math.isfinite(end):
                value = ops.where(ops.logical_and(flat, ops.equal(value, end)), end, value)
        return value

    @method
    def entropy(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The differential entropy -E log f(X)."""
        given = self._arguments(None, args, kwargs)
        value = self._entropy(*given.shapes) + (0.0 if given.loc is None else 0.0 * given.loc)
        value = value if given.scale is None else value + ops.log(given.scale)
        return given.finish(ops.convert(as_value(value), dtype=given.dtype))


class Symmetric(rv_continuous):
    """A distribution symmetric about zero: its upper tail is its lower one."""

    def _sf(self, z: Any, *shapes: Any) -> Any:
        return self._cdf(-z, *shapes)

    def _logsf(self, z: Any, *shapes: Any) -> Any:
        return self._logcdf(-z, *shapes)

    def _isf(self, q: Any, *shapes: Any) -> Any:
        return -self._ppf(q, *shapes)


class Transformed(rv_continuous):
    """The distribution of a variable of which a monotone function has a known distribution.

    A subclass states that one, `_base`, the function `_variable(x, *shapes)`, the logarithm `_log_slope` of the size of
    its derivative, its inverse `_point(u, *shapes)`, whether it falls, and what shapes `_base` then has. Tails stay as
    exact as those of `_base`.
    """

    _law = "_variable"
    _base: rv_continuous
    _falling = False

    def _base_shapes(self, *shapes: Any) -> tuple[Any, ...]:
        return ()

    def _variable(self, x: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _log_slope(self, x: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _point(self, u: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _of_base(self, function: Callable[..., Any], x: Any, shapes: Any) -> Any:
        return function(self._variable(x, *shapes), *self._base_shapes(*shapes))

    def _logpdf(self, z: Any, *shapes: Any) -> Any:
        return self._of_base(self._base._logpdf, z, shapes) + self._log_slope(z, *shapes)

    def _cdf(self, z: Any, *shapes: Any) -> Any:
        return self._of_base(self._base._sf if self._falling else self._base._cdf, z, shapes)

    def _sf(self, z: Any, *shapes: Any) -> Any:
        return self._of_base(self._base._cdf if self._falling else self._base._sf, z, shapes)

    def _logcdf(self, z: Any, *shapes: Any) -> Any:
        return self._of_base(self._base._logsf if self._falling else self._base._logcdf, z, shapes)

    def _logsf(self, z: Any, *shapes: Any) -> Any:
        return self._of_base(self._base._logcdf if self._falling else self._base._logsf, z, shapes)

    def _ppf(self, q: Any, *shapes: Any) -> Any:
        inverse = self._base._isf if self._falling else self._base._ppf
        return self._point(inverse(q, *self._base_shapes(*shapes)), *shapes)

    def _isf(self, q: Any, *shapes: Any) -> Any:
        inverse = self._base._ppf if self._falling else self._base._isf
        return self._point(inverse(q, *self._base_shapes(*shapes)), *shapes)


class HalfSquare(Transformed):
    """The distribution of a positive variable x of which x²/2 has a known distribution."""

    a: Any = 0.0

    def _variable(self, x: Any, *shapes: Any) -> Any:
        return 0.5 * ops.square(x)

    def _log_slope(self, x: Any, *shapes: Any) -> Any:
        return ops.log(x)

    def _point(self, u: Any, *shapes: Any) -> Any:
        return ops.sqrt(2 * u)


class Folded(rv_continuous):
    """The distribution of |X| for X of a symmetric one, `_base`. A subclass states `_cdf` and `_ppf`, exact near 0."""

    a: Any = 0.0
    _base: Symmetric

    def _logpdf(self, z: Any) -> Any:
        return laws.LOG_2 + self._base._logpdf(z)

    def _sf(self, z: Any) -> Any:
        return 2 * self._base._cdf(-z)

    def _logsf(self, z: Any) -> Any:
        return laws.LOG_2 + self._base._logcdf(-z)

    def _isf(self, q: Any) -> Any:
        return -self._base._ppf(0.5 * q)

    def _entropy(self) -> Any:
        return self._base._entropy() - laws.LOG_2
