"""Contractions absorb rearrangements of operands and results; products with an identity matrix are removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.costs import SEEN_ORDER
from ..core.graph import Equation, Graph, Literal
from ..kernels.contraction import parse_spec
from .draft import Draft, has_any, rewrite


def simplify_contractions(graph: Graph) -> Graph:
    """Take transposes and axes of length one into the specifications of contractions: the same sums of the same
    products. A product with a captured identity matrix is its other operand, as it is for finite numbers.

    >>> graph = fx.make_graph(lambda x, y: (x.T @ y.T).T)(np.ones((3, 2)), np.ones((4, 3)))
    >>> [e.params for e in simplify_contractions(graph).equations]
    [{'spec': 'ki,jk->ji'}]
    """
    if not has_any(graph, ("contract",)):
        return graph
    return rewrite(graph, apply_rule, ("contract", "permute"))


def apply_rule(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Apply the rule for a contraction, or for a transpose, of one perhaps."""
    contraction = equation.primitive.name == "contract"
    return absorb_operand(equation, draft) if contraction else absorb_result(equation, draft)


def absorb_operand(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Write a contraction in terms of what its operands are rearrangements of."""
    left, right, out = parse_spec(equation.params["spec"])
    operands, texts, shape = list(equation.inputs), [left, right], equation.outputs[0].aval.shape
    if any(a.aval.weak for a in operands):
        return None
    if not left or not right:
        return multiply_by_number(equation, texts, out, draft)
    changed = False
    for i in (0, 1):
        while (made := draft.maker(operands[i], "permute", "reshape")) and not made.inputs[0].aval.weak:
            (x,) = made.inputs
            if made.primitive.name == "permute":
                axes = made.params["axes"]
                texts[i] = "".join([texts[i][axes.index(k)] for k in range(len(axes))])
            else:
                letters = drop_unit_axes(texts[i], operands[i].aval.shape, x.aval.shape)
                if letters is None or any(c in texts[1 - i] for c in texts[i] if c not in letters):
                    break
                out = "".join([c for c in out if c in letters or c in texts[1 - i]])
                texts[i] = letters
            operands[i], changed = x, True
    for i in (0, 1):
        result = draft.graph.captured and take_other(operands, texts, out, i, equation, draft)
        if result:
            return [restore_shape(result, shape, equation, draft)]
    if not changed:
        return None
    spec = f"{texts[0]},{texts[1]}->{out}"
    return [
        restore_shape(draft.emit("contract", *operands, like=equation, spec=spec), shape, equation, draft)
    ]


def absorb_result(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Write a transposed contraction as one that gives its axes in that order."""
    (x,) = equation.inputs
    made = draft.maker(x, "contract")
    if made is None or not draft.is_used_once(x):
        return None
    operands, out = made.params["spec"].split("->")
    spec = f"{operands}->{''.join([out[a] for a in equation.params['axes']])}"
    return [draft.emit("contract", *made.inputs, like=made, spec=spec)]


def multiply_by_number(
    equation: Equation, texts: Sequence[str], out: str, draft: Draft
) -> Sequence[Any] | None:
    """Write a contraction with a number as a multiplication."""
    if (texts[0] or texts[1]) != out:
        return None
    result = draft.emit("multiply", *equation.inputs, like=equation)
    return [result] if result.aval == equation.outputs[0].aval else None


def drop_unit_axes(letters: str, shape: Sequence[int], before: Sequence[int]) -> str | None:
    """Return the letters of the axes before a reshape that only inserts axes of length one; None if it does
    something else."""
    if tuple([n for n in shape if n != 1]) != before:
        return None
    return "".join([c for c, n in zip(letters, shape) if n != 1])


def restore_shape(atom: Any, shape: tuple[int, ...], like: Equation, draft: Draft) -> Any:
    """Give a result the axes of length one that it has lost."""
    return atom if atom.aval.shape == shape else draft.emit("reshape", atom, like=like, shape=shape)


def take_other(
    operands: Sequence[Any], texts: Sequence[str], out: str, i: int, equation: Equation, draft: Draft
) -> Any:
    """Return what a contraction is if its operand i is an identity matrix, or one times a vector: the other operand,
    with an axis called otherwise, scaled along it; else None."""
    matrix, other, vector = operands[i], operands[1 - i], None
    made = draft.maker(matrix, "multiply")
    if made and made.inputs[1].aval.shape == matrix.aval.shape[-1:]:
        matrix, vector = made.inputs
    letters, text = texts[i], texts[1 - i]
    if not is_identity(matrix, draft) or other.aval.dtype != equation.outputs[0].aval.dtype:
        return None
    summed = [c for c in letters if c not in out]
    if len(summed) != 1 or summed[0] not in text:
        return None
    (old,) = summed
    new = letters.replace(old, "")
    if new in text:
        return None
    text = text.replace(old, new)
    if vector is not None:
        shape = tuple([n if c == new else 1 for c, n in zip(text, other.aval.shape)])
        vector = draft.emit("reshape", vector, like=equation, shape=shape)
        other = draft.emit("multiply", other, vector, like=equation)
    axes = tuple([text.index(c) for c in out])
    return (
        other if axes == tuple(range(len(axes))) else draft.emit("permute", other, like=equation, axes=axes)
    )


def is_identity(atom: Any, draft: Draft) -> bool:
    """Whether an atom is a captured identity matrix."""
    value = None if type(atom) is Literal else draft.graph.captured.get(atom)
    if type(value) is not np.ndarray or value.ndim != 2 or value.dtype.kind not in "fc":
        return False
    n = len(value)
    if value.shape[1] != n or not 0 < n <= SEEN_ORDER or np.count_nonzero(value) != n:
        return False
    return bool((value.diagonal() == 1).all())
