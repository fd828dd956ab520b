"""The pullback of a primitive as code.

A rule is compiled twice, over kernels and over binding functions, each once it has been called a few times. Until then
its Graph is carried out or, where it is known what the rule reads, the rule itself is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from ..core.aval import PLAIN, Aval, aval_of
from ..core.costs import FUSED_ENTRIES, PRUNED_EQUATIONS
from ..core.graph import Graph
from ..core.interpreter import EVAL, Tracer, use_context
from ..core.pullback import PullbackRule
from ..core.staging import stage
from ..kernels.codegen.late import LateCode, carry_out, read_atom
from ..kernels.codegen.source import INDENT, FunctionBuilder
from .masked import Masked, Support, densify, restore_support
from .projection import project


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
    read: Sequence[int] | None = None,
) -> Pullback:
    """Compile rule(ct, y, *values) → cotangents (or None, or Masked) of the needed operands. `shaped`: the avals have
    the shapes of the operands, and do not stand for those of all shapes. `read` are the positions among (y, *values) of
    what the rule reads at most, if that is known; it is not staged then before it is compiled."""
    code = PullbackCode(rule, avals, projected, name, shaped, read)
    plain = LateCode(code.compute_plain, partial(code.compile, True))
    traced = code.traced = LateCode(code.compute, partial(code.compile, False))
    # A kept operand that needs a cotangent is private to the tape; any other may be the user's array.
    items = ["y" if k == 0 else f"xs[{k - 1}]" for k in code.kept]
    items = [i if k == 0 or needed[k - 1] is not None else f"own({i})" for i, k in zip(items, code.kept)]
    items += [f"aval_of(xs[{i}])" for i in code.projected]
    found = Pullback(make_keeper(", ".join(items)), code.kept, plain, traced, code.projected, finite)
    plain.uses.append(partial(setattr, found, "pull_plain"))
    traced.uses.append(partial(setattr, found, "traced"))
    return found


@cache
def make_keeper(items: str) -> Callable[..., tuple] | None:
    """Return the function (own, y, xs) → residuals."""
    return eval(f"lambda own, y, xs: ({items},)", {"aval_of": aval_of}) if items else None


class PullbackCode:
    """What computes the cotangents of a rule: the rule itself, its Graph, and the code that is made of that.

    `kept` are the positions of the residuals among (y, *values). `layout` says of every operand where its cotangent is
    among the outputs of the Graph: None where it has none, else (place,) or, of a masked one, (place, place of its
    support, clean). `projected` are the operands whose avals follow the residuals."""

    graph: Graph | None = None
    layout: Sequence[tuple | None] = ()
    clean: Sequence[int] = ()  # the places of supports that are computed on demand
    traced: Any = None

    def __init__(
        self,
        rule: Callable,
        avals: Sequence[Aval],
        projected: list[int],
        name: str,
        shaped: bool,
        read: Sequence[int] | None,
    ):
        self.rule, self.avals, self.projected = rule, avals, projected
        self.name, self.shaped = name, shaped
        if read is None:
            graph = self.stage()
            read = [i for i, used in enumerate(graph.used_inputs()[1:]) if used]
            if not shaped:
                self.projected = sorted({*projected, *self.widened(graph)})
        self.kept = list(read)

    def stage(self) -> Graph:
        """Return the Graph of the rule, which is staged once."""
        if self.graph is None:
            layout: list[tuple | None] = []

            def flatten_results(*tracers: Any) -> list[Any]:
                results: list[Any] = []
                for result in self.rule(*tracers):
                    place = len(results)
                    if result is None:
                        layout.append(None)
                    elif type(result) is Masked:
                        layout.append((place, place + 1, result.clean))
                        results += [result.value, result.support.force()]
                    else:
                        layout.append((place,))
                        results.append(result)
                return results

            graph = stage(flatten_results, self.avals, self.name, sites=False)
            self.layout = layout
            self.clean = [part[1] for part in layout if part is not None and part[2:] == (True,)]
            self.graph = graph.prune(keep_effects=False)  # the operation has had them
        return self.graph

    def widened(self, graph: Graph) -> list[int]:
        """Return the operands for which a rule computes in a wider dtype: 2.0 ** x in single precision."""
        return [
            i
            for i, part in enumerate(self.layout)
            if part is not None and graph.outputs[part[0]].aval.dtype != self.avals[i + 2].dtype
        ]

    def compute_plain(self, ct: Any, residuals: Sequence[Any]) -> tuple:
        """Return the cotangents for plain values. The last residuals are the avals of the projected operands."""
        with use_context(EVAL):
            results = self.carry_out(ct, residuals, True)
        for i, aval in zip(self.projected, residuals[len(self.kept) :]):
            results[i] = project(results[i], aval)
        return tuple(results)

    def compute(self, ct: Any, *residuals: Any) -> tuple:
        """Return the cotangents for values of any kind, where they are not projected."""
        return tuple(self.carry_out(ct, residuals, False))

    def carry_out(self, ct: Any, residuals: Sequence[Any], plain: bool) -> list[Any]:
        """Compute the cotangents without further code."""
        graph = self.graph
        if graph is None and not (plain or takes_rules((ct, *residuals))):
            graph = self.stage()
        if graph is None:
            known = dict(zip(self.kept, residuals))
            results = list(self.rule(ct, *map(known.get, range(len(self.avals) - 1))))
        else:
            arranged, count = postpone_equations(graph, self.clean)
            first, *inputs = graph.inputs
            values: dict[Any, Any] = {first: ct, **graph.captured}
            values.update(zip([inputs[k] for k in self.kept], residuals))
            carry_out(arranged.equations[:count], values, plain)

            def find_support(place: int) -> Any:
                carry_out(arranged.equations[count:], values, plain)
                return read_atom(graph.outputs[place], values)

            results = []
            for part in self.layout:
                value = None if part is None else read_atom(graph.outputs[part[0]], values)
                if part is not None and len(part) > 1:
                    _, place, clean = part
                    support = (
                        partial(find_support, place) if clean else read_atom(graph.outputs[place], values)
                    )
                    value = Masked(value, Support(support) if clean else support, clean)
                results.append(value)
        if self.shaped:
            for i, (result, aval) in enumerate(zip(results, self.avals[2:])):
                if result is not None and dtype_of(result) != aval.dtype:
                    results[i] = project(result, aval)
        return results

    def compile(self, plain: bool) -> Callable[..., tuple]:
        """Compile `compute_plain` or `compute`."""
        graph, kept, projected = self.stage(), self.kept, self.projected
        names = {0: "y"} | {i + 1: f"x{i}" for i in range(len(self.avals) - 2)}
        chosen = simplify_values(graph, self.shaped) if plain else graph
        source = FunctionBuilder(plain, quiet=True, exact=plain and self.shaped)
        source.namespace |= {"Masked": Masked, "Support": Support, "project": project}
        for var, parameter in zip(graph.inputs, ["ct", *names.values()]):
            source.names[var] = parameter
        arranged, count = postpone_equations(chosen, self.clean)
        source.equations(arranged, count)
        atoms = [source.atom(a) for a in chosen.outputs]
        if count < len(chosen.equations):
            inner = [*source.lines[count:], f"return {', '.join(atoms[i] for i in self.clean)},"]
            source.lines[count:] = ["def later():", *[INDENT + line for line in inner]]
            for k, i in enumerate(self.clean):
                atoms[i] = f"Support(lambda: later()[{k}])"
        results = [format_result(part, atoms) for part in self.layout]
        kept_names = [names[k] for k in kept]
        for i in self.widened(graph) if self.shaped else ():
            results[i] = f"project({results[i]}, {source.constant(self.avals[i + 2])})"
        if plain:
            for i in projected:
                kept_names.append(f"a{i}")
                results[i] = f"project({results[i]}, a{i})"
        parameters = ["ct", *kept_names]
        if plain:  # the residuals as one tuple: a call that unpacks one costs more
            parameters = ["ct", "residuals"]
            if kept_names:
                source.lines.insert(0, f"{', '.join(kept_names)}, = residuals")
            if (
                not (self.shaped or projected)
                and self.avals[0].shape
                and (len(graph.equations) > 1 or self.clean)
            ):
                large = source.constant(LargePullback(self.rule, self.avals, kept, self.traced))
                source.lines[:0] = [
                    f"if ct.size >= {FUSED_ENTRIES}:",
                    f"{INDENT}found = {large}(ct, residuals)",
                    f"{INDENT}if found is not None: return found",
                ]
        return source.function(f"pullback_{self.name}", parameters, f"({', '.join(results)},)")


def takes_rules(values: Sequence[Any]) -> bool:
    """Whether a rule may be applied to values as it is: an array of another library than NumPy's has operators of its
    own, where a rule means operations."""
    return all([type(v) in PLAIN or isinstance(v, Tracer) for v in values])


def dtype_of(ct: Any) -> Any:
    """Return the dtype of a cotangent."""
    return aval_of(ct.value if type(ct) is Masked else ct).dtype


def format_result(part: tuple | None, atoms: list[str]) -> str:
    """Return the expression for a cotangent at these places among the outputs."""
    if part is None:
        return "None"
    value: str = atoms[part[0]]
    return value if len(part) == 1 else f"Masked({value}, {atoms[part[1]]}, {part[2]})"


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
    from ..passes import compact, simplify_any_shapes  # most pullbacks are too short for them

    return compact(graph) if shaped else simplify_any_shapes(graph)


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
