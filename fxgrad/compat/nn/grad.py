"""torch.nn.grad: gradients of convolutions, given those of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._make.creation import zeros
from ..autograd.gradients import grad
from . import functional

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core.tensor import Tensor


def input_gradient(name: str) -> Callable[..., Tensor]:
    """Make the function that gives the gradient of a convolution's input. A convolution is linear in its input: the
    gradient at zeros is that at any."""
    convolve: Any = getattr(functional, name)

    def gradient(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        start = zeros(input_size, dtype=weight.dtype, device=weight.device, requires_grad=True)
        result = convolve(start, weight, None, stride, padding, dilation, groups)
        return grad(
            result, start, grad_output, create_graph=grad_output.requires_grad or weight.requires_grad
        )[0]

    gradient.__name__ = gradient.__qualname__ = f"{name}_input"
    gradient.__doc__ = (
        f"Return the gradient of the input of `{name}`, whose size is given, from that of its result."
    )
    return gradient


def weight_gradient(name: str) -> Callable[..., Tensor]:
    """Make the function that gives the gradient of a convolution's weight, in which it is linear as well."""
    convolve: Any = getattr(functional, name)

    def gradient(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride=1, padding=0, dilation=1, groups=1
    ) -> Tensor:
        start = zeros(weight_size, dtype=input.dtype, device=input.device, requires_grad=True)
        result = convolve(input, start, None, stride, padding, dilation, groups)
        return grad(
            result, start, grad_output, create_graph=grad_output.requires_grad or input.requires_grad
        )[0]

    gradient.__name__ = gradient.__qualname__ = f"{name}_weight"
    gradient.__doc__ = (
        f"Return the gradient of the weight of `{name}`, whose size is given, from that of its result."
    )
    return gradient


conv1d_input, conv1d_weight = input_gradient("conv1d"), weight_gradient("conv1d")
conv2d_input, conv2d_weight = input_gradient("conv2d"), weight_gradient("conv2d")
conv3d_input, conv3d_weight = input_gradient("conv3d"), weight_gradient("conv3d")

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
