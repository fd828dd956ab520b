"""A row-wise group as one loop over rows, in which each row is read several times, from the cache: where it lies in
segments, one after the other.

    for each row:
        for each vector: the running maximum              stage 0: what reductions need that depend on operands only
        m = the maximum of the lanes
        for each vector: e = exp(x − m), kept; the sum     stage 1: what depends on the results of stage 0
        s = the sum of the lanes
        for each vector: y = e / s                        stage 2

A value that a later stage needs again is kept if that is cheaper than recomputation: in the memory of a result of the
same size that is written later, or in a row of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.graph import Equation, Literal
from ..row_space import MOVES, RowSpace, strides
from ..space import REDUCTIONS
from . import lanes
from .groups import BODY, Combination
from .ir import I64, PTR, Function, Type, Value, hide
from .processor import vector_bytes

RUN = 16  # vectors of a row that are added one after the other
CHEAP = frozenset(
    {"add", "subtract", "multiply", "negative", "maximum", "minimum", "absolute", "where", "convert"}
)
SCRATCH = 1 << 17  # bytes on the stack of all rows that are kept there


class Memory(NamedTuple):
    """The memory of whole values: a result, or a single row of their own."""

    pointer: Value
    is_result: bool


class RowWork:
    """How rows are shared: a unit is `span` rows that one thread works on. `width` is the lanes of a vector."""

    def __init__(self, space: RowSpace):
        dtypes = {
            v.aval.dtype for e in space.graph.equations for v in (*e.inputs, *e.outputs) if not v.aval.weak
        }
        self.width = vector_bytes() // max([d.itemsize for d in dtypes if d.kind != "b"] or [1])
        self.span = max((1 << 12) // space.width, 1)
        self.units = -(-space.rows // self.span)


class RowWriter:
    """`body` of a group that works row by row, under construction."""

    def __init__(self, space: RowSpace, work: RowWork, freedom: str = ""):
        self.space, self.work, self.graph, self.width = space, work, space.graph, work.width
        graph = self.graph
        self.function = Function(
            BODY, [I64, I64, *[PTR] * (len(graph.inputs) + len(graph.outputs))], local=True, inline=False
        )
        self.function.freedom = freedom
        self.rest = hide(self.function, space.run % self.width)
        self.first, self.last, *pointers = self.function.arguments
        self.operands = dict(zip(graph.inputs, pointers))
        self.targets = {
            v: Memory(pointer, True) for v, pointer in zip(graph.outputs, pointers[len(graph.inputs) :])
        }
        self.makers = {e.outputs[0]: e for e in graph.equations}
        self.stages = self.find_stages()
        self.memory = self.find_memory()  # whole values that later stages load, and where they are

    def is_whole(self, v: Any) -> bool:
        return v.aval.shape == self.space.shape

    def find_stages(self) -> dict[Any, int]:
        """Return the stage in which each value is known."""
        stages: dict[Any, int] = dict.fromkeys(self.graph.inputs, 0)
        for e in self.graph.equations:
            stage = max([stages[a] for a in e.inputs if type(a) is not Literal], default=0)
            stages[e.outputs[0]] = stage + (e.primitive.computes in REDUCTIONS)
        return stages

    def find_last_reads(self) -> dict[Any, int]:
        """Return the values to keep, with the last stage that reads each: expensive values that a later stage needs,
        directly or to recompute others."""
        needed = {v: self.stages[v] for v in self.targets if self.is_whole(v)}
        kept: dict[Any, int] = {}
        for e in reversed(self.graph.equations):
            out = e.outputs[0]
            if e.primitive.computes in REDUCTIONS:
                last = self.stages[e.inputs[0]]
            elif not self.is_whole(out) or out not in needed:
                continue
            else:
                last = needed[out]
                if last > self.stages[out] and not self.is_cheap(out):
                    kept[out], last = last, self.stages[out]
            for a in e.inputs:
                if a in self.makers and self.is_whole(a):
                    needed[a] = max(needed.get(a, 0), last)
        return kept

    def find_memory(self) -> dict[Any, Memory]:
        """Choose where values are kept. What finds no place is computed again, as are the values that only it keeps
        from being needed later."""
        self.repeated: set[Any] = set()
        while True:
            kept = self.find_last_reads()
            places, rows, homeless = self.assign_places(kept)
            if not homeless:
                break
            self.repeated.update(homeless)
        for v in rows:
            element, count = lanes.memory_element(v.aval.dtype), self.space.width + self.width
            places[v] = Memory(self.function.emit(f"alloca {Type(element)}, i64 {count}", PTR), False)
        return places

    def assign_places(self, kept: dict[Any, int]) -> tuple[dict[Any, Memory], list[Any], list[Any]]:
        """Assign places to kept values: return those in results, those in rows of their own, and those without a
        place."""
        places: dict[Any, Memory] = {v: self.targets[v] for v in kept if v in self.targets}
        free = {v: t for v, t in self.targets.items() if self.is_whole(v) and v not in kept}
        rows, homeless, left = [], [], SCRATCH
        for v, last in kept.items():
            if v in places:
                continue
            size = v.aval.dtype.itemsize
            for other in free:
                # Written in the last stage that reads the value, or later: at the same place, after it was read.
                if self.stages[other] >= last and other.aval.dtype.itemsize == size:
                    places[v] = free.pop(other)
                    break
            else:
                left -= size * (self.space.width + self.width)
                (rows if left >= 0 else homeless).append(v)
        return places, rows, homeless

    def is_cheap(self, v: Any) -> bool:
        """Whether a value is computed again, rather than kept: in few steps of arithmetic from operands."""
        if v in self.repeated:
            return True
        pending, steps = [v], 0
        while pending:
            v = pending.pop()
            e = self.makers.get(v)
            if e is None or not self.is_whole(v):
                continue
            steps += 1
            if e.primitive.computes not in CHEAP or steps > 3:
                return False
            pending += [a for a in e.inputs if type(a) is not Literal]
        return True

    def write(self) -> Function:
        """Write the loop over units and rows."""
        f, work = self.function, self.work
        with f.loop(self.last, self.first) as units:
            start = units.index * work.span
            stop = (start + work.span).intrinsic("smin", f.constant(self.space.rows, I64))
            with f.loop(stop, start) as rows:
                self.write_row(rows.index)
        return f

    def write_row(self, row: Value) -> None:
        """Write the stages of a row."""
        f = self.function
        bases, known, inside = self.find_bases(row)
        for stage in range(max(self.stages.values()) + 1):
            self.write_row_values(known, stage, row)
            reductions = [
                e
                for e in self.graph.equations
                if e.primitive.computes in REDUCTIONS and self.stages[e.inputs[0]] == stage
            ]
            wanted = [
                v
                for v in (*self.targets, *self.memory)
                if self.is_whole(v) and self.stages[v] == stage and v in self.makers
            ]
            if reductions or wanted:
                totals = RowPass(
                    self, stage, known, bases, inside, reductions, list(dict.fromkeys(wanted))
                ).write()
                for e, total in zip(reductions, totals):
                    combination = Combination(e)
                    number = combination.across(total)
                    known[e.outputs[0]] = f.splat(number, self.width)
        self.write_row_values(known, max(self.stages.values()), row)

    def find_bases(self, row: Value) -> tuple[dict[Any, Value], dict[Any, Value], Value]:
        """Return where in a row's operands its entries begin, the numbers of the row that operands hold, and where its
        entries begin in whole values."""
        f, space = self.function, self.space
        bases, known = {}, {}
        indices: list[Value] = []

        def begin(steps: Sequence[int], along: bool) -> Value:
            """Return where the row begins in a value of these steps."""
            if not any(steps):
                return f.constant(0, I64)
            if list(steps) == [s * (space.width if along else 1) for s in strides(space.dims)]:
                return row * (space.width if along else 1)
            if not indices:
                indices[:] = self.split_row(row, space.dims)
            base = f.constant(0, I64)
            for index, step in zip(indices, steps):
                if step:
                    base = base + index * step
            return base

        for v, (steps, along) in space.steps.items():
            base = begin(steps, along)
            if along:
                bases[v] = base
            else:
                one = f.load(self.operands[v], Type(lanes.memory_element(v.aval.dtype)), base)
                known[v] = lanes.from_memory(f.splat(one, self.width), v.aval.dtype)
        return bases, known, begin(*space.steps_of(space.shape))

    def split_row(self, row: Value, dims: Sequence[int]) -> list[Value]:
        """Return the position of a row along each of the outer axes."""
        found: list[Value] = []
        for n in reversed(dims[1:]):
            rest = row / n
            found.append(row - rest * n)
            row = rest
        return [row, *reversed(found)]

    def write_row_values(self, known: dict[Any, Value], stage: int, row: Value) -> None:
        """Write the equations of row values that are known in a stage, and store the results among them."""
        f = self.function
        for e in self.graph.equations:
            out = e.outputs[0]
            if (
                self.is_whole(out)
                or self.stages[out] > stage
                or out in known
                or e.primitive.computes in REDUCTIONS
            ):
                continue
            operands = [a.value if type(a) is Literal else known[a] for a in e.inputs]
            if e.primitive.computes in MOVES and isinstance(operands[0], Value):
                (known[out],) = operands
            else:
                known[out] = lanes.write(e, operands, f, self.width)
        for v in [v for v in self.targets if v in known and v in self.makers and not self.is_whole(v)]:
            vector = lanes.to_memory(known[v])
            one = f.emit(f"extractelement {vector.type} {vector.text}, i64 0", Type(vector.type.element))
            f.store(one, self.targets[v].pointer, row)


class RowPass:
    """The loops over the vectors of a row in one stage, which accumulates reductions and stores `wanted`."""

    def __init__(
        self,
        writer: RowWriter,
        stage: int,
        known: dict[Any, Value],
        bases: dict[Any, Value],
        inside: Value,
        reductions: Sequence[Equation],
        wanted: Sequence[Any],
    ):
        self.writer, self.stage, self.known, self.bases = writer, stage, known, bases
        self.inside, self.reductions, self.wanted = inside, reductions, wanted
        self.before = writer.function.constant(0, I64)  # entries of the row in the segments before
        self.combinations = [Combination(e) for e in reductions]

    def write(self) -> list[Value]:
        """Write the loop over segments; return the vectors of partial results."""
        f, space = self.writer.function, self.writer.space
        totals = [f.constant(c.neutral, Type(c.element, self.writer.width)) for c in self.combinations]
        if space.segments == 1:
            return self.write_segment(totals)
        bases, inside = self.bases, self.inside
        with f.loop(space.segments, carry=totals) as loop:
            self.bases = {
                v: base + loop.index * space.segment_step(v.aval.shape) for v, base in bases.items()
            }
            self.inside = inside + loop.index * space.segment_step(space.shape)
            self.before = loop.index * space.run
            found = self.write_segment(totals)
            loop.update(*(c.combine(a, b) for c, a, b in zip(self.combinations, loop.carry, found)))
        return loop.carry

    def write_segment(self, totals: list[Value]) -> list[Value]:
        """Write the loop over the vectors of a segment; return the vectors of partial results, which begin as
        `totals`."""
        writer = self.writer
        f, width, run = writer.function, writer.width, writer.space.run
        whole = run - run % width
        neutral = list(totals)
        if whole:
            if whole > 2 * RUN * width and totals:
                # As exact as NumPy's pairwise sums: runs of 16 vectors are added up first.
                with f.loop(whole, step=RUN * width, carry=totals) as runs:
                    end = (runs.index + RUN * width).intrinsic("smin", f.constant(whole, I64))
                    with f.loop(end, runs.index, step=width, carry=neutral) as loop:
                        loop.update(*self.write_vector(loop.index, None, loop.carry))
                    runs.update(
                        *(c.combine(a, b) for c, a, b in zip(self.combinations, runs.carry, loop.carry))
                    )
                totals = runs.carry
            else:
                with f.loop(whole, step=width, carry=totals) as loop:
                    loop.update(*self.write_vector(loop.index, None, loop.carry))
                totals = loop.carry
        if run % width:
            numbers = f"<{', '.join(f'i64 {k}' for k in range(width))}>"
            present = Value(f, numbers, Type("i64", width)) < f.splat(writer.rest, width)
            totals = self.write_vector(f.constant(whole, I64), present, totals)
        return totals

    def write_vector(self, place: Value, present: Value | None, totals: Sequence[Value]) -> list[Value]:
        """Write the equations for one vector of the row; return the totals including it."""
        values: dict[Any, Value] = {}
        found = [self.value(e.inputs[0], place, present, values) for e in self.reductions]
        for v in self.wanted:
            self.value(v, place, present, values)
        for v in self.wanted:
            places = [m for m in (self.writer.memory.get(v), self.writer.targets.get(v)) if m is not None]
            for memory in dict.fromkeys(places):
                self.store(values[v], memory, place, present)
        results = []
        for e, c, value, total in zip(self.reductions, self.combinations, found, totals):
            value = lanes.convert(value, e.inputs[0].aval.dtype, c.dtype)
            if present is not None:
                value = present.select(value, c.neutral)
            results.append(c.combine(total, value))
        return results

    def value(self, v: Any, place: Value, present: Value | None, values: dict[Any, Value]) -> Value:
        """Return a whole value at a place: loaded, kept, or computed."""
        writer = self.writer
        if v in self.known:
            return self.known[v]
        if v in values:
            return values[v]
        if v in self.bases:
            values[v] = self.load(v.aval.dtype, writer.operands[v], self.bases[v] + place, present)
        elif v in writer.memory and writer.stages[v] < self.stage:
            memory = writer.memory[v]
            at = (self.inside if memory.is_result else self.before) + place
            values[v] = self.load(v.aval.dtype, memory.pointer, at, present)
        else:
            e = writer.makers[v]
            operands = [
                a.value if type(a) is Literal else self.value(a, place, present, values) for a in e.inputs
            ]
            if e.primitive.computes in MOVES and isinstance(operands[0], Value):
                (values[v],) = operands
            else:
                values[v] = lanes.write(e, operands, writer.function, writer.width)
        return values[v]

    def load(self, dtype: np.dtype, pointer: Value, place: Value, present: Value | None) -> Value:
        f, type = self.writer.function, Type(lanes.memory_element(dtype), self.writer.width)
        if present is None:
            return lanes.from_memory(f.load(pointer, type, place), dtype)
        # What is not there is like the first entry: nothing is computed of which NumPy would not have warned.
        first = f.splat(f.load(pointer, type._replace(width=1), place), self.writer.width)
        return lanes.from_memory(f.load_masked(pointer, present, type, place, first), dtype)

    def store(self, value: Value, memory: Memory, place: Value, present: Value | None) -> None:
        f, value = self.writer.function, lanes.to_memory(value)
        place = (self.inside if memory.is_result else self.before) + place
        if present is None:
            f.store(value, memory.pointer, place)
        else:
            f.store_masked(value, memory.pointer, present, place)
