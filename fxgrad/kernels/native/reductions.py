"""Reductions along any axes, norms, and running results, in the steps of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...core.graph import Equation, Literal
from .. import space
from . import groups, lanes, math
from .entries import Operand, Position, flat_number, fold, walk, write_entries
from .groups import Combination
from .ir import I64, Type, Value
from .steps import StepWriter, combine, is_held, step_rule


def admits_reduction(e: Equation) -> bool:
    """Whether a reduction can be written, and to combine one entry after the other is as exact as what NumPy does."""
    shape, axes = e.inputs[0].aval.shape, e.params["axes"]
    rows = max(range(len(shape)), default=0) in axes
    exact = (
        e.primitive.computes != "reduce_sum" or not rows or prod([shape[a] for a in axes]) <= space.PAIRWISE
    )
    exact = exact or is_held(e.inputs[0].aval)
    known = e.inputs[0].aval.dtype.kind != "c" or space.reduces_an_end(shape, e.params["axes"])
    return groups.admits(e) and exact and known


def cut_reduction(e: Equation) -> tuple[tuple[int, int], int]:
    """Return the operand of a reduction along its first or last axes as a matrix, and which of its axes is reduced."""
    shape, kept = e.inputs[0].aval.shape, e.outputs[0].aval.size
    last = max((a for a, n in enumerate(shape) if n != 1), default=0)
    count = e.inputs[0].aval.size // kept
    return ((kept, count), 1) if last in e.params["axes"] else ((count, kept), 0)


@step_rule(*space.REDUCTIONS, admits=admits_reduction)
def write_reduction(w: StepWriter, e: Equation) -> None:
    """Write a reduction that belongs to no group."""
    (source,), (result,) = e.inputs, e.outputs
    combination = Combination(e)
    if not is_held(source.aval):
        if space.reduces_an_end(source.aval.shape, e.params["axes"]):
            shape, axis = cut_reduction(e)
            target = w.target(result)
            combine(w, combination, source.aval.dtype, w.place(source), target, shape, axis)
            w.settle(result, target)
            return
        x = Reduced(w, e)
        write_totals(w, e, lambda position: x.total(position, combination))
        return
    numbers = np.arange(source.aval.size).reshape(source.aval.shape)
    axes = e.params["axes"]
    order = [a for a in range(numbers.ndim) if a not in axes] + [*axes]
    entries = [lanes.convert(v, source.aval.dtype, combination.dtype) for v in w.entries(source)]
    found = []
    for row in numbers.transpose(order).reshape(result.aval.size, -1).tolist():
        terms = [entries[k] for k in row]
        while len(terms) >= 8:  # in halves: one addition does not wait for all others
            half = len(terms) // 2
            pairs = [combination.combine(a, b) for a, b in zip(terms, terms[half : 2 * half])]
            terms = [*pairs, *terms[2 * half :]]
        total = terms[0]
        for term in terms[1:]:
            total = combination.combine(total, term)
        found.append(combination.finish(total))
    w.bind(result, found)


class Reduced:
    """The operand of a reduction, whose entries are visited along the reduced axes for a position in the result."""

    def __init__(self, w: StepWriter, e: Equation):
        (source,) = e.inputs
        self.w, self.dtype, self.shape, self.axes = w, source.aval.dtype, source.aval.shape, e.params["axes"]
        self.known = is_held(source.aval)
        self.x = Operand(w, source, self.known)

    def fold(
        self, position: Position, start: Sequence[Value], step: Callable[[Value, list[Value]], list[Value]]
    ) -> list[Value]:
        """Fold the entries with `step`, from the values `start`; return the final values."""
        kept = iter(position)
        at: list[Any] = [None if a in self.axes else next(kept) for a in range(len(self.shape))]

        def step_at(place: Position, carry: Sequence[Value]) -> list[Value]:
            for a, k in zip(self.axes, place):
                at[a] = k
            return step(self.x.at(tuple(at)), [*carry])

        shape = [self.shape[a] for a in self.axes]
        if not self.known:
            return [*fold(self.w, shape, start, step_at)]
        found = [*start]
        for place in np.ndindex(*shape):
            found = step_at(place, found)
        return found

    def total(self, position: Position, combination: Combination) -> Value:
        """Return the entries combined."""
        start = self.w.function.constant(combination.neutral, combination.type(1))

        def step(x: Value, total: list[Value]) -> list[Value]:
            return [combination.combine(total[0], lanes.convert(x, self.dtype, combination.dtype))]

        return self.fold(position, [start], step)[0]


def write_totals(w: StepWriter, e: Equation, entry: Callable[[Position], Value]) -> None:
    """Write a result whose entries are loops, one after the other if there are few."""
    (result,) = e.outputs
    if is_held(result.aval):
        w.bind(result, [entry(position) for position in np.ndindex(*result.aval.shape)])
    else:
        write_entries(w, e, entry)


@step_rule("norm2", admits=lambda e: e.inputs[0].aval.dtype in (np.float32, np.float64))
def write_norm(w: StepWriter, e: Equation) -> None:
    """Write Euclidean norms; where squares overflow or underflow, those of the entries divided by the largest one."""
    f, x = w.function, Reduced(w, e)
    limits = np.finfo(x.dtype)
    least = float((limits.smallest_normal / limits.eps) ** 0.5)
    zero = f.constant(0.0, Type(lanes.memory_element(x.dtype)))

    def entry(position: Position) -> Value:
        def norm(unit: Value | None) -> Value:
            def step(v: Value, total: list[Value]) -> list[Value]:
                v = v if unit is None else v / unit
                return [total[0] + v * v]

            return x.fold(position, [zero], step)[0].intrinsic("sqrt")

        def scaled() -> list[Value]:
            (most,) = x.fold(
                position, [zero], lambda v, most: [math.apply("maximum", most[0], v.intrinsic("fabs"))]
            )
            unit = (most.equals(0.0) | most.equals(float("inf"))).select(1.0, most)
            return [norm(unit) * unit]

        plain = norm(None)
        return f.branch((plain > least) & (plain < float("inf")), lambda: [plain], scaled)[0]

    write_totals(w, e, entry)


# -- running results ------------------------------------------
RUNNING = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}


def admits_running(e: Equation) -> bool:
    """Whether running results can be written: of numbers that are not rounded in between."""
    dtypes = {v.aval.dtype for v in (*e.inputs, *e.outputs)}
    (dtype, *others) = dtypes
    name = RUNNING.get(e.primitive.computes, "multiply")
    sound = not others and dtype.kind in "if" and dtype.itemsize >= 4 and math.covers(name, dtype)
    return sound and all(type(a) is not Literal and a.aval.shape == e.outputs[0].aval.shape for a in e.inputs)


@step_rule(*RUNNING, "recurrence", admits=admits_running)
def write_running(w: StepWriter, e: Equation) -> None:
    """Write zₖ = zₖ₋₁ ∘ xₖ, or zₖ = aₖ·zₖ₋₁ + bₖ from z = 0 on."""
    (result,), axis, f = e.outputs, e.params["axis"], w.function
    shape, known = result.aval.shape, is_held(result.aval)
    operands = [Operand(w, a, known) for a in e.inputs]
    name = RUNNING.get(e.primitive.computes)

    def advance(z: Value, position: Position) -> Value:
        values = [x.at(position) for x in operands]
        if name is not None:
            return math.apply(name, z, *values)  # type: ignore[return-value]
        return values[0] * z + values[1]

    def line(position: Position) -> tuple[Position, Position]:
        return position[:axis], position[axis + 1 :]

    def begin(position: Position) -> Value:
        before, after = line(position)
        first = (*before, 0, *after)
        if name is not None:
            return operands[0].at(first)
        return advance(f.constant(0, Type(lanes.memory_element(result.aval.dtype))), first)

    if known:
        found: dict[Position, Value] = {}
        for position in np.ndindex(*shape):
            before, after = line(position)
            k = position[axis]
            found[position] = advance(found[(*before, k - 1, *after)], position) if k else begin(position)
        w.bind(result, [*found.values()])
        return
    target = w.target(result)

    def visit(position: Position) -> None:
        before, after = line(position)
        z = begin(position)
        w.store_entry(z, target, flat_number((*before, 0, *after), shape))
        with f.loop(shape[axis], 1, carry=[z]) as loop:
            here = (*before, loop.index, *after)
            z = advance(loop.carry[0], here)
            w.store_entry(z, target, flat_number(here, shape))
            loop.update(z)

    walk(w, [1 if a == axis else n for a, n in enumerate(shape)], visit)
    w.settle(result, target)


def admits_convolution(e: Equation) -> bool:
    """Whether a convolution is one of two vectors of numbers that are not rounded in between."""
    dtypes = {v.aval.dtype for v in (*e.inputs, *e.outputs)}
    vectors = all(type(a) is not Literal and a.aval.ndim == 1 for a in e.inputs)
    return vectors and dtypes in ({np.dtype(np.float32)}, {np.dtype(np.float64)})


@step_rule("convolve", admits=admits_convolution)
def write_convolution(w: StepWriter, e: Equation) -> None:
    """Write Σ a[k]·v[n − k] of two vectors."""
    f, known = w.function, all(is_held(v.aval) for v in (*e.inputs, *e.outputs))
    a, v = (Operand(w, x, known) for x in e.inputs)
    count, size = a.aval.size, v.aval.size
    type = Type(lanes.memory_element(e.outputs[0].aval.dtype))

    def entry(position: Position) -> Value:
        (n,) = position
        if known:
            terms = [(k, n - k) for k in range(max(0, n - size + 1), min(n, count - 1) + 1)]
            total = f.constant(0, type)
            for i, j in terms:
                total = a.at((i,)) * v.at((j,)) + total
            return total
        n = f.constant(0, I64) + n
        first, last = (n - (size - 1)).intrinsic("smax", 0), n.intrinsic("smin", count - 1)
        with f.loop(last + 1, first, carry=[f.constant(0, type)]) as loop:
            loop.update(a.at((loop.index,)) * v.at((n - loop.index,)) + loop.carry[0])
        return loop.carry[0]

    write_entries(w, e, entry)
