"""Groups of elementwise equations, run as one operation: by NumPy, by NumPy in tiles, or as machine code.

All three give the same results to rounding, and the same warnings; `native.tier` decides when machine code takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from math import prod
from typing import Any

import numpy as np

from ..core.costs import COMPILATION, ENTRY_TIME, OPERATION_TIME, RUN_PASSES
from ..core.graph import Equation, Graph
from .codegen.source import compile_graph
from .native.tier import Tier
from .row_space import RowSpace, uses_reductions
from .space import REDUCTIONS, Space
from .tiles import Tiles


class Group:
    """The equations of a Graph as a function of NumPy arrays: positional operands → a list of results. It becomes
    machine code by `make`, a function of its space and of the code for NumPy, unless that is None."""

    __slots__ = ("code", "cost", "is_tiled", "native", "space", "tier", "tiles")

    def __init__(self, graph: Graph, make: Callable[..., Any] | None = None):
        graph = Graph(graph.inputs, graph.equations, graph.outputs)  # which does not keep this in its cache
        self.space: Space | RowSpace = RowSpace(graph) if uses_reductions(graph) else Space(graph)
        self.code = compile_graph(graph, True)
        self.is_tiled = isinstance(self.space, Space) and Tiles.pay(self.space)
        self.tiles: Tiles | None = None
        self.native: Callable[..., list[Any]] | None = None
        self.cost = numpy_time(graph)
        self.tier: Tier | None = None
        if make is not None:
            self.tier = Tier(
                partial(make, self.space, self.code),
                COMPILATION,
                f"a group of {len(graph.equations)} operations",
            )

    def __call__(self, *operands: Any) -> list[Any]:
        native = self.native
        return self.run_before(operands) if native is None else native(*operands)

    def run_before(self, operands: Sequence[Any]) -> list[Any]:
        """Compute while there is no machine code, or see that there is some now."""
        if self.tier is not None:
            self.native = self.tier.ask(self.cost)
            if self.native is not None:
                return self.native(*operands)
        return self.run_by_numpy(operands)

    def run_by_numpy(self, operands: Sequence[Any]) -> list[Any]:
        """Compute by NumPy: in tiles where the group is large, unless that raises a floating-point exception."""
        if self.tiles is None and self.is_tiled:
            space: Any = self.space  # no RowSpace, which has no tiles
            self.tiles = Tiles(space)
        if self.tiles is not None:
            try:
                loud: Any = {k: "raise" for k, v in np.geterr().items() if v != "ignore"}
                with np.errstate(**loud):
                    return self.tiles(*operands)
            except FloatingPointError:
                pass  # in one of many tiles; whole arrays are warned of once
        return self.code(*operands)


def numpy_time(graph: Graph) -> float:
    """Return about how many nanoseconds NumPy takes for the equations of a group."""
    size = max(v.aval.size for e in graph.equations for v in (*e.inputs, *e.outputs))
    passes = sum(map(count_passes, graph.equations))
    return len(graph.equations) * OPERATION_TIME + passes * ENTRY_TIME * size


def count_passes(equation: Equation) -> float:
    """Return the time that NumPy takes for an entry of an equation, in units of the time of an addition."""
    if equation.primitive.computes not in REDUCTIONS:
        return getattr(equation.primitive.kernel, "passes", 1)
    shape, axes = equation.inputs[0].aval.shape, equation.params["axes"]
    last = len(shape) - 1
    ending = takewhile(lambda a: shape[a] == 1 or (a in axes) == (last in axes), range(last, -1, -1))
    return 1 + RUN_PASSES / prod(shape[a] for a in ending)
