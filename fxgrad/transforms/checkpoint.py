"""`checkpoint`: the backward pass computes intermediate values again, instead of keeping them.

A policy selects those that are kept nevertheless. The backward pass is staged as a Graph of cotangents, arguments and
all values that may be kept. The values that it reads are kept, and the equations that would recompute them are pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast, overload

from .. import ops
from ..core import pytree, source_info
from ..core.aval import Aval, aval_of, is_differentiable
from ..core.common_errors import not_a_function
from ..core.errors import StructureError
from ..core.graph import Equation, Graph, Literal, Var
from ..core.interpreter import api_boundary, is_plain, opened
from ..core.primitive import HigherOrder
from ..core.pullback import OperandPullback, PullbackRule
from ..core.snapshot import snapshot_constants
from ..core.staging import GraphTracer, stage
from ..core.surface import release_all
from ..core.typing import P, R
from ..ops.masked import densify
from ..ops.transpose import transpose_call
from .arguments import admit_or_float0, unshare_results
from .derived_function import derive
from .jit import as_argnums, function_name, jit, split_static, stage_call
from .jvp import jvp_flat
from .reverse import ReverseInterpreter, backward
from .vjp import primal_and_node
from .vmap import vmap_flat


class Checkpoint(HigherOrder, OperandPullback):
    """A Graph run as one operation; reverse mode keeps its inputs, and what the policy says."""

    rules_run_user_code = True

    def __init__(self) -> None:
        super().__init__("checkpoint", lambda xp: lambda *args, graph, policy=None: graph(*args))

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["graph"].out_avals

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Carry out the Graph."""
        return params["graph"](*args)

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
        found = iter(self.call(*primals, *given, **params | {"graph": derivative}))
        return self.call(*primals, **params), [next(found) if k else None for k in known]

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        graph, policy = params["graph"], params.get("policy")
        wanted = tuple([n is not None for n in needed])
        rule = None if policy is None else policy_pullback(graph, policy, wanted)
        if rule is None:
            ys = apply(*values, **params)
            return ys, self, (snapshot_constants(values, needed, snapshot), wanted, graph)
        ys = apply(*values, **params | {"graph": rule.forward})
        operands = snapshot_constants(values, needed, snapshot)
        count = len(graph.outputs)
        return list(ys[:count]), rule, (operands, list(ys[count:]))

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
        return transpose_call(params["graph"], operands, ct)

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
        return self.call(*values, **params | {"graph": inner}), flags


remat_call = Checkpoint().call


class PolicyPullback(PullbackRule):
    """The pullback of a Graph of which some intermediate values are kept: `forward` is the Graph with these as further
    outputs."""

    def __init__(self, graph: Graph, needed: Sequence[bool], kept: Sequence[Var]):
        self.graph, self.needed, self.kept = graph, needed, kept
        self.forward = Graph(graph.inputs, graph.equations, (*graph.outputs, *kept), None, graph.name)

    def pull(self, ct: Any, *residuals: Any) -> list[Any]:
        """Pull back with the residuals (operands, values that were kept)."""
        operands, kept = residuals
        present = tuple(sorted(ct))
        code, found = stage_backward(self.graph, self.needed, present, self.kept)
        results = iter(code(*[densify(ct[i]) for i in present], *operands, *kept))
        return [next(results) if f else None for f in found]


def policy_pullback(graph: Graph, policy: Callable[..., bool], needed: tuple[bool, ...]) -> Any:
    """Return the PolicyPullback of a Graph, or None if nothing is kept. It is made once."""
    key = ("policy", policy, needed)
    if key not in graph.cache:
        dependent = graph.dependents(graph.inputs)
        allowed = [
            v
            for e in graph.equations
            if not e.effectful and policy(e.primitive, *[a.aval for a in e.inputs], **e.params)
            for v in e.outputs
            if v in dependent
        ]
        present = tuple([i for i, a in enumerate(graph.outputs) if is_differentiable(a.aval.dtype)])
        backward_graph, _ = stage_backward(graph, needed, present, allowed)
        read = backward_graph.used_inputs()[len(present) + len(graph.inputs) :]
        kept = [v for v, r in zip(allowed, read) if r]
        graph.cache[key] = PolicyPullback(graph, needed, kept) if kept else None
    return graph.cache[key]


def stage_backward(
    graph: Graph, needed: Sequence[bool], present: tuple[int, ...], kept: Sequence[Var]
) -> tuple[Graph, list[bool]]:
    """Stage (*cotangents of the outputs `present`, *inputs, *values `kept`) → cotangents of the inputs, and tell for
    which inputs there is one. What the values that were kept are computed from is left out where nothing else reads it.
    """
    key = ("backward", tuple(needed), present, tuple(kept))
    if key in graph.cache:
        return graph.cache[key]
    extended = Graph(graph.inputs, graph.equations, (*graph.outputs, *kept), None, graph.name)
    replaced: dict[Var, Var] = {}
    found: list[bool] = []

    def backward_fun(*given: Any) -> list[Any]:
        cts = dict(zip(present, given))
        values = given[len(present) : len(present) + len(graph.inputs)]
        interpreter = ReverseInterpreter("checkpoint", None)
        tracers = [interpreter.new(v) if n else v for v, n in zip(values, needed)]
        with opened(interpreter):
            pairs = [primal_and_node(interpreter, r) for r in extended(*tracers)]
        # The variables of kept values, and the inputs that stand for them.
        for (primal, _), tracer in zip(pairs[len(graph.outputs) :], given[len(given) - len(kept) :]):
            if type(primal) is GraphTracer:
                replaced[primal.variable] = tracer.variable
        seeds = [(node, cts[i]) for i, (_, node) in enumerate(pairs[: len(graph.outputs)]) if i in cts]
        results = iter(backward(seeds, [t.node for t, n in zip(tracers, needed) if n], True))
        pulled = [next(results) if n else None for n in needed]
        found[:] = [ct is not None for ct in pulled]
        return [ct for ct in pulled if ct is not None]

    avals = [Aval(graph.outputs[i].aval.shape, graph.outputs[i].aval.dtype) for i in present]
    staged = stage(backward_fun, [*avals, *graph.in_avals, *[v.aval for v in kept]], graph.name)
    for var in staged.inputs:
        replaced.pop(var, None)

    def substitute(atoms: Sequence[Any]) -> list[Any]:
        return [a if type(a) is Literal else replaced.get(a, a) for a in atoms]

    equations = [
        Equation(e.primitive, substitute(e.inputs), e.outputs, e.params, e.site, e.quiet)
        for e in staged.equations
    ]
    staged = Graph(staged.inputs, equations, substitute(staged.outputs), staged.captured, staged.name).prune()
    graph.cache[key] = staged, found
    return staged, found


def checkpoint_segment(graph: Graph, policy: Callable[..., bool] | None) -> Graph:
    """Return the Graph of a segment between decisions as one step, of which reverse mode keeps the inputs. One with
    effects stays as it is: they happen once."""
    if not graph.equations or any(equation.effectful for equation in graph.equations):
        return graph
    closed, _ = graph.lift_captured()
    params = {"graph": closed} if policy is None else {"graph": closed, "policy": policy}

    def run(*values: Any) -> Any:
        return remat_call(*values, **params)

    (step,) = stage(run, closed.in_avals, graph.name).equations
    inputs = [*graph.captured, *graph.inputs]
    whole = Equation(step.primitive, inputs, graph.outputs, step.params, graph.equations[-1].site)
    return Graph(graph.inputs, [whole], graph.outputs, graph.captured, graph.name)


@api_boundary
def checkpoint_name(x: Any, name: str) -> Any:
    """Return `x`, an intermediate value of any shape and dtype, under a name that policies of `checkpoint` know.

    >>> fx.checkpoint_name(2.0, "hidden")
    2.0
    """
    return pytree.map(
        lambda v: ops.checkpoint_name(admit_or_float0(v, "checkpoint_name: the argument"), label=name), x
    )


@overload
def checkpoint(
    fun: Callable[P, R],
    *,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
    prevent_cse: bool = True,
) -> Callable[P, R]: ...
@overload
def checkpoint(
    fun: None = None,
    *,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
    prevent_cse: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@api_boundary
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
    prevent_cse: bool = True,
) -> Any:
    """Return `fun` as a function of which reverse mode keeps only the arguments; the backward pass computes the rest
    again. It takes less memory and more time.

    `fun` is staged anew at every call, with what it closes over as it is then. Python's `if` and `while` may depend
    on static arguments only. Of a `jit(f, control="follow")`, in which they depend on values, the result is another:
    reverse mode keeps what there is at each decision, and computes what lies between again.

    Args:
        fun: a function of pytrees of arrays. Without it the result is a decorator.
        policy: which intermediate values are kept all the same: one of `fx.checkpoint_policies`, or a function
            (primitive, *avals, **params) → bool. Of these, the ones that the backward pass reads are kept.
        static_argnums: positional arguments that are not traced.
        prevent_cse: for programs written for JAX; compiled code merges what is computed again with what was computed
            before only if it is of a few thousand entries, whatever this says.

    Raises:
        StructureError: the argument is no function.

    >>> f = fx.checkpoint(lambda x: fnp.sin(fnp.sin(x)))
    >>> bool(fx.grad(f)(1.0) == fx.grad(lambda x: fnp.sin(fnp.sin(x)))(1.0))
    True
    >>> g = fx.checkpoint(lambda w, x: fnp.tanh(x @ w), policy=fx.checkpoint_policies.dots_saveable)
    """
    if fun is None:
        return partial(checkpoint, policy=policy, static_argnums=static_argnums, prevent_cse=prevent_cse)
    if not callable(fun):
        raise not_a_function("checkpoint", fun)
    if policy is not None and not callable(policy):
        raise StructureError(
            f"checkpoint: policy is a {type(policy).__name__}, not a function",
            hint="choose one of fx.checkpoint_policies",
        )
    static = as_argnums(static_argnums, "checkpoint")
    if isinstance(fun, jit) and fun.options["control"] == "follow":
        wrap, remake = partial(checkpoint_segment, policy=policy), partial(checkpoint, policy=policy)
        return cast(Any, fun).wrap_segments(wrap, remake, static)
    policies = {} if policy is None else {"policy": policy}

    @api_boundary
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
            else release_all(remat_call(*values, graph=closed, **policies))
        )
        return pytree.unflatten(out_structure, results)

    return derive(
        checkpointed_fun,
        checkpoint,
        fun,
        policy=policy,
        static_argnums=static_argnums,
        prevent_cse=prevent_cse,
    )


remat = checkpoint  # JAX's other name
