"""A group of elementwise equations as one loop over memory.

    i32 group(first, last, arrays…)       finds where the arrays lie, runs `body`, returns the exceptions that it raised
    body(first, last, addresses…)         for these units of work

Rows are runs along the last dimension, or pieces of them that stay in the cache; the loop goes from row to row, and
within a row from vector to vector. The last vector of a row ends where the row ends, and so overlaps the one before:
these entries are computed twice, and reductions skip the ones already counted. Rows shorter than a vector are loaded
and stored under a mask. Operands that are constant along a row are loaded once for it.

Sums are as exact as NumPy's pairwise ones: of 16 vectors, then of 16 of these sums. The partial sums of such pieces are
stored (one for each row) and added by NumPy. The order of additions depends on the shape only, not on the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core.graph import Equation, Graph, Literal
from ..row_space import strides
from ..space import REDUCTIONS, Reduction, Space
from . import arrays, exceptions, lanes, math
from .ir import I32, I64, PTR, Function, Type, Value, hide

ROW = 1 << 14  # entries of a row, beyond which it is cut
RUN = 16  # vectors that are added one after the other
SHARES = 64  # pieces at most of which a reduction of leading axes is put together
MISFIT = -1  # what `group` returns if the arrays do not lie in memory as it needs them
DOUBTFUL = 1 << 16  # what code returns, beside exceptions, where NumPy has to say what is wrong
BODY, GROUP = "body", "group"


class Work:
    """How a group is cut into rows, and these into units.

    `width`: lanes of a vector. `row`: entries of a row at most; `outer`: the lengths of the dimensions over which rows
    are counted, the last one the pieces of one run along the last dimension. A unit is `span` rows that one thread
    works on; a trailing reduction has a partial result for each row (`by_rows`) or for each unit.
    """

    def __init__(self, space: Space):
        self.space, self.width = space, lanes.vector_width(space.graph)
        dims, reductions = space.dims, space.reductions.values()
        last, trailing = dims[-1], [r for r in reductions if not r.leading]
        leading = [r for r in reductions if r.leading]
        self.row = RUN * RUN * self.width if trailing else ROW
        if last <= self.row + self.row // 2:
            self.row = last
        self.outer = (*dims[:-1], -(-last // self.row))
        self.rows, self.span = prod(self.outer), 1
        if leading:  # units are whole runs along all dimensions but the first
            shares = min(SHARES, *(max(prod(dims[: r.place]) // RUN, 1) for r in leading))
            self.span = -(-dims[0] // shares) * (self.rows // dims[0])
        elif trailing and last < RUN * self.width and all(r.place == 0 for r in trailing):
            self.span = RUN
        self.by_rows = self.span == 1 or bool(leading)
        self.units = -(-self.rows // self.span)

    def partial_shape(self, reduction: Reduction) -> tuple[int, int]:
        """Return the shape of the partial results of a reduction, one axis of which is reduced afterwards: the first
        for a leading reduction, the second for a trailing one."""
        dims = self.space.dims
        if reduction.leading:
            return self.units, prod(dims[reduction.place :])
        kept = prod(dims[: reduction.place])
        return kept, (self.rows if self.by_rows else self.units) // kept


class Combination:
    """How two vectors of partial results become one, and the lanes of a vector one number. Sums of complex numbers are
    sums of their parts, which alternate in a vector as they do in memory."""

    def __init__(self, reduction: Reduction):
        self.name = reduction.equation.primitive.name.removeprefix("reduce_")
        self.dtype = reduction.equation.outputs[0].aval.dtype
        if self.dtype == lanes.BOOL:
            self.name = {"max": "any", "min": "all"}.get(self.name, self.name)
        self.element = math.ELEMENTS[self.dtype.name]

    def type(self, width: int) -> Type:
        """The type of partial results for a vector of `width` entries."""
        return Type(self.element, width * lanes.parts_of(self.dtype))

    @property
    def neutral(self) -> Any:
        """The value that changes no other."""
        if self.name in ("sum", "any"):  # +0 changes −0, as in NumPy
            return 0
        if self.name in ("prod", "all"):
            return 1
        limits = np.iinfo(self.dtype) if self.dtype.kind in "iu" else None
        if self.name == "max":
            return limits.min if limits else -np.inf
        return limits.max if limits else np.inf

    def combine(self, a: Value, b: Value) -> Value:
        """Combine two vectors lane by lane."""
        if self.dtype == lanes.BOOL:
            return a | b if self.name == "any" else a & b
        return math.apply(UFUNCS[self.name], a, b)  # type: ignore[return-value]

    def finish(self, total: Value) -> Value:
        """Return what entries alone were combined to, combined with nothing: a sum of −0 is 0, as in NumPy."""
        return total + 0.0 if self.name == "sum" and total.type.is_float else total

    def across(self, vector: Value) -> Value:
        """Combine the lanes of a vector."""
        f = vector.function
        if self.dtype.kind == "c":
            return f.interleave(*map(self.add_lanes, f.deinterleave(vector)))
        if self.dtype == lanes.BOOL:
            return f.reduce(vector, "or" if self.name == "any" else "and")
        if self.name in ("max", "min"):
            kind = "f" if self.dtype.kind == "f" else ""
            return f.reduce(vector, kind + self.name + "imum" if kind else f"s{self.name}")  # which knows NaN
        return self.add_lanes(vector)

    def add_lanes(self, vector: Value) -> Value:
        """Add or multiply the lanes of a vector; floating-point lanes by halves."""
        name = {"sum": "add", "prod": "mul"}[self.name]
        if not vector.type.is_float:
            return vector.function.reduce(vector, name)
        start = Type(self.element).constant(self.neutral)
        return vector.function.reduce(vector, f"f{name}", start, " reassoc")


UFUNCS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def admits(reduction: Equation) -> bool:
    """Whether a group can reduce as this equation does."""
    source, result = reduction.inputs[0].aval.dtype, reduction.outputs[0].aval.dtype
    if result == lanes.BOOL:
        return source == lanes.BOOL
    name = UFUNCS.get(reduction.primitive.name.removeprefix("reduce_"), "")
    kinds = "ifc" if name == "add" else "if"
    known = lanes.is_known(source) and result.kind in kinds and result.itemsize > 2
    return known and lanes.converts(source, result) and math.covers(name, result)


class Writer:
    """`body` of a group under construction."""

    def __init__(self, space: Space, work: Work, freedom: str = ""):
        self.space, self.work, graph = space, work, space.graph
        self.graph, self.width = graph, work.width
        self.function = Function(
            BODY, [I64, I64, *[PTR] * (len(graph.inputs) + len(graph.outputs))], local=True, inline=False
        )
        self.function.freedom = freedom
        self.first, self.last, *pointers = self.function.arguments
        self.operands = dict(zip(graph.inputs, pointers))
        self.targets = pointers[len(graph.inputs) :]
        self.steps = dict(zip(graph.inputs, space.steps))
        self.trailing = {i: r for i, r in space.reductions.items() if not r.leading}
        self.leading = {i: r for i, r in space.reductions.items() if r.leading}
        self.combinations = {i: Combination(r) for i, r in space.reductions.items()}
        self.length = hide(self.function, space.dims[-1]) if space.dims[-1] < self.width else None
        self.everywhere = {  # what does not change at all
            v: self.repeat_operand(v, 0) for v in graph.inputs if not any(self.steps[v])
        }

    def number(self, value: int) -> Value:
        return self.function.constant(value, I64)

    def repeat_operand(self, operand: Any, place: Value | int) -> Any:
        """Load one entry of an operand into all lanes."""
        return lanes.load_repeated(
            self.function, self.operands[operand], operand.aval.dtype, place, self.width
        )

    def write(self) -> Function:
        """Write the loop over units and rows."""
        f, work = self.function, self.work
        with f.loop(self.last, self.first) as units:
            unit = units.index
            for i, reduction in self.leading.items():
                self.clear(i, reduction, unit)
            start = unit * work.span
            stop = (start + work.span).intrinsic("smin", self.number(work.rows))
            carried = [] if work.by_rows else list(self.trailing)
            with f.loop(stop, start, carry=[self.neutral(i) for i in carried]) as rows:
                totals = self.write_row(rows.index, unit)
                if carried:
                    rows.update(
                        *(self.combinations[i].combine(t, totals[i]) for i, t in zip(carried, rows.carry))
                    )
                else:
                    for i in self.trailing:
                        self.store_number(i, totals[i], rows.index)
            for i, total in zip(carried, rows.carry):
                self.store_number(i, total, unit)
        return f

    def neutral(self, i: int) -> Value:
        combination = self.combinations[i]
        return self.function.constant(combination.neutral, combination.type(self.width))

    def store_number(self, i: int, vector: Value, place: Value) -> None:
        """Combine the lanes of a partial result and store it."""
        combination = self.combinations[i]
        at = lanes.part_number(place, combination.dtype)
        self.function.store(lanes.to_memory(combination.across(vector)), self.targets[i], at)

    def clear(self, i: int, reduction: Reduction, unit: Value) -> None:
        """Set the partial results of a leading reduction in a unit to the neutral value."""
        f, combination = self.function, self.combinations[i]
        count = self.work.partial_shape(reduction)[1] * lanes.parts_of(combination.dtype)
        value = lanes.to_memory(f.constant(combination.neutral, Type(combination.element)))
        with f.loop(count) as loop:
            f.store(value, self.targets[i], unit * count + loop.index)

    def indices(self, row: Value) -> list[Value]:
        """Return the position of a row along each of the outer dimensions."""
        found: list[Value] = []
        for n in reversed(self.work.outer[1:]):
            if n == 1:
                found.append(self.number(0))
                continue
            rest = row / n
            found.append(row - rest * n)
            row = rest
        return [row, *reversed(found)]

    def base(self, indices: Sequence[Value], steps: Sequence[int]) -> Value:
        """Return the entry of an array at which the run begins that a row is a piece of."""
        total = self.number(0)
        for index, step in zip(indices, steps):
            if step:
                total = total + index * step
        return total

    def write_row(self, row: Value, unit: Value) -> dict[int, Value]:
        """Write the loop over the vectors of a row; return the totals of the trailing reductions, by output."""
        f, work, width = self.function, self.work, self.width
        dims, last = self.space.dims, self.space.dims[-1]
        *indices, piece = self.indices(row)
        values = dict(self.everywhere)
        bases: dict[Any, Value] = {}
        for v, steps in self.steps.items():
            if v not in values:
                bases[v] = self.base(indices, steps)
                if not steps[-1]:
                    values[v] = self.repeat_operand(v, bases[v])
        dense = self.base(indices, strides(dims))
        parts = {
            i: unit * prod(dims[r.place :]) + self.base(indices[r.place :], strides(dims[r.place :]))
            for i, r in self.leading.items()
        }
        step_code = Vector(self, values, bases, dense, parts)
        carried = list(self.trailing)
        neutral = [self.neutral(i) for i in carried]
        if last < width:
            totals = step_code.write(self.number(0), neutral)
            return dict(zip(carried, totals))
        start = piece * work.row
        stop = (
            (start + work.row).intrinsic("smin", self.number(last))
            if work.outer[-1] > 1
            else self.number(last)
        )
        if not carried:
            with f.loop(stop, start, step=width) as loop:
                step_code.write(loop.index, [])
            return {}
        with f.loop(stop, start, step=RUN * width, carry=neutral) as runs:
            end = (runs.index + RUN * width).intrinsic("smin", stop)
            with f.loop(end, runs.index, step=width, carry=neutral) as loop:
                loop.update(*step_code.write(loop.index, loop.carry))
            runs.update(
                *(self.combinations[i].combine(a, b) for i, a, b in zip(carried, runs.carry, loop.carry))
            )
        return dict(zip(carried, runs.carry))


class Vector:
    """The equations for one vector of a row. `values` are those that are known; `bases` are the addresses of operands,
    results (`dense`) and partial results of leading reductions (`parts`)."""

    def __init__(self, writer: Writer, values: dict, bases: dict, dense: Value, parts: dict[int, Value]):
        self.writer, self.values, self.bases = writer, values, bases
        self.dense, self.parts = dense, parts

    def write(self, start: Value, totals: Sequence[Value]) -> list[Value]:
        """Write the equations for the vector that begins at the entry `start`, the first that is not done; return the
        totals including the new entries."""
        writer, place = self.writer, start
        f, width, last = writer.function, writer.width, writer.space.dims[-1]
        lane_numbers = Value(f, f"<{', '.join(f'i64 {k}' for k in range(width))}>", Type("i64", width))
        present = fresh = None
        if writer.length is not None:
            present = fresh = lane_numbers < f.splat(writer.length, width)
        elif last % width:
            place = place.intrinsic("smin", writer.number(last - width))
            if writer.space.reductions:
                fresh = lane_numbers >= f.splat(start - place, width)
        values = dict(self.values)
        for v, base in self.bases.items():
            if v not in values:
                values[v] = lanes.load(f, writer.operands[v], v.aval.dtype, base + place, width, present)
        for e in writer.graph.equations:
            if e.outputs[0] not in values and e.primitive.name not in REDUCTIONS:
                operands = [a.value if type(a) is Literal else values[a] for a in e.inputs]
                values[e.outputs[0]] = lanes.write(e, operands, f, width)
        for i in writer.space.results:
            v = writer.graph.outputs[i]
            lanes.store(f, values[v], writer.targets[i], v.aval.dtype, self.dense + place, present)
        for i, reduction in writer.leading.items():
            self.accumulate(
                i, self.counted_entries(i, reduction, values, fresh), self.parts[i] + place, present
            )
        return [
            writer.combinations[i].combine(total, self.counted_entries(i, r, values, fresh))
            for (i, r), total in zip(writer.trailing.items(), totals)
        ]

    def counted_entries(self, i: int, reduction: Reduction, values: dict, fresh: Value | None) -> Value:
        """Return the entries that a reduction counts; lanes that are absent or already counted become neutral."""
        operand, combination = reduction.equation.inputs[0], self.writer.combinations[i]
        value = lanes.convert(values[operand], operand.aval.dtype, combination.dtype)
        if combination.dtype.kind == "c":
            value = lanes.to_memory(value)
        if fresh is None:
            return value
        return lanes.mask_parts(fresh, combination.dtype).select(value, combination.neutral)

    def accumulate(self, i: int, value: Value, place: Value, present: Value | None) -> None:
        """Combine a vector with partial results in memory."""
        f, combination = self.writer.function, self.writer.combinations[i]
        pointer, place = self.writer.targets[i], lanes.part_number(place, combination.dtype)
        type = value.type.of(lanes.memory_element(combination.dtype))
        if present is None:
            held = f.load(pointer, type, place)
        else:
            present = lanes.mask_parts(present, combination.dtype)
            held = f.load_masked(pointer, present, type, place)
        if combination.dtype == lanes.BOOL:
            held = lanes.from_memory(held, combination.dtype)
        total = lanes.to_memory(combination.combine(held, value))
        if present is None:
            f.store(total, pointer, place)
        else:
            f.store_masked(total, pointer, present, place)


def write_group(space: Space, work: Work, freedom: str = "") -> list[Function]:
    """Return the functions `body` and `group` of a group."""
    return add_entry(Writer(space, work, freedom).write(), space.graph)


def add_entry(body: Function, graph: Graph) -> list[Function]:
    """Return `body` and its caller `group`."""
    inputs = graph.inputs
    entry = Function(GROUP, [I64, I64, *[PTR] * len(body.arguments[2:])], "i32")
    first, last, *objects = entry.arguments
    status = entry.emit("alloca i32", PTR)
    entry.store(entry.constant(MISFIT, I32), status)
    with arrays.when_dense(entry, [v.aval for v in inputs], objects):
        addresses = ", ".join(f"ptr {arrays.address(entry, o).text}" for o in objects)
        with exceptions.watch(entry) as raised:
            entry.lines.append(
                f"  call void @{BODY}(i64 {first.text}, i64 {last.text}{', ' * bool(objects)}{addresses})"
            )
        entry.store(raised.value, status)
    entry.return_value(entry.load(status, I32))
    return [body, entry]
