"""Conversion of convolution weights to another memory order."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ..modules.module import Module

KINDS_2D = ("Conv2d", "ConvTranspose2d")
KINDS_3D = ("Conv3d", "ConvTranspose3d")


def convert_weights(module: Module, memory_format: Any, kinds: tuple[str, ...]) -> Module:
    """Convert the weights of the modules of these classes to an order in memory."""
    for part in module.modules():
        if any(cls.__name__ in kinds for cls in type(part).__mro__):
            with no_grad():
                part.weight.data = part.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all 2-D convolutions in a module to an order in memory; returns the module.

    Args:
        memory_format: the order, such as `torch.channels_last`.

    >>> layer = torch.nn.Conv2d(2, 3, 2)
    >>> order = torch.channels_last
    >>> layer = torch.nn.utils.convert_conv2d_weight_memory_format(layer, order)
    >>> layer.weight.is_contiguous(memory_format=order)
    True
    """
    return convert_weights(module, memory_format, KINDS_2D)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all 3-D convolutions in a module to an order in memory; returns the module.

    Args:
        memory_format: the order, such as `torch.channels_last`.

    >>> layer = torch.nn.Conv3d(2, 3, 2)
    >>> order = torch.channels_last_3d
    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(layer, order)
    >>> layer.weight.is_contiguous(memory_format=order)
    True
    """
    return convert_weights(module, memory_format, KINDS_3D)
