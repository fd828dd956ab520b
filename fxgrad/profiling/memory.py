"""Counts of the bytes that results of operations allocate and free."""

from __future__ import annotations

import weakref
from itertools import accumulate
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .devices import array_types

if TYPE_CHECKING:
    from .recording import Event, Recording


class Change(NamedTuple):
    """Bytes allocated (or freed, if negative) at a time, the Event in which that happened, if any, and whether they are
    a device's."""

    time: int
    count: int
    event: Event | None
    on_device: bool


class Memory:
    """The memory of the arrays that operations give.

    An array, on a device as well, counts when it is a result and owns its memory, and again when that is freed: within
    the recording, in whatever step drops the last reference.
    """

    def __init__(self, recording: Recording):
        self.recording = recording
        self.changes: list[Change] = []
        self.alive: dict[int, weakref.finalize] = {}

    def note_result(self, event: Event, result: Any) -> None:
        """Count the arrays of a result."""
        if isinstance(result, tuple | list):
            for part in result:
                self.note_result(event, part)
            return
        array = getattr(result, "_fx_value", result)  # of an object that has one
        kinds = array_types()
        while isinstance(array, kinds) and isinstance(array.base, kinds):
            array = array.base
        key = id(array)
        if type(array) in kinds and array.base is None and array.nbytes and key not in self.alive:
            on_device = type(array) is not np.ndarray
            final = weakref.finalize(array, self.note_freed, key, array.nbytes, on_device)
            final.atexit = False
            self.alive[key] = final
            self.note_change(array.nbytes, event, on_device)

    def note_freed(self, key: int, count: int, on_device: bool) -> None:
        """Count memory that is freed, in the step that is open now."""
        from .recording import OPEN  # which is made of this

        self.alive.pop(key, None)
        event = OPEN.get()
        while event is not None and (event.recording is not self.recording or event.end):
            event = event.outer
        self.note_change(-count, event, on_device)

    def note_change(self, count: int, event: Event | None, on_device: bool) -> None:
        if self.recording.is_active:
            self.changes.append(Change(perf_counter_ns(), count, event, on_device))
            if event is not None and on_device:
                event.device_allocated += count
            elif event is not None:
                event.allocated += count

    def peak(self) -> int:
        """Return the most bytes that arrays took at a time."""
        return max(accumulate((change.count for change in self.changes), initial=0))

    def close(self) -> None:
        """Watch no memory any more."""
        for final in list(self.alive.values()):
            final.detach()
        self.alive.clear()
