"""Reverse mode derived: the pullback of a primitive as compiled straight-line Python, cached.

A rule is staged once for each pattern of operands (which need a cotangent, which were broadcast or promoted,
dtypes), its unneeded parts are dropped, and what is left is compiled. The operands and results that it still
reads are its residuals: exactly these are kept between the forward and the backward pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import Aval, aval_of, check_dtype, is_differentiable
from ..core.graph import Graph
from ..core.interpreter import is_plain
from ..core.staging import stage
from ..kernels.source import INDENT, Source, compile_graph
from .masked import Masked, Support, dense, scaled
from .transpose import transpose_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Rule:
    """A compiled pullback.

    keep(own, y, values) → residuals (None: there are none);
    plain(ct, residuals) and pull(ct, *residuals) → a cotangent or None for every operand. `plain` calls kernels
    and is for NumPy values only; `pull` is for everything else: traced and masked cotangents.
    `kept` says what the residuals are: 0 the result, i + 1 the operand i; `refill` puts others in their place.
    `finite`: all partial derivatives are finite; None where the operation is not elementwise, so that the support
    of a masked cotangent is not that of the results; `reach` then makes the one from the other, where it can.
    """

    __slots__ = ("finite", "keep", "kept", "plain", "projected", "reach", "traced")

    def __init__(
        self,
        keep: Callable | None,
        kept: list[int],
        plain: Callable | None,
        traced: Callable,
        projected: list[int],
        finite: bool | None,
    ):
        self.keep, self.kept, self.plain, self.traced = keep, kept, plain, traced
        self.projected, self.finite = projected, finite
        self.reach: Callable | None = None

    def refill(self, residuals: Sequence[Any], operand: Callable, result: Callable) -> tuple:
        """Residuals with result(0, value) for the result and operand(i, value) for the operand i."""
        filled = [result(0, v) if k == 0 else operand(k - 1, v) for k, v in zip(self.kept, residuals)]
        return (*filled, *residuals[len(filled) :])

    def pull(self, ct: Any, *residuals: Any) -> list[Any]:
        """Cotangents for a cotangent of any kind. The last residuals are the avals of the projected operands."""
        from .kinds import project

        count = len(residuals) - len(self.projected)
        masked = ct if type(ct) is Masked else None
        if masked is not None and self.finite is None:
            ct = masked.dense()
            masked = None if self.reach is None else Masked(ct, Support(self.reach, masked.support))
        results = list(self.traced(ct.value if type(ct) is Masked else ct, *residuals[:count]))
        if masked is not None:
            results = [None if r is None else scaled(r, masked, bool(self.finite)) for r in results]
        for i, aval in zip(self.projected, residuals[count:]):
            results[i] = project(results[i], aval)
        return results


def compile_rule(
    rule: Callable,
    avals: Sequence[Aval],
    needed: Sequence[Any],
    projected: list[int],
    finite: bool | None,
    name: str,
) -> Rule:
    """Compile rule(ct, y, *values) → cotangents (or None, or Masked) of the needed operands."""
    layout: list[str] = []
    places: dict[int, int] = {}  # operand → position among the staged results
    clean: list[int] = []  # the positions of supports that are needed only if somebody asks for them

    def flat(*tracers: Any) -> list[Any]:
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

    graph = stage(flat, avals, name, sites=False)
    # Cotangents are converted also where the rule computes in a wider dtype (2.0 ** x in single precision).
    projected = sorted(
        {
            *projected,
            *(i for i, place in places.items() if graph.outputs[place].aval.dtype != avals[i + 2].dtype),
        }
    )
    read = {a for e in graph.equations for a in e.inputs} | set(graph.outputs)
    kept = [i for i, var in enumerate(graph.inputs[1:]) if var in read]  # 0 is y, i + 1 the operand i
    names = {0: "y"} | {i + 1: f"x{i}" for i in range(len(avals) - 2)}

    def build(plain: bool) -> Callable[..., Any]:
        source = Source(plain, quiet=True)
        source.namespace |= {"Masked": Masked, "Support": Support}
        for var, parameter in zip(graph.inputs, ["ct", *names.values()]):
            source.names[var] = parameter
        arranged, count = postponed(graph, clean if plain else ())
        source.equations(arranged, count)
        atoms = [source.atom(a) for a in graph.outputs]
        if count < len(graph.equations):
            inner = [*source.lines[count:], f"return {', '.join(atoms[i] for i in clean)},"]
            source.lines[count:] = ["def later():", *[INDENT + line for line in inner]]
            for k, i in enumerate(clean):
                atoms[i] = f"Support(lambda: later()[{k}])"
        results = [part.format(*atoms) for part in layout]
        kept_names = [names[k] for k in kept]
        if plain and projected:
            from .kinds import project

            source.namespace["project"] = project
            for i in projected:
                kept_names.append(f"a{i}")
                results[i] = f"project({results[i]}, a{i})"
        parameters = ["ct", *kept_names]
        if plain:  # the residuals as one tuple: a call that unpacks one costs more
            parameters = ["ct", "residuals"]
            if kept_names:
                source.lines.insert(0, f"{', '.join(kept_names)}, = residuals")
        return source.function(f"pullback_{name}", parameters, f"({', '.join(results)},)")

    # A kept operand that needs a cotangent is private to the tape; any other may be the user's array.
    keeper = Source(True)
    keeper.namespace["aval_of"] = aval_of
    items = ["y" if k == 0 else f"xs[{k - 1}]" for k in kept]
    items = [i if k == 0 or needed[k - 1] is not None else f"own({i})" for i, k in zip(items, kept)]
    items += [f"aval_of(xs[{i}])" for i in projected]
    keep = keeper.function(f"keep_{name}", ["own", "y", "xs"], f"({', '.join(items)},)") if items else None
    return Rule(keep, kept, build(True), build(False), projected, finite)


def postponed(graph: Graph, places: Sequence[int]) -> tuple[Graph, int]:
    """(the graph with the equations last that only the results at `places` need, the number of the others)."""
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


def elementwise_rule(
    primitive: Any, key: Any, values: Sequence[Any], needed: Sequence[Any], y: Any, params: dict
) -> Rule | None:
    """The Rule of an elementwise primitive; it holds for all shapes with or without axes."""
    out = aval_of(y)
    operands = [aval_of(v) for v in values]
    needed = [n if rule is not None else None for n, rule in zip(needed, primitive.rules)]
    check_dtype(out.dtype, f"the result of {primitive.name}")
    if not is_differentiable(out.dtype) or all(n is None for n in needed):
        rule = None
    else:
        # Dtypes are compared by identity, as for the key: NumPy makes equal ones that are not the same object.
        projected = [
            i
            for i, a in enumerate(operands)
            if needed[i] is not None and (a.shape != out.shape or a.dtype is not out.dtype)
        ]

        def pullback(ct: Any, y: Any, *xs: Any) -> list[Any]:
            return [None if n is None else r(ct, y, *xs, **params) for n, r in zip(needed, primitive.rules)]

        # Operands of the result's shape are told apart from others, which may be smaller: see Source.buffer.
        full = (2,) if out.shape else ()
        avals = [
            Aval(full if n is not None and i not in projected else (), a.dtype, a.weak)
            for i, (a, n) in enumerate(zip(operands, needed))
        ]
        avals = [Aval(full, out.dtype), Aval(full, out.dtype, out.weak), *avals]
        rule = compile_rule(pullback, avals, needed, projected, primitive.finite, primitive.name)
    primitive.derived[key] = rule
    return rule


def staged_tangent(
    primitive: Any, ys: Sequence[Aval], operands: Sequence[Aval], positions: Sequence[int], params: dict
) -> Graph:
    """The tangent rule as a Graph of (*results, *operands, *tangents of the operands at `positions`)."""
    count = len(ys)

    def tangent(*known: Any) -> Sequence[Any]:
        results, rest = known[:count], known[count:]
        tangents = dict(zip(positions, rest[len(operands) :]))
        given = [tangents.get(i) for i in range(len(operands))]
        if primitive.multiple_results:
            found = primitive.tangent(results, rest[: len(operands)], given, params)
            return [np.zeros(y.shape, y.dtype) if t is None else t for t, y in zip(found, ys)]
        return [primitive.tangent(*results, rest[: len(operands)], given, params)]

    avals = [*ys, *operands, *(Aval(operands[i].shape, operands[i].dtype) for i in positions)]
    return stage(tangent, avals, primitive.name, sites=False)


def differentiable(operands: Sequence[Aval], wanted: Sequence[Any]) -> list[int]:
    """The positions of the operands that take a cotangent."""
    return [i for i, (a, w) in enumerate(zip(operands, wanted)) if w and is_differentiable(a.dtype)]


def general_rule(
    primitive: Any, values: Sequence[Any], needed: Sequence[Any], y: Any, params: dict
) -> Rule | None:
    """The Rule of a primitive from its tangent rule: staged, split at the tangents, transposed."""
    out = aval_of(y)
    if not is_differentiable(out.dtype):
        return None
    operands = [aval_of(v) for v in values]
    positions = differentiable(operands, [n is not None for n in needed])
    forward = staged_tangent(primitive, [out], operands, positions, params)

    def pullback(ct: Any, *known: Any) -> list[Any]:
        cts = dict(zip(positions, transpose_graph(forward, known, len(positions), [ct])))
        return [cts.get(i) for i in range(len(operands))]

    rule = compile_rule(pullback, [out, out, *operands], needed, [], None, primitive.name)
    if primitive.reach is not None:
        rule.reach = lambda mask: primitive.reach(mask, *operands, **params)
    return rule


def joint_rule(
    primitive: Any,
    ys: Sequence[Any],
    values: Sequence[Any],
    wanted: Sequence[bool],
    present: Sequence[int],
    params: dict,
) -> Callable[..., list[Any]]:
    """The pullback of a primitive with several results, (*cotangents present, *ys, *values) → a cotangent or None for
    every operand. A result without cotangent is left out of it, and not taken for zeros: so that singular values are
    differentiated where singular vectors cannot be."""
    outs, operands = [aval_of(y) for y in ys], [aval_of(v) for v in values]
    positions = differentiable(operands, wanted)
    forward = staged_tangent(primitive, outs, operands, positions, params)
    places: list[int] = []  # the operands for which there is a cotangent

    def pullback(*given: Any) -> list[Any]:
        cts = dict(zip(present, given))
        known = given[len(present) :]
        found = transpose_graph(forward, known, len(positions), [cts.get(i) for i in range(len(outs))])
        places[:] = [p for p, ct in zip(positions, found) if ct is not None]
        return [dense(ct) for ct in found if ct is not None]

    graph = stage(pullback, [*(outs[i] for i in present), *outs, *operands], primitive.name, sites=False)
    plain, traced = (compile_graph(graph, kernels, quiet=True) for kernels in (True, False))

    def rule(*given: Any) -> list[Any]:
        results: list[Any] = [None] * len(operands)
        for place, ct in zip(places, (plain if is_plain(given) else traced)(*given)):
            results[place] = ct
        return results

    return rule
