"""torch.nn.grad: the gradients of a convolution, computed from the gradient of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.tensor import Tensor
from .._make.creation import zeros
from ..autograd.gradients import grad
from . import functional


def make_gradients(name: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Make the functions that give the gradients of a convolution's input and weight. A convolution is linear in both:
    the gradient at zeros is that at any."""
    convolve: Any = getattr(functional, name)

    def find_gradient(
        size: Any, other: Tensor, grad_output: Tensor, swapped: bool, how: tuple[Any, ...]
    ) -> Tensor:
        start = zeros(size, dtype=other.dtype, device=other.device, requires_grad=True)
        result = convolve(*((other, start) if swapped else (start, other)), None, *how)
        recorded = grad_output.requires_grad or other.requires_grad
        return grad(result, start, grad_output, create_graph=recorded)[0]

    def input_gradient(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        return find_gradient(input_size, weight, grad_output, False, (stride, padding, dilation, groups))

    def weight_gradient(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        return find_gradient(weight_size, input, grad_output, True, (stride, padding, dilation, groups))

    for operand, gradient in (("input", input_gradient), ("weight", weight_gradient)):
        gradient.__name__ = gradient.__qualname__ = f"{name}_{operand}"
        gradient.__doc__ = (
            f"Return the gradient of the {operand} of `{name}`, given its size and that of the result."
        )
    return input_gradient, weight_gradient


conv1d_input, conv1d_weight = make_gradients("conv1d")
conv2d_input, conv2d_weight = make_gradients("conv2d")
conv3d_input, conv3d_weight = make_gradients("conv3d")

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
