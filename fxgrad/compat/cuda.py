"""torch.cuda: the CUDA devices, which are CuPy's."""

from __future__ import annotations

from ._make import generators
from ._make.devices import device_count, import_cupy


def is_available() -> bool:
    """Whether CuPy is installed and finds a device."""
    return device_count() > 0


def current_device() -> int:
    """The number of the device in use."""
    return import_cupy().cuda.Device().id


def synchronize(device: object = None) -> None:
    """Wait until the device has finished all its work."""
    import_cupy().cuda.Device(device).synchronize()


def manual_seed(seed: int) -> None:
    """Restart the default generator, which serves all devices, from a seed."""
    generators.manual_seed(seed)


manual_seed_all = manual_seed

__all__ = ["current_device", "device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
