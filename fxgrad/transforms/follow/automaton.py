"""The ways of a followed program as one loop of compiled code.

The carry holds the number of the next way, a count for each way, and *slots* for the values that are read later
(`liveness`). A step takes one way; the answer to the decision at its end selects the next. An answer that leads
outside of these ways, or that has not occurred before, ends the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ... import ops
from ...core.aval import Aval
from ...core.graph import Literal, Var
from ...core.staging import stage
from .liveness import Route, find_live, part_of, share_slots

# To which integers of Python that change are traced values: a product of two of them is exact.
LARGEST = 1 << 31
NUMBER = Aval((), np.dtype(np.int64))
Registers = dict[Var, Any]


class Automaton:
    """Ways that are taken one after another without Python. Whoever goes on at the place where they end reads what is
    `kept` there. The way from the start, which may be among them, is not part of the loop.

    `places` are the decisions and ends between the ways, `parts` what is needed of each way, and `constants` the
    registers that no way in the loop writes.
    """

    def __init__(self, routes: Sequence[Route], captured: Registers, kept: Callable[[Any], Sequence[Var]]):
        self.ways, self.captured = [route.way for route in routes], captured
        places = dict.fromkeys([place for route in routes for place in (route.way.node, route.target)])
        self.places: list[Any] = [place for place in places if place is not None]
        self.live = find_live(routes, kept)
        self.parts = {route.way: part_of(route, self.live) for route in routes}
        inside = [route for route in routes if route.way.node is not None]  # all but the start
        self.numbers: dict[Any, np.int64] = {r.way: np.int64(number) for number, r in enumerate(inside)}
        written = {v for way in self.numbers for v in self.parts[way].written}
        held = dict.fromkeys(v for place in self.places for v in self.live[place])
        self.constants = [v for v in held if v not in written]
        carried = [v for v in held if v in written]
        self.slots, kinds = share_slots(carried, [self.parts[way] for way in self.numbers], self.live)
        self.blanks, self.never = [*map(nothing, kinds)], np.zeros(len(routes), np.int64)
        self.state = [NUMBER, Aval((len(routes),), NUMBER.dtype), *kinds]
        self.fixed = [v.aval for v in self.constants]
        branches = tuple([stage(self.step(r), [*self.fixed, *self.state[1:]], "way") for r in inside])
        count = len(self.constants)

        def body(*operands: Any) -> Any:
            fixed, (number, *rest) = operands[:count], operands[count:]
            if len(branches) == 1:
                return branches[0](*fixed, *rest)
            return stands_above("branches").switch_call(number, *fixed, *rest, branches=branches)

        if branches:
            avals = [*self.fixed, *self.state]
            self.body = stage(body, avals, "circle")
            self.cond = stage(lambda *operands: [operands[count] >= 0], avals, "circle")

    def bind(self, *operands: Any) -> Sequence[Any]:
        """Bind the loop: (*constants, next way, times, *slots) → (place, times, *slots)."""
        consts = len(self.constants)
        if not self.numbers:
            return operands[consts:]
        params = {"cond": self.cond, "body": self.body, "consts": consts, "max_steps": None}
        return stands_above("loops").while_call(*operands, **params)

    def operands(self, place: Any, number: Any, times: Any, values: Registers) -> list[Any]:
        """Return the operands of the loop that begins at a place."""
        state = [*self.blanks]
        self.fill(state, place, values)
        return [*[value_of(v, values, self.captured) for v in self.constants], number, times, *state]

    def fill(self, state: list[Any], place: Any, values: Registers) -> None:
        """Put what is read after a place into its slots."""
        for v in self.live[place]:
            if v in self.slots:
                state[self.slots[v]] = value_of(v, values, self.captured)

    def values_at(self, place: Any, state: Sequence[Any]) -> Registers:
        """Return what is read after a place from its slots."""
        return {v: state[self.slots[v]] for v in self.live[place] if v in self.slots}

    def step(self, route: Route) -> Callable[..., list[Any]]:
        """Return the function of a step along a way: (*constants, times, *slots) → (next way, times, *slots)."""
        places = len(self.constants)

        def take(*operands: Any) -> list[Any]:
            times, *state = operands[places:]
            values = {**dict(zip(self.constants, operands)), **self.values_at(route.way.node, state)}
            number, times, found = self.take(route, times, values)
            self.fill(state, route.target, found)
            return [number, times, *state]

        return take

    def take(self, route: Route, times: Any, values: Registers) -> tuple[Any, Any, Registers]:
        """Take a way; return the number of the next one, how often each was taken, and the values at its end."""
        graph, settings, _ = self.parts[route.way]
        values = {
            **values,
            **dict(zip(graph.outputs, graph(*[value_of(v, values, self.captured) for v in graph.inputs]))),
        }
        found = {v: value_of(atom, values, self.captured) for v, atom in settings.items()}
        place = (self.ways.index(route.way),)
        times = ops.update(times, ops.getitem(times, index=place) + 1, index=place)
        return self.decide(route.target, found), times, found

    def decide(self, target: Any, values: Registers) -> Any:
        """Return the number of the way that the answer to a decision leads to, or −1 − the number of the place."""
        leave = -1 - self.places.index(target)
        found: Any = np.int64(leave)
        if not hasattr(target, "question"):  # the end
            return found
        question = value_of(target.question, values, self.captured)
        question = ops.reshape(question, shape=()) if target.question.aval.shape else question
        if target.operation == "bool()":
            one, other = (self.numbers.get(target.ways.get(answer), leave) for answer in (True, False))
            found = ops.where(ops.not_equal(question, 0), np.int64(one), np.int64(other))
        else:
            for way in target.ways.values():
                if way in self.numbers:
                    found = ops.where(ops.equal(question, way.answer), self.numbers[way], found)
        for variable in target.numbers:
            is_large = ops.greater(ops.absolute(values[variable]), LARGEST)
            found = ops.where(is_large, np.int64(leave), found)
        return found

    def is_sound(self) -> bool:
        """Whether every way leaves registers of the shapes and dtypes that it found."""
        return not self.numbers or list(self.body.out_avals) == self.state

    def is_fast(self) -> bool:
        """Whether the loop can be machine code."""
        is_compilable = stands_above("recurrence").is_compilable
        return not self.numbers or is_compilable(self.cond, self.body, len(self.constants))


def value_of(atom: Any, registers: Registers, captured: Registers) -> Any:
    """Return the value of a variable or literal, or a number itself."""
    if type(atom) is Var:
        return registers[atom] if atom in registers else captured[atom]
    return atom.value if type(atom) is Literal else atom


def stands_above(module: str) -> Any:
    """Return a module of `fxgrad.control`, whose rules are made by transforms; it is loaded with the first loop."""
    return import_module(f"fxgrad.control.{module}")


def nothing(aval: Aval) -> Any:
    """Return what a slot holds before a way has written into it."""
    zero = np.zeros(aval.shape, aval.dtype)
    return zero.item() if aval.weak else zero[()]
