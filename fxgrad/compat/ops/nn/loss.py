"""Losses of predictions and targets entry by entry. Classes and distances are in files of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter
from typing import Any

from .... import numpy as fnp
from ....extend import Elementwise, Tracer, aval_of, ops
from ..._core.primitives import declare_primitive
from ..._declare.operation import operation
from ..._declare.signatures import DerivedSignature
from ...errors import ArgumentValueError, TensorError
from ..arguments import shape_hint
from ..declarers import absolute
from ..reduction import mean_operand, sum_operand


def loss(
    tensors: str = "input target", elsewhere: str = "", size_average: str = "reduction", **options
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a loss of nn.functional, a function with a parameter `reduction`, to which torch's deprecated parameters
    that ask for one are added.

    Args:
        tensors, options: see `operation`.
        elsewhere: the other spaces that have it.
        size_average: the parameter before which this one stands; `reduce` is always before `reduction`.
    """

    def declare(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def compute(*, size_average, reduce, reduction: str, **given) -> Any:
            return function(**given, reduction=legacy_reduction(size_average, reduce, reduction))

        added = partial(add_deprecated, size_average)
        compute.__signature__ = DerivedSignature(function, added)  # type: ignore[attr-defined]
        usual = {"spaces": f"{elsewhere} nn.functional", "out": False, "promote": "arithmetic"}
        return operation(tensors, **(usual | options))(compute)

    return declare


def add_deprecated(place: str, given: list[Parameter]) -> list[Parameter]:
    """Add `size_average` before the parameter of that name, and `reduce` before `reduction`."""
    found: list[Parameter] = []
    for p in given:
        new = ["size_average"] * (p.name == place) + ["reduce"] * (p.name == "reduction")
        found += [Parameter(name, p.POSITIONAL_OR_KEYWORD, default=None) for name in new]
        found.append(p)
    return found


def check_reduction(reduction: str) -> None:
    """Raise unless losses can be reduced so."""
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(
            f"{reduction} is not a valid value for reduction", hint='reduction="mean", "sum" or "none"'
        )


def reduce_losses(losses, reduction: str) -> Any:
    """Reduce losses by "mean", "sum" or "none"."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return fnp.sum(sum_operand(losses, None))
    check_reduction(reduction)
    losses = mean_operand("mean", losses, None)
    size = aval_of(losses).size
    return fnp.sum(losses) / size if size else fnp.sum(losses) * math.nan


def weigh_and_reduce(losses, weight, reduction: str) -> Any:
    """Multiply losses by weights and reduce them; the mean is over the weights."""
    if weight is None:
        return reduce_losses(losses, reduction)
    losses = losses * weight
    if reduction != "mean":
        return reduce_losses(losses, reduction)
    return fnp.sum(losses) / fnp.sum(ops.broadcast_to(weight, shape=losses.shape))


def legacy_reduction(size_average, reduce, reduction: str) -> str:
    """The reduction that the deprecated arguments ask for."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def hinge(x) -> Any:
    """The hinge max(x, 0), with derivative 1 at 0 as torch's clamp has."""
    return ops.where(ops.less(x, 0), 0, x)


# -- differences ------------------------------------------
@loss("input target weight")
def mse_loss(input, target, reduction: str = "mean", weight=None) -> Any:
    """The squared difference.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 3.0]), torch.zeros(2)).item()
    5.0
    """
    return weigh_and_reduce(ops.square(input - target), weight, reduction)


@loss("input target weight", node="MeanBackward0")
def l1_loss(input, target, reduction: str = "mean", weight=None) -> Any:
    """The absolute difference."""
    return weigh_and_reduce(absolute(input - target), weight, reduction)


@loss()
def smooth_l1_loss(input, target, reduction: str = "mean", beta: float = 1.0) -> Any:
    """The smoothed absolute difference: d²/(2·beta) of the difference d where |d| < beta, and |d| − beta/2
    elsewhere."""
    if not beta >= 0:
        raise TensorError("smooth_l1_loss does not support negative values for beta.", hint=f"beta={-beta}")
    d = input - target
    size = ops.absolute(d)
    losses = size if beta == 0 else ops.where(ops.less(size, beta), 0.5 / beta * d * d, size - 0.5 * beta)
    return reduce_losses(losses, reduction)


@operation("input target weight", promote="arithmetic", spaces="nn.functional", out=False)
def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Any:
    """Huber's loss: d²/2 of the difference d where |d| < delta, and delta·(|d| − delta/2) elsewhere."""
    if not delta > 0:
        raise TensorError(
            "huber_loss does not support non-positive values for delta.", hint=f"delta={-delta or 1.0}"
        )
    d = input - target
    size = ops.absolute(d)
    losses = ops.where(ops.less(size, delta), 0.5 * d * d, delta * (size - 0.5 * delta))
    return weigh_and_reduce(losses, weight, reduction)


# -- probabilities ------------------------------------------
def clamp_log(x) -> Any:
    """log(x), but not less than −100."""
    return ops.maximum(ops.log(x), -100.0)


# −target·log(x) − (1 − target)·log(1 − x), the logarithms not less than −100; the slope in x is not limited by that.
binary_entropy = declare_primitive(
    Elementwise,
    "binary_entropy",
    lambda xp: (
        lambda x, target: (
            -target * xp.maximum(xp.log(x), -100.0) - (1 - target) * xp.maximum(xp.log(1 - x), -100.0)
        )
    ),
    (
        lambda t, y, x, target: t * ((x - target) / ops.maximum(x * (1 - x), 1e-12)),
        lambda t, y, x, target: t * (clamp_log(1 - x) - clamp_log(x)),
    ),
)


@loss("input target weight", by_value=True)
def binary_cross_entropy(input, target, weight=None, reduction: str = "mean") -> Any:
    """The cross entropy of two classes: −target·log(x) − (1 − target)·log(1 − x) of probabilities x, the logarithms
    not less than −100."""
    have, want = aval_of(target).shape, aval_of(input).shape
    if have != want:
        raise ArgumentValueError(
            f"Using a target size (torch.Size({list(have)})) that is different to the input size "
            f"(torch.Size({list(want)})) is deprecated. Please ensure they have the same size.",
            hint=shape_hint("target", have, want),
        )
    if not isinstance(input, Tracer) and not ((input >= 0) & (input <= 1)).all():
        raise TensorError(
            "all elements of input should be between 0 and 1",
            hint="binary_cross_entropy_with_logits(x, target), or torch.sigmoid(x)",
        )
    losses = binary_entropy(input, target)
    return reduce_losses(losses if weight is None else losses * weight, reduction)


@loss("input target weight pos_weight", "function")
def binary_cross_entropy_with_logits(
    input, target, weight=None, reduction: str = "mean", pos_weight=None
) -> Any:
    """The loss binary_cross_entropy of sigmoid(x), without overflow or lost digits."""
    have, want = aval_of(target).shape, aval_of(input).shape
    if have != want:
        raise ArgumentValueError(
            f"Target size (torch.Size({list(have)})) must be the same as input size (torch.Size({list(want)}))",
            hint=shape_hint("target", have, want),
        )
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input + scale * ops.softplus(ops.negative(input))
    return reduce_losses(losses if weight is None else losses * weight, reduction)


@loss(elsewhere="function")
def kl_div(input, target, reduction: str = "mean", log_target: bool = False) -> Any:
    """The divergence of Kullback and Leibler, entry by entry: target·(log(target) − x) for logarithms x of
    probabilities; "batchmean" divides by the first size."""
    if log_target:
        losses = ops.exp(target) * (target - input)
    else:
        absent = ops.equal(target, 0)
        losses = ops.where(absent, 0, target * ops.log(ops.where(absent, 1, target))) - target * input
    if reduction == "batchmean":
        return fnp.sum(losses) / (aval_of(input).shape or (1,))[0]
    return reduce_losses(losses, reduction)


@loss(size_average="eps", promote="float")
def poisson_nll_loss(
    input, target, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """The loss of a Poisson law: exp(x) − target·x for the logarithm x of a rate; `full` adds Stirling's
    approximation of log(target!)."""
    losses = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        stirling = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        losses = losses + ops.where(ops.greater(target, 1), stirling, 0)
    return reduce_losses(losses, reduction)


def gaussian_arguments(
    input, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """A variance may be a number, or one for each row."""
    if isinstance(var, float):
        var = input.new_full(input.shape, var)
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif tuple(input.shape[:-1]) != tuple(var.shape[:-1]) or var.shape[-1] != 1:
            raise ArgumentValueError(
                "var is of incorrect size",
                hint=shape_hint("var", var.shape, input.shape),
            )
    return (input, target, var), {"full": full, "eps": eps, "reduction": reduction}


@operation(
    "input target var",
    numbers="var",
    arguments=gaussian_arguments,
    spaces="nn.functional",
    promote="arithmetic",
    out=False,
    by_value=True,
)
def gaussian_nll_loss(input, target, var, full: bool, eps: float, reduction: str) -> Any:
    """The loss of a normal law: (log(var) + (x − target)²/var)/2 for mean x and variance; `full` adds log(2π)/2.
    The variance is not less than eps; its derivative is as if it were not limited."""
    if not isinstance(var, Tracer) and (var < 0).any():
        raise ArgumentValueError(
            "var has negative entry/entries", hint="var.clamp(min=eps), or log_var.exp()"
        )
    var = ops.with_derivative_of(ops.stop_gradient(ops.maximum(var, eps)), var)
    losses = 0.5 * (ops.log(var) + ops.square(input - target) / var)
    return reduce_losses(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


# -- margins ------------------------------------------
@loss(elsewhere="function")
def hinge_embedding_loss(input, target, margin: float = 1.0, reduction: str = "mean") -> Any:
    """The hinge loss of distances: x for the target 1, and max(margin − x, 0) for the target −1."""
    apart = ops.where(ops.not_equal(target, 1), hinge(margin - input), 0)
    near = ops.where(ops.not_equal(target, -1), input, 0)
    return reduce_losses(apart + near, reduction)


@loss("input1 input2 target", "function", promote="float")
def margin_ranking_loss(input1, input2, target, margin: float = 0, reduction: str = "mean") -> Any:
    """The loss of pairs in the wrong order: max(−target·(input1 − input2) + margin, 0)."""
    return reduce_losses(hinge(margin - target * (input1 - input2)), reduction)


@loss()
def soft_margin_loss(input, target, reduction: str = "mean") -> Any:
    """The logistic loss of labels ±1: log(1 + e^(−target·x)), without overflow."""
    return reduce_losses(ops.softplus(ops.negative(target * input)), reduction)
