"""Operations as ranges in the traces of other profilers: NVIDIA's, by the package `nvtx`, and Intel's, by `ittapi`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ...extend import opened
from ...profiling.level import ProfileLevel
from ...profiling.recording import Event, Recording
from .._core.tape import LEAF, grad_accumulator, next_serial
from .._core.tensor import Tensor
from ..errors import TensorError
from .profiler_events import torch_name


class RangeRecording(Recording):
    """A recording that keeps nothing: a range is open while an Event is."""

    def __init__(self, push: Callable[[str], Any], pop: Callable[[], Any], shapes: bool):
        super().__init__(shapes=shapes)
        self.push, self.pop, self.with_shapes = push, pop, shapes

    def begin(
        self, level: ProfileLevel, kind: str, name: str, operands: Sequence[Any] = (), *rest: Any
    ) -> Event:
        """Open an Event and its range."""
        for x in operands:
            if isinstance(x, Tensor) and x._fx_node is LEAF:
                grad_accumulator(x)  # which has a number, too
        event = super().begin(level, kind, name, operands, *rest)
        self.events.clear()
        text = f"{torch_name(event)}, seq = {latest_number() + 1}"
        if event.number is not None:
            text += f", stashed seq = {event.number}"
        if self.with_shapes:
            text += f", sizes = {[list(shape) for shape, _ in event.operands]}"
        self.push(text)
        return event

    def finish(self, event: Event) -> None:
        """Close an Event and its range."""
        self.pop()
        super().finish(event)

    def close(self, event: Event) -> None:
        """Close an Event of the user's."""
        self.pop()
        super().close(event)


def latest_number() -> int:
    """The number of the node that was recorded last."""
    return int(repr(next_serial.__self__)[len("count(") : -1]) - 1  # type: ignore[attr-defined]


def import_tool(name: str, caller: str) -> Any:
    """Import a package that gives ranges to a profiler."""
    try:
        return import_module(name)
    except ImportError:
        raise TensorError(f"{caller} needs the package {name!r}", hint=f"pip install {name}") from None


class emit_nvtx:
    """Context manager in which every operation is an NVTX range, for nvprof and Nsight. It needs the package `nvtx`.

    A range says the number that a node which the operation records will have (`seq = 5`); in backward the range of a
    node says it again (`stashed seq = 5`).

    Args:
        enabled: False makes it do nothing.
        record_shapes: add the shapes of operands.

    Raises:
        RuntimeError: there is no package `nvtx`; or it is entered twice.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     y = torch.ones(2) * 2
    """

    _fx_tool = "nvtx"

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def _fx_functions(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        """The functions that open and close a range.

        Raises:
            RuntimeError: the package is not installed.
        """
        nvtx = import_tool(self._fx_tool, "emit_nvtx")
        return nvtx.push_range, nvtx.pop_range

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        if self.entered:
            raise TensorError(
                f"{self._fx_tool.upper()} annotation context manager is not reentrant",
                hint=f"one `with torch.autograd.profiler.emit_{self._fx_tool}():` around all that is to be seen",
            )
        self._fx_recording = RangeRecording(*self._fx_functions(), self.record_shapes)
        self.entered = True
        self._fx_level = opened(ProfileLevel(self._fx_recording))
        self._fx_level.__enter__()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self.enabled:
            self._fx_level.__exit__()
            self._fx_recording.stop()


class emit_itt(emit_nvtx):
    """Context manager in which every operation is an ITT task, for Intel's VTune. It needs the package `ittapi`; see
    `emit_nvtx`.

    Args:
        enabled: False: nothing is done.
        record_shapes: whether the names of the tasks have the shapes of the operands.

    >>> with torch.autograd.profiler.emit_itt(enabled=False):
    ...     y = torch.ones(2) * 2
    """

    _fx_tool = "ittapi"

    def _fx_functions(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        """The functions that open and close a task.

        Raises:
            RuntimeError: the package is not installed.
        """
        itt = import_tool(self._fx_tool, "emit_itt")
        domain = itt.domain("fxgrad")
        return lambda name: itt.task_begin(domain, name), lambda: itt.task_end(domain)
