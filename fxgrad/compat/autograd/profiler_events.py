"""Recorded Events (`fxgrad.profiling`) as torch's events: with torch's names, and times in microseconds."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from ...profiling.recording import Event, Recording, children_of
from .._core.tape import PrimitiveName
from .profiler_flops import count_flops
from .profiler_util import EventList, FunctionEvent

MEMORY = "[memory]"  # torch's name for memory that is taken or freed outside of all operations
SCOPES = {"node": 1, "user": 7}
BACKWARD = ("node", "engine")
OPERATIONS = ("operation", "primitive", "function")
STEP_NUMBER = re.compile(r"(?<=^ProfilerStep)#\d+$")


def torch_name(event: Event) -> str:
    """The name of an event in torch's form, such as aten::mul."""
    if event.kind not in OPERATIONS:
        return event.name
    return f"aten::{PrimitiveName.TORCH.get(event.name, event.name)}"


def enclosing_event(event: Event) -> Event | None:
    """The event inside which another happened from beginning to end."""
    parent = event.parent
    while parent is not None and parent.end < event.end:
        parent = parent.parent
    return parent


def read_events(recording: Recording, use_device: str | None, with_flops: bool) -> EventList:
    """Return the events of a recording."""
    threads = dict(zip(dict.fromkeys(event.thread for event in recording.events), count(1)))
    forward: dict[int | None, Event] = {
        e.number: e for e in recording.events if e.number is not None and e.kind not in BACKWARD
    }
    events = EventList(
        [], use_device=use_device, profile_memory=recording.memory is not None, with_flops=with_flops
    )
    read: dict[Event, FunctionEvent] = {}
    inside = children_of(recording.events)
    for number, event in enumerate(recording.events, 1):
        name = torch_name(event)
        in_backward = event.kind in BACKWARD and event.number is not None
        source = forward.get(event.number) if in_backward else None
        own = event.stack if source is None else source.stack
        made = read[event] = FunctionEvent(
            number,
            STEP_NUMBER.sub("*", name),
            threads[event.thread],
            (event.start - recording.start) / 1000,
            (event.end - recording.start) / 1000,
            fwd_thread=threads[source.thread] if source is not None else int(in_backward),
            input_shapes=[list(shape) for shape, _ in event.operands],
            input_dtypes=["" if dtype is None else str(dtype) for _, dtype in event.operands],
            stack=[f"{site.filename}({site.lineno}): {site.function}" for site in reversed(own)],
            scope=SCOPES.get(event.kind, 0),
            use_device=use_device,
            sequence_nr=-1 if event.number is None else event.number,
            flops=event.flops,
            trace_name=name,
            is_user_annotation=event.kind == "user",
            module_hierarchy=event.note or "",
        )
        if event.device_time and not any(inner.device_time for inner in inside.get(event, ())):
            made.append_kernel(name, 0, event.device_time / 1000)
        events.append(made)
        outer: Event | None = event
        while outer is not None and (
            event.allocated or event.device_allocated
        ):  # what is allocated inside is so outside as well
            read[outer].cpu_memory_usage += event.allocated
            read[outer].device_memory_usage += event.device_allocated
            outer = outer.parent
        parent = enclosing_event(event)
        if parent is not None:
            read[parent].append_cpu_child(made)
            made.set_cpu_parent(read[parent])
    events._remove_dup_nodes()
    if with_flops:
        for made in events:
            count_flops(made)
    for change in recording.memory.changes if recording.memory else ():
        if change.event is None:
            time = (change.time - recording.start) / 1000
            where = "device_memory_usage" if change.on_device else "cpu_memory_usage"
            known: dict[str, Any] = {where: change.count, "input_shapes": [], "stack": [], "flops": 0}
            events.append(FunctionEvent(0, MEMORY, 1, time, time, **known))
    return events
