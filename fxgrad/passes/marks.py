"""Removal of equations that only concern transforms and do not change values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Equation, Graph
from .draft import Draft, rewrite


def drop_marks(graph: Graph) -> Graph:
    """Drop `stop_gradient`, and the model of `with_derivative_of`: bit for bit the same values.

    >>> graph = fx.make_graph(lambda x: x - fx.lax.stop_gradient(x))(1.0)
    >>> [e.primitive.name for e in drop_marks(graph).equations if e.primitive.name != "weaken"]
    ['subtract']
    """
    return rewrite(graph, value_of_mark, ("stop_gradient", "with_derivative_of"))


def value_of_mark(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Return the operand that is the value of a mark."""
    value, result = equation.inputs[0], equation.outputs[0].aval
    if value.aval == result:
        return [value]
    if value.aval.dtype == result.dtype and not value.aval.weak:
        return [draft.emit("broadcast_to", value, like=equation, shape=result.shape)]
    return None
