"""The common parts of kernels: launches, arguments, and names of values."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.graph import Equation, Graph, Literal
from ..native.lanes import BOOL
from . import functions
from .functions import MEMORY, REGISTERS

BLOCK = 256  # threads of a block
# Reductions, and the primitive that combines two entries.
COMBINE = {
    "reduce_sum": "add",
    "reduce_prod": "multiply",
    "reduce_max": "maximum",
    "reduce_min": "minimum",
    "reduce_any": "logical_or",
    "reduce_all": "logical_and",
}


class Totals(NamedTuple):
    """The partial results of threads for a reduction: an array of a shape and dtype, to be reduced along an axis."""

    shape: tuple[int, int]
    dtype: np.dtype
    axis: int


class Kernel(NamedTuple):
    """A kernel: its name, the number of blocks, and the numbers of the outputs that it writes, in the order of its
    parameters. Of some reductions it writes the threads' totals only."""

    name: str
    blocks: int
    outputs: tuple[int, ...]
    totals: dict[int, Totals]


def total_dtype(reduction: Equation) -> np.dtype:
    """The dtype of threads' totals: that of the result, but float32 for half precision."""
    result = reduction.outputs[0].aval.dtype
    return np.dtype(np.float32) if functions.is_short(result) else result


def neutral(reduction: Equation) -> str:
    """Return the text of the value that changes no total."""
    name, dtype = reduction.primitive.computes, total_dtype(reduction)
    value: Any = name in ("reduce_prod", "reduce_all")
    if name in ("reduce_max", "reduce_min"):
        greatest = name == "reduce_min"
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            value = limits.max if greatest else limits.min
        else:
            value = greatest if dtype == BOOL else np.inf if greatest else -np.inf
    return functions.number(value, dtype)


def combine(reduction: Equation, x: str, y: str) -> str:
    """Return the text of two totals as one."""
    dtype = total_dtype(reduction)
    text = functions.EXPRESSIONS[COMBINE[reduction.primitive.computes], functions.kind_of(dtype)]
    return f"({REGISTERS[dtype.name]})({text.format(x, y, bits=functions.wrapping(dtype))})"


def join(terms: Iterable[str]) -> str:
    """Return the text of a sum of numbers of entries."""
    return " + ".join(terms) or "0"


class KernelWriter:
    """A kernel under construction. `by_value` are the numbers of the operands that are handed over by value, as
    Python's numbers are; all others are arrays. `names` has the texts of values that are known."""

    def __init__(self, graph: Graph, size: int, by_value: Container[int]):
        self.graph, self.by_value = graph, by_value
        self.index = "unsigned int" if size < 1 << 31 else "long long"
        self.names: dict[Any, str] = {}

    def head(self, name: str, outputs: Iterable[tuple[int, np.dtype]]) -> str:
        """Return the first line of a kernel that writes outputs, which are given with the dtypes that are stored."""
        parameters = [
            f"const {MEMORY[v.aval.dtype.name]}{' ' if k in self.by_value else '* '}a{k}"
            for k, v in enumerate(self.graph.inputs)
        ]
        parameters += [f"{MEMORY[dtype.name]}* r{i}" for i, dtype in outputs]
        return f'extern "C" __global__ void {name}({", ".join(parameters)}) {{'

    def load(self, k: int, place: str) -> str:
        """Return the statement that gives an entry of an operand a name."""
        v = self.graph.inputs[k]
        self.names[v] = f"x{k}"
        text = functions.load(f"a{k}" if k in self.by_value else f"a{k}[{place}]", v.aval.dtype)
        return f"const {REGISTERS[v.aval.dtype.name]} x{k} = {text};"

    def compute(self, e: Equation, number: int) -> str:
        """Return the statement that carries out an equation, and gives its result a name."""
        out = e.outputs[0]
        self.names[out] = f"v{number}"
        text = functions.expression(e, self.operands(e))
        return f"const {REGISTERS[out.aval.dtype.name]} v{number} = {text};"

    def operands(self, e: Equation) -> list[str]:
        return [self.operand(a) for a in e.inputs]

    def operand(self, atom: Any) -> str:
        return functions.number(atom.value, atom.aval.dtype) if type(atom) is Literal else self.names[atom]

    def accumulate(self, e: Equation, total: str) -> str:
        """Return the statement that adds an entry to a total."""
        dtype = total_dtype(e)
        value = self.operand(e.inputs[0])
        value = f"({value} != 0)" if dtype == BOOL else f"({REGISTERS[dtype.name]}){value}"
        return f"{total} = {combine(e, total, value)};"


def needed_for(equations: Sequence[Equation], values: Iterable[Any]) -> list[Equation]:
    """Return the equations from which values follow."""
    wanted, found = set(values), []
    for e in reversed(equations):
        if not wanted.isdisjoint(e.outputs):
            found.append(e)
            wanted.update(a for a in e.inputs if type(a) is not Literal)
    return found[::-1]
