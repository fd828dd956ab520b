"""Trace Event files, which chrome://tracing and Perfetto read. Times are in microseconds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recording import Event

TraceEvent = dict[str, Any]


def complete_event(
    name: str, category: str, thread: int, start: float, duration: float, args: dict[str, Any]
) -> TraceEvent:
    """Return the event of something that has a beginning and an end."""
    place = {"pid": os.getpid(), "tid": thread}
    return {"ph": "X", "cat": category, "name": name, **place, "ts": start, "dur": duration, "args": args}


def flow_events(number: int, ends: Sequence[tuple[int, float]]) -> list[TraceEvent]:
    """Return the two events that are an arrow from a (thread, time) to another."""
    flow = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": os.getpid(), "bp": "e"}
    return [{"ph": phase, **flow, "tid": thread, "ts": time} for phase, (thread, time) in zip("sf", ends)]


def name_threads(threads: Iterable[int]) -> list[TraceEvent]:
    """Return the events that name the process and its threads."""
    names = [(0, "process_name", "fxgrad")]
    names += [
        (thread, "thread_name", f"thread {number}") for number, thread in enumerate(sorted(set(threads)), 1)
    ]
    return [
        {"ph": "M", "name": what, "pid": os.getpid(), "tid": thread, "args": {"name": name}}
        for thread, what, name in names
    ]


def write_json(events: list[TraceEvent], path: str | os.PathLike[str]) -> None:
    """Write trace events into a file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"displayTimeUnit": "ms", "traceEvents": events}, file)


def describe_event(event: Event) -> dict[str, Any]:
    """Return what is known of an Event beside its times."""
    args: dict[str, Any] = {}
    if event.operands:
        args["shapes"] = [list(shape) for shape, _ in event.operands]
        args["dtypes"] = ["" if dtype is None else str(dtype) for _, dtype in event.operands]
    if event.flops:
        args["FLOPs"] = event.flops
    if event.line is not None:
        args["line"] = event.line.describe()
    return args


def write_trace(events: Sequence[Event], path: str | os.PathLike[str]) -> None:
    """Write Events as a trace, with arrows from recorded operations to their nodes in backward."""
    found = name_threads(event.thread for event in events)
    forward: dict[int | None, Event] = {}
    for event in events:
        start, duration = event.start / 1000, event.duration / 1000
        found.append(
            complete_event(event.name, event.kind, event.thread, start, duration, describe_event(event))
        )
        if event.number is None:
            continue
        source = forward.setdefault(event.number, event)
        if event.kind == "node" and source is not event:
            found += flow_events(event.number, [(e.thread, e.start / 1000) for e in (source, event)])
    write_json(found, path)
