"""The names of `torch.autograd`."""

from .. import _surface  # Tensors have all their methods
from .._core.backward.saved_tensors import SavedTensor
from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph, members
from .anomaly_mode import detect_anomaly, set_detect_anomaly
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
from .profiler_state import DeviceType, ProfilerActivity, _profiler_enabled, kineto_available
from .variable import Variable, variable

__all__ = [
    "DeviceType",
    "Function",
    "NestedIOFunction",
    "ProfilerActivity",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
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
    "kineto_available",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
