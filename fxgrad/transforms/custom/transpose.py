"""Derivation of one mode of a custom rule from the other: reverse mode transposes the rule for forward mode, and
forward mode transposes the backward rule.

A backward rule is linear in the cotangents, and its transpose is the tangent map. If tangents are abstract, for
instance in the body of a loop, this map is an operation whose transpose is the rule as the user wrote it. So reverse
mode also works for rules that are not linear (clipped gradients, say); only forward mode transposes the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import ops
from ...core.aval import SCALARS, Aval, aval_of, is_differentiable
from ...core.errors import (
    ArrayConversionError,
    ConcretizationError,
    NotDifferentiableError,
    NotLinearError,
    UnsupportedError,
)
from ...core.graph import Graph
from ...core.interpreter import VALUES, is_plain, opened
from ...core.primitive import HigherOrder, Primitive
from ...core.pullback import PullbackRule
from ...core.staging import GraphInterpreter, stage
from ...ops.masked import densify
from ...ops.transpose import transpose_graph
from ..arguments import float0_zeros
from ..jvp import jvp_flat
from ..subgraphs import (
    as_strong_tangent,
    expand_list,
    is_abstract,
    numpy_function,
    select_list,
    split_list,
    tangent_aval,
    zeros_of_aval,
)
from ..vmap import MAPPED_AXIS

if TYPE_CHECKING:
    from .call import RuledCall

# What becomes of a function that needs numbers where it gets traced values.
UNTRACEABLE_ERRORS = (ConcretizationError, ArrayConversionError, UnsupportedError)


def vjp_from_jvp(primitive: Primitive, values: Any, needed: Any, params: dict) -> tuple[Any, Any, Any]:
    """Derive the vjp of an operation from its jvp: stage the tangent map, to be transposed later."""
    positions = [i for i, n in enumerate(needed) if n is not None]
    staging = GraphInterpreter(name=primitive.name.removesuffix("_call"), sites=False)
    inputs = [staging.new(aval_of(values[i])) for i in positions]
    tangents = dict(zip(positions, inputs))
    with opened(staging):
        ys, ts = primitive.jvp(values, [tangents.get(i) for i in range(len(values))], params)
        outputs = [staging.atom(0.0 if t is None else t) for t in ts]
    graph = staging.finish_graph([t.variable for t in inputs], outputs, "tangent map")
    return ys, StagedTangentMap(), (graph, positions, len(values))


class StagedTangentMap(PullbackRule):
    """The rule of a call whose tangent map was staged: its pullback transposes the Graph."""

    def pull(self, ct: Any, graph: Graph, positions: Sequence[int], count: int) -> list[Any]:
        """Run the transpose of the tangent map."""
        cts = transpose_graph(graph, [], len(positions), [ct.get(i) for i in range(len(graph.outputs))])
        found = dict(zip(positions, cts))
        return [found.get(i) for i in range(count)]


def batch_pullback(
    vmap_fun: Callable[..., list[Any]],
    rule: Callable[..., Sequence[Any]],
    given: Sequence[Any],
    given_batched: Sequence[bool],
    is_batched: Sequence[bool],
) -> list[Any]:
    """Apply a backward rule to mapped values; the cotangents of arguments without the batch axis are
    summed."""
    present: list[bool] = []

    def pull_entry(*entries: Any) -> list[Any]:
        results = rule(*entries)
        present[:] = [r is not None for r in results]
        return [r for r in results if r is not None]

    found = iter(vmap_fun(pull_entry, given, given_batched))
    results = [next(found) if p else None for p in present]
    return [r if r is None or b else ops.reduce_sum(r, axes=(0,)) for r, b in zip(results, is_batched)]


class BackwardRule:
    """A backward rule as a function of values: of the `residuals` marked by `RESIDUAL_SLOT` (others are
    numbers, shapes and the like), and of the cotangents of results of the avals `out_avals`. It gives those
    of the arguments at `positions`, of the avals `avals`."""

    __slots__ = ("avals", "backward", "call", "graph", "out_avals", "positions", "residuals")

    def __init__(
        self,
        call: RuledCall,
        backward: Callable[..., Sequence[Any]],
        residuals: Sequence[Any],
        positions: Sequence[int],
        avals: Sequence[Aval],
        outs: Sequence[Aval],
    ):
        self.call, self.backward, self.residuals = call, backward, residuals
        self.positions, self.avals, self.out_avals = positions, avals, outs
        self.graph: Graph | None = None

    moved = property(
        lambda self: [is_differentiable(a.dtype) for a in self.out_avals], doc="Results with a tangent."
    )

    def cotangents(self, held: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Apply the backward rule."""
        rest = iter(held)
        found = self.backward([next(rest) if r is RESIDUAL_SLOT else r for r in self.residuals], cts)
        return [found[i] for i in self.positions]

    def tangents(self, *values: Any) -> list[Any]:
        """Map (*residuals, *tangents of the arguments) to the tangents of the results, by the transpose of
        the rule."""
        held, ts = split_list(values, len(values) - len(self.avals))

        def pull_flat(*cts: Any) -> list[Any]:
            found = self.cotangents(held, cts)
            return [zeros_of_aval(a, t) if ct is None else ct for ct, a, t in zip(found, self.avals, ts)]

        try:
            graph = stage(pull_flat, self.out_avals, "custom_vjp", sites=False)
            found = transpose_graph(graph, [], len(self.out_avals), ts)
        except (NotLinearError, *UNTRACEABLE_ERRORS) as error:
            raise NotDifferentiableError(
                f"forward mode through a {self.call.name}, whose backward rule cannot be staged and transposed",
                hint="give it a rule for forward mode (fx.custom_jvp), which serves both modes",
            ) from error
        return [
            zeros_of_aval(a, ts[0]) if t is None else densify(t)
            for t, a, m in zip(found, self.out_avals, self.moved)
            if m
        ]

    def __call__(self, *values: Any) -> list[Any]:
        """Apply `tangents`, staged once."""
        if self.graph is None:
            self.graph = stage(self.tangents, [aval_of(v) for v in values], "custom_vjp", sites=False)
        return (numpy_function(self.graph) if is_plain(values) else self.graph)(*values)

    def make_batched(self, is_batched: Sequence[bool], size: int) -> BackwardRule:
        """Return the rule for values of which some have a leading batch axis; the results of all entries have
        one."""
        over = partial(self.call.vmap_or_loop, size=size, axis=MAPPED_AXIS.get())
        flags, arguments = split_list(is_batched, len(is_batched) - len(self.avals))

        def batched_backward(held: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            present = [ct is not None for ct in cts]
            given, given_batched = [*held, *select_list(cts, present)], [*flags, *[True] * sum(present)]

            def rule(*entries: Any) -> list[Any]:
                held_entries, ct_entries = split_list(entries, len(held))
                return self.cotangents(held_entries, expand_list(ct_entries, present))

            return batch_pullback(over, rule, given, given_batched, arguments)

        avals = [Aval((size, *a.shape), a.dtype) if b else a for a, b in zip(self.avals, arguments)]
        outs = [Aval((size, *a.shape), a.dtype) for a in self.out_avals]
        return BackwardRule(
            self.call, batched_backward, [RESIDUAL_SLOT] * len(flags), range(len(avals)), avals, outs
        )


RESIDUAL_SLOT = object()  # stands in `BackwardRule.residuals` for a value


class TangentMap(HigherOrder):
    """The tangent map as a primitive: (*residuals, *tangents of arguments) → tangents of results."""

    rules_run_user_code = identity_params = True

    def __init__(self) -> None:
        super().__init__("custom_vjp_tangents", lambda xp: lambda *args, pullback: pullback(*args))

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        pullback = params["pullback"]
        return list(map(tangent_aval, select_list(pullback.out_avals, pullback.moved)))

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Push the tangents."""
        return params["pullback"].tangents(*args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        return jvp_flat(params["pullback"].tangents, primals, tangents)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        return vjp_from_jvp(self, values, needed, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        pullback = params["pullback"]
        held, ts = split_list(operands, len(operands) - len(pullback.avals))
        if any(type(v) is Aval for v in held):
            raise NotLinearError(
                f"the derivative of the {pullback.call.name} is not linear in its residuals",
                hint="fx.vjp, which takes functions that are not linear",
            )
        cts = [None if c is None else densify(c) for c in expand_list(ct, pullback.moved)]
        if not pullback.call.symbolic:
            beside = next(c for c in cts if c is not None)
            cts = [
                zeros_of_aval(a, beside) if c is None and m else c if m else float0_zeros(a)
                for c, m, a in zip(cts, pullback.moved, pullback.out_avals)
            ]
        found = pullback.cotangents(held, cts)
        return [*[None] * len(held), *(c if type(t) is Aval else None for c, t in zip(found, ts))]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        results = self.call(*values, pullback=params["pullback"].make_batched(is_batched, size))
        return results, [True] * len(results)


tangent_map = TangentMap().call


def jvp_from_vjp(
    call: RuledCall,
    residuals: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    ys: Sequence[Any],
) -> list[Any]:
    """Derive the tangents of the results `ys` of a call from its backward rule; None where a result has
    none."""
    assert call.vjp is not None
    positions = [i for i, t in enumerate(tangents) if t is not None]
    held = [type(r) in VALUES and type(r) not in SCALARS for r in residuals]
    pullback = BackwardRule(
        call,
        call.vjp[1],
        [RESIDUAL_SLOT if h else r for r, h in zip(residuals, held)],
        positions,
        [tangent_aval(aval_of(primals[i])) for i in positions],
        [aval_of(y) for y in ys],
    )
    given = [*select_list(residuals, held), *(as_strong_tangent(tangents[i]) for i in positions)]
    abstract = any(map(is_abstract, given))
    ts = tangent_map(*given, pullback=pullback) if abstract else pullback.tangents(*given)
    return expand_list(ts, pullback.moved)
