"""Calls of functions with user-defined rules, as one operation each.

The params of the operation hold the function and its rules, over flat values. A level without tracers among the
arguments passes the call on, the level that differentiates applies a rule, `vmap` maps function and rules, and
evaluation runs the function. Any rule may be missing: reverse mode then transposes the rule for forward mode, and
forward mode the rule for reverse mode; a transpose serves both. Without any rule the function itself is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import ops
from ...core.aval import Aval, aval_of
from ...core.errors import ConcretizationError, NotLinearError, UnsupportedError
from ...core.graph import Graph
from ...core.interpreter import Tracer, escaped_tracer_error
from ...core.primitive import HigherOrder
from ...core.pullback import PullbackRule
from ...core.snapshot import copy_shared
from ...core.staging import stage
from ...ops.kinds import ensure_batched
from ...ops.masked import densify
from ...ops.transpose import transpose_call
from ..arguments import is_float0, zero_tangent
from ..jvp import jvp_flat
from ..subgraphs import expand_list, select_list, split_list
from ..vmap import MAPPED_AXIS, BatchInterpreter, vmap_with
from .transpose import UNTRACEABLE_ERRORS, batch_pullback, jvp_from_vjp, vjp_from_jvp

# What becomes of code in C that gets no arrays.
OPAQUE_ERRORS = (TypeError, AttributeError, UnsupportedError)


class RuledCall:
    """The function and the rules of one call; all but `fun` may be None.

    fun(*values) → results
    jvp(primals, tangents) → (results, their tangents)
    vjp: (forward, backward): forward(*values) → (results, residuals), backward(residuals, cts) → a cotangent for
        every value, None for zero
    transpose(cts, avals) → a cotangent for every value, None for zero: `fun` is linear
    vmap(values, is_batched, size) → results with a leading batch axis: the mapped function
    out(avals) → the avals of the results, for a function that cannot be staged
    symbolic: jvp and backward get None for the tangents and cotangents that are zero, and forward(*values, perturbed=…)
        a flag for every value. Otherwise they get zeros.
    on_loop(error): called before a function that cannot be traced is mapped by a loop; without it, this is an error.
    on_use(rule, values): called when one of the rules is applied; for "vmap" with (is_batched, size) besides.
    """

    __slots__ = (
        *("fun", "graph", "jvp", "name", "on_loop", "on_use", "out", "symbolic", "transpose", "vjp", "vmap"),
    )

    def __init__(
        self,
        fun: Callable[..., list[Any]],
        jvp: Callable[..., tuple] | None = None,
        *,
        vjp: tuple[Callable[..., tuple], Callable[..., Sequence[Any]]] | None = None,
        transpose: Callable[..., Sequence[Any]] | None = None,
        vmap: Callable[..., list[Any]] | None = None,
        out: Callable[[Sequence[Aval]], list[Aval]] | None = None,
        name: str = "function with rules of its own",
        on_loop: Callable[[Exception], None] | None = None,
        on_use: Callable[..., None] | None = None,
        symbolic: bool = False,
    ):
        self.fun, self.jvp, self.vjp, self.transpose, self.vmap = fun, jvp, vjp, transpose, vmap
        self.out, self.name, self.on_loop, self.on_use = out, name, on_loop, on_use
        self.symbolic = symbolic
        self.graph: Graph | None = None

    def fun_graph(self, avals: Sequence[Aval]) -> Graph:
        """Return the function as a Graph, which is made once, since all values of a call have the same
        avals."""
        if self.graph is None:
            self.graph = stage(self.fun, avals, sites=False)
        return self.graph

    def report_use(self, rule: str, values: Sequence[Any], *mapping: Any) -> None:
        """Tell the owner of the rules that one of them is applied."""
        if self.on_use is not None:
            self.on_use(rule, values, *mapping)

    # -- the rules, for callers that know which tangents, cotangents and arguments are present
    def run_jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Apply the rule for forward mode; a tangent may be None."""
        return self.jvp(  # type: ignore[misc]
            primals, tangents if self.symbolic else instantiate_tangents(primals, tangents)
        )

    def run_forward(self, values: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any]:
        """Apply the forward rule."""
        forward = self.vjp[0]  # type: ignore[index]
        return forward(*values, perturbed=perturbed) if self.symbolic else forward(*values)

    # -- the transpose
    def make_transpose(self, avals: Sequence[Aval]) -> RuledCall:
        """Return the call of the transpose, whose transpose is the function."""
        assert self.transpose is not None

        def fun(*cts: Any) -> list[Any]:
            found = self.transpose(cts, avals)  # type: ignore[misc]
            return [np.zeros(a.shape, a.dtype) if ct is None else ct for ct, a in zip(found, avals)]

        strong = [Aval(a.shape, a.dtype) for a in avals]
        name = f"transpose of the {self.name}"
        return RuledCall(
            fun,
            transpose=lambda cts, _: self.fun(*cts),
            out=lambda _: strong,
            name=name,
            on_loop=self.on_loop,
        )

    # -- mapped
    def make_batched(self, is_batched: Sequence[bool], size: int) -> RuledCall:
        """Return the call for arguments of which some have a leading batch axis; all results have one."""
        over = partial(self.vmap_or_loop, size=size, axis=MAPPED_AXIS.get())

        def fun(*values: Any) -> list[Any]:
            return over(self.fun, values, is_batched)

        def apply_vmap_rule(*values: Any) -> list[Any]:
            self.report_use("vmap", values, is_batched, size)
            return self.vmap(values, is_batched, size)  # type: ignore[misc]

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            given = [t is not None for t in tangents]
            found: list[bool] = []

            def both(*entries: Any) -> list[Any]:
                ps, ts = split_list(entries, len(primals))
                ys, ts = self.jvp(ps, expand_list(ts, given))  # type: ignore[misc]
                found[:] = [t is not None for t in ts]
                return [*ys, *select_list(ts, found)]

            moving, flags = select_list(tangents, given), select_list(is_batched, given)
            results = over(both, [*primals, *moving], [*is_batched, *flags])
            ys, ts = split_list(results, len(found))
            return ys, expand_list(ts, found)

        count: list[int] = []

        def forward(*values: Any, perturbed: Sequence[bool] = ()) -> tuple[Any, Any]:
            def both(*entries: Any) -> list[Any]:
                ys, residuals = self.run_forward(entries, perturbed)
                count[:] = [len(ys)]
                return [*ys, *residuals]

            results = over(both, values, is_batched)
            return results[: count[0]], results[count[0] :]

        def pull_summed(rule: Callable[..., Sequence[Any]], given: Sequence[Any]) -> list[Any]:
            return batch_pullback(over, rule, given, [True] * len(given), is_batched)

        def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            rule, split = self.vjp[1], len(residuals)  # type: ignore[index]
            given = [ct is not None for ct in cts]

            def pull_entry(*entries: Any) -> Sequence[Any]:
                return rule(entries[:split], expand_list(entries[split:], given))

            return pull_summed(pull_entry, [*residuals, *select_list(cts, given)])

        def transpose(cts: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
            return pull_summed(lambda *entries: self.transpose(entries, entry_avals(avals)), cts)  # type: ignore[misc]

        def entry_avals(avals: Sequence[Aval]) -> list[Aval]:
            return [a.update(shape=a.shape[1:]) if b else a for a, b in zip(avals, is_batched)]

        def out(avals: Sequence[Aval]) -> list[Aval]:
            return [Aval((size, *a.shape), a.dtype) for a in self.out(entry_avals(avals))]  # type: ignore[misc]

        def report_first_entry(rule: str, values: Sequence[Any]) -> None:
            if size:
                self.report_use(
                    rule, [ops.getitem(v, index=(0,)) if b else v for v, b in zip(values, is_batched)]
                )

        return RuledCall(
            fun if self.vmap is None else apply_vmap_rule,
            None if self.jvp is None else jvp,
            vjp=None if self.vjp is None else (forward, backward),
            transpose=None if self.transpose is None else transpose,
            out=None if self.out is None else out,
            name=self.name,
            on_loop=self.on_loop,
            on_use=None if self.on_use is None else report_first_entry,
            symbolic=self.symbolic,
        )

    def vmap_or_loop(
        self, fun: Callable[..., Any], values: Sequence[Any], is_batched: Sequence[bool], size: int, axis: Any
    ) -> list[Any]:
        """Map a function over its arguments, by a loop where it cannot be traced; all results have a leading
        batch axis, which is called `axis`."""
        try:
            results, flags = vmap_with(BatchInterpreter(None, size, axis), fun, values, is_batched)
        except OPAQUE_ERRORS as error:
            if self.on_loop is None or size == 0:
                raise
            rows = [
                fun(*[ops.getitem(v, index=(i,)) if b else v for v, b in zip(values, is_batched)])
                for i in range(size)
            ]
            self.on_loop(error)
            return [stack_leading(column) for column in zip(*rows)]
        return [ensure_batched(r, f, size) for r, f in zip(results, flags)]


def stack_leading(values: Sequence[Any]) -> Any:
    """Stack values of one shape along a new leading axis."""
    return ops.concatenate(*[ops.reshape(v, shape=(1, *aval_of(v).shape)) for v in values], axis=0)


class CustomCall(HigherOrder):
    """The primitive that calls a function with rules. There is one for each way to give rules, so that Graphs
    and messages call it by that name."""

    rules_run_user_code = identity_params = True

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda xp: lambda *args, call: call.fun(*args))

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        call = params["call"]
        if call.out is not None:
            return call.out(avals)
        try:
            graph = call.fun_graph(avals)
        except UNTRACEABLE_ERRORS as error:
            if call.on_loop is None:
                raise
            raise ConcretizationError(
                f"the {call.name} cannot be staged, and what it returns is not declared: {error.args[0]}",
                hint="declare shape and dtype: fx.custom(f, out=fx.ShapeDtypeStruct(shape, dtype))",
            ) from error
        for value in graph.captured.values():
            if isinstance(value, Tracer) and not value.interpreter.permanent:
                raise escaped_tracer_error(
                    value, call.name
                )  # which the equation does not have among its operands
        return graph.out_avals

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Call the function."""
        return params["call"].fun(*args)

    def subgraphs(self, avals: Sequence[Aval], params: dict) -> list[Graph]:
        """Return the Graph of the function, if it can be staged."""
        call = params["call"]
        try:
            return [call.fun_graph(avals)] if call.out is None else []
        except (*UNTRACEABLE_ERRORS, *OPAQUE_ERRORS):
            return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        call = params["call"]
        if call.jvp is not None:
            call.report_use("jvp", primals)
            ys, ts = map(copy_shared, call.run_jvp(primals, tangents))
            return ys, [None if is_float0(t) else t for t in ts]
        if call.vjp is not None:
            call.report_use("vjp", primals)
            ys, residuals = call.run_forward(primals, [t is not None for t in tangents])
            return ys, jvp_from_vjp(call, residuals, primals, tangents, ys)
        if call.transpose is not None:
            return self.call(*primals, call=call), self.call(
                *instantiate_tangents(primals, tangents), call=call
            )
        return jvp_flat(call.fun, primals, tangents)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        call = params["call"]
        if call.vjp is not None:
            call.report_use("vjp", values)
            flags = [n is not None for n in needed] if call.symbolic else ()
            ys, residuals = call.run_forward(values, flags)
            rule = SymbolicPullback() if call.symbolic else CustomPullback()
            return ys, rule, (call.vjp[1], [snapshot(r) for r in residuals], ys)
        if call.transpose is not None and call.jvp is None:
            call.report_use("transpose", values)
            ys = self.call(*values, call=call)
            return ys, TransposePullback(), (self, call, [aval_of(v) for v in values], ys)
        return vjp_from_jvp(self, values, needed, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        call = params["call"]
        if call.transpose is None and call.jvp is not None:  # a rule that calls the function on a tangent
            return transpose_call(call.fun_graph([aval_of(v) for v in operands]), operands, ct)
        if call.transpose is None:
            raise NotLinearError(
                f"the {call.name} has no rule for its transpose", hint="fx.custom(f, transpose=…)"
            )
        avals = [aval_of(v) for v in operands]
        cts = [
            np.zeros(a.shape, a.dtype) if c is None else densify(c)
            for c, a in zip(ct, self.abstract_eval(avals, params))
        ]
        found = self.call(*cts, call=call.make_transpose(avals))
        return [r if type(v) is Aval else None for r, v in zip(found, operands)]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        results = self.call(*values, call=params["call"].make_batched(is_batched, size))
        return results, [True] * len(results)


custom_call = CustomCall("custom_call").call
custom_jvp_call = CustomCall("custom_jvp_call").call
custom_vjp_call = CustomCall("custom_vjp_call").call


class CustomPullback(PullbackRule):
    """The pullback of a call with a backward rule, which gets zeros for the results that have no
    cotangent."""

    rules_run_user_code = True

    def pull(self, ct: Any, backward: Callable, residuals: Any, ys: Sequence[Any]) -> Sequence[Any]:
        """Apply the backward rule."""
        return copy_shared(backward(residuals, instantiate_cotangents(ct, ys)))


class SymbolicPullback(CustomPullback):
    """The pullback of a call whose backward rule gets None for the results that have no cotangent."""

    def pull(self, ct: Any, backward: Callable, residuals: Any, ys: Sequence[Any]) -> Sequence[Any]:
        """Apply the backward rule."""
        cts = [densify(ct[i]) if i in ct else None for i in range(len(ys))]
        return copy_shared(backward(residuals, cts))


class TransposePullback(PullbackRule):
    """The pullback of a call of a linear function with a transpose."""

    saved_from = ()
    rules_run_user_code = True

    def pull(
        self, ct: Any, primitive: CustomCall, call: RuledCall, avals: Sequence[Aval], ys: Sequence[Any]
    ) -> Sequence[Any]:
        """Call the transpose."""
        return primitive.call(*instantiate_cotangents(ct, ys), call=call.make_transpose(avals))


def instantiate_cotangents(cts: dict[int, Any], ys: Sequence[Any]) -> list[Any]:
    """Return a cotangent for every result; missing ones are zeros."""
    return [densify(cts[i]) if i in cts else zero_tangent(y) for i, y in enumerate(ys)]


def instantiate_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return tangents with zeros made explicit."""
    return [zero_tangent(p) if t is None else t for p, t in zip(primals, tangents)]
