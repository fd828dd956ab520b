"""Loops as machine code, for steps so small that each NumPy call takes longer than its arithmetic.

    i32 loop(first, step, count, addresses…, scratch)     the steps of a scan or of a while loop: see `flow`, `steps`
    recurrence(first, step, count, arrays…)               a built-in function, which finds where arrays lie, runs `loop`

Inner loops and branches are part of the code. From time to time it checks for interruptions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.aval import Aval
from ...core.costs import STEP_INSTRUCTIONS
from ...core.graph import Graph
from . import arrays, draws, entries, exceptions, flow, indices, integers, orders, reductions, steps, systems
from .builtin import BuiltinWriter, make_builtin
from .engine import compile_functions
from .groups import DOUBTFUL
from .interruption import INTERRUPTED, poll_function
from .ir import I32, I64, PTR, Function, Type, Value
from .runner import concerns_somebody
from .steps import StepWriter, inner_graphs, is_held

ENTRY, LOOP = "recurrence", "loop"
WITHOUT_END = 1 << 62  # steps
KNOWN = (
    draws,
    entries,
    flow,
    indices,
    integers,
    orders,
    reductions,
    systems,
)  # the modules that declare equations


def admits(body: Graph, consts: int, cond: Graph | None = None) -> bool:
    """Whether the loop over a body with large groups can be machine code."""
    graphs = [body] if cond is None else [cond, body]
    held = sum(v.aval.size for v in body.inputs if is_held(v.aval))
    return (
        held <= flow.NUMBERS
        and all(steps.admits_graph(graph, consts) for graph in graphs)
        and sum(map(steps.count_instructions, graphs)) <= STEP_INSTRUCTIONS
    )


def write_recurrence(body: Graph, cond: Graph | None, consts: int, carry: int) -> tuple[list[Function], int]:
    """Return the functions of a loop, the last of which is called with the arrays, and the bytes of scratch memory."""
    count, rows = len(body.inputs), len(body.outputs) - carry
    f = Function(LOOP, [I64, I64, I64, *[PTR] * (count + rows + carry), PTR], "i32", local=True)
    first, step, most, *pointers, memory = f.arguments
    given, stacks, ends = pointers[:count], pointers[count : count + rows], pointers[count + rows :]
    w = StepWriter(f, memory)
    kept = consts + carry
    values = given[:kept]
    if cond is None:
        found = flow.write_scan(
            w, body, values[:consts], values[consts:], given[kept:], stacks, first, step, most
        )
    else:
        found = flow.write_while(w, cond, body, values[:consts], values[consts:], most)
    for v, value, target in zip(body.outputs, found, ends):
        if isinstance(value, Value):
            w.copy(target, value, v.aval)
        else:
            w.store_held(value, target)
    f.return_value(f.cast("zext", f.load(w.doubts, Type("i8")), I32))
    f.lines += ["interrupted:", f"  ret i32 {INTERRUPTED}"]
    b = BuiltinWriter(ENTRY, len(pointers) + 1, numbers=3)
    *places, memory = [arrays.address(b.function, o) for o in b.arguments]
    b.return_status(b.call(LOOP, [*b.numbers, *places], memory, True))
    return [poll_function(), *w.functions, f, b.function], w.scratch


class Loop:
    """The machine code of a loop, as a function (first row, step, count, operands, stacks) → the last carry, or None if
    NumPy has to compute it."""

    def __init__(self, body: Graph, cond: Graph | None, consts: int, carry: int):
        functions, self.scratch = write_recurrence(body, cond, consts, carry)
        code = compile_functions(functions)
        self.consts, self.kept = consts, consts + carry
        self.native = make_builtin(code, ENTRY)
        self.possible = possible_exceptions(body) | (0 if cond is None else possible_exceptions(cond))
        self.possible |= DOUBTFUL
        self.avals = [v.aval for v in (*body.inputs, *body.outputs[carry:])]
        self.ends = [v.aval for v in body.outputs[:carry]]
        self.count = len(body.inputs)

    def __call__(self, first: int, step: int, count: int, operands: Sequence[Any]) -> list[Any] | None:
        given = list(operands)
        for i, (x, aval) in enumerate(zip(operands, self.avals)):
            found = dense_array(x, aval, i >= self.kept)
            if found is not x:
                if found is None or i >= self.count:  # which would be filled in the place of another
                    return None
                given[i] = found
        ends = [np.empty(a.shape, a.dtype) for a in self.ends]
        raised = self.native(first, step, count, *given, *ends, np.empty(self.scratch, np.uint8))
        raised &= self.possible
        if raised and (raised & DOUBTFUL or concerns_somebody(raised)):
            return None
        return [x.item() if a.weak else x if x.shape else x[()] for x, a in zip(ends, self.ends)]


def make_scan(
    body: Graph, consts: int, carry: int, by_numpy: Callable[..., list[Any]]
) -> Callable[..., list[Any]]:
    """Compile a scan to a function like `codegen.loops.compile_scan` does. `by_numpy` runs instead of machine code
    where NumPy would warn or raise."""
    loop = Loop(body, None, consts, carry)

    def run(steps: range, *operands: Any) -> list[Any]:
        found = loop(steps.start, steps.step, len(steps), operands) if steps else None
        return by_numpy(steps, *operands) if found is None else found

    return run


def make_while(cond: Graph, body: Graph, consts: int) -> Callable[..., list[Any] | None]:
    """Compile a while loop to a function (maximal number of steps, *consts, *carry) → the last carry, or None if NumPy
    has to compute it."""
    loop = Loop(body, cond, consts, len(body.outputs))

    def run(most: int | None, *operands: Any) -> list[Any] | None:
        return loop(0, 0, WITHOUT_END if most is None else most, operands)

    return run


def dense_array(x: Any, aval: Aval, stacked: bool) -> np.ndarray | None:
    """Return an operand in the layout that machine code reads, copied if necessary; None if its dtype or shape (that of
    a row if `stacked`) differs."""
    if type(x) is not np.ndarray:
        if type(x) is int and not -(2**63) <= x < 2**63:
            return None
        x = np.array(x, aval.dtype if aval.weak else None)
    if x.dtype != aval.dtype or x.shape[stacked:] != aval.shape:
        return None
    flags = x.flags
    return x if flags.c_contiguous and flags.aligned else np.array(x, order="C")


def possible_exceptions(graph: Graph) -> int:
    """Return the exceptions for which the equations of a Graph would warn."""
    found = 0
    for e in graph.equations:
        if e.primitive.computes == "fused":
            found |= possible_exceptions(e.params["graph"])
        elif inner := inner_graphs(e):
            found |= functools.reduce(lambda a, b: a | b, map(possible_exceptions, inner))
        elif not (e.quiet or e.primitive.computes in steps.SILENT):
            found |= exceptions.possible(e)
    return found
