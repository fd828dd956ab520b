"""Removal of what only concerns transforms and does not change values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.costs import CALLED_ENTRIES
from ..core.graph import Equation, Graph
from ..kernels.codegen.loops import embed
from .draft import Draft, rewrite


def drop_marks(graph: Graph) -> Graph:
    """Drop `stop_gradient`, the model of `with_derivative_of`, and a `checkpoint` of values that take no memory to
    speak of: bit for bit the same values.

    >>> graph = fx.make_graph(lambda x: x - fx.lax.stop_gradient(x))(1.0)
    >>> [e.primitive.name for e in drop_marks(graph).equations if e.primitive.name != "weaken"]
    ['subtract']
    """
    return rewrite(graph, value_of_mark, ("stop_gradient", "with_derivative_of", "checkpoint"))


def value_of_mark(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Return the atoms that are the values of a mark."""
    if equation.primitive.name == "checkpoint":
        return unwrap(equation, draft)
    value, result = equation.inputs[0], equation.outputs[0].aval
    if value.aval == result:
        return [value]
    if value.aval.dtype == result.dtype and not value.aval.weak:
        return [draft.emit("broadcast_to", value, like=equation, shape=result.shape)]
    return None


def unwrap(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Append the equations of a checkpoint; return its results."""
    graph = equation.params["graph"]
    small = all(v.aval.size <= CALLED_ENTRIES for e in graph.equations for v in e.outputs)
    if not small or graph.acts or [a.aval for a in equation.inputs] != graph.in_avals:
        return None
    equations, results = embed(drop_marks(graph), equation.inputs, equation.quiet)
    for e in equations:
        draft.append(e)
    return results
