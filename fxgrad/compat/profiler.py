"""torch.profiler: profiles of the steps of a program, built on torch.autograd.profiler."""

from .autograd.profiler import kineto_available, record_function
from .autograd.profiler_schedule import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from .autograd.profiler_state import DeviceType

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
