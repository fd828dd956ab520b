"""torch.autograd.profiler: the time of a program, recorded by `fxgrad.profiling`, in torch's form."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, ClassVar

from ...extend import CURRENT, Context, source_info
from ...profiling.devices import device_clock
from ...profiling.level import ProfileLevel
from ...profiling.recording import Recording
from ...profiling.scope import close_scope, open_scope
from .._core.modes import DEFAULT_MODES, with_modes
from .._core.tape import current_tape
from .._make.devices import device_count
from ..errors import TensorError
from .nvprof import load_nvprof, parse_nvprof_trace
from .profiler_events import read_events
from .profiler_modules import module_path
from .profiler_ranges import emit_itt, emit_nvtx
from .profiler_state import kineto_available
from .profiler_trace import write_chrome_trace
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, MemRecordsAcc

if TYPE_CHECKING:
    from os import PathLike

    from ...profiling.recording import Event

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]

DEVICES = ("cuda", "xpu", "mtia", "hpu", "privateuseone")


class profile:
    """Context manager that measures the operations of the program inside it, and those of backward.

    Operations have torch's names, `aten::mul`, with those that they are made of inside them. In backward each node is
    an event, and `sequence_nr` is that of the operation that made it. What was inside is known after the context.

    It belongs to the context in which it was entered: async tasks started inside are measured; a thread is if it runs
    in `contextvars.copy_context()`. Profiles may be nested.

    Args:
        enabled: False makes it do nothing.
        use_cuda, use_device: measure devices as well: "cuda", which is CuPy's.
        record_shapes: record the shapes of inputs.
        with_flops: count the floating-point operations of matrix products and convolutions.
        profile_memory: record the memory that results take, and free again.
        with_stack: record the user's lines.
        with_modules: record the modules inside which an operation was called (`module_hierarchy`).
        use_kineto, experimental_config, custom_trace_id_callback: accepted; there is one way to measure.
        use_cpu: record events of the CPU.
        acc_events: keep the events of earlier cycles (`torch.profiler.profile`).

    Raises:
        RuntimeError: it is entered twice, or asked for events before its end.
        AssertionError: `use_cpu=False` without `use_kineto`.

    >>> x = torch.ones(1, 1, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     for _ in range(100):
    ...         y = x ** 2
    ...         y.backward()
    >>> {e.key: e.count for e in prof.key_averages()}["PowBackward0"]
    100
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ):
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self.enabled, self.use_cpu, self.acc_events = enabled, use_cpu, acc_events
        self.use_device = check_device(use_device)
        self.record_shapes = record_shapes or with_flops
        self.with_flops, self.profile_memory = with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        self.trace_id = "" if custom_trace_id_callback is None else custom_trace_id_callback()
        self.entered = False
        self._fx_recording: Recording | None = None
        self._fx_events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise TensorError("Profiler context manager is not reentrant", hint="another profile()")
        self.entered = True
        self._fx_start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if self.enabled:
            self._fx_stop()
        return False

    def _fx_start(self) -> None:
        """Begin to record in the current context."""
        current_tape()  # below the profile: it is still open when this is closed
        self._fx_recording = Recording(
            shapes=self.record_shapes,
            stack=self.with_stack,
            memory=self.profile_memory,
            flops=self.with_flops,
            clock=None if self.use_device is None else device_clock,
            take_note=module_path if self.with_modules else None,
        )
        level = ProfileLevel(self._fx_recording, source_info.user_frame())
        CURRENT.set(Context(level, level, level.outer.modes))

    def _fx_stop(self) -> None:
        """End the recording. Modes that were switched inside stay switched."""
        recording, context = self._fx_recording, CURRENT.get()
        assert recording is not None
        recording.stop()
        if getattr(context.interpreter, "recording", None) is recording:
            modes, outer = context.modes, context.interpreter.outer
            CURRENT.set(
                outer if modes is outer.modes else with_modes(outer, **(modes or DEFAULT_MODES)._asdict())
            )
        found = read_events(recording, self.use_device, self.with_flops)
        if self.acc_events and self._fx_events is not None:
            found[:0] = self._fx_events
        self._fx_events = found if self.use_cpu else EventList([e for e in found if e.kernels])

    def toggle_collection_dynamic(self, enabled: bool, activities: Any = None) -> None:
        """Switch the recording off and on again.

        Args:
            enabled: whether it records from now on.
            activities: accepted and without effect.
        """
        if self._fx_recording is not None:
            self._fx_recording.is_active = enabled

    @property
    def function_events(self) -> EventList:
        """The events.

        Raises:
            RuntimeError: the profile has not ended.
        """
        if self._fx_events is None:
            raise TensorError("Profiler didn't finish running", hint="ask after the `with` block")
        return self._fx_events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._fx_events is None else repr(self._fx_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._fx_events is None else self._fx_events.table()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table: see `EventList.table`."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events as a Trace Event file, for chrome://tracing or Perfetto."""
        write_chrome_trace(self.function_events, path)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of events, each with a metric: see `EventList.export_stacks`.

        Raises:
            RuntimeError: stacks were not recorded.
        """
        events = self.function_events
        if not self.with_stack:
            raise TensorError(
                "export_stacks() requires with_stack=True", hint="torch.profiler.profile(with_stack=True)"
            )
        events.export_stacks(path, metric)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The sums of events with the same name: see `EventList.key_averages`."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds on the CPU: the sum of all events' own times."""
        return self.function_events.self_cpu_time_total


def check_device(device: str | None) -> str | None:
    """Return the device to measure; None, with a warning, if it does not exist."""
    if device is None:
        return None
    if device not in DEVICES:
        warnings.warn(f"The {device} is not a valid device option.", UserWarning, stacklevel=3)
        return None
    if device != "cuda" or not device_count():
        warnings.warn(
            f"{device.upper()} is not available, disabling {device.upper()} profiling",
            UserWarning,
            stacklevel=3,
        )
        return None
    return device


class record_function(ContextDecorator):
    """Context manager and decorator that makes a part of a program an event with a name, in the profiles that are open.

    A decorated coroutine function is measured from its beginning to its end. Contexts may be left in another order
    than they were entered.

    Args:
        name: the name of the event.
        args: a text that is kept with it, or None.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("label-z"):
    ...         y = torch.ones(2) * 2
    >>> prof.function_events[0].name
    'label-z'
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self._fx_events: list[Event] = []

    def _recreate_cm(self) -> record_function:
        return type(self)(self.name, self.args)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not iscoroutinefunction(func):
            return super().__call__(func)

        @wraps(func)
        async def measured(*args, **kwargs) -> Any:
            with self._recreate_cm():
                return await func(*args, **kwargs)

        return measured

    def __enter__(self) -> record_function:
        self._fx_events = open_scope(self.name)
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self.run_callbacks_on_exit:
            close_scope(self._fx_events)

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """End the event when a future is done, and return the future.

        Raises:
            RuntimeError: it was called before.
        """
        if not self.run_callbacks_on_exit:
            raise TensorError(
                "_call_end_callbacks_on_future can only be called once.",
                hint="with record_function(…) as range: … for each future",
            )
        self.run_callbacks_on_exit = False
        fut.add_done_callback(lambda _: close_scope(self._fx_events))
        return fut


class EnforceUnique:
    """Raises an error if a key is seen more than once.

    >>> seen = torch.autograd.profiler.EnforceUnique()
    >>> seen.see("a", 1)
    >>> seen.see("a", 2)
    """

    def __init__(self) -> None:
        self._fx_seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Observe a key.

        Raises:
            RuntimeError: it was seen before.
        """
        if key in self._fx_seen:
            raise TensorError("duplicate key: " + str(key))
        self._fx_seen.add(key)


class KinetoStepTracker:
    """The number of the step in which the process is, where several parts of it count: the largest of their counts.

    >>> tracker = torch.autograd.profiler.KinetoStepTracker
    >>> tracker.init_step_count("example")
    >>> step = tracker.current_step()
    >>> tracker.increment_step("example") == step + 1
    True
    >>> tracker.erase_step_count("example")
    True
    """

    _current_step = 0
    _step_dict: ClassVar[defaultdict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for a requester, at the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; return whether it was registered."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a requester; return the current step."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step."""
        return cls._current_step
