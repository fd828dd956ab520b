"""Runs of equations as machine code, for arrays so small that each NumPy call takes longer than its arithmetic.

i32 steps(addresses…, scratch)              the equations, written as those of one step of a loop: see `steps`
PyObject *call(table, arguments, count)     finds where the arrays lie, runs `steps`; the exceptions: see `builtin`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.costs import LOCKED_ENTRIES
from ...core.graph import Equation, Graph, Literal
from .. import space
from . import arrays, groups, steps
from .builtin import BuiltinWriter, make_builtin
from .engine import compile_functions
from .flow import work_of
from .groups import DOUBTFUL, MISFIT
from .interruption import INTERRUPTED, poll_function
from .ir import I32, PTR, Function, Type
from .recurrence import possible_exceptions
from .runner import Caller
from .steps import StepWriter, admits_aval, admits_equation, inner_graphs, is_elementwise

CALL, STEPS = "call", "steps"
STACK = 1 << 15  # bytes of scratch memory that lie on the stack


def admits(e: Equation) -> bool:
    """Whether an equation can be part of the function: by itself, or in a group."""
    if not e.outputs or not all(admits_aval(v.aval) for v in e.outputs):
        return False
    known = all(type(a) is Literal or admits_aval(a.aval, float("inf")) for a in e.inputs)
    grouped = is_elementwise(e) or (e.primitive.computes in space.REDUCTIONS and groups.admits(e))
    return known and (grouped or admits_equation(e))


def has_loops(graph: Graph) -> bool:
    """Whether the equations of a Graph are executed an unknown number of times."""
    return any(
        e.primitive.computes in ("scan", "while_loop") or any(map(has_loops, inner_graphs(e)))
        for e in graph.equations
    )


class CallWriter:
    """The functions of a Graph, and the bytes of `scratch` memory that are an argument of the
    last one, which Python calls."""

    def __init__(self, graph: Graph):
        self.graph, self.has_loops = graph, has_loops(graph)
        self.lets_go = self.has_loops or work_of(graph) >= LOCKED_ENTRIES
        self.functions = [poll_function()] if self.has_loops else []
        size = self.write_steps()
        self.scratch = size if size > STACK else 0
        self.write_entry(size)

    def write_steps(self) -> int:
        """Write the equations; return the bytes of memory that they need."""
        graph, count = self.graph, len(self.graph.inputs)
        f = Function(STEPS, [PTR] * (count + len(graph.outputs) + 1), "i32", local=True)
        *pointers, memory = f.arguments
        given, targets = pointers[:count], pointers[count:]
        w = StepWriter(f, memory)
        for v, place in zip(graph.inputs, given):
            w.bind(v, place)
        made = {v for e in graph.equations for v in e.outputs}
        w.wanted.update({v: place for v, place in zip(graph.outputs, targets) if v in made})
        w.write_graph(graph)
        for v, target in zip(graph.outputs, targets):
            w.put_at(target, v)
        f.return_value(f.cast("zext", f.load(w.doubts, Type("i8")), I32))
        if self.has_loops:
            f.lines += ["interrupted:", f"  ret i32 {INTERRUPTED}"]
        self.functions += [*w.functions, f]
        return w.scratch

    def write_entry(self, size: int) -> None:
        """Write the function that Python calls, with memory of a size for the equations."""
        inputs, count = self.graph.inputs, len(self.graph.inputs) + len(self.graph.outputs)
        b = BuiltinWriter(CALL, count + bool(self.scratch))
        f = b.function
        if self.scratch:
            memory = arrays.address(f, b.arguments[-1])
        else:
            memory = f.emit(f"alloca [{size} x i8], align {steps.LINE}", PTR)
        status = f.emit("alloca i32", PTR)
        f.store(f.constant(MISFIT, I32), status)
        with arrays.when_dense(f, [v.aval for v in inputs], b.arguments):
            places = [arrays.address(f, o) for o in b.arguments[:count]]
            f.store(b.call(STEPS, places, memory, self.lets_go), status)
        b.return_status(f.load(status, I32))
        self.functions.append(f)


def make_call(graph: Graph, by_numpy: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Compile a Graph to a function: positional values → a list of results. `by_numpy` computes where machine code may
    not: it warns and raises as NumPy does."""
    writer = CallWriter(graph)
    native = make_builtin(compile_functions(writer.functions), CALL)
    caller = Caller(graph, native, by_numpy, possible_exceptions(graph) | DOUBTFUL)
    for v in graph.outputs:
        caller.add_result(v.aval)
    if writer.scratch:
        caller.add_memory((writer.scratch,), np.dtype(np.uint8))
    return caller.compile()
