"""Derivation of reverse mode: the pullback of a primitive is compiled to straight-line Python and cached.

A rule is staged once for each pattern of operands (which of them need a cotangent, which were broadcast or promoted,
their dtypes). Unneeded equations are dropped, and the rest is compiled. The operands and results that it still reads
are its residuals: exactly these are kept between the forward and the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of, check_dtype, is_differentiable
from ..core.graph import Equation, Graph, Var
from ..core.interpreter import EVAL, is_plain, use_context
from ..core.pullback import PullbackRule
from ..core.staging import stage
from ..kernels.codegen.late import LateCode
from ..kernels.codegen.source import compile_graph
from .masked import densify
from .pullback_code import Pullback, compile_pullback, simplify_values, takes_rules
from .transpose import transpose_graph


def elementwise_pullback(
    primitive: Any, key: Any, values: Sequence[Any], needed: Sequence[Any], y: Any, params: dict
) -> Pullback | None:
    """Derive the Pullback of an elementwise primitive; it holds for all shapes with or without axes."""
    out = aval_of(y)
    operands = [aval_of(v) for v in values]
    needed = [None if n is None or rule is None else True for n, rule in zip(needed, primitive.partials)]
    check_dtype(out.dtype, f"the result of {primitive.name}")
    if not is_differentiable(out.dtype) or all(n is None for n in needed):
        rule = None
    else:
        projected = [
            i
            for i, a in enumerate(operands)
            if needed[i] is not None and (a.shape != out.shape or a.dtype != out.dtype)
        ]

        def pullback(ct: Any, y: Any, *xs: Any) -> list[Any]:
            return [
                None if n is None else r(ct, y, *xs, **params) for n, r in zip(needed, primitive.partials)
            ]

        # Operands of the result's shape are told apart from others, which may be smaller: see Source.buffer.
        full = (2,) if out.shape else ()
        avals = [
            Aval(full if n is not None and i not in projected else (), a.dtype, a.weak)
            for i, (a, n) in enumerate(zip(operands, needed))
        ]
        avals = [Aval(full, out.dtype), Aval(full, out.dtype, out.weak), *avals]
        rule = compile_pullback(pullback, avals, needed, projected, primitive.finite, primitive.name, False)
        rule.primitive, rule.params, rule.operands = primitive, params, operands
    primitive.pullbacks[key] = rule
    return rule


def stage_tangent_rule(
    primitive: Any, ys: Sequence[Aval], operands: Sequence[Aval], positions: Sequence[int], params: dict
) -> Graph:
    """Stage the tangent rule as a Graph of (*results, *operands, *tangents of the operands at `positions`)."""
    count, forward_mode = len(ys), primitive.forward_mode

    def tangent(*known: Any) -> Sequence[Any]:
        results, rest = known[:count], known[count:]
        tangents = dict(zip(positions, rest[len(operands) :]))
        given, again = [tangents.get(i) for i in range(len(operands))], []
        if forward_mode is not None:
            again, found = forward_mode(rest[: len(operands)], given, params)
        elif primitive.multiple_results:
            found = primitive.tangent_rule(results, rest[: len(operands)], given, params)
        else:
            return [primitive.tangent_rule(*results, rest[: len(operands)], given, params)]
        return [*(np.zeros(y.shape, y.dtype) if t is None else t for t, y in zip(found, ys)), *again]

    avals = [*ys, *operands, *(Aval(operands[i].shape, operands[i].dtype) for i in positions)]
    graph = stage(tangent, avals, primitive.name, sites=False)
    return graph if forward_mode is None else take_known_results(graph, count)


def take_known_results(graph: Graph, count: int) -> Graph:
    """Return a graph without its last `count` outputs, which compute its first inputs again. Equations that read them,
    or values from which they were only rearranged, read the inputs instead."""
    makers = {v: e for e in graph.equations for v in e.outputs}
    known: dict[Any, Any] = {}
    back: list[Equation] = []
    for again, given in zip(graph.outputs[-count:], graph.inputs):
        while again in makers and again.aval == given.aval:
            known[again] = given
            maker = makers[again]
            undo = REARRANGEMENTS.get(maker.primitive.name)
            if undo is None:
                break
            again, taken_back = maker.inputs[0], Var(maker.inputs[0].aval)
            back.append(
                Equation(maker.primitive, [given], [taken_back], undo(maker), maker.site, maker.quiet)
            )
            given = taken_back

    def taken(atoms: Sequence[Any]) -> list[Any]:
        return [known.get(a, a) for a in atoms]

    equations = [
        Equation(e.primitive, taken(e.inputs), e.outputs, e.params, e.site, e.quiet) for e in graph.equations
    ]
    outputs = taken(graph.outputs[:-count])
    whole = Graph(graph.inputs, [*back, *equations], outputs, graph.captured, graph.name)
    return whole.prune(keep_effects=False)


# Rearrangements, and the params with which each undoes itself.
REARRANGEMENTS: dict[str, Callable[[Equation], dict]] = {
    "conjugate": lambda e: {},
    "permute": lambda e: {"axes": tuple(np.argsort(e.params["axes"]).tolist())},
    "reshape": lambda e: {"shape": e.inputs[0].aval.shape},
}


def differentiable_positions(operands: Sequence[Aval], wanted: Sequence[Any]) -> list[int]:
    """Return the positions of the operands that take a cotangent."""
    return [i for i, (a, w) in enumerate(zip(operands, wanted)) if w and is_differentiable(a.dtype)]


def general_pullback(
    primitive: Any, values: Sequence[Any], needed: Sequence[Any], y: Any, params: dict
) -> Pullback | JointPullback | None:
    """Derive the Pullback of a primitive from its tangent rule: it is staged, split at the tangents and transposed."""
    if primitive.multiple_results:
        return joint_pullback(primitive, values, needed, y, params)
    out = aval_of(y)
    if not is_differentiable(out.dtype):
        return None
    operands = [aval_of(v) for v in values]
    positions = differentiable_positions(operands, [n is not None for n in needed])
    read = None
    if primitive.cotangent_rule is not None:
        pullback = written_pullback(primitive, positions, params)
    else:
        forward = stage_tangent_rule(primitive, [out], operands, positions, params)
        read = [i for i, used in enumerate(forward.used_inputs()[: 1 + len(operands)]) if used]

        def pullback(ct: Any, *known: Any) -> list[Any]:
            cts = dict(zip(positions, transpose_graph(forward, known, len(positions), [ct])))
            return [cts.get(i) for i in range(len(operands))]

    rule = compile_pullback(pullback, [out, out, *operands], needed, [], None, primitive.name, True, read)
    rule.primitive, rule.params, rule.operands = primitive, params, operands
    if primitive.reach is not None:
        rule.reach = lambda mask: primitive.reach(mask, *operands, **params)
    return rule


def written_pullback(primitive: Any, positions: Sequence[int], params: dict) -> Callable[..., list[Any]]:
    """Return the function (ct, y, *operands) → cotangents of the operands, None but for those at `positions`, that a
    primitive's cotangent rule is."""

    def pullback(ct: Any, *known: Any) -> list[Any]:
        y, *operands = known
        found = primitive.cotangent_rule(y, operands, ct, params)
        return [v if i in positions else None for i, v in enumerate(found)]

    return pullback


def joint_pullback(
    primitive: Any, values: Sequence[Any], needed: Sequence[Any], ys: Sequence[Any], params: dict
) -> JointPullback | None:
    """Derive the JointPullback of a primitive with several results."""
    outs, operands = [aval_of(y) for y in ys], [aval_of(v) for v in values]
    positions = differentiable_positions(operands, [n is not None for n in needed])
    if not positions or not any(is_differentiable(out.dtype) for out in outs):
        return None
    return JointPullback(primitive, outs, operands, positions, params)


class JointPullback(PullbackRule):
    """The pullback of a primitive with several results, compiled for each set of cotangents that it meets: a result
    without one is left out, and not taken for zeros, so that singular values are differentiated where singular vectors
    cannot be. Whatever set that will be, only those results and operands are kept that the tangent rule reads.
    """

    __slots__ = (
        "compiled_pulls",
        "operands",
        "out_avals",
        "params",
        "positions",
        "primitive",
        "saved_from",
        "saved_positions",
        "tangent_graphs",
    )

    def __init__(
        self,
        primitive: Any,
        out_avals: Sequence[Aval],
        operands: Sequence[Aval],
        positions: Sequence[int],
        params: dict,
    ):
        self.primitive, self.out_avals, self.operands = primitive, out_avals, operands
        self.positions, self.params = positions, params
        self.tangent_graphs: dict[tuple, Graph] = {}
        self.compiled_pulls: dict[tuple, Callable[..., list[Any]]] = {}
        count = len(out_avals)
        try:
            known = self.forward(primitive.extra_operands({}, out_avals)).used_inputs()[
                : count + len(operands)
            ]
        except Exception:  # there is no derivative: `pull` says so, if it comes to that
            known = []
        # The residuals among results and operands, numbered, and in the form of `PullbackRule.saved_from`.
        self.saved_positions = [i for i, read in enumerate(known) if read]
        self.saved_from = [max(i + 1 - count, 0) for i in self.saved_positions]

    def forward(self, extra_operands: Sequence[Any]) -> Graph:
        """Return the Graph of the tangent rule, which has extra operands beside those of the primitive."""
        avals = tuple(map(aval_of, extra_operands))
        found = self.tangent_graphs.get(avals)
        if found is None:
            operands = [*self.operands, *avals]
            found = stage_tangent_rule(self.primitive, self.out_avals, operands, self.positions, self.params)
            self.tangent_graphs[avals] = found
        return found

    def save_residuals(
        self, snapshot: Callable[[Any], Any], ys: Sequence[Any], values: Sequence[Any]
    ) -> tuple:
        """Return the residuals. An operand that needs a cotangent is private to the tape."""
        known, count = [*ys, *values], len(ys)
        private = [*range(count), *[i + count for i in self.positions]]
        return tuple([known[i] if i in private else snapshot(known[i]) for i in self.saved_positions])

    def map_residuals(self, residuals: Sequence[Any], operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        count = len(self.out_avals)
        filled = [
            result(i, v) if i < count else operand(i - count, v)
            for i, v in zip(self.saved_positions, residuals)
        ]
        return tuple(filled)

    def pull(self, cts: dict[int, Any], *residuals: Any) -> list[Any]:
        """See `PullbackRule`."""
        present, further = tuple(sorted(cts)), self.primitive.extra_operands(cts, self.out_avals)
        key = (present, *map(aval_of, further))
        code = self.compiled_pulls.get(key)
        if code is None:
            code = self.compiled_pulls[key] = self.compile_pull(present, further)
            code.uses.append(partial(self.compiled_pulls.__setitem__, key))
        return code(*[densify(cts[i]) for i in present], *residuals, *further)

    def pull_plain(self, cts: dict[int, Any], residuals: Sequence[Any]) -> list[Any]:
        """See `PullbackRule`."""
        return self.pull(cts, *residuals)

    def written_pullback(self) -> Graph | None:
        """Return the Graph (ct of the first result, *residuals) → cotangents that the primitive's cotangent rule is, or
        None where there is none, or where it reads more than is kept."""
        count, rule = len(self.out_avals), self.primitive.cotangent_rule
        if rule is None:
            return None

        def pullback(ct: Any, *known: Any) -> list[Any]:
            found = rule(known[:count], known[count:], ct, self.params)
            return [found[p] for p in self.positions]

        avals = [self.out_avals[0], *self.out_avals, *self.operands]
        graph = stage(pullback, avals, self.primitive.name, sites=False).prune()
        first, *known = graph.inputs
        if any(read and i not in self.saved_positions for i, read in enumerate(graph.used_inputs()[1:])):
            return None
        inputs = [first, *(known[i] for i in self.saved_positions)]
        return Graph(inputs, graph.equations, graph.outputs, graph.captured, graph.name)

    def compile_pull(self, present: Sequence[int], extra_operands: Sequence[Any]) -> LateCode:
        """Compile the function (*cotangents present, *residuals, *extra operands) → a cotangent or None for every
        operand."""
        avals, positions = [*self.out_avals, *self.operands], self.positions
        forward, extra_avals = self.forward(extra_operands), [*map(aval_of, extra_operands)]

        def pullback(*given: Any) -> list[Any]:
            rest = iter(given)
            cts = dict(zip(present, rest))
            kept = dict(zip(self.saved_positions, rest))
            known = [*map(kept.get, range(len(avals))), *rest]
            return transpose_graph(
                forward, known, len(positions), [*map(cts.get, range(len(self.out_avals)))]
            )

        def place_results(places: Sequence[int], cts: Sequence[Any]) -> list[Any]:
            results: list[Any] = [None] * len(self.operands)
            for place, ct in zip(places, cts):
                results[place] = ct
            return results

        def transpose(*given: Any) -> list[Any]:
            if not takes_rules(given):
                return code.compile()(*given)
            with use_context(EVAL) if is_plain(given) else nullcontext():
                return place_results(
                    positions, [ct if ct is None else densify(ct) for ct in pullback(*given)]
                )

        def compile_code() -> Callable[..., list[Any]]:
            graph = self.written_pullback() if present == (0,) and not extra_avals else None
            places = positions  # the operands for which there is a cotangent
            if graph is None:
                found: list[int] = []

                def present_cotangents(*given: Any) -> list[Any]:
                    cts = pullback(*given)
                    found[:] = [p for p, ct in zip(positions, cts) if ct is not None]
                    return [densify(ct) for ct in cts if ct is not None]

                given = [
                    *[avals[i] for i in (*present, *self.saved_positions)],
                    *extra_avals,
                ]
                graph, places = stage(present_cotangents, given, self.primitive.name, sites=False), found
            plain = compile_graph(simplify_values(graph, True), True, quiet=True)
            traced = compile_graph(graph, False, quiet=True)
            return lambda *given: place_results(places, (plain if is_plain(given) else traced)(*given))

        code = LateCode(transpose, compile_code)
        return code
