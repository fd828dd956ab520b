"""Recomputation: a value that takes few steps of arithmetic is computed again where a later loop reads it.

    u = x − mean               u = x − mean
    v = sum(u · u)      →      v = sum(u · u)        one loop reads x
    y = u · scale(v)           w = x − mean
                               y = w · scale(v)      the next one reads x again, and nothing has written u

If one loop over large arrays reads what another reduces, it must wait for it. A value that is computed in one and
read in the other would be written to memory and read back, which takes twice as much traffic as reading its operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.costs import REPEATED_ENTRIES, REPEATED_STEPS
from ..core.graph import Equation, Graph, Literal, Var
from ..kernels.native import engine
from ..kernels.space import REDUCTIONS

CHEAP = frozenset(
    {"absolute", "add", "convert", "divide", "multiply", "negative", "square", "subtract", "unit_vector"}
)


def repeat_cheap_steps(graph: Graph) -> Graph:
    """Return the Graph in which cheap values are computed in every loop that reads them. Without machine code, loops
    are NumPy's, and to repeat a step costs more than to keep what it gives."""
    if engine.mode() == "never" or sum(is_reduction(e) for e in graph.equations) < 2:
        return graph
    return Repetition(graph).run()


def are_cheap(steps: Sequence[Equation]) -> bool:
    """Whether it takes less time to carry out equations again than to write and read what they give."""
    return len(steps) <= REPEATED_STEPS and all(e.primitive.computes in CHEAP for e in steps)


def is_reduction(e: Equation) -> bool:
    return e.primitive.computes in REDUCTIONS and e.inputs[0].aval.size > REPEATED_ENTRIES


class Repetition:
    """A Graph on its way to another. The loop of an equation is the number of reductions that it waits for, one after
    the other."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.makers = {e.outputs[0]: e for e in graph.equations if len(e.outputs) == 1}
        self.loops: dict[Any, int] = {}  # of the equation that makes a variable
        self.copies: dict[tuple[Any, int], Any] = {}
        self.equations: list[Equation] = []

    def run(self) -> Graph:
        """Take the equations in their order."""
        for e in self.graph.equations:
            loop = max([self.known_in(a) for a in e.inputs], default=0)
            for v in e.outputs:
                self.loops[v] = loop
            inputs = [self.stand_in(a, loop) for a in e.inputs] if self.is_large(e) else e.inputs
            self.equations.append(Equation(e.primitive, inputs, e.outputs, e.params, e.site, e.quiet))
        graph = self.graph
        if not self.copies:
            return graph
        return Graph(graph.inputs, self.equations, graph.outputs, graph.captured, graph.name).prune()

    def known_in(self, atom: Any) -> int:
        """The first loop that can read a value."""
        e = None if type(atom) is Literal else self.makers.get(atom)
        return self.loops.get(atom, 0) + (e is not None and is_reduction(e)) if type(atom) is Var else 0

    def is_large(self, e: Equation) -> bool:
        """Whether an equation is part of a loop."""
        return is_reduction(e) or (e.primitive.entrywise and e.outputs[0].aval.size > REPEATED_ENTRIES)

    def stand_in(self, atom: Any, loop: int) -> Any:
        """Return the variable that a loop reads in the place of one: a copy if it is made in an earlier loop."""
        if type(atom) is Literal or atom not in self.makers or self.loops[atom] == loop:
            return atom
        steps = list(self.find_steps(atom, self.makers[atom].outputs[0].aval.shape))
        if not steps or not are_cheap(steps):
            return atom
        return self.copy(atom, loop, {e.outputs[0] for e in steps})

    def find_steps(self, atom: Any, shape: tuple[int, ...]) -> Iterator[Equation]:
        """Generate the entrywise equations of a shape that a value is made by."""
        e = None if type(atom) is Literal else self.makers.get(atom)
        if e is not None and e.primitive.entrywise and e.outputs[0].aval.shape == shape:
            yield e
            for a in e.inputs:
                yield from self.find_steps(a, shape)

    def copy(self, atom: Any, loop: int, inside: set[Any]) -> Any:
        """Return the variable of a copy in a loop, made of copies of those `inside`."""
        if type(atom) is Literal or atom not in inside:
            return atom
        if (atom, loop) not in self.copies:
            e = self.makers[atom]
            made = self.copies[atom, loop] = Var(atom.aval)
            inputs = [self.copy(a, loop, inside) for a in e.inputs]
            self.equations.append(Equation(e.primitive, inputs, [made], e.params, e.site, True))
        return self.copies[atom, loop]
