"""The one device of programs written for JAX, and how arrays lie on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class CpuDevice:
    """The CPU, as JAX describes a device."""

    id = process_index = local_hardware_id = host_id = 0
    platform = device_kind = "cpu"

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"

    __str__ = lambda self: "TFRT_CPU_0"  # noqa: E731

    def memory_stats(self) -> None:
        """Return what is known of its memory: nothing."""


CPU = CpuDevice()


class Sharding:
    """How an array lies on devices: whole, on the one there is."""

    device_set = frozenset({CPU})
    is_fully_replicated = is_fully_addressable = True
    memory_kind = "device"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what lies on a device: the whole array."""
        return tuple(global_shape)


class SingleDeviceSharding(Sharding):
    """All of an array on one device."""

    def __init__(self, device: Any = CPU, *, memory_kind: str | None = None):
        self._device = device

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"


@dataclass(frozen=True)
class Shard:
    """The part of an array on a device: all of it."""

    device: Any
    index: tuple[slice, ...]
    replica_id: int
    data: Any
