"""Padding by constants, reflection, replication and wrapping."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import numpy as fnp
from ....extend import aval_of, ops
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import NotSupportedError, TensorError
from ..declarers import number_like, refuse

# torch's modes, and NumPy's that fill in the same way.
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@operation(
    "input",
    name="constant_pad_nd",
    in_range="value",
    spaces="function",
    out=False,
    node="ConstantPadNdBackward0",
)
def constant_pad(input, pad, value=0) -> Any:
    """Pad with a constant; negative widths crop."""
    shape = aval_of(input).shape
    widths = pad_widths(pad, len(shape))
    inside = tuple(slice(max(-low, 0), n - max(-high, 0), None) for n, (low, high) in zip(shape, widths))
    value = number_like(value, input)
    for n, (low, high) in zip(shape, widths):
        if remaining_size(n, low, high) < 0:
            raise TensorError(
                "narrow(): length must be non-negative.", hint=f"{-n} or more, before and after together"
            )
        if n + low + high < 0:
            raise TensorError(
                f"The input size {n}, plus negative padding {low} and {high}, resulted in a negative output size, "
                "which is invalid.",
                hint=f"{-n} or more, before and after together",
            )
    x = ops.getitem(input, index=inside)
    widths = tuple((max(low, 0), max(high, 0)) for low, high in widths)
    is_zero = fnp.padding.is_positive_zero(value)
    return ops.pad(x, widths=widths) if is_zero else fnp.pad(x, widths, constant_values=value)


def remaining_size(n: int, low: int, high: int) -> int:
    """The number of n entries that negative widths leave."""
    return n + min(low, 0) + min(high, 0)


def check_pairs(pad) -> None:
    """Raise unless there are two widths for each dimension."""
    if len(pad) % 2:
        raise TensorError(
            "Padding length must be divisible by 2",
            hint="two widths for each dimension, the last dimension first: pad=(left, right, top, bottom)",
        )


def pad_widths(pad, ndim: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for each axis; `pad` has those of the last axis first."""
    check_pairs(pad)
    if len(pad) > 2 * ndim:
        raise TensorError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {ndim}",
            hint=f"pad={tuple(pad[: 2 * ndim])}",
        )
    found = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return ((0, 0),) * (ndim - len(found)) + tuple(found[::-1])


@operation("input", name="pad", spaces="", out=False)
def pad_values(input, pad, mode: str) -> Any:
    """Pad with entries of the input itself."""
    x = input
    for axis, (low, high) in enumerate(pad_widths(pad, aval_of(x).ndim)):
        if low or high:
            n = aval_of(x).shape[axis]
            around, cut = (max(low, 0), max(high, 0)), (max(-low, 0), max(-high, 0))
            places = np.arange(n)
            if mode == "circular":  # of what is left
                places, cut = places[cut[0] : n - cut[1]], (0, 0)
            places = np.pad(places, around, MODES[mode])  # type: ignore[call-overload]
            places = places[cut[0] : len(places) - cut[1]]
            x = ops.getitem(x, places, index=(slice(None, None, None),) * axis + (ops.ARRAY,))
    return x


def check_pad(input, pad, mode: str) -> None:
    """Raise for operands and widths that torch does not pad."""
    if mode not in MODES:
        raise NotSupportedError(
            f"Unrecognised padding mode {mode}", hint='mode="constant", "reflect", "replicate" or "circular"'
        )
    if mode != "circular":
        refuse("b", input, operation=f"{mode}_pad")
    count, ndim = len(pad) // 2, input.ndim
    check_pairs(pad)
    if ndim not in (count + 1, count + 2) or count not in (1, 2, 3):
        raise NotSupportedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now",
            hint="pad the last dimensions, and have at most two before them",
        )
    for axis in range(ndim - count, ndim):
        low, high = pad[2 * (ndim - 1 - axis)], pad[2 * (ndim - 1 - axis) + 1]
        n = input.shape[axis]
        if mode == "reflect" and max(low, high) >= n:
            raise TensorError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {axis} of input {list(input.shape)}",
                hint=f'{n - 1} at most; mode="replicate" or "circular"',
            )
        if mode != "circular" and n + low + high < 1:
            raise TensorError(
                f"input (dim {axis}: {n}) is too small. Calculated output size: {n + low + high}",
                hint="negative widths leave nothing to fill in from",
            )
        if mode == "circular" and remaining_size(n, low, high) < 0:
            raise TensorError(
                "Negative padding value is resulting in an empty dimension",
                hint=f"{1 - n} or more, before and after together",
            )
        if mode == "circular" and max(low, high) > remaining_size(n, low, high):
            raise TensorError(
                "Padding value causes wrapping around more than once.",
                hint=f"{max(remaining_size(n, low, high), 0)} at most, or x.repeat(…)",
            )


@expose("nn.functional")
def pad(input, pad, mode: str = "constant", value=None) -> Any:
    """Pad a Tensor.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, …; negative numbers cut off.
        mode: "constant", with `value`; "reflect", "replicate" or "circular", of the last one to three dimensions.

    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (2, 1), "reflect").tolist()
    [[3, 2, 1, 2, 3, 2]]
    """
    pad = tuple(pad)
    if mode == "constant":
        return constant_pad(input, pad, 0 if value is None else value)
    if value:
        raise TensorError(
            f'Padding mode "{mode}" doesn\'t take in value argument', hint='value=None, or mode="constant"'
        )
    check_pad(input, pad, mode)
    return pad_values(input, pad, mode)
