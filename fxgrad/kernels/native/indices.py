"""Reads and writes at indices in the steps of loops. An index out of bounds is a doubt: NumPy raises its error. What is
written at an index goes to the memory of the array itself where nobody needs that any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.graph import Equation, Literal
from . import lanes
from .entries import Operand, Position, flat_number, walk, write_entries
from .ir import Type, Value
from .steps import StepWriter, is_held, is_static, size_in_memory, step_rule


def wrap_index(w: StepWriter, index: Value, dtype: Any, size: int) -> Value:
    """Return an index counted from the first entry; an index out of bounds raises a doubt and becomes 0."""
    index = lanes.convert(index, dtype, np.dtype(np.int64))
    index = (index < 0).select(index + size, index) if dtype.kind == "i" else index
    wrong = (index < 0) | (index >= size)
    w.doubt(wrong)
    return wrong.select(0, index)


class Selection:
    """The positions x[index] of a template with integer arrays, by positions in the result."""

    def __init__(
        self, w: StepWriter, shape: tuple[int, ...], index: tuple, arrays: Sequence[Any], known: bool
    ):
        others = len(shape) - sum(part is not None for part in index)
        index = (*index, *[slice(None)] * others)  # axes that a template does not mention
        self.w, self.shape, self.index = w, shape, index
        self.atoms = arrays
        self.arrays = [Operand(w, a, known) for a in arrays]
        self.count = max((a.aval.ndim for a in arrays), default=0)
        places = [i for i, part in enumerate(index) if part is Ellipsis]
        adjacent = bool(places) and places[-1] - places[0] == len(places) - 1
        self.first = places[0] - sum(type(part) is int for part in index[: places[0]]) if adjacent else 0
        self.joint = np.broadcast_shapes(*(a.aval.shape for a in arrays)) if arrays else ()

    def source(self, position: Position) -> Position:
        """Return the position in x of an entry of the result."""
        own = position[self.first : self.first + self.count]
        others = [*position[: self.first], *position[self.first + self.count :]]
        found, arrays, axes = [], iter(zip(self.arrays, self.atoms)), iter(self.shape)
        rest = iter(others)
        for part in self.index:
            if part is None:
                next(rest)
                continue
            size = next(axes)
            if part is Ellipsis:
                array, atom = next(arrays)
                shape = array.aval.shape
                at = [0 if n == 1 else i for i, n in zip(own[self.count - len(shape) :], shape)]
                if type(atom) is Literal:
                    found.append(int(atom.value) % size)
                else:
                    found.append(wrap_index(self.w, array.at(tuple(at)), array.aval.dtype, size))
            elif isinstance(part, slice):
                start, _, step = part.indices(size)
                found.append(next(rest) * step + start)
            else:
                found.append(part % size)
        return tuple(found)


def admits_index(e: Equation) -> bool:
    """Whether the literals of an index are within bounds."""
    index = e.params["index"]
    source = e.inputs[0].aval.shape if e.primitive.computes != "scatter_add" else e.params["shape"]
    sizes = iter(source)
    sizes = [next(sizes) for part in index if part is not None]
    named = [n for n, part in zip(sizes, [p for p in index if p is not None]) if part is Ellipsis]
    arrays = e.inputs[len(e.inputs) - len(named) :]
    return all(type(a) is not Literal or -n <= int(a.value) < n for a, n in zip(arrays, named))


@step_rule("getitem", admits=admits_index)
def write_getitem(w: StepWriter, e: Equation) -> None:
    x, *arrays = e.inputs
    known = is_held(e.outputs[0].aval)
    source = Operand(w, x, known and is_static(e))
    selection = Selection(w, x.aval.shape, e.params["index"], arrays, known)
    write_entries(w, e, lambda position: source.at(selection.source(position)))


@step_rule("update", admits=lambda e: admits_index(e) and e.inputs[0].aval.dtype == e.inputs[1].aval.dtype)
def write_update(w: StepWriter, e: Equation) -> None:
    x, u, *arrays = e.inputs
    put(
        w,
        e,
        x,
        u,
        Selection(w, x.aval.shape, e.params["index"], arrays, is_held(u.aval)).source,
        is_static(e),
    )


@step_rule("dynamic_update_slice", admits=lambda e: e.inputs[0].aval.dtype == e.inputs[1].aval.dtype)
def write_dynamic_update(w: StepWriter, e: Equation) -> None:
    x, u, *starts = e.inputs
    put(w, e, x, u, shift(w, starts, x.aval.shape, u.aval.shape), is_static(e))


@step_rule("dynamic_slice")
def write_dynamic_slice(w: StepWriter, e: Equation) -> None:
    x, *starts = e.inputs
    source = Operand(w, x, is_held(e.outputs[0].aval) and is_static(e))
    moved = shift(w, starts, x.aval.shape, e.params["sizes"])
    write_entries(w, e, lambda position: source.at(moved(position)))


def shift(
    w: StepWriter, starts: Sequence[Any], shape: Sequence[int], sizes: Sequence[int]
) -> Callable[[Position], Position]:
    """Return the function from positions in a window to positions in an array of a shape."""
    first = []
    for start, n, size in zip(starts, shape, sizes):
        if type(start) is Literal:
            first.append(int(start.value))
        else:
            begin = lanes.convert(w.entries(start)[0], start.aval.dtype, np.dtype(np.int64))
            wrong = (begin < 0) | (begin > n - size)
            w.doubt(wrong)
            first.append(wrong.select(0, begin))
    return lambda position: tuple([b + i if isinstance(b, Value) else i + b for b, i in zip(first, position)])


def put(
    w: StepWriter, e: Equation, x: Any, u: Any, target_of: Callable[[Position], Position], static: bool
) -> None:
    """Write x with the entries of u at the positions of `target_of`, in the memory of x if x is not needed any more."""
    (result,) = e.outputs
    shape, new = x.aval.shape, Operand(w, u, is_held(u.aval))
    if w.is_held(result):
        entries, origin = [*w.entries(x)], (0,) * u.aval.ndim
        if static:
            for position in np.ndindex(*u.aval.shape):
                entries[flat_number(target_of(position), shape)] = new.at(position)
            w.bind(result, entries)
            return
        if u.aval.size == 1:
            place = flat_number(target_of(origin), shape)
            w.bind(result, [place.equals(k).select(new.at(origin), old) for k, old in enumerate(entries)])
            return
        target = w.reserve(size_in_memory(x.aval))
        w.store_held(entries, target)
    elif x in w.owned and x in w.dying and x is not u:
        target = w.places[x]
        w.wanted.pop(result, None)
    else:
        target = w.target(result)
        w.copy(target, w.place(x), x.aval)

    def visit(position: Position) -> None:
        w.store_entry(new.at(position), target, flat_number(target_of(position), shape))

    if is_held(u.aval):
        for position in np.ndindex(*u.aval.shape):
            visit(position)
    else:
        walk(w, u.aval.shape, visit)
    w.settle(result, target)


@step_rule(
    "scatter_add",
    admits=lambda e: (
        admits_index(e) and e.outputs[0].aval.dtype.kind in "iuf" and e.outputs[0].aval.dtype.itemsize > 2
    ),
)
def write_scatter_add(w: StepWriter, e: Equation) -> None:
    u, *arrays = e.inputs
    (result,) = e.outputs
    shape, f = result.aval.shape, w.function
    known = is_held(u.aval)
    selection = Selection(w, shape, e.params["index"], arrays, known)
    new = Operand(w, u, known)
    zero = f.constant(0, Type(lanes.memory_element(result.aval.dtype)))
    if is_held(result.aval) and known and is_static(e):
        entries: list[Any] = [None] * result.aval.size
        for position in np.ndindex(*u.aval.shape):
            at, value = flat_number(selection.source(position), shape), new.at(position)
            entries[at] = value if entries[at] is None else entries[at] + value
        w.bind(result, [zero if v is None else v for v in entries])
        return
    target = w.target(result)
    w.clear(target, result.aval)

    def visit(position: Position) -> None:
        at = flat_number(selection.source(position), shape)
        w.store_entry(w.load_entry(target, result.aval, at) + new.at(position), target, at)

    if known:
        for position in np.ndindex(*u.aval.shape):
            visit(position)
    else:
        walk(w, u.aval.shape, visit)
    w.settle(result, target)
