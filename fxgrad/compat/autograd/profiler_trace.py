"""Traces for chrome://tracing and Perfetto, with torch's details of each event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...profiling.trace import complete_event, flow_events, name_threads, write_json

if TYPE_CHECKING:
    from os import PathLike

    from .profiler_util import EventList, FunctionEvent

USER, BACKWARD = 7, 1  # scopes


def describe_event(event: FunctionEvent) -> dict[str, Any]:
    """Return the details of an event beside its times."""
    args: dict[str, Any] = {"Ev Idx": event.id}
    if event.sequence_nr >= 0:
        args |= {"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread}
    if event.input_shapes:
        args |= {"Input Dims": event.input_shapes, "Input type": event.input_dtypes}
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    if event._fx_module_hierarchy:
        args["Module Hierarchy"] = event._fx_module_hierarchy
    return args


def write_chrome_trace(events: EventList, path: str | PathLike[str]) -> None:
    """Write events as a Trace Event file, with arrows from operations to their nodes in backward."""
    found = name_threads(event.thread for event in events)
    forward: dict[int, FunctionEvent] = {}
    for event in events:
        name, start = event.trace_name or event.name, event.time_range.start
        category = "user_annotation" if event.scope == USER else "cpu_op"
        duration = event.time_range.elapsed_us()
        found.append(complete_event(name, category, event.thread, start, duration, describe_event(event)))
        if event.sequence_nr < 0:
            continue
        source = forward.setdefault(event.sequence_nr, event)
        if event.scope == BACKWARD and source is not event:
            found += flow_events(event.sequence_nr, [(e.thread, e.time_range.start) for e in (source, event)])
    write_json(found, path)
