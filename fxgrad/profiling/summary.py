"""Tables of Events, summed by operation or line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import StructureError
from .recording import Event, children_of

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
COLUMNS = {
    "self": "own_time",
    "total": "total_time",
    "calls": "calls",
    "flops": "flops",
    "memory": "allocated",
    "device": "device_time",
}


@dataclass
class Row:
    """Events of one name, and one line of the program where these are kept apart: times are in nanoseconds, and those
    of inner Events of the same Row count once. The device's is without that of inner Events."""

    name: str
    line: str = ""
    calls: int = 0
    own_time: int = 0
    total_time: int = 0
    flops: int = 0
    allocated: int = 0
    device_time: int = 0


def summarize(events: Sequence[Event], by_line: bool) -> list[Row]:
    """Sum up Events by their name, and by the user's line if `by_line`."""
    inside = children_of(events)
    rows: dict[Any, Row] = {}
    for event in events:
        site = event.line if by_line else None
        line = "" if site is None else site.describe()
        row = rows.setdefault((event.name, line), Row(event.name, line))
        row.calls += 1
        row.own_time += event.duration - sum(e.duration for e in inside.get(event, ()))
        row.flops += event.flops
        row.allocated += event.allocated + event.device_allocated
        if event.device_time:
            row.device_time += event.device_time - device_time_inside(event, inside)
        if not is_inside_alike(event, by_line):
            row.total_time += event.duration
    return list(rows.values())


def device_time_inside(event: Event, inside: dict[Event | None, list[Event]]) -> int:
    """The device's time of the Events inside one; those that were not timed themselves stand for what is in them."""
    return sum(e.device_time or device_time_inside(e, inside) for e in inside.get(event, ()))


def is_inside_alike(event: Event, by_line: bool) -> bool:
    """Whether an Event is, at some depth, inside another of the same Row."""
    outer = event.parent
    while outer is not None:
        if outer.name == event.name and (not by_line or str(outer.line) == str(event.line)):
            return True
        outer = outer.parent
    return False


def format_time(nanoseconds: float) -> str:
    """Format a time with a unit that fits."""
    for size, unit in UNITS:
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return "0"


def format_count(count: int) -> str:
    """Format a large count: 1.5 M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= size:
            return f"{count / size:.3g} {unit}"
    return str(count) if count else ""


def format_rows(rows: Sequence[Row], sort_by: str, limit: int, peak: int | None) -> str:
    """Format rows as a table: with a column of the device where one was timed, and one of memory where the most bytes
    that were in use are given."""
    if sort_by not in COLUMNS:
        raise StructureError(f"profile: no column {sort_by!r}", hint=", ".join(map(repr, COLUMNS)))
    total, device = sum(row.own_time for row in rows), sum(row.device_time for row in rows)
    timed, memory = device > 0, peak is not None
    shown = sorted(rows, key=lambda row: -getattr(row, COLUMNS[sort_by]))[:limit]
    head = [
        "self",
        "",
        "total",
        "calls",
        *["device"] * timed,
        "FLOPs",
        *["memory"] * memory,
        "operation",
        "line",
    ]
    cells = [
        [
            format_time(r.own_time),
            f"{100 * r.own_time / total:.0f} %" if total else "",
            format_time(r.total_time),
            str(r.calls),
            *[format_time(r.device_time)] * timed,
            format_count(r.flops),
            *[format_count(r.allocated)] * memory,
            r.name,
            r.line,
        ]
        for r in shown
    ]
    widths = [max(map(len, column)) for column in zip(head, *cells)]
    numeric = len(head) - 2
    lines = [
        "  ".join(
            c.rjust(w) if i < numeric else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))
        ).rstrip()
        for row in (head, *cells)
    ]
    more = f"… and {len(rows) - limit} more\n" if len(rows) > limit else ""
    end = f"{format_time(total)} in {sum(r.calls for r in rows)} operations"
    end += f", {format_time(device)} of the device" if timed else ""
    end += f", {format_count(peak) or 0} bytes at most" if peak is not None else ""
    return "\n".join(lines) + f"\n{more}{end}"
