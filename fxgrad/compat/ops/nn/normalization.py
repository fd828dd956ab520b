"""Normalization: (x − mean)/√(variance + eps) over some axes, times a weight, plus a bias."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ....extend import CURRENT, aval_of, costs, ops, use_context
from ..._core.dtypes import finfo, from_numpy_dtype
from ..._core.inplace import ensure_modifiable
from ..._core.modes import with_modes
from ..._core.precision import SINGLE
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import ArgumentError, ArgumentValueError, TensorError
from ..arguments import divisors, normalize_dim, shape_hint
from ..declarers import expose_with, first_result
from .standardization import deflate, standardize

FLOAT16_MAX = 65504.0  # which every floating dtype has


def sum_axes(x, axes: tuple[int, ...]) -> Any:
    """Return the sum over axes, which keep length one."""
    shape = aval_of(x).shape
    if all(shape[a] == 1 for a in axes):
        return x
    return ops.restore_axes(ops.reduce_sum(x, axes=axes), shape, axes)


def mean_axes(x, axes: tuple[int, ...]) -> Any:
    """The mean over axes, which stay with length one."""
    return sum_axes(x, axes) / prod(aval_of(x).shape[a] for a in axes)


def widen(x) -> Any:
    """Return operands in single precision if they are in half precision and others are not."""
    dtype = aval_of(x).dtype
    return ops.convert(x, dtype=SINGLE) if dtype.itemsize == 2 and dtype.kind not in "iu" else x


def convert_like(y, x) -> Any:
    """Return a result in the dtype of an operand: weights of single precision do not widen half precision."""
    dtype = aval_of(x).dtype
    return y if aval_of(y).dtype == dtype else ops.convert(y, dtype=dtype)


class Statistics:
    """The statistics by which x is normalized: its mean over axes, its variance, and 1/√(variance + eps)."""

    def __init__(self, x, axes: tuple[int, ...], eps: float, mean=None, variance=None):
        self.x, self.axes = x, axes
        self.mean = mean_axes(x, axes) if mean is None else mean
        self.variance = mean_axes(ops.square(x - self.mean), axes) if variance is None else variance
        self.scale = 1 / ops.sqrt(self.variance + eps)

    @property
    def unit(self) -> Any:
        """(x − mean)/√(variance + eps). Machine code computes it wherever it is read, and does not keep it."""
        return (self.x - self.mean) * self.scale

    def change(self, t, before, after) -> Any:
        """after·(s − mean(s) − x̂·mean(x̂·s)) with s = before·t: the part of a tangent that keeps mean and length."""
        s = t * before
        mean, slope = mean_axes(s, self.axes), mean_axes(self.unit * s, self.axes)
        return (s - mean - self.unit * slope) * after

    def tangents(self, t) -> list[Any]:
        """The tangents of mean and variance, for a tangent of x."""
        return [mean_axes(t, self.axes), 2 * mean_axes((self.x - self.mean) * t, self.axes)]


class RowStatistics(Statistics):
    """The statistics over the last axes, for which NumPy works block by block."""

    def __init__(self, x, axes: tuple[int, ...], eps: float):
        self.x, self.axes = x, axes
        self.kept_unit, self.mean, self.variance = standardize(x, axes=axes, eps=eps)
        self.scale = 1 / ops.sqrt(self.variance + eps)

    @property
    def unit(self) -> Any:
        return self.kept_unit

    def change(self, t, before, after) -> Any:
        return deflate(t, self.unit, before, after, axes=self.axes)


class NormLayout:
    """The layout of a normalization: the input is reshaped to `inner` and normalized over `axes` of that; weight and
    bias, of the shape `own`, are reshaped to `weights`, which has as many axes. The last axes along which these are
    repeated, if there are any, are `inside` a row: a row is what has one weight, and `rows` the shape in which each has
    its own, unless all that is normalized together has one. `joint` are the axes over which what has one weight is
    summed: all, if what is read for that is still in the cache when it is read again. Mean and variance have the shape
    `kept`, and `statistics` without axes of length one."""

    def __init__(
        self, inner: tuple[int, ...], axes: tuple[int, ...], weights: tuple[int, ...], own: tuple[int, ...]
    ):
        self.inner, self.axes, self.weights, self.own = inner, axes, weights, own
        last = next((i for i in reversed(range(len(inner))) if weights[i] != 1 or i not in axes), -1) + 1
        self.inside = tuple(range(last, len(inner)))
        self.kept = tuple(1 if i in axes else n for i, n in enumerate(inner))
        self.statistics = tuple(n for i, n in enumerate(inner) if i not in axes)
        has_one = all(weights[a] == 1 for a in axes)
        self.rows = weights if has_one else (*inner[:last], *weights[last:])
        short = prod(inner[a] for a in axes) <= costs.NEAR_CACHE_ENTRIES
        self.joint = axes if has_one and (short or not self.inside) else self.inside

    def reshape(self, x, weight, bias) -> list[Any]:
        """Reshape input, weight and bias, or their tangents, so that each row gets its own weight."""
        found = [None if x is None else ops.reshape(x, shape=self.inner)]
        for v in (weight, bias):
            if v is not None:
                v = ops.reshape(v, shape=self.weights)
                v = ops.broadcast_to(v, shape=self.rows) if self.inside and self.rows != self.weights else v
            found.append(v)
        return found

    def sum_for_weights(self, v) -> Any:
        """The contributions of all entries, or all rows, to each weight, summed in the shape of the weights."""
        shape = aval_of(v).shape
        axes = tuple(i for i, n in enumerate(self.weights) if n == 1 != shape[i])
        return ops.reshape(ops.reduce_sum(v, axes=axes) if axes else v, shape=self.own)


def apply_norm(how: NormLayout, by: Statistics, weight, bias) -> Any:
    """x̂·weight + bias."""
    if weight is None:
        y = by.unit
    elif how.inside:
        y = (by.x - by.mean) * (by.scale * weight)
    else:
        y = by.unit * weight
    return y if bias is None else y + bias


def weight_or_one(weight, x) -> Any:
    return np.ones((), aval_of(x).dtype) if weight is None else weight


def norm_tangent(how: NormLayout, by: Statistics, weight, t, tw, tb) -> Any:
    """The tangent of x̂·weight + bias."""
    terms = []
    if t is not None:
        terms.append(by.change(t, by.scale, weight_or_one(weight, t)))
    if tw is not None:
        terms.append(by.unit * tw)
    if tb is not None:
        terms.append(ops.broadcast_to(tb, shape=how.inner))
    return reduce(ops.add, terms)


def norm_cotangents(how: NormLayout, by: Statistics, weight, ct) -> list[Any]:
    """The cotangents of input, weight and bias for one of x̂·weight + bias. What has one weight is summed once for all
    three."""
    total, along = (sum_axes(v, how.joint) for v in (ct, ct * by.unit))
    if how.joint:
        sums = [v if weight is None else v * weight for v in (total, along)]
        mean, slope = (sum_axes(v, how.axes) / prod(how.inner[a] for a in how.axes) for v in sums)
        grad = ((ct if weight is None else ct * weight) - mean - by.unit * slope) * by.scale
    else:
        grad = by.change(ct, weight_or_one(weight, ct), by.scale)
    return [grad, how.sum_for_weights(along), how.sum_for_weights(total)]


def declare_normalization(
    layout, name: str, node: str, doc: str = "", statistics: bool = False, **options
) -> Any:
    """Declare (input, weight, bias, eps, size) → y, or with `statistics` (y, mean, variance), normalized by the
    NormLayout layout(shape, size)."""

    def arrange(values: Sequence[Any], params: dict, *known) -> tuple[NormLayout, Statistics, list[Any]]:
        """Return the layout, the statistics, and the operands in that layout."""
        how = layout(aval_of(values[0]).shape, params["size"])
        arranged = how.reshape(widen(values[0]), *values[1:])
        given = [ops.reshape(v, shape=how.kept) for v in known]
        kind = Statistics if how.joint else RowStatistics
        return how, kind(arranged[0], how.axes, params["eps"], *given), arranged

    def results(how: NormLayout, y, mean, variance) -> list[Any]:
        return [y, *(None if v is None else ops.reshape(v, shape=how.statistics) for v in (mean, variance))]

    def normalize(input, weight, bias, eps: float, size) -> Any:
        how, by, (_, w, b) = arrange((input, weight, bias), {"eps": eps, "size": size})
        y = convert_like(ops.reshape(apply_norm(how, by, w, b), shape=aval_of(input).shape), input)
        return results(how, y, by.mean, by.variance) if statistics else y

    def tangent(ys, primals, tangents, params: dict) -> Any:
        how, by, (_, w, _) = arrange(primals, params, *(ys[1:] if statistics else ()))
        t, tw, tb = how.reshape(*tangents)
        moved = ops.reshape(norm_tangent(how, by, w, t, tw, tb), shape=aval_of(primals[0]).shape)
        moved = convert_like(moved, primals[0])
        if not statistics:
            return moved
        return results(how, moved, *((None, None) if t is None else by.tangents(t)))

    def cotangent(ys, operands, ct, params: dict) -> list[Any]:
        shape = aval_of(ct).shape
        how, by, (_, w, _) = arrange(operands, params, *(ys[1:] if statistics else ()))
        grad, *others = norm_cotangents(how, by, w, ops.reshape(widen(ct), shape=how.inner))
        return [convert_like(ops.reshape(grad, shape=shape), operands[0]), *others]

    normalize.__doc__ = doc
    rules: dict[str, Any] = {"tangent": tangent, "cotangent": cotangent}
    options = {"spaces": "", "out": False, **rules, **options}
    if statistics:
        options.setdefault("results", tuple)
    return operation("input weight bias", name=name, node=f"Native{node}NormBackward0", **options)(normalize)


def last_axes_layout(shape: tuple[int, ...], size: tuple[int, ...]) -> NormLayout:
    lead = len(shape) - len(size)
    return NormLayout(shape, tuple(range(lead, len(shape))), (*(1,) * lead, *size), size)


def channel_layout(shape: tuple[int, ...], size: None) -> NormLayout:
    axes = tuple(i for i in range(len(shape)) if i != 1)
    return NormLayout(shape, axes, (1, shape[1], *(1,) * (len(shape) - 2)), (shape[1],))


def group_layout(shape: tuple[int, ...], size: int) -> NormLayout:
    n, channels, *rest = shape
    width = channels // size
    return NormLayout((n, size, width, prod(rest)), (2, 3), (1, size, width, 1), (channels,))


def check_last_sizes(input, normalized_shape, weight, bias=None) -> tuple[int, ...]:
    """Return the sizes of the last dimensions; raise unless input, weight and bias have them."""
    size = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    for name, v in (("weight", weight), ("bias", bias)):
        if v is not None and tuple(v.shape) != size:
            raise TensorError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(v.shape)} and "
                f"normalized_shape = {list(size)}",
                hint=shape_hint(name, v.shape, size),
            )
    if not size or tuple(input.shape)[-len(size) :] != size:
        wanted = ", ".join(["*", *map(str, size)])
        raise TensorError(
            f"Given normalized_shape={list(size)}, expected input with shape [{wanted}], but got input of size"
            f"{list(input.shape)}",
            hint=f"normalized_shape={list(input.shape)[-max(len(size), 1) :]}",
        )
    return size


def layer_norm_arguments(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Any:
    """The sizes are checked."""
    size = check_last_sizes(input, normalized_shape, weight, bias)
    return (input, weight, bias), {"eps": eps, "size": size}


def group_norm_arguments(input, num_groups: int, weight=None, bias=None, eps: float = 1e-5) -> Any:
    """The groups are checked."""
    if input.ndim < 2:
        raise TensorError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}",
            hint="(batch, channels, …); x.unsqueeze(0) adds a batch",
        )
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise TensorError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}",
            hint=f"num_groups: one of {divisors(channels)}",
        )
    return (input, weight, bias), {"eps": eps, "size": num_groups}


PUBLIC: dict[str, Any] = {"spaces": "nn.functional"}
layer_norm = declare_normalization(
    last_axes_layout,
    "layer_norm",
    "Layer",
    """Normalize over the last dimensions, those of `normalized_shape`.

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
    statistics=True,
    arguments=group_norm_arguments,
    **PUBLIC | {"results": first_result},
)
batch_norm_values = declare_normalization(channel_layout, "native_batch_norm", "Batch", statistics=True)
instance_norm_values = declare_normalization(group_layout, "native_instance_norm", "Group", statistics=True)


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
    """The entries divided by their root mean square: x/√(mean(x²) + eps)·weight over the last dimensions; eps is by
    default the spacing of numbers near 1."""
    if eps is None:
        eps = finfo(from_numpy_dtype(aval_of(input).dtype)).eps
    x = widen(input)
    y = x * (1 / ops.sqrt(mean_axes(ops.square(x), axes) + eps))
    return convert_like(y if weight is None else y * weight, input)


# -- with running statistics ------------------------------------------
def arrange_known(
    input, running_mean, running_var, weight, bias, eps: float
) -> tuple[NormLayout, Statistics, Any]:
    """Return the layout of a batch, given statistics, and weight and bias."""
    how = channel_layout(aval_of(input).shape, None)
    x, w, b = how.reshape(widen(input), weight, bias)
    known = [ops.reshape(ops.stop_gradient(v), shape=how.weights) for v in (running_mean, running_var)]
    return how, Statistics(x, how.axes, eps, *known), (w, b)


def known_cotangents(y, operands, ct, params: dict) -> list[Any]:
    """The cotangents of input, weight and bias; the statistics get none."""
    how, by, (w, _) = arrange_known(*operands, **params)
    ct = widen(ct)
    along, total = (how.sum_for_weights(sum_axes(v, how.joint)) for v in (ct * by.unit, ct))
    grad = ct * (by.scale if w is None else by.scale * w)
    return [convert_like(grad, operands[0]), None, None, along, total]


@operation(
    "input running_mean running_var weight bias",
    name="batch_norm",
    spaces="",
    out=False,
    node="NativeBatchNormBackward0",
    cotangent=known_cotangents,
)
def normalize_by_statistics(input, running_mean, running_var, weight, bias, eps: float) -> Any:
    """Normalize by given statistics of each channel."""
    how, by, (w, b) = arrange_known(input, running_mean, running_var, weight, bias, eps)
    return convert_like(apply_norm(how, by, w, b), input)


def update_statistics(name: str, running: dict[str, Any], values, momentum: float, count: int) -> None:
    """Move the running mean and variance in place towards those of a batch with a number of values a channel; both are
    updated or, if one cannot be, none."""
    if type(momentum) is not float and not isinstance(momentum, int | float):
        raise ArgumentError(
            f"{name}(): argument 'momentum' (position 7) must be float, not {type(momentum).__name__}",
            hint="momentum=0.1",
        )
    factors = 1.0, count / max(count - 1, 1)
    moved = [
        (x, v, momentum * factor) for x, v, factor in zip(running.values(), values, factors) if x is not None
    ]
    for x, _, _ in moved:
        if not x.dtype.is_floating_point:
            raise TensorError(
                "mixed dtype (CPU): expect parameter to have scalar type of Float",
                hint=f"{name}: running statistics are of a floating dtype, not {x.dtype}",
            )
    with use_context(with_modes(CURRENT.get(), grad=False)):
        for x, _, _ in moved:
            ensure_modifiable(x)
        for x, value, rate in moved:
            if not abs(rate) <= FLOAT16_MAX:  # which a dtype may not have: to infinity, as in torch
                value, rate = value * rate, 1
            x.mul_(1 - momentum).add_(value, alpha=rate)


def single_value_error(input) -> ArgumentValueError:
    """Return the error for a batch with one value a channel, which has no variance."""
    return ArgumentValueError(
        f"Expected more than 1 value per channel when training, got input size {input.shape}",
        hint="more than one entry in the batch; model.eval(), or training=False, takes running statistics",
    )


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
        RuntimeError: a statistic or weight has not one entry for each channel, or is needed and missing.
        TypeError: `momentum` is no number.
    """
    if eps < 0 or (training and eps == 0):
        least = "positive during training" if training else "non-negative"
        raise ArgumentValueError(f"batch_norm eps must be {least}, but got {eps}", hint="eps=1e-5")
    shape = input.shape
    if training:
        if not shape:
            normalize_dim(1, 0)
        count = shape[0] * prod(shape[2:])  # of values for each channel
        if count == 1:
            raise single_value_error(input)
    if not input.numel():  # nothing to take statistics of, nor to normalize
        return scale_nothing(input, weight, bias)
    channels = shape[1] if len(shape) > 1 else 0
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, v in (statistics | {"weight": weight, "bias": bias}).items():
        if v is not None and v.shape != (channels,) and v.numel() != channels:
            raise TensorError(
                f"{name} should contain {channels} elements not {v.numel()}",
                hint="x.movedim(-1, 1), where the channels are last"
                if len(input.shape) > 2 and input.shape[-1] == v.numel()
                else f"{name} of shape ({channels},), one number for each channel",
            )
    normalize_dim(1, len(shape))
    if not training:
        for name, v in statistics.items():
            if v is None:
                raise TensorError(
                    f"{name} must be defined in evaluation mode",
                    hint="training=True normalizes by the statistics of the batch",
                )
        return normalize_by_statistics(input, running_mean, running_var, weight, bias, eps)
    y, middle, variance = batch_norm_values(input, weight, bias, eps, None)
    update_statistics("batch_norm", statistics, (middle, variance), momentum, count)
    return y


def scale_nothing(input, weight, bias) -> Any:
    """Return an input without entries, through which weight and bias have gradients of zero."""
    y = input.clone()
    y = y if weight is None else y * weight[0]
    return y if bias is None else y + bias[0]


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
            f"Expected more than 1 spatial element when training, got input size {input.shape}",
            hint="use_input_stats=False, or layer_norm",
        )
    y, middle, variance = instance_norm_values(input, weight, bias, eps, input.shape[1])
    statistics = {"running_mean": running_mean, "running_var": running_var}
    update_statistics("instance_norm", statistics, (middle.mean(0), variance.mean(0)), momentum, count)
    return y


expose_with("input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True", layer_norm)
expose_with("input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True", group_norm)
STATISTICS = "input, weight, bias, running_mean, running_var"
expose_with(f"{STATISTICS}, training, momentum, eps, cudnn_enabled", batch_norm)
expose_with(f"{STATISTICS}, use_input_stats, momentum, eps, cudnn_enabled", instance_norm)


@operation("input", spaces="nn.functional", out=False, node="DivBackward0", promote="float")
def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """The response normalization x/(k + alpha·m)^beta with the mean m of the squares of `size` neighbouring
    channels, zeros beyond the ends."""
    rank = aval_of(input).ndim
    squares = ops.move_axis(ops.square(input), 1, rank - 1)
    around = ((size // 2, (size - 1) // 2),)
    total = ops.window_sum(squares, sizes=(size,), steps=(1,), pads=around, dilations=(1,))
    total = ops.move_axis(total, rank - 1, 1)
    return input / (k + alpha * (total / size)) ** beta
