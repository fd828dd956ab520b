"""Linear maps, and reshaping modules."""

from __future__ import annotations

import math
from typing import Any

from ..._declare.packages import complete_module
from ...errors import ArgumentError, ArgumentValueError
from .. import functional, init
from ..parameter import Parameter, create_parameters
from .module import Module


class Identity(Module):
    """The input itself, whatever it is made of.

    Args:
        args: whatever they are.
        kwargs: whatever they are.

    >>> torch.nn.Identity()(torch.tensor([1.0]))
    tensor([1.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input) -> Any:
        return input


class LinearMap(Module):
    """The base of linear maps with a weight, and a bias or None."""

    weight: Parameter
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniform within 1/√fan_in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)


class Linear(LinearMap):
    """The linear map x·Wᵀ + b of the last dimension, with W (out, in) and b (out) that are learned.

    The parameters start uniform in ±1/√in_features: K. He et al., Delving deep into rectifiers, ICCV 2015.

    Args:
        in_features: the size of the input.
        bias: whether there is b.

    >>> torch.nn.Linear(3, 2)(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    _fx_shown = "in_features out_features bias"

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        features = out_features if bias else None
        create_parameters(self, device, dtype, weight=(out_features, in_features), bias=features)

    def forward(self, input) -> Any:
        return functional.linear(input, self.weight, self.bias)


class Bilinear(LinearMap):
    """The bilinear map x₁ᵀ·Aₖ·x₂ + bₖ for each output k.

    It maps (…, in1) and (…, in2) to (…, out). The parameters start uniform in ±1/√in1_features.

    Args:
        in1_features: the size of the first input.
        in2_features: the size of the second input.

    Raises:
        ValueError: `in1_features` is not positive.

    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    _fx_shown = "in1_features in2_features out_features bias"

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if in1_features <= 0:
            raise ArgumentValueError(
                f"in1_features must be > 0, but got {in1_features}", hint="in1_features=input1.shape[-1]"
            )
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        size, features = (out_features, in1_features, in2_features), out_features if bias else None
        create_parameters(self, device, dtype, weight=size, bias=features)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniform within 1/√in1_features."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2) -> Any:
        """`x₁ᵀ A x₂ + b` for each row A of the weight.

        Args:
            input1: a Tensor (…, in1_features).
            input2: a Tensor (…, in2_features).
        """
        return functional.bilinear(input1, input2, self.weight, self.bias)


class Flatten(Module):
    """Several neighbouring dimensions as one: all but the first where nothing else is said.

    Args:
        start_dim: the first dimension.
        end_dim: the last one.

    >>> torch.nn.Flatten()(torch.zeros(5, 2, 3)).shape
    torch.Size([5, 6])
    """

    _fx_shown = "start_dim end_dim"

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input) -> Any:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension as several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes in its place.

    Raises:
        TypeError: the sizes are no integers, or no names with sizes.

    >>> torch.nn.Unflatten(1, (2, 3))(torch.zeros(5, 6)).shape
    torch.Size([5, 2, 3])
    """

    _fx_shown = "dim unflattened_size"

    def __init__(self, dim: int, unflattened_size):
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise ArgumentError(
                "unflattened_size must be a tuple of ints, but found type " + type(unflattened_size).__name__,
                hint="unflattened_size=(-1, 1)",
            )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)


class PReLU(Module):
    """The parametric rectified linear unit: max(x, 0) + weight · min(x, 0), with one weight or one for each channel.

    Source: K. He et al., Delving deep into rectifiers, ICCV 2015.

    Args:
        num_parameters: 1, or the number of channels (dimension 1).
        init: the weight at the start.
        device: where the weight is made.
        dtype: the dtype of the weight.

    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    weight: Parameter
    _fx_shown = "num_parameters"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        create_parameters(self, device, dtype, weight=num_parameters)

    def reset_parameters(self) -> None:
        """Set the weights to `init` again."""
        init.constant_(self.weight, self.init)

    def forward(self, input) -> Any:
        return functional.prelu(input, self.weight)


complete_module(globals(), "nn.modules")
