"""Liveness: the registers of a program that are read after a decision, and the slots in which a loop keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.graph import Graph, Var

if TYPE_CHECKING:
    from ...core.aval import Aval
    from .program import Way

Live = dict[Any, dict[Var, None]]  # the registers that are read after each place, in a fixed order


class Route(NamedTuple):
    """A way, the place to which it leads, and its moves there."""

    way: Way
    target: Any
    moves: Sequence[tuple[Var, Any]]


class Part(NamedTuple):
    """What of a way is needed for some registers: its Graph, what they are set to after it, and what both read."""

    graph: Graph
    settings: dict[Var, Any]
    read: list[Var]

    @property
    def written(self) -> list[Var]:
        """The registers that differ afterwards."""
        return [v for v, atom in self.settings.items() if atom is not v or v in self.graph.outputs]


def registers_among(atoms: Iterable[Any]) -> list[Var]:
    return [atom for atom in atoms if type(atom) is Var]


def read_at(place: Any) -> list[Var]:
    """Return what the program may use after a decision, or at its end."""
    atoms = [place.question, *place.registers] if hasattr(place, "question") else place.outputs
    return registers_among(atoms)


def asked_at(place: Any) -> list[Var]:
    """Return what decides which way is next."""
    return registers_among([place.question, *place.numbers]) if hasattr(place, "question") else []


def part_of(route: Route, live: Live) -> Part:
    """Return what of a way is needed for what is read after it."""
    moved, graph = dict(route.moves), route.way.graph
    settings = {v: moved.get(v, v) for v in (*live[route.target], *asked_at(route.target))}
    sources, made = registers_among(settings.values()), {*graph.outputs}
    outputs = [v for v in dict.fromkeys(sources) if v in made]
    graph = Graph(graph.inputs, graph.equations, outputs, graph.captured, graph.name).prune()
    inputs = [v for v, is_used in zip(graph.inputs, graph.used_inputs()) if is_used]
    graph = Graph([*inputs, *graph.captured], graph.equations, outputs, {}, graph.name)
    return Part(graph, settings, [*graph.inputs, *[v for v in sources if v not in made]])


def find_live(routes: Sequence[Route], kept: Callable[[Any], Sequence[Var]]) -> Live:
    """Return what is read after each place: by the ways that follow, or, as far as it is `kept`, by whoever goes on."""
    places = dict.fromkeys([place for route in routes for place in (route.way.node, route.target)])
    live: Live = {place: dict.fromkeys(() if place is None else kept(place)) for place in places}
    grows = True
    while grows:
        grows = False
        for route in reversed(routes):
            before = live[route.way.node]
            count = len(before)
            before.update(dict.fromkeys(part_of(route, live).read))
            grows |= len(before) > count
    return live


def share_slots(
    variables: Sequence[Var], parts: Sequence[Part], live: Live
) -> tuple[dict[Var, int], list[Aval]]:
    """Return a slot for each of the variables, which it has with others of its kind that are never live with it, and
    the avals of the slots. What is moved stays in its slot where that is possible."""
    beside: dict[Var, set[Var]] = {v: set() for v in variables}
    for registers in live.values():
        together = [v for v in registers if v in beside]
        for v in together:
            beside[v].update(together)
    related: dict[Var, list[Var]] = {v: [] for v in variables}
    for part in parts:
        for v, atom in part.settings.items():
            if v in beside and atom in beside:
                related[v].append(atom)
                related[atom].append(v)
    slots: dict[Var, int] = {}
    avals: list[Aval] = []
    for v in variables:
        taken = {slots[other] for other in beside[v] if other in slots}
        places = [*[slots[other] for other in related[v] if other in slots], *range(len(avals))]
        slot = next((k for k in places if k not in taken and avals[k] == v.aval), len(avals))
        if slot == len(avals):
            avals.append(v.aval)
        slots[v] = slot
    return slots, avals
