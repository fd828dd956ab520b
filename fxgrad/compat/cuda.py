"""torch.cuda: the CUDA devices, which are CuPy's."""

from __future__ import annotations

from .devices import cupy, device_count
from .random import manual_seed


def is_available() -> bool:
    """Whether CuPy is installed and finds a device."""
    return device_count() > 0


def current_device() -> int:
    """The number of the device in use."""
    return cupy().cuda.Device().id


def synchronize(device: object = None) -> None:
    """Wait until the device has done all that was asked of it."""
    cupy().cuda.Device(device).synchronize()


manual_seed_all = manual_seed

__all__ = ["current_device", "device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
