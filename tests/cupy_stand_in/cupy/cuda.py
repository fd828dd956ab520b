"""Devices, streams, events, graphs and memory, as `cupy.cuda` has them: two devices without access to each other."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace

from . import _memory
from ._memory import Memory, MemoryHook, MemoryPointer, MemoryPool, PinnedMemoryPointer, PinnedMemoryPool  # noqa: F401

DEVICES = 2


class Local(threading.local):
    """What each thread has chosen: a device, and a stream on each."""

    def __init__(self):
        self.device = 0
        self.streams: dict[int, Stream] = {}


LOCAL = Local()


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's runtime."""


class Device:
    """A device: without a number the current one. As a context manager, the current one inside."""

    def __init__(self, device=None):
        self.id = LOCAL.device if device is None else int(device)
        if not 0 <= self.id < DEVICES:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        self.before.append(LOCAL.device)
        LOCAL.device = self.id
        return self

    def __exit__(self, *exc) -> None:
        LOCAL.device = self.before.pop()

    def use(self) -> None:
        LOCAL.device = self.id

    def synchronize(self) -> None:
        get_current_stream().refuse_capture("cudaDeviceSynchronize")

    @property
    def mem_info(self) -> tuple[int, int]:
        return _memory.TOTAL - _memory.pool_of(self.id).total_bytes(), _memory.TOTAL

    @property
    def compute_capability(self) -> str:
        return "80"

    @property
    def attributes(self) -> dict[str, int]:
        return {
            "MaxThreadsPerBlock": 1024,
            "MultiProcessorCount": 108,
            "WarpSize": 32,
            "MaxGridDimX": 2**31 - 1,
        }

    @property
    def pci_bus_id(self) -> str:
        return f"0000:0{self.id}:00.0"


class Stream:
    """A stream. Work is done at once; it is known in which stream, and while one captures, what is to be done again.
    Pointers 0, 1 and 2 are those of the default streams."""

    serial = itertools.count(3)
    null: Stream
    ptds: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority=None):
        self.ptr = 0 if null else 2 if ptds else next(Stream.serial)
        self.device_id, self.non_blocking, self.priority = (
            -1 if null or ptds else LOCAL.device,
            non_blocking,
            priority,
        )
        self.before: list[Stream | None] = []
        self.captured: Graph | None = None

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"

    def __eq__(self, other) -> bool:
        return isinstance(other, Stream | ExternalStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __enter__(self) -> Stream:
        self.before.append(LOCAL.streams.get(LOCAL.device))
        self.use()
        return self

    def __exit__(self, *exc) -> None:
        LOCAL.streams[LOCAL.device] = self.before.pop() or Stream.null

    def use(self) -> Stream:
        if self.device_id not in (-1, LOCAL.device):
            raise RuntimeError(f"This stream was not created on the current device {LOCAL.device}")
        LOCAL.streams[LOCAL.device] = self
        return self

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.refuse_capture("cudaStreamSynchronize")

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        pass

    def add_callback(self, callback: Callable, arg) -> None:
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable, arg) -> None:
        callback(arg)

    def begin_capture(self, mode=None) -> None:
        if self.ptr == 0:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported: the default stream cannot be captured")
        self.captured = Graph()

    def is_capturing(self) -> bool:
        return self.captured is not None

    def end_capture(self) -> Graph:
        if self.captured is None:
            raise CUDARuntimeError(
                "cudaErrorIllegalState: the operation cannot be performed in the present state"
            )
        graph, self.captured = self.captured, None
        return graph

    def refuse_capture(self, operation: str) -> None:
        """Raise CUDA's error for what cannot be captured."""
        if self.captured is not None:
            self.captured = None
            raise CUDARuntimeError(
                f"cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing ({operation})"
            )


class ExternalStream(Stream):
    """A stream that another library has made."""

    def __init__(self, ptr: int, device_id: int = -1):
        super().__init__()
        self.ptr, self.device_id = ptr, device_id


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


def get_current_stream(device_id: int = -1) -> Stream:
    return LOCAL.streams.get(LOCAL.device if device_id < 0 else device_id, Stream.null)


class Graph:
    """Captured work, which `launch` does again in the same memory."""

    def __init__(self):
        self.steps: list[Callable[[], None]] = []

    def launch(self, stream: Stream | None = None) -> None:
        for step in self.steps:
            step()

    def upload(self, stream: Stream | None = None) -> None:
        pass


class Event:
    """A point in a stream, with the time at which it was reached."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False):
        self.timed, self.moment = not disable_timing, None
        self.ptr = id(self)

    def record(self, stream: Stream | None = None) -> None:
        self.moment = time.perf_counter()

    def synchronize(self) -> None:
        pass

    @property
    def done(self) -> bool:
        return True


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the milliseconds between two events."""
    moments = start_event.moment, end_event.moment
    if None in moments or not (start_event.timed and end_event.timed):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (moments[1] - moments[0]) * 1e3


# -- the runtime -------------------------------------------------------------------------------------------
def check_device(device: int) -> int:
    return Device(device).id


def get_device_properties(device: int) -> dict:
    return {
        "name": b"NumPy standing in for a GPU",
        "major": 8,
        "minor": 0,
        "totalGlobalMem": _memory.TOTAL,
        "multiProcessorCount": 108,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "uuid": bytes([check_device(device)] * 16),
    }


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: DEVICES,
    getDevice=lambda: LOCAL.device,
    setDevice=lambda device: Device(device).use(),
    getDeviceProperties=get_device_properties,
    deviceCanAccessPeer=lambda device, peer: int(check_device(device) == check_device(peer)),
    deviceSynchronize=lambda: Device().synchronize(),
    memGetInfo=lambda: Device().mem_info,
    runtimeGetVersion=lambda: 12090,
    driverGetVersion=lambda: 12090,
    is_hip=False,
    streamCaptureModeGlobal=0,
    streamCaptureModeThreadLocal=1,
    streamCaptureModeRelaxed=2,
)


def is_available() -> bool:
    return True


def get_device_id() -> int:
    return LOCAL.device


def reset() -> None:
    """Choose the first device and its default stream, and lift the limits of memory: what the stand-in starts with."""
    LOCAL.device = 0
    LOCAL.streams.clear()
    for pool in _memory.POOLS.values():
        pool.set_limit(0)


# -- memory ------------------------------------------------------------------------------------------------
PINNED = PinnedMemoryPool()


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    return PINNED.malloc(size)


def set_pinned_memory_allocator(allocator: Callable | None = None) -> None:
    """Ignored: memory is NumPy's."""


@contextmanager
def using_allocator(allocator: Callable | None = None):
    """Ignored as well."""
    yield


class PinnedMemory(PinnedMemoryPointer):
    """Pinned memory without a pool."""
