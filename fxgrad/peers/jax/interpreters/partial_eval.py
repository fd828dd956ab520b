"""`jax.interpreters.partial_eval`: names of staged programs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....core.graph import Graph, Var
from ....core.staging import GraphTracer as DynamicJaxprTracer
from ..arrays import array_of, value_of
from ..jaxprs import Jaxpr, make_jaxpr
from ..linear_util import WrappedFun

__all__ = [
    "DynamicJaxprTracer", "PartialVal", "custom_partial_eval_rules", "dce_rules", "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]  # fmt: skip

# Entries have no effect: equations that nobody needs are dropped, and pullbacks keep what they read.
custom_partial_eval_rules: dict[Any, Any] = {}
dce_rules: dict[Any, Any] = {}


def trace_to_jaxpr_dynamic(fun: WrappedFun, in_avals: Any, *options: Any, **more: Any) -> Any:
    """Stage a function of arrays with these avals; return the program, its results' avals and what it closes over."""
    closed = make_jaxpr(fun.call_wrapped)(*in_avals)
    return closed.jaxpr, closed.out_avals, closed.consts


class PartialVal(NamedTuple):
    """A value that is known, or the aval of one that is not."""

    aval: Any
    const: Any

    @staticmethod
    def unknown(aval: Any) -> PartialVal:
        """Return a value of which the aval is known."""
        return PartialVal(aval, None)

    @staticmethod
    def known(const: Any) -> PartialVal:
        """Return a value that is known."""
        return PartialVal(None, const)


def trace_to_jaxpr_nounits(fun: WrappedFun, pvals: Any, instantiate: bool = False) -> Any:
    """Stage a function of unknown values; return the program of the results that depend on them, all results as known
    or unknown, and what the program closes over."""
    closed = make_jaxpr(fun.call_wrapped)(*[p.aval for p in pvals])
    graph, inputs = closed.jaxpr.graph, closed.jaxpr.invars
    moving = graph.dependents(inputs)
    depends = [type(v) is Var and (instantiate or v in moving) for v in graph.outputs]
    still = [v for v, d in zip(graph.outputs, depends) if not d]
    consts = closed.jaxpr.constvars
    known = iter(Graph(consts, graph.equations, still).prune(False)(*map(value_of, closed.consts)))
    found = [
        PartialVal.unknown(a) if d else PartialVal.known(array_of(next(known)))
        for a, d in zip(closed.out_avals, depends)
    ]
    rest = Graph(graph.inputs, graph.equations, [v for v, d in zip(graph.outputs, depends) if d])
    return Jaxpr.of_graph(rest, len(consts)), found, closed.consts
