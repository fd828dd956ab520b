"""`checkpoint` of a function under `jit(control="follow")`: of each segment reverse mode keeps the inputs only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.graph import Equation, Graph
from ...core.staging import stage
from ..checkpoint import remat_call


def checkpoint_segment(graph: Graph, policy: Callable[..., bool] | None) -> Graph:
    """Return the Graph of a segment as one step that is computed again on the way back. One with effects stays as it
    is: they happen once."""
    if not graph.equations or any(equation.effectful for equation in graph.equations):
        return graph
    closed, _ = graph.lift_captured()
    params = {"graph": closed} if policy is None else {"graph": closed, "policy": policy}

    def run(*values: Any) -> Any:
        return remat_call(*values, **params)

    (step,) = stage(run, closed.in_avals, graph.name).equations
    inputs = [*graph.captured, *graph.inputs]
    whole = Equation(step.primitive, inputs, graph.outputs, step.params, graph.equations[-1].site)
    return Graph(graph.inputs, [whole], graph.outputs, graph.captured, graph.name)
