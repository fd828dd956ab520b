"""Linear maps applied to many vectors at once, as for a Jacobian. A map that occurs again is compiled.

The Graph of a derivative at another point is the same Graph with other captured values. So these become inputs, the
Graph is looked up among earlier ones, and its compiled code is used again. The first time nothing is compiled, because
compilation takes as long as a few Jacobians of a small function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.aval import is_differentiable
from ..core.graph import Graph
from ..core.interpreter import CURRENT, EVAL, is_plain, named_axes
from ..core.same_graphs import intern_graph, lift_constants
from ..kernels.codegen.source import compile_graph
from ..passes.table import optimize
from .subgraphs import batch_graph, cached_on_graph


def map_rows(graph: Graph, rows: Sequence[Any]) -> list[Any] | None:
    """Apply a linear Graph to each row of arrays, one for each input; return the results with a leading axis for the
    rows. Return None where that is better done by `vmap`."""
    context = CURRENT.get()
    if context.interpreter is not EVAL.interpreter or context.observer or named_axes():
        return None
    if not all(is_differentiable(v.dtype) for v in (*graph.in_avals, *graph.out_avals)):
        return None
    closed, values = lift_constants(graph)
    if not is_plain((*values, *rows)):
        return None
    known = intern_graph(closed)
    if known is closed:  # its first time, or it will never be met again
        return None
    return compile_rows(known, len(values), len(rows[0]))(*values, *rows)


@cached_on_graph
def compile_rows(graph: Graph, single: int, size: int) -> Callable[..., list[Any]]:
    """Compile a Graph for `size` rows of its inputs but the first `single`."""
    flags = (False,) * single + (True,) * (len(graph.inputs) - single)
    mapped, _ = batch_graph(graph, flags, size, (True,) * len(graph.outputs))
    return compile_graph(optimize(mapped), True)
