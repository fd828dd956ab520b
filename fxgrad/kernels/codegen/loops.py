"""Loops over Graphs become readable Python: the statements of the body stand in the loop itself, so that a step calls
nothing but kernels.

    def scan_cell(steps, x0, x1, xs2, ys0):
        for i in steps:
            x2 = xs2[i]
            v3 = multiply(x0, x1)
            v4 = add(v3, x2)
            ys0[i] = v4
            x1 = v4
        return [x1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .source import INDENT, FunctionBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...core.graph import Graph, Var


def compile_scan(body: Graph, consts: int, carry: int) -> Callable[..., Any]:
    """Compile a scan: (steps, *consts, *carry, *xs, *ys) → the last carry; rows of `xs` are read, those of `ys`
    written, at each of the positions `steps`. For NumPy values."""
    source = FunctionBuilder(True)
    name_inputs(source, body)
    inputs = [source.names[v] for v in body.inputs]
    kept, rows = inputs[: consts + carry], inputs[consts + carry :]
    stacks = [row.replace("x", "xs") for row in rows]
    results = [f"ys{i}" for i in range(len(body.outputs) - carry)]
    for row, stack, var in zip(rows, stacks, body.inputs[consts + carry :]):
        source.lines.append(f"{row} = {stack}[i]{'.item()' * var.aval.weak}")
    source.equations(body)
    source.lines += [f"{ys}[i] = {source.atom(a)}" for ys, a in zip(results, body.outputs[carry:])]
    state = inputs[consts : consts + carry]
    assign_carry(source, state, body.outputs[:carry])
    source.lines = ["for i in steps:", *(INDENT + line for line in source.lines or ["pass"])]
    parameters = ["steps", *kept, *stacks, *results]
    return source.function(f"scan_{body.name}", parameters, f"[{', '.join(state)}]")


def compile_while(cond: Graph, body: Graph, consts: int, max_steps: int | None) -> Callable[..., Any]:
    """Compile a loop: (*consts, *carry) → the first carry for which `cond` is false, or that after `max_steps`. For
    NumPy values."""
    source = FunctionBuilder(True)
    name_inputs(source, cond)
    parameters = [source.names[v] for v in cond.inputs]
    source.names.update(zip(body.inputs, parameters))
    source.equations(cond)
    source.lines.append(f"if not {source.atom(cond.outputs[0])}: break")
    source.equations(body)
    assign_carry(source, parameters[consts:], body.outputs)
    head = "while True:" if max_steps is None else f"for _ in range({max_steps}):"
    source.lines = [head, *(INDENT + line for line in source.lines)]
    return source.function(f"while_{body.name}", parameters, f"[{', '.join(parameters[consts:])}]")


def name_inputs(source: FunctionBuilder, graph: Graph) -> None:
    """Give the inputs of a graph the names x0, x1, …"""
    source.names.update((var, f"x{i}") for i, var in enumerate(graph.inputs))


def assign_carry(source: FunctionBuilder, state: list[str], outputs: tuple[Var, ...]) -> None:
    """Append the assignment of the new carry to the old."""
    moves = [(name, source.atom(a)) for name, a in zip(state, outputs)]
    moves = [(name, value) for name, value in moves if name != value]
    if moves:
        source.lines.append(" = ".join(", ".join(side) for side in zip(*moves)))
