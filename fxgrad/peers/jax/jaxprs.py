"""`Jaxpr`, `ClosedJaxpr`: Graphs with JAX's names, which programs take apart, put together and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core import pytree
from ...core.graph import Equation, Graph, Literal, Var, iter_subgraphs
from ...transforms import jit as here
from .arrays import array_of, value_of
from .avals import ShapeDtypeStruct, shaped, struct_of
from .primitives import primitive_of
from .programs import on_arrays

NO_EFFECTS: frozenset[Any] = frozenset()


class JaxprEqn(NamedTuple):
    """An equation: its operands and results are variables and literals."""

    invars: list[Any]
    outvars: list[Any]
    primitive: Any
    params: dict[str, Any]
    effects: Any = NO_EFFECTS
    source_info: Any = None
    ctx: Any = None

    def replace(self, **changes: Any) -> JaxprEqn:
        """Return it with other parts."""
        return self._replace(**changes)


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Any],
    primitive: Any,
    params: dict[str, Any],
    *rest: Any,
    **options: Any,
) -> JaxprEqn:
    """Return an equation."""
    return JaxprEqn(list(invars), list(outvars), primitive, params)


class Jaxpr:
    """A program as a list of equations; what it closes over are its first inputs, `constvars`."""

    debug_info = None

    def __init__(
        self, constvars: Sequence[Any], invars: Sequence[Any], outvars: Sequence[Any], eqns: Sequence[JaxprEqn],
        effects: Any = NO_EFFECTS, debug_info: Any = None, **options: Any,
    ):  # fmt: skip
        self.constvars, self.invars, self.outvars = list(constvars), list(invars), list(outvars)
        self.eqns, self.effects = list(eqns), effects

    @staticmethod
    def of_graph(graph: Graph, constants: int = 0) -> Jaxpr:
        """Return a Graph that captures nothing, with its first inputs for constants."""
        eqns = [
            JaxprEqn(list(e.inputs), list(e.outputs), primitive_of(e.primitive), e.params, source_info=e.site)
            for e in graph.equations
        ]
        made = Jaxpr(graph.inputs[:constants], graph.inputs[constants:], graph.outputs, eqns)
        made.__dict__["graph"] = graph
        return made

    @cached_property
    def graph(self) -> Graph:
        """The Graph, whose first inputs are the constants."""
        equations = [Equation(e.primitive.house, e.invars, e.outvars, e.params, None) for e in self.eqns]
        return Graph([*self.constvars, *self.invars], equations, self.outvars)

    def replace(self, **changes: Any) -> Jaxpr:
        """Return it with other parts."""
        parts = {name: getattr(self, name) for name in ("constvars", "invars", "outvars", "eqns", "effects")}
        return Jaxpr(**(parts | changes))

    def __repr__(self) -> str:
        return repr(self.graph)


class ClosedJaxpr:
    """A program with the values that it closes over."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        self.jaxpr, self.consts = jaxpr, list(consts)

    @staticmethod
    def of_graph(graph: Graph) -> ClosedJaxpr:
        """Return a Graph with the values that it captures."""
        lifted, captured = capture_scalars(graph).lift_captured()
        return ClosedJaxpr(Jaxpr.of_graph(lifted, len(captured)), list(map(array_of, captured)))

    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    literals = property(lambda self: self.consts)
    in_avals = property(lambda self: [shaped(v.aval) for v in self.jaxpr.invars])
    out_avals = property(lambda self: [shaped(v.aval) for v in self.jaxpr.outvars])

    def replace(self, **changes: Any) -> ClosedJaxpr:
        """Return it with another program, or other constants."""
        return ClosedJaxpr(changes.get("jaxpr", self.jaxpr), changes.get("consts", self.consts))

    def __call__(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.jaxpr, self.consts, *args)

    def __repr__(self) -> str:
        return repr(self.jaxpr)


def capture_scalars(graph: Graph) -> Graph:
    """Return a Graph that captures the arrays without axes which stand in it as literals: as constants they are as many
    as where they are traced, for packages return constants from their primitives."""
    found: dict[int, Var] = {}
    captured = dict(graph.captured)

    def variable(atom: Any) -> Any:
        if type(atom) is not Literal or not isinstance(atom.value, np.generic):
            return atom
        key = id(atom.value)
        if key not in found:
            found[key] = Var(atom.aval)
            captured[found[key]] = atom.value
        return found[key]

    equations = [
        Equation(e.primitive, list(map(variable, e.inputs)), e.outputs, e.params, e.site)
        for e in graph.equations
    ]
    outputs = list(map(variable, graph.outputs))
    return Graph(graph.inputs, equations, outputs, captured, graph.name) if found else graph


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, **options: Any) -> list[Any]:
    """Carry out a program on arrays."""
    return [array_of(r) for r in jaxpr.graph(*map(value_of, (*consts, *args)))]


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Any]]:
    """Return a program as a function of arrays."""
    return closed_jaxpr


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """Go through the programs among the parameters of an equation."""
    return (Jaxpr.of_graph(*split_captured(graph)) for _, graph in iter_subgraphs(params))


def split_captured(graph: Graph) -> tuple[Graph, int]:
    """Return a Graph whose first inputs are the values that it captured, and their number."""
    lifted, captured = graph.lift_captured()
    return lifted, len(captured)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Go through the programs in the equations of a program."""
    return (inner for e in jaxpr.eqns for inner in jaxprs_in_params(e.params))


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: Any = (),
    axis_env: Any = None,
    return_shape: bool = False,
    **options: Any,
) -> Callable[..., Any]:
    """Return a function that stages `fun` at given arguments, and returns the program."""
    stage = here.make_graph(on_arrays(fun), static_argnums, return_shape)

    def staged(*args: Any, **kwargs: Any) -> Any:
        found = stage(*args, **kwargs)
        graph, *shape = found if return_shape else (found,)
        closed = ClosedJaxpr.of_graph(graph)
        return (closed, *pytree.map(struct_of, shape)) if return_shape else closed

    return staged


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return shapes and dtypes of the results of a function of arrays."""
    seen = on_arrays(fun)

    def described(*args: Any, **kwargs: Any) -> Any:
        return pytree.map(
            lambda leaf: leaf.placeholder() if type(leaf) is ShapeDtypeStruct else leaf, seen(*args, **kwargs)
        )

    return pytree.map(struct_of, here.eval_shape(described, *args, **kwargs))


def gensym(*options: Any) -> Callable[[Any], Var]:
    """Return a function that makes variables."""
    return Var
