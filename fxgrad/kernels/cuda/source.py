"""A group of elementwise equations as CUDA C++: one kernel for each way to run through its space.

    extern "C" __global__ void run0(const double* a0, const double* a1, double* r0, double* r1) {
        const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
        if (thread >= 4096) return;
        double t1 = 0;                                             the total of this thread
        for (unsigned int i = thread; i < 1000000; i += 4096) {    its entries; neighbours read neighbours
            const double v0 = a0[i], v1 = …
            r0[i] = v1;
            t1 = t1 + v1;
        }
        r1[thread] = t1;
    }

A thread that reduces writes its total down; the totals are reduced by the array library. What is added to what depends
on the shape only. Arithmetic is IEEE's, as in NumPy: `OPTIONS` forbid products and sums in one rounding.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.graph import Literal
from ..native.lanes import BOOL
from ..space import REDUCTIONS, Reduction, Space
from . import functions
from .functions import MEMORY, REGISTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.graph import Equation

OPTIONS = ("--std=c++17", "--fmad=false")
THREADS = 1 << 16  # of a kernel at most where threads have totals
WARP = 32  # threads that read neighbouring entries at once
BLOCK = 256


class Way(NamedTuple):
    """A way through the space: every thread takes the entries first, first + stride, … of one run of the reduced
    dimensions; `runs` is the number of such runs, `length` that of the entries of one. Without reduction there is one
    run, and each thread has one entry."""

    leading: bool
    runs: int
    length: int
    parts: int

    @property
    def threads(self) -> int:
        return self.runs * self.parts

    @property
    def totals(self) -> tuple[int, int]:
        """The shape of the threads' totals."""
        return (self.parts, self.runs) if self.leading else (self.runs, self.parts)


class Kernel(NamedTuple):
    """A kernel: its name, its way, and the numbers of the outputs that it writes, in the order of its parameters. Of a
    reduction it writes the threads' totals, of the dtype in `totals`."""

    name: str
    way: Way
    outputs: tuple[int, ...]
    totals: dict[int, np.dtype]


def way_of(space: Space, reduction: Reduction | None) -> Way:
    """Return how to run through a space for a reduction, or for results of its shape."""
    if reduction is None:
        return Way(False, 1, space.size, space.size)
    split = prod(space.dims[: reduction.place])
    runs, length = (space.size // split, split) if reduction.leading else (split, space.size // split)
    most = max(THREADS // runs, 1 if reduction.leading else WARP)
    parts = 1
    while parts * 2 <= most and parts * 16 <= length:
        parts *= 2
    return Way(reduction.leading, runs, length, parts)


def write_group(space: Space) -> tuple[str, list[Kernel]]:
    """Return the source of a group, all of whose equations `functions.covers`, and its kernels."""
    ways: dict[tuple, list[int]] = {}
    for i, reduction in space.reductions.items():
        ways.setdefault((reduction.leading, reduction.place), []).append(i)
    groups = list(ways.values()) or [[]]
    groups[0] = [*space.results, *groups[0]]  # written on one of the ways that are taken anyway
    texts, kernels = [], []
    for number, outputs in enumerate(groups):
        reduction = next((space.reductions[i] for i in outputs if i in space.reductions), None)
        writer = Writer(space, way_of(space, reduction), outputs)
        texts.append(writer.write(f"run{number}"))
        kernels.append(Kernel(f"run{number}", writer.way, tuple(outputs), writer.totals))
    variables = [v for e in space.graph.equations for v in (*e.inputs, *e.outputs)]
    short = any(functions.is_short(v.aval.dtype) for v in variables)
    return "\n".join([functions.PRELUDE, *[functions.HALF] * short, *texts]), kernels


def needed_equations(space: Space, outputs: Sequence[int]) -> list[Equation]:
    """Return the equations from which outputs follow."""
    wanted = {space.graph.outputs[i] for i in outputs}
    found = []
    for e in reversed(space.graph.equations):
        if not wanted.isdisjoint(e.outputs):
            found.append(e)
            wanted.update(a for a in e.inputs if type(a) is not Literal)
    return found[::-1]


class Writer:
    """One kernel under construction."""

    def __init__(self, space: Space, way: Way, outputs: Sequence[int]):
        self.space, self.way, self.outputs = space, way, outputs
        self.index = "unsigned int" if space.size < 1 << 31 else "long long"
        self.equations = needed_equations(space, outputs)
        self.names: dict[Any, str] = {}
        self.reductions = {i: space.reductions[i].equation for i in outputs if i in space.reductions}
        self.totals = {i: total_dtype(e) for i, e in self.reductions.items()}

    def write(self, name: str) -> str:
        """Return the text of the kernel."""
        graph, way, index = self.space.graph, self.way, self.index
        parameters = [f"const {MEMORY[v.aval.dtype.name]}* a{k}" for k, v in enumerate(graph.inputs)]
        parameters += [f"{MEMORY[self.stored(i).name]}* r{i}" for i in self.outputs]
        lines = [
            f'extern "C" __global__ void {name}({", ".join(parameters)}) {{',
            f"    const {index} thread = blockIdx.x * ({index})blockDim.x + threadIdx.x;",
            f"    if (thread >= {way.threads}) return;",
        ]
        for i, e in self.reductions.items():
            dtype = self.totals[i]
            lines.append(f"    {REGISTERS[dtype.name]} t{i} = {functions.number(neutral(e, dtype), dtype)};")
        if way.leading:
            run, first = f"thread % {way.runs}", f"thread / {way.runs}"
            entry = f"step * {way.runs} + run"
        else:
            run, first = f"thread / {way.parts}", f"thread % {way.parts}"
            entry = f"run * ({index}){way.length} + step"
        lines += [
            f"    const {index} run = {run};",
            f"    for ({index} step = {first}; step < {way.length}; step += {way.parts}) {{",
            f"        const {index} i = {entry};",
        ]
        lines += [f"        {line}" for line in self.body()]
        lines.append("    }")
        lines += [f"    r{i}[thread] = t{i};" for i in self.reductions]
        return "\n".join([*lines, "}", ""])

    def stored(self, i: int) -> np.dtype:
        """The dtype of what is written for an output."""
        return self.totals[i] if i in self.totals else self.space.graph.outputs[i].aval.dtype

    def body(self) -> list[str]:
        """Return the statements for the entry i."""
        lines = self.positions()
        used = {a for e in self.equations for a in e.inputs if type(a) is not Literal}
        for k, (v, steps) in enumerate(zip(self.space.graph.inputs, self.space.steps)):
            if v in used:
                self.names[v] = f"x{k}"
                place = f"a{k}[{self.place(steps)}]"
                lines.append(
                    f"const {REGISTERS[v.aval.dtype.name]} x{k} = {functions.load(place, v.aval.dtype)};"
                )
        for k, e in enumerate(self.equations):
            if e.primitive.name in REDUCTIONS:
                continue
            out = e.outputs[0]
            self.names[out] = f"v{k}"
            text = functions.expression(e, [self.operand(a) for a in e.inputs])
            lines.append(f"const {REGISTERS[out.aval.dtype.name]} v{k} = {text};")
        for i in self.outputs:
            if i in self.reductions:
                lines.append(self.accumulate(i))
            else:
                v = self.space.graph.outputs[i]
                lines.append(f"r{i}[i] = {functions.store(self.operand(v), v.aval.dtype)};")
        return lines

    def operand(self, atom: Any) -> str:
        return functions.number(atom.value, atom.aval.dtype) if type(atom) is Literal else self.names[atom]

    def positions(self) -> list[str]:
        """Return the statements that find the position along each dimension, where an operand is repeated."""
        dense = dense_steps(self.space.dims)
        if all(steps == dense or not any(steps) for steps in self.space.steps):
            return []
        lines, rest = [], "i"
        for d in range(len(self.space.dims) - 1, 0, -1):
            n = self.space.dims[d]
            lines += [f"const {self.index} d{d} = {rest} % {n}, e{d} = {rest} / {n};"]
            rest = f"e{d}"
        return [*lines, f"const {self.index} d0 = {rest};"]

    def place(self, steps: Sequence[int]) -> str:
        """Return the text of the number of an operand's entry."""
        if tuple(steps) == dense_steps(self.space.dims):
            return "i"
        return " + ".join(f"d{d} * {step}" for d, step in enumerate(steps) if step) or "0"

    def accumulate(self, i: int) -> str:
        """Return the statement that adds an entry to a total."""
        equation, type = self.reductions[i], REGISTERS[self.totals[i].name]
        value = f"({type}){self.operand(equation.inputs[0])}"
        if self.totals[i] == BOOL:
            value = f"({self.operand(equation.inputs[0])} != 0)"
        return f"t{i} = {COMBINE[equation.primitive.name].format(f't{i}', value)};"


COMBINE = {
    "reduce_sum": "{0} + {1}",
    "reduce_prod": "{0} * {1}",
    "reduce_max": "fx_max({0}, {1})",
    "reduce_min": "fx_min({0}, {1})",
    "reduce_any": "{0} || {1}",
    "reduce_all": "{0} && {1}",
}


def dense_steps(dims: Sequence[int]) -> tuple[int, ...]:
    """The steps of an array that has all dimensions."""
    return tuple(prod(dims[d + 1 :]) for d in range(len(dims)))


def total_dtype(reduction: Equation) -> np.dtype:
    """The dtype of threads' totals: that of the result, but float for half precision."""
    result = reduction.outputs[0].aval.dtype
    return np.dtype(np.float32) if functions.is_short(result) else result


def neutral(reduction: Equation, dtype: np.dtype) -> Any:
    """The value that changes no total."""
    name = reduction.primitive.name
    if name in ("reduce_max", "reduce_min"):
        greatest = name == "reduce_min"
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return limits.max if greatest else limits.min
        return greatest if dtype == BOOL else np.inf if greatest else -np.inf
    return name in ("reduce_prod", "reduce_all")
