"""Selections by masks: consecutive selections are merged, and a sum of terms selected by one mask is selected once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Equation, Graph, Literal
from .draft import Draft, has_any, is_zero, rewrite


def join_masks(graph: Graph) -> Graph:
    """Join selections among an array and 0: those of a sum, and of what is selected already. The same numbers, up to
    the sign of a zero.

    >>> c = np.ones(3, bool)
    >>> graph = fx.make_graph(lambda c, x, y: fnp.where(c, x, 0) + fnp.where(c, 0, y))(c, np.ones(3), np.ones(3))
    >>> [e.primitive.name for e in join_masks(graph).equations]
    ['where']
    """
    if not has_any(graph, ("where",)):
        return graph
    return rewrite(graph, join, ("add", "where"))


def join(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Apply the rule for a sum, or for a selection."""
    return join_sum(equation, draft) if equation.primitive.name == "add" else join_nested(equation, draft)


def join_sum(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """where(c, x, 0) + where(c, y, 0) is where(c, x + y, 0); where(c, x, 0) + where(c, 0, y) is where(c, x, y)."""
    left, right = (selection(a, draft) for a in e.inputs)
    if not left or not right or left[0] is not right[0]:
        return None
    (c, x, holds), (_, y, also) = left, right
    if any(a.aval != e.outputs[0].aval for a in (x, y)):
        return None
    if holds is not also:
        return [draft.emit("where", c, *((x, y) if holds else (y, x)), like=e)]
    total, zero = draft.emit("add", x, y, like=e), Literal(0)
    return [draft.emit("where", c, *((total, zero) if holds else (zero, total)), like=e)]


def join_nested(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """where(c, where(d, x, 0), 0) is where(c ∧ d, x, 0), for masks of one shape."""
    outer = parts_of_selection(e)
    inner = outer and selection(outer[1], draft)
    if not outer or not inner or outer[0].aval != inner[0].aval or inner[1].aval != e.outputs[0].aval:
        return None
    (c, _, holds), (d, x, also) = outer, inner
    if type(c) is Literal or type(d) is Literal or c.aval.dtype.kind != "b":
        return None
    zero = Literal(0)
    if holds or also:
        c, d = (m if flag else draft.emit("logical_not", m, like=e) for m, flag in ((c, holds), (d, also)))
        return [draft.emit("where", draft.emit("logical_and", c, d, like=e), x, zero, like=e)]
    return [draft.emit("where", draft.emit("logical_or", c, d, like=e), zero, x, like=e)]


def selection(atom: Any, draft: Draft) -> tuple[Any, Any, bool] | None:
    """Return the parts of what makes an atom that is read once, if that is a selection among an array and 0."""
    made = draft.maker(atom, "where") if draft.is_used_once(atom) else None
    return made and parts_of_selection(made)


def parts_of_selection(e: Equation) -> tuple[Any, Any, bool] | None:
    """Return (mask, x, True) of where(mask, x, 0) and (mask, x, False) of where(mask, 0, x)."""
    mask, a, b = e.inputs
    if is_zero(b) and not is_zero(a):
        return mask, a, True
    return (mask, b, False) if is_zero(a) else None
