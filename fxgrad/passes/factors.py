"""Numeric factors are merged where they meet, and negations are moved to the smallest operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.graph import Equation, Graph, Literal
from .draft import Draft, rewrite


def move_factors(graph: Graph) -> Graph:
    """Move signs out of sums and contractions; two numbers that multiply one array become one.

    The same to rounding, and up to the sign of a zero. Of a sum or a product of arrays only signs are taken out, and
    numbers become one only where both make larger or both make smaller: what lies in between then lies between the
    operand and the result, so that nothing overflows or vanishes that did not.

    >>> graph = fx.make_graph(lambda x: fnp.sum(-x))(np.ones(3))
    >>> [e.primitive.name for e in move_factors(graph).equations]
    ['reduce_sum', 'negative']
    """
    return rewrite(graph, move, RULES)


def move(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Apply the rule of a primitive."""
    if equation.outputs[0].aval.dtype.kind not in "fc":
        return None
    return RULES[equation.primitive.name](equation, draft)


def move_out_of_sum(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """Σ −x = −Σ x, and a sum over no axes is x + 0.0."""
    if e.params["axes"] == () and e.inputs[0].aval == e.outputs[0].aval:
        return [draft.emit("add", e.inputs[0], Literal(0.0), like=e)]
    made = sole_maker(e.inputs[0], draft, "negative")
    if not made or e.outputs[0].aval.size == e.inputs[0].aval.size:
        return None
    total = draft.emit("reduce_sum", made.inputs[0], like=e, **e.params)
    return [draft.emit("negative", total, like=e)]


def move_out_of_contraction(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """A sign goes from an operand to a smaller result."""
    for i in (0, 1):
        made = sole_maker(e.inputs[i], draft, "negative")
        if made and e.outputs[0].aval.size < e.inputs[i].aval.size:
            inputs = [made.inputs[0], e.inputs[1]] if i == 0 else [e.inputs[0], made.inputs[0]]
            return [draft.emit("negative", draft.emit("contract", *inputs, like=e, **e.params), like=e)]
    return None


def scale_by_number(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """c·(d·x) = (c·d)·x, and −(d·x) = (−d)·x, of real numbers: a product with a complex one makes NaN of ∞."""
    outer, out = number_times(e), e.outputs[0].aval
    scaled = outer and sole_maker(outer[1], draft, "multiply", "divide")
    inner = scaled and number_times(scaled)
    if not outer or not inner or inner[1].aval != out or out.dtype.kind != "f":
        return None
    c, d = outer[0], inner[0]
    factor, limits = c * d, np.finfo(out.dtype)
    if (abs(c) - 1) * (abs(d) - 1) < 0 or not limits.tiny <= abs(factor) <= limits.max:
        return None
    return [draft.emit("multiply", inner[1], Literal(factor), like=e)]


def sole_maker(atom: Any, draft: Draft, *names: str) -> Equation | None:
    """Return what makes an atom for its only reader."""
    made = draft.maker(atom, *names)
    return made if made and draft.is_used_once(atom) else None


def number_times(e: Equation) -> tuple[Any, Any] | None:
    """Return (c, x) of an equation that is c·x for a number c: x/c counts where 1/c is exact."""
    name = e.primitive.name
    if name == "negative":
        return -1.0, e.inputs[0]
    a, b = e.inputs
    if name == "multiply" and type(a) is Literal:
        a, b = b, a
    if type(b) is not Literal or type(a) is Literal or b.aval.dtype.kind not in "iuf":
        return None
    value = float(b.value)
    if name == "multiply":
        return value, a
    return (1 / value, a) if value and abs(np.frexp(value)[0]) == 0.5 else None


RULES = {
    "contract": move_out_of_contraction,
    "divide": scale_by_number,
    "multiply": scale_by_number,
    "negative": scale_by_number,
    "reduce_sum": move_out_of_sum,
}
