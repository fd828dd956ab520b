"""Row-wise groups as CUDA C++: neighbouring threads of a block share a row, and read it once for each stage of its
reductions.

    for (step = lane; step < 1000; step += 256) t0 = fx_max(t0, x[row * 1000 + step])        stage 0
    m0 = the total of all lanes, by halves, in the memory that the block shares
    for (…) t1 = t1 + exp(x[…] - m0)                                                         stage 1
    m1 = …
    for (…) r0[…] = exp(x[…] - m0) / m1                                                      stage 2

A stage recomputes the row values that it needs from the operands, which are in the cache by then. The order of
additions depends on the shape only.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from ...core.graph import Equation, Literal
from ..row_space import MOVES, RowSpace, strides
from ..space import REDUCTIONS
from . import functions
from .functions import REGISTERS
from .kernel import BLOCK, Kernel, KernelWriter, combine, join, needed_for, neutral, total_dtype


class RowWriter(KernelWriter):
    """The kernel of a group that works row by row. `lanes` are the threads of a row, a power of two."""

    def __init__(self, space: RowSpace, by_value: Container[int]):
        super().__init__(space.graph, space.size, by_value)
        self.space = space
        self.lanes = min(BLOCK, 1 << (space.width - 1).bit_length())
        self.outer = space.dims
        self.numbers = {e: k for k, e in enumerate(self.graph.equations)}
        self.shared: dict[str, str] = {}  # types of totals, and the name of the memory that the block shares

    def write(self, name: str) -> tuple[str, Kernel]:
        """Return the text of the kernel and its launch parameters."""
        graph, space, index = self.graph, self.space, self.index
        rows = BLOCK // self.lanes
        used = {a for e in graph.equations for a in e.inputs if type(a) is not Literal} | {*graph.outputs}
        body = self.positions()
        body += [
            self.load(k, self.place(v, "0"))
            for k, v in enumerate(graph.inputs)
            if v in used and not space.steps[v][1]
        ]
        body += self.stages()
        head = [
            self.head(name, [(i, v.aval.dtype) for i, v in enumerate(graph.outputs)]),
            *[f"    __shared__ {type} {kept}[{BLOCK}];" for type, kept in self.shared.items()],
            f"    const unsigned int lane = threadIdx.x % {self.lanes};",
            f"    const {index} mine = blockIdx.x * ({index}){rows} + threadIdx.x / {self.lanes};",
            f"    const {index} row = mine < {space.rows} ? mine : 0;  // the others wait with the rest",
            f"    const {index} width = mine < {space.rows} ? {space.width} : 0;",
        ]
        kernel = Kernel(name, -(-space.rows // rows), tuple(range(len(graph.outputs))), {})
        return "\n".join([*head, *[f"    {line}" for line in body], "}", ""]), kernel

    def stages(self) -> list[str]:
        """Return the statements of all stages. Those that compute a number of the row stand before the first stage
        that needs it."""
        lines: list[str] = []
        waiting = list(self.graph.equations)
        outputs = {v: i for i, v in enumerate(self.graph.outputs)}
        while waiting:
            ready = [e for e in waiting if not self.is_whole(e.outputs[0]) and self.is_known(e)]
            for e in ready:
                lines += self.compute_number(e)
            if ready:
                waiting = [e for e in waiting if e not in ready]
                continue
            reductions = [e for e in waiting if e.primitive.computes in REDUCTIONS and self.can_reduce(e)]
            if not reductions:
                break  # what is left are whole values
            lines += self.reduce(reductions)
            waiting = [e for e in waiting if e not in reductions]
        whole = [v for v in outputs if self.is_whole(v)]
        if whole:
            stores = [
                f"r{i}[row * ({self.index}){self.space.width} + step] = "
                f"{functions.store('{}', v.aval.dtype)};"
                for v, i in outputs.items()
                if v in whole
            ]
            lines += self.run_through(
                whole, lambda: [s.replace("{}", self.operand(v)) for v, s in zip(whole, stores)]
            )
        for v, i in outputs.items():
            if not self.is_whole(v):
                text = functions.store(self.operand(v), v.aval.dtype)
                lines.append(f"if (lane == 0 && width) r{i}[row] = {text};")
        return lines

    def is_whole(self, v: Any) -> bool:
        """Whether a value has an entry for each of the space."""
        return v.aval.shape == self.space.shape

    def is_known(self, e: Equation) -> bool:
        """Whether all operands of an equation are numbers of the row that have a name."""
        if e.primitive.computes in REDUCTIONS:
            return False
        return all(type(a) is Literal or a in self.names for a in e.inputs)

    def can_reduce(self, e: Equation) -> bool:
        """Whether a reduction needs only operands and numbers that are known."""
        needed = needed_for([x for x in self.graph.equations if x.outputs[0] not in self.names], e.inputs)
        return all(self.is_whole(x.outputs[0]) for x in needed)

    def compute_number(self, e: Equation) -> list[str]:
        """Return the statements that compute a number of the row."""
        if e.primitive.computes in MOVES:
            self.names[e.outputs[0]] = self.operand(e.inputs[0])
            return []
        return [self.compute(e, self.numbers[e])]

    def run_through(self, values: Iterable[Any], use: Any) -> list[str]:
        """Return the loop through a row that computes whole values, and then has the statements of `use()`."""
        known = dict(self.names)
        equations = needed_for([e for e in self.graph.equations if e.outputs[0] not in known], values)
        wanted = {a for e in equations for a in e.inputs} | {*values}
        lines = [
            self.load(k, self.place(v, "step"))
            for k, v in enumerate(self.graph.inputs)
            if v in wanted and self.space.steps[v][1]
        ]
        lines += [self.compute(e, self.numbers[e]) for e in equations]
        lines += use()
        self.names = known
        head = f"for ({self.index} step = lane; step < width; step += {self.lanes}) {{"
        return [head, *[f"    {line}" for line in lines], "}"]

    def reduce(self, reductions: list[Equation]) -> list[str]:
        """Return the statements that reduce whole values in one loop; the totals get names."""
        names = {e: f"t{self.numbers[e]}" for e in reductions}
        lines = [f"{REGISTERS[total_dtype(e).name]} {t} = {neutral(e)};" for e, t in names.items()]
        lines += self.run_through(
            [e.inputs[0] for e in reductions],
            lambda: [self.accumulate(e, t) for e, t in names.items()],
        )
        for e, total in names.items():
            lines += self.combine_lanes(e, total)
        return lines

    def combine_lanes(self, e: Equation, total: str) -> list[str]:
        """Return the statements that make one number of the totals of all lanes, which every lane then has."""
        result, type = e.outputs[0], REGISTERS[total_dtype(e).name]
        kept = self.shared.setdefault(type, f"kept_{len(self.shared)}")
        name = self.names[result] = f"m{self.numbers[e]}"
        text = f"{kept}[threadIdx.x - lane]"
        if functions.is_short(result.aval.dtype):
            text = functions.load(functions.store(text, result.aval.dtype), result.aval.dtype)
        both = combine(e, f"{kept}[threadIdx.x]", f"{kept}[threadIdx.x + half]")
        return [
            "__syncthreads();  // the last totals have been read",
            f"{kept}[threadIdx.x] = {total};",
            f"for (unsigned int half = {self.lanes // 2}; half; half /= 2) {{",
            "    __syncthreads();",
            f"    if (lane < half) {kept}[threadIdx.x] = {both};",
            "}",
            "__syncthreads();",
            f"const {REGISTERS[result.aval.dtype.name]} {name} = {text};",
        ]

    def positions(self) -> list[str]:
        """Return the statements that find the position of the row along each outer axis, where that is needed."""
        if all(self.is_dense(v) or not any(self.space.steps[v][0]) for v in self.graph.inputs):
            return []
        lines, rest = [], "row"
        for d in range(len(self.outer) - 1, 0, -1):
            lines.append(
                f"const {self.index} d{d} = {rest} % {self.outer[d]}, e{d} = {rest} / {self.outer[d]};"
            )
            rest = f"e{d}"
        return [*lines, f"const {self.index} d0 = {rest};"]

    def is_dense(self, v: Any) -> bool:
        """Whether the rows of an operand follow one another like those of the space."""
        steps, along = self.space.steps[v]
        width = self.space.width if along else 1
        return steps == tuple(step * width for step in strides(self.outer))

    def place(self, v: Any, entry: str) -> str:
        """Return the text of the number of an operand's entry in the row."""
        steps, along = self.space.steps[v]
        inside = [entry] * along
        if self.is_dense(v):
            return join([f"row * ({self.index}){self.space.width}", *inside] if along else ["row"])
        return join([*(f"d{d} * {step}" for d, step in enumerate(steps) if step), *inside])
