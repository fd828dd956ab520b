"""Staging: a GraphInterpreter turns a Python function into a Graph.

Operations on staged values become equations; the outer interpreter evaluates all others immediately. So staging is
partial evaluation: `linearize` is jvp with only the tangents staged.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import source_info
from .aval import PLAIN, SCALARS, Aval, aval_of, check_kind, float0
from .common_errors import advise_index, advise_number
from .errors import ConcretizationError
from .fp_errors import ERROR_STATE
from .graph import Equation, Graph, Literal, Var
from .interpreter import Interpreter, Tracer, ensure_open, levels, opened
from .snapshot import Snapshots
from .source_info import user_frame, user_stacklevel
from .typing import type_of


class GraphTracer(Tracer):
    """A staged value: a variable of the graph under construction."""

    __slots__ = ("variable",)

    def __init__(self, interpreter: GraphInterpreter, var: Var):
        self.interpreter, self.variable = interpreter, var

    @property
    def aval(self) -> Aval:
        return self.variable.aval

    def concretize(self, operation: str) -> Any:
        hint = {
            "bool()": "for a branch on traced values use fnp.where, or mark the argument static "
            "(static_argnums), or leave the function un-jitted: grad and jvp follow Python's if and while, and so "
            'does jit(control="follow")',
        }.get(
            operation,
            "its value is not known while the function is staged: mark the argument static "
            "(static_argnums), or do without jit",
        )
        if operation == "float()":
            hint = f"{advise_number(user_frame().line)}; or mark the argument static (static_argnums)"
        elif operation == "use as an index":
            hint = advise_index(user_frame().line)
        raise ConcretizationError(
            f"{operation} of an abstract value {self.aval!r} of {self.interpreter.name}", hint=hint
        )


class GraphInterpreter(Interpreter):
    """The interpreter that appends an equation for every operation on its tracers, and with `stage_effects` for effects
    on other values too: the function is to have them each time it runs, not while it is staged.

    `outer_error_state` is how floating-point errors are treated where staging begins. The Graph has nothing of it, for
    it is carried out elsewhere: only where the function itself turns warnings off, equations are quiet."""

    __slots__ = (
        "captured",
        "captured_vars",
        "equations",
        "name",
        "notes",
        "outer_error_state",
        "sites",
        "snapshot",
        "stage_effects",
    )

    def __init__(
        self, site: Any = None, name: str = "staging", sites: bool = True, stage_effects: bool = False
    ):
        super().__init__(site)
        self.name, self.sites, self.stage_effects = name, sites, stage_effects
        self.outer_error_state = ERROR_STATE.get()
        self.equations: list[Equation] = []
        self.notes: dict[Var, Any] = {}  # what a transform around the staging knows of variables
        self.captured: dict[Var, Any] = {}
        self.snapshot = Snapshots()
        self.captured_vars: dict[int, Var] = {}  # id of a captured value (alive in `captured`) → its variable

    def new(self, aval: Aval) -> GraphTracer:
        """Return the tracer of a new input."""
        return self.trace(Var(aval))

    def trace(self, var: Var) -> GraphTracer:
        """Return a tracer of a variable."""
        return GraphTracer(self, var)

    def atom(self, value: Any) -> Any:
        """Return the Var or Literal that stands for `value` in this graph."""
        if isinstance(value, GraphTracer) and value.interpreter is self:
            return value.variable
        kind = type_of(value)
        if kind in SCALARS or (kind in PLAIN and (kind is not np.ndarray or value.dtype == float0)):
            return Literal(value)
        if isinstance(value, Tracer):
            ensure_open(value, self.name)
        value = self.snapshot(value)
        var = self.captured_vars.get(id(value))
        if var is None:
            aval = aval_of(value)
            check_kind(aval.dtype, f"{self.name}: a captured array")
            var = self.captured_vars[id(value)] = Var(aval)
            self.captured[var] = value
        return var

    def finish_graph(self, inputs: Sequence[Var], outputs: Sequence[Any], name: str) -> Graph:
        """Return the Graph from these variables to these atoms. The interpreter keeps nothing of it: functions in
        params may hold on to tracers, and are not to hold on to themselves."""
        graph = Graph([*inputs], self.equations, outputs, self.captured, name).prune()
        self.equations, self.captured, self.snapshot, self.captured_vars = [], {}, Snapshots(), {}
        self.notes = {}
        return graph

    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if isinstance(a, GraphTracer) and a.interpreter is self:
                break
        else:
            if not (self.stage_effects and primitive.acts(params)):
                return self.bind_outer(primitive, args, params)
        inputs = [self.atom(a) for a in args]
        avals = primitive.abstract_eval([a.aval for a in inputs], params)
        site = source_info.user_frame() if self.sites else None
        outputs = [Var(a) for a in (avals if primitive.multiple_results else (avals,))]
        quiet = ERROR_STATE.get() is not self.outer_error_state and {*np.geterr().values()} == {"ignore"}
        self.equations.append(Equation(primitive, inputs, outputs, params, site, quiet))
        results = [replace_float0(self.trace(v)) for v in outputs]
        return results if primitive.multiple_results else results[0]


def replace_float0(tracer: GraphTracer) -> Any:
    """Return the tracer, or zeros in the place of a tracer of dtype float0, in which there is nothing to trace."""
    return np.zeros(tracer.shape, float0) if tracer.dtype == float0 else tracer


def stages_effects() -> bool:
    """Whether a level is open that records effects instead of having them at once."""
    return any(level.stage_effects for level in levels())


def drawn_numbers() -> dict[str, Any]:
    """Return where the global generators of NumPy and Python stand, by the names of their modules; one that is not
    loaded stands where it will begin."""
    numpys, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    drawn: dict[str, Any] = {"np.random": ({"pos": 623}, 0, 0.0), "random": (624, None)}
    if numpys is not None:
        state = numpys.get_state(legacy=False)
        numbers = {k: v for k, v in state["state"].items() if type(v) is int}
        drawn["np.random"] = numbers, state.get("has_gauss", 0), state.get("gauss", 0.0)
    if pythons is not None:
        _, words, normal = pythons.getstate()
        drawn["random"] = words[-1], normal
    return drawn


def warn_of_frozen_numbers(before: dict[str, Any] | None, name: str) -> None:
    """Warn that a function which was staged has drawn numbers since `before`, where the generators stood."""
    before = before or {}
    after = drawn_numbers() if before else {}
    for module in [m for m in after if after[m] != before[m]]:
        warnings.warn(
            f"{module} was called while {name} was staged: its numbers are the same each time {name} runs. Give it a "
            "key, and draw by fx.random (fx.random.normal(key, shape)), or give it the numbers as an argument.",
            stacklevel=user_stacklevel(),
        )


def stage(
    fun: Callable[..., Sequence[Any]],
    avals: Sequence[Aval],
    name: str = "graph",
    site: Any = None,
    sites: bool = True,
    level: str = "staging",
) -> Graph:
    """Stage a function from values to a flat sequence of values, at the given avals, as a Graph.

    `name` is the graph's, `level` that of the interpreter in messages; `sites` says whether equations
    remember the user's line.
    """
    interpreter = GraphInterpreter(site, level, sites, stage_effects=True)
    tracers = [interpreter.new(a) for a in avals]
    inputs = [t.variable for t in tracers]  # before `fun` may write into them
    before = None if stages_effects() else drawn_numbers()
    with opened(interpreter):
        results = fun(*map(replace_float0, tracers))
        outputs = [interpreter.atom(r) for r in results]
    warn_of_frozen_numbers(before, name)
    return interpreter.finish_graph(inputs, outputs, name)
