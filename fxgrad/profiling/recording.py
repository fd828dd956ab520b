"""A recording: the steps of a program as Events, with their times and the requested details.

An Event is open while its step runs. The open Event is in a ContextVar, so that the steps of an async task, or of a
thread that runs in a copy of the context, belong to the step that started it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import source_info
from ..core.aval import SCALARS
from ..core.surface import is_object
from .flops import count_flops
from .memory import Memory

if TYPE_CHECKING:
    from ..core.source_info import Site
    from .level import ProfileLevel

UNKNOWN: Any = object()
NUMBER = ((), None)  # how an operand that is no array is described


class Event:
    """One step of a program.

    name, kind      "sin", "primitive"; kinds are what `core.observer` tells of, and "user"
    start, end      in nanoseconds of `time.perf_counter_ns`; `end` is 0 while it is open
    outer           the Event that was open when it began, maybe of another recording
    level           the observer that saw it
    operands        (shape, dtype) of each operand, where shapes are recorded
    site, stack     the user's line, and the lines that led to it
    number          by which a forward step and its backward step belong together, or None
    flops           floating-point operations, where they are known
    allocated       bytes that were allocated less those that were freed, in this step itself
    device_allocated  the same of a device's memory
    device_time     nanoseconds of the device, where it is timed
    note            what `Recording.take_note` says
    """

    # Defaults of the class, so that an Event is made with no more than it has.
    end = flops = allocated = device_allocated = device_time = 0
    operands: Sequence[Any] = ()
    site: Site | None = None
    stack: Sequence[Site] = ()
    number: int | None = None
    note: Any = None
    device_clock: Any = None

    def __init__(self, level: ProfileLevel, kind: str, name: str, outer: Event | None):
        self.level, self.kind, self.name, self.outer = level, kind, name, outer
        self.thread = get_ident()
        self.start = 0

    @property
    def recording(self) -> Recording:
        """The recording to which it belongs."""
        return self.level.recording

    @property
    def parent(self) -> Event | None:
        """The Event of the same recording in which this one happened."""
        outer, recording = self.outer, self.level.recording
        while outer is not None and outer.level.recording is not recording:
            outer = outer.outer
        return outer

    @property
    def duration(self) -> int:
        """Nanoseconds from the beginning to the end."""
        return self.end - self.start

    @property
    def line(self) -> Site | None:
        """The user's line, or that of the step in which this one happened."""
        event: Event | None = self
        while event is not None and event.site is None:
            event = event.parent
        return None if event is None else event.site

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}, {self.duration / 1000:.3f} µs>"


OPEN: ContextVar[Event | None] = ContextVar("fxgrad profiled step", default=None)


class Recording:
    """The Events of a profile in the order in which they began, and what is recorded of them.

    Args:
        shapes: shapes and dtypes of operands.
        lines: the user's line.
        stack: all lines of the user's that led to it.
        memory: bytes allocated and freed.
        flops: floating-point operations of contractions and convolutions.
        clock: makes a clock for the device on which operands are; see `devices`.
        take_note: gives what else is to be kept of each Event.
    """

    shapes: bool
    lines: bool
    stack: bool
    flops: bool
    clock: Any
    take_note: Any
    memory: Any
    is_active: bool
    start: int
    end: int

    def __init__(
        self,
        *,
        shapes: bool = False,
        lines: bool = False,
        stack: bool = False,
        memory: bool = False,
        flops: bool = False,
        clock: Callable[[Sequence[Any]], Any] | None = None,
        take_note: Callable[[], Any] | None = None,
    ):
        self.shapes, self.lines, self.stack, self.flops = shapes, lines, stack, flops
        self.clock, self.take_note = clock, take_note
        self.memory = Memory(self) if memory else None
        self.events: list[Event] = []
        self.is_active = True
        self.start, self.end = perf_counter_ns(), 0

    def begin(
        self,
        level: ProfileLevel,
        kind: str,
        name: str,
        operands: Sequence[Any] = (),
        site: Site | None = UNKNOWN,
        depth: int = 3,
        number: int | None = None,
    ) -> Event:
        """Open an Event; to be followed by `finish`. Where the `site` is not given it is the line of the user's that is
        being executed, at least `depth` calls away."""
        outer = OPEN.get()
        if outer is not None and outer.end:  # closed elsewhere
            outer = innermost_open(outer)
        event = Event(level, kind, name, outer)
        if number is not None:
            event.number = number
        if self.shapes:
            event.operands = tuple([describe_operand(a) for a in operands])
        if self.lines:
            event.site = source_info.user_frame(depth) if site is UNKNOWN else site
        if self.stack:
            event.stack = source_info.user_stack()
        if self.take_note is not None:
            event.note = self.take_note()
        if self.clock is not None:
            event.device_clock = self.clock(operands)
        self.events.append(event)
        OPEN.set(event)
        event.start = perf_counter_ns()
        return event

    def finish(self, event: Event) -> None:
        """Close an Event that is the innermost open one."""
        event.end = perf_counter_ns()
        if event.device_clock is not None:
            event.device_clock.stop()
        OPEN.set(event.outer)

    def close(self, event: Event) -> None:
        """Close an Event of the user's, inside which others may still be open; maybe elsewhere than it was opened."""
        if not event.end:
            event.end = perf_counter_ns()
        OPEN.set(innermost_open(OPEN.get()))

    def note_result(self, event: Event, result: Any, params: dict[str, Any]) -> None:
        """Record what is known of a kernel's work once there is a result."""
        if self.memory is not None:
            self.memory.note_result(event, result)
        if self.flops:
            event.flops = count_flops(event.name, event.operands, result, params)

    @property
    def notes_results(self) -> bool:
        """Whether results are looked at."""
        return self.flops or self.memory is not None

    def stop(self) -> None:
        """End the recording. Steps that are open are taken to end now."""
        self.is_active = False
        self.end = perf_counter_ns()
        if self.memory is not None:
            self.memory.close()
        for event in self.events:
            event.end = event.end or self.end
            if event.device_clock is not None:
                event.device_time, event.device_clock = event.device_clock.elapsed(), None
        OPEN.set(innermost_open(OPEN.get()))


def innermost_open(event: Event | None) -> Event | None:
    """The innermost Event that is open among this one and those around it."""
    while event is not None and event.end:
        event = event.outer
    return event


def describe_operand(value: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the dtype of an operand; numbers and other objects have neither."""
    kind = type(value)
    if kind in SCALARS or value is None:
        return NUMBER
    if kind is not np.ndarray and is_object(value):
        value = value._fx_value
    shape = getattr(value, "shape", None)
    return (tuple(shape), getattr(value, "dtype", None)) if isinstance(shape, tuple) else NUMBER


def children_of(events: Sequence[Event]) -> dict[Event | None, list[Event]]:
    """Return the Events inside each Event, in their order; those of None are in no other."""
    found: dict[Event | None, list[Event]] = {None: []}
    for event in events:
        found.setdefault(event.parent, []).append(event)
    return found
