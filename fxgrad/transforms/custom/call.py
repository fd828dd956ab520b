"""Calls of functions that come with rules of their own, as one operation each.

The params of the operation hold the function and its rules, over flat values. A level that has no tracers among the
arguments hands the call on, the level that differentiates applies a rule, `vmap` maps function and rules, evaluation
runs the function. Of the rules any may be missing: reverse mode transposes that for forward mode, forward mode
transposes that for reverse mode, a transpose does for both, and without any of them the function itself is traced.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import Aval, aval_of, is_differentiable
from ...core.errors import ConcretizationError, NotLinearError, UnsupportedError
from ...core.interpreter import Tracer, escaped
from ...core.primitive import Primitive
from ...core.pullback import PullbackRule
from ...core.snapshot import separate
from ...core.staging import stage
from ...ops.kinds import spread
from ...ops.masked import dense
from ..arguments import float0_zeros, is_float0
from ..jvp import push
from ..vmap import MAPPED, BatchInterpreter, run
from .transpose import UNTRACEABLE, linearized_by_jvp, summed_cotangents, tangents_by_pullback

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.graph import Graph

# What becomes of code in C that gets no arrays.
OPAQUE = (TypeError, AttributeError, UnsupportedError)


class Call:
    """The function and the rules of one call; all but `fun` may be None.

    fun(*values) → results
    jvp(primals, tangents) → (results, their tangents)
    vjp: (forward, backward): forward(*values) → (results, residuals), backward(residuals, cts) → a cotangent for
        every value, None for zero
    transpose(cts, avals) → a cotangent for every value, None for zero: `fun` is linear
    vmap(values, batched, size) → results with a leading batch axis: the mapped function
    out(avals) → the avals of the results, for a function that cannot be staged
    looped(error): called before a function that cannot be traced is mapped by a loop; without it, this is an error.
    used(rule, values): called when one of the rules is applied; for "vmap" with (batched, size) besides.
    """

    __slots__ = ("fun", "graph", "jvp", "looped", "name", "out", "transpose", "used", "vjp", "vmap")

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
        looped: Callable[[Exception], None] | None = None,
        used: Callable[..., None] | None = None,
    ):
        self.fun, self.jvp, self.vjp, self.transpose, self.vmap = fun, jvp, vjp, transpose, vmap
        self.out, self.name, self.looped, self.used = out, name, looped, used
        self.graph: Graph | None = None

    def staged(self, avals: Sequence[Aval]) -> Graph:
        """The function as a Graph, which is made once: a call has values of the same avals always."""
        if self.graph is None:
            self.graph = stage(self.fun, avals, sites=False)
        return self.graph

    def applies(self, rule: str, values: Sequence[Any], *mapping: Any) -> None:
        """To be called where a rule is applied."""
        if self.used is not None:
            self.used(rule, values, *mapping)

    # -- the transpose
    def transposed(self, avals: Sequence[Aval]) -> Call:
        """The call of the transpose, whose transpose is the function."""
        assert self.transpose is not None

        def fun(*cts: Any) -> list[Any]:
            found = self.transpose(cts, avals)  # type: ignore[misc]
            return [np.zeros(a.shape, a.dtype) if ct is None else ct for ct, a in zip(found, avals)]

        strong = [Aval(a.shape, a.dtype) for a in avals]
        name = f"transpose of the {self.name}"
        return Call(
            fun, transpose=lambda cts, _: self.fun(*cts), out=lambda _: strong, name=name, looped=self.looped
        )

    # -- mapped
    def mapped(self, batched: Sequence[bool], size: int) -> Call:
        """The call for arguments of which some have a leading batch axis; all results have one."""
        over = partial(self.over, size=size, axis=MAPPED.get())

        def fun(*values: Any) -> list[Any]:
            return over(self.fun, values, batched)

        def mapped_vmap(*values: Any) -> list[Any]:
            self.applies("vmap", values, batched, size)
            return self.vmap(values, batched, size)  # type: ignore[misc]

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            def both(*pairs: Any) -> list[Any]:
                ys, ts = self.jvp(pairs[: len(primals)], pairs[len(primals) :])  # type: ignore[misc]
                return [*ys, *ts]

            results = over(both, [*primals, *tangents], [*batched, *batched])
            half = len(results) // 2
            return results[:half], results[half:]

        count: list[int] = []

        def forward(*values: Any) -> tuple[Any, Any]:
            def both(*entries: Any) -> list[Any]:
                ys, residuals = self.vjp[0](*entries)  # type: ignore[index]
                count[:] = [len(ys)]
                return [*ys, *residuals]

            results = over(both, values, batched)
            return results[: count[0]], results[count[0] :]

        def summed(rule: Callable[..., Sequence[Any]], given: Sequence[Any]) -> list[Any]:
            return summed_cotangents(over, rule, given, [True] * len(given), batched)

        def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            rule, split = self.vjp[1], len(residuals)  # type: ignore[index]
            return summed(lambda *entries: rule(entries[:split], entries[split:]), [*residuals, *cts])

        def transpose(cts: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
            return summed(lambda *entries: self.transpose(entries, one_entry(avals)), cts)  # type: ignore[misc]

        def one_entry(avals: Sequence[Aval]) -> list[Aval]:
            return [a.update(shape=a.shape[1:]) if b else a for a, b in zip(avals, batched)]

        def out(avals: Sequence[Aval]) -> list[Aval]:
            return [Aval((size, *a.shape), a.dtype) for a in self.out(one_entry(avals))]  # type: ignore[misc]

        def used(rule: str, values: Sequence[Any]) -> None:
            if size:
                self.applies(rule, [ops.getitem(v, index=(0,)) if b else v for v, b in zip(values, batched)])

        return Call(
            fun if self.vmap is None else mapped_vmap,
            None if self.jvp is None else jvp,
            vjp=None if self.vjp is None else (forward, backward),
            transpose=None if self.transpose is None else transpose,
            out=None if self.out is None else out,
            name=self.name,
            looped=self.looped,
            used=None if self.used is None else used,
        )

    def over(
        self, fun: Callable[..., Any], values: Sequence[Any], batched: Sequence[bool], size: int, axis: Any
    ) -> list[Any]:
        """The results of a function mapped over its arguments, all with a leading batch axis, which is called `axis`;
        by a loop where the function cannot be traced."""
        try:
            results, flags = run(BatchInterpreter(None, size, axis), fun, values, batched)
        except OPAQUE as error:
            if self.looped is None or size == 0:
                raise
            rows = [
                fun(*[ops.getitem(v, index=(i,)) if b else v for v, b in zip(values, batched)])
                for i in range(size)
            ]
            self.looped(error)
            return [stacked(column) for column in zip(*rows)]
        return [spread(r, f, size) for r, f in zip(results, flags)]


def stacked(values: Sequence[Any]) -> Any:
    """Values of one shape along a new leading axis."""
    return ops.concatenate(*[ops.reshape(v, shape=(1, *aval_of(v).shape)) for v in values], axis=0)


class CustomCall(Primitive):
    """The operation. There is one for each way to give rules, so that Graphs and messages call it by that name."""

    multiple_results = True
    runs_user_code = rules_run_user_code = unique = True

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda xp: lambda *args, call: call.fun(*args))

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        call = params["call"]
        if call.out is not None:
            return call.out(avals)
        try:
            graph = call.staged(avals)
        except UNTRACEABLE as error:
            if call.looped is None:
                raise
            raise ConcretizationError(
                f"the {call.name} cannot be staged, and what it returns is not declared: {error.args[0]}",
                hint="declare shape and dtype: fx.custom(f, out=fx.ShapeDtypeStruct(shape, dtype))",
            ) from error
        for value in graph.captured.values():
            if isinstance(value, Tracer) and not value.interpreter.permanent:
                raise escaped(value, call.name)  # which the equation does not have among its operands
        return graph.out_avals

    def bodies(self, avals: Sequence[Aval], params: dict) -> list[Graph]:
        """The function, where it can be staged."""
        call = params["call"]
        try:
            return [call.staged(avals)] if call.out is None else []
        except (*UNTRACEABLE, *OPAQUE):
            return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        call = params["call"]
        if call.jvp is not None:
            call.applies("jvp", primals)
            ys, ts = map(separate, call.jvp(primals, filled(primals, tangents)))
            return ys, [None if is_float0(t) else t for t in ts]
        if call.vjp is not None:
            call.applies("vjp", primals)
            ys, residuals = call.vjp[0](*primals)
            return ys, tangents_by_pullback(call, residuals, primals, tangents, ys)
        if call.transpose is not None:
            return self.call(*primals, call=call), self.call(*filled(primals, tangents), call=call)
        return push(call.fun, primals, tangents)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        call = params["call"]
        if call.vjp is not None:
            call.applies("vjp", values)
            forward, backward = call.vjp
            ys, residuals = forward(*values)
            return ys, Backward(), (backward, [own(r) for r in residuals], ys)
        if call.transpose is not None and call.jvp is None:
            call.applies("transpose", values)
            ys = self.call(*values, call=call)
            return ys, Transposed(), (self, call, [aval_of(v) for v in values], ys)
        return linearized_by_jvp(self, values, needed, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        call = params["call"]
        if call.transpose is None:
            raise NotLinearError(
                f"the {call.name} has no rule for its transpose", hint="fx.custom(f, transpose=…)"
            )
        avals = [aval_of(v) for v in operands]
        cts = [
            np.zeros(a.shape, a.dtype) if c is None else dense(c)
            for c, a in zip(ct, self.abstract(avals, params))
        ]
        found = self.call(*cts, call=call.transposed(avals))
        return [r if type(v) is Aval else None for r, v in zip(found, operands)]

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        results = self.call(*values, call=params["call"].mapped(batched, size))
        return results, [True] * len(results)


custom_call = CustomCall("custom_call").call
custom_jvp_call = CustomCall("custom_jvp_call").call
custom_vjp_call = CustomCall("custom_vjp_call").call


class Backward(PullbackRule):
    """The rule of a call with a backward rule, which gets zeros for the results that have no cotangent."""

    rules_run_user_code = True

    def pull(self, ct: Any, backward: Callable, residuals: Any, ys: Sequence[Any]) -> Sequence[Any]:
        """What the backward rule gives."""
        return separate(backward(residuals, present(ct, ys)))


class Transposed(PullbackRule):
    """The rule of a call of a linear function with a transpose."""

    kept = ()
    rules_run_user_code = True

    def pull(
        self, ct: Any, primitive: CustomCall, call: Call, avals: Sequence[Aval], ys: Sequence[Any]
    ) -> Sequence[Any]:
        """The transpose, called."""
        return primitive.call(*present(ct, ys), call=call.transposed(avals))


def present(cts: dict[int, Any], ys: Sequence[Any]) -> list[Any]:
    """A cotangent for every result, zeros where there is none."""
    return [dense(cts[i]) if i in cts else zero_tangent(y) for i, y in enumerate(ys)]


def zero_tangent(value: Any) -> Any:
    return ops.zeros_like(value) if is_differentiable(aval_of(value).dtype) else float0_zeros(value)


def filled(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Tangents with zeros made explicit."""
    return [zero_tangent(p) if t is None else t for p, t in zip(primals, tangents)]
