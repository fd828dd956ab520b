"""torch.accelerator: the device that is not the CPU, which is a CUDA device or absent."""

from __future__ import annotations

from typing import Any

from . import cuda
from ._declare.signatures import DerivedSignature
from ._declare.spaces import SPACES
from ._make.devices import as_device, device, device_count
from .errors import TensorError


def is_available() -> bool:
    """Whether there is a CUDA device.

    Returns:
        A bool.

    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return device_count() > 0


def current_accelerator(check_available: bool = False) -> device | None:
    """The kind of the device, None if there is none.

    Args:
        check_available: accepted; a kind is named if there is a device.

    Returns:
        A `torch.device`, or None.

    >>> torch.accelerator.current_accelerator() is None or torch.cuda.is_available()
    True
    """
    return device("cuda") if is_available() else None


def get_device_module(device: Any = None) -> Any:
    """Return the namespace of a kind of devices, `torch.cpu` or `torch.cuda`; of the accelerator by default, or else of
    the CPU.

    Args:
        device: the device, by its number or name; None: the one in use.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    kind = current_accelerator() if device is None else as_device(device)
    return cuda if kind is not None and kind.type == "cuda" else SPACES["function"]["cpu"]


def forward(name: str) -> Any:
    """Make the function of torch.cuda that raises if there is no device."""

    def query(*args: Any, **options: Any) -> Any:
        if not is_available():
            raise TensorError(
                "Cannot access accelerator device when none is available.",
                hint='if torch.accelerator.is_available(): …, or device="cpu"',
            )
        return getattr(cuda, name)(*args, **options)

    query.__name__ = query.__qualname__ = name
    query.__signature__ = DerivedSignature(getattr(cuda, name), list)  # type: ignore[attr-defined]
    query.__doc__ = f"""The function `torch.cuda.{name}`, of the accelerator that there is.

    Args:
        device: the device, by its number; None: the one in use.

    Returns:
        What that returns.

    Raises:
        RuntimeError: there is no accelerator.

    >>> if torch.accelerator.is_available():
    ...     query = torch.cuda.{name}
    """
    return query


current_device_index = current_device_idx = forward("current_device")
current_stream = forward("current_stream")
empty_cache = forward("empty_cache")
get_memory_info = forward("mem_get_info")
max_memory_allocated = forward("max_memory_allocated")
max_memory_reserved = forward("max_memory_reserved")
memory_allocated = forward("memory_allocated")
memory_reserved = forward("memory_reserved")
memory_stats = forward("memory_stats")
reset_peak_memory_stats = forward("reset_peak_memory_stats")
set_device_index = set_device_idx = forward("set_device")
synchronize = forward("synchronize")

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]
