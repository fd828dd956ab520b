"""Weights by their length and direction, recomputed before each call: the older form of `parametrizations`."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core.tensor import Tensor
from ...errors import ArgumentValueError, TensorError
from ..modules.module import Module
from ..parameter import Parameter


def norm_except_dim(v: Any, dim: int) -> Tensor:
    """The norms of a Tensor along all dimensions but one, which is kept; -1: along all, as one number."""
    if dim == -1:
        return v.norm()
    others = tuple(d for d in range(v.dim()) if d != dim)
    return v.norm(2, others, keepdim=True) if others else v.abs()


class WeightNorm:
    """A hook that computes a weight before each call of its module."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight of the length and direction that the module has."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace a weight by its length and direction."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        if find_hook(module, WeightNorm, name) is not None:
            raise TensorError(
                f"Cannot register two weight_norm hooks on the same parameter {name}",
                hint=f"torch.nn.utils.remove_weight_norm(module, {name!r}) before",
            )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), made.dim)))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def find_hook(module: Module, kind: type, name: str) -> int | None:
    """Return the number of the hook of a kind for a weight, or None."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return number
    return None


def remove_hook(module: Module, kind: type, name: str, what: str) -> None:
    """Take a hook for a weight away, which makes the weight a parameter again."""
    number = find_hook(module, kind, name)
    if number is None:
        raise ArgumentValueError(
            f"{what} of '{name}' not found in {module}", hint="the module and the name that it was applied to"
        )
    module._forward_pre_hooks.pop(number).remove(module)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by its length along a dimension (None: of all of it), NAME_g, and its direction, NAME_v.

    Source: T. Salimans, D. P. Kingma, Weight normalization, NeurIPS 2016.

    Args:
        module: the module.
        name: the name of the parameter.
        dim: the dimension along which the length is taken; None: of all.

    Raises:
        RuntimeError: that was done already.

    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight a parameter again, with the value that it has.

    Args:
        module: the module.
        name: the name of the parameter.

    Raises:
        ValueError: it is one.

    >>> layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> layer = torch.nn.utils.remove_weight_norm(layer)
    >>> isinstance(layer.weight, torch.nn.Parameter)
    True
    """
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module
