"""`fx.profile`: the time of a program, by operations and by the user's lines."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from ..core import source_info
from ..core.interpreter import api_boundary, opened
from .devices import device_clock
from .flame import FlameGraph
from .level import ProfileLevel
from .recording import Event, Recording, children_of
from .summary import format_rows, summarize
from .trace import write_trace

if TYPE_CHECKING:
    from os import PathLike


class profile:
    """Context manager that measures every operation of the program inside it.

    It sees operations on plain and traced values, functions of `fxgrad.numpy`, the forward and backward steps of
    transforms, every equation of code that `jit` compiled, with the user's line, and operations on the Tensors of
    `fxgrad.compat`. What runs is what runs otherwise: code stays compiled, results and errors are the same. NumPy's
    own functions on plain arrays are not seen: write `fnp.log` for `np.log`. Where arrays are CuPy's, the
    device is timed as well, by events in the stream in use.

    It belongs to the context in which it was entered, as transforms do: async tasks started inside are measured; a
    thread started inside is if it runs in `contextvars.copy_context()`. Profiles may be nested, and used with
    `fx.debug_nans`.

    Args:
        shapes: record shapes and dtypes of operands.
        lines: record the user's line of each operation.
        memory: record the bytes that results of operations take, and free again.
        flops: count floating-point operations of contractions and convolutions.

    >>> with fx.profile() as p:
    ...     y = fx.jit(fx.grad(lambda x: fnp.sin(x) * x))(1.0)
    >>> {"sin", "cos"} <= {event.name for event in p.events}
    True
    """

    make_recording: partial[Recording]
    recording: Recording
    level: opened

    @api_boundary
    def __init__(self, *, shapes: bool = True, lines: bool = True, memory: bool = False, flops: bool = True):
        self.make_recording = partial(
            Recording, shapes=shapes or flops, lines=lines, memory=memory, flops=flops
        )
        self.recording = self.make_recording()

    def __enter__(self) -> profile:
        self.recording = self.make_recording(clock=device_clock if "cupy" in sys.modules else None)
        self.level = opened(ProfileLevel(self.recording, source_info.user_frame()))
        self.level.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.level.__exit__()
        self.recording.stop()
        if error is not None:
            source_info.hide_frames(error)

    @property
    def events(self) -> list[Event]:
        """The Events, in the order in which they began."""
        return self.recording.events

    @property
    def total(self) -> float:
        """Seconds spent in what was measured."""
        return sum(e.duration for e in children_of(self.events)[None]) / 1e9

    def table(self, sort_by: str = "self", limit: int = 30, by_line: bool = True) -> str:
        """The operations as a table, those that take the most time first.

        Args:
            sort_by: "self" (the time without that of inner operations), "total", "calls", "flops", "memory" or
                "device" (the time of the device, where arrays are on one).
            limit: the number of rows.
            by_line: keep apart what stands on different lines of the program.

        Raises:
            StructureError: `sort_by` is none of these.
        """
        return format_rows(summarize(self.events, by_line), sort_by, limit, self.peak_memory)

    @property
    def peak_memory(self) -> int | None:
        """The most bytes that results of operations took at a time; None without `memory=True`.

        >>> with fx.profile(memory=True) as p:
        ...     y = fnp.sin(np.ones(1000))
        >>> p.peak_memory
        8000
        """
        return None if self.recording.memory is None else self.recording.memory.peak()

    def picture(self) -> FlameGraph:
        """A flame graph, which notebooks show: each operation is a bar as wide as its time, inside that which called
        it. `.save(path)` writes the SVG."""
        return FlameGraph(self.events)

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the Events as a Trace Event file, for chrome://tracing or Perfetto."""
        write_trace(self.events, path)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return self.picture()._repr_svg_()
