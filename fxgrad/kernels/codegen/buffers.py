"""Buffers of loops: steps write into rows of the stacks that they fill, and into arrays that are allocated once.

    v3 = x0.dot(x1)              v3 = x0.dot(x1, y0)
    v4 = add(v3, x2, v3)         v4 = add(v3, x2, y0)
    v5 = tanh(v4, v4)            v5 = tanh(v4, y0)
    ys0[i] = v5

A plan maps variables of the body to the names of the arrays into which they are computed. Every call of the loop makes
its own plan, so that calls do not interfere, and frees everything but the results.

A value keeps its memory until nothing reads it any more, also through views. A new carry is written beside the old one,
which the step still reads; the two buffers are swapped after the step. If a step returns the old carry itself, there is
no such pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.aval import Aval
from ...core.graph import Equation, Graph, Literal, Var
from .direct import makes_memory, takes_buffer


class BufferPlan(NamedTuple):
    """The plan of the buffers of a loop. `places` maps variables to the names of the arrays into which they are
    computed: `y0` is a row of stack 0, all others have their avals in `arrays`. The arrays of a pair in `pairs` are
    swapped after every step."""

    places: dict[Var, str]
    arrays: dict[str, Aval]
    pairs: list[tuple[str, str]]


def plan_buffers(body: Graph, state: Sequence[Var], carry: Sequence[Var], rows: Sequence[Var]) -> BufferPlan:
    """Plan the buffers of a loop whose step computes the next values `carry` of the variables `state`, and `rows`."""
    planner = BufferPlanner(body, carry, rows)
    planner.place_rows(rows)
    planner.place_carries(state)
    planner.place_operands()
    planner.lend_arrays()
    return planner.plan


class BufferPlanner:
    """The planner of the buffers of a loop: the properties of the variables of a step, and the plan so far.

    `makers` are those whose equations can be told where to write, `last` the equations that read a variable, or a view
    of it, last, and `kept` those that a program of the user's is shown.
    """

    def __init__(self, body: Graph, carry: Sequence[Var], rows: Sequence[Var]):
        self.body, self.carry = body, tuple(carry)
        self.views = find_views(body)
        self.last = find_last_reads(body, self.views, {*carry, *rows})
        self.kept = find_shown(body)
        self.makers = {e.outputs[0] for e in body.equations if takes_buffer(e)}
        self.plan = BufferPlan({}, {}, [])

    def may_place(self, var: Var) -> bool:
        """Whether a variable may be written to a given place: it is not kept, and the next step has no view of it."""
        if var not in self.makers or var in self.plan.places or var in self.kept:
            return False
        return not any(view in self.carry for view in self.views[var] if view is not var)

    def add_array(self, aval: Aval) -> str:
        name = f"w{len(self.plan.arrays)}"
        self.plan.arrays[name] = aval
        return name

    def place_rows(self, rows: Sequence[Var]) -> None:
        """Place rows of stacks in the stacks."""
        for k, row in enumerate(rows):
            if self.may_place(row):
                self.plan.places[row] = f"y{k}"

    def place_carries(self, state: Sequence[Var]) -> None:
        """Place each new carry beside the old one, unless the old one is returned."""
        for var in dict.fromkeys(self.carry):
            olds = [s for s, new in zip(state, self.carry) if new is var]
            fixed = all(self.views[s].isdisjoint(self.carry) for s in olds)
            if olds and fixed and self.may_place(var):
                pair = self.add_array(var.aval), self.add_array(var.aval)
                self.plan.pairs.append(pair)
                self.plan.places[var] = pair[0]

    def overwritten(self, equation: Equation, index: int) -> list[Var]:
        """Return the operands that nothing reads afterwards, if the result may be written over them."""
        if type(equation.primitive.kernel) is not np.ufunc:
            return []
        aval = equation.outputs[0].aval
        dying = [a for a in equation.inputs if a in self.makers and self.last.get(a) == index]
        return [v for v in dying if v.aval == aval and v not in self.kept]

    def place_operands(self) -> None:
        """Place an operand of a placed variable in the same array, if it may be overwritten."""
        places = self.plan.places
        for index, equation in reversed([*enumerate(self.body.equations)]):
            if equation.outputs and equation.outputs[0] in places:
                free = [v for v in self.overwritten(equation, index) if v not in places]
                places.update(dict.fromkeys(free[:1], places[equation.outputs[0]]))

    def lend_arrays(self) -> None:
        """Place all other variables in arrays of the loop, for as long as they are read."""
        free: dict[Aval, list[str]] = {}
        lent: dict[Var, str] = {}
        for index, equation in enumerate(self.body.equations):
            over = self.overwritten(equation, index)
            ending = [v for v in dict.fromkeys(equation.inputs) if v in lent and self.last[v] == index]
            for v in ending:
                if v in over:
                    free.setdefault(v.aval, []).append(lent.pop(v))
            for var in equation.outputs[:1]:
                if var in self.last and self.may_place(var):
                    names = free.get(var.aval)
                    lent[var] = self.plan.places[var] = names.pop() if names else self.add_array(var.aval)
            for v in ending:
                if v in lent:
                    free.setdefault(v.aval, []).append(lent.pop(v))


def find_views(body: Graph) -> dict[Var, set[Var]]:
    """Find for every variable those that may be views of it, including itself."""
    views = {v: {v} for v in (*body.captured, *body.inputs)}
    for equation in reversed(body.equations):
        for var in equation.outputs:
            views.setdefault(var, {var})
        if not makes_memory(equation):
            found = {w for var in equation.outputs for w in views[var]}
            for a in equation.inputs:
                if type(a) is not Literal:
                    views.setdefault(a, {a}).update(found)
    return views


def find_last_reads(body: Graph, views: dict[Var, set[Var]], outputs: set[Var]) -> dict[Var, int]:
    """Find for variables the last equation that reads each, or a view of it, except for those read after the step."""
    reads = {a: index for index, e in enumerate(body.equations) for a in e.inputs if type(a) is not Literal}
    made = {v: index for index, e in enumerate(body.equations) for v in e.outputs}
    return {
        v: max(reads.get(w, made.get(w, -1)) for w in shown)
        for v, shown in views.items()
        if outputs.isdisjoint(shown)
    }


def find_shown(body: Graph) -> set[Var]:
    """Return the variables that user code sees, and may keep."""
    seen: set[Var] = set()
    for equation in reversed(body.equations):
        primitive = equation.primitive
        hands_out = primitive.errors_are_users or equation.effectful
        if hands_out or (not makes_memory(equation) and not seen.isdisjoint(equation.outputs)):
            seen.update(a for a in equation.inputs if type(a) is not Literal)
    return seen
