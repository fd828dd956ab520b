"""Functions of whole rows: softmax, sums of exponentials along axes, and others."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.typing import Array, ArrayLike, Axis, DType
from ..numpy.composite import cast, composite, kind, normalize_axes, normalize_axis, operand
from .activations import floating


def kept_sum(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum along axes, which stay with length one."""
    return ops.restore_axes(ops.reduce_sum(x, axes=axes), x.shape, axes)


def kept_max(x: Any, axes: tuple[int, ...]) -> Any:
    """The greatest entry along axes, which stay, as a constant; 0 where there is none."""
    if not all(x.shape[axis] for axis in axes):
        return 0.0
    return ops.restore_axes(ops.reduce_max(ops.stop_gradient(x), axes=axes), x.shape, axes)


def finite_max(x: Any, axes: tuple[int, ...]) -> Any:
    """The greatest entry along axes, as `kept_max` gives it; 0 where it is infinite, so that it can be added again."""
    greatest = kept_max(x, axes)
    return ops.where(ops.isfinite(greatest), greatest, 0.0)


def leave_out(x: Any, where: Any) -> Array:
    """Return logits with -∞ where a mask does not hold, which has no exponential."""
    return x if where is None else ops.where(where, x, -math.inf)


@overload
def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False,
    return_sign: Literal[False] = False, where: ArrayLike | None = None,
) -> Array: ...  # fmt: skip
@overload
def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False, *,
    return_sign: Literal[True], where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...  # fmt: skip
@composite()
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """log Σ b·eᵃ along axes, without overflow.

    Args:
        a: exponents.
        axis: an axis, several, or None for all.
        b: factors that broadcast against `a`; 0 leaves an entry out.
        keepdims: keep the axes with length one.
        return_sign: return (log |Σ|, the sign of Σ), and allow negative sums.
        where: the entries that take part.

    Returns:
        Array without the axes; -∞ for an empty sum, NaN for a negative one unless `return_sign`.

    >>> print(fx.nn.logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    a = leave_out(floating(a), where)
    if b is not None:
        a, b = fnp.broadcast_arrays(a, floating(b))
        a = leave_out(a, ops.not_equal(b, 0))
    axes = normalize_axes(axis, a.ndim)
    greatest = finite_max(ops.real(a) if kind(a) == "c" else a, axes)
    weights = ops.exp(a - greatest)
    total = ops.reduce_sum(weights if b is None else b * weights, axes=axes)
    shift = ops.reshape(greatest, shape=total.shape) if axes and not isinstance(greatest, float) else greatest
    sign = fnp.sign(total)
    with np.errstate(all="ignore"):  # the logarithm of an empty sum is -∞
        result = (ops.log(ops.absolute(total)) if return_sign else ops.log(total)) + shift
    if b is None:  # in an empty sum no entry has a weight, so its derivatives are 0, not 0·∞
        result = ops.where(ops.equal(total, 0), -math.inf, result)
    if keepdims:
        result, sign = (ops.restore_axes(y, a.shape, axes) for y in (result, sign))
    return (result, sign) if return_sign else result


@composite()
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """The logarithm of the mean of exponentials along axes; arguments as of `logsumexp`.

    >>> fx.nn.logmeanexp(np.array([0.0, np.log(3.0)])).round(4)
    np.float64(0.6931)
    """
    x = floating(x)
    taken = np.broadcast_to(True, x.shape) if where is None else fnp.broadcast_to(where, x.shape)
    count = fnp.sum(taken, axis, keepdims=keepdims)
    return logsumexp(x, axis, where=where, keepdims=keepdims) - ops.log(cast(count, x.dtype))


@composite()
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """eˣ/Σ eˣ along axes: positive numbers with sum 1, and 0 where a mask is False. If an entry is ∞, or all are -∞,
    the results are NaN.

    Args:
        x: logits.
        axis: an axis, several, or None for all.
        where: the entries that take part.

    >>> fx.nn.softmax([0.0, 0.0]), fx.nn.softmax([0.0, 9.0], where=[True, False])
    (array([0.5, 0.5]), array([1., 0.]))
    """
    x = leave_out(floating(x), where)
    axes = normalize_axes(axis, x.ndim)
    weights = ops.exp(x - kept_max(x, axes))
    return weights / kept_sum(weights, axes)


@composite()
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of `softmax`, x - logsumexp(x); -∞ where a mask does not hold. Arguments and NaNs as of `softmax`.

    >>> fx.nn.log_softmax([1000.0, 0.0])
    array([    0., -1000.])
    """
    x = leave_out(floating(x), where)
    axes = normalize_axes(axis, x.ndim)
    return log_normalized(x - kept_max(x, axes), axes)


def log_normalized(x: Any, axes: tuple[int, ...]) -> Any:
    """Return x - log Σ eˣ along axes, of numbers that are shifted so that the exponentials do not overflow."""
    return x - ops.log(kept_sum(ops.exp(x), axes))


@composite()
def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
) -> Array:
    """(x - mean)/√(variance + epsilon), with those along axes unless they are given.

    Args:
        x: an array.
        axis: the axes, the last by default.
        mean, variance: None computes them.
        epsilon: added to the variance.
        where: a mask of the entries of which mean and variance are computed.

    >>> fx.nn.standardize([1.0, 3.0], epsilon=0.0)
    array([-1.,  1.])
    """
    x = floating(x)
    mask = True if where is None else where
    mean = fnp.mean(x, axis, keepdims=True, where=mask) if mean is None else as_value(mean)
    if variance is None:
        variance = fnp.mean(ops.square(ops.absolute(x - mean)), axis, keepdims=True, where=mask)
    squared = as_value(variance)
    if aval_of(squared).weak:
        squared = ops.convert(squared, dtype=x.dtype)
    return (x - mean) / ops.sqrt(ops.add(squared, epsilon))


@composite()
def one_hot(x: ArrayLike, num_classes: int, *, dtype: DType = None, axis: int = -1) -> Array:
    """1 at the class that an integer names, 0 at all others; all zeros if there is no such class.

    Args:
        x: integers; they may be traced.
        num_classes: the number of classes.
        dtype: of the result, float64 by default.
        axis: the place of the new axis.

    Returns:
        Array with one axis more, of size num_classes.

    >>> fx.nn.one_hot([0, 2], 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    x = operand(x)
    place = normalize_axis(axis, x.ndim + 1)
    classes = np.arange(num_classes).reshape((1,) * place + (num_classes,) + (1,) * (x.ndim - place))
    return cast(ops.equal(fnp.expand_dims(x, place), classes), np.dtype(dtype or float))


__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]
