"""Devices: the CPU holds NumPy arrays, CUDA devices hold CuPy arrays.

An operation runs on the device of its operands, in CuPy's current stream (`with cupy.cuda.Stream(): …`). Operations
without array operands run on the default device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

from .errors import DeviceError, DTypeError
from .interpreter import Tracer, api_boundary
from .library import load_library

KINDS = ("cpu", "cuda")


class Device:
    """A device: `kind` is "cpu" or "cuda", `index` its number among those of its kind.

    >>> fx.devices()[0], fx.Device("cpu") == fx.devices()[0], str(fx.Device("cuda", 1))
    (Device('cpu:0'), True, 'cuda:1')
    """

    __slots__ = ("_place",)

    # No dataclass: `dataclasses` would take an eighth of the package's import.
    @api_boundary
    def __init__(self, kind: str, index: int = 0):
        self._place = kind, index

    @property
    def kind(self) -> str:
        """The name of the kind: "cpu" or "cuda"."""
        return self._place[0]

    @property
    def index(self) -> int:
        """The number among the devices of this kind."""
        return self._place[1]

    def __eq__(self, other: object) -> bool:
        return self._place == other._place if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._place)

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}"

    def __repr__(self) -> str:
        return f"Device('{self}')"


class Placement:
    """Base class of what `fx.device_put` takes in the place of a device, and says by itself where an array lies."""

    def place(self, value: Any) -> Any:
        """Return an array as it lies there."""
        raise NotImplementedError


CPU = Device("cpu")
DEFAULT_DEVICE: ContextVar[Device] = ContextVar("fxgrad default device of arrays", default=CPU)


def load_cupy(purpose: str = "a CUDA device") -> Any:
    """Import CuPy; raise MissingLibraryError where it is not installed."""
    return load_library("cupy", "cuda12", purpose)


def count_cuda_devices() -> int:
    """How many CUDA devices there are: none without CuPy, or without a driver."""
    try:
        return load_cupy().cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError):  # of CuPy, or of what it needs; CUDA's errors are RuntimeErrors
        return 0


@api_boundary
def devices(kind: str | None = None) -> list[Device]:
    """The available devices.

    Args:
        kind: "cpu" or "cuda" for those of one kind only.

    Returns:
        A list of `Device`s: the processor, then CUDA devices, of which there are none without CuPy.

    Raises:
        DeviceError: there are no devices of that name.

    >>> fx.devices("cpu")
    [Device('cpu:0')]
    """
    if kind not in (None, *KINDS):
        raise DeviceError(f"there are no devices of the kind {kind!r}", hint='"cpu" or "cuda"')
    found = [] if kind == "cuda" else [CPU]
    return found if kind == "cpu" else [*found, *(Device("cuda", i) for i in range(count_cuda_devices()))]


def default_backend() -> str:
    """The kind of device on which new arrays are created, in JAX's words: "cpu", or "gpu" if the default device is a
    CUDA device.

    >>> fx.default_backend()
    'cpu'
    """
    return "cpu" if DEFAULT_DEVICE.get() == CPU else "gpu"


def as_device(given: Any) -> Device:
    """Return the device that users name: by itself, as "cpu", "cuda" or "cuda:1", as CuPy's, or by None, which is the
    default device.

    Raises:
        DeviceError: there is no such device.
        MissingLibraryError: it is a CUDA device, and CuPy is not installed.
    """
    if given is None:
        return DEFAULT_DEVICE.get()
    if type(given).__module__.partition(".")[0] == "cupy" and hasattr(given, "id"):
        return Device("cuda", given.id)
    if not isinstance(given, Device):
        kind, _, index = str(given).partition(":")
        if kind not in KINDS or (index and not index.isdecimal()):
            raise DeviceError(f"there is no device {given!r}", hint='"cpu", "cuda" or "cuda:1"')
        given = Device(kind, int(index or 0))
    if given == CPU:
        return CPU
    if given.kind == "cuda":
        load_cupy(f"the device {given}")
    count = count_cuda_devices() if given.kind == "cuda" else 1
    if given.index >= count:
        names = ", ".join(map(str, devices()))
        raise DeviceError(f"there is no device {given}", hint=f"the devices here are {names}")
    return given


class default_device:
    """Context manager that sets the device of new arrays: those of `fnp.zeros`, `fnp.arange`, `fnp.asarray` of host
    data and similar functions, and keys, which random numbers follow. `default_device.set` sets it permanently.

    Args:
        device: a `Device`, or its name: "cpu", "cuda", "cuda:1".

    Raises:
        DeviceError: there is no such device.
        MissingLibraryError: it is a CUDA device, and CuPy is not installed.

    Each thread and each asynchronous task has its own. Arrays stay where they are, and operations run where their
    operands are.

    >>> with fx.default_device("cpu"):
    ...     fnp.zeros(2)
    array([0., 0.])
    """

    __slots__ = ("device", "tokens")

    device: Device

    @api_boundary
    def __init__(self, device: Any):
        self.device = as_device(device)
        self.tokens: list[Any] = []

    @staticmethod
    def set(device: Any) -> None:
        """Make a device the default one from now on; None is the processor.

        Raises:
            DeviceError: there is no such device.
        """
        DEFAULT_DEVICE.set(CPU if device is None else as_device(device))

    def __enter__(self) -> Device:
        self.tokens.append(DEFAULT_DEVICE.set(self.device))
        return self.device

    def __exit__(self, *exc: object) -> None:
        DEFAULT_DEVICE.reset(self.tokens.pop())


def is_on_cuda(value: Any) -> bool:
    """Whether a value is an array in the memory of a CUDA device."""
    return hasattr(value, "__cuda_array_interface__")


def device_of(value: Any) -> Device | None:
    """Return the device of an array, or of what a traced value has inside; None for one that stands for arrays not yet
    known."""
    while isinstance(value, Tracer):
        inside = value.contents()
        if not inside:
            return None
        value = inside[0]
    return Device("cuda", value.device.id) if is_on_cuda(value) else CPU


@contextmanager
def cuda_device(device: Device) -> Generator[Any]:
    """Context manager in which CuPy, which it gives, works on a device."""
    library = load_cupy(f"the device {device}")
    with library.cuda.Device(device.index):
        yield library


def put_array(value: Any, device: Device) -> Any:
    """Return an array on a device: itself where it is there already.

    The copy of an array in pinned memory to a CUDA device is queued in the stream in use; other copies are complete.
    """
    here = device_of(value)
    if here == device:
        return value
    if device == CPU:
        with value.device:
            return copy_in_order(value, lambda x: x.get())
    with cuda_device(device) as library:
        try:
            return copy_in_order(value, library.asarray)
        except (TypeError, ValueError) as error:
            raise DTypeError(
                f"device_put: CuPy has no arrays of {np.asarray(value).dtype}: {error}",
                hint="convert it first: x.astype(np.float32)",
            ) from error


def copy_in_order(value: Any, copy: Callable[[Any], Any]) -> Any:
    """Return the copy of an array that a function makes, with the same order of its axes in memory."""
    if not getattr(value, "ndim", 0) or value.flags.c_contiguous:
        return copy(value)
    order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    return copy(value.transpose(order)).transpose(sorted(range(value.ndim), key=order.__getitem__))


def device_in_use(device: Device | None) -> AbstractContextManager[Any]:
    """Return the context in which a CUDA device is the one in use; any other is nothing to be used."""
    if device is None or device == CPU:
        return nullcontext()
    cuda = load_cupy().cuda
    return nullcontext() if cuda.runtime.getDevice() == device.index else cuda.Device(device.index)


@api_boundary
def pinned_empty(shape: Any, dtype: Any = float) -> np.ndarray:
    """A new NumPy array in pinned (page-locked) memory, from which copies to a CUDA device run beside other work.

    Args:
        shape: its shape.
        dtype: its dtype.

    Returns:
        An array with undefined entries, which is used as any other.

    Raises:
        MissingLibraryError: CuPy is not installed.

    `fx.device_put(pinned, "cuda")` inside `with cupy.cuda.Stream(non_blocking=True):` queues the copy and returns at
    once; the array must not be written to before the stream has done it.

    >>> if any(device.kind == "cuda" for device in fx.devices()):
    ...     pinned = fx.pinned_empty((1000,), "float32")
    """
    library = load_cupy("pinned memory")
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    memory = library.cuda.alloc_pinned_memory(count * dtype.itemsize)
    return np.frombuffer(memory, dtype, count).reshape(shape)


def is_pinned_array(value: Any) -> bool:
    """Whether a value is an array in pinned memory."""
    while type(value) is np.ndarray:
        value = value.base
    memory = getattr(value, "obj", value)  # a view of memory has what it views
    return "cupy" in sys.modules and isinstance(memory, sys.modules["cupy"].cuda.PinnedMemoryPointer)
