"""`checkpoint`: the backward pass computes intermediate values again, instead of keeping them."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from ..core import pytree, source_info
from ..core.aval import Aval, aval_of
from ..core.errors import StructureError
from ..core.graph import Graph
from ..core.interpreter import api_boundary, is_plain, opened
from ..core.primitive import HigherOrder
from ..core.pullback import OperandPullback
from ..core.snapshot import snapshot_constants
from ..core.staging import stage
from ..core.surface import release_all
from ..ops import transpose
from .arguments import unshare_results
from .jit import as_argnums, function_name, split_static, stage_call
from .jvp import jvp_flat
from .reverse import ReverseInterpreter, backward
from .vjp import primal_and_node
from .vmap import vmap_flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Checkpoint(HigherOrder, OperandPullback):
    """A Graph run as one operation; reverse mode keeps its inputs only."""

    rules_run_user_code = True

    def __init__(self) -> None:
        super().__init__("checkpoint", lambda xp: lambda *args, graph: graph(*args))

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["graph"].out_avals

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        graph, count = params["graph"], len(primals)
        positions = [i for i, t in enumerate(tangents) if t is not None]
        given = [tangents[i] for i in positions]
        if is_plain(primals) and is_plain(given):
            return jvp_flat(graph, primals, tangents)
        # Two operations, although both compute the primals: a level that knows these, and not the tangents
        # (`vjp`), must find results that it knows.
        known: list[bool] = []

        def graph_tangents(*values: Any) -> list[Any]:
            moved = dict(zip(positions, values[count:]))
            _, ts = jvp_flat(graph, values[:count], [moved.get(i) for i in range(count)])
            known[:] = [t is not None for t in ts]
            return [t for t in ts if t is not None]

        avals = [aval_of(p) for p in primals]
        avals += [Aval(avals[i].shape, avals[i].dtype) for i in positions]
        derivative = stage(graph_tangents, avals, graph.name).prune(keep_effects=False)
        found = iter(self.call(*primals, *given, graph=derivative))
        return self.call(*primals, graph=graph), [next(found) if k else None for k in known]

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        ys = apply(*values, **params)
        operands = snapshot_constants(values, needed, snapshot)
        return ys, self, (operands, [n is not None for n in needed], params["graph"])

    def pull(self, ct: Any, values: Sequence[Any], needed: Sequence[bool], graph: Graph) -> list[Any]:
        """Run the Graph again, now in reverse mode, and walk its nodes backward."""
        interpreter = ReverseInterpreter("checkpoint", None)
        tracers = [interpreter.new(v) if n else v for v, n in zip(values, needed)]
        with opened(interpreter):
            pairs = [primal_and_node(interpreter, r) for r in graph(*tracers)]
        seeds = [(node, ct[i]) for i, (_, node) in enumerate(pairs) if node is not None and i in ct]
        found = iter(backward(seeds, [t.node for t, n in zip(tracers, needed) if n], True))
        return [next(found) if n else None for n in needed]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        graph = params["graph"]
        linear = [i for i, v in enumerate(operands) if type(v) is Aval]
        known = [i for i in range(len(operands)) if i not in linear]
        ordered = Graph(
            [graph.inputs[i] for i in (*known, *linear)], graph.equations, graph.outputs, graph.captured
        )
        found = dict(
            zip(linear, transpose.transpose_graph(ordered, [operands[i] for i in known], len(linear), ct))
        )
        return [found.get(i) for i in range(len(operands))]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        graph = params["graph"]
        flags: list[bool] = []

        def batched_fun(*values: Any) -> list[Any]:
            results, found = vmap_flat(graph, values, is_batched, size)
            flags[:] = found
            return results

        inner = stage(batched_fun, [aval_of(v) for v in values], graph.name)
        return self.call(*values, graph=inner), flags


remat_call = Checkpoint().call


def checkpoint(fun: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
    """Return `fun` as a function of which reverse mode keeps the arguments only, and computes the rest again:
    less memory, more time.

    `fun` is staged anew at every call, with what it closes over as it is then. Python's `if` and `while` may depend
    on static arguments only.

    Args:
        fun: a function of pytrees of arrays.
        static_argnums: positional arguments that are not traced.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> f = fx.checkpoint(lambda x: fnp.sin(fnp.sin(x)))
    >>> bool(fx.grad(f)(1.0) == fx.grad(lambda x: fnp.sin(fnp.sin(x)))(1.0))
    True
    """
    if not callable(fun):
        raise StructureError(f"checkpoint takes a function, not a {type(fun).__name__}")
    static = as_argnums(static_argnums)

    @api_boundary
    @wraps(fun)
    def checkpointed_fun(*args: Any, **kwargs: Any) -> Any:
        applied, dynamic, _ = split_static(fun, args, static, "checkpoint")
        leaves = pytree.leaves((dynamic, kwargs))
        graph, out_structure = stage_call(
            applied, dynamic, kwargs, "checkpoint", function_name(fun), source_info.user_frame()
        )
        closed, captured = graph.lift_captured()
        values = [*captured, *leaves]
        results = (
            unshare_results(closed(*values), values)
            if is_plain(values)
            else release_all(remat_call(*values, graph=closed))
        )
        return pytree.unflatten(out_structure, results)

    return checkpointed_fun
