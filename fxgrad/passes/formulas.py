"""Formulas: operations whose NumPy kernels work block by block, or run a program, are replaced by the equations that
define them, where these can become machine code together with their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.costs import FUSED_ENTRIES
from ..core.graph import Equation, Graph
from ..core.staging import stage
from ..kernels.native import engine
from .draft import Draft, rewrite


def expand_formulas(graph: Graph) -> Graph:
    """Replace large operations that have a `formula` by its equations: the same values to rounding."""
    if engine.mode() == "never" or all(e.primitive.formula is None for e in graph.equations):
        return graph
    return rewrite(graph, expand)


def expand(e: Equation, draft: Draft) -> Sequence[Any] | None:
    """Emit the equations of a formula."""
    formula = e.primitive.formula
    size = max((a.aval.size for a in e.inputs), default=0)
    least = FUSED_ENTRIES if e.primitive.formula_from is None else e.primitive.formula_from
    if formula is None or (size < least and engine.mode() != "always"):
        return None

    def results(*values: Any) -> Sequence[Any]:
        found = formula(*values, **e.params)
        return () if found is None else found

    inner = stage(results, [a.aval for a in e.inputs], e.primitive.name, sites=False)
    if [v.aval for v in inner.outputs] != [v.aval for v in e.outputs] or inner.captured:
        return None
    atoms: dict[Any, Any] = dict(zip(inner.inputs, e.inputs))
    for q in inner.equations:
        operands = [atoms.get(a, a) for a in q.inputs]
        step = Equation(q.primitive, operands, q.outputs, q.params, e.site, e.quiet or q.quiet)
        found = expand(step, draft)
        if found is None:
            draft.append(step)
        else:
            atoms.update(zip(q.outputs, found))
    return [atoms.get(a, a) for a in inner.outputs]
