"""Functions of whole rows (sums of exponentials, softmax), and SciPy's plain functions that are not ufuncs."""

from __future__ import annotations

import math
from typing import Literal, overload

from ... import nn
from ... import numpy as fnp
from ...extend import Array, ArrayLike, Axis, ops
from ...nn.activations import floating
from ...nn.rows import finite_max, log_normalized
from ...numpy.composite import normalize_axes, operand
from ..reference import scipy_function


@overload
def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False,
    return_sign: Literal[False] = False,
) -> Array: ...  # fmt: skip
@overload
def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False, *,
    return_sign: Literal[True],
) -> tuple[Array, Array]: ...  # fmt: skip
@scipy_function("special")
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Array | tuple[Array, Array]:
    """log Σ b·eᵃ along axes, without overflow; arguments and results as of `fxgrad.nn.logsumexp`.

    Source: P. Blanchard, D. J. Higham and N. J. Higham, "Accurately computing the log-sum-exp and softmax functions",
    2021.

    >>> print(fx.scipy.special.logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    if return_sign:
        return nn.logsumexp(a, axis, b=b, keepdims=keepdims, return_sign=True)
    return nn.logsumexp(a, axis, b=b, keepdims=keepdims)


@scipy_function("special")
def softmax(x: ArrayLike, axis: Axis = None) -> Array:
    """eˣ divided by its sum along axes; None stands for all.

    Source: P. Blanchard, D. J. Higham and N. J. Higham, "Accurately computing the log-sum-exp and softmax functions",
    2021.

    >>> print(fx.scipy.special.softmax([0.0, 0.0]))
    [0.5 0.5]
    """
    return nn.softmax(x, axis)


@scipy_function("special")
def log_softmax(x: ArrayLike, axis: Axis = None) -> Array:
    """The logarithm of `softmax`, without cancellation; beside an entry that is ∞ it is -∞.

    Source: P. Blanchard, D. J. Higham and N. J. Higham, "Accurately computing the log-sum-exp and softmax functions",
    2021.

    >>> print(fx.scipy.special.log_softmax([0.0, 1000.0]))
    [-1000.     0.]
    """
    x = floating(x)
    axes = normalize_axes(axis, x.ndim)
    return log_normalized(x - finite_max(x, axes), axes)


@scipy_function("special")
def softplus(x: ArrayLike) -> Array:
    """log(1 + eˣ), without overflow.

    >>> print(fx.scipy.special.softplus(1000.0))
    1000.0
    """
    return nn.softplus(x)


@scipy_function("special")
def sinc(x: ArrayLike) -> Array:
    """sin(πx)/(πx), with 1 at 0: see `fxgrad.numpy.sinc`.

    >>> fx.scipy.special.sinc(0.5).round(6)
    np.float64(0.63662)
    """
    return fnp.sinc(x)


@scipy_function("special")
def diric(x: ArrayLike, n: ArrayLike) -> Array:
    """Dirichlet's function sin(n·x/2)/(n·sin(x/2)), with its limits ±1 at multiples of 2π.

    Args:
        x: real numbers.
        n: positive whole numbers; NaN elsewhere.

    Returns:
        Array of the common shape.

    >>> print(fx.scipy.special.diric(0.0, 3))
    1.0
    """
    x, n = operand(x), operand(n)
    # sin(nu)/sin(u) is a sum of cosines, and the quotient loses no digits but where sin(u) is nearly 0.
    turns = ops.rint(x / (2 * math.pi))
    u = 0.5 * (x - 2 * math.pi * turns)
    odd = ops.equal(ops.remainder(turns * (n - 1), 2), 1)
    near = ops.less(ops.absolute(u * n), 1e-3)
    squared = u * u
    series = 1 - (n * n - 1) * squared / 6 + (3 * n**4 - 10 * n * n + 7) * squared * squared / 360
    away = ops.where(near, 1.0, u)
    value = ops.where(near, series, ops.sin(n * away) / (n * ops.sin(away)))
    known = ops.logical_and(ops.greater(n, 0), ops.equal(n, ops.floor(n)))
    return ops.where(known, ops.where(odd, -value, value), math.nan)


__all__ = ["diric", "log_softmax", "logsumexp", "sinc", "softmax", "softplus"]
