"""torch.autograd: `backward`, `grad` and the rest of its API, each loaded on first use."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .._core.backward.saved_tensors import SavedTensor as SavedTensor
    from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph
    from .anomaly_mode import detect_anomaly as detect_anomaly
    from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
    from .function import Function as Function
    from .function import NestedIOFunction as NestedIOFunction
    from .grad_mode import enable_grad as enable_grad
    from .grad_mode import inference_mode as inference_mode
    from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
    from .grad_mode import no_grad as no_grad
    from .grad_mode import set_grad_enabled as set_grad_enabled
    from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .gradients import backward as backward
    from .gradients import grad as grad
    from .profiler_state import DeviceType as DeviceType
    from .profiler_state import ProfilerActivity as ProfilerActivity
    from .profiler_state import _profiler_enabled as _profiler_enabled
    from .profiler_state import kineto_available as kineto_available
    from .variable import Variable as Variable
    from .variable import variable as variable

LazyPackage.of(__name__, shadowed=("gradcheck", "variable"))
