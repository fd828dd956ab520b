"""Factors that are numbers are moved to where there is least to multiply, and become one where they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.graph import Equation, Graph, Literal
from .draft import MANY, Draft, rewrite, with_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence


def move_factors(graph: Graph) -> Graph:
    """Move signs out of sums and contractions, and numbers to the smaller side of a contraction; two numbers that
    multiply one array become one.

    The same to rounding, and up to the sign of a zero. A number is moved only where nothing in between becomes larger
    in absolute value, so that nothing overflows that did not.

    >>> import fxgrad as fx, fxgrad.numpy as fnp, numpy as np
    >>> graph = fx.make_graph(lambda x: fnp.sum(-x))(np.ones(3))
    >>> [e.primitive.name for e in move_factors(graph).equations]
    ['reduce_sum', 'negative']
    """
    return rewrite(graph, move, RULES)


def move(equation: Equation, draft: Draft) -> Sequence[Any] | Equation | None:
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


def move_through_contraction(e: Equation, draft: Draft) -> Sequence[Any] | Equation | None:
    """A sign goes from an operand to a smaller result, a number of at most 1 to a smaller operand."""
    for i in (0, 1):
        x, other = e.inputs[i], e.inputs[1 - i]
        made = sole_maker(x, draft, "negative")
        if made and e.outputs[0].aval.size < x.aval.size:
            inputs = [made.inputs[0], other] if i == 0 else [other, made.inputs[0]]
            return [draft.emit("negative", draft.emit("contract", *inputs, like=e, **e.params), like=e)]
        if x.aval.size >= max(MANY, 2 * other.aval.size) and other.aval.dtype == x.aval.dtype:
            made = draft.maker(x, "multiply", "divide")
            found = made and {*draft.readers(x)} <= {"contract"} and small_factor(made)
            if made and found:
                y, scaled = found[0], scale_like(made, other, draft)
                return with_inputs(e, [y, scaled] if i == 0 else [scaled, y])
    return None


def move_before_contraction(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """A number of at most 1 goes from a result to a smaller operand."""
    found, out = small_factor(e), e.outputs[0].aval
    made = found and sole_maker(found[0], draft, "contract")
    if not made or out.size < MANY:
        return None
    a, b = made.inputs
    small, other = (a, b) if a.aval.size <= b.aval.size else (b, a)
    if 2 * small.aval.size > out.size or small.aval.dtype != out.dtype or other.aval.dtype != out.dtype:
        return None
    scaled = scale_like(e, small, draft)
    inputs = [scaled, b] if small is a else [a, scaled]
    return [draft.emit("contract", *inputs, like=made, **made.params)]


SCALED = frozenset(
    {"contract", "divide", "multiply"}
)  # what may take in a number that its result is multiplied by


def scale_by_number(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """c·(d·x) = (c·d)·x, and −(d·x) = (−d)·x."""
    made = [m for m in map(draft.makers.get, e.inputs) if m is not None and m.primitive.name in SCALED]
    if not made or (len(e.inputs) == 2 and Literal not in map(type, e.inputs)):
        return None
    moved = move_before_contraction(e, draft)
    if moved:
        return moved
    outer = number_times(e)
    scaled = outer and sole_maker(outer[1], draft, "multiply", "divide")
    inner = scaled and number_times(scaled)
    if not outer or not inner or inner[1].aval != e.outputs[0].aval:
        return None
    factor, limits = outer[0] * inner[0], np.finfo(e.outputs[0].aval.dtype)
    if not limits.tiny <= abs(factor) <= limits.max:
        return None
    return [inner[1] if factor == 1 else draft.emit("multiply", inner[1], Literal(factor), like=e)]


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


def small_factor(e: Equation) -> tuple[Any, Any] | None:
    """Return (x, the literal) of x·c with |c| ≤ 1 or x/c with |c| ≥ 1."""
    a, b = e.inputs if len(e.inputs) == 2 else (None, None)
    if e.primitive.name == "multiply" and type(a) is Literal:
        a, b = b, a
    if type(b) is not Literal or type(a) is Literal or a is None or b.aval.dtype.kind not in "iuf":
        return None
    if a.aval != e.outputs[0].aval:
        return None
    size = abs(float(b.value))
    return (a, b) if (size <= 1 if e.primitive.name == "multiply" else 1 <= size < np.inf) else None


def scale_like(e: Equation, x: Any, draft: Draft) -> Any:
    """Emit x·c or x/c with the number of an equation."""
    literal = next(a for a in e.inputs if type(a) is Literal)
    return draft.emit(e.primitive.name, x, literal, like=e)


RULES = {
    "contract": move_through_contraction,
    "divide": scale_by_number,
    "multiply": scale_by_number,
    "negative": scale_by_number,
    "reduce_sum": move_out_of_sum,
}
