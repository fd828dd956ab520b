"""The numbers of processes and devices, under JAX's names."""

from __future__ import annotations

from ..core.devices import devices
from ..core.interpreter import api_boundary
from .processes import world

__all__ = ["device_count", "local_device_count", "process_count", "process_index"]


def process_index() -> int:
    """The rank of this process among those started together: `fx.distributed.world().rank`.

    >>> fx.process_index()
    0
    """
    return world().rank


def process_count() -> int:
    """The number of processes started together: `fx.distributed.world().size`.

    >>> fx.process_count()
    1
    """
    return world().size


@api_boundary
def local_device_count(kind: str | None = None) -> int:
    """The number of devices that this process can use.

    The processor is one device. Nothing is spread over devices by itself: `pmap` is not there.

    Args:
        kind: "cpu" or "cuda" for those of one kind only.

    Raises:
        DeviceError: there are no devices of that name.

    >>> fx.local_device_count("cpu")
    1
    """
    return len(devices(kind))


@api_boundary
def device_count(kind: str | None = None) -> int:
    """The number of devices of all processes, if each has as many as this one.

    Args:
        kind: "cpu" or "cuda" for those of one kind only.

    Raises:
        DeviceError: there are no devices of that name.

    >>> fx.device_count("cpu")
    1
    """
    return process_count() * local_device_count(kind)
