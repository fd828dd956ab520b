"""Memory estimates from Graphs: `memory_estimate`, and chunk sizes that fit into a limit.

The memory in use at a time follows from the first and the last use of each value. An equation allocates memory unless
its results are views, and memory is freed after the last equation that reads it or a view of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..core import source_info
from ..core.aval import Aval
from ..core.costs import CACHE_ENTRIES, FEWEST_TILES
from ..core.errors import StructureError
from ..core.graph import Equation, Graph, Literal, Var
from ..core.interpreter import api_boundary
from ..core.staging import stage
from ..passes.table import optimize
from .jit import function_name, jit, stage_call

# Primitives whose results are views of their first operand (`getitem` unless it is given arrays).
VIEWS = frozenset({"checkpoint_name", "positive", "real", "reshape", "stop_gradient", "weaken"})
SHUFFLES = frozenset(
    {"broadcast_to", "flip", "getitem", "permute", "windows"}
)  # the same, which reshape must copy
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class Held(NamedTuple):
    """Memory that is in use at the peak: what an equation made at the user's line `site`."""

    size: int
    operation: str
    aval: Aval
    site: Any


class MemoryEstimate:
    """The result of `memory_estimate`; numbers are bytes.

    `peak` is the largest memory that a call holds at a time, with its results, but without its arguments and the values
    that the function closes over; `arguments`, `captured` and `results` are the sizes of these; `held` lists the arrays
    held at the peak, the largest first.

    >>> estimate = fx.memory_estimate(lambda x: fnp.sum(fnp.sin(x)))(np.ones(1000))
    >>> estimate.arguments, estimate.results
    (8000, 0)
    """

    arguments: int
    captured: int
    results: int
    peak: int
    held: list[Held]

    @api_boundary
    def __init__(self, arguments: int, captured: int, results: int, peak: int, held: Sequence[Held]):
        self.arguments, self.captured, self.results, self.peak = arguments, captured, results, peak
        self.held = sorted(held, key=lambda h: -h.size)

    def __repr__(self) -> str:
        beside = f"{format_bytes(self.arguments)} of arguments"
        if self.captured:
            beside += f" and {format_bytes(self.captured)} of arrays that the function closes over"
        lines = [f"peak of {format_bytes(self.peak)}, beside {beside}:"]
        shown = self.held[:20]
        lines += [
            f"  {format_bytes(h.size):>8}  {h.aval!r:16} {h.operation:16} {h.site or ''}" for h in shown
        ]
        if len(self.held) > len(shown):
            rest = sum(h.size for h in self.held[len(shown) :])
            lines.append(f"  {format_bytes(rest):>8}  in {len(self.held) - len(shown)} more")
        return "\n".join(line.rstrip() for line in lines)


@api_boundary
def memory_estimate(fun: Callable[..., Any]) -> Callable[..., MemoryEstimate]:
    """Return a function that estimates the memory of fun(*args), without computing it.

    Arrays are counted from the operation that makes them to the last that reads them. Python may keep an array longer
    (a local variable), which takes more; un-jitted, measured peaks are within a factor of two. Compiled code reuses
    memory, and may take less, in particular as machine code.

    Args:
        fun: a function of pytrees of arrays, which can be staged: any composition of transforms, `fx.grad(f)` say, for
            the memory that its forward and backward pass take together.

    Returns:
        A function of the same arguments, or of `ShapeDtypeStruct`s in their place, that returns a `MemoryEstimate`.

    Raises:
        ConcretizationError: the function asks for the value of an argument.

    >>> estimate = fx.memory_estimate(fx.grad(lambda x: fnp.sum(fnp.sin(fnp.exp(x)))))(np.ones(1000))
    >>> estimate.arguments, estimate.results, estimate.peak
    (8000, 8000, 24000)
    """

    @api_boundary
    def estimate_for(*args: Any, **kwargs: Any) -> MemoryEstimate:
        site = source_info.user_frame()
        name = function_name(fun)
        graph, _ = stage_call(fun, args, kwargs, "memory_estimate", name, site)
        return estimate_graph(optimize(graph) if isinstance(fun, jit) else graph)

    return estimate_for


def estimate_graph(graph: Graph) -> MemoryEstimate:
    """Return the estimate for a Graph."""
    memory: dict[Var, Var] = {}  # a variable that is a view → the one that has the memory
    scattered: set[Var] = set()  # views that are not contiguous
    for equation in graph.equations:
        source = shown_by(equation, scattered)
        if source is not None:
            (result,) = equation.outputs
            memory[result] = memory.get(source, source)
            if equation.primitive.name in SHUFFLES:
                scattered.add(result)
    outside = {*graph.inputs, *graph.captured}
    last_read = {memory.get(v, v): len(graph.equations) for v in graph.outputs if type(v) is Var}
    for index in range(len(graph.equations) - 1, -1, -1):
        for v in (*graph.equations[index].inputs, *graph.equations[index].outputs):
            if type(v) is Var:
                last_read.setdefault(memory.get(v, v), index)
    expiring: dict[int, list[Var]] = {}
    for var, index in last_read.items():
        expiring.setdefault(index, []).append(var)

    live: dict[Var, Held] = {}
    total = peak = 0
    held: list[Held] = []
    for index, equation in enumerate(graph.equations):
        for var in equation.outputs:
            if var not in memory and var not in outside:
                size = size_of(var.aval)
                live[var] = Held(size, equation.primitive.name, var.aval, equation.site)
                total += size
        inside = peak_inside(equation)
        if total + inside > peak:
            peak = total + inside
            held = [h for h in live.values() if h.size]
            if inside:
                held.append(
                    Held(inside, f"inside {equation.primitive.name}", equation.outputs[0].aval, equation.site)
                )
        for var in expiring.get(index, ()):
            if var in live:
                total -= live.pop(var).size
    return MemoryEstimate(
        sum([size_of(v.aval) for v in graph.inputs]),
        sum([size_of(v.aval) for v in graph.captured]),
        sum([size_of(v.aval) for v in graph.outputs]),
        peak,
        held,
    )


def shown_by(equation: Equation, scattered: set[Var]) -> Var | None:
    """Return the operand of which the result is a view, or None."""
    name, inputs = equation.primitive.name, equation.inputs
    if len(inputs) == 0 or type(inputs[0]) is Literal:
        return None
    copied = (name == "reshape" and inputs[0] in scattered) or (name == "getitem" and len(inputs) > 1)
    return inputs[0] if not copied and (name in VIEWS or name in SHUFFLES) else None


def peak_inside(equation: Equation) -> int:
    """Return the memory that the Graphs of an equation need beside its results. A large group works in tiles; a small
    one has whole arrays until it is machine code."""
    if (
        equation.primitive.name == "fused"
        and max(v.aval.size for v in equation.inputs) >= FEWEST_TILES * CACHE_ENTRIES
    ):
        return 0
    found = 0
    for graph in equation.primitive.subgraphs([a.aval for a in equation.inputs], equation.params):
        estimate = estimate_graph(graph)
        found = max(found, estimate.peak - estimate.results)
    return found


def size_of(aval: Aval) -> int:
    """Return the bytes of an array; numbers count as nothing."""
    return aval.size * aval.dtype.itemsize if aval.shape else 0


def format_bytes(size: float) -> str:
    """Return a size for people: 1.5 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
        size /= 1000
    raise AssertionError


def parse_bytes(limit: int | float | str, what: str) -> int:
    """Return a limit in bytes: a number, or a text like "500 MB" or "2 GiB"."""
    if not isinstance(limit, str):
        size: float | None = limit
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?|[kmg]i)b?\s*", limit.lower())
        size = float(match[1]) * UNITS[match[2]] if match else None
    if size is None or not size > 0:
        raise StructureError(
            f"{what}: memory_limit={limit!r} is no size", hint='give bytes, or a text such as "500 MB"'
        )
    return int(size)


def available_memory() -> int:
    """Return the bytes that the machine has free for programs, as far as it says."""
    try:
        with open("/proc/meminfo") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 2**31


def fit_chunk(
    run_part: Callable[[Sequence[Any], int], list[Any]],
    avals: Iterable[Aval],
    axes: Sequence[int | None],
    size: int,
    memory_limit: int | float | str | None,
    site: Any,
) -> int:
    """Return how many of `size` entries `vmap` may map over at a time: at least one.

    run_part(values, n) maps over n entries of the values, which have these avals, of which those with an axis are
    mapped. What it takes is linear in n, so that two small n tell all; all results are there from the
    first on.
    """
    if size <= 1:
        return 1
    limit = available_memory() // 2 if memory_limit is None else parse_bytes(memory_limit, "vmap")
    given = list(avals)

    def estimate_part(count: int) -> MemoryEstimate:
        parts = [
            a if axis is None else Aval((count, *a.shape[:axis], *a.shape[axis + 1 :]), a.dtype)
            for a, axis in zip(given, axes)
        ]
        return estimate_graph(
            stage(lambda *values: run_part(values, count), parts, "vmap", site, level="vmap")
        )

    small, large = estimate_part(2), estimate_part(3)
    slope = max(large.peak - small.peak, 1)
    results = size * (large.results - small.results)
    return int(min(max((limit - results - (small.peak - 2 * slope)) // slope, 1), size))
