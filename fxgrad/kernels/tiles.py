"""Groups of elementwise equations computed by NumPy tile by tile, so that intermediate values stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.costs import CACHE_ENTRIES, FEWEST_TILES
from ..core.graph import Equation, Graph, Var
from .codegen.source import compile_graph
from .memory import allocate
from .space import REDUCTIONS, Space


class Tiles:
    """A group that is computed tile by tile: pieces of its first dimension.

    Operands are seen with as many axes as the space has dimensions. The equations are compiled once more for them:
    what broadcasts an operand only is left out, since operations broadcast. The last tile is as large as the others and
    overlaps the one before; reductions leave out what was counted.
    """

    def __init__(self, space: Space):
        self.space, graph = space, space.graph
        self.rows = max(CACHE_ENTRIES // prod(space.dims[1:]), 1)
        self.shapes = [
            tuple(n if step else 1 for n, step in zip(space.dims, steps)) if any(steps) else ()
            for steps in space.steps
        ]
        stands: dict[Any, Any] = {}
        inputs = []
        for v, own in zip(graph.inputs, self.shapes):
            stands[v] = Var(Aval((min(self.rows, own[0]), *own[1:]) if own else (), v.aval.dtype))
            inputs.append(stands[v])
        equations = []
        for e in graph.equations:
            operands = [stands.get(a, a) for a in e.inputs]
            if e.primitive.computes == "broadcast_to":
                stands[e.outputs[0]] = operands[0]
            elif e.primitive.computes not in REDUCTIONS:
                own = np.broadcast_shapes(*(a.aval.shape for a in operands))
                out = stands[e.outputs[0]] = Var(Aval(own, e.outputs[0].aval.dtype))
                equations.append(Equation(e.primitive, operands, [out], e.params, e.site, e.quiet))
        sources = [
            space.reductions[i].equation.inputs[0] if i in space.reductions else v
            for i, v in enumerate(graph.outputs)
        ]
        self.code = compile_graph(Graph(inputs, equations, [stands[v] for v in sources]), True)

    @staticmethod
    def pay(space: Space) -> bool:
        """Whether there are enough tiles of at most the proper size, and more than reductions."""
        row = prod(space.dims[1:])
        return (
            not all(e.primitive.computes in REDUCTIONS for e in space.graph.equations)
            and row <= FEWEST_TILES * CACHE_ENTRIES
            and space.size >= FEWEST_TILES * CACHE_ENTRIES
            and space.dims[0] >= FEWEST_TILES
        )

    def __call__(self, *operands: Any) -> list[Any]:
        space, (count, *rest) = self.space, self.space.dims
        arrays = [
            np.reshape(x, shape) if np.shape(x) != shape else x for x, shape in zip(operands, self.shapes)
        ]
        moves = [bool(shape) and shape[0] != 1 for shape in self.shapes]
        outputs = space.graph.outputs
        whole = {i: allocate((count, *rest), outputs[i].aval.dtype) for i in space.results}
        parts: dict[int, list[Any]] = {i: [] for i in space.reductions}
        for done in range(0, count, self.rows):
            start = min(done, count - self.rows)
            stop = start + self.rows
            values = self.code(*[x[start:stop] if m else x for x, m in zip(arrays, moves)])
            for i, array in whole.items():
                array[start:stop] = values[i]
            for i, reduction in space.reductions.items():
                value = np.broadcast_to(values[i], (self.rows, *rest))[done - start :]
                axes = tuple(d for d, is_reduced in enumerate(reduction.reduced) if is_reduced)
                parts[i].append(reduction.ufunc.reduce(value, axis=axes))
        return [
            whole[i].reshape(v.aval.shape) if i in whole else self.total(i, parts[i], v.aval)
            for i, v in enumerate(outputs)
        ]

    def total(self, i: int, parts: Sequence[Any], aval: Any) -> Any:
        """Combine the partial results of the tiles for a reduction."""
        reduction = self.space.reductions[i]
        if not reduction.reduced[0]:
            return np.concatenate(parts).reshape(aval.shape)
        total = reduction.ufunc.reduce(np.stack(parts), axis=0, dtype=aval.dtype)
        return total.reshape(aval.shape) if aval.shape else total
