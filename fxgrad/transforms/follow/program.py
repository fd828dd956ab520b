"""Programs that `jit(control="follow")` has learned: segments of compiled code between decisions.

A `Program` is an automaton. A *node* is a decision: Python asked for the value of a traced number, and goes on as the
answer says. A *way* leads from an answer to the next decision, or to the end: a Graph, compiled, that reads and writes
registers, which are named by the variables of the Graphs. A way that leads to a decision in a state that is known
ends at its node, after *moves* that put the traced values of this path where those of the known one are. So loops of
Python become circles, and branches meet again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from ...core import pytree
from ...core.costs import FOLLOWED_TURNS
from ...core.errors import TooManyPathsError, UnsupportedError
from ...core.graph import Equation, Graph, Var
from ...core.interpreter import decide, is_plain
from ...core.snapshot import Snapshots
from ...core.surface import release_all
from ..arguments import unshare_results
from ..compiled_graph import CompiledGraph
from .automaton import LARGEST, Registers, value_of
from .circles import Circle, Whole, are_known, find_circle, find_whole
from .state import Names, State


class End:
    """The end of a program: the atoms and the structure of its results."""

    __slots__ = ("outputs", "plain_structure", "structure")

    def __init__(self, outputs: Sequence[Any], structure: Any):
        self.outputs, self.structure = outputs, structure
        self.plain_structure: Any = None  # for values of NumPy, which need no boxes to be written into

    def unflatten(self, results: Sequence[Any], plain: bool) -> Any:
        """Return the result of the program."""
        if not plain:
            return pytree.unflatten(self.structure, release_all(results))
        if self.plain_structure is None:
            tree = pytree.unflatten(self.structure, results)
            self.plain_structure = pytree.structure(tree)
            return tree
        return self.plain_structure.unflatten(results)


class Node:
    """A decision: Python asks for the value of `question` by `operation` (`bool()`, `int()`, …) at `site`.

    `state` is that of the program, `changing` has the names of numbers whose values are registers, and `registers` are
    those of the state, `numbers` among them integers in the place of Python's. `parent` is the way that led here first.
    """

    __slots__ = (
        "changing",
        "numbers",
        "operation",
        "parent",
        "question",
        "registers",
        "site",
        "state",
        "ways",
    )

    def __init__(self, question: Any, operation: str, site: Any, state: State, changing: Names, parent: Way):
        self.question, self.operation, self.site = question, operation, site
        self.state, self.changing, self.parent = state, changing, parent
        self.registers: list[Var] = []
        self.numbers: list[Var] = []
        self.ways: dict[Hashable, Way] = {}

    def moves_from(self, question: Var, state: State) -> list[tuple[Var, Any]]:
        """The moves to the registers here from a question and the values of its state, which is the one here."""
        pairs = zip([self.question, *self.registers], [question, *state.slots(self.changing)])
        return list({v: (v, atom) for v, atom in pairs if v is not atom}.values())

    def check_numbers(self, registers: Registers) -> None:
        """Check that traced integers in the place of Python's are far from where they would wrap around."""
        for variable in self.numbers:
            value = registers[variable]
            if is_plain((value,)) and abs(value) > LARGEST:
                raise UnsupportedError(
                    f"an integer of Python that changes in a loop has grown to {value!r}: a traced one wraps around",
                    hint="a float, or fx.jit without control",
                    site=self.site,
                )


class Way:
    """What is computed after the answer to a decision (at first: after the start), up to the next one."""

    __slots__ = (
        "answer",
        "circle",
        "code",
        "equations",
        "graph",
        "moves",
        "node",
        "target",
        "times",
        "turns",
    )

    def __init__(self, node: Node | None, answer: Any, graph: Graph, fastmath: bool):
        self.node, self.answer, self.graph = node, answer, graph
        self.code = CompiledGraph(graph, None, fastmath) if graph.equations else None
        self.target: Node | End | None = None
        self.moves: list[tuple[Var, Any]] = []
        self.times = 0
        self.turns = 0  # since the ways around it have changed
        self.circle: Circle | None = None

    def run(self, registers: Registers) -> None:
        """Compute from registers into registers."""
        self.times += 1
        if self.code is not None:
            values = [registers[v] for v in self.graph.inputs]
            results = self.code.compute(values)
            for variable, result in zip(self.graph.outputs, results):
                registers[variable] = result

    def move(self, registers: Registers, captured: dict[Var, Any]) -> None:
        """Put the traced values of this path where those of the target's are."""
        if self.moves:
            values = [value_of(atom, registers, captured) for _, atom in self.moves]
            for (variable, _), value in zip(self.moves, values):
                registers[variable] = value
        if type(self.target) is Node:
            self.target.check_numbers(registers)


def read_answer(operation: str, value: Any) -> Hashable:
    """What Python's decision depends on: the truth, or the number itself."""
    if operation == "bool()":
        return bool(value)
    number = np.asarray(value).item()
    return number if type(number) is int else (type(number), repr(number))


class Program:
    """What is known of a function for arguments of one kind.

    Args:
        explore: stages the function along a way that is not known; see `following.explore`.
        inputs: the variables of the arguments.
        max_paths: how many ways may be staged anew.
        fastmath: as of `jit`.
    """

    guard: Any = None
    plain = True  # it takes plain values
    wrap: Callable[[Graph], Graph] = staticmethod(
        lambda graph: graph
    )  # what is done to the Graph of a segment

    def __init__(
        self, explore: Callable[..., Any], inputs: Sequence[Var], max_paths: int, fastmath: bool, name: str
    ):
        self.explore, self.inputs, self.max_paths, self.fastmath = explore, inputs, max_paths, fastmath
        self.name = name
        self.start: Way | None = None
        self.nodes: dict[Hashable, Node] = {}
        # Of nodes with changing numbers, by where the frames stand.
        self.places: dict[Hashable, set[Names]] = {}
        self.captured: dict[Var, Any] = {}
        self.captured_vars: dict[int, Var] = {}
        self.snapshot = Snapshots()
        self.paths = 0
        self.calls = 0  # since the ways have changed
        self.whole: Whole | None = None
        self.joins = True  # whether the first rounds of loops are among the others there
        self.lock = threading.RLock()

    def run(self, leaves: Sequence[Any], plain: bool) -> Any:
        """The result for flat arguments; `plain` says whether they are values of NumPy."""
        if self.whole is None:
            self.calls += 1
            if self.calls == FOLLOWED_TURNS and self.start is not None:
                with self.lock:
                    self.whole = find_whole(self)
        whole = self.whole if plain or are_known(leaves) else None
        if whole is not None:
            found = whole.run(leaves, plain)
            if found is not NotImplemented:
                return found
        registers: Registers = dict(zip(self.inputs, leaves))
        way = self.start
        target = self.learn(None, None, None, registers) if way is None else None
        while True:
            if way is not None:
                way.run(registers)
                way.move(registers, self.captured)
                target = way.target
            if isinstance(target, End):
                if whole is not None and whole is self.whole:  # nothing is new: joined, the ways knew less
                    self.dissolve(joins=False)
                return self.finish(target, registers, leaves)
            node = cast(Node, target)
            value = decide(value_of(node.question, registers, self.captured), node.operation)
            answer = read_answer(node.operation, value)
            way = node.ways.get(answer)
            if way is None:
                target = self.learn(node, answer, value, registers)
                continue
            way.turns += 1
            if way.turns == FOLLOWED_TURNS:
                self.close_circle(way)
            if way.circle is not None and (found := self.go_round(way, registers)) is not None:
                target, way = found, None

    def go_round(self, way: Way, registers: Registers) -> Node | End | None:
        """Take a way and those after it by the loop that it is in; return where that ends, or None if it cannot."""
        assert way.circle is not None
        target = way.circle.run(way, registers)
        if type(target) is Node:
            target.check_numbers(registers)
        return target

    def close_circle(self, way: Way) -> None:
        """Compile the ways on circles with one that is taken often."""
        with self.lock:
            found = find_circle(way, self.captured, self.fastmath)
            for one in () if found is None else found.ways:
                one.circle = found

    def learn(self, node: Node | None, answer: Hashable, value: Any, registers: Registers) -> Node | End:
        """Stage what follows an answer, and compute it; return where that leads."""
        with self.lock:
            way = self.start if node is None else node.ways.get(answer)
            if way is None:  # and no other thread has learned it meanwhile
                if self.paths == self.max_paths:
                    raise self.error_of_paths()
                known = sum(1 for _ in self.ways())
                try:
                    return self.explore(self, node, value, registers)
                finally:
                    if sum(1 for _ in self.ways()) > known:  # where it has not raised before
                        self.paths += 1
                        self.dissolve()
        way.run(registers)
        way.move(registers, self.captured)
        assert way.target is not None
        return way.target

    def dissolve(self, joins: bool = True) -> None:
        """Forget what is compiled of several ways, which may have changed."""
        with self.lock:
            self.settle()
            self.whole, self.joins, self.calls = None, joins, 0
            for way in self.ways():
                way.circle, way.turns = None, 0

    def settle(self) -> None:
        """Tell the ways how often they were taken."""
        if self.whole is not None:
            self.whole.settle()

    def find(self, state: State) -> Node | None:
        """The node of a state, if it is known."""
        if not state.is_complete:
            return None
        return self.nodes.get(state.key()) or self.find_general(state)

    def find_general(self, state: State) -> Node | None:
        """The node of a state in which numbers are registers."""
        large = {n for n, value in state.numbers.items() if type(value) is int and abs(value) > LARGEST}
        for changing in self.places.get(state.place, ()):
            if changing <= state.writers.keys() - large:
                found = self.nodes.get(state.key(changing))
                if found is not None:
                    return found
        return None

    def general_target(self, way: Way) -> tuple[Node | End | None, Sequence[tuple[Var, Any]]]:
        """The place to which a way leads, and the moves there. A decision that has registers for numbers stands for one
        that knows them, if as many answers to it are known."""
        node = way.target
        if not self.joins or type(node) is not Node or node.changing or not node.state.is_complete:
            return node, way.moves
        found = self.find_general(node.state)
        if found is None or not node.ways.keys() <= found.ways.keys():
            return node, way.moves
        moved = dict(way.moves)
        moves = {v: moved.get(atom, atom) for v, atom in found.moves_from(node.question, node.state)}
        return found, [*{**moved, **moves}.items()]

    def enter(self, node: Node) -> None:
        """Make a node known by its state."""
        if node.state.is_complete:
            self.nodes[node.state.key(node.changing)] = node
            if node.changing:
                self.places.setdefault(node.state.place, set()).add(node.changing)

    def finish(self, end: End, registers: Registers, leaves: Sequence[Any]) -> Any:
        """The result of the program."""
        results = [value_of(atom, registers, self.captured) for atom in end.outputs]
        plain = is_plain(results)
        if plain:
            results = unshare_results(results, [*leaves, *self.captured.values()])
        return end.unflatten(results, plain)

    def ways(self) -> Iterator[Way]:
        """All ways, from the start on."""
        pending, seen = [self.start], set()
        while pending:
            way = pending.pop()
            if way is not None and id(way) not in seen:
                seen.add(id(way))
                yield way
                if type(way.target) is Node:
                    pending += reversed(way.target.ways.values())

    def error_of_paths(self) -> TooManyPathsError:
        """The error for more paths than are allowed, with the decisions and how often each way was taken."""
        self.settle()
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for way in self.ways():
            if way.node is not None:
                answers = counts.setdefault((str(way.node.site), way.node.operation), {})
                text = repr(np.asarray(way.answer).item())
                answers[text] = answers.get(text, 0) + way.times
        lines = [
            f"  {site}: {operation} was "
            + ", ".join(f"{answer} {times}×" for answer, times in [*answers.items()][:6])
            + (f" and {len(answers) - 6} others" if len(answers) > 6 else "")
            for (site, operation), answers in counts.items()
        ]
        return TooManyPathsError(
            f"{self.name} has taken more than max_paths={self.max_paths} ways, of which each is staged:\n"
            + "\n".join(lines[:12]),
            hint="fnp.where or fx.lax.cond in place of an `if` on values; a `while` loop or fx.lax.fori_loop in "
            "place of a list that grows; max_paths= for more",
        )


def segment(
    equations: Sequence[Equation], outputs: Sequence[Var], captured: dict[Var, Any], name: str
) -> Graph:
    """The Graph of some equations of a program: its inputs are the variables that they read from before."""
    made = {v for equation in equations for v in equation.outputs}
    read = dict.fromkeys(v for e in equations for v in e.inputs if type(v) is Var)
    inputs = [v for v in read if v not in made and v not in captured]
    graph = Graph(inputs, equations, outputs, captured, name).prune()
    used = {v for e in graph.equations for v in e.inputs if type(v) is Var}
    return Graph([v for v in inputs if v in used], graph.equations, graph.outputs, graph.captured, name)
