"""The primitive `fused`: a group of elementwise equations executed as one, which every transform treats as its
Graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import cuda_library
from ..core.aval import Aval
from ..core.costs import LOCKED_ENTRIES
from ..core.graph import Equation, Graph
from ..core.interpreter import CURRENT, is_plain
from ..core.primitive import Primitive
from ..kernels.codegen.source import compile_graph
from ..kernels.group import Group
from ..kernels.row_space import RowSpace
from ..kernels.space import Space


class Fused(Primitive):
    """The equations of the Graph in the param `graph`, on operands of its inputs; a list of its results. `native`:
    machine code can be made of them; `freedom`: what LLVM may then change in floating-point arithmetic; `whole`: they
    are a run, which has no shape in common and is made machine code at once."""

    multiple_results = True
    computes = "fused"

    def group(
        self, graph: Graph, native: bool, freedom: str = "", whole: bool = False
    ) -> Callable[..., list[Any]]:
        """Return the function that carries out a group; made once for its Graph."""
        key = Group, freedom, whole
        found = graph.cache.get(key)
        if found is None:
            make = partial(compile_group, freedom) if native else None
            found = make_run(graph) if whole else Group(graph, make)
            graph.cache[key] = found
        return found

    def kernel(self, *operands: Any, **params: Any) -> list[Any]:
        return self.group(**params)(*operands)

    def cuda_group(self, graph: Graph, native: bool, freedom: str = "") -> Callable[..., list[Any]]:
        """The same for arrays on a GPU."""
        from ..kernels.cuda.group import CudaGroup

        found = graph.cache.get(key := (CudaGroup, freedom))
        if found is None:
            found = graph.cache[key] = CudaGroup(graph, freedom)
        return found

    def make_call(self) -> Callable[..., Any]:
        """The bind function: whoever is no plain kernel sees the equations."""

        def call(*args: Any, **params: Any) -> list[Any]:
            if is_plain(args):
                return self.kernel(*args, **params)
            library = cuda_library(args)
            if library is None:
                return params["graph"](*args)
            run = partial(self.cuda_group(**params), library, *args)
            observer = CURRENT.get().observer
            return run() if observer is None else observer.observe("primitive", self.name, args, run)

        return call

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> tuple[Aval, ...]:
        return tuple(params["graph"].out_avals)

    def subgraphs(self, avals: Sequence[Aval], params: dict) -> list[Graph]:
        return [params["graph"]]


def make_run(graph: Graph) -> Callable[..., list[Any]]:
    """Return a run of equations as machine code, whose results are arrays of their own."""
    from ..kernels.native.call import make_call  # which loads LLVM

    code = compile_graph(Graph(graph.inputs, graph.equations, graph.outputs), True)

    def by_numpy(*operands: Any) -> list[Any]:
        return [y.copy() if type(y) is np.ndarray else y for y in code(*operands)]

    return make_call(graph, by_numpy)


def compile_group(
    freedom: str, space: Space | RowSpace, by_numpy: Callable[..., list[Any]]
) -> Callable[..., list[Any]]:
    """Return a group as machine code: one of few entries as a run of this one equation, which takes less to call."""
    from ..kernels.native import call, runner  # which load LLVM

    if not 0 < space.size < LOCKED_ENTRIES:
        return runner.make_runner(space, by_numpy, freedom)
    graph = space.graph
    inputs, outputs = graph.inputs, graph.outputs
    params = {"graph": Graph(inputs, graph.equations, outputs), "native": True, "freedom": freedom}
    return call.make_call(Graph(inputs, [Equation(FUSED, inputs, outputs, params, None)], outputs), by_numpy)


FUSED = Fused("fused")
