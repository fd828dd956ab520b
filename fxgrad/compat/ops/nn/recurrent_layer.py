"""A recurrent layer as a primitive: a scan by definition, and a loop (see `recurrent_loops`) on arrays, also under one
`grad` and in compiled Graphs, where the loop and its pullback are an equation each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ....extend import OperandPullback, ReverseTracer, Tracer, aval_of, is_plain, masked, ops
from ..._core.tape import no_copy
from ..._declare.composite import Composite, Plan
from .recurrent_loops import GATED, OPERANDS, Operands, Trace, pull_back, run_loop

DTYPES = {np.dtype("f4"), np.dtype("f8")}


def is_staged(values: Sequence[Any]) -> bool:
    """Whether values are arrays, or will be when the Graph is run that is being staged."""
    return all([is_plain((v,)) or (isinstance(v, Tracer) and v.interpreter.stage_effects) for v in values])


class LoopPullback(OperandPullback):
    """The pullback of a layer that a loop has computed. Its residuals are the operands and the arrays that the loop
    keeps; what is more than arrays is pulled back through scans, from the operands."""

    def __init__(self, primitive: RecurrentLayer, needed: Sequence[Any], params: dict):
        self.primitive, self.params = primitive, params
        self.needed = tuple([n is not None for n in needed])

    def pull(self, ct: Any, values: Sequence[Any], *arrays: Any) -> Sequence[Any]:
        """See `PullbackRule`."""
        cts = {i: masked.densify(c) for i, c in ct.items()}
        operands = (*values, *arrays, *cts.values())
        if not is_staged(operands):
            return self.primitive.pull_scan(cts, values, self.needed, self.params)
        found = self.primitive.pulled.call(*operands, needed=self.needed, given=tuple(cts), **self.params)
        return self.fill(found)

    def pull_plain(self, cts: dict[int, Any], residuals: tuple) -> list[Any]:
        """See `PullbackRule`."""
        values, *arrays = residuals
        return self.fill(self.primitive.pull_loop(cts, values, arrays, self.needed, self.params))

    def fill(self, found: Sequence[Any]) -> list[Any]:
        """Return a cotangent for each operand, None for those that need none."""
        rest = iter(found)
        return [next(rest) if n else None for n in self.needed]


class LoopPlan(Plan):
    """How a layer is computed on arrays by its loop, be a gradient wanted or not."""

    __slots__ = ()

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """See `Plan`."""
        if self.wanted:
            return super().run(values, next_edges)
        return self.primitive.traced.loop(*values, **self.params)[: self.primitive.count], None, ()


class RecurrentLayer(Composite):
    """A layer as a primitive of the tape: a scan, or a loop for arrays of one floating-point dtype."""

    in_single = False

    @property
    def kind(self) -> str:
        """The kind of its steps."""
        return self.name.removesuffix("_layer")

    @property
    def count(self) -> int:
        """The number of results."""
        return 3 if self.kind == "lstm" else 2

    @property
    def names(self) -> list[str]:
        """The names of the operands that are given."""
        return [name for name, there in zip(OPERANDS, self.pattern) if there]

    @cached_property
    def traced(self) -> LoopPart:
        """The loop as an equation: the results, and the arrays that it keeps."""

        def define(*values, **params) -> list[Any]:  # the pullback by a scan reads nothing of what is kept
            results = self.function(*values, **params)
            given, zero = self.arrange(values), np.zeros((), aval_of(results[0]).dtype)
            (steps, batch, size), gates = aval_of(results[0]).shape, aval_of(given.weight_ih).shape[0]
            more = [(steps, batch, size)] + [(steps + 1, batch, size)] * (self.kind == "lstm")
            shapes = [(steps + 1, batch, size), (steps, batch, gates), *more]
            return [*results, *[ops.broadcast_to(zero, shape=shape) for shape in shapes]]

        def run(*values, reverse) -> list[Any]:
            trace = run_loop(self.kind, self.arrange(values), reverse)
            return [*trace.results(), *trace.arrays()]

        return LoopPart(f"{self.kind}_loop", define, run, self.count, partial(LoopPullback, self))

    @cached_property
    def pulled(self) -> LoopPart:
        """The pullback of the loop as an equation of (operands, kept arrays, cotangents by position)."""
        count = len(self.names)

        def define(*operands, needed, given, **params) -> list[Any]:
            cts = dict(zip(given, operands[-len(given) :]))
            found = self.pull_scan(cts, operands[:count], needed, params)
            return [ct for ct, n in zip(found, needed) if n]

        def run(*operands, needed, given, **params) -> list[Any]:
            cts, arrays = dict(zip(given, operands[-len(given) :])), operands[count : -len(given)]
            return self.pull_loop(cts, operands[:count], arrays, needed, params)

        return LoopPart(f"{self.kind}_loop_back", define, run)

    def arrange(self, values: Sequence[Any]) -> Operands:
        """Arrange the operands that are given by their names."""
        return Operands(dict(zip(self.names, values)))

    def admits(self, values: Sequence[Any]) -> bool:
        """Whether a loop takes operands like these."""
        avals = {name: aval_of(v) for name, v in zip(self.names, values)}
        dtypes = {a.dtype for name, a in avals.items() if name != "lengths"}
        return len(dtypes) == 1 and dtypes <= DTYPES and "weight_hr" not in avals

    def formula(self, *values, **params) -> None:
        """None: the loop is faster than its steps, also in compiled Graphs."""

    def run(self, *values, **params) -> Any:
        if self.kind in GATED and not is_plain(values) and self.admits(values):
            primals = [v.primal if isinstance(v, ReverseTracer) else v for v in values]
            if is_staged(primals):
                return self.traced.call(*values, **params)[: self.count]
        return super().run(*values, **params)

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        if not (self.admits(values) and is_staged(values) and (self.kind in GATED or is_plain(values))):
            return super().vjp(apply, values, needed, params, snapshot)
        part = self.traced
        found, rule, residuals = part.vjp(
            part.loop if is_plain(values) else part.call, values, needed, params, snapshot
        )
        return found[: self.count], rule, residuals

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        return (
            LoopPlan(self, params, next_edges)
            if self.admits(values)
            else super().plan_for(values, next_edges, params)
        )

    def pull_scan(
        self, cts: dict[int, Any], values: Sequence[Any], needed: Sequence[bool], params: dict
    ) -> Any:
        """Pull back through a scan: return a cotangent of each operand that needs one, by primitives."""
        wanted = [True if n else None for n in needed]
        _, rule, residuals = Composite.vjp(self, self.function, values, wanted, params, no_copy)
        return rule.pull(cts, *residuals)

    def pull_loop(
        self,
        cts: dict[int, Any],
        values: Sequence[Any],
        arrays: Sequence[np.ndarray],
        needed: Sequence[bool],
        params: dict,
    ) -> list[np.ndarray]:
        """Pull back through the loop: return the cotangents of the operands that need one."""
        given = self.arrange(values)
        wanted = [name for name, n in zip(self.names, needed) if n]
        with np.errstate(all="ignore"):
            return pull_back(self.kind, given, Trace(self.kind, given, **params, arrays=arrays), cts, wanted)


class LoopPart(Composite):
    """A loop, or its pullback, as an equation of a Graph: by `loop` on arrays; to other levels by its definition."""

    def __init__(
        self,
        name: str,
        define: Callable[..., Any],
        loop: Callable[..., list[Any]],
        results: int = 0,
        pullback: Any = None,
    ):
        self.loop, self.results, self.pullback = loop, results, pullback
        super().__init__(name, define, True, self.jvp_rule)

    def compute(self, *values, **params) -> Any:
        return self.loop(*values, **params) if is_plain(values) else super().compute(*values, **params)

    def formula(self, *values, **params) -> None:
        """None: the loop is faster."""

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        if self.pullback is None or not is_staged(values):
            return super().vjp(apply, values, needed, params, snapshot)
        found = apply(*values, **params)
        residuals = [snapshot(v) for v in values], *found[self.results :]
        return found, self.pullback(needed, params), residuals
