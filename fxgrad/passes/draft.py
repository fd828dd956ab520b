"""Draft: a Graph under construction, to which passes copy equations one by one, replaced or unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..core.graph import Equation, Graph, Literal, Var
from ..core.primitive import REGISTRY, HigherOrder


class Draft:
    """The equations made so far, what makes each variable, and which atoms stand for variables of the old Graph."""

    __slots__ = ("changed", "equations", "found_readers", "graph", "makers", "replaced")

    def __init__(self, graph: Graph):
        self.graph, self.changed = graph, False
        self.equations: list[Equation] = []
        self.makers: dict[Any, Equation] = {}
        self.replaced: dict[Any, Any] = {}
        self.found_readers: dict[Any, list[str]] | None = None

    def carry(self, equation: Equation) -> Equation:
        """Return an equation of the old Graph with the operands that it has in the new one."""
        replaced = self.replaced
        for a in equation.inputs:
            if a in replaced:
                return with_inputs(equation, [replaced.get(a, a) for a in equation.inputs])
        return equation

    def append(self, equation: Equation) -> None:
        """Append an equation."""
        self.equations.append(equation)
        for v in equation.outputs:
            self.makers[v] = equation

    def emit(self, name: str, *operands: Any, like: Equation, **params: Any) -> Var:
        """Append an application of the primitive of this name, at the line of the equation `like`; return its
        result."""
        primitive = REGISTRY[name]
        result = Var(primitive.abstract_eval([a.aval for a in operands], params))
        self.append(Equation(primitive, operands, [result], params, like.site, like.quiet))
        return result

    def replace(self, equation: Equation, found: Sequence[Any] | Equation) -> bool:
        """Put an equation, or atoms that stand for its results, in the place of one; or leave it as it is and return
        False where a result would be of another shape, dtype or weakness: that no rewrite may change."""
        if not keeps_avals(equation, found):
            self.append(equation)
            return False
        self.changed = True
        if isinstance(found, Equation):
            self.append(found)
        else:
            self.replaced.update(zip(equation.outputs, found))
        return True

    def maker(self, atom: Any, *names: str) -> Equation | None:
        """Return the equation that makes an atom if its primitive has one of these names."""
        made = None if type(atom) is Literal else self.makers.get(atom)
        return made if made is not None and made.primitive.name in names and is_ours(made) else None

    def readers(self, atom: Any) -> list[str]:
        """The names of the primitives by which the old Graph reads a variable, "return" for an output. What a pass
        itself has made, it has made for one reader."""
        found = self.found_readers
        if found is None:
            found = self.found_readers = defaultdict(list)
            for equation in self.graph.equations:
                for a in equation.inputs:
                    found[a].append(equation.primitive.name)
            for a in self.graph.outputs:
                found[a].append("return")
        return found.get(atom, [])

    def is_used_once(self, atom: Any) -> bool:
        return len(self.readers(atom)) <= 1

    def finish(self) -> Graph:
        """Return the new Graph without what it does not need; the old one if nothing has changed."""
        graph = self.graph
        if not self.changed:
            return graph
        outputs = [self.replaced.get(a, a) for a in graph.outputs]
        return Graph(graph.inputs, self.equations, outputs, graph.captured, graph.name).prune()


def rewrite(
    graph: Graph,
    rule: Callable[[Equation, Draft], Sequence[Any] | Equation | None],
    names: Collection[str] | None = None,
) -> Graph:
    """Apply a rule to every equation in its order, or to those of the library's primitives of these `names`.

    It returns None where the equation stays, or an equation in its place, or the atoms that stand for its results,
    after it has emitted what makes them.
    """
    if names is not None and not has_any(graph, names):
        return graph
    draft = Draft(graph)
    for equation in graph.equations:
        equation = draft.carry(equation)
        if names is None or (equation.primitive.name in names and is_ours(equation)):
            found = rule(equation, draft)
        else:
            found = None
        if found is None:
            draft.append(equation)
        else:
            draft.replace(equation, found)
    return draft.finish()


def has_any(graph: Graph, names: Collection[str]) -> bool:
    """Whether a Graph has an equation of a primitive of one of these names."""
    return any(equation.primitive.name in names for equation in graph.equations)


def with_inputs(equation: Equation, inputs: Sequence[Any]) -> Equation:
    """Return an equation with other operands, which is the same where they have the same avals."""
    return Equation(
        equation.primitive, inputs, equation.outputs, equation.params, equation.site, equation.quiet
    )


def keeps_avals(equation: Equation, found: Sequence[Any] | Equation) -> bool:
    """Whether what a rule has found gives results of the shapes, dtypes and weakness of those of the equation."""
    avals = [v.aval for v in equation.outputs]
    if not isinstance(found, Equation):
        return [a.aval for a in found] == avals
    given = found.primitive.abstract_eval([a.aval for a in found.inputs], found.params)
    return (list(given) if found.primitive.multiple_results else [given]) == avals


def is_zero(atom: Any) -> bool:
    """Whether an atom is a literal 0, of either sign."""
    return type(atom) is Literal and atom.aval.dtype.kind in "iuf" and bool(atom.value == 0)


def is_ours(equation: Equation) -> bool:
    """Whether the primitive is the library's own of its name."""
    primitive = equation.primitive
    if isinstance(primitive, HigherOrder):  # which no registry has
        return type(primitive).__module__.startswith("fxgrad.")
    return REGISTRY.get(primitive.name) is primitive


def stands_alone(equation: Equation) -> bool:
    """Whether an equation is neither merged with another nor moved: it has effects, reads the open axes, or holds
    functions that no other has."""
    primitive = equation.primitive
    if primitive.effectful or primitive.bound_to_axis or primitive.identity_params:
        return True
    if not primitive.multiple_results:  # as primitives have that carry out Graphs
        return False
    return any(equation.has_trait(trait) for trait in ("effectful", "bound_to_axis", "identity_params"))
