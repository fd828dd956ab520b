"""The space of a row-wise group, whose reductions run over whole rows and are used again in the same row.

    graph(x: f64[50,100]) → f64[50,100]
      a = max(x, axes=(1,))          a number of each row, which is known once the row was read
      b = reshape(a, shape=(50, 1))
      c = exp(x - b)
      …

Values have the shape of the space, or one entry for each row. Operands may also have one entry for each column, or be
constant along some of the axes of rows. A row ends with the last axis. Where it has another axis further out, as the
values of a channel have in a batch of images, it lies in memory in `segments`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..core.costs import CACHE_ENTRIES
from .space import REDUCTIONS, runs_along

if TYPE_CHECKING:
    from ..core.graph import Equation, Graph

SHORTEST_SEGMENT = 16  # entries: a vector of single precision
MOVES = frozenset({"reshape", "broadcast_to"})  # between the forms of a value that has an entry for each row


def uses_reductions(graph: Graph) -> bool:
    """Whether equations of a group read results of its reductions."""
    reduced = {e.outputs[0] for e in graph.equations if e.primitive.computes in REDUCTIONS}
    return any(a in reduced for e in graph.equations for a in e.inputs)


def row_axes(equation: Equation) -> tuple[int, ...]:
    """Return the axes that an equation reduces if they form a row: the last ones, and perhaps one further out, if what
    lies between two steps along that is not short; or else no axes."""
    shape, axes = equation.inputs[0].aval.shape, tuple(sorted(equation.params["axes"]))
    ahead, run = segment_axis(shape, axes)
    if not axes or axes[-1] != len(shape) - 1 or len(ahead) > 1 or (ahead and run < SHORTEST_SEGMENT):
        return ()
    return axes


def segment_axis(shape: Sequence[int], axes: Sequence[int]) -> tuple[list[int], int]:
    """Return the axes of a row, without those of length one, that do not lie at its end, and how many entries lie in
    memory one after the other."""
    first = len(shape)
    while first and (first - 1 in axes or shape[first - 1] == 1):
        first -= 1
    return [a for a in axes if a < first and shape[a] != 1], prod(shape[first:])


def strides(dims: Sequence[int]) -> list[int]:
    """Return by how many entries one moves in an array with a step along each axis; 0 for axes of length 1."""
    found, step = [], 1
    for n in reversed(dims):
        found.append(step * (n != 1))
        step *= n
    return found[::-1]


class RowSpace:
    """The space of a group that works row by row.

    `shape` is that of whole values, of which the `axes` are a row, and `outer` the others; `rows` and `width` are how
    many rows there are and how long. A row lies in memory in `segments` of `run` entries. `steps` gives for each
    operand how far it moves in memory, in entries, along each of the outer axes, and whether it runs along the rows.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.reductions: dict[int, Any] = {}  # none is left to the caller
        reduction = next(e for e in graph.equations if e.primitive.computes in REDUCTIONS)
        self.shape, self.axes = reduction.inputs[0].aval.shape, row_axes(reduction)
        self.outer = [a for a in range(len(self.shape)) if a not in self.axes]
        self.dims = [self.shape[a] for a in self.outer]
        self.rows, self.width = prod(self.dims), prod(self.shape[a] for a in self.axes)
        self.ahead, _ = segment_axis(self.shape, self.axes)
        self.segments = prod(self.shape[a] for a in self.ahead)
        self.run = self.width // self.segments
        self.steps = {v: self.steps_of(v.aval.shape) for v in graph.inputs}

    @property
    def size(self) -> int:
        return self.rows * self.width

    def pad(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape with axes of length one in front, as many as it lacks."""
        return (*(1,) * (len(self.shape) - len(shape)), *shape)

    def steps_of(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """Return the steps of an operand of this shape along the outer axes, and whether it varies along the rows."""
        full = self.pad(shape)
        steps = strides(full)
        return tuple(steps[a] for a in self.outer), prod(full[a] for a in self.axes) == self.width > 1

    def segment_step(self, shape: tuple[int, ...]) -> int:
        """Return how far an operand of this shape moves from one segment of a row to the next."""
        return sum(strides(self.pad(shape))[a] for a in self.ahead)


class RowRules:
    """The rules for a group that works row by row, on values of a shape of which some axes form a row."""

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...]):
        self.shape, self.axes = shape, axes
        self.outer = tuple(n for a, n in enumerate(shape) if a not in axes)
        # The shape of numbers of the rows that can be broadcast:
        self.kept = tuple(1 if a in axes else n for a, n in enumerate(shape))

    def admit_space(self) -> bool:
        """Whether there are rows, which are not too long, unless they lie in segments: no other way is better then."""
        width, (ahead, _) = prod(self.shape[a] for a in self.axes), segment_axis(self.shape, self.axes)
        return prod(self.outer) > 1 and width > 1 and (bool(ahead) or width <= CACHE_ENTRIES)

    def is_number(self, shape: tuple[int, ...]) -> bool:
        """Whether a value has one entry for each row."""
        return shape in (self.outer, self.kept)

    def admit(self, e: Equation, numbers: Container[Any]) -> bool:
        """Whether an equation can be in the group, where `numbers` has the values with an entry for each row that the
        group makes. Complex numbers have no rows."""
        if any(v.aval.dtype.kind == "c" for v in (*e.inputs, *e.outputs)):
            return False
        if e.primitive.computes in REDUCTIONS:
            return e.inputs[0].aval.shape == self.shape and row_axes(e) == self.axes
        shapes = [(a, a.aval.shape) for a in e.inputs]
        out = e.outputs[0].aval.shape
        if out == self.shape:
            return all(s == self.kept if a in numbers else self.admit_operand(s) for a, s in shapes)
        if not self.is_number(out):
            return False
        if e.primitive.computes in MOVES:
            return shapes[0][0] in numbers
        # Whether other operands of the shape `outer` go with the rows, their shape does not say.
        return all(a in numbers or s == () or s == out == self.kept for a, s in shapes)

    def admit_operand(self, shape: tuple[int, ...]) -> bool:
        """Whether an operand that is broadcast to whole values varies along the whole row, or is constant along it."""
        along = {runs_along(shape, a - len(self.shape)) for a in self.axes if self.shape[a] != 1}
        return len(along) == 1
