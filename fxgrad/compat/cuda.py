"""torch.cuda: the CUDA devices, which are CuPy's."""

from __future__ import annotations

from ._make import generators
from ._make.devices import cupy, device_count


def is_available() -> bool:
    """Whether CuPy is installed and finds a device."""
    return device_count() > 0


def current_device() -> int:
    """The number of the device in use."""
    return cupy().cuda.Device().id


def synchronize(device: object = None) -> None:
    """Wait until the device has done all that was asked of it."""
    cupy().cuda.Device(device).synchronize()


def manual_seed(seed: int) -> None:
    """Have the default generator, which is that of all devices, begin anew from a seed."""
    generators.manual_seed(seed)


manual_seed_all = manual_seed

__all__ = ["current_device", "device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
