"""Clocks of devices (CUDA events, by CuPy), and the device of an array."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.interpreter import Tracer


class CudaClock:
    """The time between two events in the stream in use on a device."""

    __slots__ = ("begin", "cuda", "device", "end")

    def __init__(self, cuda: Any, device: Any):
        self.cuda, self.device = cuda, device
        with device:
            self.begin, self.end = cuda.Event(), cuda.Event()
            self.begin.record()

    def stop(self) -> None:
        """Set the second event."""
        with self.device:
            self.end.record()

    def elapsed(self) -> int:
        """Wait for the device, and return the nanoseconds between the events."""
        self.end.synchronize()
        return int(self.cuda.get_elapsed_time(self.begin, self.end) * 1e6)


def device_clock(operands: Sequence[Any]) -> CudaClock | None:
    """Start a clock if some operand is an array of CuPy's."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    arrays = map(array_behind, operands)
    device = next((x.device for x in arrays if isinstance(x, cupy.ndarray)), None)
    return None if device is None else CudaClock(cupy.cuda, device)


def array_behind(operand: Any) -> Any:
    """Return the array that an object or a traced value stands for, as far as it is known."""
    value = getattr(operand, "_fx_value", operand)
    while isinstance(value, Tracer):
        value = next(iter(value.contents()), None)
    return value


def array_types() -> tuple[type, ...]:
    """The types of arrays whose memory is counted: NumPy's, and CuPy's where that is in use."""
    cupy = sys.modules.get("cupy")
    return (np.ndarray,) if cupy is None else (np.ndarray, cupy.ndarray)
