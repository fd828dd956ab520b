"""Closures of user-defined functions and rules: traced values of open levels become operands of the call.

A call is one operation, and a level that stages or maps it sees only its operands. So the other values that the
function and its rules use are found by staging them immediately, because later their levels may be closed. Calls inside
these rules occur only in derivatives of the next order, and a rule may call its own function on a new closure without
end; so their rules are staged only on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from ...core.aval import SCALARS, Aval, aval_of, is_differentiable
from ...core.errors import CustomRuleError, EscapedTracerError
from ...core.graph import Graph, Var
from ...core.interpreter import VALUES
from ...core.staging import stage
from ..arguments import zero_tangent
from ..subgraphs import close_graphs, expand_list, select_list, split_list, tangent_aval
from .call import RuledCall, instantiate_tangents

INSIDE_RULE: ContextVar[bool] = ContextVar("fxgrad_inside_rule", default=False)


def lift_closure(call: RuledCall, values: Sequence[Any]) -> tuple[RuledCall, list[Any]]:
    """Return a call with a rule for one mode as the call of Graphs whose leading operands are what it closes over, and
    these. No derivative with respect to them exists, since the rule does not give it."""
    avals = [aval_of(v) for v in values]
    function = stage(call.fun, avals, call.name, sites=False)
    if INSIDE_RULE.get():
        (fun,), captured = close_graphs(function)
        rule: Any = LateRule(call, avals, function, captured)
    else:
        rule = stage_rule(call, avals, function)
        (fun, *rule.graphs), captured = close_graphs(function, *rule.graphs)
        rule.count = len(captured)
    if call.jvp is not None:
        return RuledCall(fun, rule.jvp, name=call.name, symbolic=True), captured
    return RuledCall(fun, vjp=(rule.forward, rule.backward), name=call.name, symbolic=True), captured


def stage_rule(call: RuledCall, avals: Sequence[Aval], function: Graph) -> StagedRule:
    """Stage the rule of a call."""
    token = INSIDE_RULE.set(True)
    try:
        return StagedForwardRule(call, avals) if call.jvp else StagedBackwardRule(call, avals, function)
    finally:
        INSIDE_RULE.reset(token)


class StagedRule:
    """A rule as Graphs, which take what it closes over, `count` values, first."""

    graphs: list[Graph]
    count = 0
    name: str

    def ensure_fixed(self, perturbed: Sequence[bool]) -> None:
        """Raise if a closed-over value is differentiated."""
        if any(perturbed[: self.count]):
            raise CustomRuleError(
                f"{self.name} closes over a value with respect to which it is differentiated, which its rule cannot "
                "know of",
                hint="make the value an argument of the function",
            )


class StagedForwardRule(StagedRule):
    """A rule for forward mode, staged for tangents of all arguments that can have one."""

    def __init__(self, call: RuledCall, avals: Sequence[Aval]):
        self.name = call.name
        self.moving = moving = [is_differentiable(a.dtype) for a in avals]

        def both(*given: Any) -> list[Any]:
            primals, tangents = split_list(given, len(avals))
            ys, ts = call.jvp(primals, instantiate_tangents(primals, expand_list(tangents, moving)))  # type: ignore[misc]
            return [*ys, *(zero_tangent(y) if t is None else t for y, t in zip(ys, ts))]

        tangent_avals = [tangent_aval(a) for a in select_list(avals, moving)]
        self.graphs = [stage(both, [*avals, *tangent_avals], f"rule of {call.name}", sites=False)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Apply the rule."""
        self.ensure_fixed([t is not None for t in tangents])
        given = instantiate_tangents(primals[self.count :], tangents[self.count :])
        results = self.graphs[0](*primals, *select_list(given, self.moving))
        half = len(results) // 2
        return results[:half], results[half:]


class StagedBackwardRule(StagedRule):
    """A rule for reverse mode, staged as if all arguments were asked for."""

    def __init__(self, call: RuledCall, avals: Sequence[Aval], function: Graph):
        assert call.vjp is not None
        self.name = call.name
        self.results = len(function.out_avals)
        backward = call.vjp[1]
        residuals: list[Any] = []
        self.pulled: list[bool] = []  # arguments that get a cotangent

        def run_forward(*values: Any) -> list[Any]:
            ys, residuals[:] = call.run_forward(values, [True] * len(values))
            return [*ys, *select_list(residuals, are_arrays(residuals))]

        forward = stage(run_forward, avals, f"forward rule of {call.name}", sites=False)
        self.held = are_arrays(residuals)
        self.others = [None if held else r for held, r in zip(self.held, residuals)]

        def run_backward(*given: Any) -> list[Any]:
            arrays, cts = split_list(given, sum(self.held))
            found = backward(self.fill(arrays), cts)
            self.pulled = [ct is not None for ct in found]
            return [ct for ct in found if ct is not None]

        cts = [tangent_aval(a) for a in function.out_avals]
        avals_of_residuals = forward.out_avals[self.results :]
        back = stage(run_backward, [*avals_of_residuals, *cts], f"backward rule of {call.name}", sites=False)
        self.graphs = [forward, back]

    def fill(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the residuals: these arrays, and other values as `fwd` returned them."""
        return [
            a if held else other
            for a, held, other in zip(expand_list(arrays, self.held), self.held, self.others)
        ]

    def forward(self, *values: Any, perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """Apply the forward rule; its residuals begin with the closed-over values, which the backward rule needs."""
        self.ensure_fixed(perturbed)
        ys, residuals = split_list(self.graphs[0](*values), self.results)
        return ys, [*values[: self.count], *residuals, *map(zero_tangent, ys)]

    def backward(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Apply the backward rule."""
        held, zeros = split_list(residuals, len(residuals) - self.results)
        found = self.graphs[1](*held, *(z if ct is None else ct for ct, z in zip(cts, zeros)))
        return [*[None] * self.count, *expand_list(found, self.pulled)]


def are_arrays(residuals: Sequence[Any]) -> list[bool]:
    """Tell which residuals are values: others are numbers, shapes and the like."""
    return [type(r) in VALUES and type(r) not in SCALARS for r in residuals]


class LateRule:
    """A rule that is staged when it is first applied. `captured` are the values that the call's leading operands stand
    for; what else it closes over must still be known then."""

    def __init__(self, call: RuledCall, avals: Sequence[Aval], function: Graph, captured: Sequence[Any]):
        self.call, self.avals, self.function, self.captured = call, avals, function, captured
        self.staged: StagedRule | None = None

    @property
    def rule(self) -> Any:
        """The rule."""
        if self.staged is None:
            try:
                staged = stage_rule(self.call, self.avals, self.function)
            except EscapedTracerError as error:
                raise CustomRuleError(
                    f"{self.call.name} closes over traced values, and is differentiated inside its own rule, where "
                    "these are no longer known",
                    hint="make the values arguments of the function, as converted, values = fx.closure_convert(f, "
                    "*arguments) gives them",
                ) from error
            staged.graphs = [with_operands(graph, self.captured) for graph in staged.graphs]
            staged.count = len(self.captured)
            self.staged = staged
        return self.staged

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Apply the rule for forward mode."""
        return self.rule.jvp(primals, tangents)

    def forward(self, *values: Any, perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """Apply the forward rule."""
        return self.rule.forward(*values, perturbed=perturbed)

    def backward(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Apply the backward rule."""
        return self.rule.backward(residuals, cts)


def with_operands(graph: Graph, values: Sequence[Any]) -> Graph:
    """Return a Graph with leading inputs for these values, as far as it captures them in their place."""
    own = {id(value): var for var, value in graph.captured.items()}
    inputs = [own.get(id(value)) or Var(aval_of(value)) for value in values]
    rest = {var: value for var, value in graph.captured.items() if var not in inputs}
    return Graph([*inputs, *graph.inputs], graph.equations, graph.outputs, rest, graph.name)
