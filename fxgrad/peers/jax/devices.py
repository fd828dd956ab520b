"""The one device of programs written for JAX, and how arrays lie on it: whole. An array that was placed says by which
sharding; results of operations have the device's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self


class CpuDevice:
    """The CPU, as JAX describes a device."""

    id = process_index = local_hardware_id = host_id = 0
    platform = device_kind = "cpu"

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"

    __str__ = lambda self: "cpu:0"  # noqa: E731

    def memory_stats(self) -> None:
        """Return what is known of its memory: nothing."""


CPU = CpuDevice()


class Sharding:
    """How an array lies on devices: whole, on the one there is."""

    is_fully_replicated = is_fully_addressable = True
    memory_kind, num_devices = "device", 1
    device_set = addressable_devices = property(lambda self: {CPU}, doc="The devices.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of what lies on a device: the whole array."""
        return tuple(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether an array lies in the same way by another sharding: on one device always."""
        return isinstance(other, Sharding)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Any, tuple[slice, ...]]:
        """Return which part of an array of a shape lies on each device."""
        return {CPU: (slice(None),) * len(self.shard_shape(global_shape))}

    addressable_devices_indices_map = devices_indices_map


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

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


WHOLE = SingleDeviceSharding()


def as_sharding(given: Any) -> Any:
    """Return the sharding of a device; anything else as it is."""
    return SingleDeviceSharding(given) if isinstance(given, CpuDevice) else given


class OnDevice:
    """What arrays and keys say of where they are; the attribute `_fx_sharding` is there once they were placed."""

    __slots__ = ()
    _fx_value: Any
    ndim: Any

    device = property(lambda self: CPU, doc="The device on which it is.")
    sharding = property(lambda self: getattr(self, "_fx_sharding", WHOLE), doc="How it lies on devices.")
    committed = property(lambda self: hasattr(self, "_fx_sharding"), doc="Whether it was placed.")
    is_fully_addressable = is_fully_replicated = property(lambda self: True, doc="As it is on one device.")
    addressable_shards = global_shards = property(
        lambda self: [Shard(CPU, (slice(None),) * self.ndim, 0, self)], doc="The parts on the devices: one."
    )

    def placed(self, sharding: Sharding) -> Self:
        """Return the same as lying by a sharding."""
        made = object.__new__(type(self))
        made._fx_value, made._fx_sharding = self._fx_value, sharding  # type: ignore[attr-defined]
        return made

    def devices(self) -> set[Any]:
        """Return the devices on which it is."""
        return {CPU}

    def addressable_data(self, index: int) -> Any:
        """Return the part on a device."""
        return self.addressable_shards[index].data

    def block_until_ready(self) -> Self:
        """Return it: it has been computed."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: it is in the host's memory."""

    def is_deleted(self) -> bool:
        """Whether its memory was given back: never."""
        return False

    def is_ready(self) -> bool:
        """Whether it has been computed: always."""
        return True
