"""Activations: functions of each entry.

At a kink `relu`, `relu6` and `hard_sigmoid` have derivative 0, that of the constant side, and `hard_tanh` has
derivative 1, as in JAX; integers become floating-point numbers.
"""

from __future__ import annotations

import math
from typing import Any

from .. import numpy as fnp
from .. import ops
from ..core.arrays import as_value
from ..core.aval import is_differentiable
from ..core.errors import ShapeError
from ..core.typing import Array, ArrayLike
from ..numpy.composite import cast, composite, dtype_of, normalize_axis, operand

tanh = fnp.tanh


def floating(x: ArrayLike) -> Array:
    """Return an argument as a floating-point (or complex) array or number."""
    x = operand(x)
    return x if is_differentiable(dtype_of(x)) else cast(x, float)


@composite()
def identity(x: ArrayLike) -> Array:
    """The argument itself, as an array.

    >>> fx.nn.identity(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-2.,  0.,  2.])
    """
    return operand(x)


@composite()
def relu(x: ArrayLike) -> Array:
    """max(x, 0), with derivative 0 at 0 (Bertoin et al., "Numerical influence of ReLU'(0) on backpropagation", 2021).

    >>> fx.vmap(fx.grad(fx.nn.relu))(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 1.])
    """
    return ops.relu(operand(x))


@composite()
def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6).

    >>> fx.nn.relu6(np.array([-2.0, 0.0, 8.0])).round(3)
    array([0., 0., 6.])
    """
    x = operand(x)
    return ops.where(ops.greater_equal(x, 6), cast(6.0, dtype_of(x)), ops.relu(x))


@composite()
def sigmoid(x: ArrayLike) -> Array:
    """1/(1 + e⁻ˣ), exact in both tails.

    >>> float(fx.nn.sigmoid(0.0)), float(fx.grad(fx.nn.sigmoid)(0.0))
    (0.5, 0.25)
    """
    return ops.sigmoid(floating(x))


@composite()
def log_sigmoid(x: ArrayLike) -> Array:
    """The logarithm of `sigmoid`, -log(1 + e⁻ˣ).

    >>> fx.nn.log_sigmoid(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-2.127, -0.693, -0.127])
    """
    return -ops.softplus(-floating(x))


@composite()
def softplus(x: ArrayLike) -> Array:
    """log(1 + eˣ).

    >>> fx.nn.softplus(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0.127, 0.693, 2.127])
    """
    return ops.softplus(floating(x))


@composite()
def sparse_plus(x: ArrayLike) -> Array:
    """0 for x ≤ -1, x for x ≥ 1, and (x + 1)²/4 between: softplus that is 0 and the identity outside.

    >>> fx.nn.sparse_plus(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.  ,  0.25,  2.  ])
    """
    x = floating(x)
    inside = 0.25 * ops.square(x + 1)
    return ops.where(ops.less_equal(x, -1), 0 * x, ops.where(ops.greater_equal(x, 1), x, inside))


@composite()
def sparse_sigmoid(x: ArrayLike) -> Array:
    """(x + 1)/2, between 0 and 1: the derivative of `sparse_plus`.

    >>> fx.nn.sparse_sigmoid(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0. , 0.5, 1. ])
    """
    return fnp.clip(0.5 * (floating(x) + 1), 0, 1)


@composite()
def soft_sign(x: ArrayLike) -> Array:
    """x/(1 + |x|).

    >>> fx.nn.soft_sign(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.667,  0.   ,  0.667])
    """
    x = floating(x)
    return x / (1 + ops.absolute(x))


@composite()
def silu(x: ArrayLike) -> Array:
    """x·sigmoid(x), also called swish (Ramachandran, Zoph and Le, "Searching for activation functions", 2017).

    >>> fx.nn.silu(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.238,  0.   ,  1.762])
    """
    return ops.silu(floating(x))


swish = silu


@composite()
def mish(x: ArrayLike) -> Array:
    """x·tanh(softplus(x)) (Misra, "Mish: a self regularized non-monotonic activation function", 2019).

    >>> fx.nn.mish(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.253,  0.   ,  1.944])
    """
    x = floating(x)
    return x * ops.tanh(ops.softplus(x))


@composite()
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + √(x² + b))/2, by b/(2·(√(x² + b) - x)) where x is negative and that would cancel (Barron, "Squareplus: a
    softplus-like algebraic rectifier", 2021).

    Args:
        x: an array.
        b: how round the corner is: the square of twice the value at 0.

    >>> fx.nn.squareplus(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0.414, 1.   , 2.414])
    """
    x, b = floating(x), as_value(b)
    root, negative = ops.sqrt(ops.square(x) + b), ops.less(x, 0)
    distance = root - ops.where(negative, x, -ops.absolute(x))
    return ops.where(negative, 0.5 * b / distance, 0.5 * (x + root))


@composite()
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """x where it is not negative, and negative_slope·x elsewhere.

    Args:
        x: an array.
        negative_slope: the slope where x is negative.

    >>> fx.nn.leaky_relu(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.02,  0.  ,  2.  ])
    """
    x = floating(x)
    return ops.where(ops.greater_equal(x, 0), x, negative_slope * x)


@composite()
def hard_tanh(x: ArrayLike) -> Array:
    """x limited to the interval from -1 to 1.

    >>> fx.nn.hard_tanh(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-1.,  0.,  1.])
    """
    x = operand(x)
    one = cast(1.0, dtype_of(x))
    return ops.where(ops.greater(x, 1), one, ops.where(ops.less(x, -1), -one, x))


@composite()
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3)/6.

    >>> fx.nn.hard_sigmoid(np.array([-2.0, 0.0, 8.0])).round(3)
    array([0.167, 0.5  , 1.   ])
    """
    return relu6(floating(x) + 3) / 6


@composite()
def hard_silu(x: ArrayLike) -> Array:
    """x·hard_sigmoid(x) (Howard et al., "Searching for MobileNetV3", 2019).

    >>> fx.nn.hard_silu(np.array([-2.0, 0.0, 8.0])).round(3)
    array([-0.333,  0.   ,  8.   ])
    """
    x = floating(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def exponential_unit(x: Any, alpha: Any, width: Any) -> Any:
    """x where that is positive, and alpha·(e^(x/width) - 1) elsewhere."""
    positive = ops.greater(x, 0)
    return ops.where(positive, x, alpha * ops.expm1(ops.where(positive, 0.0, x) / width))


@composite()
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where it is positive, and alpha·(eˣ - 1) elsewhere.

    Args:
        x: an array.
        alpha: minus the limit at -∞.

    >>> fx.nn.elu(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.865,  0.   ,  2.   ])
    """
    return exponential_unit(floating(x), alpha, 1)


@composite()
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where it is positive, and alpha·(e^(x/alpha) - 1) elsewhere, with a continuous derivative (Barron,
    "Continuously differentiable exponential linear units", 2017).

    Args:
        x: an array.
        alpha: minus the limit at -∞.

    >>> fx.nn.celu(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-0.865,  0.   ,  2.   ])
    """
    return exponential_unit(floating(x), alpha, alpha)


@composite()
def selu(x: ArrayLike) -> Array:
    """λ·elu(x, α), which preserves mean 0 and variance 1 (Klambauer et al., "Self-normalizing neural networks", 2017).

    >>> fx.nn.selu(np.array([-2.0, 0.0, 2.0])).round(3)
    array([-1.52 ,  0.   ,  2.101])
    """
    return 1.0507009873554804934193349852946 * exponential_unit(
        floating(x), 1.6732632423543772848170429916717, 1
    )


@composite()
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x·Φ(x), where Φ is the normal distribution function (Hendrycks and Gimpel, "Gaussian error linear units", 2016).

    Args:
        x: an array.
        approximate: compute ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) instead.

    >>> print(f"{fx.nn.gelu(1.0, approximate=False):.6f} {fx.nn.gelu(1.0):.6f}")
    0.841345 0.841192
    """
    x = floating(x)
    if not approximate:
        return x * ops.normal_cdf(x)
    return x * ops.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x * ops.square(x)))


@composite()
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis times the sigmoid of the second (Dauphin et al., "Language modeling with gated
    convolutional networks", 2017).

    Args:
        x: an array.
        axis: the axis that is halved.

    Raises:
        ShapeError: the axis has an odd size. It is a ValueError.

    >>> fx.nn.glu(np.array([1.0, 2.0, 0.0, 0.0]))
    array([0.5, 1. ])
    """
    x = floating(x)
    if x.shape[normalize_axis(axis, x.ndim)] % 2:
        raise ShapeError(
            f"glu: axis {axis} of shape {x.shape} has an odd size",
            hint="an even size: the second half gates the first",
        )
    first, second = fnp.split(x, 2, axis)
    return first * ops.sigmoid(second)


@composite()
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - e⁻ˣ) for x ≥ 0, by the form that keeps its digits on either side of log 2 (Mächler, "Accurately computing
    log(1 - exp(-|a|))", 2012).

    >>> fx.nn.log1mexp(np.array([1e-20, 1.0, 50.0])).round(3)
    array([-46.052,  -0.459,  -0.   ])
    """
    x = floating(x)
    small = ops.less(x, math.log(2))
    near = ops.log(-ops.expm1(-ops.where(small, x, 1.0)))
    return ops.where(small, near, ops.log1p(-ops.exp(-ops.where(small, 1.0, x))))


__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu",
    "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus",
    "sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh",
]  # fmt: skip
