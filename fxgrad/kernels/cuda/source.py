"""A group of elementwise equations as CUDA C++: one kernel for each traversal of its space.

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

A thread that reduces writes its partial total; the array library reduces the totals. The order of additions depends on
the shape only. Arithmetic follows IEEE, as in NumPy: `OPTIONS` forbid fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ...core.graph import Literal
from ..space import REDUCTIONS, Reduction, Space
from . import functions
from .functions import REGISTERS
from .kernel import BLOCK, Kernel, KernelWriter, Totals, join, needed_for, neutral, total_dtype
from .rows import RowWriter

if TYPE_CHECKING:
    import numpy as np

    from ..row_space import RowSpace

OPTIONS = ("--std=c++17", "--fmad=false")
THREADS = 1 << 16  # of a kernel at most where threads have totals
WARP = 32  # threads that read neighbouring entries at once


class Way(NamedTuple):
    """The order in which threads traverse the space: every thread takes the entries first, first + stride, … of one run
    of the reduced dimensions. There are `runs` runs of `length` entries. Without reduction there is one run, and each
    thread has one entry."""

    leading: bool
    runs: int
    length: int
    parts: int

    @property
    def threads(self) -> int:
        return self.runs * self.parts

    def totals(self, dtype: np.dtype) -> Totals:
        """The threads' totals."""
        shape = (self.parts, self.runs) if self.leading else (self.runs, self.parts)
        return Totals(shape, dtype, 0 if self.leading else 1)


def way_of(space: Space, reduction: Reduction | None) -> Way:
    """Return how to run through a space for a reduction, or for results of its shape."""
    if reduction is None:
        return Way(False, 1, space.size, space.size)
    leading = reduction.reduced[0] and not reduction.reduced[-1]
    length = prod(n for n, is_reduced in zip(space.dims, reduction.reduced) if is_reduced)
    runs = space.size // length
    most = max(THREADS // runs, 1 if leading else WARP)
    parts = 1
    while parts * 2 <= most and parts * 16 <= length:
        parts *= 2
    return Way(leading, runs, length, parts)


def write_group(space: Space | RowSpace, by_value: Container[int] = ()) -> tuple[str, list[Kernel]]:
    """Return the source of a group that has entries, all of whose equations `functions.covers`, and its kernels.

    Args:
        space: the space of the group.
        by_value: the numbers of the operands that are handed over by value.
    """
    if not isinstance(space, Space):
        text, kernel = RowWriter(space, by_value).write("run0")
        texts, kernels = [text], [kernel]
    else:
        ways: dict[tuple, list[int]] = {}
        for i, reduction in space.reductions.items():
            ways.setdefault(reduction.reduced, []).append(i)
        groups = list(ways.values()) or [[]]
        groups[0] = [*space.results, *groups[0]]  # written on one of the ways that are taken anyway
        written = [Writer(space, outputs, by_value).write(f"run{n}") for n, outputs in enumerate(groups)]
        texts, kernels = [text for text, _ in written], [kernel for _, kernel in written]
    variables = [v for e in space.graph.equations for v in (*e.inputs, *e.outputs)]
    short = any(functions.is_short(v.aval.dtype) for v in variables)
    return "\n".join([functions.PRELUDE, *[functions.HALF] * short, *texts]), kernels


class Writer(KernelWriter):
    """The kernel for some outputs of a group, which takes one way."""

    def __init__(self, space: Space, outputs: Sequence[int], by_value: Container[int]):
        super().__init__(space.graph, space.size, by_value)
        reductions = {i: space.reductions[i] for i in outputs if i in space.reductions}
        self.space, self.outputs = space, outputs
        self.way = way_of(space, next(iter(reductions.values()), None))
        self.reductions = {i: reduction.equation for i, reduction in reductions.items()}
        self.equations = needed_for(space.graph.equations, [space.graph.outputs[i] for i in outputs])

    def write(self, name: str) -> tuple[str, Kernel]:
        """Return the text of the kernel and its launch parameters."""
        way, index, graph = self.way, self.index, self.graph
        totals = {i: way.totals(total_dtype(e)) for i, e in self.reductions.items()}
        stored = [(i, totals[i].dtype if i in totals else graph.outputs[i].aval.dtype) for i in self.outputs]
        lines = [
            self.head(name, stored),
            f"    const {index} thread = blockIdx.x * ({index})blockDim.x + threadIdx.x;",
            f"    if (thread >= {way.threads}) return;",
        ]
        lines += [
            f"    {REGISTERS[totals[i].dtype.name]} t{i} = {neutral(e)};" for i, e in self.reductions.items()
        ]
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
        kernel = Kernel(name, -(-way.threads // BLOCK), tuple(self.outputs), totals)
        return "\n".join([*lines, "}", ""]), kernel

    def body(self) -> list[str]:
        """Return the statements for the entry i."""
        lines = self.positions()
        used = {a for e in self.equations for a in e.inputs if type(a) is not Literal}
        used.update(self.graph.outputs[i] for i in self.outputs)
        lines += [
            self.load(k, self.place(steps))
            for k, (v, steps) in enumerate(zip(self.graph.inputs, self.space.steps))
            if v in used
        ]
        lines += [
            self.compute(e, k) for k, e in enumerate(self.equations) if e.primitive.computes not in REDUCTIONS
        ]
        for i in self.outputs:
            v = self.graph.outputs[i]
            if i in self.reductions:
                lines.append(self.accumulate(self.reductions[i], f"t{i}"))
            else:
                lines.append(f"r{i}[i] = {functions.store(self.operand(v), v.aval.dtype)};")
        return lines

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
        return join(f"d{d} * {step}" for d, step in enumerate(steps) if step)


def dense_steps(dims: Sequence[int]) -> tuple[int, ...]:
    """The steps of an array that has all dimensions."""
    return tuple(prod(dims[d + 1 :]) for d in range(len(dims)))
