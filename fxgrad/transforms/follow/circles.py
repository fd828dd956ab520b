"""Circles of ways that are taken often, as loops of compiled code.

Where ways lead back to where they begin, the program goes round without Python: a `Circle` is one `while_loop` whose
carry is the number of the way to take, how often each was taken, and the registers that ways write. A step takes one
way, and reads from the answer to the decision at its end which way is next. An answer that leads out of the circle, or
that nobody has given yet, ends the loop, and Python goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import PLAIN, Aval
from ...core.graph import Literal, Var
from ...core.interpreter import PrimalTracer
from ...core.staging import stage

if TYPE_CHECKING:
    from .program import Node, Registers, Way

LARGEST = (
    1 << 31
)  # to which integers of Python that change are traced values: a product of two of them is exact
NUMBER = Aval((), np.dtype(np.int64))


class Circle:
    """Ways from which each other one can be reached, as a loop."""

    __slots__ = ("body", "carried", "cond", "constants", "nodes", "numbers", "ways")

    def __init__(self, ways: Sequence[Way], captured: dict[Var, Any]):
        self.ways = ways
        self.numbers: dict[Any, int] = {way: number for number, way in enumerate(ways)}
        self.nodes = list(dict.fromkeys([way.node for way in ways if way.node is not None]))
        written = {v for way in ways for v in (*way.graph.outputs, *[v for v, _ in way.moves])}
        read = dict.fromkeys(v for way in ways for v in read_by(way) if v not in captured)
        kept = dict.fromkeys(v for node in self.nodes for v in (node.question, *node.registers))
        self.carried = [v for v in {**kept, **read} if v in written]
        self.constants = [v for v in read if v not in written]
        avals = [v.aval for v in self.constants]
        state = [NUMBER] * (1 + len(ways)) + [v.aval for v in self.carried]
        places = len(self.constants)
        branches = [stage(self.step(way, captured), [*avals, *state[1:]], "way") for way in ways]

        def body(*operands: Any) -> Any:
            fixed, (number, *rest) = operands[:places], operands[places:]
            if len(branches) == 1:
                return branches[0](*fixed, *rest)
            return stands_above("branches").switch_call(number, *fixed, *rest, branches=tuple(branches))

        self.body = stage(body, [*avals, *state], "circle")
        self.cond = stage(lambda *operands: [operands[places] >= 0], [*avals, *state], "circle")
        assert list(self.body.out_avals) == state, (self.body.out_avals, state)

    def step(self, way: Way, captured: dict[Var, Any]) -> Callable[..., list[Any]]:
        """Return the function of a step along a way: (*constants, *times, *carried) → (next way, *times, *carried)."""

        def take(*operands: Any) -> list[Any]:
            places = len(self.constants)
            times = [*operands[places : places + len(self.ways)]]
            values = dict(
                zip([*self.constants, *self.carried], [*operands[:places], *operands[places + len(times) :]])
            )

            def value_of(atom: Any) -> Any:
                if type(atom) is Var:
                    return values[atom] if atom in values else captured[atom]
                return atom.value if type(atom) is Literal else atom

            results = way.graph(*[value_of(v) for v in way.graph.inputs])
            values.update(zip(way.graph.outputs, results))
            values.update({v: value_of(atom) for v, atom in way.moves})
            number = self.numbers[way]
            times[number] = times[number] + 1
            return [self.decide(way.target, value_of), *times, *[values[v] for v in self.carried]]

        return take

    def decide(self, node: Any, value_of: Callable[[Any], Any]) -> Any:
        """Return the number of the way that the answer to a decision leads to, or −1 − the node's number."""
        leave = -1 - self.nodes.index(node)
        question, found = value_of(node.question), np.int64(leave)
        question = ops.reshape(question, shape=()) if node.question.aval.shape else question
        if node.operation == "bool()":
            one, other = (self.numbers.get(node.ways.get(answer), leave) for answer in (True, False))
            found = ops.where(ops.not_equal(question, 0), np.int64(one), np.int64(other))
        else:
            for way in node.ways.values():
                if way in self.numbers:
                    found = ops.where(ops.equal(question, way.answer), np.int64(self.numbers[way]), found)
        for variable in node.numbers:
            is_large = ops.greater(ops.absolute(value_of(variable)), LARGEST)
            found = ops.where(is_large, np.int64(leave), found)
        return found

    def run(self, way: Way, registers: Registers) -> Node:
        """Go round from the beginning of a way; return the node at which the loop ends."""
        fixed = [registers[v] for v in self.constants]
        state = [registers[v] if v in registers else nothing(v.aval) for v in self.carried]
        times = [np.int64(0)] * len(self.ways)
        params = {"cond": self.cond, "body": self.body, "consts": len(fixed), "max_steps": None}
        number, *rest = stands_above("loops").while_call(
            *fixed, np.int64(self.numbers[way]), *times, *state, **params
        )
        for one, count in zip(self.ways, rest):
            one.times += int(known_value(count))
        for variable, value in zip(self.carried, rest[len(times) :]):
            is_number = variable.aval.weak and type(value) in PLAIN
            registers[variable] = np.asarray(value).item() if is_number else value
        return self.nodes[-1 - int(known_value(number))]

    def takes(self, registers: Registers) -> bool:
        """Whether the values of all registers are known below levels of derivatives."""
        return all(
            [type(known_value(registers.get(v, 0))) in PLAIN for v in (*self.constants, *self.carried)]
        )


def stands_above(module: str) -> Any:
    """Return a module of `fxgrad.control`, whose rules are made by transforms; it is loaded with the first circle."""
    return import_module(f"fxgrad.control.{module}")


def known_value(value: Any) -> Any:
    """Return the value below levels of derivatives."""
    while isinstance(value, PrimalTracer):
        value = value.primal
    return value


def nothing(aval: Aval) -> Any:
    """Return what a register holds that no way has written yet."""
    zero = np.zeros(aval.shape, aval.dtype)
    return zero.item() if aval.weak else zero[()]


def read_by(way: Way) -> list[Var]:
    """Return the registers that a way reads, and the decision at its end."""
    node: Any = way.target
    atoms = [*way.graph.inputs, *[atom for _, atom in way.moves], node.question, *node.registers]
    made = {*way.graph.outputs, *[v for v, _ in way.moves]}
    return [v for v in atoms if type(v) is Var and (v not in made or v in way.graph.inputs)]


def find_circle(way: Way, captured: dict[Var, Any]) -> Circle | None:
    """Return the loop of all ways that lie on circles with one, or None."""
    pending, ways = [way], dict.fromkeys([way])
    while pending:
        node = pending.pop().target
        for following in getattr(node, "ways", {}).values():
            if can_be_inside(following) and following not in ways:
                ways[following] = None
                pending.append(following)
    inside = {way.node}
    while grown := {w.node for w in ways if w.target in inside} - inside:
        inside |= grown
    ways = [w for w in ways if w.node in inside and w.target in inside]
    if way not in ways or not can_be_inside(way):
        return None
    return Circle(ways, captured)


def can_be_inside(way: Way) -> bool:
    """Whether a way can be taken without Python: it has no effect, and its answer is a truth or an integer."""
    is_exact = type(way.answer) in (bool, np.bool_) or np.asarray(way.answer).dtype.kind in "biu"
    return way.node is not None and is_exact and not way.graph.acts
