"""Matrix chains: (A·B)·v is A·(B·v) where that takes fewer multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..core.costs import REORDERED_GAIN
from ..core.graph import Equation, Graph
from ..kernels.contraction import parse_spec
from .draft import Draft, rewrite

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def associate_contractions(graph: Graph) -> Graph:
    """Contract three operands in the order that takes the fewest multiplications, where the product of two is read
    by the contraction with the third only. The same to rounding.

    >>> graph = fx.make_graph(lambda a, v: a @ a @ v)(np.ones((30, 30)), np.ones(30))
    >>> [e.outputs[0].aval for e in associate_contractions(graph).equations]
    [f64[30], f64[30]]
    """
    return rewrite(graph, associate, ("contract",))


def associate(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """Find a better order for a contraction of a contraction."""
    for i in (0, 1):
        made = draft.maker(equation.inputs[i], "contract")
        if made and draft.is_used_once(equation.inputs[i]):
            found = best_order(made, equation, i, draft)
            if found:
                return found
    return None


def best_order(inner: Equation, outer: Equation, i: int, draft: Draft) -> Sequence[Any] | None:
    """Emit the product of the inner operands and the other outer one in the best order, if it is worth it."""
    texts, out = joint_texts(inner, outer, i)
    operands = [*inner.inputs, outer.inputs[1 - i]]
    dtype = outer.outputs[0].aval.dtype
    if any(a.aval.dtype != dtype or a.aval.weak for a in operands) or not all(texts):
        return None
    sizes = {c: n for text, a in zip(texts, operands) for c, n in zip(text, a.aval.shape)}

    def cost(pair: tuple[int, int], last: int) -> int:
        middle = between(texts, pair, last, out)
        return prod([sizes[c] for c in {*texts[pair[0]], *texts[pair[1]]}]) + prod(
            [sizes[c] for c in {*middle, *texts[last]}]
        )

    now = cost((0, 1), 2)
    pair, last = min((((0, 2), 1), ((1, 2), 0)), key=lambda order: cost(*order))
    if REORDERED_GAIN * cost(pair, last) > now:
        return None
    middle = between(texts, pair, last, out)
    p, q = pair
    first = draft.emit(
        "contract", operands[p], operands[q], like=inner, spec=f"{texts[p]},{texts[q]}->{middle}"
    )
    return [draft.emit("contract", operands[last], first, like=outer, spec=f"{texts[last]},{middle}->{out}")]


def joint_texts(inner: Equation, outer: Equation, i: int) -> tuple[list[str], str]:
    """Return the letters of the three operands, and of the result, in one naming."""
    left, right, result = parse_spec(inner.params["spec"])
    *outers, out = parse_spec(outer.params["spec"])
    called = dict(zip(result, outers[i]))
    free = (c for c in LETTERS if c not in outer.params["spec"])
    for c in left + right:
        if c not in called:
            called[c] = next(free)
    return [*("".join([called[c] for c in text]) for text in (left, right)), outers[1 - i]], out


def between(texts: Sequence[str], pair: tuple[int, int], last: int, out: str) -> str:
    """Return the letters of the product of a pair that the rest still needs."""
    letters = dict.fromkeys(texts[pair[0]] + texts[pair[1]])
    return "".join([c for c in letters if c in out or c in texts[last]])
