"""Bytes that a program allocates and frees, as far as results of operations are concerned."""

from __future__ import annotations

import weakref
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .recording import Event, Recording


class Change(NamedTuple):
    """Bytes allocated (or freed, if negative) at a time, and the Event in which that happened, if any."""

    time: int
    count: int
    event: Event | None


class Memory:
    """The memory of the arrays that operations give.

    An array counts when it is a result and owns its memory, and again when that is freed: within the recording, in
    whatever step drops the last reference.
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
        array = getattr(result, "value", result)  # of an object that has one
        while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
            array = array.base
        key = id(array)
        if type(array) is np.ndarray and array.base is None and array.nbytes and key not in self.alive:
            final = weakref.finalize(array, self.note_freed, key, array.nbytes)
            final.atexit = False
            self.alive[key] = final
            self.note_change(array.nbytes, event)

    def note_freed(self, key: int, count: int) -> None:
        """Count memory that is freed, in the step that is open now."""
        from .recording import OPEN  # which is made of this

        self.alive.pop(key, None)
        event = OPEN.get()
        while event is not None and (event.recording is not self.recording or event.end):
            event = event.outer
        self.note_change(-count, event)

    def note_change(self, count: int, event: Event | None) -> None:
        if self.recording.is_active:
            self.changes.append(Change(perf_counter_ns(), count, event))
            if event is not None:
                event.allocated += count

    def close(self) -> None:
        """Watch no memory any more."""
        for final in list(self.alive.values()):
            final.detach()
        self.alive.clear()
