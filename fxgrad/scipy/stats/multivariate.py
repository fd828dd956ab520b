"""Distributions of vectors and matrices.

The last axis is that of a point. All other axes, those of the parameters included, broadcast, and the result has one
number for each point. SciPy's functions allow less: their parameters are those of one distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as fnp
from ... import random as fxrandom
from ...extend import Array, ArrayLike, ConcretizationError, ShapeError, as_value, aval_of, concretize, ops
from ...numpy.composite import cast
from .. import special
from .counts import binom
from .distribution import F, Frozen, as_floats, method
from .generator import check_that_all_is_plain, is_of_numpy, scipy_law

LOG_2PI = math.log(2 * math.pi)


class Factors(NamedTuple):
    """A positive matrix Σ, factored: A with A·Σ·Aᵀ = 1 on the space of Σ, the logarithm of the product of its positive
    eigenvalues, their number, and a projection to the space on which Σ is zero (None where it has none)."""

    whiten: Any
    log_det: Any
    rank: Any
    null: Any

    def distance(self, deviation: Any) -> Any:
        """Return dᵀ·Σ⁻¹·d."""
        return ops.reduce_sum(ops.square(self.whiten(deviation)), axes=(aval_of(deviation).ndim - 1,))


def factor(cov: Any, allow_singular: bool, name: str) -> Factors:
    """Factor a positive matrix: by Cholesky's method, or where it may be singular by its eigenvectors."""
    size = aval_of(cov).shape[-1]
    if not allow_singular:
        lower = fnp.linalg.cholesky(cov)

        def whiten(deviation: Any) -> Any:
            solve = ops.triangular_solve
            shape = np.broadcast_shapes(lower.shape[:-2], deviation.shape[:-1])
            triangle = fnp.broadcast_to(lower, (*shape, size, size))
            columns = fnp.broadcast_to(deviation, (*shape, size))[..., None]
            return solve(triangle, columns, lower=True, unit_diagonal=False)[..., 0]

        log_det = 2 * fnp.sum(fnp.log(fnp.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)
        return Factors(whiten, log_det, float(size), None)
    values, vectors = fnp.linalg.eigh(cov)
    dtype = aval_of(values).dtype
    limit = 1e3 if dtype.itemsize < 8 else 1e6  # SciPy's, for what is zero but for rounding
    kept = values > limit * float(np.finfo(dtype).eps) * fnp.max(fnp.abs(values), axis=-1, keepdims=True)
    safe = fnp.where(kept, values, 1.0)

    def along(deviation: Any, weights: Any) -> Any:
        return fnp.einsum("...ij,...i->...j", vectors, deviation) * weights

    return Factors(
        lambda deviation: along(deviation, fnp.where(kept, 1 / fnp.sqrt(safe), 0.0)),
        fnp.sum(fnp.log(safe), axis=-1),
        fnp.sum(cast(kept, dtype), axis=-1),
        lambda deviation: along(deviation, fnp.where(kept, 0.0, 1.0)),
    )


def exponential_of(log_density: F, text: str) -> F:
    """Return the method, of this docstring, that is the exponential of another with the same arguments."""

    @wraps(log_density)
    def density(*args: Any, **kwargs: Any) -> Any:
        return ops.exp(log_density(*args, **kwargs))

    density.__doc__, density.__name__ = text, log_density.__name__.removeprefix("log")
    density.__qualname__ = log_density.__qualname__.replace(".log", ".")
    return method(density)  # type: ignore[return-value]


class Multivariate:
    """The base of distributions of vectors and matrices: frozen ones."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"<fxgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Freeze the parameters: `multivariate_normal(mean, cov).logpdf(x)`."""
        return Frozen(self, args, kwargs)  # type: ignore[arg-type]

    def _read(self, *parameters: Any) -> tuple[Any, ...]:
        """Return points, the parameters, and the dtype of the result."""
        raise NotImplementedError

    def _draw(self, sampler: Callable[..., Any], size: Any, random_state: Any, *given: Any) -> Array:
        """Draw vectors: from a key by a function of `fxgrad.random`, or from a generator of NumPy's by SciPy."""
        if is_of_numpy(random_state):
            check_that_all_is_plain(f"{self.name}.rvs", given)
        _, *parameters, dtype = self._read(*given)
        if not is_of_numpy(random_state):
            return cast(sampler(random_state, *parameters, size), dtype)
        size = () if size is None else fxrandom.keys.as_shape(size, f"{self.name}.rvs")
        drawn = scipy_law(self).rvs(*parameters, size=size, random_state=random_state)  # type: ignore[misc]
        return cast(np.reshape(drawn, (*size, aval_of(parameters[0]).shape[-1])), dtype)


class Elliptical(Multivariate):
    """What distributions share whose density depends on (x - centre)ᵀ·Σ⁻¹·(x - centre)."""

    def _read(self, centre: Any, cov: Any, x: Any = None) -> tuple[Any, Array, Array, np.dtype]:
        """Return the points [..., n], the centre [..., n], the matrix [..., n, n], and the dtype of the result."""
        cov = 1 if cov is None else cov
        given = [0.0 if centre is None else centre, cov, *([] if x is None else [x])]
        (centre, cov, *points), dtype = as_floats(given, self.name)
        size = (centre.shape or cov.shape or (1,))[-1]
        if cov.ndim < 2:  # one variance, or one for each component
            cov = fnp.broadcast_to(cov, (size,))[..., None] * np.eye(size, dtype=aval_of(cov).dtype)
        if cov.shape[-2:] != (size, size) or (centre.shape and centre.shape[-1] != size):
            raise ShapeError(
                f"{self.name}: a centre [..., n] and a matrix [..., n, n] are needed, not shapes {centre.shape} "
                f"and {cov.shape}",
                hint="fnp.diag(variances), or a centre of as many entries as the matrix has rows",
            )
        centre = fnp.broadcast_to(centre, (*centre.shape[:-1], size))
        if not points:
            return None, centre, cov, dtype
        (x,) = points
        x = x[..., None] if size == 1 and x.ndim < 2 else x
        if x.shape[-1:] != (size,):
            raise ShapeError(
                f"{self.name}: points [..., {size}] are needed, not of shape {x.shape}",
                hint=f"an array whose last axis has the {size} components of a point",
            )
        return x, centre, cov, dtype


class MultivariateNormal(Elliptical):
    """The normal distribution of vectors.

    `mean` [..., n] is zero unless given, and `cov` [..., n, n], or one variance, or n of them, the unit matrix. With
    `allow_singular` points outside the space of `cov` have the density 0, and derivatives are those within it.

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, 2000, chapter 45.

    >>> normal = fx.scipy.stats.multivariate_normal
    >>> print(f"{normal.logpdf([1.0, 2.0], np.zeros(2), np.eye(2)):.6f}")
    -4.337877
    """

    @method
    def logpdf(
        self, x: ArrayLike, mean: ArrayLike | None = None, cov: Any = 1, allow_singular: bool = False
    ) -> Array:
        """The logarithm of the density at points [..., n]."""
        x, mean, cov, dtype = self._read(mean, cov, x)
        factors = factor(cov, bool(allow_singular), self.name)
        value = -0.5 * (factors.distance(x - mean) + factors.log_det + factors.rank * LOG_2PI)
        if factors.null is not None:
            size = fnp.linalg.norm(factors.null(x - mean), axis=-1)
            value = fnp.where(size > 1e3 * float(np.finfo(aval_of(value).dtype).eps), -math.inf, value)
        return cast(value, dtype)

    pdf = exponential_of(logpdf, "The density at points [..., n].")

    @method
    def entropy(self, mean: ArrayLike | None = None, cov: Any = 1) -> Array:
        """The differential entropy."""
        _, _, cov, dtype = self._read(mean, cov)
        factors = factor(cov, False, self.name)
        return cast(0.5 * (factors.rank * (LOG_2PI + 1) + factors.log_det), dtype)

    @method
    def rvs(
        self, mean: ArrayLike | None = None, cov: Any = 1, size: Any = None, random_state: Any = None
    ) -> Array:
        """Draw vectors, differentiable in the parameters; `random_state` is a key, and the result has shape
        (*size, n). Without a key, or with a seed or a generator of NumPy's, they are SciPy's, outside of transforms."""
        return self._draw(fxrandom.multivariate_normal, size, random_state, mean, cov)


class MultivariateT(Elliptical):
    """Student's distribution of vectors: location `loc` [..., n], matrix `shape` [..., n, n], df degrees of freedom.

    Source: S. Kotz and S. Nadarajah, Multivariate t Distributions and Their Applications, 2004.

    >>> print(f"{fx.scipy.stats.multivariate_t.pdf([0.0, 0.0], shape=[1.0, 1.0], df=3.0):.6f}")
    0.159155
    """

    @method
    def logpdf(
        self,
        x: ArrayLike,
        loc: ArrayLike | None = None,
        shape: Any = 1,
        df: ArrayLike = 1,
        allow_singular: bool = False,
    ) -> Array:
        """The logarithm of the density at points [..., n]."""
        x, loc, shape, dtype = self._read(loc, shape, x)
        (df,), _ = as_floats([df], self.name)
        factors = factor(shape, bool(allow_singular), self.name)
        distance, n = factors.distance(x - loc), factors.rank
        normal = ops.isinf(df)
        df = fnp.where(normal, 1.0, df)
        heavy = special.gammaln(0.5 * (df + n)) - special.gammaln(0.5 * df) - 0.5 * n * ops.log(math.pi * df)
        heavy = heavy - 0.5 * (df + n) * ops.log1p(distance / df)
        value = ops.where(normal, -0.5 * (n * LOG_2PI + distance), heavy) - 0.5 * factors.log_det
        return cast(ops.where(ops.greater(df, 0), value, math.nan), dtype)

    pdf = exponential_of(logpdf, "The density at points [..., n].")


class Dirichlet(Multivariate):
    """The distribution of Dirichlet of shares x₁ … x_K, of density Π xᵢ^(αᵢ - 1)/B(α) where they are positive and their
    sum is 1.

    As in SciPy the shares are along the first axis of x, whose last may be left out; α has one axis. What are no shares
    have the density 0 (SciPy raises an error).

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, 2000, chapter 49.

    >>> print(fx.scipy.stats.dirichlet.pdf(np.array([0.5, 0.5]), np.array([2.0, 2.0])))
    1.5
    """

    def _read(self, alpha: Any, x: Any = None) -> tuple[Any, Array, np.dtype]:
        """Return the shares [..., K], α and the dtype of the result."""
        (alpha, *points), dtype = as_floats([alpha, *([] if x is None else [x])], self.name)
        if alpha.ndim != 1:
            raise ShapeError(
                f"{self.name}: alpha has one axis, not the shape {alpha.shape}",
                hint="fx.vmap over several alphas",
            )
        if not points:
            return None, alpha, dtype
        x = fnp.moveaxis(points[0], 0, -1) if points[0].ndim else points[0]
        if x.shape[-1:] == (alpha.shape[0] - 1,):
            x = fnp.concatenate([x, 1 - fnp.sum(x, axis=-1, keepdims=True)], axis=-1)
        if x.shape[-1:] != alpha.shape:
            raise ShapeError(
                f"{self.name}: the first axis of x has as many shares as alpha, {alpha.shape[0]}, or one less; "
                f"x has the shape {points[0].shape}",
                hint="x.T, where a row is a point",
            )
        return x, alpha, dtype

    @method
    def logpdf(self, x: ArrayLike, alpha: ArrayLike) -> Array:
        """The logarithm of the density at shares [K, ...] or [K - 1, ...]."""
        x, alpha, dtype = self._read(alpha, x)
        tolerance = 1e-9 if aval_of(x).dtype.itemsize > 4 else 1e-5
        outside = (fnp.min(x, axis=-1) < 0) | (fnp.abs(fnp.sum(x, axis=-1) - 1) > tolerance)
        inner = fnp.where(outside[..., None], 1 / alpha.shape[0], x)
        value = fnp.sum(special.xlogy(alpha - 1, inner), axis=-1) - self._log_norm(alpha)
        value = fnp.where(outside, -math.inf, value)
        return cast(fnp.where(fnp.all(alpha > 0), value, math.nan), dtype)

    def _log_norm(self, alpha: Any) -> Any:
        """The logarithm of Π Γ(αᵢ)/Γ(Σ αᵢ)."""
        return fnp.sum(special.gammaln(alpha)) - special.gammaln(fnp.sum(alpha))

    pdf = exponential_of(logpdf, "The density at shares [K, ...] or [K - 1, ...].")

    @method
    def mean(self, alpha: ArrayLike) -> Array:
        """The expected shares."""
        _, alpha, dtype = self._read(alpha)
        return cast(alpha / fnp.sum(alpha), dtype)

    @method
    def var(self, alpha: ArrayLike) -> Array:
        """The variance of each share."""
        _, alpha, dtype = self._read(alpha)
        total = fnp.sum(alpha)
        return cast(alpha * (total - alpha) / (total * total * (total + 1)), dtype)

    @method
    def cov(self, alpha: ArrayLike) -> Array:
        """The covariances of the shares."""
        _, alpha, dtype = self._read(alpha)
        total = fnp.sum(alpha)
        share = alpha / total
        return cast((fnp.diag(share) - share[:, None] * share) / (total + 1), dtype)

    @method
    def entropy(self, alpha: ArrayLike) -> Array:
        """The differential entropy."""
        _, alpha, dtype = self._read(alpha)
        total = fnp.sum(alpha)
        inner = (total - alpha.shape[0]) * special.digamma(total) - fnp.sum(
            (alpha - 1) * special.digamma(alpha)
        )
        return cast(self._log_norm(alpha) + inner, dtype)

    @method
    def rvs(self, alpha: ArrayLike, size: Any = None, random_state: Any = None) -> Array:
        """Draw shares, differentiable in α; `random_state` is a key, and the result has shape (*size, K). Without a
        key, or with a seed or a generator of NumPy's, they are SciPy's, outside of transforms."""
        return self._draw(fxrandom.dirichlet, size, random_state, alpha)


class Multinomial(Multivariate):
    """The multinomial distribution of how often each of K outcomes of probabilities p [..., K] is among n trials.

    Source: Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions, 1997, chapter 35.

    >>> print(f"{fx.scipy.stats.multinomial.pmf([1, 2], 3, [0.5, 0.5]):.6f}")
    0.375000
    """

    def _read(self, n: Any, p: Any, x: Any = None) -> tuple[Any, Array, Array, Array, np.dtype]:
        """Return counts, n, p, whether these are parameters, and the dtype of the result."""
        tolerance = 1e-9 if aval_of(as_value(p)).dtype.itemsize > 4 else 1e-5
        (n, p, *points), dtype = as_floats([n, p, *([] if x is None else [x])], self.name)
        valid = fnp.all(p >= 0, axis=-1) & (fnp.abs(fnp.sum(p, axis=-1) - 1) <= tolerance)
        return (points or [None])[0], n, p, valid & (n >= 0) & (n == fnp.floor(n)), dtype

    @method
    def logpmf(self, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
        """The logarithm of the probability of counts [..., K], -∞ where they are none or their sum is not n."""
        counts, n, p, valid, dtype = self._read(n, p, x)
        if counts.shape[-1:] != p.shape[-1:]:
            raise ShapeError(
                f"{self.name}: x and p have one entry for each outcome; their shapes are {counts.shape}, {p.shape}",
                hint=f"x of shape (…, {p.shape[-1]}): how often each outcome came",
            )
        outside = fnp.any((counts < 0) | (counts != fnp.floor(counts)), axis=-1) | (
            fnp.sum(counts, axis=-1) != n
        )
        inner = fnp.where(outside[..., None], 0.0, counts)
        terms = special.xlogy(inner, p) - special.gammaln(inner + 1)
        value = special.gammaln(n + 1) + fnp.sum(terms, axis=-1)
        return cast(fnp.where(valid, fnp.where(outside, -math.inf, value), math.nan), dtype)

    pmf = exponential_of(logpmf, "The probability of counts [..., K].")

    @method
    def cov(self, n: ArrayLike, p: ArrayLike) -> Array:
        """The covariances [..., K, K] of the counts."""
        _, n, p, valid, dtype = self._read(n, p)
        spread = p[..., None] * np.eye(p.shape[-1], dtype=aval_of(p).dtype) - p[..., None] * p[..., None, :]
        return cast(fnp.where(valid[..., None, None], n[..., None, None] * spread, math.nan), dtype)

    @method
    def entropy(self, n: ArrayLike, p: ArrayLike) -> Array:
        """The entropy, a sum over 1 … n for an n that is known."""
        _, n, p, valid, dtype = self._read(n, p)
        try:
            most = int(np.max(concretize(as_value(n), "multinomial.entropy"), initial=0))
        except ConcretizationError as error:
            raise ConcretizationError(error.args[0], hint="n is a constant") from None
        counts = np.arange(1, most + 1, dtype=aval_of(p).dtype).reshape(-1, *[1] * max(n.ndim + 1, p.ndim))
        expected = binom._mass(counts, (n[..., None], p)) * special.gammaln(counts + 1)
        value = (
            n * fnp.sum(special.entr(p), axis=-1) - special.gammaln(n + 1) + fnp.sum(expected, axis=(0, -1))
        )
        return cast(fnp.where(valid, value, math.nan), dtype)


class Wishart(Multivariate):
    """The distribution of Wishart of symmetric positive matrices, of density proportional to
    |x|^((df - n - 1)/2)·e^(-tr(scale⁻¹·x)/2).

    As in SciPy, points [n, n, ...] have their matrices along the first axes.

    Source: T. W. Anderson, An Introduction to Multivariate Statistical Analysis, 2003, chapter 7.

    >>> print(f"{fx.scipy.stats.wishart.logpdf(np.eye(2), 3.0, np.eye(2)):.6f}")
    -3.531024
    """

    @method
    def logpdf(self, x: ArrayLike, df: ArrayLike, scale: ArrayLike) -> Array:
        """The logarithm of the density at matrices [n, n, ...]."""
        (x, df, scale), dtype = as_floats([x, df, scale], self.name)
        scale = scale if scale.ndim == 2 else fnp.diag(fnp.atleast_1d(scale))
        n = scale.shape[-1]
        x = x if x.ndim >= 2 else fnp.reshape(x, (1, 1, *x.shape))
        if x.shape[:2] != (n, n) or scale.shape != (n, n):
            raise ShapeError(
                f"{self.name}: points [n, n, ...] and scale [n, n] are needed, not {x.shape} and {scale.shape}",
                hint="matrices along the first two axes: fnp.moveaxis(x, 0, -1) of a stack",
            )
        x = fnp.moveaxis(x, (0, 1), (-2, -1))
        log_x, log_scale = (fnp.linalg.slogdet(m)[1] for m in (x, scale))
        trace = fnp.trace(fnp.linalg.solve(scale, x), axis1=-2, axis2=-1)
        norm = 0.5 * df * (n * math.log(2) + log_scale) + special.multigammaln(0.5 * df, n)
        value = 0.5 * (df - n - 1) * log_x - 0.5 * trace - norm
        return cast(fnp.where(df > n - 1, value, math.nan), dtype)

    pdf = exponential_of(logpdf, "The density at matrices [n, n, ...].")

    @method
    def mean(self, df: ArrayLike, scale: ArrayLike) -> Array:
        """The expected matrix, df·scale."""
        (df, scale), dtype = as_floats([df, scale], self.name)
        return cast(df * scale, dtype)


multivariate_normal: MultivariateNormal = MultivariateNormal("multivariate_normal")
multivariate_t: MultivariateT = MultivariateT("multivariate_t")
dirichlet: Dirichlet = Dirichlet("dirichlet")
multinomial: Multinomial = Multinomial("multinomial")
wishart: Wishart = Wishart("wishart")
