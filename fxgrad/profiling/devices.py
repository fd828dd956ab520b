"""Clocks of the devices on which arrays are: CUDA's events, by CuPy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class CudaClock:
    """The time between two events in the stream in use."""

    __slots__ = ("begin", "end")

    def __init__(self, cuda: Any):
        self.begin, self.end = cuda.Event(), cuda.Event()
        self.begin.record()

    def stop(self) -> None:
        """Set the second event."""
        self.end.record()

    def elapsed(self) -> int:
        """Wait for the device, and return the nanoseconds between the events."""
        self.end.synchronize()
        return int(sys.modules["cupy"].cuda.get_elapsed_time(self.begin, self.end) * 1e6)


def device_clock(operands: Sequence[Any]) -> CudaClock | None:
    """Start a clock if some operand is an array of CuPy's."""
    cupy = sys.modules.get("cupy")
    if cupy is None or not any(isinstance(x, cupy.ndarray) for x in operands):
        return None
    return CudaClock(cupy.cuda)
