"""Circles of ways that are taken often, as loops of compiled code.

Where ways lead back to where they begin, the program goes round without Python; where all of a program that is called
often can be machine code, it runs so from its start to its end. A `Circle` is one `while_loop` whose carry is the
number of the way to take, how often each was taken, and the registers that ways write. A step takes one way, and reads
from the answer to the decision at its end which way is next. An answer that leads out of the circle, or that nobody has
given yet, ends the loop, and Python goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import PLAIN, Aval
from ...core.graph import Graph, Literal, Var
from ...core.interpreter import PrimalTracer, is_plain
from ...core.primitive import KERNEL_ERRORS
from ...core.staging import stage
from ..compiled_graph import CompiledGraph

if TYPE_CHECKING:
    from .program import Registers, Way

# To which integers of Python that change are traced values: a product of two of them is exact.
LARGEST = 1 << 31
NUMBER = Aval((), np.dtype(np.int64))


class Circle:
    """Ways that are taken one after another without Python, as a loop: those on circles through one, or all."""

    __slots__ = (
        *("blanks", "body", "captured", "carried", "code", "cond", "constants", "never", "numbers"),
        *("places", "state", "ways"),
    )

    def __init__(self, ways: Sequence[Way], captured: dict[Var, Any], fastmath: bool):
        self.ways, self.captured = ways, captured
        self.numbers: dict[Any, np.int64] = {way: np.int64(number) for number, way in enumerate(ways)}
        targets = [way.target for way in ways]
        self.places = list(
            dict.fromkeys([p for p in (*[way.node for way in ways], *targets) if p is not None])
        )
        written = {v for way in ways for v in (*way.graph.outputs, *[v for v, _ in way.moves])}
        read = dict.fromkeys(v for way in ways for v in read_by(way))
        kept = dict.fromkeys(v for place in self.places for v in read_at(place))
        self.carried = [v for v in {**kept, **read} if v in written]
        self.constants = [v for v in read if v not in written]
        avals = [v.aval for v in self.constants]
        self.state = [NUMBER, Aval((len(ways),), NUMBER.dtype), *[v.aval for v in self.carried]]
        places = len(self.constants)
        branches = [stage(self.step(way), [*avals, *self.state[1:]], "way") for way in ways]

        def body(*operands: Any) -> Any:
            fixed, (number, *rest) = operands[:places], operands[places:]
            if len(branches) == 1:
                return branches[0](*fixed, *rest)
            return stands_above("branches").switch_call(number, *fixed, *rest, branches=tuple(branches))

        self.body = stage(body, [*avals, *self.state], "circle")
        self.cond = stage(lambda *operands: [operands[places] >= 0], [*avals, *self.state], "circle")
        self.code: Any = None
        if self.is_sound():
            self.code = CompiledGraph(stage(self.call, [*avals, *self.state], "circle"), None, fastmath)
        self.never, self.blanks = np.zeros(len(ways), np.int64), [nothing(v.aval) for v in self.carried]

    def is_sound(self) -> bool:
        """Whether every way leaves registers of the shapes and dtypes that it found."""
        return list(self.body.out_avals) == self.state

    def call(self, *operands: Any) -> list[Any]:
        """Bind the loop: (*constants, next way, times, *carried) → (place, times, *carried)."""
        params = {"cond": self.cond, "body": self.body, "consts": len(self.constants), "max_steps": None}
        return stands_above("loops").while_call(*operands, **params)

    def step(self, way: Way) -> Callable[..., list[Any]]:
        """Return the function of a step along a way: (*constants, times, *carried) → (next way, times, *carried)."""

        graph, number = way.graph, int(self.numbers[way])
        open_graph = Graph([*graph.inputs, *graph.captured], graph.equations, graph.outputs, {}, graph.name)

        def take(*operands: Any) -> list[Any]:
            places = len(self.constants)
            times, values = operands[places], dict(zip(self.constants, operands))
            values.update(zip(self.carried, operands[places + 1 :]))

            def value_of(atom: Any) -> Any:
                if type(atom) is Var:
                    return values[atom]
                return atom.value if type(atom) is Literal else atom

            results = open_graph(*[value_of(v) for v in open_graph.inputs])
            values.update(zip(graph.outputs, results))
            values.update({v: value_of(atom) for v, atom in way.moves})
            times = ops.update(times, ops.getitem(times, index=(number,)) + 1, index=(number,))
            return [self.decide(way.target, value_of), times, *[values[v] for v in self.carried]]

        return take

    def decide(self, target: Any, value_of: Callable[[Any], Any]) -> Any:
        """Return the number of the way that the answer to a decision leads to, or −1 − the number of the place."""
        leave = -1 - self.places.index(target)
        found: Any = np.int64(leave)
        if not hasattr(target, "question"):  # the end
            return found
        question = value_of(target.question)
        question = ops.reshape(question, shape=()) if target.question.aval.shape else question
        if target.operation == "bool()":
            one, other = (self.numbers.get(target.ways.get(answer), leave) for answer in (True, False))
            found = ops.where(ops.not_equal(question, 0), np.int64(one), np.int64(other))
        else:
            for way in target.ways.values():
                if way in self.numbers:
                    found = ops.where(ops.equal(question, way.answer), self.numbers[way], found)
        for variable in target.numbers:
            is_large = ops.greater(ops.absolute(value_of(variable)), LARGEST)
            found = ops.where(is_large, np.int64(leave), found)
        return found

    def run(self, way: Way, registers: Registers) -> Any:
        """Go round from the beginning of a way; return the decision or the end at which the loop ends, or None where
        the values of registers are not known below levels of derivatives."""
        values = [registers[v] if v in registers else self.captured[v] for v in self.constants]
        values += [self.numbers[way], self.never]
        values += [registers.get(v, blank) for v, blank in zip(self.carried, self.blanks)]
        if is_plain(values):
            place, times, *state = compute(self.code, values)
        elif all([type(known_value(v)) in PLAIN for v in values]):
            place, times, *state = self.call(*values)
        else:
            return None
        for one, count in zip(self.ways, known_value(times).tolist()):
            one.times += count
        registers.update(zip(self.carried, state))
        return self.places[-1 - int(known_value(place))]

    def is_fast(self) -> bool:
        """Whether the loop can be machine code."""
        return stands_above("recurrence").is_compilable(self.cond, self.body, len(self.constants))


def compute(code: CompiledGraph, values: list[Any]) -> Sequence[Any]:
    """The results of a compiled Graph."""
    if code.plain is None or not is_plain(values):
        return code.code_for(values)(*values)
    function = code.code
    if function is None:
        code.pause -= 1
        function = code.plain if code.pause > 0 else code.choose_code()
    try:
        return function(*values)
    except KERNEL_ERRORS as error:
        code.raise_with_location(error, function)


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


def read_at(place: Any) -> list[Any]:
    """Return the atoms that the program may use after a decision, or at its end."""
    atoms = [place.question, *place.registers] if hasattr(place, "question") else place.outputs
    return [atom for atom in atoms if type(atom) is Var]


def read_by(way: Way) -> list[Var]:
    """Return the registers that a way reads, and what is at its end."""
    inputs = [*way.graph.inputs, *way.graph.captured]
    made = {*way.graph.outputs, *[v for v, _ in way.moves]}
    atoms = [*[atom for _, atom in way.moves], *read_at(way.target)]
    return [*inputs, *[v for v in atoms if type(v) is Var and v not in made]]


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


def find_circle(way: Way, captured: dict[Var, Any], fastmath: bool) -> Circle | None:
    """Return the loop of all ways that lie on circles with one, or None."""
    ways = reached_from(way)
    inside = {way.node}
    while grown := {w.node for w in ways if w.target in inside} - inside:
        inside |= grown
    ways = [w for w in ways if w.node in inside and w.target in inside]
    if way not in ways or not can_be_inside(way):
        return None
    found = Circle(ways, captured, fastmath)
    return found if found.is_sound() else None


def find_whole(start: Way, captured: dict[Var, Any], fastmath: bool) -> Circle | None:
    """Return the loop of all ways from the start on, or None where it would not be machine code."""
    ways = reached_from(start)
    if not can_be_inside(start) or len(ways) == 1:
        return None
    found = Circle(ways, captured, fastmath)
    return found if found.is_sound() and found.is_fast() else None


def can_be_inside(way: Way) -> bool:
    """Whether a way can be taken without Python: it has no effect, and its answer is a truth or an integer."""
    is_exact = way.node is None or np.asarray(way.answer).dtype.kind in "biu"
    return is_exact and not way.graph.acts
