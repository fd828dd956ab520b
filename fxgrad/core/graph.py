"""Graph: a staged function as typed, flat equations in A-normal form. It can be printed, checked and run.

graph(x: f64[3]) → f64[]
  a = sin(x)      f64[3]  demo/training.py:3
  b = a * x       f64[3]  demo/training.py:3
  c = sum(b)      f64[]   demo/training.py:3
  return c
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import source_info
from .aval import Aval, aval_of
from .errors import GraphError
from .typing import type_of

if TYPE_CHECKING:
    from .rules import Rules


class Var:
    """A value of the graph, bound once: by an input or by an equation. Compared by identity. Listings ask an input
    that stands for an argument for its name: `label()`."""

    __slots__ = ("aval", "label")

    aval: Aval
    label: Callable[[], str] | None

    def __init__(self, aval: Aval):
        self.aval, self.label = aval, None


class Literal:
    """A constant written into the graph: a scalar, or zeros of dtype float0, which have no data."""

    __slots__ = ("aval", "value")

    aval: Aval
    value: Any

    def __init__(self, value: Any):
        self.value, self.aval = value, aval_of(value)

    def __repr__(self) -> str:
        return repr(self.aval if type(self.value) is np.ndarray else np.asarray(self.value).item())


class Equation:
    """outputs = primitive(inputs; params), made at the user's line `site`. `quiet`: where floating-point warnings were
    off, as they are in rules, which compute entries that are then discarded; they are off when it is carried out."""

    __slots__ = ("inputs", "outputs", "params", "primitive", "quiet", "site")

    primitive: Rules
    inputs: tuple[Any, ...]
    outputs: tuple[Var, ...]
    params: dict[str, Any]
    quiet: bool
    site: Any

    def __init__(
        self,
        primitive: Rules,
        inputs: Sequence[Any],
        outputs: Sequence[Var],
        params: dict[str, Any],
        site: Any,
        quiet: bool = False,
    ):
        self.primitive, self.inputs, self.outputs = primitive, tuple(inputs), tuple(outputs)
        self.params, self.site, self.quiet = params, site, quiet

    def has_trait(self, trait: str) -> bool:
        """Return whether the primitive, or one in a sub-graph, has a trait."""
        return getattr(self.primitive, trait) or any(
            graph.has_trait(trait)
            for graph in self.primitive.subgraphs([a.aval for a in self.inputs], self.params)
        )

    @property
    def effectful(self) -> bool:
        """Whether it does something besides computing."""
        return self.has_trait("effectful")

    @property
    def bound_to_axis(self) -> bool:
        """Whether it depends on the open axes."""
        return self.has_trait("bound_to_axis")


class Graph:
    """A function as a list of equations.

    `captured` are values from outside (arrays, tracers of outer levels) that the equations use, by their Vars:
    `graph(*args)` supplies them, `graph.lift_captured()` makes them inputs. `cache` keeps what was made of the graph
    (compiled functions, other graphs) for as long as it lives.

    Args:
        inputs: the variables of the arguments.
        equations: in the order in which they are carried out.
        outputs: variables and literals.
        captured: the values from outside.
        name: for messages, and for the name of generated code.

    >>> graph = fx.make_graph(lambda x: fnp.sin(x) * x)(2.0)
    >>> [equation.primitive.name for equation in graph.equations]
    ['sin', 'multiply']
    >>> round(float(graph(2.0)[0]), 6)
    1.818595
    """

    __slots__ = ("cache", "captured", "equations", "inputs", "name", "outputs")

    inputs: tuple[Var, ...]
    equations: list[Equation]
    outputs: tuple[Any, ...]
    captured: dict[Var, Any]
    name: str
    cache: dict[Any, Any]

    def __init__(
        self,
        inputs: Sequence[Var],
        equations: Sequence[Equation],
        outputs: Sequence[Any],
        captured: dict[Var, Any] | None = None,
        name: str = "graph",
    ):
        self.inputs, self.equations, self.outputs = tuple(inputs), list(equations), tuple(outputs)
        self.captured, self.name = captured or {}, name
        self.cache = {}

    @property
    def in_avals(self) -> list[Aval]:
        """The avals of the inputs."""
        return [v.aval for v in self.inputs]

    @property
    def out_avals(self) -> list[Aval]:
        """The avals of the outputs."""
        return [v.aval for v in self.outputs]

    def __call__(self, *args: Any) -> list[Any]:
        """Apply the equations to `args` under the current interpreter; a list of results."""
        if len(args) != len(self.inputs):
            raise GraphError(
                f"{self.name} takes {len(self.inputs)} values, {len(args)} were given",
                hint="one value for each of its inputs: fx.tree.leaves(arguments)",
            )
        values: dict[Any, Any] = dict(self.captured)
        values.update(zip(self.inputs, args))
        last_use = self.last_uses()
        for index, equation in enumerate(self.equations):
            operands = [a.value if type(a) is Literal else values[a] for a in equation.inputs]
            with np.errstate(all="ignore") if equation.quiet else nullcontext():
                results = equation.primitive.call(*operands, **equation.params)
            if equation.primitive.multiple_results:
                values.update(zip(equation.outputs, results))
            else:
                values[equation.outputs[0]] = results
            for var in last_use.get(index, ()):
                del values[var]
        return [a.value if type(a) is Literal else values[a] for a in self.outputs]

    def last_uses(self) -> dict[int, list[Var]]:
        """For every equation, the variables that no later equation and no output needs."""
        seen = {v for v in self.outputs if type(v) is Var}
        uses: dict[int, list[Var]] = {}
        for index in range(len(self.equations) - 1, -1, -1):
            equation = self.equations[index]
            for var in (*equation.inputs, *equation.outputs):
                if type(var) is Var and var not in seen:
                    seen.add(var)
                    uses.setdefault(index, []).append(var)
        return uses

    def lift_captured(self) -> tuple[Graph, list[Any]]:
        """Return the graph with its captured values as leading inputs, and those values."""
        return Graph((*self.captured, *self.inputs), self.equations, self.outputs, None, self.name), [
            *self.captured.values()
        ]

    def prune(self, keep_effects: bool = True) -> Graph:
        """Return the graph without the equations and captured values that no output needs. Effects stay if
        `keep_effects`."""
        needed = {v for v in self.outputs if type(v) is Var}
        kept: list[Equation] = []
        for equation in reversed(self.equations):
            if any(v in needed for v in equation.outputs) or (keep_effects and equation.effectful):
                kept.append(equation)
                needed.update(v for v in equation.inputs if type(v) is Var)
        captured = {v: value for v, value in self.captured.items() if v in needed}
        return Graph(self.inputs, kept[::-1], self.outputs, captured, self.name)

    def has_trait(self, trait: str) -> bool:
        """Return whether the primitive of an equation, or of one in a sub-graph, has a trait; found once."""
        key = Graph.has_trait, trait
        if key not in self.cache:
            self.cache[key] = any(equation.has_trait(trait) for equation in self.equations)
        return self.cache[key]

    @property
    def acts(self) -> bool:
        """Whether it does something besides computing, or depends on the open axes."""
        return self.has_trait("effectful") or self.has_trait("bound_to_axis")

    def used_inputs(self) -> list[bool]:
        """Tell, for every input, whether an equation or an output reads it."""
        found = {a for e in self.equations for a in e.inputs} | set(self.outputs)
        return [v in found for v in self.inputs]

    def dependents(self, sources: Sequence[Var]) -> set[Var]:
        """The variables whose value depends on those of `sources`, these included."""
        found = set(sources)
        for equation in self.equations:
            if any(type(v) is Var and v in found for v in equation.inputs):
                found.update(equation.outputs)
        return found

    def check(self) -> Graph:
        """Raise `GraphError` unless every variable is bound once and before its use and every equation's avals
        are those its primitive's rule gives. Returns the graph."""
        bound: set[Var] = set()

        def describe(number: int) -> str:
            equation = self.equations[number]
            return f"equation {number} ({equation.primitive.name}, {equation.site})"

        def define(var: Var, number: int | None) -> None:
            if type(var) is not Var or var in bound:
                what = "an input" if number is None else describe(number)
                raise GraphError(f"{self.name}: {what} binds a variable again or is no variable")
            bound.add(var)

        for var in (*self.inputs, *self.captured):
            define(var, None)
        for number, equation in enumerate(self.equations):
            for atom in equation.inputs:
                if type(atom) is not Literal and atom not in bound:
                    raise GraphError(f"{self.name}: {describe(number)} uses a variable before it is bound")
            avals = equation.primitive.abstract_eval([a.aval for a in equation.inputs], equation.params)
            avals = list(avals) if equation.primitive.multiple_results else [avals]
            if avals != [v.aval for v in equation.outputs]:
                raise GraphError(
                    f"{self.name}: {describe(number)} has results {[v.aval for v in equation.outputs]}, "
                    f"its rule gives {avals}"
                )
            for var in equation.outputs:
                define(var, number)
        for atom in self.outputs:
            if type(atom) is not Literal and atom not in bound:
                raise GraphError(f"{self.name}: an output is not bound")
        return self

    def __repr__(self) -> str:
        from . import graph_text  # which reads Graphs

        return graph_text.render_text(self)

    def _repr_mimebundle_(self, **wanted: Any) -> dict[str, str]:
        from . import picture  # which reads Graphs

        return picture.show_graph(self)


def equation_site(frame: FrameType) -> Any:
    """Return the user's line of the equation that `Graph.__call__` evaluates in this frame."""
    equation = frame.f_locals.get("equation") if frame.f_code is Graph.__call__.__code__ else None
    return equation and equation.site


source_info.SITES[equation_site.__code__.co_filename] = equation_site


def letter_names() -> Iterator[str]:
    """Generate the names a, b, …, z, aa, ab, …"""
    letters = "abcdefghijklmnopqrstuvwxyz"
    width = 1
    while True:
        for index in range(26**width):
            digits: list[str] = []
            for _ in range(width):
                index, digit = divmod(index, 26)
                digits.append(letters[digit])
            yield "".join(reversed(digits))
        width += 1


def iter_subgraphs(value: Any, path: str = "") -> Iterator[tuple[str, Graph]]:
    """Yield (path, Graph) for every Graph among params: `body`, `branches[0]`, …"""
    kind = type_of(value)
    if issubclass(kind, Graph):
        yield path, value
    elif issubclass(kind, dict):
        for key, item in value.items():
            yield from iter_subgraphs(item, key)
    elif issubclass(kind, (tuple, list)):
        for index, item in enumerate(value):
            yield from iter_subgraphs(item, f"{path}[{index}]")
