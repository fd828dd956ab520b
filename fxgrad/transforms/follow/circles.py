"""Ways that are taken often, compiled together so that no Python runs between them.

A `Circle` consists of ways that lead back to their beginning: Python enters it at any of its ways, and continues at the
decision where it ends. A `Whole` is a program that is called often, as one Graph from its start to its ends. It is
called like any function under `jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import PLAIN, aval_of
from ...core.costs import STEP_INSTRUCTIONS
from ...core.graph import Var
from ...core.interpreter import innermost_primal, is_plain
from ...core.primitive import KERNEL_ERRORS
from ...core.staging import stage
from ..arguments import unshare_results
from ..compiled_graph import CompiledGraph
from .automaton import Automaton, Registers, value_of
from .liveness import Route, read_at

if TYPE_CHECKING:
    from .program import End, Node, Program, Way


class Circle(Automaton):
    """Ways on circles through one of them."""

    def __init__(self, ways: Sequence[Way], captured: Registers, fastmath: bool):
        super().__init__([Route(way, way.target, way.moves) for way in ways], captured, read_at)
        self.code: Any = None
        if self.is_sound():
            graph = stage(self.bind, [*self.fixed, *self.state], "circle")
            self.code = CompiledGraph(graph, None, fastmath)

    def run(self, way: Way, registers: Registers) -> Node | End | None:
        """Go round from the beginning of a way; return the decision or the end at which the loop ends, or None where
        the values of registers are not known below levels of derivatives."""
        operands = self.operands(way.node, self.numbers[way], self.never, registers)
        if not are_known(operands):
            return None
        number, times, *state = self.code.compute(operands)
        count_ways(self.ways, times)
        place = self.places[-1 - int(innermost_primal(number))]
        registers.update(self.values_at(place, state))
        return place


class Whole(Automaton):
    """All ways of a program: (record, *arguments) → (record, *results of all ends). The record has how often each way
    was taken, over all calls, and the number of the place where the latest one has ended.

    `ends` has for each place the end, if it is one, and what picks its results from those of the Graph.
    """

    def __init__(self, program: Program, routes: Sequence[Route]):
        super().__init__(routes, program.captured, read_at_end)
        self.start, self.inputs = routes[0], program.inputs
        self.record = np.zeros(len(routes) + 1, np.int64)
        self.ends: list[tuple[End | None, Callable[[Any], Any]]] = []
        self.code: Any = None
        if self.is_sound() and self.is_fast():
            graph = stage(self.call, [aval_of(self.record), *[v.aval for v in self.inputs]], program.name)
            self.code = CompiledGraph(graph, None, program.fastmath)

    def call(self, record: Any, *leaves: Any) -> list[Any]:
        """Take all ways, and note where the results of each end are."""
        times, values = record[: len(self.ways)], dict(zip(self.inputs, leaves))
        number, times, values = self.take(self.start, times, values)
        operands = self.operands(self.start.target, number, times, values)
        number, times, *state = self.bind(*operands)
        found = [ops.concatenate(times, ops.reshape(-1 - number, shape=(1,)), axis=0)]
        fixed = dict(zip(self.constants, operands))
        for place in self.places:
            values, own = {**fixed, **self.values_at(place, state)}, []
            for atom in () if hasattr(place, "question") else place.outputs:
                value = value_of(atom, values, self.captured)
                held = [k for k, other in enumerate(found) if other is value and k not in own]
                own.append(held[0] if held else len(found))  # other ends may have the same
                found += [] if held else [value]
            row = slice(own[0], own[-1] + 1) if own else slice(0)
            is_row = own == [*range(len(found))[row]]  # of which a slice is faster
            pick = itemgetter(row) if is_row else itemgetter(*own)
            self.ends.append((None if hasattr(place, "question") else place, pick))
        return found

    def run(self, leaves: Sequence[Any], plain: bool) -> Any:
        """Return the result for flat arguments, or NotImplemented where Python has to find out."""
        code = self.code
        function = code.code if plain else None
        if function is None:
            found = code.compute((self.record, *leaves))
        else:
            try:
                found = function(self.record, *leaves)
            except KERNEL_ERRORS as error:
                code.raise_with_location(error, function)
        record = found[0] if plain else innermost_primal(found[0])
        end, pick = self.ends[record.item(-1)]
        if end is None:
            return NotImplemented
        self.record, results = record, pick(found)
        if plain and code.results_may_share:
            results = unshare_results(results, [*leaves, *code.optimized.captured.values()])
        return end.unflatten(results, plain)

    def settle(self) -> None:
        """Tell the ways how often they were taken."""
        count_ways(self.ways, self.record)
        self.record = np.zeros_like(self.record)


def read_at_end(place: Any) -> list[Var]:
    """Return what is read at an end; at a decision nobody goes on."""
    return [] if hasattr(place, "question") else read_at(place)


def count_ways(ways: Sequence[Way], times: Any) -> None:
    """Add to how often ways were taken."""
    for way, count in zip(ways, innermost_primal(times).tolist()):
        way.times += count


def are_known(values: Sequence[Any]) -> bool:
    """Whether all values are known below levels of derivatives."""
    return is_plain(values) or all([type(innermost_primal(v)) in PLAIN for v in values])


def reached_from(way: Way) -> list[Way]:
    """Return a way, and all that are known to be taken after it without Python."""
    pending, ways = [way], dict.fromkeys([way])
    while pending:
        node = pending.pop().target
        for following in getattr(node, "ways", {}).values():
            if can_be_inside(following) and following not in ways:
                ways[following] = None
                pending.append(following)
    return [*ways]


def find_circle(way: Way, captured: Registers, fastmath: bool) -> Circle | None:
    """Return the loop of all ways that lie on circles with one, or None."""
    ways = reached_from(way)
    inside = {way.node}
    while grown := {w.node for w in ways if w.target in inside} - inside:
        inside |= grown
    ways = [w for w in ways if w.node in inside and w.target in inside]
    if way not in ways or not can_be_inside(way):
        return None
    found = Circle(ways, captured, fastmath)
    return None if found.code is None else found


def find_whole(program: Program) -> Whole | None:
    """Return a program as one Graph, or None where it has effects, or where its loop would not be machine code."""
    if not all(map(can_be_inside, program.ways())):
        return None
    routes = find_routes(program)
    if sum(len(route.way.graph.equations) for route in routes) > STEP_INSTRUCTIONS:
        return None
    found = Whole(program, routes)
    return None if found.code is None or found.code.plain is None else found


def find_routes(program: Program) -> list[Route]:
    """Return the ways from the start on. The first rounds of a loop, which knew their numbers, are among the others as
    soon as these take the same ways."""
    pending, routes = [program.start], {}
    while pending:
        way = pending.pop()
        if way is not None and way not in routes:
            routes[way] = Route(way, *program.general_target(way))
            pending += reversed(getattr(routes[way].target, "ways", {}).values())
    return [*routes.values()]


def can_be_inside(way: Way) -> bool:
    """Whether a way can be taken without Python: it has no effect, and its answer is a truth or an integer."""
    is_exact = way.node is None or np.asarray(way.answer).dtype.kind in "biu"
    return is_exact and not way.graph.acts
