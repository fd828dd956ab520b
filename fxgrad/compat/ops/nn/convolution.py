"""Convolutions: correlations (`ops.correlate`) with torch's arguments. unfold and fold are their windows."""

from __future__ import annotations

from math import prod
from typing import Any

from ....extend import aval_of, ops
from ..._core.dtypes import short_name
from ..._declare.composite import DepthwiseComposite
from ..._declare.operation import operation
from ...errors import TensorError
from ..arguments import divisors, shape_hint
from .spatial import add_batch_axis, per_dimension, remove_batch_axis, spatial_operations

CONVOLUTION: dict[str, Any] = {
    "tensors": "input weight bias",
    "spaces": "function nn.functional",
    "node": "ConvolutionBackward0",
    "composite": DepthwiseComposite,
}


def split_groups(w, groups: int) -> Any:
    """Reshape a weight (features, channels, …), so that its groups are the first axis."""
    n, *rest = aval_of(w).shape
    return ops.reshape(w, shape=(groups, n // groups, *rest))


def correlate_groups(x, w, bias, groups: int, **params) -> Any:
    """Correlate (N, C, …) with (groups, features, channels, …), and add the bias of each feature."""
    n, c, *spatial = aval_of(x).shape
    y = ops.correlate(ops.reshape(x, shape=(n, groups, c // groups, *spatial)), w, **params)
    _, _, f, *outer = aval_of(y).shape
    y = ops.reshape(y, shape=(n, groups * f, *outer))
    return y if bias is None else y + ops.reshape(bias, shape=(groups * f, *(1,) * len(outer)))


def check_operands(x, w, bias, rank: int, groups: int, channels: int, features: int) -> None:
    """Raise for dtypes and shapes that do not fit."""
    have, given = aval_of(x), aval_of(w)
    if have.dtype != given.dtype:
        names = [short_name(a.dtype) for a in (have, given)]
        raise TensorError(
            f"expected scalar type {names[0]} but found {names[1]}",
            hint="convert one of them: x.to(weight.dtype)",
        )
    if groups < 1 or given.shape[0] % groups:
        raise TensorError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and divisible by it, but "
            f"got weight of size {list(given.shape)} instead",
            hint=f"groups: one of {divisors(given.shape[0])}",
        )
    if have.shape[1] != channels:
        raise TensorError(
            f"Given groups={groups}, weight of size {list(given.shape)}, expected input{list(have.shape)} to have "
            f"{channels} channels, but got {have.shape[1]} channels instead",
            hint="x.movedim(-1, 1), where channels are last"
            if have.shape[-1] == channels
            else f"in_channels={have.shape[1]} in the layer, or x of {channels} channels",
        )
    if bias is not None and aval_of(bias).shape != (features,):
        raise TensorError(
            f"Given weight of size {list(given.shape)}, expected bias to be 1-dimensional with "
            f"{features} elements, but got bias of size {list(aval_of(bias).shape)} instead",
            hint=shape_hint("bias", aval_of(bias).shape, (features,)),
        )


def paddings(padding, sizes, steps, dilations) -> tuple[tuple[int, int], ...]:
    """The padding before and after, given as numbers, "valid" or "same"."""
    if padding == "valid":
        return ((0, 0),) * len(sizes)
    if padding == "same":
        if any(s != 1 for s in steps):
            raise TensorError(
                "padding='same' is not supported for strided convolutions",
                hint=f"padding={tuple([(k - 1) * d // 2 for k, d in zip(sizes, dilations)])}",
            )
        totals = [(k - 1) * d for k, d in zip(sizes, dilations)]
        return tuple((n // 2, n - n // 2) for n in totals)
    if isinstance(padding, str):
        raise TensorError(
            f"Invalid padding string: '{padding}', should be one of 'valid', 'same'",
            hint="padding='same', which keeps the size",
        )
    numbers = per_dimension(padding, len(sizes), "padding")
    if min(numbers) < 0:
        raise TensorError("negative padding is not supported", hint="crop: x[..., 1:-1]")
    return tuple((n, n) for n in numbers)


@spatial_operations("conv{}d", **CONVOLUTION)
def conv(rank: int, input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Any:
    """The correlation of input (N, C, *spatial) with a weight (features, C / groups, *kernel), plus each feature's
    bias.

    Args:
        stride, dilation: one number, or one for each spatial dimension.
        padding: zeros on both sides of each dimension; "same" keeps the size, "valid" is 0.

    >>> torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 3), padding="same").tolist()
    [[[2.0, 3.0, 3.0, 2.0]]]
    """
    shape = aval_of(weight).shape
    check_operands(input, weight, bias, rank, groups, shape[1] * groups, shape[0])
    steps, dilations = per_dimension(stride, rank, "stride"), per_dimension(dilation, rank, "dilation")
    if min(steps) < 1:
        raise TensorError("non-positive stride is not supported", hint="stride=1")
    if min(dilations) < 1:
        raise TensorError("dilation should be greater than zero", hint="dilation=1")
    pads = paddings(padding, shape[2:], steps, dilations)
    for n, (low, high), k, d in zip(aval_of(input).shape[2:], pads, shape[2:], dilations):
        if n + low + high < (k - 1) * d + 1:
            padded = " x ".join(str(n + a + b) for n, (a, b) in zip(aval_of(input).shape[2:], pads))
            kernel = " x ".join(str((k - 1) * d + 1) for k, d in zip(shape[2:], dilations))
            raise TensorError(
                f"Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). Kernel size can't be "
                "greater than actual input size",
                hint=f"a kernel of {padded} at most, or more padding",
            )
    return correlate_groups(
        input,
        split_groups(weight, groups),
        bias,
        groups,
        steps=steps,
        pads=pads,
        x_dilations=(1,) * rank,
        w_dilations=dilations,
    )


@spatial_operations("conv_transpose{}d", **CONVOLUTION)
def conv_transpose(
    rank: int, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1
) -> Any:
    """The transpose of a convolution, with a weight (C, features / groups, *kernel), plus the bias of each feature.

    Args:
        output_padding: by what the result is larger: of the sizes that the convolution maps to one, which.
    """
    # A correlation with the reversed weight, stride − 1 zeros between the entries.
    shape = aval_of(weight).shape
    check_operands(input, weight, bias, rank, groups, shape[0], shape[1] * groups)
    strides, dilations = per_dimension(stride, rank, "stride"), per_dimension(dilation, rank, "dilation")
    inner = per_dimension(padding, rank, "padding")
    outer = per_dimension(output_padding, rank, "output_padding")
    for extra, s, d in zip(outer, strides, dilations):
        if extra >= s and extra >= d:
            raise TensorError(
                "output padding must be smaller than either stride or dilation, but got output_padding_height: "
                f"{outer[0]} output_padding_width: {outer[-1]} stride_height: {strides[0]} stride_width: {strides[-1]} "
                f"dilation_height: {dilations[0]} dilation_width: {dilations[-1]}",
                hint=f"output_padding={tuple([min(e, max(s, d) - 1) for e, s, d in zip(outer, strides, dilations)])}",
            )
    pads = [
        ((k - 1) * d - p, (k - 1) * d - p + extra)
        for k, d, p, extra in zip(shape[2:], dilations, inner, outer)
    ]
    w = ops.permute(split_groups(weight, groups), axes=(0, 2, 1, *range(3, rank + 3)))
    return correlate_groups(
        input,
        ops.flip(w, axes=tuple(range(3, rank + 3))),
        bias,
        groups,
        steps=(1,) * rank,
        pads=tuple(pads),
        x_dilations=strides,
        w_dilations=dilations,
    )


# -- windows ------------------------------------------
@operation("input weight bias", spaces="function nn.functional", out=False)
def conv_tbc(input, weight, bias, pad: int = 0) -> Any:
    """The convolution conv1d of a sequence (time, batch, channels) by a weight (taps, in_channels, out_channels);
    the result has the form of the input."""
    if aval_of(input).ndim != 3:
        raise TensorError(
            "Input must have 3 dims: time, batch, in_channel", hint="x.unsqueeze(1), a batch of one sequence"
        )
    x, w = ops.permute(input, axes=(1, 2, 0)), ops.permute(weight, axes=(2, 1, 0))
    found = conv[0].operation.function(
        input=x, weight=w, bias=bias, stride=1, padding=pad, dilation=1, groups=1
    )
    return ops.permute(found, axes=(2, 0, 1))


def window_counts(shape, sizes, dilations, pads, steps) -> tuple[int, ...]:
    """How many windows there are along each dimension."""
    return tuple(
        (n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, d, p, s in zip(shape, sizes, dilations, pads, steps)
    )


@operation("input", spaces="nn.functional", out=False, node="Im2ColBackward0")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> Any:
    """The windows of images (N, C, H, W) as columns: (N, C·kH·kW, number of windows)."""
    x, had_batch = add_batch_axis(input, 2, "im2col")
    n, c = aval_of(x).shape[:2]
    pads = per_dimension(padding, 2, "padding")
    sizes, steps = per_dimension(kernel_size, 2, "kernel_size"), per_dimension(stride, 2, "stride")
    dilations, have = per_dimension(dilation, 2, "dilation"), aval_of(x).shape[2:]
    counts = window_counts(have, sizes, dilations, pads, steps)
    if min(counts) < 1:
        raise TensorError(
            f"Given input with spatial size {have}, kernel_size={sizes}, dilation={dilations}, padding={pads}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one.",
            hint="a smaller kernel_size or dilation, or more padding",
        )
    x = ops.pad(x, widths=((0, 0), (0, 0), *((p, p) for p in pads)))
    y = ops.windows(x, sizes=sizes, steps=steps, dilations=dilations)
    y = ops.reshape(y, shape=(n, c * prod(sizes), prod(aval_of(y).shape[4:])))
    return y if had_batch else remove_batch_axis(y)


@operation("input", spaces="nn.functional", out=False, node="Col2ImBackward0")
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Any:
    """The sum of overlapping windows that are given as columns: the transpose of unfold."""
    had_batch = aval_of(input).ndim == 3
    x = input if had_batch else ops.reshape(input, shape=(1, *aval_of(input).shape))
    n, rows, columns = aval_of(x).shape
    sizes, steps = per_dimension(kernel_size, 2, "kernel_size"), per_dimension(stride, 2, "stride")
    pads, dilations = per_dimension(padding, 2, "padding"), per_dimension(dilation, 2, "dilation")
    outer = per_dimension(output_size, 2, "output_size")
    padded = tuple(m + 2 * p for m, p in zip(outer, pads))
    counts = window_counts(outer, sizes, dilations, pads, steps)
    if rows % prod(sizes):
        raise TensorError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size=({sizes[0]}, {sizes[1]}).",
            hint=f"(batch, channels · {prod(sizes)}, blocks), as unfold gives them",
        )
    if columns != prod(counts):
        raise TensorError(
            f"Given output_size=({outer[0]}, {outer[1]}), kernel_size=({sizes[0]}, {sizes[1]}), "
            f"dilation=({dilations[0]}, {dilations[1]}), padding=({pads[0]}, {pads[1]}), stride=({steps[0]}, "
            f"{steps[1]}), expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{counts[0]} * {counts[1]} = {prod(counts)}, but got input.size(2)={columns}.",
            hint="output_size=… of the image before unfold, and unfold's own kernel_size, stride, padding and dilation",
        )
    u = ops.reshape(x, shape=(n, rows // prod(sizes), *sizes, *counts))
    y = ops.col2im(u, shape=padded, steps=steps, dilations=dilations)
    inside = tuple(slice(p, p + m, None) for p, m in zip(pads, outer))
    y = ops.getitem(y, index=(slice(None, None, None),) * 2 + inside)
    return y if had_batch else remove_batch_axis(y)
