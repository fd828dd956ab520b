"""What programs ask CUDA devices, and tell them. Where there is none, questions have the answers of a torch without
CUDA, and what needs a device raises."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.absence import make_absent
from .._core.errors import DeviceError
from .._core.tensor import Tensor
from .._make import generators
from .._make.devices import as_device, device_count, import_cupy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

has_half = True
default_generators: tuple[generators.Generator, ...] = ()
NO_STREAMS = "work on a CUDA device is in the stream that CuPy has chosen: cupy.cuda.Stream"
Event, ExternalStream, Stream, StreamContext = (
    make_absent(f"torch.cuda.{name}", NO_STREAMS)
    for name in ("Event", "ExternalStream", "Stream", "StreamContext")
)
CUDAGraph, MemPool, graph = (
    make_absent(f"torch.cuda.{name}", NO_STREAMS) for name in ("CUDAGraph", "MemPool", "graph")
)


class CudaError(RuntimeError):
    """The error of a CUDA device in torch; here it is CuPy's."""


class AcceleratorError(RuntimeError):
    """The error of an accelerator in torch; here it is CuPy's."""


class OutOfMemoryError(RuntimeError):
    """The error of torch where a device has no memory left; here it is CuPy's."""


def is_available() -> bool:
    """Whether CuPy is installed and finds a device."""
    return device_count() > 0


is_initialized = is_available


def device_number(device: Any = None) -> int:
    """Return the number of a device as users give it: None is the one in use."""
    if device is None:
        return current_device()
    return device if isinstance(device, int) else as_device(device).index or 0


def current_device() -> int:
    """The number of the device in use."""
    return import_cupy().cuda.Device().id


def init() -> None:
    """Make sure that there is a device.

    Raises:
        DeviceError: there is none; an AssertionError.
    """
    if not is_available():
        import_cupy()
        raise DeviceError("Torch not compiled with CUDA enabled", hint="there is no CUDA device")


def set_device(device: Any) -> None:
    """Use another device from now on; a negative number changes nothing, nor does anything where there is no device."""
    if is_available() and device_number(device) >= 0:
        import_cupy().cuda.Device(device_number(device)).use()


@contextmanager
def device(device: Any) -> Iterator[None]:
    """Context manager in which another device is used; None or a negative number changes nothing."""
    if device is None or not is_available() or device_number(device) < 0:
        yield
    else:
        with import_cupy().cuda.Device(device_number(device)):
            yield


def device_of(obj: Tensor) -> AbstractContextManager[None]:
    """Context manager in which the device of a Tensor is used; one on the CPU changes nothing."""
    return device(obj.device.index or 0) if obj.is_cuda else nullcontext()


def stream(stream: Any) -> AbstractContextManager[None]:
    """Context manager for a stream: None, since there are no others."""
    return nullcontext()


def current_stream(device: Any = None) -> NoReturn:
    """The stream of the work: see `Stream`."""
    raise DeviceError("Torch not compiled with CUDA enabled", hint=NO_STREAMS)


default_stream = current_stream


def synchronize(device: Any = None) -> None:
    """Wait until the device has finished all its work."""
    import_cupy().cuda.Device(device_number(device)).synchronize()


# -- properties ------------------------------------------
def get_device_properties(device: Any = None) -> Any:
    """What CUDA knows of a device: `name`, `major`, `minor`, `total_memory`, `multi_processor_count`."""
    from types import SimpleNamespace

    found = import_cupy().cuda.runtime.getDeviceProperties(device_number(device))
    return SimpleNamespace(
        name=found["name"].decode(),
        major=found["major"],
        minor=found["minor"],
        total_memory=found["totalGlobalMem"],
        multi_processor_count=found["multiProcessorCount"],
    )


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures for which this was compiled: none, kernels are compiled for the device at hand."""
    return []


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device computes in bfloat16: not by CuPy."""
    return False


is_tf32_supported = is_current_stream_capturing = is_bf16_supported


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device reaches the memory of another."""
    return bool(
        import_cupy().cuda.runtime.deviceCanAccessPeer(device_number(device), device_number(peer_device))
    )


# -- memory ------------------------------------------
def memory_allocated(device: Any = None) -> int:
    """How many bytes Tensors have on the device in use: 0 without one."""
    return import_cupy().get_default_memory_pool().used_bytes() if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """How many bytes CuPy's pool has on the device in use: 0 without one."""
    return import_cupy().get_default_memory_pool().total_bytes() if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """At least the bytes that Tensors have now: the greatest number so far is not counted."""
    return memory_allocated(device)


def max_memory_reserved(device: Any = None) -> int:
    """The bytes of CuPy's pool, which shrinks only by `empty_cache`."""
    return memory_reserved(device)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free bytes, all bytes) of a device."""
    return import_cupy().cuda.Device(device_number(device)).mem_info


def empty_cache() -> None:
    """Give the memory that CuPy's pool holds back to the device."""
    if is_available():
        import_cupy().get_default_memory_pool().free_all_blocks()


def memory_stats(device: Any = None) -> dict[str, int]:
    """What the pool counts: nothing by torch's names."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The bytes of Tensors and of the pool, as a text."""
    return f"allocated {memory_allocated(device)} bytes, reserved {memory_reserved(device)} bytes"


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the greatest numbers of bytes: none are kept."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = (
    reset_peak_memory_stats
)


def ipc_collect() -> None:
    """Free what other processes have shared: nothing."""


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Bound the memory of CuPy's pool."""
    import_cupy().get_default_memory_pool().set_limit(fraction=fraction)


# -- random numbers: one default generator serves all devices ------------------------------------------
def manual_seed(seed: int) -> None:
    """Restart the default generator, which serves all devices, from a seed."""
    generators.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the default generator, which serves all devices, from a seed."""
    generators.manual_seed(seed)


def seed() -> None:
    """Restart the default generator from a seed of the operating system, if there is a device."""
    if is_available():
        generators.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed from which the default generator started."""
    init()
    return generators.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the default generator."""
    init()
    return generators.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the default generator to a state."""
    init()
    generators.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices."""
    return [generators.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Set all devices to their states, which are that of the default generator."""
    for state in new_states:
        generators.set_rng_state(state)


RANDOM = """
    get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state
    set_rng_state_all
"""
__all__ = [
    "AcceleratorError", "CUDAGraph", "CudaError", "Event", "ExternalStream", "MemPool", "OutOfMemoryError", "Stream",
    "StreamContext", "can_device_access_peer", "current_device", "current_stream", "default_generators",
    "default_stream", "device", "device_count", "device_of", "empty_cache",
    "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "graph", "has_half", "init",
    "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized",
    "is_tf32_supported", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_device", "set_per_process_memory_fraction", "stream", "synchronize",
    *RANDOM.split(),
]  # fmt: skip
