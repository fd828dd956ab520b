"""The iteration space of a group of elementwise equations, and the layout of its operands and results.

A group is a Graph whose equations have results of one shape, its space, or reduce such values. Axes that all arrays of
the group traverse in the same way are merged into one dimension, so most groups have one or two:

    graph(a: f64[100,20], b: f64[20]) → f64[100,20], f64[]
      c = a * b         space (100, 20)       a runs through both dimensions, b through the second one only
      d = sum(c)        reduces both: kept 0 of 2
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..core.graph import Equation, Graph

# Reductions, and the ufunc that combines two entries.
PAIRWISE = 128  # entries up to which NumPy adds what lies in a row in one go
REPEATS = frozenset({"broadcast_to", "full_like"})  # what only repeats entries
READING = frozenset({"getitem", "dynamic_slice"})  # what takes no longer if the operand is large
REDUCTIONS: dict[str, np.ufunc] = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_any": np.logical_or,
    "reduce_all": np.logical_and,
}


class Reduction(NamedTuple):
    """An equation that reduces, and which of the dimensions."""

    equation: Equation
    reduced: tuple[bool, ...]

    @property
    def ufunc(self) -> np.ufunc:
        return REDUCTIONS[self.equation.primitive.computes]


def reduces_an_end(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether axes, apart from those of length one, are all, the first, or the last axes of a shape."""
    kept = [a in axes for a, n in enumerate(shape) if n != 1]
    return sum(x != y for x, y in pairwise(kept)) <= 1 and any(kept)


class Space:
    """The space of a group.

    `shape` is that of its results, `dims` the lengths of the dimensions. `steps` gives for each operand of the Graph
    how far it moves in memory, in entries, along each dimension: 0 where it is repeated. Operands lie in memory in the
    order of their axes. `results` are the positions of the outputs that have the shape of the space, `reductions` the
    others, by their positions.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        reductions = {e.outputs[0]: e for e in graph.equations if e.primitive.computes in REDUCTIONS}
        whole = (e.outputs[0] for e in graph.equations if e.outputs[0] not in reductions)
        self.shape: tuple[int, ...] = next(whole, graph.equations[0].inputs[0]).aval.shape
        rank = len(self.shape)
        axes = [a for a in range(rank) if self.shape[a] != 1]
        signatures = {
            a: (
                *[runs_along(v.aval.shape, a - rank) for v in graph.inputs],
                *[a in e.params["axes"] for e in reductions.values()],
            )
            for a in axes
        }
        dims: list[int] = []
        kinds: list[tuple] = []
        for a in axes:
            if kinds and kinds[-1] == signatures[a]:
                dims[-1] *= self.shape[a]
            else:
                dims.append(self.shape[a])
                kinds.append(signatures[a])
        self.dims = tuple(dims)
        count = len(graph.inputs)
        self.steps = [steps_of(dims, [kind[i] for kind in kinds]) for i in range(count)]
        self.results = [i for i, v in enumerate(graph.outputs) if v not in reductions]
        self.reductions: dict[int, Reduction] = {}
        for i, v in enumerate(graph.outputs):
            if v in reductions:
                number = count + list(reductions).index(v)
                self.reductions[i] = Reduction(reductions[v], tuple(kind[number] for kind in kinds))

    @property
    def size(self) -> int:
        return prod(self.dims)


def runs_along(shape: Sequence[int], axis: int) -> bool:
    """Whether an array of this shape runs along an axis, counted from the last, or is repeated."""
    return -axis <= len(shape) and shape[axis] != 1


def steps_of(dims: Sequence[int], runs: Sequence[bool]) -> tuple[int, ...]:
    """Return the steps in memory of an array that runs along some of the dimensions."""
    steps, step = [], 1
    for n, along in zip(reversed(dims), reversed(runs)):
        steps.append(step * along)
        step *= n if along else 1
    return tuple(reversed(steps))


def are_nested(shape: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether one of two sets of axes contains the other, apart from axes of length one."""
    one, other = ({a for a in axes if shape[a] != 1} for axes in (first, second))
    return one <= other or other <= one
