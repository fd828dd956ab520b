"""The gamma distribution and distributions derived from it, differentiable in all parameters: samples move so that
their distribution function stays constant (implicit reparameterization), to any order.

Sums and quotients of gamma variables are computed from their logarithms, which do not underflow for small parameters.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.aval import aval_of
from ..core.errors import ShapeError
from ..core.shapes import as_shape
from ..core.typing import Array, ArrayLike, DType, Key, Shape
from ..numpy.composite import cast
from .continuous import positive_or_nan
from .keys import check_one_key, split
from .laws import CONTINUOUS_1, CONTINUOUS_2, Gamma, StudentT, chapter
from .parameters import (
    as_real_parameter,
    broadcast_if_needed,
    common_shape,
    floating_dtype,
    sampler,
    standard_exponential,
    standard_normal,
    uniform_fraction,
)


def draw_log_gammas(key: Any, a: Any, shape: tuple[int, ...]) -> Any:
    """Draw the logarithms of gamma variables in float64."""
    return ops.random_log_gamma(key, broadcast_if_needed(a, shape))


@sampler(Gamma, a="the shape parameter of the gamma distribution, positive")
def loggamma(key: Key, a: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """The logarithms of gamma variables. For small `a` the variables themselves underflow.

    Args, results and derivatives as for `gamma`.

    >>> print(round(float(fx.random.loggamma(fx.random.key(0), 1e-4)), 6))
    -21175.707534
    """
    return draw_log_gammas(key, a, shape)


@sampler(Gamma, a="the shape parameter: positive; 0 gives 0, negative numbers give NaN")
def gamma(key: Key, a: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Gamma variables, of density x^(a−1)·e⁻ˣ/Γ(a).

    The derivative in `a` is −(∂F/∂a)/(∂F/∂x) for the distribution function F, exact to about 1e-12, of any order:
    Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients" (2018).

    >>> key = fx.random.key(0)
    >>> x, slope = fx.value_and_grad(lambda a: fx.random.gamma(key, a))(2.5)
    >>> print(round(float(x), 8), round(float(slope), 8))
    0.2479775 0.26851902
    """
    return ops.exp(draw_log_gammas(key, a, shape))


@sampler(chapter(CONTINUOUS_1, 18), df="degrees of freedom, positive")
def chisquare(key: Key, df: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """χ² numbers of `df` degrees of freedom.

    >>> fx.random.chisquare(fx.random.key(0), 3.0, (3,)).round(3)
    array([0.062, 2.346, 1.175])
    """
    return 2 * ops.exp(draw_log_gammas(key, ops.divide(df, 2), shape))


@sampler(chapter(CONTINUOUS_2, 25), a="the exponent of x and 1, positive", b="that of 1 − x and 1")
def beta(key: Key, a: ArrayLike, b: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Beta numbers, of density ∝ x^(a−1)·(1 − x)^(b−1).

    >>> x = fx.random.beta(fx.random.key(0), 0.5, 2.0, (100,))
    >>> bool((x > 0).all() and (x < 1).all())
    True
    """
    first, second = split(key)
    difference = draw_log_gammas(second, b, shape) - draw_log_gammas(first, a, shape)
    return ops.exp(-ops.logaddexp(0.0, difference))


def dirichlet(key: Key, alpha: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Dirichlet vectors: positive numbers of sum 1, of density ∝ Π xᵢ^(αᵢ−1).

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, 2000, chapter 49.

    Args:
        key: a key.
        alpha: the parameters along the last axis.
        shape: the shape of the result without its last axis; alpha.shape[:-1] broadcasts to it.
        dtype: a real floating dtype.

    Returns:
        Array of shape (*shape, alpha.shape[-1]).

    Raises:
        ShapeError: `alpha` has no axes.

    >>> x = fx.random.dirichlet(fx.random.key(0), np.ones(3), (2,))
    >>> x.shape, bool(np.allclose(x.sum(axis=-1), 1))
    ((2, 3), True)
    """
    dtype, alpha = floating_dtype(dtype, "dirichlet"), as_real_parameter(alpha, "dirichlet")
    sizes = aval_of(alpha).shape
    if not sizes:
        raise ShapeError(
            "dirichlet: alpha has at least one axis",
            hint="alpha[None]; of one share there is nothing to draw",
        )
    shape = (*common_shape(shape, "dirichlet", sizes[:-1]), sizes[-1])
    logs = draw_log_gammas(check_one_key(key, "dirichlet"), alpha, shape)
    if not sizes[-1]:
        return cast(logs, dtype)
    last = (len(shape) - 1,)
    x = ops.exp(logs - ops.stop_gradient(ops.restore_axes(ops.reduce_max(logs, axes=last), shape, last)))
    return cast(x / ops.restore_axes(ops.reduce_sum(x, axes=last), shape, last), dtype)


@sampler(StudentT, df="degrees of freedom, positive")
def t(key: Key, df: ArrayLike, shape: Shape = (), dtype: DType = None) -> Array:
    """Numbers of Student's t distribution with `df` degrees of freedom.

    >>> fx.random.t(fx.random.key(0), 3.0, (3,)).round(3)
    array([-1.639,  0.524, -2.209])
    """
    first, second = split(key)
    half = ops.divide(df, 2)
    scale = ops.exp(0.5 * (ops.log(positive_or_nan(half)) - draw_log_gammas(second, half, shape)))
    return standard_normal(first, shape) * scale


@sampler(
    chapter(CONTINUOUS_2, 27),
    dfnum="degrees of freedom of the numerator, positive",
    dfden="of the denominator",
)
def f(key: Key, dfnum: ArrayLike, dfden: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Numbers of the F distribution: a quotient of χ² numbers, each over its degrees of freedom.

    >>> fx.random.f(fx.random.key(0), 3.0, 5.0, (3,)).round(3)
    array([0.175, 2.825, 2.106])
    """
    first, second = split(key)
    halves = ops.divide(dfnum, 2), ops.divide(dfden, 2)
    difference = draw_log_gammas(first, halves[0], shape) - draw_log_gammas(second, halves[1], shape)
    return ops.exp(difference) * ops.divide(dfden, positive_or_nan(dfnum))


@sampler(chapter(CONTINUOUS_2, 24), p="the exponent, positive")
def generalized_normal(key: Key, p: ArrayLike, shape: Shape = (), dtype: DType = None) -> Array:
    """Numbers of density ∝ exp(−|x|ᵖ).

    >>> fx.random.generalized_normal(fx.random.key(0), 4.0, (3,)).round(3)
    array([-0.012,  0.225,  1.087])
    """
    first, second = split(key)
    inverse = 1 / positive_or_nan(p)
    size = ops.exp(draw_log_gammas(first, inverse, shape) * inverse)
    return ops.where(ops.less(uniform_fraction(second, shape), 0.5), -size, size)


def ball(key: Key, d: int, p: ArrayLike = 2, shape: Shape = (), dtype: DType = None) -> Array:
    """Points uniformly distributed in the unit ball of the p-norm in d dimensions.

    Args:
        key: a key.
        d: the dimension.
        p: the norm, ≥ 1.
        shape: the shape of the result without its last axis.
        dtype: a real floating dtype.

    Returns:
        Array of shape (*shape, d).

    Barthe, Guédon, Mendelson and Naor, "A probabilistic approach to the geometry of the ℓₚⁿ-ball" (2005).

    >>> x = fx.random.ball(fx.random.key(0), 3, shape=(100,))
    >>> bool((np.linalg.norm(x, axis=-1) <= 1).all())
    True
    """
    dtype, (d,) = floating_dtype(dtype, "ball"), as_shape((d,), "ball: d")
    first, second = split(check_one_key(key, "ball"))
    shape = as_shape(shape, "ball")
    p = as_real_parameter(p, "ball")
    x = generalized_normal(first, p, (*shape, d))
    powers = ops.reduce_sum(ops.power(ops.absolute(x), p), axes=(len(shape),))
    radius = ops.power(powers + standard_exponential(second, shape), 1 / p)
    return cast(x / ops.reshape(radius, shape=(*shape, 1)), dtype)


__all__ = [
    "ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t",
]  # fmt: skip
