"""A group of elementwise equations on a GPU, through CuPy: compiled when it is first used, one launch for each way
through its space."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...core.graph import Graph
from ..codegen.source import compile_graph
from ..row_space import uses_reductions
from ..space import Space
from .functions import covers
from .source import BLOCK, OPTIONS, write_group

if TYPE_CHECKING:
    from .source import Kernel

FREE = ("--std=c++17", "--use_fast_math")  # where arithmetic may be changed
REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min",
          "reduce_any": "any", "reduce_all": "all"}  # fmt: skip


class CudaGroup:
    """The equations of a Graph as a function of CuPy arrays: positional operands → a list of results. What cannot be
    written in CUDA C++ is computed operation by operation."""

    __slots__ = ("code", "freedom", "launches", "space")

    def __init__(self, graph: Graph, freedom: str = ""):
        graph = Graph(graph.inputs, graph.equations, graph.outputs)  # which does not keep this in its cache
        self.space, self.freedom = Space(graph), freedom
        self.launches: list[tuple[Kernel, Any]] = []
        is_written = all(map(covers, graph.equations)) and not uses_reductions(graph)
        self.code = None if is_written else compile_graph(graph, False)

    def compile(self, cupy: Any) -> None:
        """Make the kernels; where that fails, operations are computed one by one."""
        text, kernels = write_group(self.space)
        try:
            module = cupy.RawModule(code=text, options=FREE if self.freedom else OPTIONS)
            self.launches = [(kernel, module.get_function(kernel.name)) for kernel in kernels]
        except Exception as error:
            graph = self.space.graph
            self.code = compile_graph(graph, False)
            warnings.warn(
                f"{len(graph.equations)} operations are no kernel, since compiling it failed: {error}",
                RuntimeWarning,
                stacklevel=2,
            )

    def __call__(self, cupy: Any, *operands: Any) -> list[Any]:
        if self.code is None and not self.launches:
            self.compile(cupy)
        if self.code is not None:
            return self.code(*operands)
        graph = self.space.graph
        arrays = [
            cupy.ascontiguousarray(cupy.asarray(x, dtype=v.aval.dtype))
            for x, v in zip(operands, graph.inputs)
        ]
        results: list[Any] = [None] * len(graph.outputs)
        for kernel, launch in self.launches:
            written = {
                i: cupy.empty(kernel.way.totals, kernel.totals[i])
                if i in kernel.totals
                else cupy.empty(graph.outputs[i].aval.shape, graph.outputs[i].aval.dtype)
                for i in kernel.outputs
            }
            blocks = -(-kernel.way.threads // BLOCK)
            launch((blocks,), (BLOCK,), (*arrays, *written.values()))
            for i, array in written.items():
                results[i] = self.finish(cupy, kernel, i, array) if i in kernel.totals else array
        return results

    def finish(self, cupy: Any, kernel: Kernel, i: int, totals: Any) -> Any:
        """Return a result from the totals of the threads."""
        equation, aval = self.space.reductions[i].equation, self.space.graph.outputs[i].aval
        reduce = getattr(cupy, REDUCE[equation.primitive.name])
        result = reduce(totals, axis=0 if kernel.way.leading else 1)
        return cupy.asarray(cupy.reshape(result, aval.shape), dtype=aval.dtype)
