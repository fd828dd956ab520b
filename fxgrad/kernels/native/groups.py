"""A group of elementwise equations as one loop over memory.

    i32 group(first, last, arrays…)       finds where the arrays lie, runs `body`, returns the exceptions that it raised
    body(first, last, addresses…)         for these units of work

The space is traversed in tiles, which are a few vectors of entries that are neighbours in memory. What reductions keep
is outermost, so that totals stay in registers while the entries are visited that are added to them:

    sum over (0, 2) of (32, 64, 784)      for each of 64: for each of 32: for each tile of a row: vectors are added
    sum over (0,) of (9000, 64)           for each share of rows: for each row: its 4 vectors are added
    sum over (1, 3) of (99, 2, 12, 2)     for each of 99: for each tile of 8 · 2 entries: for each of 2: vectors are
                                          added; in the end their neighbouring lanes

The last tile of a run ends where the run ends, and so overlaps the one before: these entries are computed twice, and
reductions skip the ones already counted. A run shorter than any vector is loaded and stored under a mask.

Sums are at least as exact as NumPy's: chains of additions are short, and their totals are added. The totals of several
units are added by NumPy. The order of additions depends on the shape only, not on the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ...core.graph import Equation, Graph, Literal
from ..row_space import strides
from ..space import REDUCTIONS, Space
from . import arrays, exceptions, lanes, math
from .ir import I32, I64, PTR, Function, Type, Value, hide
from .tiling import CHAIN, Work

MISFIT = -1  # what `group` returns if the arrays do not lie in memory as it needs them
DOUBTFUL = 1 << 16  # what code returns, beside exceptions, where NumPy has to say what is wrong
BODY, GROUP = "body", "group"


class Combination:
    """How two vectors of partial results become one, and the lanes of a vector one number. Sums of complex numbers are
    sums of their parts, which alternate in a vector as they do in memory."""

    def __init__(self, reduction: Equation):
        self.name = reduction.primitive.computes.removeprefix("reduce_")
        self.dtype = reduction.outputs[0].aval.dtype
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
    name = UFUNCS.get(reduction.primitive.computes.removeprefix("reduce_"), "")
    kinds = "ifc" if name == "add" else "if"
    known = lanes.is_known(source) and result.kind in kinds and result.itemsize > 2
    return known and lanes.converts(source, result) and math.covers(name, result)


Totals = dict[int, list[Value]]  # the vectors of totals of each reduction, by its output


class Writer:
    """`body` of a group under construction. `at` has the positions along the dimensions whose loops are open; `counted`
    is how many places of a tile were in the one before."""

    def __init__(self, space: Space, work: Work, freedom: str = ""):
        self.space, self.work, self.tile = space, work, work.tile
        self.graph = graph = space.graph
        count = len(graph.inputs)
        pointers = [PTR] * (count + len(graph.outputs))
        self.function = Function(BODY, [I64, I64, *pointers], local=True, inline=False)
        self.function.freedom = freedom
        self.first, self.last, *pointers = self.function.arguments
        self.operands, self.targets = dict(zip(graph.inputs, pointers)), pointers[count:]
        self.steps = dict(zip(graph.inputs, space.steps))
        self.combinations = {i: Combination(r.equation) for i, r in space.reductions.items()}
        self.present = self.counted = None
        if work.tile.is_partial:
            length = hide(self.function, space.dims[-1])
            self.present = self.places(0) < self.function.splat(length, work.tile.width)
        self.everywhere = {  # what does not change at all
            v: self.repeat_operand(v, self.number(0)) for v in graph.inputs if not any(self.steps[v])
        }
        self.at: dict[int, Value] = {}

    def number(self, value: int) -> Value:
        return self.function.constant(value, I64)

    def places(self, vector: int) -> Value:
        """Return how far the lanes of a vector are along the axis of the tiles."""
        numbers = ", ".join(f"i64 {k}" for k in self.tile.places(vector))
        return Value(self.function, f"<{numbers}>", Type("i64", self.tile.width))

    def repeat_operand(self, operand: Any, place: Value) -> Any:
        """Load one entry of an operand into all lanes."""
        pointer, dtype = self.operands[operand], operand.aval.dtype
        return lanes.load_repeated(self.function, pointer, dtype, place, self.tile.width)

    # -- loops ------------------------------------------
    def write(self) -> Function:
        """Write the loop over units."""
        with self.function.loop(self.last, self.first) as units:
            self.write_unit(units.index)
        return self.function

    def write_unit(self, unit: Value) -> None:
        """Write the loops of a unit."""
        work, dims, axis = self.work, self.space.dims, self.tile.axis
        unit, piece = self.split(unit, work.pieces)
        for d in reversed(work.outer):
            unit, self.at[d] = self.split(unit, dims[d])
        self.cuts = {d: (self.number(0), self.number(dims[d])) for d in (*work.inside, axis)}
        for d, number, count in (
            *((d, unit, work.shares) for d in work.inside[:1]),
            (axis, piece, work.pieces),
        ):
            if count > 1:
                start = number * work.lengths(d)
                end = (start + work.lengths(d)).intrinsic("smin", self.number(dims[d]))
                self.cuts[d] = start, end
        self.parts = {i: self.part_number(i, unit, piece) for i in self.space.reductions}
        every = self.start(self.space.reductions)
        if axis in work.reduced:
            self.write_loops([*work.inside, axis], every, *self.cuts[(*work.inside, axis)[0]])
            self.finish(every, False)
            return
        wide = {i: vs for i, vs in every.items() if self.space.reductions[i].reduced[axis]}

        def write_inside(totals: Totals) -> None:
            found = {**every, **totals}
            self.write_loops(work.inside, found, *self.cuts[work.inside[0]] if work.inside else ())
            totals.update((i, found[i]) for i in totals)
            self.finish({i: vs for i, vs in found.items() if i not in totals}, bool(work.strip))

        if not work.strip:
            self.write_tiles(wide, *self.cuts[axis], write_inside)
        else:
            first = work.inside[0]
            self.clear(set(every) - set(wide))
            start, stop = self.cuts[first]
            with self.loop(start, stop, work.strip, wide) as index:
                self.cuts[first] = index, (index + work.strip).intrinsic("smin", stop)
                self.write_tiles(wide, *self.cuts[axis], write_inside)
        self.finish(wide, False)

    def split(self, number: Value, count: int) -> tuple[Value, Value]:
        """Return quotient and remainder."""
        if count == 1:
            return number, self.number(0)
        quotient = number / count
        return quotient, number - quotient * count

    def part_number(self, i: int, share: Value, piece: Value) -> Value:
        """Return the place of a unit among those that are put together to the same totals."""
        reduced, number = self.space.reductions[i].reduced, share
        for d in self.work.outer:
            if reduced[d]:
                number = number * self.space.dims[d] + self.at[d]
        return number * self.work.pieces + piece if reduced[self.tile.axis] else number

    def start(self, outputs: Iterable[int]) -> Totals:
        """Return totals of nothing."""
        f, tile = self.function, self.tile
        pairs = [(i, self.combinations[i]) for i in outputs]
        return {i: [f.constant(c.neutral, c.type(tile.width))] * tile.count for i, c in pairs}

    @contextmanager
    def loop(self, start: Value, stop: Value, step: int, totals: Totals) -> Iterator[Value]:
        """Write a loop that carries totals, which its body changes."""
        sizes = {i: len(vs) for i, vs in totals.items()}

        def adopt(values: Sequence[Value]) -> None:
            rest = iter(values)
            totals.update({i: [next(rest) for _ in range(n)] for i, n in sizes.items()})

        with self.function.loop(stop, start, step, [v for vs in totals.values() for v in vs]) as loop:
            adopt(loop.carry)
            yield loop.index
            loop.update(*(v for vs in totals.values() for v in vs))
        adopt(loop.carry)

    def write_loops(self, axes: Sequence[int], totals: Totals, *ends: Value) -> None:
        """Write the loops over dimensions that all reductions reduce, the first one between these ends: in chains,
        whose totals are added."""
        if not axes:
            self.write_tile(totals)
            return
        (axis, *rest), work = axes, self.work
        inner = work.additions(rest)
        chain = max(CHAIN // inner, 1)
        if work.additions([axis]) <= chain:
            self.write_loop(axis, rest, totals, *ends)
            return
        start, stop = ends
        step = chain * work.step(axis)
        with self.loop(start, stop, step, totals) as index:
            part = self.start(totals)
            end = (index + step).intrinsic("smin", stop)
            self.write_loop(axis, rest, part, index, end)
            for i, vectors in part.items():
                totals[i] = [*map(self.combinations[i].combine, totals[i], vectors)]

    def write_loop(self, axis: int, rest: Sequence[int], totals: Totals, start: Value, stop: Value) -> None:
        """Write the loop over one dimension."""
        if axis == self.tile.axis:
            self.write_tiles(totals, start, stop, self.write_tile)
            return
        with self.loop(start, stop, 1, totals) as index:
            self.at[axis] = index
            self.write_loops(rest, totals, *self.cuts[rest[0]] if rest else ())

    def write_tiles(self, totals: Totals, start: Value, stop: Value, write: Callable[[Totals], None]) -> None:
        """Write a loop over tiles: over those that begin where the one before ends, and then over the last one."""
        axis, extent, n = self.tile.axis, self.tile.extent, self.space.dims[self.tile.axis]
        if self.tile.is_partial:
            self.at[axis] = self.number(0)
            write(totals)
            return
        full = start + (stop - start) / extent * extent if n % extent else stop
        with self.loop(start, full, extent, totals) as self.at[axis]:
            write(totals)
        if n % extent:
            with self.loop(full, stop, extent, totals) as index:
                self.at[axis] = self.number(n - extent)
                self.counted = index - (n - extent)
                write(totals)
                self.counted = None

    # -- tiles ------------------------------------------
    def write_tile(self, totals: Totals) -> None:
        """Write the equations for a tile; store results, and combine what is reduced with the totals."""
        f, tile, graph = self.function, self.tile, self.graph
        places = {v: self.place(steps) for v, steps in self.steps.items() if v not in self.everywhere}
        dense = self.place(strides(self.space.dims)) if self.space.results else None
        for k in range(tile.count):
            values = {**self.everywhere, **{v: self.load(v, place, k) for v, place in places.items()}}
            for e in graph.equations:
                if e.primitive.computes not in REDUCTIONS:
                    operands = [a.value if type(a) is Literal else values[a] for a in e.inputs]
                    values[e.outputs[0]] = lanes.write(e, operands, f, tile.width)
            for i in self.space.results:
                v, place = graph.outputs[i], dense + k * tile.width  # type: ignore[operator]
                lanes.store(f, values[v], self.targets[i], v.aval.dtype, place, self.present)
            for i, vectors in totals.items():
                total = self.combinations[i].combine(vectors[k], self.counted_entries(i, k, values))
                totals[i] = [*vectors[:k], total, *vectors[k + 1 :]]

    def place(self, steps: Sequence[int]) -> Value:
        """Return the entry of an array at which a tile begins."""
        total = self.number(0)
        for d, step in enumerate(steps):
            if step and d in self.at:
                total = total + self.at[d] * step
        return total

    def load(self, v: Any, place: Value, vector: int) -> Any:
        """Load the entries of an operand for a vector of the tile."""
        f, tile, dtype = self.function, self.tile, v.aval.dtype
        *_, outer, last = (0, *self.steps[v])
        if not last and (not outer or tile.inner == 1):
            return self.repeat_operand(v, place)
        if tile.inner > 1 and not (outer and last):
            columns = tile.places(vector) if outer else tile.columns(vector)
            count = tile.width if outer else tile.inner
            return f.choose([lanes.load(f, self.operands[v], dtype, place, count)], columns)
        place = place + vector * tile.width
        return lanes.load(f, self.operands[v], dtype, place, tile.width, self.present)

    def counted_entries(self, i: int, vector: int, values: dict) -> Value:
        """Return the entries that a reduction counts; lanes that are absent or already counted become neutral."""
        reduction, combination = self.space.reductions[i], self.combinations[i]
        operand = reduction.equation.inputs[0]
        value = lanes.convert(values[operand], operand.aval.dtype, combination.dtype)
        if combination.dtype.kind == "c":
            value = lanes.to_memory(value)
        fresh = self.present
        if self.counted is not None:
            fresh = self.places(vector) >= self.function.splat(self.counted, self.tile.width)
        if fresh is None or not (reduction.reduced[self.tile.axis] or self.work.strip):
            return value
        return lanes.mask_parts(fresh, combination.dtype).select(value, combination.neutral)

    # -- totals ------------------------------------------
    def total_place(self, i: int) -> Value:
        """Return the entry of the results of a reduction to which the totals of a tile belong."""
        dims, reduced = self.space.dims, self.space.reductions[i].reduced
        kept = [d for d in range(len(dims)) if not reduced[d]]
        steps = dict(zip(kept, strides([dims[d] for d in kept])))
        place = self.parts[i] * prod(dims[d] for d in kept)
        return place + self.place([steps.get(d, 0) for d in range(len(dims))])

    def clear(self, outputs: Iterable[int]) -> None:
        """Set the totals of a unit, of which every strip makes a part, to nothing."""
        f, (start, stop) = self.function, self.cuts[self.tile.axis]
        for i in sorted(outputs):
            combination = self.combinations[i]
            inner = 1 if self.space.reductions[i].reduced[-1] else self.tile.inner
            self.at[self.tile.axis] = start
            place = lanes.part_number(self.total_place(i), combination.dtype)
            value = lanes.to_memory(f.constant(combination.neutral, combination.type(1)._replace(width=1)))
            with f.loop((stop - start) * (inner * lanes.parts_of(combination.dtype))) as loop:
                f.store(value, self.targets[i], place + loop.index)

    def finish(self, totals: Totals, adds: bool) -> None:
        """Store totals, or add them to what is stored: combine first what lies in lanes."""
        f, tile = self.function, self.tile
        for i, vectors in totals.items():
            combination, reduced = self.combinations[i], self.space.reductions[i].reduced
            place = lanes.part_number(self.total_place(i), combination.dtype)
            if reduced[tile.axis] and reduced[-1]:
                numbers = [combination.across(fold(vectors, combination.combine))]
            elif reduced[tile.axis]:
                numbers = self.fold_rows(vectors, combination)
            elif reduced[-1]:
                numbers = [self.fold_columns(vectors, combination)]
            else:
                numbers = vectors
            present = self.present if not reduced[-1] else None
            if present is not None:
                present = lanes.mask_parts(present, combination.dtype)
            for k, number in enumerate(numbers):
                at, type = place + k * number.type.width, lanes.to_memory(number).type
                if adds:
                    held = (
                        f.load(self.targets[i], type, at)
                        if present is None
                        else f.load_masked(self.targets[i], present, type, at)
                    )
                    number = combination.combine(
                        lanes.from_memory(held, lanes.part_dtype(combination.dtype)), number
                    )
                if present is None:
                    f.store(lanes.to_memory(number), self.targets[i], at)
                else:
                    f.store_masked(lanes.to_memory(number), self.targets[i], present, at)

    def fold_columns(self, vectors: Sequence[Value], combination: Combination) -> Value:
        """Combine all entries at one place along the axis: neighbouring lanes."""
        f, width, length = self.function, self.tile.width, self.tile.inner
        while length % 2 == 0:
            length //= 2
            halves = [
                [
                    f.choose(vectors, range(2 * k * width + half, 2 * (k + 1) * width, 2))
                    for k in range(length)
                ]
                for half in (0, 1)
            ]
            vectors = [*map(combination.combine, *halves)]
        return fold(
            [f.choose(vectors, range(k, length * width, length)) for k in range(length)], combination.combine
        )

    def fold_rows(self, vectors: Sequence[Value], combination: Combination) -> list[Value]:
        """Combine all places along the axis for each of the entries there: halves of the lanes, until one place is
        left."""
        f, width, length = self.function, self.tile.width, self.tile.inner
        count = length * width
        while count > length:
            count //= 2
            halves = [
                [
                    f.choose(vectors, [half * count + min(k, count - 1) for k in range(first, first + width)])
                    for first in range(0, count, width)
                ]
                for half in (0, 1)
            ]
            vectors = [*map(combination.combine, *halves)]
        return [v for vector in vectors for v in f.separate(vector)][:length]


def fold(vectors: Sequence[Value], combine: Callable[[Value, Value], Value]) -> Value:
    """Combine vectors in halves."""
    vectors = list(vectors)
    while len(vectors) > 1:
        pairs = [combine(a, b) for a, b in zip(vectors[::2], vectors[1::2])]
        vectors = pairs + vectors[len(pairs) * 2 :]
    return vectors[0]


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
