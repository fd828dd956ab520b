"""Normalization: (x − mean)/√(variance + eps) over some axes, times a weight, plus a bias."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from .... import ops
from ....core.aval import Aval, aval_of
from ....core.interpreter import CURRENT, use_context
from ....kernels.normalization import deflate_kernel, standardize_kernel
from ....ops.kinds import General
from ..._core.errors import ArgumentValueError, TensorError
from ..._core.modes import with_modes
from ..._core.primitives import declare_primitive
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ..arguments import normalize_dim
from ..declarers import expose_with, first_result


def keepdim_mean(x, axes: tuple[int, ...]) -> Any:
    """The mean over axes, which stay with length one."""
    shape = aval_of(x).shape
    return ops.restore_axes(ops.reduce_sum(x, axes=axes), shape, axes) / prod(shape[a] for a in axes)


def shift_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def deflate_tangent(y, primals, tangents, params: dict) -> Any:
    (t, u, before, after), (dt, du, dbefore, dafter), axes = primals, tangents, params["axes"]
    terms = [] if dt is None else [deflate(dt, u, before, after, axes=axes)]
    if du is not None:
        inner = t * before
        terms.append(
            ops.negative(after * (du * keepdim_mean(u * inner, axes) + u * keepdim_mean(du * inner, axes)))
        )
    if dbefore is not None:
        terms.append(deflate(t * dbefore, u, ops.full_like(before, value=1), after, axes=axes))
    if dafter is not None:
        terms.append(dafter * deflate(t, u, before, ops.full_like(after, value=1), axes=axes))
    return reduce(ops.add, terms)


def deflate_batch(t, u, *factors, size: int, axes: tuple[int, ...]) -> Any:
    rank = aval_of(t).ndim
    aligned = [ops.reshape(v, shape=(size, *(1,) * (rank - v.ndim), *v.shape[1:])) for v in factors]
    return deflate(t, u, *aligned, axes=shift_axes(axes))


def are_rows(x, axes: tuple[int, ...]) -> bool:
    """Whether the axes are the last ones, over which a normalization works row by row."""
    rank = aval_of(x).ndim
    return axes == tuple(range(rank - len(axes), rank))


def deflate_formula(t, u, before, after, *, axes: tuple[int, ...]) -> Any:
    if not are_rows(t, axes):
        return None
    s = t * before
    return [after * (s - keepdim_mean(s, axes) - u * keepdim_mean(u * s, axes))]


def standardize_formula(x, *, axes: tuple[int, ...], eps: float) -> Any:
    if not are_rows(x, axes):
        return None
    middle = keepdim_mean(x, axes)
    u = x - middle
    variance = keepdim_mean(u * u, axes)
    return [u * (1 / ops.sqrt(variance + eps)), middle, variance]


# after·(s − mean(s) − u·mean(u·s)) with s = before·t: what of a tangent survives that mean and length stay as they are.
# Its transpose in t has the two factors, which broadcast, exchanged.
deflate = declare_primitive(
    General,
    "deflated",
    deflate_kernel,
    abstract_rule=lambda self, t, u, before, after, *, axes: Aval(t.shape, t.dtype),
    tangent_rule=deflate_tangent,
    transpose_rule=lambda ct, t, u, before, after, *, axes: [
        deflate(ct, u, after, before, axes=axes),
        None,
        None,
        None,
    ],
    batch_rule=deflate_batch,
)
deflate.primitive.formula = deflate_formula


def standardize_aval(self, x: Aval, *, axes: tuple[int, ...], eps: float) -> Any:
    small = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return x, Aval(small, x.dtype), Aval(small, x.dtype)


def jvp_standardize(ys, t, weight, axes: tuple[int, ...], eps: float) -> list[Any]:
    """The tangents of weight·x̂, mean and variance, for a tangent of the input."""
    u, _, variance = ys
    spread = ops.sqrt(variance + eps)
    weight = np.ones((), aval_of(u).dtype) if weight is None else weight
    moved = deflate(t, u, 1 / spread, weight, axes=axes)
    return [moved, keepdim_mean(t, axes), 2 * spread * keepdim_mean(u * t, axes)]


# ((x − mean)/√(variance + eps), mean, variance).
standardize = declare_primitive(
    General,
    "standardized",
    standardize_kernel,
    abstract_rule=standardize_aval,
    tangent_rule=lambda ys, primals, tangents, params: jvp_standardize(ys, tangents[0], None, **params),
    batch_rule=lambda x, *, size, axes, eps: standardize(x, axes=shift_axes(axes), eps=eps),
    multiple=True,
)
standardize.primitive.formula = standardize_formula


class NormLayout:
    """The layout of a normalization: the input is reshaped to `inner_shape` and normalized over `axes` of that; the
    weight and bias have the shape `weight_shape`."""

    def __init__(self, inner_shape: tuple[int, ...], axes: tuple[int, ...], weight_shape: tuple[int, ...]):
        self.inner, self.axes, self.weights = inner_shape, axes, weight_shape

    def reshape(self, x, weight, bias) -> list[Any]:
        """Reshape input, weight and bias, or their tangents, to these shapes."""
        shapes = (self.inner, self.weights, self.weights)
        return [None if v is None else ops.reshape(v, shape=s) for v, s in zip((x, weight, bias), shapes)]

    def apply_weight(self, x, weight) -> Any:
        """Multiply x by the weight; over last axes by a contraction, whose transpose is a single sum of products."""
        if self.inner[len(self.inner) - len(self.weights) :] != self.weights:
            return x * weight
        letters = "abcdefghijklmnop"[: len(self.inner)]
        last = letters[len(letters) - len(self.weights) :]
        return ops.contract(x, weight, spec=f"{letters},{last}->{letters}")


def declare_normalization(layout, name: str, kind: str, doc: str = "", **options) -> Any:
    """Declare (input, weight, bias, eps, size) → (y, x̂, mean, variance) by the NormLayout layout(shape, size); `kind`
    is in the name of the node."""

    def normalize(input, weight, bias, eps: float, size) -> Any:
        how = layout(aval_of(input).shape, size)
        x, w, b = how.reshape(input, weight, bias)
        unit, middle, variance = standardize(x, axes=how.axes, eps=eps)
        y = ops.positive(unit) if w is None else unit * w  # x̂ is kept, whatever becomes of y
        y = y if b is None else y + b
        return [ops.reshape(y, shape=aval_of(input).shape), unit, middle, variance]

    def tangent(ys, primals, tangents, params: dict) -> list[Any]:
        shape = aval_of(primals[0]).shape
        how = layout(shape, params["size"])
        _, w, _ = how.reshape(*primals)
        t, tw, tb = how.reshape(*tangents)
        inner: Any = [None] * 3
        terms = []
        if t is not None:
            inner = jvp_standardize(ys[1:], t, None, how.axes, params["eps"])
            terms.append(inner[0] if w is None else jvp_standardize(ys[1:], t, w, how.axes, params["eps"])[0])
        if tw is not None:
            terms.append(how.apply_weight(ys[1], tw))
        if tb is not None:
            terms.append(ops.broadcast_to(tb, shape=how.inner))
        return [ops.reshape(reduce(ops.add, terms), shape=shape), *inner]

    normalize.__doc__ = doc
    node = f"Native{kind}NormBackward0"
    options = {"spaces": "", "results": tuple, "out": False, "tangent": tangent, "kinds": "f", **options}
    return operation("input weight bias", name=name, node=node, **options)(normalize)


def last_axes_layout(shape: tuple[int, ...], size: tuple[int, ...]) -> NormLayout:
    return NormLayout(shape, tuple(range(len(shape) - len(size), len(shape))), size)


def channel_layout(shape: tuple[int, ...], size: None) -> NormLayout:
    axes = tuple(i for i in range(len(shape)) if i != 1)
    return NormLayout(shape, axes, (shape[1], *(1,) * (len(shape) - 2)))


def group_layout(shape: tuple[int, ...], size: int) -> NormLayout:
    n, channels, *rest = shape
    width = channels // size
    return NormLayout((n, size, width, prod(rest)), (2, 3), (size, width, 1))


def check_last_sizes(input, normalized_shape, weight, bias=None) -> tuple[int, ...]:
    """Return the sizes of the last dimensions; raise unless input, weight and bias have them."""
    size = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
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
    return size


def layer_norm_arguments(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Any:
    """The sizes are checked."""
    size = check_last_sizes(input, normalized_shape, weight, bias)
    return (input, weight, bias), {"eps": eps, "size": size}


def group_norm_arguments(input, num_groups: int, weight=None, bias=None, eps: float = 1e-5) -> Any:
    """The groups are checked."""
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise TensorError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    return (input, weight, bias), {"eps": eps, "size": num_groups}


PUBLIC: dict[str, Any] = {"spaces": "nn.functional", "results": first_result}
layer_norm = declare_normalization(
    last_axes_layout,
    "layer_norm",
    "Layer",
    """Normalize over the last dimensions, those of `normalized_shape`.

    >>> import fxgrad.compat as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0).tolist()
    [-1.0, 1.0]
    """,
    arguments=layer_norm_arguments,
    **PUBLIC,
)
group_norm = declare_normalization(
    group_layout,
    "group_norm",
    "Group",
    "Normalize groups of channels, for each entry of the batch by itself.",
    arguments=group_norm_arguments,
    **PUBLIC,
)
batch_norm_values = declare_normalization(channel_layout, "native_batch_norm", "Batch")
instance_norm_values = declare_normalization(group_layout, "native_instance_norm", "Group")


def rms_norm_arguments(input, normalized_shape, weight=None, eps: float | None = None) -> Any:
    """The sizes are checked, and are the last axes."""
    rank, count = input.ndim, len(check_last_sizes(input, normalized_shape, weight))
    return (input, weight), {"axes": tuple(range(rank - count, rank)), "eps": eps}


@operation(
    "input weight",
    arguments=rms_norm_arguments,
    spaces="function nn.functional",
    out=False,
    node="FusedRmsNormBackward0",
)
def rms_norm(input, weight, axes: tuple[int, ...], eps: float | None) -> Any:
    """x/√(mean(x²) + eps)·weight over the last dimensions; eps is the spacing of numbers near 1 where none is given."""
    if eps is None:
        eps = float(np.finfo(aval_of(input).dtype).eps)
    y = input * (1 / ops.sqrt(keepdim_mean(ops.square(input), axes) + eps))
    return y if weight is None else y * weight


# -- with running statistics ------------------------------------------
@operation(
    "input running_mean running_var weight bias",
    name="batch_norm",
    spaces="",
    out=False,
    node="NativeBatchNormBackward0",
    kinds="f",
)
def normalize_by_statistics(input, running_mean, running_var, weight, bias, eps: float) -> Any:
    """Normalize by given statistics of each channel."""
    shape = (aval_of(input).shape[1], *(1,) * (aval_of(input).ndim - 2))
    center, variance, w, b = (
        None if v is None else ops.reshape(v, shape=shape) for v in (running_mean, running_var, weight, bias)
    )
    scale = 1 / ops.sqrt(ops.stop_gradient(variance) + eps)
    y = (input - ops.stop_gradient(center)) * (scale if w is None else scale * w)
    return y if b is None else y + b


def update_running(running, value, momentum: float) -> None:
    """Move running statistics towards those of a batch."""
    if running is not None:
        with use_context(with_modes(CURRENT.get(), grad=False)):
            running.mul_(1 - momentum).add_(value.detach().reshape(running.shape) * momentum)


@expose("nn.functional")
def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize over all dimensions but the second, which is that of the channels.

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
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, v in (statistics | {"weight": weight, "bias": bias}).items():
        if v is not None and v.numel() != channels:
            raise TensorError(f"{name} should contain {channels} elements not {v.numel()}")
    if not training:
        for name, v in statistics.items():
            if v is None:
                raise TensorError(
                    f"{name} must be defined in evaluation mode",
                    hint="training=True normalizes by the statistics of the batch",
                )
        return normalize_by_statistics(input, running_mean, running_var, weight, bias, eps)
    normalize_dim(1, len(input.shape))
    count = input.numel() // channels if channels else 0
    if count == 1:
        raise ArgumentValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    y, _, middle, variance = batch_norm_values(input, weight, bias, eps, None)
    update_running(running_mean, middle, momentum)
    update_running(running_var, variance * (count / max(count - 1, 1)), momentum)
    return y


@expose("nn.functional")
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize each channel of each entry of the batch by itself; see batch_norm otherwise."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = prod(input.shape[2:])
    if count == 1:
        raise ArgumentValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    y, _, middle, variance = instance_norm_values(input, weight, bias, eps, input.shape[1])
    update_running(running_mean, middle.mean(0), momentum)
    update_running(running_var, variance.mean(0) * (count / max(count - 1, 1)), momentum)
    return y


expose_with("input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True", layer_norm)
expose_with("input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True", group_norm)
STATISTICS = "input, weight, bias, running_mean, running_var"
expose_with(f"{STATISTICS}, training, momentum, eps, cudnn_enabled=True", batch_norm)
expose_with(f"{STATISTICS}, use_input_stats, momentum, eps, cudnn_enabled=True", instance_norm)


@operation("input", spaces="nn.functional", out=False, node="DivBackward0", promote="float", kinds="f")
def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """x/(k + alpha·m)^beta with the mean m of the squares of `size` neighbouring channels, zeros beyond the ends."""
    rank = aval_of(input).ndim
    squares = ops.move_axis(ops.square(input), 1, rank - 1)
    around = ((size // 2, (size - 1) // 2),)
    total = ops.window_sum(squares, sizes=(size,), steps=(1,), pads=around, dilations=(1,))
    total = ops.move_axis(total, rank - 1, 1)
    return input / (k + alpha * (total / size)) ** beta
