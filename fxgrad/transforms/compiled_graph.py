"""Staged functions with their compiled code: what `jit` keeps for arguments of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core import pytree
from ..core.arrays import cuda_library, namespace_of
from ..core.costs import COMPILATION
from ..core.errors import FxgradError, reword
from ..core.graph import Graph, Var
from ..core.interpreter import is_plain
from ..core.primitive import KERNEL_ERRORS
from ..core.surface import release_all
from ..kernels.codegen.direct import makes_memory
from ..kernels.codegen.source import compile_graph, failing_equation
from ..kernels.native.tier import Tier
from ..passes.functions import copy_graph, fuse_runs, small_time
from ..passes.fusion import fuse, relax
from ..passes.table import optimize
from .arguments import unshare_results

QUESTIONS = 16  # how often is asked for machine code while NumPy computes for as long as compiling takes


class CompiledGraph:
    """A Graph with its compiled functions: one over NumPy kernels (None where the Graph captured arrays of
    another library or tracers), and one for any values.

    `optimized`: the Graph after the passes, which computes values. `traced` is of the Graph as it was staged, which is
    what derivatives and batches are taken of; it is compiled when it is first needed.
    `code`: what computes values of NumPy once that is settled: `plain`, or, after it has run for long enough, code in
    which operations on small arrays are machine code.
    `pause`: how many calls are left until `tier` is asked again for that, `calls` how many there are between two times.
    `guard`: made when the code is used again; see `transforms.guard`.
    `acts`: whether calls have effects.
    `results_may_share`: the results of `plain` may be arguments, captured values, views of these, or one array twice.
    """

    __slots__ = (
        *("captured_code", "cuda_graph", "fastmath", "graph", "grouped_code", "guard", "optimized", "plain"),
        *("acts", "calls", "code", "cost", "pause", "results_may_share", "structure", "tier", "traced_code"),
    )

    graph: Graph
    structure: Any
    acts: bool
    optimized: Graph
    fastmath: bool
    cuda_graph: bool
    results_may_share: bool

    def __init__(self, graph: Graph, structure: Any, fastmath: bool = False, cuda_graph: bool = False):
        self.graph, self.structure, self.acts = graph, structure, graph.acts
        self.guard: Any = None
        self.plain: Any
        only_numpy = all(namespace_of(v) is np for v in graph.captured.values())
        self.optimized = optimize(graph) if only_numpy else graph
        if fastmath:
            self.optimized = relax(self.optimized)
        self.plain = compile_graph(self.optimized, True, scalars=True) if only_numpy else None
        self.traced_code: Any = None
        self.grouped_code: Any = None
        self.captured_code: Any = None
        self.fastmath, self.cuda_graph = fastmath, cuda_graph
        self.results_may_share = may_share(self.optimized)
        self.code, self.tier = self.plain, None
        self.cost = small_time(self.optimized) if only_numpy and not self.acts else 0.0
        if self.cost:
            make = partial(make_native, copy_graph(self.optimized), fastmath)
            name = f"a function of {len(self.optimized.equations)} operations"
            self.tier = Tier(make, 2 * COMPILATION, name)
            self.code = None
            self.calls, self.pause = max(int(self.tier.price / (QUESTIONS * self.cost)), 1), 1

    @property
    def captured(self) -> dict[Any, Any]:
        """The values from outside."""
        return self.graph.captured

    def choose_code(self) -> Callable[..., list[Any]]:
        """The code for a call with values of NumPy while it is not settled."""
        assert self.tier is not None
        made = self.tier.ask(self.cost * self.calls)
        self.pause = self.calls
        if made is not None:
            self.code, self.results_may_share = made
        elif self.tier.failure is not None:
            self.code = self.plain
        return self.code or self.plain

    @property
    def traced(self) -> Any:
        """The code for any values."""
        if self.traced_code is None:
            self.traced_code = compile_graph(self.graph, False)
        return self.traced_code

    def code_for(self, leaves: Sequence[Any], captured: bool = True) -> Any:
        """The code for values that are no plain ones. For arrays on a GPU groups of operations are kernels in it, and
        with `cuda_graph` it is a CUDA graph, unless it is not to be `captured`."""
        library = cuda_library(leaves)
        if library is None:
            return self.traced
        if self.grouped_code is None:
            from ..passes.cuda import CUDA  # for whoever has a GPU

            fused = fuse(self.graph, CUDA)
            self.grouped_code = compile_graph(relax(fused) if self.fastmath else fused, False)
        if not (self.cuda_graph and captured):
            return self.grouped_code
        if self.captured_code is None:
            from ..kernels.cuda.capture import CapturedFunction

            self.captured_code = CapturedFunction(self.grouped_code, library)
        return self.captured_code

    def compute(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the flat results for flat arguments; they may share memory."""
        if self.plain is None or not is_plain(values):
            return self.code_for(values)(*values)
        code = self.code
        if code is None:  # not settled: as in `jit`
            self.pause -= 1
            code = self.plain if self.pause > 0 else self.choose_code()
        try:
            return code(*values)
        except KERNEL_ERRORS as error:
            self.raise_with_location(error, code)

    def run(self, leaves: Sequence[Any], observe: Callable[[Any], Any] = lambda code: code) -> Any:
        """Return the result for flat arguments of this kind, of code that `observe` makes of the code for NumPy."""
        if self.plain is None or not is_plain(leaves):
            code = self.code_for(leaves, captured=False)  # whose steps can be seen
            return pytree.unflatten(self.structure, release_all(code(*leaves)))
        code = observe(self.plain)
        try:
            results = code(*leaves)
        except KERNEL_ERRORS as error:
            self.raise_with_location(error, code)
        return pytree.unflatten(
            self.structure, unshare_results(results, [*leaves, *self.optimized.captured.values()])
        )

    def raise_with_location(self, error: Exception, code: Any) -> NoReturn:
        """Raise the error of a kernel that was called by `code`, with the operation and the user's line at which it
        was staged; raise the user's own errors as they are."""
        equation = failing_equation(error, code)
        if equation is None or equation.primitive.errors_are_users or isinstance(error, FxgradError):
            raise error
        operands = [a.aval for a in equation.inputs]
        raise reword(error, equation.primitive.name, operands, equation.site) from error


class NativeCode(NamedTuple):
    """Code in which runs of small equations are machine code, and whether its results may share memory."""

    code: Callable[..., list[Any]]
    results_may_share: bool


def make_native(graph: Graph, fastmath: bool) -> NativeCode:
    """Compile a Graph so that runs of small equations are machine code."""
    graph = fuse_runs(graph, fastmath)
    return NativeCode(compile_graph(graph, True, scalars=True), may_share(graph))


def may_share(graph: Graph) -> bool:
    """Whether results may be arguments, captured values, views of these, or one array twice."""
    fresh = {v for e in graph.equations if makes_memory(e) for v in e.outputs}
    outputs = [v for v in graph.outputs if type(v) is Var]  # the others are numbers
    return len({*outputs}) < len(outputs) or not fresh.issuperset(outputs)
