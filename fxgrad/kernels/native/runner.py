"""Machine code as functions that Python calls: they allocate results, call the code, and complete the results.

Their text is generated for each Graph, like all compiled code:

    def call(x0, x1):
        if type(x1) is not ndarray: x1 = array(x1, float64)
        y0 = empty((1000, 20), float64)
        y1 = empty((1, 40), float64)
        raised = native(0, 1000, x0, x1, y0, y1)
        if raised and settle(raised, [x0, x1], [y0, y1]): return by_numpy(x0, x1)
        return [y0, add(y1.reshape(-1))]
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from functools import partial
from operator import or_
from typing import Any

import numpy as np

from ...core.aval import Aval
from ...core.fp_errors import DEFAULT, ERROR_STATE, IGNORE
from ...core.graph import Graph
from ..codegen.source import make_function
from ..row_space import RowSpace
from ..space import Space
from . import exceptions
from .engine import compile_functions
from .groups import DOUBTFUL, GROUP, MISFIT, add_entry, write_group
from .rows import RowWork, RowWriter
from .threads import Crew
from .tiling import Work


@functools.cache
def function_type(count: int) -> Any:
    """Return ctypes' type of a function of first, last and this number of arrays, during which others run Python."""
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t, *[ctypes.py_object] * count)


def make_runner(
    space: Space | RowSpace, by_numpy: Callable[..., list[Any]], freedom: str = ""
) -> Callable[..., list[Any]]:
    """Compile a group. `by_numpy` computes it where machine code may not: it warns and raises as NumPy does."""
    if isinstance(space, RowSpace):
        work = RowWork(space)
        functions = add_entry(RowWriter(space, work, freedom).write(), space.graph)
    else:
        work = Work(space)
        functions = write_group(space, work, freedom)
    code = compile_functions(functions)
    graph = space.graph
    native: Any = function_type(len(graph.inputs) + len(graph.outputs))(code.address(GROUP))
    native.code = code  # which lives as long
    crew = Crew(native, work.units, space.size * len(graph.equations))
    possible = functools.reduce(or_, [exceptions.possible(e) for e in graph.equations if not e.quiet], 0)
    caller = Caller(graph, native if crew.most <= 1 else crew, by_numpy, possible, (0, work.units))
    for i, v in enumerate(graph.outputs):
        if i not in space.reductions:
            caller.add_result(v.aval)
            continue
        assert isinstance(work, Work)  # rows hand out what they have reduced
        parts, kept = work.partial_shape(i)
        total = "{}"
        if parts > 1:
            total = f"{caller.name(space.reductions[i].ufunc.reduce)}({{}}, axis=0)"
        total = f"{caller.name(np.reshape)}({total}, {v.aval.shape})" + "[()]" * (v.aval.shape == ())
        caller.add_result(Aval((parts, kept) if kept > 1 else (parts,), v.aval.dtype), total)
    return caller.compile()


LARGEST_INTEGER = 2**63 - 1


class Caller:
    """The function under construction that calls `native` with the integers `work`, the operands of a Graph and arrays
    for its results; see above. `by_numpy` computes where machine code may not, `possible` are the exceptions of which
    the equations would warn."""

    def __init__(
        self,
        graph: Graph,
        native: Callable[..., int],
        by_numpy: Callable[..., list[Any]],
        possible: int,
        work: Sequence[int] = (),
    ):
        self.avals, self.work = [v.aval for v in graph.inputs], [*map(str, work)]
        settle = Settlement(partial(native, *work), self.avals, possible)
        self.namespace: dict[str, Any] = {"empty": np.empty, "array": np.array, "ndarray": np.ndarray}
        self.namespace |= {"native": native, "settle": settle, "by_numpy": by_numpy}
        self.lines: list[str] = []
        self.targets: list[str] = []
        self.results: list[str] = []

    def name(self, value: Any) -> str:
        """Return a name for a value."""
        key = f"k{len(self.namespace)}"
        self.namespace[key] = value
        return key

    def add_memory(self, shape: Sequence[int], dtype: Any) -> str:
        """Have one more array passed to `native`; return its name."""
        name = f"y{len(self.targets)}"
        self.targets.append(name)
        self.lines.append(f"{name} = empty({shape}, {self.name(dtype)})")
        return name

    def add_result(self, aval: Aval, text: str = "") -> None:
        """Add a result: an array that `native` fills, or what an expression makes of it."""
        text = text or ("{}.item()" if aval.weak else "{}" if aval.shape else "{}[()]")
        self.results.append(text.format(self.add_memory(aval.shape, aval.dtype)))

    def compile(self) -> Callable[..., list[Any]]:
        """Return the function: positional values → a list of results."""
        operands, checks = [f"x{i}" for i in range(len(self.avals))], []
        given, filled = ", ".join(operands), ", ".join(self.targets)
        for x, aval in zip(operands, self.avals):
            if aval.shape == ():  # which may be a scalar
                if aval.weak and aval.dtype.kind == "i":
                    inside = f"{-LARGEST_INTEGER - 1} <= {x} <= {LARGEST_INTEGER}"
                    checks.append(f"if not {inside}: return by_numpy({given})")
                checks.append(f"if type({x}) is not ndarray: {x} = array({x}, {self.name(aval.dtype)})")
        lines = [
            *checks,
            *self.lines,
            f"raised = native({', '.join([*self.work, *operands, *self.targets])})",
            f"if raised and settle(raised, [{given}], [{filled}]): return by_numpy({given})",
            f"return [{', '.join(self.results)}]",
        ]
        return make_function("call", "\n    ".join([f"def call({given}):", *lines]) + "\n", self.namespace)


class Settlement:
    """The handler for exceptions of machine code and for arrays in another memory order: settle(raised, operands,
    outputs) returns whether NumPy has to compute. `possible` are the exceptions of which the equations would warn."""

    def __init__(self, native: Callable[..., int], avals: Sequence[Aval], possible: int):
        self.native, self.avals, self.possible = native, avals, possible

    def __call__(self, raised: int, operands: list[Any], outputs: list[Any]) -> bool:
        if raised == MISFIT:
            for i, (x, aval) in enumerate(zip(operands, self.avals)):
                if x.shape != aval.shape:
                    return True  # NumPy says what is wrong with it
                if not (x.flags.c_contiguous and x.flags.aligned):
                    operands[i] = np.array(x, order="C")
            raised = self.native(*operands, *outputs)
            if raised == MISFIT:
                return True
        raised &= self.possible
        return raised >= DOUBTFUL or (raised > 0 and concerns_somebody(raised))


def concerns_somebody(raised: int) -> bool:
    """Whether one of these exceptions is not ignored."""
    state = ERROR_STATE.get()
    if state is IGNORE:
        return False
    if state is DEFAULT:
        return raised != exceptions.BITS["under"]
    treatment = np.geterr()
    return any(raised & bit and treatment[name] != "ignore" for name, bit in exceptions.BITS.items())
