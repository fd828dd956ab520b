"""`checkpoint`: intermediate values are computed again in the backward pass instead of being kept."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from ..core import pytree, source_info
from ..core.aval import Aval, aval_of
from ..core.errors import StructureError
from ..core.graph import Graph
from ..core.interpreter import boundary, is_plain, opened
from ..core.primitive import Primitive
from ..core.pullback import PullbackRule
from ..core.staging import stage
from ..ops import transpose
from .arguments import unshared
from .jit import apart, as_positions, name_of, staged
from .jvp import push
from .reverse import LinearizeInterpreter, backward
from .vjp import unwrapped
from .vmap import batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Checkpoint(Primitive, PullbackRule):
    """A Graph run as one operation; reverse mode keeps its inputs only."""

    multiple_results = True
    runs_user_code = rules_run_user_code = True
    kept = (1,)

    def __init__(self) -> None:
        super().__init__("checkpoint", lambda xp: lambda *args, graph: graph(*args))

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["graph"].out_avals

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        graph, count = params["graph"], len(primals)
        positions = [i for i, t in enumerate(tangents) if t is not None]
        given = [tangents[i] for i in positions]
        if is_plain(primals) and is_plain(given):
            return push(graph, primals, tangents)
        # Two operations, although both compute the primals: a level that knows these, and not the tangents
        # (`linearize`), must find results that it knows.
        known: list[bool] = []

        def pushed(*values: Any) -> list[Any]:
            moved = dict(zip(positions, values[count:]))
            _, ts = push(graph, values[:count], [moved.get(i) for i in range(count)])
            known[:] = [t is not None for t in ts]
            return [t for t in ts if t is not None]

        avals = [aval_of(p) for p in primals]
        avals += [Aval(avals[i].shape, avals[i].dtype) for i in positions]
        derivative = stage(pushed, avals, graph.name).pruned(effects=False)
        found = iter(self.call(*primals, *given, graph=derivative))
        return self.call(*primals, graph=graph), [next(found) if k else None for k in known]

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        ys = apply(*values, **params)
        kept = [v if n is not None else own(v) for v, n in zip(values, needed)]
        return ys, self, (kept, [n is not None for n in needed], params["graph"])

    def refill(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        values, *others = residuals
        return [operand(i, v) for i, v in enumerate(values)], *others

    def pull(self, ct: Any, values: Sequence[Any], needed: Sequence[bool], graph: Graph) -> list[Any]:
        """The Graph run again, now with its tape, and back."""
        interpreter = LinearizeInterpreter("checkpoint", None)
        tracers = [interpreter.new(v) if n else v for v, n in zip(values, needed)]
        with opened(interpreter):
            pairs = [unwrapped(interpreter, r) for r in graph(*tracers)]
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
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        graph = params["graph"]
        flags: list[bool] = []

        def mapped(*values: Any) -> list[Any]:
            results, found = batch(graph, values, batched, size)
            flags[:] = found
            return results

        inner = stage(mapped, [aval_of(v) for v in values], graph.name)
        return self.call(*values, graph=inner), flags


remat_call = Checkpoint().call


def checkpoint(fun: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
    """`fun`, of which reverse mode keeps the arguments only and computes the rest again: less memory, more time.

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
    static = as_positions(static_argnums)

    @boundary
    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        applied, dynamic, _ = apart(fun, args, static, "checkpoint")
        leaves = pytree.leaves((dynamic, kwargs))
        graph, out_structure = staged(
            applied, dynamic, kwargs, "checkpoint", name_of(fun), source_info.caller()
        )
        closed, captured = graph.closed()
        values = [*captured, *leaves]
        results = unshared(closed(*values), values) if is_plain(values) else remat_call(*values, graph=closed)
        return pytree.unflatten(out_structure, results)

    return checkpointed
