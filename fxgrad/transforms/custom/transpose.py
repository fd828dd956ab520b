"""Tangent maps as Graphs and as transposes: reverse mode by a rule for forward mode, forward mode by a backward rule.

A backward rule is linear in the cotangents, and its transpose is the tangent map. Where tangents are abstract, in the
body of a loop for instance, this map is an operation, whose transpose is the rule as the user wrote it: reverse mode
applies it also where it is not linear (gradients that are clipped, say), and only forward mode transposes it.
"""

from __future__ import annotations

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
from ...core.primitive import Primitive
from ...core.pullback import PullbackRule
from ...core.staging import GraphInterpreter, stage
from ...ops.masked import dense
from ...ops.transpose import transpose_graph
from ..arguments import float0_zeros
from ..jvp import push
from ..subgraphs import chosen, compiled, filled, is_abstract, parted, strong, tangent_aval, zeros
from ..vmap import MAPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .call import Call

# What becomes of a function that needs numbers where it gets traced values.
UNTRACEABLE = (ConcretizationError, ArrayConversionError, UnsupportedError)


def linearized_by_jvp(primitive: Primitive, values: Any, needed: Any, params: dict) -> tuple[Any, Any, Any]:
    """The linearization of an operation: its tangent map, staged."""
    positions = [i for i, n in enumerate(needed) if n is not None]
    staging = GraphInterpreter(name=primitive.name.removesuffix("_call"), sites=False)
    inputs = [staging.new(aval_of(values[i])) for i in positions]
    tangents = dict(zip(positions, inputs))
    with opened(staging):
        ys, ts = primitive.jvp(values, [tangents.get(i) for i in range(len(values))], params)
        outputs = [staging.atom(0.0 if t is None else t) for t in ts]
    return ys, LinearMap(), (staging.graph(inputs, outputs, "tangent map"), positions, len(values))


class LinearMap(PullbackRule):
    """The rule of a call whose tangent map was staged: its pullback transposes the Graph."""

    def pull(self, ct: Any, graph: Graph, positions: Sequence[int], count: int) -> list[Any]:
        """The transpose, run."""
        cts = transpose_graph(graph, [], len(positions), [ct.get(i) for i in range(len(graph.outputs))])
        found = dict(zip(positions, cts))
        return [found.get(i) for i in range(count)]


def summed_cotangents(
    over: Callable[..., list[Any]],
    rule: Callable[..., Sequence[Any]],
    given: Sequence[Any],
    given_batched: Sequence[bool],
    batched: Sequence[bool],
) -> list[Any]:
    """The cotangents that a rule gives for mapped values; those of arguments without the axis are summed."""
    present: list[bool] = []

    def one(*entries: Any) -> list[Any]:
        results = rule(*entries)
        present[:] = [r is not None for r in results]
        return [r for r in results if r is not None]

    found = iter(over(one, given, given_batched))
    results = [next(found) if p else None for p in present]
    return [r if r is None or b else ops.reduce_sum(r, axes=(0,)) for r, b in zip(results, batched)]


class Pullback:
    """A backward rule as a function of values: of those `residuals` for which `HELD` stands (others are numbers, shapes
    and the like), and of the cotangents of results of the avals `outs`. It gives those of the arguments at `positions`,
    of the avals `avals`."""

    __slots__ = ("avals", "backward", "call", "graph", "outs", "positions", "residuals")

    def __init__(
        self,
        call: Call,
        backward: Callable[..., Sequence[Any]],
        residuals: Sequence[Any],
        positions: Sequence[int],
        avals: Sequence[Aval],
        outs: Sequence[Aval],
    ):
        self.call, self.backward, self.residuals = call, backward, residuals
        self.positions, self.avals, self.outs = positions, avals, outs
        self.graph: Graph | None = None

    moved = property(
        lambda self: [is_differentiable(a.dtype) for a in self.outs], doc="Results with a tangent."
    )

    def cotangents(self, held: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """What the rule gives."""
        rest = iter(held)
        found = self.backward([next(rest) if r is HELD else r for r in self.residuals], cts)
        return [found[i] for i in self.positions]

    def tangents(self, *values: Any) -> list[Any]:
        """(*residuals held, *tangents of the arguments) → tangents of the results: the transpose of the rule."""
        held, ts = parted(values, len(values) - len(self.avals))

        def pulled(*cts: Any) -> list[Any]:
            found = self.cotangents(held, cts)
            return [zeros(a, t) if ct is None else ct for ct, a, t in zip(found, self.avals, ts)]

        try:
            graph = stage(pulled, self.outs, "custom_vjp", sites=False)
            found = transpose_graph(graph, [], len(self.outs), ts)
        except (NotLinearError, *UNTRACEABLE) as error:
            raise NotDifferentiableError(
                f"forward mode through a {self.call.name}, whose backward rule cannot be staged and transposed",
                hint="give it a rule for forward mode (fx.custom_jvp), which serves both modes",
            ) from error
        return [
            zeros(a, ts[0]) if t is None else dense(t) for t, a, m in zip(found, self.outs, self.moved) if m
        ]

    def __call__(self, *values: Any) -> list[Any]:
        """`tangents`, staged once."""
        if self.graph is None:
            self.graph = stage(self.tangents, [aval_of(v) for v in values], "custom_vjp", sites=False)
        return (compiled(self.graph) if is_plain(values) else self.graph)(*values)

    def mapped(self, batched: Sequence[bool], size: int) -> Pullback:
        """The pullback over values of which some have a leading batch axis; the results of all entries have one."""
        over = partial(self.call.over, size=size, axis=MAPPED.get())
        flags, arguments = parted(batched, len(batched) - len(self.avals))

        def backward(held: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            given, given_batched = [*held, *cts], [*flags, *[True] * len(cts)]

            def rule(*entries: Any) -> list[Any]:
                return self.cotangents(*parted(entries, len(held)))

            return summed_cotangents(over, rule, given, given_batched, arguments)

        avals = [Aval((size, *a.shape), a.dtype) if b else a for a, b in zip(self.avals, arguments)]
        outs = [Aval((size, *a.shape), a.dtype) for a in self.outs]
        return Pullback(self.call, backward, [HELD] * len(flags), range(len(avals)), avals, outs)


HELD = object()  # stands in `Pullback.residuals` for a value


class TangentMap(Primitive):
    """(*residuals, *tangents of arguments) → tangents of results; linear in the tangents, its transpose is the backward
    rule itself."""

    multiple_results = True
    runs_user_code = rules_run_user_code = unique = True

    def __init__(self) -> None:
        super().__init__("custom_vjp_tangents", lambda xp: lambda *args, pullback: pullback(*args))

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        pullback = params["pullback"]
        return list(map(tangent_aval, chosen(pullback.outs, pullback.moved)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        return push(params["pullback"].tangents, primals, tangents)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        return linearized_by_jvp(self, values, needed, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        pullback = params["pullback"]
        held, ts = parted(operands, len(operands) - len(pullback.avals))
        if any(type(v) is Aval for v in held):
            raise NotLinearError(f"the derivative of the {pullback.call.name} is not linear in its residuals")
        beside = next(c for c in ct if c is not None)
        cts = [
            zeros(a, beside) if c is None and m else c if m else float0_zeros(a)
            for c, m, a in zip(filled(ct, pullback.moved), pullback.moved, pullback.outs)
        ]
        found = pullback.cotangents(held, list(map(dense, cts)))
        return [*[None] * len(held), *(c if type(t) is Aval else None for c, t in zip(found, ts))]

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        results = self.call(*values, pullback=params["pullback"].mapped(batched, size))
        return results, [True] * len(results)


tangent_map = TangentMap().call


def tangents_by_pullback(
    call: Call, residuals: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any], ys: Sequence[Any]
) -> list[Any]:
    """The tangents of the results `ys` of a call with a backward rule, or None where they have none."""
    assert call.vjp is not None
    positions = [i for i, t in enumerate(tangents) if t is not None]
    held = [type(r) in VALUES and type(r) not in SCALARS for r in residuals]
    pullback = Pullback(
        call,
        call.vjp[1],
        [HELD if h else r for r, h in zip(residuals, held)],
        positions,
        [tangent_aval(aval_of(primals[i])) for i in positions],
        [aval_of(y) for y in ys],
    )
    given = [*chosen(residuals, held), *(strong(tangents[i]) for i in positions)]
    abstract = any(map(is_abstract, given))
    ts = tangent_map(*given, pullback=pullback) if abstract else pullback.tangents(*given)
    return filled(ts, pullback.moved)
