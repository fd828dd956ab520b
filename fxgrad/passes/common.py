"""Common subexpressions: equal equations are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Equation, Graph, Literal
from ..core.key import key_of, params_key
from .draft import Draft, rewrite, stands_alone


def share_common(graph: Graph) -> Graph:
    """Share what equations with equal primitives, operands and params compute: bit for bit the same values.

    It warns if one of them did. Effects, and functions that no other call has (`identity_params`), stay apart.

    >>> graph = fx.make_graph(lambda x: fnp.sin(x) + fnp.sin(x))(1.0)
    >>> [equation.primitive.name for equation in share_common(graph).equations]
    ['sin', 'add']
    """
    met: dict[Any, int] = {}  # places in the draft

    def share(equation: Equation, draft: Draft) -> Sequence[Any] | None:
        operands = [key_of(a.value) if type(a) is Literal else a for a in equation.inputs]
        key = (equation.primitive, *operands, params_key(equation.params) if equation.params else None)
        try:
            place = met.get(key)
        except TypeError:  # a param that cannot be hashed
            return None
        if place is None:
            if not stands_alone(equation):
                met[key] = len(draft.equations)
            return None
        first = draft.equations[place]
        if first.quiet and not equation.quiet:
            draft.equations[place] = Equation(
                first.primitive, first.inputs, first.outputs, first.params, equation.site
            )
        return first.outputs

    return rewrite(graph, share)
