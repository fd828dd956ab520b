"""Ties: a cotangent is halved where the operands of `maximum` are equal, which happens rarely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.graph import Equation, Graph, Literal
from ..core.primitive import Primitive
from ..kernels.selection import where_kernel
from .draft import Draft, rewrite


def scale_rare_entries(graph: Graph) -> Graph:
    """Make where(c, t·s, t) one operation, which has little to do where c rarely holds: bit for bit the same values,
    whatever the shapes.

    >>> graph = fx.make_graph(lambda c, t: fnp.where(c, t * 0.5, t))(np.ones(3, bool), np.ones(3))
    >>> scale_rare_entries(graph).equations[0].primitive
    <primitive scale_where>
    """
    return rewrite(graph, scale_selected, ("where",))


def scale_selected(equation: Equation, draft: Draft) -> Equation | None:
    """Return the operation that a selection among t·s and t is."""
    condition, scaled, t = equation.inputs
    made = draft.maker(scaled, "multiply") if draft.is_used_once(scaled) else None
    if made is None or made.inputs[0] is not t or type(made.inputs[1]) is not Literal:
        return None
    if scaled.aval != t.aval:  # as of bfloat16, whose products with numbers are float32
        return None
    params = {"factor": made.inputs[1].value}
    return Equation(SCALE_WHERE, [condition, t], equation.outputs, params, equation.site, equation.quiet)


def scale_where_kernel(xp: Any) -> Callable[..., Any]:
    where = where_kernel(xp)

    def scale_where(condition: Any, t: Any, *, factor: Any) -> Any:
        if type(t) is np.ndarray and type(condition) is np.ndarray and condition.shape == t.shape:
            count = np.count_nonzero(condition)
            if not count:
                return t
            if count * 64 < t.size:
                out = t.copy()
                out[condition] *= factor
                return out
        return where(condition, t * factor, t)

    return scale_where


class ScaleWhere(Primitive):
    """t·factor where a condition holds, and t elsewhere. Only code that computes values has it."""

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        condition, t = avals
        return Aval(np.broadcast_shapes(condition.shape, t.shape), t.dtype, t.weak and not condition.shape)


SCALE_WHERE = ScaleWhere("scale_where", scale_where_kernel)
