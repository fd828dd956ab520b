"""Queries and settings of CUDA devices. Without a device, queries answer as a torch without CUDA does, and functions
that need a device raise an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.absence import make_absent
from .._core.tensor import Tensor
from .._declare.packages import complete_module
from .._make import generators
from .._make.devices import as_device, device_count, import_cupy
from ..errors import DeviceError

has_half = True
default_generators: tuple[generators.Generator, ...] = ()
CUDAGraph, MemPool, graph = (
    make_absent(f"torch.cuda.{name}", "memory is that of CuPy's pool, and work is launched as it comes")
    for name in ("CUDAGraph", "MemPool", "graph")
)


class CudaError(RuntimeError):
    """The error of a CUDA device in torch; here it is CuPy's.

    Args:
        code: the number of the error.

    >>> str(torch.cuda.CudaError(2))
    'CUDA error (2)'
    """

    def __init__(self, code: int):
        super().__init__(f"CUDA error ({code})")


class AcceleratorError(RuntimeError):
    """The error of an accelerator in torch; here it is CuPy's.

    >>> issubclass(torch.AcceleratorError, Exception)
    True
    """


class OutOfMemoryError(RuntimeError):
    """The error of torch where a device has no memory left; here it is CuPy's.

    >>> issubclass(torch.OutOfMemoryError, Exception)
    True
    """


def is_available() -> bool:
    """Whether CuPy is installed and finds a device.

    >>> torch.cuda.is_available() in (True, False)
    True
    """
    return device_count() > 0


is_initialized = is_available


def device_number(device: Any = None) -> int:
    """Return the number of a device that the user specified: None is the one in use."""
    if device is None:
        return current_device()
    return device if isinstance(device, int) else as_device(device).index or 0


def current_device() -> int:
    """The number of the device in use.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.current_device()
    """
    return import_cupy().cuda.Device().id


def init() -> None:
    """Make sure that there is a device.

    Raises:
        DeviceError: there is none; an AssertionError.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.init()
    """
    if not is_available():
        import_cupy()
        raise DeviceError("Torch not compiled with CUDA enabled", hint="there is no CUDA device")


def set_device(device: Any) -> None:
    """Use another device from now on; a negative number changes nothing, nor does anything if there is no device.

    >>> torch.cuda.set_device(-1)
    """
    if is_available() and device_number(device) >= 0:
        import_cupy().cuda.Device(device_number(device)).use()


@contextmanager
def device(device: Any) -> Iterator[None]:
    """Context manager in which another device is used; None or a negative number changes nothing.

    >>> with torch.cuda.device(None):
    ...     x = torch.zeros(2)
    """
    if device is None or not is_available() or device_number(device) < 0:
        yield
    else:
        with import_cupy().cuda.Device(device_number(device)):
            yield


def device_of(obj: Tensor) -> AbstractContextManager[None]:
    """Context manager in which the device of a Tensor is used; one on the CPU changes nothing.

    Args:
        obj: a Tensor.

    >>> with torch.cuda.device_of(torch.zeros(2)):
    ...     x = torch.zeros(2)
    """
    return device(obj.device.index or 0) if obj.is_cuda else nullcontext()


def synchronize(device: Any = None) -> None:
    """Wait until the device has finished all its work.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.synchronize()
    """
    import_cupy().cuda.Device(device_number(device)).synchronize()


# -- properties ------------------------------------------
def get_device_properties(device: Any = None) -> Any:
    """The properties of a device, from CUDA: `name`, `major`, `minor`, `total_memory`, `multi_processor_count`.

    Returns:
        An object with these attributes.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.get_device_properties()
    """
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
    """The name of a device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.get_device_name()
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device.

    Returns:
        A tuple (major, minor).

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.get_device_capability()
    """
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures for which this was compiled: none, kernels are compiled for the device at hand.

    Returns:
        An empty list.

    >>> torch.cuda.get_arch_list()
    []
    """
    return []


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device computes in bfloat16: not by CuPy.

    Args:
        including_emulation: whether emulation counts.

    >>> torch.cuda.is_bf16_supported() in (True, False)
    True
    """
    return False


def is_tf32_supported() -> bool:
    """Whether a device computes in TF32: not by CuPy.

    Returns:
        A bool.

    >>> torch.cuda.is_tf32_supported()
    False
    """
    return False


is_current_stream_capturing = is_tf32_supported


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device reaches the memory of another.

    Args:
        peer_device: the other device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.can_device_access_peer(0, 0)
    """
    return bool(
        import_cupy().cuda.runtime.deviceCanAccessPeer(device_number(device), device_number(peer_device))
    )


# -- random numbers: one default generator serves all devices ------------------------------------------
def manual_seed(seed: int) -> None:
    """Restart the default generator, which serves all devices, from a seed.

    >>> torch.cuda.manual_seed(0)
    """
    generators.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the default generator, which serves all devices, from a seed.

    >>> torch.cuda.manual_seed_all(0)
    """
    generators.manual_seed(seed)


def seed() -> None:
    """Restart the default generator from a seed of the operating system, if there is a device.

    >>> torch.cuda.seed_all()
    """
    if is_available():
        generators.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed from which the default generator started.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.initial_seed()
    """
    init()
    return generators.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the default generator.

    Returns:
        A vector of uint8.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.get_rng_state()
    """
    init()
    return generators.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the default generator to a state.

    Args:
        new_state: what `get_rng_state` gave.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    init()
    generators.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices.

    Returns:
        A list of vectors.

    >>> states = torch.cuda.get_rng_state_all()
    """
    return [generators.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Set all devices to their states, which are that of the default generator.

    Args:
        new_states: what `get_rng_state_all` gave.

    >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    for state in new_states:
        generators.set_rng_state(state)


RANDOM = """
    get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state
    set_rng_state_all
"""
__all__ = [
    "AcceleratorError", "CUDAGraph", "CudaError", "MemPool", "OutOfMemoryError", "can_device_access_peer",
    "current_device", "default_generators", "device", "device_count", "device_of", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "graph", "has_half", "init", "is_available",
    "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported", "set_device",
    "synchronize", *RANDOM.split(),
]  # fmt: skip


complete_module(globals(), "cuda")
