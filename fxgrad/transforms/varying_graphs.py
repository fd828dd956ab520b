"""The mesh axes along which results of loops, branches and calls differ between ranks. Their Graphs are walked, those
of loops until a step adds no axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops  # noqa: F401  before its parts
from ..core.graph import Graph, Literal, iter_subgraphs
from ..ops.ranks import BetweenRanks
from .copies import NOWHERE, Names, known_axes, varying_results


def varying_results_of_bodies(primitive: Any, varying: Sequence[Names], params: dict) -> Any:
    """Return the axes along which the results of an operation that carries Graphs differ: one set for all of them, or a
    list."""
    rule = RULES.get(primitive.name)
    if rule is not None:
        return rule(varying, **params)
    return NOWHERE.union(*varying, *[made_varying(graph) for _, graph in iter_subgraphs(params)])


def follow(graph: Graph, varying: Sequence[Names]) -> list[Names]:
    """Return the axes along which the results of a Graph differ, for inputs that do along these."""
    found: dict[Any, Names] = dict(zip(graph.inputs, varying))
    found.update(zip(graph.captured, known_axes([*graph.captured.values()]) or ()))

    def of(atom: Any) -> Names:
        return NOWHERE if type(atom) is Literal else found.get(atom, NOWHERE)

    for e in graph.equations:
        results = varying_results(e.primitive, list(map(of, e.inputs)), e.params)
        if isinstance(results, frozenset):
            results = [results] * len(e.outputs)
        found.update(zip(e.outputs, results))
    return list(map(of, graph.outputs))


def made_varying(graph: Graph) -> Names:
    """Return the axes along which anything in a Graph may differ though its inputs do not."""
    names = NOWHERE
    for e in graph.equations:
        if isinstance(e.primitive, BetweenRanks) and e.primitive.varies:
            names |= e.params["axis"].varying
        names = names.union(*[made_varying(inner) for _, inner in iter_subgraphs(e.params)])
    return names


def repeat(body: Graph, fixed: Sequence[Names], state: Sequence[Names], rows: Sequence[Names]) -> list[Names]:
    """Return the axes along which the results of a body differ after any number of steps, its carry first."""
    while True:
        results = follow(body, [*fixed, *state, *rows])
        grown = [old | new for old, new in zip(state, results)]
        if grown == list(state):
            return [*grown, *results[len(grown) :]]
        state = grown


def scan_rule(
    varying: Sequence[Names], *, body: Graph, consts: int, carry: int, **params: Any
) -> list[Names]:
    count, *others = varying
    state = [v | count for v in others[consts : consts + carry]]
    return [v | count for v in repeat(body, others[:consts], state, others[consts + carry :])]


def while_rule(
    varying: Sequence[Names], *, cond: Graph, body: Graph, consts: int, **params: Any
) -> list[Names]:
    fixed, state = list(varying[:consts]), list(varying[consts:])
    while True:
        (again,) = follow(cond, [*fixed, *state])
        grown = [v | again for v in repeat(body, fixed, state, [])]
        if grown == state:
            return state
        state = grown


def switch_rule(varying: Sequence[Names], *, branches: Sequence[Graph]) -> list[Names]:
    index, *operands = varying
    found = [follow(branch, operands) for branch in branches]
    return [index.union(*results) for results in zip(*found)]


RULES = {
    "scan": scan_rule,
    "while_loop": while_rule,
    "switch": switch_rule,
    "checkpoint": lambda varying, *, graph, **params: follow(graph, varying),
}
