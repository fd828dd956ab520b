"""Named parts of a program in open profiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ContextDecorator
from typing import Any

from ..core.interpreter import CURRENT, api_boundary
from .level import ProfileLevel
from .recording import Event


def open_profiles() -> Iterator[ProfileLevel]:
    """Yield the levels of the profiles that are open and record, innermost first."""
    observer = CURRENT.get().observer
    while observer is not None:
        if isinstance(observer, ProfileLevel) and observer.recording.is_active:
            yield observer
        observer = observer.outer.observer


def open_scope(name: str, note: Any = None) -> list[Event]:
    """Open a part of the program in all profiles; to be closed by `close_scope`, in whatever order and thread."""
    events = [level.recording.begin(level, "user", name) for level in [*open_profiles()][::-1]]
    for event in events:
        event.note = note if event.note is None else event.note
    return events


def close_scope(events: list[Event]) -> None:
    """Close a part of the program."""
    for event in reversed(events):
        event.recording.close(event)


class named_scope(ContextDecorator):
    """Context manager and decorator that names a part of a program in profiles.

    Operations inside it are the event's, forward; it changes nothing else. Inside `jit` it names what happens while the
    function is staged: compiled code is measured by the user's lines.

    Args:
        name: the name of the event.

    >>> with fx.profile() as p:
    ...     with fx.named_scope("encoder"):
    ...         y = fnp.tanh(fnp.ones(2))
    >>> "encoder" in [event.name for event in p.events]
    True
    """

    @api_boundary
    def __init__(self, name: str):
        self.name = name
        self.opened: list[list[Event]] = []

    def __enter__(self) -> named_scope:
        self.opened.append(open_scope(self.name))
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        close_scope(self.opened.pop())
