"""Streams and events of CUDA devices, through CuPy.

Kernels are launched in CuPy's current stream: `with torch.cuda.stream(s):` and `with cupy.cuda.Stream():` are
equivalent.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from .._make.devices import as_device, import_cupy, with_index
from .._make.devices import device as Device
from .._make.devices import device as make_device


def place_of(given: Any) -> Device:
    """Return a device with its number; None means the current device."""
    given = make_device("cuda", given) if isinstance(given, int) else given
    return with_index(make_device("cuda") if given is None else as_device(given))


class Stream:
    """A queue of work on a CUDA device, beside those of other streams.

    Args:
        device: where; on the device in use unless given.
            priority: less than zero for work that goes before that of others.

        As a context manager, the stream of the work that is launched inside. `cupy_stream` is CuPy's.

    Raises:
        DeviceError: there is no CUDA device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.Stream()
    """

    _fx_cupy_stream: Any

    def __init__(self, device: Any = None, priority: int = 0):
        self.device = place_of(device)
        library = import_cupy()
        with library.cuda.Device(self.device.index):
            self._fx_cupy_stream = library.cuda.Stream(non_blocking=True, priority=priority or None)
        self._fx_contexts: list[ExitStack] = []

    @staticmethod
    def _fx_of(cupy_stream: Any, device: Device) -> Stream:
        """Return CuPy's stream as torch's.

        Args:
            cupy_stream: that of CuPy.
            device: the device that it is on.
        """
        made = object.__new__(Stream)
        made._fx_cupy_stream, made.device, made._fx_contexts = cupy_stream, device, []
        return made

    @property
    def cuda_stream(self) -> int:
        """CUDA's pointer."""
        return self._fx_cupy_stream.ptr

    @property
    def priority(self) -> int:
        """The priority, 0 unless another was given."""
        return getattr(self._fx_cupy_stream, "priority", 0) or 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stream)
            and self.device == other.device
            and self.cuda_stream == other.cuda_stream
        )

    def __hash__(self) -> int:
        return hash((self.device, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        with ExitStack() as stack:
            stack.enter_context(import_cupy().cuda.Device(self.device.index))
            stack.enter_context(self._fx_cupy_stream)
            self._fx_contexts.append(stack.pop_all())
        return self

    def __exit__(self, *exc: object) -> None:
        self._fx_contexts.pop().close()

    def query(self) -> bool:
        """Whether all work of the stream is done."""
        return self._fx_cupy_stream.done

    def synchronize(self) -> None:
        """Wait until all work of the stream is done."""
        self._fx_cupy_stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after the present work of the stream; return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make future work wait for an event."""
        if event._fx_cupy_event is not None:
            self._fx_cupy_stream.wait_event(event._fx_cupy_event)

    def wait_stream(self, stream: Stream) -> None:
        """Make future work wait for the present work of another stream."""
        self.wait_event(stream.record_event())


class ExternalStream(Stream):
    """A stream that another library has made, of which CUDA's pointer is given.

    Args:
        stream_ptr: CUDA's pointer.
        device: the device, by its number or name; None: the one in use.

    >>> if torch.cuda.is_available():
    ...     pointer = torch.cuda.current_stream().cuda_stream
    ...     stream = torch.cuda.ExternalStream(pointer)
    """

    def __init__(self, stream_ptr: int, device: Any = None):
        self.device = place_of(device)
        self._fx_cupy_stream = import_cupy().cuda.ExternalStream(stream_ptr, self.device.index)
        self._fx_contexts = []


class Event:
    """A point in a stream.

    Args:
        enable_timing: whether the time between two events can be measured.
        blocking: whether a thread that waits for it sleeps.
        interprocess, external: accepted, and without a meaning here.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.Event()
    """

    _fx_cupy_event: Any

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ):
        self._fx_options = {"block": blocking, "disable_timing": not enable_timing}
        self._fx_cupy_event = None  # made on the device of the stream in which it is first recorded

    def __repr__(self) -> str:
        return "<torch.cuda.Event uninitialized>" if self._fx_cupy_event is None else "<torch.cuda.Event>"

    def record(self, stream: Stream | None = None) -> None:
        """Record the event after the present work of a stream, by default the current one."""
        stream = current_stream() if stream is None else stream
        library = import_cupy()
        with library.cuda.Device(stream.device.index):
            if self._fx_cupy_event is None:
                self._fx_cupy_event = library.cuda.Event(**self._fx_options)
            self._fx_cupy_event.record(stream._fx_cupy_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Make future work of a stream, by default the current one, wait for the event."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the event was reached; an event that was never recorded counts as reached."""
        return self._fx_cupy_event is None or self._fx_cupy_event.done

    def synchronize(self) -> None:
        """Wait until the event is reached."""
        if self._fx_cupy_event is not None:
            self._fx_cupy_event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to another; both are recorded, with `enable_timing`."""
        return import_cupy().cuda.get_elapsed_time(self._fx_cupy_event, end_event._fx_cupy_event)


def stream(stream: Stream | None) -> AbstractContextManager[Any]:
    """Context manager for the stream of the work that is launched inside; None changes nothing.

    >>> with torch.cuda.stream(None):
    ...     x = torch.zeros(2)
    """
    return nullcontext() if stream is None else stream


StreamContext = stream


def current_stream(device: Any = None) -> Stream:
    """The stream in use on a device.

    Raises:
        DeviceError: there is no CUDA device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.current_stream()
    """
    place = place_of(device)
    return Stream._fx_of(import_cupy().cuda.get_current_stream(place.index), place)


def default_stream(device: Any = None) -> Stream:
    """The stream of the work for which no other was chosen.

    Raises:
        DeviceError: there is no CUDA device.

    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.default_stream()
    """
    place = place_of(device)
    return Stream._fx_of(import_cupy().cuda.Stream.null, place)


def set_stream(stream: Stream) -> None:
    """Use a stream from now on, and its device.

    Returns:
        None.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_stream(torch.cuda.current_stream())
    """
    import_cupy().cuda.Device(stream.device.index).use()
    stream._fx_cupy_stream.use()


__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream",
]  # fmt: skip
