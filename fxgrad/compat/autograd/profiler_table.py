"""The table of events in torch's columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import Any

SPACING = 2
WIDTH = 12  # of a column of numbers
MAX_STACK_LINES = 5
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
BYTES = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))
FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(microseconds: float, unit: str | None = None) -> str:
    """Format a time, in a unit that fits unless one is given."""
    if unit is None:
        unit = "s" if microseconds >= UNITS["s"] else "ms" if microseconds >= UNITS["ms"] else "us"
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


def format_share(part: float, total: float) -> str:
    """Format a part as per cent of the total."""
    if total == 0:
        return "NaN" if part == 0 else "inf"
    return f"{part * 100 / total:.2f}%"


def format_memory(count: int) -> str:
    """Format a number of bytes."""
    for unit, size in BYTES:
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def shorten_name(text: str, width: int) -> str:
    """Cut a text at its end."""
    return text[: width - 3] + "..." if len(text) >= width - 3 else text


def shorten_path(text: str, width: int) -> str:
    """Cut a text at its beginning."""
    return "..." + text[len(text) - width + 3 :] if len(text) > width else text


def format_table(
    events: Sequence[Any],
    sort_by: str | None,
    row_limit: int,
    max_widths: tuple[int, int, int],
    header: str | None,
    top_level_only: bool,
    unit: str | None,
    memory: bool,
    flops: bool,
    device: str | None,
) -> str:
    """Format events as `EventList.table` says."""
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    device_total = sum(event.self_device_time_total for event in events)
    if sort_by is not None:
        sort_by = sort_by.replace("cuda", "device")
        events = sorted(events, key=lambda event: getattr(event, sort_by), reverse=True)
    columns = choose_columns(events, total, device_total, max_widths, unit, memory, flops, device)
    separator = (" " * SPACING).join("-" * width for _, width, _, _ in columns) + " " * SPACING
    lines: list[str] = []
    if header is not None:
        rule = "=" * (len(separator) - SPACING)
        lines += [rule, header, rule]
    if top_level_only:
        lines.append("This report only display top-level ops statistics")
    lines += [separator, join_cells(columns, [title for title, _, _, _ in columns]), separator]
    shown = 0
    for event in events:
        if shown == row_limit:
            break
        if top_level_only and event.cpu_parent is not None:
            continue
        shown += 1
        lines.append(join_cells(columns, [cell(event) for _, _, _, cell in columns]))
        lines += stack_lines(columns, event)
    lines += [separator, f"Self CPU time total: {format_time(total, unit)}"]
    if device_total:
        lines.append(f"Self {(device or 'cuda').upper()} time total: {format_time(device_total, unit)}")
    return "\n".join(lines) + "\n"


SOURCE = "Source Location"
Column = tuple[str, int, str, "Callable[[Any], str]"]  # title, width, alignment, what stands in it


def join_cells(columns: Sequence[Column], cells: Sequence[str]) -> str:
    """Join the cells of a row."""
    return "".join(
        f"{cell:{side}{width}}" + " " * SPACING for (_, width, side, _), cell in zip(columns, cells)
    )


def stack_lines(columns: Sequence[Column], event: Any) -> list[str]:
    """Return the lines below a row: the rest of the stack, and an empty one."""
    for place, (title, width, _, _) in enumerate(columns):
        if title == SOURCE:
            rest = [shorten_path(entry, width) for entry in (event.stack or [])[1:MAX_STACK_LINES]]
            blank = [""] * len(columns)
            return [
                join_cells(columns, [*blank[:place], entry, *blank[place + 1 :]]) for entry in [*rest, ""]
            ]
    return []


def choose_columns(
    events: Sequence[Any],
    total: float,
    device_total: float,
    max_widths: tuple[int, int, int],
    unit: str | None,
    memory: bool,
    flops: bool,
    device: str | None,
) -> list[Column]:
    """Return the columns of a table of these events that are not empty."""
    max_name, max_shapes, max_source = max_widths
    columns: list[Column] = []

    def add(title: str, cell: Callable[[Any], str], width: int = WIDTH, side: str = ">") -> None:
        columns.append((title, width, side, cell))

    def time(name: str) -> Callable[[Any], str]:
        return lambda event: format_time(getattr(event, name), unit)

    def bytes_of(name: str) -> Callable[[Any], str]:
        return lambda event: format_memory(getattr(event, name))

    def fit(texts: Any, limit: int) -> int:
        return min(max(map(len, texts), default=0) + 4, limit)

    width = fit([event.key for event in events], max_name)
    add("Name", lambda event: shorten_name(event.key, width), width)
    overloads = [event.overload_name or "" for event in events]
    if any(overloads):
        size = fit(overloads, max_name)
        add("Overload Name", lambda event: shorten_name(event.overload_name or "", size), size)
    add("Self CPU %", lambda event: format_share(event.self_cpu_time_total, total))
    add("Self CPU", time("self_cpu_time_total"))
    add("CPU total %", lambda event: "0" if event.is_async else format_share(event.cpu_time_total, total))
    add("CPU total", time("cpu_time_total"))
    add("CPU time avg", time("cpu_time"))
    label = (device or "cuda").upper()
    if device_total:
        add(f"Self {label}", time("self_device_time_total"))
        add(f"Self {label} %", lambda event: format_share(event.self_device_time_total, device_total))
        add(f"{label} total", time("device_time_total"))
        add(f"{label} time avg", time("device_time"))
    if memory:
        add("CPU Mem", bytes_of("cpu_memory_usage"))
        add("Self CPU Mem", bytes_of("self_cpu_memory_usage"))
        if any(event.device_memory_usage for event in events):
            add(f"{label} Mem", bytes_of("device_memory_usage"))
            add(f"Self {label} Mem", bytes_of("self_device_memory_usage"))
    add("# of Calls", lambda event: str(event.count))
    if any(event.node_id != -1 for event in events):
        add("Node ID", lambda event: str(event.node_id))
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        size_of_shapes = fit(shapes, max_shapes)
        add(
            "Input Shapes",
            lambda event: str(event.input_shapes)[:size_of_shapes],
            size_of_shapes,
        )
    stacks = [entry for event in events for entry in event.stack or ()]
    if stacks:
        size_of_source = fit(stacks, max_source)
        add(
            SOURCE,
            lambda event: shorten_path(event.stack[0], size_of_source) if event.stack else "",
            size_of_source,
            "<",
        )
    counts = [event.flops for event in events if event.flops]
    if flops and counts:
        scale = min(max(floor(log10(min(counts)) / 3), 0), len(FLOPS) - 1)
        add(
            f"Total {FLOPS[scale]}",
            lambda event: f"{event.flops / 1000**scale:.3f}" if event.flops else "--",
        )
    return columns
