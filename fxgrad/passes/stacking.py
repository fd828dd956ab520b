"""Stacking of matrix products: two small operands that are multiplied by the same matrix are stacked into one, and a
sum of two products becomes one product with concatenated summed axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.costs import STACKED_ENTRIES
from ..core.graph import Equation, Graph
from ..kernels.contraction import parse_spec
from .draft import Draft, is_ours, rewrite


def stack_products(graph: Graph) -> Graph:
    """Stack what contractions share: A·W and B·W become one product, A·C + B·D too. The same to rounding.

    >>> graph = fx.make_graph(lambda a, b, c, d: a.T @ b + c.T @ d)(*4 * [np.ones((8, 300))])
    >>> [e.primitive.name for e in stack_products(graph).equations if e.primitive.name == "contract"]
    ['contract']
    """
    if sum(e.primitive.name == "contract" for e in graph.equations) < 2:
        return graph
    graph = rewrite(graph, stack_sum, ("add",))
    partners = find_partners(graph)
    if not partners:
        return graph
    return rewrite(graph, lambda equation, draft: stack_rows(equation, partners, draft), ("contract",))


def stack_sum(equation: Equation, draft: Draft) -> Sequence[Any] | None:
    """A·C + B·D = [A B]·[C; D], where the operands are small beside the result."""
    x, y = equation.inputs
    first, second = draft.maker(x, "contract"), draft.maker(y, "contract")
    if not first or not second or not draft.is_used_once(x) or not draft.is_used_once(y) or x is y:
        return None
    spec, out = first.params["spec"], equation.outputs[0].aval
    left, right, result = parse_spec(spec)
    operands = [*first.inputs, *second.inputs]
    if (
        spec != second.params["spec"]
        or out.size < STACKED_ENTRIES
        or sum(a.aval.size for a in operands) > out.size
        or any(a.aval.dtype != out.dtype or a.aval.weak for a in operands)
    ):
        return None
    summed = [c for c in left if c not in result]
    if len(summed) != 1 or any(
        a.aval.shape[:k] + a.aval.shape[k + 1 :] != b.aval.shape[:k] + b.aval.shape[k + 1 :]
        for a, b, k in zip(first.inputs, second.inputs, (left.index(summed[0]), right.index(summed[0])))
    ):
        return None
    joined = [
        draft.emit("concatenate", a, b, like=equation, axis=text.index(summed[0]))
        for a, b, text in zip(first.inputs, second.inputs, (left, right))
    ]
    return [draft.emit("contract", *joined, like=equation, spec=spec)]


def find_partners(graph: Graph) -> dict[Any, Equation]:
    """Pair contractions that share an operand: return, by the result of the later one, the earlier one, whose result
    is not read before."""
    waiting: dict[Any, tuple[Equation, set]] = {}  # an equation, and what depends on it so far
    partners = {}
    for e in graph.equations:
        for key, (_, dependent) in list(waiting.items()):
            if any(a in dependent for a in e.inputs):
                del waiting[key]
        key = row_key(e)
        if key is None:
            continue
        if key in waiting:
            partners[e.outputs[0]] = waiting.pop(key)[0]
        else:
            waiting[key] = e, set(e.outputs)
    return partners


def row_key(e: Equation) -> tuple | None:
    """Return all that two contractions have in common whose small operands can stand one above the other: the place
    of that operand, whose first axis is that of the result, comes first."""
    if e.primitive.name != "contract" or not is_ours(e):
        return None
    *texts, out = parse_spec(e.params["spec"])
    for i in (0, 1):
        small, shared = e.inputs[i], e.inputs[1 - i]
        first = texts[i][:1]
        alone = first and out.startswith(first) and first not in texts[1 - i] and not small.aval.weak
        if alone and shared.aval.size >= max(STACKED_ENTRIES, 2 * small.aval.size):
            return i, shared, e.params["spec"], small.aval.shape[1:], small.aval.dtype
    return None


def stack_rows(equation: Equation, partners: dict[Any, Equation], draft: Draft) -> Sequence[Any] | None:
    """[A; B]·W, of which A·W and B·W are the rows."""
    first = partners.get(equation.outputs[0])
    if first is None:
        return None
    first, key = draft.carry(first), row_key(equation)
    if key is None:
        return None
    i = key[0]
    a, b = first.inputs[i], equation.inputs[i]
    joined = draft.emit("concatenate", a, b, like=equation, axis=0)
    operands = [joined, equation.inputs[1]] if i == 0 else [equation.inputs[0], joined]
    product = draft.emit("contract", *operands, like=equation, **equation.params)
    rows, rest = len_of(a), (slice(None),) * (product.aval.ndim - 1)
    above, below = [
        draft.emit("getitem", product, like=e, index=(slice(start, stop, None), *rest))
        for e, start, stop in ((first, 0, rows), (equation, rows, rows + len_of(b)))
    ]
    draft.replaced[first.outputs[0]] = above
    return [below]


def len_of(atom: Any) -> int:
    return atom.aval.shape[0]
