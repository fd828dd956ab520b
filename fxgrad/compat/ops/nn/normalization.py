"""Normalization: (x − mean)/√(variance + eps) over some axes, times a weight, plus a bias."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from .... import ops
from ....core.aval import Aval, aval_of
from ....core.interpreter import CURRENT, within
from ....kernels.normalization import deflated_kernel, standardized_kernel
from ....ops.kinds import General
from ..._core.errors import ArgumentValueError, TensorError
from ..._core.modes import with_modes
from ..._core.primitives import declare
from ..._declare.operation import exposed, operation
from ..dimensions import dimension


def mean(x: Any, axes: tuple[int, ...]) -> Any:
    """The mean over axes, which stay with length one."""
    shape = aval_of(x).shape
    return ops.expanded(ops.reduce_sum(x, axes=axes), shape, axes) / prod(shape[a] for a in axes)


def shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def deflated_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    (t, u, before, after), (dt, du, dbefore, dafter), axes = primals, tangents, params["axes"]
    terms = [] if dt is None else [deflated(dt, u, before, after, axes=axes)]
    if du is not None:
        inner = t * before
        terms.append(ops.negative(after * (du * mean(u * inner, axes) + u * mean(du * inner, axes))))
    if dbefore is not None:
        terms.append(deflated(t * dbefore, u, ops.full_like(before, value=1), after, axes=axes))
    if dafter is not None:
        terms.append(dafter * deflated(t, u, before, ops.full_like(after, value=1), axes=axes))
    return reduce(ops.add, terms)


def deflated_batched(t: Any, u: Any, *factors: Any, size: int, axes: tuple[int, ...]) -> Any:
    rank = aval_of(t).ndim
    aligned = [ops.reshape(v, shape=(size, *(1,) * (rank - v.ndim), *v.shape[1:])) for v in factors]
    return deflated(t, u, *aligned, axes=shifted(axes))


# after·(s − mean(s) − u·mean(u·s)) with s = before·t: what of a tangent survives that mean and length stay as they are.
# Its transpose in t has the two factors, which broadcast, exchanged.
deflated = declare(
    General,
    "deflated",
    deflated_kernel,
    abstract=lambda self, t, u, before, after, *, axes: Aval(t.shape, t.dtype),
    tangent=deflated_tangent,
    transposed=lambda ct, t, u, before, after, *, axes: [
        deflated(ct, u, after, before, axes=axes),
        None,
        None,
        None,
    ],
    batched=deflated_batched,
)


def standardized_aval(self: Any, x: Aval, *, axes: tuple[int, ...], eps: float) -> Any:
    small = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return x, Aval(small, x.dtype), Aval(small, x.dtype)


def pushed(ys: Any, t: Any, weight: Any, axes: tuple[int, ...], eps: float) -> list[Any]:
    """The tangents of weight·x̂, mean and variance for that of the input."""
    u, _, variance = ys
    spread = ops.sqrt(variance + eps)
    weight = np.ones((), aval_of(u).dtype) if weight is None else weight
    moved = deflated(t, u, 1 / spread, weight, axes=axes)
    return [moved, mean(t, axes), 2 * spread * mean(u * t, axes)]


# ((x − mean)/√(variance + eps), mean, variance).
standardized = declare(
    General,
    "standardized",
    standardized_kernel,
    abstract=standardized_aval,
    tangent=lambda ys, primals, tangents, params: pushed(ys, tangents[0], None, **params),
    batched=lambda x, *, size, axes, eps: standardized(x, axes=shifted(axes), eps=eps),
    multiple=True,
)


class Layout:
    """How a normalization sees its input: reshaped to `inner` and normalized over `axes` of that, with a weight and a
    bias of shape `weights`."""

    def __init__(self, inner: tuple[int, ...], axes: tuple[int, ...], weights: tuple[int, ...]):
        self.inner, self.axes, self.weights = inner, axes, weights

    def arranged(self, x: Any, weight: Any, bias: Any) -> list[Any]:
        """Input, weight and bias, or their tangents, in these shapes."""
        shapes = (self.inner, self.weights, self.weights)
        return [None if v is None else ops.reshape(v, shape=s) for v, s in zip((x, weight, bias), shapes)]

    def weighted(self, x: Any, weight: Any) -> Any:
        """Their product; for weights of the last axes one whose transpose is a single sum of products."""
        if self.inner[len(self.inner) - len(self.weights) :] != self.weights:
            return x * weight
        letters = "abcdefghijklmnop"[: len(self.inner)]
        last = letters[len(letters) - len(self.weights) :]
        return ops.contract(x, weight, spec=f"{letters},{last}->{letters}")


def normalization(layout: Any, name: str, node: str) -> Any:
    """Declare (input, weight, bias, eps, size) → (y, x̂, mean, variance) by the Layout layout(shape, size)."""

    def normalized(input: Any, weight: Any, bias: Any, eps: float, size: Any) -> Any:
        how = layout(aval_of(input).shape, size)
        x, w, b = how.arranged(input, weight, bias)
        unit, middle, variance = standardized(x, axes=how.axes, eps=eps)
        y = ops.positive(unit) if w is None else unit * w  # x̂ is kept, whatever becomes of y
        y = y if b is None else y + b
        return [ops.reshape(y, shape=aval_of(input).shape), unit, middle, variance]

    def tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
        shape = aval_of(primals[0]).shape
        how = layout(shape, params["size"])
        _, w, _ = how.arranged(*primals)
        t, tw, tb = how.arranged(*tangents)
        inner: Any = [None] * 3
        terms = []
        if t is not None:
            inner = pushed(ys[1:], t, None, how.axes, params["eps"])
            terms.append(inner[0] if w is None else pushed(ys[1:], t, w, how.axes, params["eps"])[0])
        if tw is not None:
            terms.append(how.weighted(ys[1], tw))
        if tb is not None:
            terms.append(ops.broadcast_to(tb, shape=how.inner))
        return [ops.reshape(reduce(ops.add, terms), shape=shape), *inner]

    return operation(
        "input weight bias", name=name, node=node, spaces="", out=False, results=tuple, tangent=tangent
    )(normalized)


def over_last(shape: tuple[int, ...], size: tuple[int, ...]) -> Layout:
    return Layout(shape, tuple(range(len(shape) - len(size), len(shape))), size)


def over_all_but_channels(shape: tuple[int, ...], size: None) -> Layout:
    axes = tuple(i for i in range(len(shape)) if i != 1)
    return Layout(shape, axes, (shape[1], *(1,) * (len(shape) - 2)))


def over_groups(shape: tuple[int, ...], size: int) -> Layout:
    n, channels, *rest = shape
    width = channels // size
    return Layout((n, size, width, prod(rest)), (2, 3), (size, width, 1))


layer_normalized = normalization(over_last, "native_layer_norm", "NativeLayerNormBackward0")
batch_normalized = normalization(over_all_but_channels, "native_batch_norm", "NativeBatchNormBackward0")
group_normalized = normalization(over_groups, "native_group_norm", "NativeGroupNormBackward0")


def sizes_of(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def check_last(input: Any, size: tuple[int, ...], weight: Any, bias: Any) -> None:
    """Raise unless `size` are the last sizes of the input and those of weight and bias."""
    for name, v in (("weight", weight), ("bias", bias)):
        if v is not None and tuple(v.shape) != size:
            raise TensorError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(v.shape)} and "
                f"normalized_shape = {list(size)}"
            )
    if not size or tuple(input.shape)[-len(size) :] != size:
        wanted = ", ".join(["*", *map(str, size)])
        raise TensorError(
            f"Given normalized_shape={list(size)}, expected input with shape [{wanted}], but got input of size"
            f"{list(input.shape)}"
        )


@exposed("nn.functional")
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Normalized over the last dimensions, those of `normalized_shape`.

    >>> import fxgrad.compat as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0).tolist()
    [-1.0, 1.0]
    """
    size = sizes_of(normalized_shape)
    check_last(input, size, weight, bias)
    return layer_normalized(input, weight, bias, eps, size)[0]


@exposed("function", "layer_norm")
def torch_layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """nn.functional.layer_norm."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


@operation("input weight", name="rms_norm", spaces="", out=False, node="FusedRmsNormBackward0")
def scaled_by_square(input: Any, weight: Any, axes: tuple[int, ...], eps: float | None) -> Any:
    """x/√(mean(x²) + eps)·weight."""
    if eps is None:
        eps = float(np.finfo(aval_of(input).dtype).eps)
    y = input * (1 / ops.sqrt(mean(ops.square(input), axes) + eps))
    return y if weight is None else y * weight


@exposed("function nn.functional")
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """x/√(mean(x²) + eps) over the last dimensions; eps is the spacing of numbers near 1 where none is given."""
    size = sizes_of(normalized_shape)
    check_last(input, size, weight, None)
    rank = input.ndim
    return scaled_by_square(input, weight, tuple(range(rank - len(size), rank)), eps)


# -- with running statistics ------------------------------------------
@operation(
    "input running_mean running_var weight bias",
    name="batch_norm",
    spaces="",
    out=False,
    node="NativeBatchNormBackward0",
)
def by_statistics(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalized by statistics that are given, of each channel."""
    shape = (aval_of(input).shape[1], *(1,) * (aval_of(input).ndim - 2))
    center, variance, w, b = (
        None if v is None else ops.reshape(v, shape=shape) for v in (running_mean, running_var, weight, bias)
    )
    scale = 1 / ops.sqrt(ops.stop_gradient(variance) + eps)
    y = (input - ops.stop_gradient(center)) * (scale if w is None else scale * w)
    return y if b is None else y + b


def follow(running: Any, value: Any, momentum: float) -> None:
    """Move running statistics towards those of a batch."""
    if running is not None:
        with within(with_modes(CURRENT.get(), grad=False)):
            running.mul_(1 - momentum).add_(value.detach().reshape(running.shape) * momentum)


@exposed("nn.functional")
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalized over all dimensions but that of the channels, the second.

    Args:
        running_mean, running_var: statistics of each channel, by which to normalize unless `training`; then that of
            the batch are taken, towards which these are moved in place.
        momentum: how far they are moved; the variance is that of a sample.

    Raises:
        ValueError: there is one value for each channel only, of which there is no variance.
    """
    if eps < 0 or (training and eps == 0):
        least = "positive during training" if training else "non-negative"
        raise ArgumentValueError(f"batch_norm eps must be {least}, but got {eps}")
    channels = input.shape[1] if len(input.shape) > 1 else 0
    for name, v in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if v is not None and v.numel() != channels:
            raise TensorError(f"{name} should contain {channels} elements not {v.numel()}")
    if not training:
        for name, v in (("running_mean", running_mean), ("running_var", running_var)):
            if v is None:
                raise TensorError(
                    f"{name} must be defined in evaluation mode",
                    hint="training=True normalizes by the statistics of the batch",
                )
        return by_statistics(input, running_mean, running_var, weight, bias, eps)
    dimension(1, len(input.shape))
    count = input.numel() // channels if channels else 0
    if count == 1:
        raise ArgumentValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    y, _, middle, variance = batch_normalized(input, weight, bias, eps, None)
    follow(running_mean, middle, momentum)
    follow(running_var, variance * (count / max(count - 1, 1)), momentum)
    return y


@exposed("function", "batch_norm")
def torch_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """nn.functional.batch_norm with its arguments in another order."""
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@exposed("nn.functional")
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel of each entry of the batch normalized by itself; as batch_norm otherwise."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = prod(input.shape[2:])
    if count == 1:
        raise ArgumentValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    y, _, middle, variance = group_normalized(input, weight, bias, eps, input.shape[1])
    follow(running_mean, middle.mean(0), momentum)
    follow(running_var, variance.mean(0) * (count / max(count - 1, 1)), momentum)
    return y


@exposed("function", "instance_norm")
def torch_instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """nn.functional.instance_norm with its arguments in another order."""
    return instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@exposed("nn.functional")
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Groups of channels normalized, of each entry of the batch by themselves."""
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise TensorError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    return group_normalized(input, weight, bias, eps, num_groups)[0]


@exposed("function", "group_norm")
def torch_group_norm(
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """nn.functional.group_norm."""
    return group_norm(input, num_groups, weight, bias, eps)


@operation("input", spaces="nn.functional", out=False, node="DivBackward0", promote="float")
def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """x/(k + alpha·m)^beta with the mean m of the squares of `size` neighbouring channels, zeros beyond the ends."""
    rank = aval_of(input).ndim
    squares = ops.move_axis(ops.square(input), 1, rank - 1)
    padded = ops.pad(squares, widths=((0, 0),) * (rank - 1) + ((size // 2, (size - 1) // 2),))
    total = ops.move_axis(ops.window_sum(padded, sizes=(size,), steps=(1,), dilations=(1,)), rank - 1, 1)
    return input / (k + alpha * (total / size)) ** beta
