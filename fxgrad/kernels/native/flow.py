"""Loops and branches in machine code: the values carried from step to step, and the executed blocks.

Numbers that a loop carries are in registers. A carried value in memory has two buffers: a step reads one and writes the
other, and then they are swapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...core.graph import Equation, Graph, Literal, Var
from .ir import I1, I64, Value
from .steps import (
    WRITTEN,
    Held,
    StepWriter,
    admits_graph,
    inner_graphs,
    is_held,
    is_static,
    size_in_memory,
    step_rule,
    transpose_constants,
)

NUMBERS = 400  # entries in registers that go from step to step


class Carry:
    """The values that go from step to step: `values` are the numbers and the addresses of which it consists."""

    def __init__(self, w: StepWriter, variables: Sequence[Var]):
        self.w, self.variables = w, variables

    def begin(self, values: Sequence[Held | Value]) -> list[Value]:
        """Return the values for the first step, from initial values that must not be overwritten."""
        w = self.w
        found: list[Value] = []
        for v, value in zip(self.variables, values):
            if w.is_held(v):
                found += w.load_held(value, v.aval) if isinstance(value, Value) else value
                continue
            here, there = (w.reserve(size_in_memory(v.aval)) for _ in range(2))
            if isinstance(value, Value):
                w.copy(here, value, v.aval)
            else:
                w.store_held(value, here)
            found += [here, there]
        return found

    def bind(self, values: Sequence[Value]) -> dict[Var, tuple[Value, Value]]:
        """Bind the variables to the values of a step; return the two places of those in memory."""
        w, rest = self.w, list(values)
        places: dict[Var, tuple[Value, Value]] = {}
        for v in self.variables:
            if w.is_held(v):
                w.bind(v, rest[: v.aval.size])
                del rest[: v.aval.size]
            else:
                here, there, *rest = rest
                w.bind(v, here)
                w.owned.add(v)
                places[v] = here, there
        return places

    def want(
        self, body: Graph, places: dict[Var, tuple[Value, Value]], ends: Sequence[Any]
    ) -> dict[Any, Value]:
        """Return where the next values are to be written: to the places that no step reads."""
        made = {v for e in body.equations for v in e.outputs}
        return {end: places[v][1] for v, end in zip(self.variables, ends) if v in places and end in made}

    def hand_on(self, places: dict[Var, tuple[Value, Value]], ends: Sequence[Any]) -> list[Value]:
        """Return the values for the next step."""
        w = self.w
        found: list[Value] = []
        for v, end in zip(self.variables, ends):
            if v not in places:
                found += w.entries(end)
                continue
            here, there = places[v]
            place = w.place(end)
            if place.text != here.text:
                if place.text != there.text:
                    w.copy(there, place, v.aval)
                here, there = there, here
            found += [here, there]
        return found

    def results(self, values: Sequence[Value]) -> list[Held | Value]:
        """Return the results from the values of a step."""
        rest, found = list(values), []
        for v in self.variables:
            if self.w.is_held(v):
                found.append(rest[: v.aval.size])
                del rest[: v.aval.size]
            else:
                here, _, *rest = rest
                found.append(here)
        return found


LEAST = 5  # entries of a table


def find_tables(w: StepWriter, body: Graph, variables: Sequence[Var], ends: Sequence[Any]) -> None:
    """Find the carries into which a step writes at varying indices: these lie in memory, even if they are small."""
    makers = {v: e for e in body.equations for v in e.outputs}
    for v, end in zip(variables, ends):
        chain: list[Var] = []
        while (e := makers.get(end)) is not None and e.primitive.computes in WRITTEN and not is_static(e):
            chain.append(end)
            end = e.inputs[0]
        if end is v and chain and v.aval.size >= LEAST:
            w.tables.update([v, *chain])


def work_of(*graphs: Graph) -> int:
    """Return about how many entries are computed in a step."""
    return sum(max(a.aval.size for a in (*e.inputs, *e.outputs)) for g in graphs for e in g.equations) + 1


def write_scan(
    w: StepWriter,
    body: Graph,
    constants: Sequence[Held | Value],
    state: Sequence[Held | Value],
    rows: Sequence[Value],
    stacks: Sequence[Value],
    first: Value,
    step: Value | int,
    count: Value,
) -> list[Held | Value]:
    """Write a loop over the rows number first, first + step, …, as many as `count`; return the last carry. `rows` are
    the addresses of what is read, `stacks` of what is written."""
    f = w.function
    consts, kept = len(constants), len(constants) + len(state)
    ends, ys = body.outputs[: len(state)], body.outputs[len(state) :]
    carry = Carry(w, body.inputs[consts:kept])
    find_tables(w, body, carry.variables, ends)
    for v, value in zip(body.inputs, constants):
        w.bind(v, value)
    transpose_constants(w, body, body.inputs[:consts])
    with f.loop(count, carry=carry.begin(state)) as loop:
        row = loop.index * step + first
        places = carry.bind(loop.carry)
        for v, stack in zip(body.inputs[kept:], rows):
            place = f.place(stack, row * size_in_memory(v.aval), "i8")
            w.bind(v, place)
        filled = [f.place(stack, row * size_in_memory(v.aval), "i8") for v, stack in zip(ys, stacks)]
        rows_filled = {v: place for v, place in zip(ys, filled) if type(v) is Var and not w.is_held(v)}
        w.wanted.update({**rows_filled, **carry.want(body, places, ends)})
        w.write_graph(body)
        for v, place in zip(ys, filled):
            w.put_at(place, v)
        following = carry.hand_on(places, ends)
        w.poll(work_of(body))
        loop.update(*following)
    return carry.results(loop.carry)


def write_while(
    w: StepWriter,
    cond: Graph,
    body: Graph,
    constants: Sequence[Held | Value],
    state: Sequence[Held | Value],
    most: int | Value | None,
) -> list[Held | Value]:
    """Write a loop that goes on while `cond` holds, for `most` steps at most; return the last carry."""
    f = w.function
    consts = len(constants)
    carry = Carry(w, body.inputs[consts:])
    find_tables(w, body, carry.variables, body.outputs)
    for graph in (cond, body):
        for v, value in zip(graph.inputs, constants):
            w.bind(v, value)
        transpose_constants(w, graph, graph.inputs[:consts])
    with f.cycle([f.constant(0, I64), *carry.begin(state)]) as loop:
        count, *values = loop.carry
        w.tables.update(c for c, v in zip(cond.inputs[consts:], carry.variables) if v in w.tables)
        Carry(w, cond.inputs[consts:]).bind(values)
        w.owned.difference_update(cond.inputs)
        w.write_graph(cond)
        (goes_on,) = w.entries(cond.outputs[0])
        if most is not None:
            goes_on = goes_on & (count < most)
        loop.go_on_if(goes_on)
        places = carry.bind(values)
        w.wanted.update(carry.want(body, places, body.outputs))
        w.write_graph(body)
        following = carry.hand_on(places, body.outputs)
        w.poll(work_of(cond, body))
        loop.update(count + 1, *following)
    return carry.results(loop.carry[1:])


def admits_flow(e: Equation) -> bool:
    """Whether the Graphs of a loop or of branches can be written."""
    held = sum(a.aval.size for a in e.inputs if is_held(a.aval))
    graphs = inner_graphs(e)
    return held <= NUMBERS and all(
        admits_graph(graph, e.params.get("consts", len(graph.inputs))) for graph in graphs
    )


def settle_results(w: StepWriter, e: Equation, values: Sequence[Held | Value]) -> None:
    for v, value in zip(e.outputs, values):
        w.bind(v, value)
        if isinstance(value, Value):
            w.owned.add(v)


@step_rule("scan", admits=admits_flow)
def write_inner_scan(w: StepWriter, e: Equation) -> None:
    """Write a scan in a step."""
    f, params = w.function, e.params
    consts, carry, length = params["consts"], params["carry"], params["length"]
    count, *operands = e.inputs
    values = [*map(w.constant, operands[:consts]), *map(w.value, operands[consts : consts + carry])]
    rows = [w.place(a) for a in operands[consts + carry :]]
    outputs = e.outputs[carry:]
    stacks = [w.reserve(size_in_memory(v.aval)) for v in outputs]
    if type(count) is Literal:
        steps = f.constant(max(min(int(count.value), length), 0), I64)
    else:
        (number,) = w.entries(count)
        steps = (number < length).select(number, length)
    if type(count) is not Literal or int(count.value) < length:  # rows that no step writes are zero
        for v, stack in zip(outputs, stacks):
            w.clear(stack, v.aval)
    first = steps - 1 if params["reverse"] else f.constant(0, I64)
    step = -1 if params["reverse"] else 1
    ends = write_scan(w, params["body"], values[:consts], values[consts:], rows, stacks, first, step, steps)
    settle_results(w, e, [*ends, *stacks])


@step_rule("while_loop", admits=admits_flow)
def write_inner_while(w: StepWriter, e: Equation) -> None:
    """Write a while loop in a step."""
    params, consts = e.params, e.params["consts"]
    values = [*map(w.constant, e.inputs[:consts]), *map(w.value, e.inputs[consts:])]
    ends = write_while(
        w, params["cond"], params["body"], values[:consts], values[consts:], params["max_steps"]
    )
    settle_results(w, e, ends)


@step_rule("switch", admits=admits_flow)
def write_switch(w: StepWriter, e: Equation) -> None:
    """Write branches, one of which is executed."""
    branches = e.params["branches"]
    index, *operands = e.inputs
    (chosen,) = w.entries(index)
    values = [w.value(a) for a in operands]
    targets = {k: w.reserve(size_in_memory(v.aval)) for k, v in enumerate(e.outputs) if not is_held(v.aval)}

    def write_branch(k: int) -> list[Value]:
        branch = branches[k]
        for v, value in zip(branch.inputs, values):
            w.bind(v, value)
        w.write_graph(branch)
        for k, target in targets.items():
            w.copy(target, w.place(branch.outputs[k]), e.outputs[k].aval)
        return [x for k, a in enumerate(branch.outputs) if k not in targets for x in w.entries(a)]

    entries = write_choice(w, chosen, range(len(branches)), write_branch)
    found: list[Held | Value] = []
    for k, v in enumerate(e.outputs):
        if k in targets:
            found.append(targets[k])
        else:
            found.append(entries[: v.aval.size])
            entries = entries[v.aval.size :]
    settle_results(w, e, found)


def write_choice(
    w: StepWriter, chosen: Value, numbers: range, write: Callable[[int], list[Value]]
) -> list[Value]:
    """Write the branches of some numbers, of which the chosen one is found by halves."""
    if len(numbers) == 1:
        return write(numbers[0])
    half = len(numbers) // 2
    condition = ~chosen if chosen.type == I1 else chosen < numbers[half]
    parts = [partial(write_choice, w, chosen, part, write) for part in (numbers[:half], numbers[half:])]
    return w.function.branch(condition, *parts)
