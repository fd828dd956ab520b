"""The primitive `gathered`: a chain of products in two forms, as written and by its coefficient; the numbers decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.graph import Graph
from ..core.primitive import Primitive
from ..kernels.codegen.source import compile_graph
from .fusion import fuse


def gathered_kernel(xp: Any) -> Callable[..., Any]:
    def gathered(safe: Any, coefficient: Any, *operands: Any, chain: Graph, short: Graph) -> Any:
        if xp is not np:  # whose numbers are not here
            return chain(*operands)[0]
        if safe:
            return compiled(short)(coefficient, *operands)[0]
        return compiled(chain)(*operands)[0]

    return gathered


def compiled(graph: Graph) -> Callable[..., list[Any]]:
    """The code of a Graph; made once for it."""
    found = graph.cache.get(compiled)
    if found is None:
        found = graph.cache[compiled] = compile_graph(fuse(graph), True)
    return found


class Gathered(Primitive):
    """(safe, coefficient, *operands) → the result of `short`(coefficient, *operands) where that is safe, else that of
    `chain`(*operands). Only code that computes values has it."""

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        return params["chain"].out_avals[0]

    def subgraphs(self, avals: Sequence[Aval], params: dict) -> list[Graph]:
        return [params["chain"]]


GATHERED = Gathered("gathered", gathered_kernel)
