"""Loops over Graphs as readable Python: the statements of the body are part of the loop, so that a step calls only
kernels, which write into their final memory (`buffers`).

    def scan_cell(steps, x0, x1, xs2, ys0):
        for x2, y0 in zip(rows(xs2, steps), rows(ys0, steps)):
            v3 = multiply(x0, x1, y0)
            v4 = add(v3, x2, y0)
            x1 = v4
        return [x1.copy()]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.costs import INDEXED_ENTRIES
from ...core.graph import Equation, Graph, Var
from .buffers import BufferPlan, plan_buffers
from .source import ERRSTATE_LINE, INDENT, FunctionBuilder

NO_PLAN = BufferPlan({}, {}, [])


def step_rows(length: int, count: Any, reverse: bool) -> range:
    """Return the rows that the steps visit, in their order."""
    order = range(min(int(count), length))
    return order[::-1] if reverse else order


def run_steps(
    code: Callable[..., Any], stacks: Sequence[Any], length: int, steps: range, operands: Sequence[Any]
) -> list[Any]:
    """Run the code of a loop over rows; `stacks` are shape and dtype of a row of each of its results."""
    new = np.empty if len(steps) == length else np.zeros  # rows that no step writes are zero
    ys = [new((length, *shape), dtype) for shape, dtype in stacks]
    return [*code(steps, *operands, *ys), *ys]


def rows_at(stack: np.ndarray, steps: range) -> np.ndarray:
    """Return the rows of a stack at the positions `steps`, a range forwards or backwards by one, in their order."""
    if not steps:
        return stack[:0]
    first, last = steps[0], steps[-1]
    return stack[first : last + 1] if first <= last else stack[last : first + 1][::-1]


def compile_scan(
    body: Graph, consts: int, carry: int, builder: type[FunctionBuilder] = FunctionBuilder
) -> Callable[..., Any]:
    """Compile a scan: (steps, *consts, *carry, *xs, *ys) → the last carry; rows of `xs` are read, those of `ys`
    written, at each of the positions `steps`. For NumPy values."""
    body = inline_groups(body, INDEXED_ENTRIES)
    source = make_builder(builder, body)
    name_inputs(source, body)
    source.namespace["rows"] = rows_at
    inputs = [source.names[v] for v in body.inputs]
    kept, rows = inputs[: consts + carry], inputs[consts + carry :]
    stacks = [row.replace("x", "xs") for row in rows]
    ends, ys = body.outputs[:carry], body.outputs[carry:]
    results = [f"ys{k}" for k in range(len(ys))]
    plan = (
        plan_buffers(body, body.inputs[consts : consts + carry], ends, ys)
        if source.reuses_memory
        else NO_PLAN
    )
    source.equations(body, buffers=plan.places)
    direct = [plan.places.get(a) == f"y{k}" for k, a in enumerate(ys)]
    source.lines += [f"{stack}[i] = {source.atom(a)}" for stack, a, d in zip(results, ys, direct) if not d]
    state = inputs[consts : consts + carry]
    assign_carry(source, state, ends, plan.pairs)
    walked = [("i", "steps")] if not all(direct) else []
    for row, stack, var in zip(rows, stacks, body.inputs[consts + carry :]):
        walked.append((row, f"rows({stack}, steps){'.tolist()' * var.aval.weak}"))
    walked += [(f"y{k}", f"rows({stack}, steps)") for k, stack in enumerate(results) if direct[k]]
    walked = walked or [("_", "steps")]
    walks = ", ".join(walk for _, walk in walked)
    head = f"for {', '.join(name for name, _ in walked)} in {f'zip({walks})' if len(walked) > 1 else walks}:"
    enclose(source, head, plan)
    in_rows = {a for a, d in zip(ys, direct) if d}
    returned = [name + ".copy()" * (a in in_rows) for name, a in zip(state, ends)]
    return source.function(
        f"scan_{body.name}", ["steps", *kept, *stacks, *results], f"[{', '.join(returned)}]"
    )


def compile_into(graph: Graph, targets: int) -> Callable[..., list[Any]]:
    """Compile a Graph to a function (*inputs, *arrays) → results, which writes the first `targets` results into the
    arrays and returns the others. For NumPy values."""
    source = make_builder(FunctionBuilder, graph)
    name_inputs(source, graph)
    written, results = graph.outputs[:targets], graph.outputs[targets:]
    plan = plan_buffers(graph, (), results, written)
    source.equations(graph, buffers=plan.places)
    for k, a in enumerate(written):
        if plan.places.get(a) != f"y{k}":
            source.lines.append(f"y{k}[...] = {source.atom(a)}")
    enclose(source, None, plan)
    names = [*(source.names[v] for v in graph.inputs), *(f"y{k}" for k in range(targets))]
    return source.function(f"rows_{graph.name}", names, f"[{', '.join(map(source.atom, results))}]")


def compile_while(
    cond: Graph,
    body: Graph,
    consts: int,
    max_steps: int | None,
    builder: type[FunctionBuilder] = FunctionBuilder,
    by_rounds: bool = False,
) -> Callable[..., Any]:
    """Compile a loop: (*consts, *carry) → the first carry for which `cond` is false, or that after `max_steps`. For
    NumPy values. `by_rounds` it is (steps, *consts, *carry) → (*carry, whether `cond` held all the time), where `steps`
    has an item for each step that may be taken."""
    cond, body = inline_groups(cond, INDEXED_ENTRIES), inline_groups(body, INDEXED_ENTRIES)
    source = make_builder(builder, cond, body)
    name_inputs(source, cond)
    parameters = [source.names[v] for v in cond.inputs]
    source.names.update(zip(body.inputs, parameters))
    source.equations(cond)
    leave = "go_on = False; break" if by_rounds else "break"
    source.lines.append(f"if not {source.atom(cond.outputs[0])}: {leave}")
    plan = plan_buffers(body, body.inputs[consts:], body.outputs, ()) if source.reuses_memory else NO_PLAN
    source.equations(body, buffers=plan.places)
    assign_carry(source, parameters[consts:], body.outputs, plan.pairs)
    if by_rounds:
        enclose(source, "for _ in steps:", plan)
        source.lines.insert(0, "go_on = True")
        parameters, returned = ["steps", *parameters], [*parameters[consts:], "go_on"]
    else:
        enclose(source, "while True:" if max_steps is None else f"for _ in range({max_steps}):", plan)
        returned = parameters[consts:]
    return source.function(f"while_{body.name}", parameters, f"[{', '.join(returned)}]")


def inline_groups(body: Graph, least: float = float("inf")) -> Graph:
    """Return the Graph of a step with fused groups of fewer than `least` entries inlined: their equations take less
    time if they write into existing arrays than behind another call."""
    found: dict[Any, Any] = {}  # what stands for a variable
    equations = []
    for equation in body.equations:
        inputs = [found.get(a, a) for a in equation.inputs]
        group = equation.params["graph"] if equation.primitive.computes == "fused" else None
        if (
            group is None
            or max(v.aval.size for e in group.equations for v in (*e.inputs, *e.outputs)) >= least
        ):
            equations.append(replace_operands(equation, inputs, equation.outputs))
            continue
        inner, results = embed(group, inputs)
        equations += inner
        found.update(zip(equation.outputs, results))
    outputs = [found.get(a, a) for a in body.outputs]
    return Graph(body.inputs, equations, outputs, body.captured, body.name)


def embed(graph: Graph, operands: Sequence[Any], quiet: bool = False) -> tuple[list[Equation], list[Any]]:
    """Return the equations of a Graph on other operands, with variables of their own, and its results."""
    found: dict[Any, Any] = dict(zip(graph.inputs, operands))
    equations = []
    for e in graph.equations:
        made = [Var(v.aval) for v in e.outputs]
        inputs = [found.get(a, a) for a in e.inputs]
        equations.append(Equation(e.primitive, inputs, made, e.params, e.site, e.quiet or quiet))
        found.update(zip(e.outputs, made))
    return equations, [found.get(a, a) for a in graph.outputs]


def replace_operands(equation: Equation, inputs: Sequence[Any], outputs: Sequence[Var]) -> Equation:
    """Return an equation of other variables."""
    return Equation(equation.primitive, inputs, outputs, equation.params, equation.site, equation.quiet)


def make_builder(builder: type[FunctionBuilder], *graphs: Graph) -> FunctionBuilder:
    """Begin the code of a loop. Where floating-point warnings are off in all of a step they are turned off once."""
    return builder(True, quiet=all(e.quiet for graph in graphs for e in graph.equations), exact=True)


def name_inputs(source: FunctionBuilder, graph: Graph) -> None:
    """Give the inputs of a graph the names x0, x1, …"""
    source.names.update((var, f"x{i}") for i, var in enumerate(graph.inputs))


def assign_carry(
    source: FunctionBuilder, state: list[str], outputs: Sequence[Var], pairs: Sequence[tuple[str, str]]
) -> None:
    """Append the assignment of the new carry to the old one; the two swap arrays."""
    moves = [(name, source.atom(a)) for name, a in zip(state, outputs)]
    moves = [(name, value) for name, value in moves if name != value]
    moves += [move for one, other in pairs for move in ((one, other), (other, one))]
    if moves:
        source.lines.append(" = ".join(", ".join(side) for side in zip(*moves)))


def enclose(source: FunctionBuilder, head: str | None, plan: BufferPlan) -> None:
    """Put the statements so far into a loop, if it has a head, after the statements that allocate arrays."""
    source.namespace["empty"] = np.empty
    made = [
        f"{name} = empty({aval.shape}, {source.name_value(str(aval.dtype), aval.dtype)})"
        for name, aval in plan.arrays.items()
    ]
    loop = source.lines if head is None else [head, *(INDENT + line for line in source.lines or ["pass"])]
    if source.quiet and source.calls and loop:
        loop = [ERRSTATE_LINE, *(INDENT + line for line in loop)]
    source.lines = [*made, *loop]
