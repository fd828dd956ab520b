"""torch.profiler: profiles of the steps of a program, built on torch.autograd.profiler."""

from ..extend import show_public_names as _show_public_names
from .autograd.profiler import kineto_available as kineto_available
from .autograd.profiler import record_function as record_function
from .autograd.profiler_schedule import ProfilerAction as ProfilerAction
from .autograd.profiler_schedule import ProfilerActivity as ProfilerActivity
from .autograd.profiler_schedule import profile as profile
from .autograd.profiler_schedule import schedule as schedule
from .autograd.profiler_schedule import supported_activities as supported_activities
from .autograd.profiler_schedule import tensorboard_trace_handler as tensorboard_trace_handler
from .autograd.profiler_state import DeviceType as DeviceType

_show_public_names(__name__)
