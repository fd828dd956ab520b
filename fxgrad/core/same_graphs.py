"""Equal Graphs: the first one represents the others, so that everything derived from it is derived once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .cache import Cache
from .graph import Equation, Graph, Literal, Var
from .interpreter import named_axes
from .key import key_of, params_key
from .typing import type_of


class InternedGraphs(Cache):
    """Graphs by what they say. What was derived from one goes with its entry: it may refer back to the Graph, and
    memory is to be released without the garbage collector."""

    __slots__ = ()

    def __delitem__(self, key: Any) -> None:
        self[key].cache.clear()
        super().__delitem__(key)


_interned = InternedGraphs(256)


def intern_graph(graph: Graph) -> Graph:
    """Return an equal Graph met before, or this one: what was derived from a body serves the next call of the
    same loop, although a call stages its functions anew. Not where an equation will never be met again, nor
    is to be kept."""
    if any(equation.has_trait("identity_params") for equation in graph.equations):
        return graph
    key = graph_key(graph)
    try:
        found = _interned.get(key)
    except TypeError:  # a param that cannot be hashed
        return graph
    if found is None:
        found = _interned[key] = graph
    return found


def graph_key(graph: Graph) -> tuple[Any, ...]:
    """Return all that a closed Graph says as a key, to be compared and hashed. Sub-graphs are interned
    already."""
    numbers: dict[Any, int] = {}

    def number_variables(variables: Sequence[Var]) -> tuple[Any, ...]:
        for v in variables:
            numbers[v] = len(numbers)
        return tuple([v.aval for v in variables])

    def key_atoms(atoms: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([key_of(a.value) if type(a) is Literal else numbers[a] for a in atoms])

    inputs = number_variables(graph.inputs)
    equations = tuple(
        [
            (
                e.primitive,
                key_atoms(e.inputs),
                params_key(e.params),
                number_variables(e.outputs),
                None if e.site is None else (id(e.site.code), e.site.lasti),
                e.quiet,
            )
            for e in graph.equations
        ]
    )
    return graph.name, inputs, equations, key_atoms(graph.outputs), named_axes()


def lift_constants(graph: Graph) -> tuple[Graph, list[Any]]:
    """Return the Graph with its captured values and NumPy's numbers as leading inputs, and those values. Python's
    numbers are part of the program."""
    lifted: dict[Any, Any] = dict(graph.captured)

    def lift(atoms: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for a in atoms:
            if type(a) is Literal and issubclass(type_of(a.value), np.generic):
                value, a = a.value, Var(a.aval)
                lifted[a] = value
            found.append(a)
        return found

    equations = [
        Equation(e.primitive, lift(e.inputs), e.outputs, e.params, e.site, e.quiet) for e in graph.equations
    ]
    outputs = lift(graph.outputs)
    return Graph((*lifted, *graph.inputs), equations, outputs, None, graph.name), [*lifted.values()]
