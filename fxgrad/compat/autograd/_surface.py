"""The names of `torch.autograd`."""

from .. import _surface  # Tensors have all their methods
from . import forward_ad, function, functional, grad_mode, graph, members
from .function import Function, NestedIOFunction
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .variable import Variable, variable

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "backward",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
