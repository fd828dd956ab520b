"""Activation functions, entry by entry. At kinks they have torch's derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from types import FunctionType
from typing import Any

import numpy as np

from ....extend import Elementwise, blockwise_kernel, normal_cdf_kernel, ops
from ..._core.dtypes import short_name
from ..._core.precision import value_dtype
from ..._core.primitives import declare_primitive
from ..._declare.entry import inplace_method, without_out
from ..._declare.operation import operation
from ..._declare.out import with_out
from ..._declare.signatures import DerivedSignature
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, TensorError
from ..arguments import normalize_dim
from ..declarers import kind, number_like
from ..pointwise import sigmoid, tanh


def activation(elsewhere: str = "", in_place: str = "", **options) -> Callable[[Any], Any]:
    """Declare an elementwise function of nn.functional, where it takes `inplace=`.

    Args:
        elsewhere: the other spaces that have it.
        in_place: the spaces that have its version in place, `name_`.
        options: see `operation`.
    """

    def decorate(function: FunctionType) -> Any:
        made = operation("input", spaces=elsewhere, **{"out": False, **options})(function)
        modifying = inplace_method(made)
        expose(in_place, function.__name__ + "_")(modifying)
        expose("nn.functional")(with_inplace_option(function, made, modifying))
        return made

    return decorate


INPLACE = Parameter("inplace", Parameter.POSITIONAL_OR_KEYWORD, default=False)


def with_inplace_option(
    function: FunctionType, pure: Callable[..., Any], in_place: Callable[..., Any]
) -> Callable[..., Any]:
    """Add a last parameter `inplace` to a function."""
    count = function.__code__.co_argcount

    @wraps(function)
    def dispatch(*args, inplace: bool = False, **kwargs) -> Any:
        if len(args) > count:
            inplace, args = args[count], args[:count]
        return (in_place if inplace else pure)(*args, **kwargs)

    dispatch.__signature__ = DerivedSignature(function, lambda given: [*given, INPLACE])  # type: ignore[attr-defined]
    return dispatch


def hard_clip(x, low, high) -> Any:
    """Limit x to [low, high], with derivative 0 at the limits; limits that are NaN give NaN."""
    low, high = number_like(low, x), number_like(high, x)
    if low != low or high != high:
        return x + math.nan
    x = ops.where(ops.less_equal(x, low), low, x)
    return ops.where(ops.greater_equal(x, high), high, x)


# -- piecewise linear ------------------------------------------
@activation("function method", "function method nn.functional", primitive=ops.relu, complex=False)
def relu(input) -> Any:
    """The rectified linear unit max(x, 0)."""
    return ops.relu(input)


@activation(node="HardtanhBackward0")
def relu6(input) -> Any:
    """The rectified linear unit up to 6: x limited to [0, 6]."""
    return hard_clip(input, 0, 6)


@activation("", "nn.functional", in_range="min_val max_val")
def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """The piecewise linear tanh: x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ArgumentValueError(
            "min_val cannot be greater than max_val", hint=f"min_val={max_val}, max_val={min_val}"
        )
    if kind(input) == "u" and min(min_val, max_val) < 0:
        raise TensorError(
            "cannot do hardtanh on an unsigned type with negative limits", hint="x.int(), or min_val=0"
        )
    return hard_clip(input, min_val, max_val)


@activation("", "nn.functional")
def leaky_relu(input, negative_slope: float = 0.01) -> Any:
    """The leaky rectified linear unit: x where it is positive, and slope·x elsewhere."""
    return ops.where(ops.greater(input, 0), input, input * number_like(negative_slope, input))


@activation("function", "function nn.functional", in_range="value", out=True)
def threshold(input, threshold: float, value: float) -> Any:
    """The entries above a threshold: x, or the value where x is not above the threshold."""
    low, other = number_like(threshold, input), number_like(value, input)
    return ops.where(ops.less_equal(input, low), other, input)


@activation()
def hardsigmoid(input) -> Any:
    """The piecewise linear sigmoid: x/6 + ½ limited to [0, 1]."""
    return hard_clip(input + 3, 0, 6) / 6


@activation()
def hardswish(input) -> Any:
    """The product x times the hard sigmoid of x."""
    inner = input * (input + 3) / 6
    return ops.where(
        ops.less_equal(input, -3), input * 0, ops.where(ops.greater_equal(input, 3), input, inner)
    )


@operation("input", in_range="lambd", spaces="function method nn.functional")
def hardshrink(input, lambd: float = 0.5) -> Any:
    """The hard shrinkage: x where |x| > lambd, and 0 elsewhere."""
    lambd = number_like(lambd, input)
    inside = ops.logical_and(ops.less_equal(input, lambd), ops.greater_equal(input, -lambd))
    return ops.where(inside, 0, input)


@operation("input", in_range="lambd", spaces="nn.functional")
def softshrink(input, lambd: float = 0.5) -> Any:
    """The soft shrinkage: x moved towards 0 by lambd, as far as 0."""
    lambd, greatest = number_like(lambd, input), np.finfo(value_dtype(input)).max
    if not 0 <= lambd <= greatest:
        raise TensorError(
            f"lambda must be in range [0, {greatest:g}] for input dtype {short_name(value_dtype(input))}, but found "
            f"{lambd:g}",
            hint=f"lambd={-lambd:g}" if lambd < 0 else f"lambd={greatest:g}, or x.to(torch.float64)",
        )
    above, below = ops.greater(input, lambd), ops.less(input, -lambd)
    return ops.where(above, input - lambd, ops.where(below, input + lambd, input * 0))


@operation("input weight", spaces="function method nn.functional", out=False, node="PreluKernelBackward0")
def prelu(input, weight) -> Any:
    """The parametric rectified linear unit: x where it is positive, and weight·x elsewhere, with one weight or one for
    each channel (dimension 1)."""
    if weight.ndim == 1 and weight.shape[0] != 1 and input.ndim > 1:
        weight = ops.reshape(weight, shape=(weight.shape[0], *(1,) * (input.ndim - 2)))
    if weight.ndim and not input.ndim:
        weight = ops.reshape(weight, shape=())
    return ops.where(ops.greater(input, 0), input, weight * input)


# -- exponential ------------------------------------------
def scaled_elu(x, scale, alpha, rate: float = 1) -> Any:
    """scale·x where x is positive, and scale·alpha·(e^(rate·x) − 1) elsewhere. The slope at 0 is that from below, the
    second derivative there 0."""
    below = ops.where(ops.greater_equal(x, 0), 0, x * rate)
    negative = ops.where(ops.equal(x, 0), x * rate, ops.expm1(below)) * (alpha * scale)
    return ops.where(ops.greater(x, 0), x * scale, negative)


@activation("", "nn.functional")
def elu(input, alpha: float = 1.0) -> Any:
    """The exponential linear unit: x where it is positive, and alpha·(eˣ − 1) elsewhere."""
    return scaled_elu(input, 1, number_like(alpha, input))


SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


@activation("function", "function nn.functional", node="EluBackward0")
def selu(input) -> Any:
    """The scaled exponential linear unit: elu with the scale and alpha that keep mean 0 and variance 1."""
    return scaled_elu(input, SELU_SCALE, SELU_ALPHA)


@activation("function", "function nn.functional")
def celu(input, alpha: float = 1.0) -> Any:
    """The continuously differentiable exponential linear unit: x where it is positive, and alpha·(e^(x/alpha) − 1)
    elsewhere."""
    alpha = number_like(alpha, input)
    if alpha == 0:
        raise TensorError(
            "ZeroDivisionError: alpha cannot be 0 for CELU",
            hint="torch.nn.functional.relu(x), which alpha=0 would be",
        )
    return scaled_elu(input, 1, alpha, 1 / alpha)


def scale_for_softplus(x, params: dict[str, Any]) -> tuple[Any, Any]:
    """Return beta·x, and whether it is above the threshold."""
    beta, threshold = (number_like(params[name], x) for name in ("beta", "threshold"))
    scaled = x if beta == 1 else x * beta
    return scaled, ops.greater(scaled, threshold)


def softplus_tangent(y, primals, tangents, params: dict) -> Any:
    """The logistic function of beta·x, or 1."""
    scaled, is_large = scale_for_softplus(primals[0], params)
    return tangents[0] * ops.where(is_large, 1, ops.sigmoid(scaled))


@operation("input", spaces="nn.functional", tangent=softplus_tangent)
def softplus(input, beta: float = 1, threshold: float = 20) -> Any:
    """The smoothed rectified linear unit: log(1 + e^(beta·x))/beta, or x itself where beta·x is above the
    threshold."""
    scaled, is_large = scale_for_softplus(input, {"beta": beta, "threshold": threshold})
    smooth = ops.softplus(scaled)
    return ops.where(is_large, input, smooth if scaled is input else smooth / number_like(beta, input))


@operation("input", spaces="nn.functional", node="LogSigmoidBackward0")
def logsigmoid(input) -> Any:
    """The logarithm of the logistic function: log(1/(1 + e⁻ˣ)), without overflow or lost digits."""
    return ops.negative(ops.softplus(ops.negative(input)))


@activation()
def silu(input) -> Any:
    """The activation x·sigmoid(x)."""
    return ops.silu(input)


@activation()
def mish(input) -> Any:
    """The activation x·tanh(softplus(x))."""
    return input * ops.tanh(ops.softplus(input))


DENSITY = 1 / math.sqrt(2 * math.pi)


# The density of the normal law, and its distribution function: in single precision as fast as that allows.
normal_density = declare_primitive(
    Elementwise,
    "normal_density",
    blockwise_kernel("normal_density", lambda xp, x: xp.exp(xp.square(x) * -0.5) * DENSITY),
    (lambda t, y, x: ops.negative(t * (x * y)),),
)
normal_density.primitive.formula = lambda x: [ops.exp(ops.square(x) * -0.5) * DENSITY]
normal_cdf = declare_primitive(
    Elementwise,
    "normal_cdf",
    normal_cdf_kernel,
    (lambda t, y, x: t * normal_density(x),),
    computes="normal_cdf",
)


def gelu_tangent(ys, primals, tangents, params: dict) -> list[Any]:
    """The tangent rule, in terms of the share, which is a result and so not computed twice."""
    (x,), (t,), (_, share) = primals, tangents, ys
    if params["approximate"] == "none":
        change = normal_density(x)
    else:
        bend = 2 * share - 1  # the tanh
        change = 0.5 * ROOT * (1 - bend * bend) * (1 + 3 * CUBIC * (x * x))
    return [t * (share + x * change), t * change]


ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715


@operation("input", name="gelu", spaces="", out=False, results=tuple, tangent=gelu_tangent)
def gelu_values(input, approximate: str) -> Any:
    """Return [x times a share, the share]."""
    if approximate == "none":
        share = normal_cdf(input)
    else:
        share = 0.5 * (1 + ops.tanh(ROOT * (input + CUBIC * (input * input * input))))
    return [input * share, share]


@expose("nn.functional")
@with_out
def gelu(input, *, approximate: str = "none") -> Any:
    """The Gaussian error linear unit: x·Φ(x) with the distribution function Φ of the normal law; approximate="tanh"
    replaces it by (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2."""
    if approximate not in ("none", "tanh"):
        raise TensorError(
            "approximate argument must be either none or tanh.", hint='approximate="none", or "tanh"'
        )
    return gelu_values(input, approximate)[0]


for function in (sigmoid, tanh):
    expose("nn.functional")(without_out(function, "nn.functional"))


# -- rational and gated ------------------------------------------
@operation("input", spaces="nn.functional", out=False, node="DivBackward0", promote="float")
def softsign(input) -> Any:
    """The activation x/(1 + |x|)."""
    return input / (1 + ops.absolute(input))


@operation("input", spaces="nn.functional", out=False, node="SubBackward0", promote="float")
def tanhshrink(input) -> Any:
    """The activation x − tanh(x)."""
    return input - ops.tanh(input)


@operation("input", spaces="nn.functional", out=False)
def glu(input, dim: int = -1) -> Any:
    """The gated linear unit: a·sigmoid(b) for the halves a and b along a dimension."""
    if not input.ndim:
        raise TensorError(
            "glu does not support scalars because halving size must be even",
            hint="x.reshape(-1), or torch.stack([a, b]) with dim=0",
        )
    axis = normalize_dim(dim, input.ndim)
    size = input.shape[axis]
    if size % 2:
        raise TensorError(
            f"Halving dimension must be even, but dimension {axis} is size {size}",
            hint=f"a dim of even size; x.narrow({axis}, 0, {size - 1}) leaves the last entry out",
        )
    head = (slice(None, None, None),) * axis
    a, b = (
        ops.getitem(input, index=(*head, part))
        for part in (slice(0, size // 2, None), slice(size // 2, size, None))
    )
    return a * ops.sigmoid(b)
