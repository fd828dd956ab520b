"""torch.cpu, and torch's devices that are never available here, with the answers that programs expect."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

from .._declare.spaces import expose
from ..errors import DeviceError


class OtherDevices(SimpleNamespace):
    """A kind of devices that is never available."""

    name: str

    def is_available(self) -> bool:
        """Whether such a device is available: False."""
        return False

    is_initialized = is_bf16_supported = is_available

    def device_count(self) -> int:
        """The number of such devices: 0."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """Do nothing, because no such device has a generator."""

    manual_seed_all = manual_seed

    def empty_cache(self) -> None:
        """Do nothing, because no such device has memory."""

    def memory_allocated(self, device: object = None) -> int:
        """How many bytes Tensors have on these devices: 0."""
        return 0

    memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated

    def synchronize(self, device: object = None) -> None:
        """Wait for a device, which there is not.

        Raises:
            DeviceError: always; an AssertionError.
        """
        raise DeviceError(
            f"Torch not compiled with {self.name.upper()} enabled",
            hint='the devices here are "cpu" and "cuda"',
        )

    set_device = current_device = get_device_name = get_device_properties = get_device_capability = (
        synchronize
    )


class Processor(SimpleNamespace):
    """The CPU with the functions of a module of devices."""

    def is_available(self) -> bool:
        """Whether there is a CPU: yes."""
        return True

    is_initialized = is_available

    def device_count(self) -> int:
        """How many CPUs there are for Tensors: 1."""
        return 1

    def current_device(self) -> str:
        """The CPU in use."""
        return "cpu"

    def synchronize(self, device: object = None) -> None:
        """Do nothing, because all work is done."""

    set_device = synchronize

    def current_stream(self, device: object = None) -> None:
        """The stream of the work: None, everything is done in its order."""

    def stream(self, stream: object) -> AbstractContextManager[None]:
        """Context manager for a stream, which changes nothing."""
        return nullcontext()


expose(name="cpu")(Processor())
for kind in ("mps", "mtia", "xpu"):
    expose(name=kind)(OtherDevices(name=kind))
