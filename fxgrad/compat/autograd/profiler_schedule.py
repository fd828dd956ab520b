"""torch.profiler: profiles of some of the steps of a long program."""

from __future__ import annotations

import gzip
import os
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .profiler import profile as BaseProfile
from .profiler import record_function
from .profiler_state import ProfilerActivity
from .profiler_util import EventList

if TYPE_CHECKING:
    from os import PathLike


class ProfilerAction(Enum):
    """The action of a profile in a step.

    >>> torch.profiler.schedule(wait=1, warmup=1, active=1)(1).name
    'WARMUP'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be measured here.

    Returns:
        A set of ProfilerActivity.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    from .._make.devices import device_count  # which asks CuPy

    return {ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * (device_count() > 0)}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """The function that says what to do in each step: cycles of `wait` steps of nothing, `warmup` steps whose events
    are dropped, and `active` steps that are recorded.

    Args:
        wait, warmup, active: the steps of a cycle.
        repeat: the number of cycles; 0 for no end.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle does not wait.

    Returns:
        A function of the number of the step that returns a ProfilerAction.

    Raises:
        AssertionError: a number is negative, or there are no active steps.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", UserWarning, stacklevel=2
        )

    def choose_action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return choose_action


def record_always(step: int) -> ProfilerAction:
    """The schedule that records every step."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function for `on_trace_ready` that writes each trace into a file of a folder, which is made if need be.

    Args:
        dir_name: the folder.
        worker_name: the first part of the files' names; the host and process unless it is given.
        use_gzip: whether the files are compressed.

    Returns:
        A function of a profile.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = torch.profiler.tensorboard_trace_handler(folder)
    ...     with torch.profiler.profile(on_trace_ready=handler):
    ...         y = torch.ones(2) * 2
    ...     len(os.listdir(folder))
    1
    """
    Path(dir_name).mkdir(parents=True, exist_ok=True)

    def write_trace(prof: profile) -> None:
        worker = worker_name or f"{os.uname().nodename}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write_trace


class profile:
    """Context manager that measures the steps of a program which its schedule says: see
    `torch.autograd.profiler.profile` for what is measured, and the other arguments.

    Args:
        activities: what is measured; everything there is by default.
        schedule: step → ProfilerAction; without one, everything is one step.
        on_trace_ready: called with the profile at the end of each cycle.
        record_shapes: whether events have the shapes of operands.
        profile_memory: whether events count memory.
        with_stack: whether events have the user's stack.
        with_flops: whether events count operations.
        with_modules: whether events have the names of modules.
        experimental_config: accepted and without effect.
        execution_trace_observer: accepted and without effect.
        acc_events: whether events of several cycles are kept.
        use_cuda: accepted and without effect.
        custom_trace_id_callback: accepted and without effect.

    Raises:
        AssertionError: there are no activities.

    >>> seen = []
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(p.step_num)) as p:
    ...     for _ in range(8):
    ...         y = torch.ones(2) * 2
    ...         p.step()
    >>> seen
    [4]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ):
        self.activities = supported_activities() if activities is None else set(activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or record_always
        self.record_steps = schedule is not None
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self._fx_options: dict[str, Any] = {
            "use_cpu": ProfilerActivity.CPU in self.activities,
            "use_device": "cuda"
            if ProfilerActivity.CUDA in self.activities & supported_activities()
            else None,
            "use_kineto": True,
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
            "custom_trace_id_callback": custom_trace_id_callback,
        }
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._fx_step_event: record_function | None = None
        self.profiler: BaseProfile | None = None
        self._fx_is_recording = False
        self._fx_metadata: dict[str, str] = {}
        self._fx_kept = EventList([])

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the first step."""
        self._fx_begin_step()

    def _fx_begin_step(self) -> None:
        """Carry out the current action, and open the event of the step."""
        if self.current_action is not ProfilerAction.NONE and not self._fx_is_recording:
            self.profiler = BaseProfile(**self._fx_options)
            self.profiler._fx_start()
            self._fx_is_recording = True
        if self.record_steps:
            self._fx_step_event = record_function(f"ProfilerStep#{self.step_num}")
            self._fx_step_event.__enter__()

    def _fx_end_step(self) -> None:
        """Close the event of the step."""
        if self._fx_step_event is not None:
            self._fx_step_event.__exit__(None, None, None)
            self._fx_step_event = None

    def _fx_end_recording(self, keep: bool = True) -> None:
        """Stop to record; keep the events, or drop them."""
        if self._fx_is_recording and self.profiler is not None:
            self.profiler._fx_stop()
            self._fx_is_recording = False
            if not keep:
                self.profiler = None
            elif self.acc_events:
                self._fx_kept.extend(self.profiler.function_events)
                self.profiler.function_events[:] = self._fx_kept

    def step(self) -> None:
        """Begin the next step."""
        self._fx_end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.WARMUP and self.current_action is not ProfilerAction.WARMUP:
            self._fx_end_recording(keep=False)
        elif before is ProfilerAction.RECORD_AND_SAVE:
            self._fx_end_recording()
            self._fx_report()
        self._fx_begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._fx_end_step()
        was_recording = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        self._fx_end_recording(keep=was_recording)
        if was_recording:
            self._fx_report()
        self.current_action = ProfilerAction.NONE

    def _fx_report(self) -> None:
        """Call `on_trace_ready` if it is set."""
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    @property
    def _fx_measured(self) -> BaseProfile:
        """The profile of the last cycle.

        Raises:
            AssertionError: there is none yet.
        """
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last cycle."""
        return self._fx_measured.function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The sums of events with the same name: see `EventList.key_averages`."""
        return self._fx_measured.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events as a Trace Event file, compressed if its name ends in .gz."""
        if not os.fspath(path).endswith(".gz"):
            self._fx_measured.export_chrome_trace(path)
            return
        plain = os.fspath(path).removesuffix(".gz")
        self._fx_measured.export_chrome_trace(plain)
        with gzip.open(path, "wb") as file:
            file.write(Path(plain).read_bytes())
        os.remove(plain)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of events, each with a metric: see `EventList.export_stacks`."""
        self._fx_measured.export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a note with the profile.

        Args:
            key: its name.
            value: a text.
        """
        self._fx_metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep a note, which is JSON, with the profile.

        Args:
            key: its name.
            value: a text.
        """
        self._fx_metadata[key] = value

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Switch the recording off and on again.

        Args:
            enable: whether it records from now on.
            activities: accepted and without effect.
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)
