"""Traces of NVIDIA's nvprof, which are SQLite databases: the ranges of `emit_nvtx`, and the kernels started in them.

A file may come from anywhere. It is read as data: read-only, without views or triggers, and with a limit on the work of
a query.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import TensorError
from .profiler_util import EventList, FunctionEvent

if TYPE_CHECKING:
    from os import PathLike

MARKERS, CALLS, KERNELS = (
    f"CUPTI_ACTIVITY_KIND_{name}" for name in ("MARKER", "RUNTIME", "CONCURRENT_KERNEL")
)
# Table → its columns that are read, and of what type their entries are.
TABLES: dict[str, dict[str, type]] = {
    "StringTable": {"_id_": int, "value": str},
    MARKERS: {"id": int, "name": int, "timestamp": int},
    CALLS: {"correlationId": int, "start": int, "end": int},
    KERNELS: {"correlationId": int, "start": int, "end": int, "name": int},
}
LONGEST = 1 << 24  # virtual instructions between two looks at how long a query takes
MAX_ROWS = 10_000_000


def load_nvprof(path: str | PathLike[str]) -> EventList:
    """The events in a trace of nvprof.

    Args:
        path: the file that `nvprof -o` wrote.

    Returns:
        An EventList.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: it is no trace of nvprof, or a broken one.

    >>> try:
    ...     torch.autograd.profiler.load_nvprof("no such file")
    ... except FileNotFoundError:
    ...     print("no such file")
    no such file
    """
    return EventList(parse_nvprof_trace(path), use_device="cuda")


def parse_nvprof_trace(path: str | PathLike[str]) -> list[FunctionEvent]:
    """The events in a trace of nvprof, in the order in which they began: see `load_nvprof`.

    Args:
        path: the file that `nvprof -o` wrote.

    Returns:
        A list of events.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: the file is no trace, or a broken one.

    >>> try:
    ...     torch.autograd.profiler.parse_nvprof_trace("no such file")
    ... except FileNotFoundError:
    ...     print("no such file")
    no such file
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no trace of nvprof at {path}")
    try:
        with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as database:
            protect(database)
            strings, markers, calls, kernels = (read_table(database, name, path) for name in TABLES)
    except (sqlite3.Error, UnicodeError, OverflowError, ValueError) as error:
        raise TensorError(
            f"{path} is no trace of nvprof that can be read: {error}",
            hint="nvprof --profile-from-start off -o FILE python program.py writes one",
        ) from error
    return make_events(dict(strings), markers, calls, kernels, path)


def protect(database: sqlite3.Connection) -> None:
    """Restrict a connection to reading plain tables, for a limited time."""
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.set_progress_handler(lambda: 1, LONGEST * 64)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)


def read_table(database: sqlite3.Connection, name: str, path: Any) -> list[tuple[Any, ...]]:
    """Read the columns of a table, and check the types of their values."""
    columns = TABLES[name]
    found = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    if found != ("table",):
        raise TensorError(
            f"{path} is no trace of nvprof: it has no table {name}", hint="nvprof -o FILE program"
        )
    names = ", ".join(f'"{column}"' for column in columns)
    have = {row[1] for row in database.execute(f'PRAGMA table_info("{name}")')}
    missing = [column for column in columns if column not in have]
    if missing:
        raise TensorError(
            f"{path} is no trace of nvprof: its table {name} has no column {missing[0]!r}",
            hint="nvprof -o FILE, of CUDA 11 or older, which has such tables",
        )
    rows = database.execute(f'SELECT {names} FROM "{name}"').fetchmany(MAX_ROWS)
    for row in rows:
        for (column, kind), value in zip(columns.items(), row):
            if type(value) is not kind:
                raise TensorError(
                    f"{path} is a broken trace of nvprof: {name}.{column} has {value!r:.50}, "
                    f"which is no {kind.__name__}",
                    hint="write it again: nvprof -o FILE python program.py",
                )
    return rows


def make_events(
    strings: dict[int, str], markers: Any, calls: Any, kernels: Any, path: Any
) -> list[FunctionEvent]:
    """Make events of the ranges, which are pairs of markers, and give them their kernels."""
    begun: dict[int, tuple[int, int]] = {}
    seen: set[int] = set()
    found: list[FunctionEvent] = []
    for number, name, time in sorted(markers, key=lambda marker: marker[2]):
        if name:  # the end of a range has none
            begun[number] = (name, time)
        elif number in begun:
            name, start = begun.pop(number)
            if name not in strings:
                raise TensorError(
                    f"{path} is a broken trace of nvprof: a range has no name",
                    hint="write it again: nvprof -o FILE python program.py",
                )
            if number in seen:
                raise TensorError(
                    f"{path} is a broken trace of nvprof: the range {number} is there twice",
                    hint="write it again: nvprof -o FILE python program.py",
                )
            seen.add(number)
            times = start / 1000, time / 1000
            found.append(FunctionEvent(number, strings[name], 0, *times, input_shapes=[], stack=[], flops=0))
    found.sort(key=lambda event: event.time_range.start)
    attach_kernels(found, strings, calls, kernels)
    return found


def attach_kernels(events: list[FunctionEvent], strings: dict[int, str], calls: Any, kernels: Any) -> None:
    """Assign each kernel to the innermost event in which it was started."""
    started = {correlation: (start / 1000, end / 1000) for correlation, start, end in calls}
    for correlation, start, end, name in kernels:
        if correlation not in started:
            continue
        first, last = started[correlation]
        inside = [e for e in events if e.time_range.start <= first and last <= e.time_range.end]
        if inside:
            innermost = min(inside, key=lambda e: e.time_range.elapsed_us())
            innermost.use_device = "cuda"
            innermost.append_kernel(strings.get(name, "kernel"), 0, (end - start) / 1000)
