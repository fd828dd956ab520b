"""The state of profiling: whether profiling is available, whether a profile is open, and its activities."""

from __future__ import annotations

from enum import Enum, IntEnum

from ...extend import levels


class DeviceType(IntEnum):
    """Where an event ran.

    >>> torch.autograd.DeviceType.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 1

    def __repr__(self) -> str:
        return f"<DeviceType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


class ProfilerActivity(Enum):
    """A kind of activity that is measured.

    >>> torch.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def kineto_available() -> bool:
    """Whether programs can be profiled: they can.

    Returns:
        A bool.

    >>> torch.autograd.kineto_available()
    True
    """
    return True


def _profiler_enabled() -> bool:
    """Whether a profile is open here."""
    return any(level.name == "profile" for level in levels())
