"""Fake quantization: numbers rounded to a coarser grid, with straight-through derivatives, for quantization-aware
training.
"""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .._core.precision import value_dtype
from .._declare.operation import operation
from ..errors import TensorError
from .declarers import refuse


def quantize(name: str, input, scale, zero_point, low: int, high: int) -> Any:
    """The nearest multiple of the scale, within limits; the derivative is 1 there (Bengio, Léonard and Courville,
    "Estimating or propagating gradients through stochastic neurons", 2013), and 0 beyond."""
    refuse("biuc", input, operation=name)
    if low > high:
        raise TensorError(
            f"`quant_min` should be less than or equal to `quant_max`, but got {low} and {high}",
            hint=f"quant_min={high}, quant_max={low}",
        )
    place = ops.rint(ops.multiply(ops.stop_gradient(input), 1 / scale)) + zero_point
    inside = ops.logical_and(ops.greater_equal(place, low), ops.less_equal(place, high))
    rounded = (ops.minimum(ops.maximum(place, low), high) - zero_point) * scale
    value = ops.convert(rounded, dtype=value_dtype(input))
    return ops.with_derivative_of(value, ops.where(inside, input, 0))


@operation(
    "input scale zero_point",
    numbers="scale zero_point",
    spaces="function",
    out=False,
    node="FakeQuantizePerTensorAffineCachemaskBackward0",
    copies_operands=True,
)
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min: int, quant_max: int) -> Any:
    """The entries rounded to the levels of a quantization: (q - zero_point)·scale, where q is input/scale rounded,
    plus zero_point, and within the limits. The derivative is 1 where the limits are not reached.

    Args:
        input: floating numbers.
        scale: a number or a Tensor with one.
        zero_point: that of a whole number, which stands for 0.
        quant_min, quant_max: the limits of q.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.26, 9.0]), 0.5, 0, 0, 7).tolist()
    [0.5, 3.5]
    """
    return quantize("fake_quantize", input, ops.stop_gradient(scale), zero_point, quant_min, quant_max)


@operation(
    "input scale zero_point",
    spaces="function",
    out=False,
    node="FakeQuantizePerChannelAffineCachemaskBackward0",
    copies_operands=True,
)
def fake_quantize_per_channel_affine(
    input, scale, zero_point, axis: int, quant_min: int, quant_max: int
) -> Any:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each entry along `axis`."""
    shape = [1] * input.ndim
    shape[axis] = input.shape[axis]
    scale, zero_point = (ops.reshape(x, shape=tuple(shape)) for x in (ops.stop_gradient(scale), zero_point))
    return quantize("fake_quantize", input, scale, zero_point, quant_min, quant_max)
