"""Staging along the way that Python takes: the interpreter of `jit(control="follow")`."""

from __future__ import annotations

import itertools
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...core import source_info
from ...core.aval import aval_of
from ...core.errors import ImpureFunctionError
from ...core.graph import Equation, Graph, Literal, Var
from ...core.interpreter import CURRENT, decide, opened, use_context
from ...core.key import key_of
from ...core.snapshot import has_same_bytes
from ...core.staging import (
    GraphInterpreter,
    GraphTracer,
    drawn_numbers,
    stages_effects,
    warn_of_frozen_numbers,
)
from ..flat_function import FlatFunction
from .automaton import LARGEST, Registers, value_of
from .namespace import Follower
from .program import End, Node, Program, Way, read_answer, segment
from .stack import asks_once, enters
from .state import Names, State

ASKING = tuple(
    os.path.join("fxgrad", *path.split("/"))
    for path in (
        *("core/interpreter.py", "numpy/methods.py", "ops/operators.py"),
        *("transforms/follow/following.py", "transforms/follow/namespace.py"),
    )
)  # files with the functions by which Python asks a tracer
MOST_DECISIONS = 5_000  # decisions of one path that lead to new states


EQUALITIES = ("equal", "not_equal")
DIVISIONS = ("divide", "floor_divide", "remainder", "divmod")  # which Python does not carry out for zero
GROWING = {
    "power": operator.pow,
    "left_shift": operator.lshift,
}  # whose results may be of another kind, or large, as the second operand says


class Register:
    """What all tracers of one variable share: it lives as long as the program can use the value."""

    __slots__ = ("__weakref__",)


class FollowTracer(GraphTracer):
    """A staged value whose value is known when Python asks for it."""

    __slots__ = ("bounds", "register")
    is_followed = True
    interpreter: Any
    item: Any  # attached, with the other members of arrays

    def decide(self, operation: str) -> Any:
        return self.interpreter.decide(self, operation)

    @property
    def __class__(self) -> Any:
        """That of the number in whose place it is, which `isinstance` asks for."""
        if not self.is_number:
            return type(self)
        return int if self.dtype.kind in "iu" else float

    @property
    def is_number(self) -> bool:
        return type(self) is FollowTracer and self.variable in self.interpreter.promoted

    def __hash__(self) -> int:
        if not self.is_number:
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash(self.item())


class Arrived(BaseException):
    """Raised where the program is in a state that is known. Not an Exception, which the user's code might catch."""


class FollowInterpreter(GraphInterpreter):
    """The interpreter that stages segments, runs each when Python asks for a value, and goes on as the value says.

    Up to the way that is to be learned, it walks along `known`, the ways from the start on: what is staged there is
    compared with what was staged before.
    """

    __slots__ = (
        "arrived",
        "base",
        "current",
        "follower",
        "known",
        "live",
        "new_nodes",
        "program",
        "promoted",
        "registers",
    )

    def __init__(
        self, program: Program, known: Sequence[Way], last: tuple[Node | None, Any], registers: Registers
    ):
        super().__init__(None, f"jit of {program.name}", stage_effects=True)
        self.program, self.known, self.current, self.registers = program, [*known], last, registers
        self.base: types.FrameType | None = None
        self.follower = Follower()
        self.live: dict[Var, weakref.ref[Register]] = {}
        self.arrived: Node | None = None
        self.new_nodes = 0
        self.promoted: set[Var] = (
            set()
        )  # numbers of Python's that are traced, and what is computed of them alone

    def trace(self, var: Var) -> FollowTracer:
        """Return a tracer of a variable."""
        tracer = FollowTracer(self, var)
        tracer.register = Register()
        self.live[var] = weakref.ref(tracer.register)
        return tracer

    def variable_of(self, value: Any) -> Var | None:
        """The variable of a tracer of this interpreter."""
        return value.variable if type(value) is FollowTracer and value.interpreter is self else None

    # -- operations ----------------------------------------------------------------------------------------------
    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.arrived is not None:
            raise Arrived
        is_of_numbers = all(map(self.is_number, args))
        if is_of_numbers and primitive.name in DIVISIONS and type(args[1]) is FollowTracer and args[1] == 0:
            raise ZeroDivisionError("division by zero")
        if is_of_numbers and primitive.name in GROWING and type(args[1]) is FollowTracer:
            return GROWING[primitive.name](*[a.item() if type(a) is FollowTracer else a for a in args])
        place = len(self.equations)
        results = super().process(primitive, args, params)
        if self.known and len(self.equations) > place:
            self.replay(place, results if primitive.multiple_results else [results])
        if is_of_numbers and len(self.equations) > place:
            self.promoted.update(self.equations[place].outputs)
        return results

    def is_number(self, value: Any) -> bool:
        """Whether Python, without this interpreter, would have a number of its own."""
        return type(value) in (int, float) or self.variable_of(value) in self.promoted

    def replay(self, place: int, results: Sequence[Any]) -> None:
        """Put the known equation in the place of the last one, which must be the same."""
        equation, known = self.equations[place], self.known[0].equations
        if place >= len(known) or not self.is_same(equation, known[place]):
            raise self.impure(equation.site)
        self.equations[place] = known[place]
        for result, variable in zip(results, known[place].outputs):
            if type(result) is FollowTracer:
                self.live[variable] = self.live.pop(result.variable)
                result.variable = variable

    def is_same(self, one: Equation, other: Equation) -> bool:
        """Whether equations compute the same from the same."""
        if one.primitive is not other.primitive or len(one.inputs) != len(other.inputs):
            return False
        if one.params != other.params and not same_params(one.params, other.params):
            return False
        return all(map(self.is_same_atom, one.inputs, other.inputs))

    def is_same_atom(self, one: Any, other: Any) -> bool:
        if type(one) is Literal or type(other) is Literal:
            return type(one) is type(other) and key_of(one.value) == key_of(other.value)
        if one is other:
            return True
        found = self.program.captured.get(one), self.program.captured.get(other)
        return all(type(v) is np.ndarray for v in found) and has_same_bytes(*found)

    def impure(self, site: Any) -> ImpureFunctionError:
        """The error for a function that does not do the same when it is run again."""
        return ImpureFunctionError(
            f"{self.program.name} does not compute the same when it is run again with the same decisions",
            hint="make what it depends on (a clock, a global that changes, np.random) an argument, or draw from "
            "fx.random with a key",
            site=site,
        )

    # -- decisions -----------------------------------------------------------------------------------------------
    def decide(self, tracer: FollowTracer, operation: str) -> Any:
        """The value of a traced number, by which Python goes on."""
        if self.arrived is not None:
            raise Arrived
        if tracer.size != 1:
            GraphTracer.concretize(tracer, operation)
        site = source_info.user_frame()
        if self.known:
            return self.repeat(tracer.variable, operation, site)
        way = self.close([tracer.variable])
        last = way.equations[-1] if way.equations else None
        is_equality = last is None or tracer.variable not in last.outputs or last.primitive.name in EQUALITIES
        state = self.read_state(tracer.variable, is_equality)
        node = self.program.find(state)
        if node is not None:
            way.moves = node.moves_from(tracer.variable, state)
            self.arrive(way, node)
            self.arrived = node
            raise Arrived
        self.new_nodes += 1
        if self.new_nodes > MOST_DECISIONS:
            raise self.program.error_of_paths()
        node = self.make_node(way, tracer.variable, operation, site, state)
        self.arrive(way, node)
        self.program.enter(node)
        self.write_numbers(node, state)
        state.writers = dict.fromkeys(state.writers)  # which hold frames and iterators
        value = self.value_of(tracer.variable)
        with use_context(self.outer):
            value = decide(value, operation)
        self.current = node, value
        return value

    def value_of(self, atom: Any) -> Any:
        return value_of(atom, self.registers, self.program.captured)

    def repeat(self, question: Var, operation: str, site: Any) -> Any:
        """Answer a decision of the known path as it was answered before."""
        way, node = self.known.pop(0), None
        node = way.target
        expected = len(way.equations)
        if type(node) is not Node or node.question is not question or len(self.equations) != expected:
            raise self.impure(site)
        self.equations = []
        self.write_numbers(node, None)
        return self.known[0].answer if self.known else self.current[1]

    def close(self, outputs: Sequence[Any]) -> Way:
        """End the segment: compile it, and run it with the values of this call."""
        program, (node, answer) = self.program, self.current
        live = [v for v, register in self.live.items() if register() is not None]
        made = {v for equation in self.equations for v in equation.outputs}
        wanted = dict.fromkeys(v for v in (*live, *outputs) if v in made)
        graph = program.wrap(segment(self.equations, [*wanted], program.captured, program.name))
        way = Way(node, answer, graph, program.fastmath)
        way.equations, self.equations = self.equations, []
        with use_context(self.outer):
            way.run(self.registers)
        return way

    def arrive(self, way: Way, target: Node | End) -> None:
        """Make a way known that leads to a target."""
        program = self.program
        way.target = target
        with use_context(self.outer):
            way.move(self.registers, program.captured)
        if way.node is None:
            program.start = way
        else:
            way.node.ways[read_answer(way.node.operation, way.answer)] = way

    def read_state(self, question: Var, is_equality: bool = True) -> State:
        """The state of the program when it asks a question. It is incomplete if the program holds other values that
        cannot be reached."""
        frames, asking = self.frames()
        state = State(frames, self.variable_of, self.follower.running())
        if CURRENT.get().interpreter is not self or not is_straight(frames, asking, is_equality):
            state.is_complete = False
        hidden = {v for v, register in self.live.items() if register() is not None} - state.variables()
        hidden -= {question, *self.program.inputs}  # which the frames outside of the program hold, too
        if hidden:
            state.is_complete = False
        return state

    def frames(self) -> tuple[list[types.FrameType], types.CodeType | None]:
        """The frames of the program, from the outermost on, and the code by which a tracer asks. (Frames of that would
        refer to themselves.)"""
        frame: Any = sys._getframe(1)
        found = []
        while frame is not None and frame is not self.base:
            found.append(frame)
            frame = frame.f_back
        found.reverse()
        count = len(found)
        while count and found[count - 1].f_code.co_filename.endswith(ASKING):
            count -= 1
        return found[:count], found[count].f_code if count < len(found) else None

    def make_node(self, way: Way, question: Any, operation: str, site: Any, state: State) -> Node:
        """Make the node of a new state. Numbers by which it alone differs from the two states before it at the same
        place are values from here on."""
        changing = self.changing_numbers(way, state)
        node = Node(question, operation, site, state, changing, way)
        held = state.slots(changing)
        fixed = held[: len(held) - len(changing)]
        fresh = [Var(aval_of(self.value_of(atom))) for atom in held[len(fixed) :]]
        alive = (
            () if state.is_complete else [v for v, register in self.live.items() if register() is not None]
        )
        node.registers = list(dict.fromkeys([*fixed, *alive])) + fresh
        node.numbers = [
            v for v in (*fixed, *fresh) if v in self.promoted.union(fresh) and v.aval.dtype.kind == "i"
        ]
        way.moves = [*zip(fresh, held[len(fixed) :])]
        return node

    def changing_numbers(self, way: Way, state: State) -> Names:
        """The names of numbers that change each time the program comes here: those that count, by equal steps, and
        floats. Other integers may outgrow the traced ones."""
        changing: Names = frozenset()
        before: list[State] = []
        node = way.node
        while node is not None and state.is_complete and len(before) < 2:
            if node.state.place == state.place and node.state.is_complete:
                names = state.differences(node.state)
                if names is None:
                    return frozenset()
                changing |= names
                before.append(node.state)
            node = node.parent.node
        if len(before) < 2:
            return frozenset()
        for name in changing:
            last, middle, first = values = [s.numbers.get(name, 1.5) for s in (state, *before)]
            if {*map(type, values)} == {float}:
                continue
            if float in map(type, values) or last - middle != middle - first or abs(last) > LARGEST:
                return frozenset()
        return changing

    def write_numbers(self, node: Node, state: State | None) -> None:
        """Put traced values in the place of the numbers that change."""
        if node.changing:
            state = state or self.read_state(node.question)
            fresh = iter(node.registers[len(node.registers) - len(node.changing) :])
            for name in state.names:
                if name in node.changing:
                    variable = next(fresh)
                    self.promoted.add(variable)
                    write = state.writers[name]
                    assert write is not None
                    write(self.trace(variable))


def is_straight(frames: Sequence[types.FrameType], asking: types.CodeType | None, is_equality: bool) -> bool:
    """Whether each frame has entered the next by itself, and the last one asks once. See `asks_once`."""
    if not frames or asking is None:
        return False
    if not (asks_once(frames[-1], is_equality) or enters(frames[-1], asking)):
        return False
    return all(enters(frame, inner.f_code) for frame, inner in itertools.pairwise(frames))


def same_params(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the params of two equations are the same, as far as that can be told: Graphs are staged anew."""
    if one.keys() != other.keys():
        return False
    return all(key_of(one[name]) == key_of(other[name]) for name in one if not has_programs(one[name]))


def has_programs(value: Any) -> bool:
    """Whether a param is a Graph, a function, or a sequence of these."""
    if isinstance(value, (tuple, list)):
        return any(map(has_programs, value))
    return isinstance(value, Graph) or callable(value)


def explore(
    call: Callable[..., Any],
    structure: Any,
    program: Program,
    node: Node | None,
    value: Any,
    registers: Registers,
) -> Node | End:
    """Run the function along the known ways to a decision, and on along the way of this answer; return where that
    leads.

    Args:
        call: the function.
        structure: that of its arguments.
        program: what is known, which grows.
        node: the decision; None for the start.
        value: the answer.
        registers: the values of this call.
    """
    known = [*path_to(node)][::-1]
    interpreter = FollowInterpreter(program, known, (node, value), registers)
    interpreter.captured, interpreter.captured_vars = program.captured, program.captured_vars
    interpreter.snapshot = program.snapshot
    followed = interpreter.follower.follow(call)

    def run(*args: Any, **kwargs: Any) -> Any:
        interpreter.base = sys._getframe()
        return followed(*args, **kwargs)

    flat = FlatFunction(run, structure, "jit", keywords=True)
    before = None if stages_effects() else drawn_numbers()
    try:
        with opened(interpreter):
            results = flat(*[interpreter.trace(v) for v in program.inputs])
            outputs = [interpreter.atom(result) for result in results]
    except Arrived:
        pass
    finally:
        interpreter.base = None
    warn_of_frozen_numbers(before, program.name)
    if interpreter.arrived is not None:
        return interpreter.arrived
    if interpreter.known:
        raise interpreter.impure(None)
    way = interpreter.close(outputs)
    end = End(outputs, flat.out_structure)
    interpreter.arrive(way, end)
    return end


def path_to(node: Node | None) -> Iterator[Way]:
    """The ways that lead to a decision from the start, the last one first."""
    while node is not None:
        yield node.parent
        node = node.parent.node
