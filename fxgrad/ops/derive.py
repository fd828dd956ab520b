"""Derivation of reverse mode: the pullback of a primitive is compiled to straight-line Python and cached.

A rule is staged once for each pattern of operands (which of them need a cotangent, which were broadcast or promoted,
their dtypes). Unneeded equations are dropped, and the rest is compiled. The operands and results that it still reads
are its residuals: exactly these are kept between the forward and the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of, check_dtype, is_differentiable
from ..core.costs import FUSED_ENTRIES, PRUNED_EQUATIONS
from ..core.graph import Equation, Graph, Var
from ..core.interpreter import is_plain
from ..core.pullback import PullbackRule
from ..core.staging import stage
from ..kernels.codegen.source import INDENT, FunctionBuilder, compile_graph
from .masked import Masked, Support, densify, restore_support
from .projection import project
from .transpose import transpose_graph


class Pullback(PullbackRule):
    """A compiled pullback: `pull_plain` calls kernels, `pull` calls binding functions.

    save_residuals(snapshot, y, values) → residuals (None: no residuals): the values that `saved_from` lists, then
    avals. `finite`: all partial derivatives are finite; None if the operation is not elementwise, so that the support
    of a masked cotangent differs from that of the results; `reach` then computes one from the other, if it can. It is
    the pullback of `primitive` with `params`, for operands of these avals.
    """

    __slots__ = (
        "finite",
        "operands",
        "params",
        "primitive",
        "projected",
        "pull_plain",
        "reach",
        "save_residuals",
        "saved_from",
        "traced",
    )
    saved_from: list[int]

    def __init__(
        self,
        save_residuals: Callable | None,
        saved_from: list[int],
        pull_plain: Callable | None,
        pull_traced: Callable,
        projected: list[int],
        finite: bool | None,
    ):
        self.save_residuals = save_residuals
        self.saved_from = saved_from
        self.pull_plain = pull_plain
        self.traced = pull_traced
        self.projected, self.finite = projected, finite
        self.reach: Callable | None = None
        self.primitive: Any = None
        self.params: dict[str, Any] = {}
        self.operands: Sequence[Aval] = ()

    def map_residuals(self, residuals: Sequence[Any], operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        filled = [result(0, v) if k == 0 else operand(k - 1, v) for k, v in zip(self.saved_from, residuals)]
        return (*filled, *residuals[len(filled) :])

    def pull(self, ct: Any, *residuals: Any) -> list[Any]:
        """Cotangents for a cotangent of any kind. The last residuals are the avals of the projected operands."""
        count = len(residuals) - len(self.projected)
        masked = ct if type(ct) is Masked else None
        if masked is not None and self.finite is None:
            ct = masked.densify()
            masked = None if self.reach is None else Masked(ct, Support(self.reach, masked.support))
        results = list(self.traced(ct.value if type(ct) is Masked else ct, *residuals[:count]))
        if masked is not None:
            results = [None if r is None else restore_support(r, masked, bool(self.finite)) for r in results]
        for i, aval in zip(self.projected, residuals[count:]):
            results[i] = project(results[i], aval)
        return results


def compile_pullback(
    rule: Callable,
    avals: Sequence[Aval],
    needed: Sequence[Any],
    projected: list[int],
    finite: bool | None,
    name: str,
    shaped: bool,
) -> Pullback:
    """Compile rule(ct, y, *values) → cotangents (or None, or Masked) of the needed operands. `shaped`: the avals have
    the shapes of the operands, and do not stand for those of all shapes."""
    layout: list[str] = []
    places: dict[int, int] = {}  # operand → position among the staged results
    clean: list[int] = []  # the positions of supports that are computed on demand

    def flatten_results(*tracers: Any) -> list[Any]:
        results = []
        for i, result in enumerate(rule(*tracers)):
            places[i] = len(results)
            if result is None:
                del places[i]
                layout.append("None")
            elif type(result) is Masked:
                support = result.support.force()
                layout.append(f"Masked({{{len(results)}}}, {{{len(results) + 1}}}, {result.clean})")
                clean.extend([len(results) + 1] * result.clean)
                results += [result.value, support]
            else:
                layout.append(f"{{{len(results)}}}")
                results.append(result)
        return results

    graph = stage(flatten_results, avals, name, sites=False).prune(
        keep_effects=False
    )  # the operation has had them
    # Cotangents are converted also where the rule computes in a wider dtype (2.0 ** x in single precision).
    projected = sorted(
        {
            *projected,
            *(i for i, place in places.items() if graph.outputs[place].aval.dtype != avals[i + 2].dtype),
        }
    )
    kept = [i for i, read in enumerate(graph.used_inputs()[1:]) if read]  # 0 is y, i + 1 the operand i
    names = {0: "y"} | {i + 1: f"x{i}" for i in range(len(avals) - 2)}
    values = simplify_values(graph, shaped)
    in_one_pass = not (shaped or projected) and avals[0].shape and (len(graph.equations) > 1 or clean)

    def build(plain: bool) -> Callable[..., Any]:
        chosen = values if plain else graph
        source = FunctionBuilder(plain, quiet=True, exact=plain and shaped)
        source.namespace |= {"Masked": Masked, "Support": Support, "project": project}
        for var, parameter in zip(graph.inputs, ["ct", *names.values()]):
            source.names[var] = parameter
        arranged, count = postpone_equations(chosen, clean)
        source.equations(arranged, count)
        atoms = [source.atom(a) for a in chosen.outputs]
        if count < len(chosen.equations):
            inner = [*source.lines[count:], f"return {', '.join(atoms[i] for i in clean)},"]
            source.lines[count:] = ["def later():", *[INDENT + line for line in inner]]
            for k, i in enumerate(clean):
                atoms[i] = f"Support(lambda: later()[{k}])"
        results = [part.format(*atoms) for part in layout]
        kept_names = [names[k] for k in kept]
        if plain:
            for i in projected:
                kept_names.append(f"a{i}")
                results[i] = f"project({results[i]}, a{i})"
        parameters = ["ct", *kept_names]
        if plain:  # the residuals as one tuple: a call that unpacks one costs more
            parameters = ["ct", "residuals"]
            if kept_names:
                source.lines.insert(0, f"{', '.join(kept_names)}, = residuals")
            if in_one_pass:
                large = source.constant(LargePullback(rule, avals, kept, traced))
                source.lines[:0] = [
                    f"if ct.size >= {FUSED_ENTRIES}:",
                    f"{INDENT}found = {large}(ct, residuals)",
                    f"{INDENT}if found is not None: return found",
                ]
        return source.function(f"pullback_{name}", parameters, f"({', '.join(results)},)")

    # A kept operand that needs a cotangent is private to the tape; any other may be the user's array.
    keeper = FunctionBuilder(True)
    keeper.namespace["aval_of"] = aval_of
    items = ["y" if k == 0 else f"xs[{k - 1}]" for k in kept]
    items = [i if k == 0 or needed[k - 1] is not None else f"own({i})" for i, k in zip(items, kept)]
    items += [f"aval_of(xs[{i}])" for i in projected]
    keep = keeper.function(f"keep_{name}", ["own", "y", "xs"], f"({', '.join(items)},)") if items else None
    traced = build(False)
    return Pullback(keep, kept, build(True), traced, projected, finite)


class LargePullback:
    """The pullback of an elementwise operation on large arrays in one pass: by machine code, which is made when it is
    first asked for. (ct, residuals) → cotangents, or None where NumPy's functions are to compute them.

    `kept` are the positions of the residuals among (y, *operands), `traced` the same pullback for values of any kind.
    """

    __slots__ = ("avals", "code", "kept", "masked", "places", "rule", "traced")

    def __init__(self, rule: Callable, avals: Sequence[Aval], kept: Sequence[int], traced: Callable):
        self.rule, self.avals, self.kept, self.traced = rule, avals, kept, traced
        self.code: Any = None
        self.places: list[int] = []  # the operands for which there is a cotangent
        self.masked: list[bool] = []  # whether it is masked

    def stage_code(self) -> Any:
        """Return the code for the cotangents with structural zeros as numbers."""
        from ..kernels.native.entrywise import EntrywiseGraph  # loaded when first used

        def pull(ct: Any, *values: Any) -> list[Any]:
            known: list[Any] = [None] * (len(self.avals) - 1)
            for i, v in zip(self.kept, values):
                known[i] = v
            found = self.rule(ct, *known)
            self.places = [i for i, v in enumerate(found) if v is not None]
            self.masked = [type(found[i]) is Masked for i in self.places]
            return [densify(found[i]) for i in self.places]

        avals = [self.avals[0], *(self.avals[i + 1] for i in self.kept)]
        graph = stage(pull, avals, "pullback", sites=False)
        return EntrywiseGraph(simplify_values(graph, False))

    def __call__(self, ct: Any, residuals: Sequence[Any]) -> tuple | None:
        if self.code is None:
            self.code = self.stage_code()
        found = self.code(ct, *residuals)
        if found is None:
            return None
        results: list[Any] = [None] * (len(self.avals) - 2)
        for i, value, masked in zip(self.places, found, self.masked):
            results[i] = Masked(value, self.support(i, ct, residuals), True) if masked else value
        return tuple(results)

    def support(self, i: int, ct: Any, residuals: Sequence[Any]) -> Support:
        """Return the support of a masked cotangent, which is seldom asked for."""
        return Support(lambda: self.traced(ct, *residuals)[i].support.force())


def simplify_values(graph: Graph, shaped: bool) -> Graph:
    """Return what computes the values of a pullback, with as few equations as passes make of it."""
    if len(graph.equations) < (2 if shaped else PRUNED_EQUATIONS):
        return graph
    if shaped:
        from ..passes.pullbacks import compact  # most pullbacks are too short for it

        return compact(graph)
    from ..passes.any_shapes import simplify_any_shapes

    return simplify_any_shapes(graph)


def postpone_equations(graph: Graph, places: Sequence[int]) -> tuple[Graph, int]:
    """Move the equations that only the results at `places` need to the end; return the graph and the number of the
    others."""
    needed = {a for i, a in enumerate(graph.outputs) if i not in places}
    first, last = [], []
    for equation in reversed(graph.equations):
        if needed.isdisjoint(equation.outputs):
            last.append(equation)
        else:
            needed.update(equation.inputs)
            first.append(equation)
    equations = [*reversed(first), *reversed(last)]
    return Graph(graph.inputs, equations, graph.outputs, graph.captured, graph.name), len(first)


def elementwise_pullback(
    primitive: Any, key: Any, values: Sequence[Any], needed: Sequence[Any], y: Any, params: dict
) -> Pullback | None:
    """Derive the Pullback of an elementwise primitive; it holds for all shapes with or without axes."""
    out = aval_of(y)
    operands = [aval_of(v) for v in values]
    # The rule outlives this call: it keeps which operands are needed, not the nodes that need them.
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
    if primitive.cotangent_rule is not None:
        pullback = written_pullback(primitive, positions, params)
    else:
        forward = stage_tangent_rule(primitive, [out], operands, positions, params)

        def pullback(ct: Any, *known: Any) -> list[Any]:
            cts = dict(zip(positions, transpose_graph(forward, known, len(positions), [ct])))
            return [cts.get(i) for i in range(len(operands))]

    rule = compile_pullback(pullback, [out, out, *operands], needed, [], None, primitive.name, True)
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

    def compile_pull(self, present: Sequence[int], extra_operands: Sequence[Any]) -> Callable[..., list[Any]]:
        """Compile the function (*cotangents present, *residuals, *extra operands) → a cotangent or None for every
        operand."""
        avals, positions = [*self.out_avals, *self.operands], self.positions
        forward = self.forward(extra_operands)
        places: list[int] = []  # the operands for which there is a cotangent

        def pullback(*given: Any) -> list[Any]:
            rest = iter(given)
            cts = dict(zip(present, rest))
            kept = dict(zip(self.saved_positions, rest))
            known = [*map(kept.get, range(len(avals))), *rest]
            found = transpose_graph(
                forward, known, len(positions), [*map(cts.get, range(len(self.out_avals)))]
            )
            places[:] = [p for p, ct in zip(positions, found) if ct is not None]
            return [densify(ct) for ct in found if ct is not None]

        given = [*[avals[i] for i in (*present, *self.saved_positions)], *map(aval_of, extra_operands)]
        graph = self.written_pullback() if present == (0,) and not extra_operands else None
        if graph is None:
            graph = stage(pullback, given, self.primitive.name, sites=False)
        else:
            places[:] = positions
        plain = compile_graph(simplify_values(graph, True), True, quiet=True)
        traced = compile_graph(graph, False, quiet=True)

        def code(*given: Any) -> list[Any]:
            results: list[Any] = [None] * len(self.operands)
            for place, ct in zip(places, (plain if is_plain(given) else traced)(*given)):
                results[place] = ct
            return results

        return code
