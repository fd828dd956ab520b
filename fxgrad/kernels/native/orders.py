"""Maxima, minima and sorting of few entries in the steps of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.costs import SORTED_ROW
from ...core.graph import Equation, Literal
from ..row_space import strides
from .entries import Operand, Position, flat_number, walk, write_entries
from .ir import I64, Value
from .steps import Held, StepWriter, is_held, size_in_memory, step_rule


def precedes(x: Value, y: Value, dtype: Any) -> Value:
    """Whether a number precedes another in sorting order, in which NaN is last."""
    if dtype.kind == "b":
        return ~x & y
    if dtype.kind == "u":
        return x.function.emit(f"icmp ult {x.type} {x.text}, {y.text}", x.type.of("i1"))
    less = x < y
    return less | (y.is_nan() & ~x.is_nan()) if x.type.is_float else less


def is_orderable(e: Equation) -> bool:
    dtype = e.inputs[0].aval.dtype
    return (
        type(e.inputs[0]) is not Literal
        and dtype.kind in "biuf"
        and (dtype.kind != "f" or dtype.itemsize > 2)
    )


@step_rule("argmax", "argmin", admits=is_orderable)
def write_search(w: StepWriter, e: Equation) -> None:
    """Write the position of the first entry that no other surpasses; NaN surpasses all."""
    (source,), axis, f = e.inputs, e.params["axis"], w.function
    count, dtype = source.aval.shape[axis], source.aval.dtype
    held = is_held(source.aval)
    x = Operand(w, source, held)

    def surpasses(new: Value, best: Value) -> Value:
        if e.primitive.computes == "argmax":
            return precedes(best, new, dtype)
        if not new.type.is_float:
            return precedes(new, best, dtype)
        return ((new < best) | new.is_nan()) & ~best.is_nan()

    def entry(position: Position) -> Value:
        def at(k: Any) -> Value:
            return x.at((*position[:axis], k, *position[axis:]))

        best, where = at(0), f.constant(0, I64)
        if held:
            for k in range(1, count):
                better = surpasses(at(k), best)
                best, where = better.select(at(k), best), better.select(k, where)
            return where
        with f.loop(count, 1, carry=[best, where]) as loop:
            new = at(loop.index)
            better = surpasses(new, loop.carry[0])
            loop.update(better.select(new, loop.carry[0]), better.select(loop.index, loop.carry[1]))
        return loop.carry[1]

    if held or not is_held(e.outputs[0].aval):
        write_entries(w, e, entry)
        return
    w.bind(e.outputs[0], [entry(position) for position in np.ndindex(*e.outputs[0].aval.shape)])


@step_rule(
    "sort",
    "argsort",
    admits=lambda e: is_orderable(e) and e.inputs[0].aval.shape[e.params["axis"]] <= SORTED_ROW,
)
def write_sort(w: StepWriter, e: Equation) -> None:
    """Write stable sorting by insertion, of numbers or of their positions."""
    (source,), (result,), axis, f = e.inputs, e.outputs, e.params["axis"], w.function
    shape, dtype = source.aval.shape, source.aval.dtype
    by_position = e.primitive.computes == "argsort"
    if is_held(source.aval):
        w.bind(result, sort_held(w, w.entries(source), shape, axis, dtype, by_position))
        return
    x, target = Operand(w, source, False), w.target(result)
    step = strides(shape)[axis] or 1
    keys = w.reserve(size_in_memory(source.aval)) if by_position else target
    outer = [1 if a == axis else n for a, n in enumerate(shape)]

    def visit(position: Position) -> None:
        base = f.constant(0, I64) + flat_number(position, shape)
        with f.loop(shape[axis]) as loop:
            new = x.at((*position[:axis], loop.index, *position[axis + 1 :]))
            with f.cycle([loop.index]) as inner:
                (place,) = inner.carry
                before = place - 1
                # There is always an entry to be compared with: the first is compared with itself.
                safe = (place > 0).select(before, 0)
                other = w.load_entry(keys, source.aval, base + safe * step)
                inner.go_on_if((place > 0) & precedes(new, other, dtype))
                w.store_entry(other, keys, base + place * step)
                if by_position:
                    f.store(f.load(target, I64, base + before * step), target, base + place * step)
                inner.update(before)
            (place,) = inner.carry
            w.store_entry(new, keys, base + place * step)
            if by_position:
                f.store(loop.index, target, base + place * step)

    walk(w, outer, visit)
    w.settle(result, target)


def sort_held(
    w: StepWriter, entries: Held, shape: Sequence[int], axis: int, dtype: Any, by_position: bool
) -> Held:
    """Sort rows in registers by exchanging neighbours, for as many rounds as there are entries."""
    f, found = w.function, [*entries]
    numbers = np.moveaxis(np.arange(len(entries)).reshape(shape), axis, -1).reshape(-1, shape[axis])
    for row in numbers.tolist():
        keys = [entries[k] for k in row]
        places = [f.constant(k, I64) for k in range(len(row))]
        for turn in range(len(row)):
            for k in range(turn % 2, len(row) - 1, 2):
                swap = precedes(keys[k + 1], keys[k], dtype)
                for column in (keys, places):
                    low, high = column[k], column[k + 1]
                    column[k], column[k + 1] = swap.select(high, low), swap.select(low, high)
        for k, value in zip(row, places if by_position else keys):
            found[k] = value
    return found


def admits_placement(e: Equation) -> bool:
    """Whether places are found in one sorted vector, among numbers of its dtype."""
    row, values = (a.aval for a in e.inputs)
    return is_orderable(e) and len(row.shape) == 1 and row.dtype == values.dtype


@step_rule("searchsorted", admits=admits_placement)
def write_placement(w: StepWriter, e: Equation) -> None:
    """Write a search by halves for the place at which each value would stand in a sorted vector."""
    (row, values), f = e.inputs, w.function
    dtype, count = row.aval.dtype, row.aval.size
    sorted_row, x = Operand(w, row, False), Operand(w, values, is_held(e.outputs[0].aval))

    def entry(position: Position) -> Value:
        value = x.at(position)
        low, high = f.constant(0, I64), f.constant(count, I64)
        for _ in range(count.bit_length()):
            middle = (low + high) >> 1
            safe = middle.intrinsic("smin", count - 1)
            found = sorted_row.at((safe,))
            if e.params["side"] == "left":
                further = precedes(found, value, dtype)
            else:
                further = ~precedes(value, found, dtype)
            further = further & (low < high)
            low, high = further.select(middle + 1, low), further.select(high, middle)
        return low

    write_entries(w, e, entry)
