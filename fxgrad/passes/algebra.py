"""Algebraic laws that hold for every number, also for −0.0, NaN and infinities, and laws of rearrangements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.graph import Equation, Graph, Literal
from .draft import Draft, is_ours, keeps_avals, rewrite, with_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Found = Sequence[Any] | Equation | None


def simplify_algebra(graph: Graph) -> Graph:
    """Apply the laws of `LAWS`, each bit for bit: x·1 and x/1 of real x, x − 0 and x + −0.0 are x, −−x is x, a + −b is
    a − b, a selection by ¬c is one by c, a mask is where it is not 0 as numbers, rearrangements in a row are one, those
    that change nothing are none.

    >>> graph = fx.make_graph(lambda x: -(-x * 1.0).reshape(3, 1).reshape(3))(np.ones(3))
    >>> [e.primitive.name for e in simplify_algebra(graph).equations]
    []
    """
    return rewrite(graph, apply_law)


def apply_law(equation: Equation, draft: Draft) -> Found:
    """Apply the law of a primitive, and again to what it has become."""
    if equation.primitive.changes_nothing:
        return as_result(equation.inputs[0], equation)
    changed = None
    while is_ours(equation):
        law = LAWS.get(equation.primitive.name)
        found = law(equation, draft) if law is not None else None
        if found is None and equation.primitive.entrywise:
            found = move_shapes(equation, draft)
        if found is None or not keeps_avals(equation, found):
            return changed
        if type(found) is not Equation:
            return found
        equation = changed = found
    return changed


def add(e: Equation, draft: Draft) -> Found:
    a, b = e.inputs
    if is_neutral(b, -0.0, e):
        return as_result(a, e)
    if is_neutral(a, -0.0, e):
        return as_result(b, e)
    if q := opposite(b, e, draft):
        return [draft.emit("subtract", a, q, like=e)]
    if p := opposite(a, e, draft):
        return [draft.emit("subtract", b, p, like=e)]
    return None


def subtract(e: Equation, draft: Draft) -> Found:
    a, b = e.inputs
    if is_neutral(b, 0.0, e):
        return as_result(a, e)
    q = opposite(b, e, draft)
    return [draft.emit("add", a, q, like=e)] if q else None


def multiply(e: Equation, draft: Draft) -> Found:
    a, b = e.inputs
    if is_one(b, e):
        return as_result(a, e)
    if is_one(a, e):
        return as_result(b, e)
    if e.outputs[0].aval.dtype.kind == "c":  # of which NumPy rounds products by how operands lie in memory
        return None
    p, q = opposite(a, e, draft), opposite(b, e, draft)
    return with_inputs(e, [p, q]) if p and q else None


def divide(e: Equation, draft: Draft) -> Found:
    a, b = e.inputs
    if is_one(b, e):
        return as_result(a, e)
    p, q = opposite(a, e, draft), opposite(b, e, draft)
    return with_inputs(e, [p, q]) if p and q and {a.aval.dtype.kind, b.aval.dtype.kind} == {"f"} else None


def opposite(atom: Any, e: Equation, draft: Draft) -> Any:
    """Return the y of an operand −y, if −y and y become what the result is of by exactly opposite numbers: not those of
    integers that are widened first, nor real ones whose imaginary part, in a complex sum, is 0.0 for both."""
    made, out = draft.maker(atom, "negative"), e.outputs[0].aval
    if made is None or atom.aval.dtype.kind != out.dtype.kind or made.inputs[0].aval != atom.aval:
        return None
    return made.inputs[0] if out.dtype.kind in "fc" or atom.aval.dtype == out.dtype else None


def power(e: Equation, draft: Draft) -> Found:
    exponent = Literal(e.params["p"]) if "p" in e.params else e.inputs[1]
    return as_result(e.inputs[0], e) if is_one(exponent, e) else None


def involution(e: Equation, draft: Draft) -> Found:
    """What undoes itself: −−x, the conjugate of a conjugate, ¬¬c."""
    made = draft.maker(e.inputs[0], e.primitive.name)
    return as_result(made.inputs[0], e) if made else None


def identity(e: Equation, draft: Draft) -> Found:
    """An operation that changes nothing if the aval stays."""
    return as_result(e.inputs[0], e)


def idempotence(e: Equation, draft: Draft) -> Found:
    """c ∧ c and c ∨ c."""
    a, b = e.inputs
    return as_result(a, e) if a is b else None


def where(e: Equation, draft: Draft) -> Found:
    condition, a, b = e.inputs
    if a is b:
        return as_result(a, e)
    if made := negation(condition, draft):
        return with_inputs(e, [made.inputs[0], b, a])
    inner, outer = draft.maker(a, "where"), draft.maker(b, "where")
    if inner and inner.inputs[0] is condition and is_of_kind(inner.inputs[1], a):
        return with_inputs(e, [condition, inner.inputs[1], b])
    if outer and outer.inputs[0] is condition and is_of_kind(outer.inputs[2], b):
        return with_inputs(e, [condition, a, outer.inputs[2]])
    return None


def not_equal(e: Equation, draft: Draft) -> Found:
    """A mask that was converted to numbers, which then moved, is the mask where they are not 0."""
    a, b = e.inputs
    if not is_number(b, 0):
        return None
    moves: list[Equation] = []
    made = draft.maker(a, *MOVES, "convert")
    while made and made.primitive.name != "convert":
        moves.append(made)
        made = draft.maker(made.inputs[0], *MOVES, "convert")
    if not made or made.inputs[0].aval.dtype.kind != "b":
        return None
    mask = made.inputs[0]
    for move in reversed(moves):
        mask = draft.emit(move.primitive.name, mask, like=e, **move.params)
    return [mask]


def negation(condition: Any, draft: Draft) -> Equation | None:
    """Return what makes a mask out of its opposite."""
    made = draft.maker(condition, "logical_not", "bitwise_not")
    return (
        made if made and made.inputs[0].aval == condition.aval and condition.aval.dtype.kind == "b" else None
    )


def reshape(e: Equation, draft: Draft) -> Found:
    made = draft.maker(e.inputs[0], "reshape")
    return as_result(e.inputs[0], e) or (with_inputs(e, made.inputs) if made else None)


def broadcast_to(e: Equation, draft: Draft) -> Found:
    made = draft.maker(e.inputs[0], "broadcast_to")
    return as_result(e.inputs[0], e) or (with_inputs(e, made.inputs) if made else None)


def permute(e: Equation, draft: Draft) -> Found:
    axes, x = e.params["axes"], e.inputs[0]
    if axes == tuple(range(len(axes))):
        return as_result(x, e)
    made = draft.maker(x, "permute")
    if made is None:
        return None
    composed = tuple([made.params["axes"][a] for a in axes])
    if composed == tuple(range(len(axes))):
        return as_result(made.inputs[0], e)
    return [draft.emit("permute", made.inputs[0], like=e, axes=composed)]


def getitem(e: Equation, draft: Draft) -> Found:
    """A slice of everything."""
    x, *arrays = e.inputs
    index = e.params["index"]
    if arrays or not all(type(i) is slice for i in index):
        return None
    whole = all(i.indices(n) == (0, n, 1) for i, n in zip(index, x.aval.shape))
    return as_result(x, e) if whole else None


def move_shapes(e: Equation, draft: Draft) -> Found:
    """Take changes of shape out of the operands of an entrywise operation."""
    made = [draft.makers.get(a) for a in e.inputs]
    for m in made:
        if m is not None and m.primitive.computes in ("broadcast_to", "reshape"):
            found = spread(e, made)
            return sink_reshape(e, made, draft) if found is None else found
    return None


def spread(e: Equation, made: Sequence[Equation | None]) -> Equation | None:
    """An operand need not be broadcast before, where others have the result's shape."""
    inputs = [
        m.inputs[0] if m and m.primitive.computes == "broadcast_to" and not m.inputs[0].aval.weak else a
        for a, m in zip(e.inputs, made)
    ]
    if inputs == [*e.inputs]:
        return None
    aval = e.primitive.abstract_eval([a.aval for a in inputs], e.params)
    return with_inputs(e, inputs) if aval == e.outputs[0].aval else None


def sink_reshape(e: Equation, made: Sequence[Equation | None], draft: Draft) -> list[Any] | None:
    """An operation on reshaped arrays is the reshape of the operation on the arrays: so reshapes meet one another, and
    contractions."""
    out = e.outputs[0].aval
    makers = [
        m if m and m.primitive.computes == "reshape" and not m.inputs[0].aval.weak else None for m in made
    ]
    shapes = {m.inputs[0].aval.shape for m in makers if m}
    if len(shapes) != 1 or not all(
        (m and a.aval.shape == out.shape and draft.is_used_once(a)) or not a.aval.shape
        for a, m in zip(e.inputs, makers)
    ):
        return None
    operands = [m.inputs[0] if m else a for a, m in zip(e.inputs, makers)]
    result = draft.emit(e.primitive.name, *operands, like=e, **e.params)
    return [draft.emit("reshape", result, like=e, shape=out.shape)]


def is_number(atom: Any, value: float) -> bool:
    """Whether an atom is a literal equal to a number."""
    return type(atom) is Literal and atom.aval.dtype.kind in "biufc" and bool(atom.value == value)


def is_one(atom: Any, equation: Equation) -> bool:
    """Whether an atom is 1, by which a real number may be multiplied. NumPy's ∞ · (1 + 0i) is ∞ + NaN i."""
    return is_number(atom, 1) and equation.outputs[0].aval.dtype.kind != "c"


def is_neutral(atom: Any, zero: float, equation: Equation) -> bool:
    """Whether an atom is this zero, whose sign counts in a floating result: −0.0 + 0.0 is 0.0."""
    kind = equation.outputs[0].aval.dtype.kind
    if not is_number(atom, 0) or kind not in "iuf":
        return False
    return kind != "f" or bool(np.signbit(atom.value) == np.signbit(zero))


def as_result(atom: Any, equation: Equation) -> list[Any] | None:
    """Return an operand as the result if it has its aval."""
    return [atom] if atom.aval == equation.outputs[0].aval else None


def is_of_kind(a: Any, b: Any) -> bool:
    """Whether an operand stands for the result of a selection as it is: 1e-200 is 0 in float16."""
    return a.aval.dtype == b.aval.dtype and a.aval.shape in (b.aval.shape, ()) and a.aval.weak == b.aval.weak


MOVES = ("broadcast_to", "permute", "reshape")

LAWS: dict[str, Callable[[Equation, Draft], Found]] = {
    "add": add,
    "bitwise_not": involution,
    "broadcast_to": broadcast_to,
    "conjugate": involution,
    "convert": identity,
    "divide": divide,
    "getitem": getitem,
    "logical_and": idempotence,
    "logical_not": involution,
    "logical_or": idempotence,
    "multiply": multiply,
    "negative": involution,
    "not_equal": not_equal,
    "permute": permute,
    "positive": identity,
    "power": power,
    "reshape": reshape,
    "static_power": power,
    "subtract": subtract,
    "where": where,
}
