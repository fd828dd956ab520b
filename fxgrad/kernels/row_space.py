"""The space of a row-wise group, whose reductions run over whole rows and are used again in the same row.

    graph(x: f64[50,100]) → f64[50,100]
      a = max(x, axes=(1,))          a number of each row, which is known once the row was read
      b = reshape(a, shape=(50, 1))
      c = exp(x - b)
      …

Values have the shape of the space, or one entry for each row. Operands may also have one entry for each column, or be
constant along some of the axes of rows.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..core.costs import CACHE_ENTRIES
from .space import REDUCTIONS, runs_along

if TYPE_CHECKING:
    from ..core.graph import Equation, Graph

MOVES = frozenset({"reshape", "broadcast_to"})  # between the forms of a value that has an entry for each row


def uses_reductions(graph: Graph) -> bool:
    """Whether equations of a group read results of its reductions."""
    reduced = {e.outputs[0] for e in graph.equations if e.primitive.name in REDUCTIONS}
    return any(a in reduced for e in graph.equations for a in e.inputs)


def row_axes(equation: Equation) -> int:
    """Return the number of last axes that an equation reduces, or 0 if it reduces others as well."""
    rank, axes = len(equation.inputs[0].aval.shape), sorted(equation.params["axes"])
    return len(axes) if axes == list(range(rank - len(axes), rank)) else 0


def strides(dims: Sequence[int]) -> list[int]:
    """Return by how many entries one moves in an array with a step along each axis; 0 for axes of length 1."""
    found, step = [], 1
    for n in reversed(dims):
        found.append(step * (n != 1))
        step *= n
    return found[::-1]


class RowSpace:
    """The space of a group that works row by row.

    `shape` is that of whole values, of which the last `inner` axes are a row; `rows` and `width` are how many there are
    and how long. `steps` gives for each operand how far it moves in memory, in entries, along each of the other axes,
    and whether it runs along the rows.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.reductions: dict[int, Any] = {}  # none is left to the caller
        reduction = next(e for e in graph.equations if e.primitive.name in REDUCTIONS)
        self.shape, self.inner = reduction.inputs[0].aval.shape, row_axes(reduction)
        outer = len(self.shape) - self.inner
        self.rows, self.width = prod(self.shape[:outer]), prod(self.shape[outer:])
        self.steps = {v: self.steps_of(v.aval.shape) for v in graph.inputs}

    @property
    def size(self) -> int:
        return self.rows * self.width

    def steps_of(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """Return the steps of an operand of this shape along the outer axes, and whether it varies along the rows."""
        outer = len(self.shape) - self.inner
        full = (*(1,) * (len(self.shape) - len(shape)), *shape)
        return tuple(strides(full)[:outer]), prod(full[outer:]) == self.width > 1


class RowRules:
    """The rules for a group that works row by row, on values of a shape whose last `inner` axes form a row."""

    def __init__(self, shape: tuple[int, ...], inner: int):
        self.shape, self.inner = shape, inner
        self.outer = shape[: len(shape) - inner]
        self.kept = (*self.outer, *(1,) * inner)  # the shape of numbers of the rows that can be broadcast

    def admit_space(self) -> bool:
        """Whether there are rows, which are not too long."""
        return prod(self.outer) > 1 and 1 < prod(self.shape[len(self.outer) :]) <= CACHE_ENTRIES

    def is_number(self, shape: tuple[int, ...]) -> bool:
        """Whether a value has one entry for each row."""
        return shape in (self.outer, self.kept)

    def admit(self, e: Equation, numbers: Container[Any]) -> bool:
        """Whether an equation can be in the group, where `numbers` has the values with an entry for each row that the
        group makes. Complex numbers have no rows."""
        if any(v.aval.dtype.kind == "c" for v in (*e.inputs, *e.outputs)):
            return False
        if e.primitive.name in REDUCTIONS:
            return e.inputs[0].aval.shape == self.shape and row_axes(e) == self.inner
        shapes = [(a, a.aval.shape) for a in e.inputs]
        out = e.outputs[0].aval.shape
        if out == self.shape:
            return all(s == self.kept if a in numbers else self.admit_operand(s) for a, s in shapes)
        if not self.is_number(out):
            return False
        if e.primitive.name in MOVES:
            return shapes[0][0] in numbers
        # Whether other operands of the shape `outer` go with the rows, their shape does not say.
        return all(a in numbers or s == () or s == out == self.kept for a, s in shapes)

    def admit_operand(self, shape: tuple[int, ...]) -> bool:
        """Whether an operand that is broadcast to whole values varies along the whole row, or is constant along it."""
        along = [runs_along(shape, a - len(self.shape)) for a in range(len(self.outer), len(self.shape))]
        kinds = {a for a, n in zip(along, self.shape[len(self.outer) :]) if n != 1}
        return len(kinds) == 1
