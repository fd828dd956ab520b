"""torch.autograd.profiler_util: the events of a profile, and sums of them. Times are in microseconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ArgumentValueError
from .profiler_state import DeviceType
from .profiler_table import format_memory, format_share, format_table, format_time
from .profiler_trace import write_chrome_trace

if TYPE_CHECKING:
    from os import PathLike

# Under torch's names.
_format_time, _format_time_share, _format_memory = format_time, format_share, format_memory

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]


class Interval:
    """A time from `start` to `end`, in microseconds."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length of the interval."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel that ran on a device, and for how many microseconds."""

    name: str
    device: int
    duration: float


class StringTable(defaultdict):
    """A table of strings in which a missing string stands for itself."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Records of memory in the order of their times, for looking up those in an interval.

    Args:
        mem_records: pairs of a record, which has `start_ns()`, and whatever else.

    >>> from fxgrad.compat.autograd.profiler_util import MemRecordsAcc
    >>> from types import SimpleNamespace
    >>> records = [(SimpleNamespace(start_ns=lambda t=t: t), False) for t in (5, 1, 9)]
    >>> [r.start_ns() for r, _ in MemRecordsAcc(records).in_interval(2, 9)]
    [5, 9]
    """

    def __init__(self, mem_records: Iterable[Any]):
        self._mem_records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._start_nses = [record[0].start_ns() for record in self._mem_records]

    def in_interval(self, start_ns: float, end_ns: float) -> Iterator[Any]:
        """Yield the records from `start_ns` to `end_ns`, both included."""
        from bisect import bisect_left, bisect_right  # where records are looked up

        yield from self._mem_records[
            bisect_left(self._start_nses, start_ns) : bisect_right(self._start_nses, end_ns)
        ]


def format_time_of(name: str) -> property:
    """A property that has a time as text."""
    return property(lambda self: format_time(getattr(self, name)), doc=f"`{name}` as text, with its unit.")


def without_children(name: str) -> property:
    """A property: a figure of an event without the share of the events inside it."""
    return property(lambda self: self._fx_less_children(name), doc=f"`{name}` without the events inside.")


class FormattedTimesMixin:
    """The times of an event, or of a sum of events, as text; and the averages."""

    count: int
    cpu_time_total: float
    device_time_total: float

    cpu_time_str, cpu_time_total_str = format_time_of("cpu_time"), format_time_of("cpu_time_total")
    device_time_str = format_time_of("device_time")
    device_time_total_str = format_time_of("device_time_total")
    self_cpu_time_total_str = format_time_of("self_cpu_time_total")
    self_device_time_total_str = format_time_of("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """The mean of `cpu_time_total`."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The mean of `device_time_total`."""
        return 0.0 if self.count == 0 else self.device_time_total / self.count

    cuda_time = device_time


class FunctionEvent(FormattedTimesMixin):
    """One event of a profile: an operation, a node of the graph in backward, or a part of the program that has a
    name.

    Args:
        device_type: the kind of device; None: that of the CPU.
        id: the number of the event.
        name: what it is called.
        thread: the thread in which it ran.
        start_us: the time of its beginning, in microseconds.
        end_us: the time of its end.
        overload_name: which of several operations of the name it is.
        fwd_thread: of a node in backward, the thread of its operation.
        input_shapes: the shapes of the operands.
        stack: the user's stack.
        scope: what kind of event it is.
        use_device: the kind of device whose times count.
        cpu_memory_usage: how much memory the CPU gave.
        device_memory_usage: how much memory the device gave.
        is_async: whether it may end after what began later.
        is_remote: whether it ran elsewhere.
        sequence_nr: the number of the node of the graph.
        node_id: the number of the machine.
        device_index: on which of several devices.
        device_resource_id: on which stream.
        is_legacy: accepted.
        flops: how many operations it took.
        trace_name: what it is called in traces.
        concrete_inputs: the operands that are numbers.
        kwinputs: the keywords.
        is_user_annotation: whether it is a part of the program that has a name.
        input_dtypes: the dtypes of the operands.
        module_hierarchy: the names of the modules around it.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(2) * 2
    >>> event = prof.function_events[-1]
    >>> type(event).__name__, event.time_range.end >= event.time_range.start
    ('FunctionEvent', True)
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: list[Any] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        kwinputs: dict[str, Any] | None = None,
        is_user_annotation: bool = False,
        input_dtypes: list[Any] | None = None,
        module_hierarchy: str = "",
    ):
        self.id, self.name, self.thread = id, name, thread
        self.time_range = Interval(start_us, end_us)
        self.overload_name, self.fwd_thread, self.trace_name = overload_name, fwd_thread, trace_name
        self.input_shapes, self.input_dtypes = input_shapes, input_dtypes
        self.concrete_inputs, self.kwinputs = concrete_inputs, kwinputs
        self.stack, self.scope, self.use_device = stack, scope, use_device
        self._fx_module_hierarchy = module_hierarchy
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.is_user_annotation = is_user_annotation
        self.sequence_nr, self.node_id = sequence_nr, node_id
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.flops = flops
        self.count = 1
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    key = property(lambda self: self.name, doc="The name, by which averages are taken.")

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a kernel that the event started.

        Args:
            name: that of the kernel.
            device: the number of the device.
            duration: in microseconds.
        """
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that happened inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the event inside which this one happened."""
        self.cpu_parent = parent

    def _fx_less_children(self, name: str) -> Any:
        """Return an attribute without the share of the events inside."""
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return getattr(self, name) - sum(getattr(child, name) for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The microseconds on the CPU, including the events inside."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        """The microseconds on the device, including the events inside."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type != DeviceType.CPU:
            return self.time_range.elapsed_us()
        inside = sum(child.device_time_total for child in self.cpu_children)
        return sum(kernel.duration for kernel in self.kernels) + inside

    self_cpu_time_total = without_children("cpu_time_total")
    self_device_time_total = without_children("device_time_total")
    self_cpu_memory_usage = without_children("cpu_memory_usage")
    self_device_memory_usage = without_children("device_memory_usage")
    cuda_time_total, self_cuda_time_total = device_time_total, self_device_time_total
    self_cuda_memory_usage = self_device_memory_usage

    def __repr__(self) -> str:
        device = self.use_device
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} "
            f"is_legacy={self.is_legacy}>"
        )


# What the sum takes from the first event, and what is added up.
COPIED = [
    "key",
    "node_id",
    "is_async",
    "is_remote",
    "cpu_parent",
    "cpu_children",
    "overload_name",
    "input_shapes",
    "stack",
    "scope",
    "device_type",
    "is_legacy",
    "use_device",
    "is_user_annotation",
]
FIGURES = ("cpu_time_total", "device_time_total", "cpu_memory_usage", "device_memory_usage")
SUMMED = (*FIGURES, *(f"self_{name}" for name in FIGURES), "count")


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of the events with one key; means are over `count` of them."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.use_device: str | None = None
        self.cpu_time_total = self.self_cpu_time_total = self.device_time_total = (
            self.self_device_time_total
        ) = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.flops = self.count = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or a sum of events, with the same key; return the sum.

        Raises:
            AssertionError: it has another key, or is no event.
        """
        if not isinstance(other, FunctionEvent | FunctionEventAvg):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in COPIED:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """The events of a profile, or sums of them. Printed, it is its table.

    Args:
        events: the events.
        use_device: the kind of device whose times are shown, or None.
        profile_memory: whether memory is shown.
        with_flops: whether operations are counted.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(2) * 2
    >>> type(prof.function_events).__name__, "aten::mul" in [e.name for e in prof.function_events]
    ('EventList', True)
    """

    def __init__(
        self,
        *events: Any,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ):
        super().__init__(*events)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops

    def _build_tree(self) -> None:
        """Find the parent of each event by time: the shortest event of its thread that contains it. Where one is all
        that another of its name does, it is left out."""
        threads: dict[int, list[FunctionEvent]] = {}
        for event in sorted(self, key=lambda e: (e.time_range.start, -e.time_range.end)):
            if event.is_async or event.device_type != DeviceType.CPU:
                continue
            opened = threads.setdefault(event.thread, [])
            while opened and (
                event.time_range.start >= opened[-1].time_range.end
                or event.time_range.end > opened[-1].time_range.end
            ):
                opened.pop()
            if opened:
                opened[-1].append_cpu_child(event)
                event.set_cpu_parent(opened[-1])
            opened.append(event)
        self._remove_dup_nodes()

    def _remove_dup_nodes(self) -> None:
        """Leave out events that are all that an event of their name does."""
        repeated: set[int] = set()
        for event in sorted(self, key=lambda e: e.time_range.start, reverse=True):
            parent = event.cpu_parent
            if parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
                parent.cpu_children, parent.kernels = event.cpu_children, [*parent.kernels, *event.kernels]
                for child in event.cpu_children:
                    child.set_cpu_parent(parent)
                repeated.add(id(event))
        self[:] = [event for event in self if id(event) not in repeated]

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times."""
        return sum(event.self_cpu_time_total for event in self)

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
        """The events as a table.

        Args:
            sort_by: the attribute by which they are sorted, the largest first; None leaves their order.
            row_limit: the number of rows; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: longer text is cut.
            header: a line above the table.
            top_level_events_only: leave out events that happened inside others.
            time_unit: "s", "ms" or "us" for all times; otherwise each has one that fits.

        Raises:
            AttributeError: events have no attribute `sort_by`.
        """
        return format_table(
            self,
            sort_by,
            row_limit,
            (max_name_column_width, max_shapes_column_width, max_src_column_width),
            header,
            top_level_events_only,
            time_unit,
            self._profile_memory,
            self._with_flops,
            self._use_device,
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The sums of events with the same name.

        Args:
            group_by_input_shapes: keep apart events whose inputs have other shapes.
            group_by_stack_n: keep apart events that differ in the first entries of their stack.
            group_by_overload_name: keep apart overloads.
        """
        groups: dict[tuple[str, ...], FunctionEventAvg] = {}
        for event in self:
            key = [event.key, str(event.node_id), str(event.device_type), str(event.is_legacy)]
            key.append(str(event.is_user_annotation))
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += (event.stack or [])[:group_by_stack_n]
            groups.setdefault(tuple(key), FunctionEventAvg()).add(event)
        for group in groups.values():
            group.stack = (group.stack or [])[:group_by_stack_n]
            group.input_shapes = group.input_shapes if group_by_input_shapes else ""
            group.overload_name = group.overload_name if group_by_overload_name else ""
        return EventList(
            groups.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total += event
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        """The metrics that `export_stacks` knows."""
        return [
            "self_cpu_time_total",
            "self_cuda_time_total",
            "self_xpu_time_total",
            "self_privateuse1_time_total",
        ]

    def export_stacks(self, path: str | PathLike[str], metric: str) -> None:
        """Write the stacks of events, each with a metric, for programs that draw flame graphs.

        Args:
            path: the file.
            metric: the name of a time, "self_cpu_time_total" or "self_cuda_time_total".

        Raises:
            ValueError: there is no such metric.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ArgumentValueError(
                f"metric should be one of: {self.supported_export_stacks_metrics()}",
                hint=self.supported_export_stacks_metrics()[0],
            )
        name = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, name))
                if event.stack and value > 0:
                    line = ";".join(entry.replace(";", "_") for entry in reversed(event.stack))
                    file.write(f"{line.replace(' ', '_')} {value}\n")

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events as a Trace Event file, for chrome://tracing or Perfetto."""
        write_chrome_trace(self, path)
