"""Runs of equations as machine code, for arrays so small that each NumPy call takes longer than its arithmetic.

    i32 steps(addresses…, scratch)              the equations, written as those of one step of a loop: see `steps`
    PyObject *call(table, arguments, count)     finds where the arrays lie, runs `steps`; the exceptions: see `builtin`

The function that allocates the results is generated as Python text:

    def call(x0, x1):
        if type(x0) is not ndarray: x0 = array(x0, float64)
        y0 = empty((2, 3), float64)
        raised = native(x0, x1, y0)
        if raised and settle(raised, [x0, x1], [y0]): return by_numpy(x0, x1)
        return [y0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.costs import LOCKED_ENTRIES
from ...core.graph import Equation, Graph, Literal
from .. import space
from ..codegen.source import make_function
from . import arrays, exceptions, groups, steps
from .builtin import BuiltinWriter, make_builtin
from .engine import compile_functions
from .flow import work_of
from .groups import DOUBTFUL, MISFIT
from .interruption import INTERRUPTED, let_go, poll_function, take_back
from .ir import I32, PTR, Function, Type, Value
from .recurrence import possible_exceptions
from .runner import Settlement
from .steps import StepWriter, admits_aval, admits_equation, inner_graphs, is_elementwise

CALL, STEPS = "call", "steps"
STACK = 1 << 15  # bytes of scratch memory that lie on the stack
LARGEST_INTEGER = 2**63 - 1


def admits(e: Equation) -> bool:
    """Whether an equation can be part of the function: by itself, or in a group."""
    if not e.outputs or not all(admits_aval(v.aval) for v in e.outputs):
        return False
    known = all(type(a) is Literal or admits_aval(a.aval, float("inf")) for a in e.inputs)
    grouped = is_elementwise(e) or (space.admits_reduction(e) and groups.admits(e))
    return known and (grouped or admits_equation(e))


def has_loops(graph: Graph) -> bool:
    """Whether the equations of a Graph are executed an unknown number of times."""
    return any(
        e.primitive.name in ("scan", "while_loop") or any(map(has_loops, inner_graphs(e)))
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
            places = [*(arrays.address(f, o) for o in b.arguments[:count]), memory]
            if self.lets_go:
                let_go(f, memory, b.table)
            with exceptions.watch(f) as raised:
                found = f.emit(f"call i32 @{STEPS}({', '.join(f'ptr {v.text}' for v in places)})", I32)
            if self.lets_go:
                take_back(f, memory)
            f.store((found < 0).select(found, raised.value | found * DOUBTFUL), status)
        b.return_status(f.load(status, I32))
        self.functions.append(f)


def make_call(graph: Graph, by_numpy: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Compile a Graph to a function: positional values → a list of results. `by_numpy` computes where machine code may
    not: it warns and raises as NumPy does."""
    writer = CallWriter(graph)
    native = make_builtin(compile_functions(writer.functions), CALL)
    settle = Settlement(native, [v.aval for v in graph.inputs], possible_exceptions(graph) | DOUBTFUL)
    namespace: dict[str, Any] = {"empty": np.empty, "array": np.array, "ndarray": np.ndarray}
    namespace |= {"native": native, "settle": settle, "by_numpy": by_numpy}

    def name(value: Any) -> str:
        key = f"k{len(namespace)}"
        namespace[key] = value
        return key

    parameters = [f"x{i}" for i in range(len(graph.inputs))]
    given, lines = ", ".join(parameters), []
    for x, v in zip(parameters, graph.inputs):
        if v.aval.shape == ():  # which may be a scalar
            if v.aval.weak and v.aval.dtype.kind == "i":
                lines.append(
                    f"if not {-LARGEST_INTEGER - 1} <= {x} <= {LARGEST_INTEGER}: return by_numpy({given})"
                )
            lines.append(f"if type({x}) is not ndarray: {x} = array({x}, {name(v.aval.dtype)})")
    targets, results = [f"y{i}" for i in range(len(graph.outputs))], []
    for y, v in zip(targets, graph.outputs):
        lines.append(f"{y} = empty({v.aval.shape}, {name(v.aval.dtype)})")
        results.append(f"{y}.item()" if v.aval.weak else y if v.aval.shape else f"{y}[()]")
    if writer.scratch:
        targets.append("scratch")
        lines.append(f"scratch = empty({writer.scratch}, {name(np.dtype(np.uint8))})")
    filled = ", ".join(targets)
    lines += [
        f"raised = native({', '.join([*parameters, *targets])})",
        f"if raised and settle(raised, [{given}], [{filled}]): return by_numpy({given})",
        f"return [{', '.join(results)}]",
    ]
    text = "\n    ".join([f"def call({given}):", *lines]) + "\n"
    return make_function("call", text, namespace)
