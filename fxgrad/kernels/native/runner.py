"""Groups as functions that Python calls: they allocate results, call the machine code, and complete the reductions.

Their text is generated for each group, like all compiled code:

    def group(x0, x1):
        y0 = allocate((1000, 20), float64)
        y1 = empty((1, 40), float64)
        raised = native(0, 1000, x0, x1, y0, y1)
        if raised: return settle(raised, [x0, x1], [y0, y1])
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
from ...core.costs import LOCKED_ENTRIES
from ...core.fp_errors import DEFAULT, ERROR_STATE, IGNORE
from ..codegen.source import make_function
from ..memory import allocate
from ..row_space import RowSpace
from ..space import Space
from . import exceptions
from .engine import compile_functions
from .groups import DOUBTFUL, GROUP, MISFIT, add_entry, write_group
from .rows import RowWork, RowWriter
from .threads import Crew
from .tiling import Work


@functools.cache
def function_type(count: int, lets_go: bool) -> Any:
    """Return ctypes' type of a group's function of this number of arrays, which lets go of the interpreter's lock or
    not."""
    make = ctypes.CFUNCTYPE if lets_go else ctypes.PYFUNCTYPE
    return make(ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t, *[ctypes.py_object] * count)


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
    kind = function_type(len(graph.inputs) + len(graph.outputs), lets_go=space.size >= LOCKED_ENTRIES)
    native: Any = kind(code.address(GROUP))
    native.code = code  # which lives as long
    crew = Crew(native, work.units, space.size * len(graph.equations))
    call = native if crew.most <= 1 else crew
    namespace: dict[str, Any] = {
        "allocate": allocate,
        "empty": np.empty,
        "array": np.array,
        "ndarray": np.ndarray,
    }
    lines, operands, targets, results = [], [], [], []

    def name(value: Any) -> str:
        key = f"k{len(namespace)}"
        namespace[key] = value
        return key

    for i, v in enumerate(graph.inputs):
        operands.append(f"x{i}")
        if v.aval.shape == ():  # which may be a scalar
            lines.append(f"if type(x{i}) is not ndarray: x{i} = array(x{i}, {name(v.aval.dtype)})")
    for i, v in enumerate(graph.outputs):
        targets.append(f"y{i}")
        if i not in space.reductions:
            lines.append(f"y{i} = allocate({v.aval.shape}, {name(v.aval.dtype)})")
            results.append(f"y{i}")
            continue
        assert isinstance(work, Work)  # rows hand out what they have reduced
        parts, kept = work.partial_shape(i)
        lines.append(f"y{i} = empty({(parts, kept) if kept > 1 else parts}, {name(v.aval.dtype)})")
        total = f"y{i}.reshape({v.aval.shape})"
        if parts > 1:
            total = f"{name(space.reductions[i].ufunc.reduce)}(y{i}, axis=0)"
            total = f"{name(np.reshape)}({total}, {v.aval.shape})"
        results.append(total + "[()]" * (v.aval.shape == ()))
    possible = functools.reduce(or_, [exceptions.possible(e) for e in graph.equations if not e.quiet], 0)
    settle = Settlement(partial(call, 0, work.units), [v.aval for v in graph.inputs], possible)
    inputs, outputs = ", ".join(operands), ", ".join(targets)
    arguments = ", ".join(["0", str(work.units), *operands, *targets])
    lines += [
        f"raised = {name(call)}({arguments})",
        f"if raised and {name(settle)}(raised, [{inputs}], [{outputs}]): return {name(by_numpy)}({inputs})",
        f"return [{', '.join(results)}]",
    ]
    text = "\n    ".join([f"def group({inputs}):", *lines]) + "\n"
    return make_function("group", text, namespace)


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
