"""A Graph becomes readable straight-line Python.

The source names only what this module generates: variables `v0, v1, …`, constants `k0, k1, …`, primitives by their
(identifier) names; a second primitive of one name gets one of its own. It is registered with linecache, so tracebacks
and debuggers show its lines.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import source_info
from ...core.graph import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.graph import Equation, Graph, Var
    from ...core.primitive import Primitive

_serial = itertools.count()
_NUMBERS = (bool, int, float, complex)
_ARITHMETIC = frozenset("+-*/")
INDENT = "    "
ERRSTATE_LINE = 'with errstate(all="ignore"):'


class FunctionBuilder:
    """A function under construction: its statements, and the namespace in which they run.

    With `plain`, primitives are called as their NumPy kernels; otherwise as binding functions, for traced values
    and arrays of other libraries. With `free_dead`, variables are deleted after their last use. With `quiet`, it runs
    where floating-point warnings are off; otherwise they are turned off for the equations of which this was so.
    """

    def __init__(self, plain: bool, free_dead: bool = False, quiet: bool = False):
        self.plain, self.free_dead, self.quiet = plain, free_dead, quiet
        self.lines: list[str] = []
        self.places: dict[int, Equation] = {}  # index of a line → what it carries out
        self.calls: list[tuple[str, Equation]] = []  # the text of the call that carries out an equation
        self.namespace: dict[str, Any] = {"errstate": np.errstate}
        self.names: dict[Var, str] = {}
        self.functions: dict[Primitive, str] = {}

    def constant(self, value: Any) -> str:
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def function_name(self, primitive: Primitive) -> str:
        """Return the name under which a primitive is called."""
        name = self.functions.get(primitive)
        if name is None:
            name = primitive.name
            while name in self.namespace:
                name += "_"
            self.functions[primitive] = name
            self.namespace[name] = primitive.kernel if self.plain else primitive.call
        return name

    def atom(self, atom: Any) -> str:
        """Return the expression for a variable or literal."""
        if type(atom) is Literal:
            if type(atom.value) in _NUMBERS and atom.value == atom.value and abs(atom.value) != float("inf"):
                return repr(atom.value)
            return self.constant(atom.value)
        return self.names[atom]

    def operand_code(self, atom: Any, equation: Equation) -> str:
        """Return the expression for an operand of an equation. Python numbers in arithmetic are given their dtype here:
        NumPy takes longer to convert one than to work on a small array."""
        number = self.plain and type(atom) is Literal and atom.aval.weak
        if number and equation.primitive.symbol in _ARITHMETIC:
            dtype = equation.outputs[0].aval.dtype
            if dtype.kind in "fc" and all(a.aval.dtype == dtype for a in equation.inputs if not a.aval.weak):
                return self.constant(np.array(atom.value, dtype))
        return self.atom(atom)

    def equations(self, graph: Graph, no_reuse_from: int | None = None) -> None:
        """Append the statements of a graph whose inputs are named already. Those from the equation number
        `no_reuse_from` on write into nothing that was made before."""
        for var, value in graph.captured.items():
            self.names[var] = self.constant(value)
        last_use = graph.last_uses()
        reusable: set[Var] = set()  # arrays made here that nothing else refers to
        for index, equation in enumerate(graph.equations):
            if index == no_reuse_from:
                reusable.clear()
            primitive = equation.primitive
            operands = [self.operand_code(a, equation) for a in equation.inputs]
            operands += [f"{key}={self.param(value)}" for key, value in equation.params.items()]
            dead = [
                v for v in last_use.get(index, ()) if v not in equation.outputs and v not in graph.captured
            ]
            if self.plain:
                operands += self.output_buffer(equation, [v for v in dead if v in reusable], reusable)
            for var in equation.outputs:
                self.names[var] = f"v{len(self.names)}"
            outputs = [self.names[var] for var in equation.outputs]
            target = ", ".join(outputs) + ("," if primitive.multiple_results and len(outputs) == 1 else "")
            call = f"{self.function_name(primitive)}({', '.join(operands)})"
            self.calls.append((call, equation))
            line = f"{target}{' = ' * bool(outputs)}{call}"
            if dead and self.free_dead:
                line += f"; del {', '.join(self.names[v] for v in dead)}"
            inside = equation.quiet and not self.quiet
            if inside and not (index and graph.equations[index - 1].quiet):
                self.lines.append(ERRSTATE_LINE)
            self.places[len(self.lines)] = equation
            self.lines.append(INDENT * inside + line)

    def output_buffer(self, equation: Equation, dead: Sequence[Var], reusable: set[Var]) -> list[str]:
        """Return the argument that makes a ufunc write into an array that is not needed any more: fresh memory costs
        more than arithmetic. Keeps `reusable` up to date: what a ufunc made, and only ufuncs have read."""
        kernel = equation.primitive.kernel
        if not isinstance(kernel, np.ufunc) or equation.params or len(equation.inputs) != kernel.nin:
            reusable.difference_update(v for v in equation.inputs if type(v) is not Literal)
            return []
        out = equation.outputs[0]
        if out.aval.shape != ():  # results without axes are scalars, which cannot be written into
            reusable.add(out)
            for var in dead:
                if var.aval == out.aval:  # two ufuncs do not take it by position
                    keyword = "out=" if kernel in (np.maximum, np.minimum) else ""
                    return [keyword + self.names[var]]
        return []

    def param(self, value: Any) -> str:
        if value is None or type(value) in (bool, int):
            return repr(value)
        if type(value) is tuple and all(type(v) in (bool, int) for v in value):
            return repr(value)
        return self.constant(value)

    def function(self, name: str, parameters: Sequence[str], returned: str) -> Callable[..., Any]:
        """Compile the function with the statements so far."""
        text = (
            f"\n{INDENT}".join([f"def {name}({', '.join(parameters)}):", *self.lines, f"return {returned}"])
            + "\n"
        )
        function = make_function(name, text, dict(self.namespace))
        function.calls = self.calls
        return function


def make_function(name: str, text: str, namespace: dict[str, Any]) -> Any:
    """Make the function of this name and text, which tracebacks and debuggers show."""
    filename = f"<fxgrad {name} {next(_serial)}>"
    exec(compile(text, filename, "exec"), namespace)
    function = namespace.pop(name)  # which would refer to itself: freed by the garbage collector only
    function.source = text
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    weakref.finalize(function, linecache.cache.pop, filename, None)
    return function


def compile_graph(graph: Graph, plain: bool, quiet: bool = False) -> Callable[..., Any]:
    """Compile a Graph to a function: positional values → a list of results."""
    plain = plain and not any(equation.bound_to_axis for equation in graph.equations)
    source = FunctionBuilder(plain, free_dead=plain, quiet=quiet)
    parameters = []
    for index, var in enumerate(graph.inputs):
        source.names[var] = f"x{index}"
        parameters.append(f"x{index}")
    source.equations(graph)
    # A captured array is handed out as a copy: the caller may write into what it gets.
    results = [
        source.atom(a) + ".copy()" * (a in graph.captured and hasattr(graph.captured[a], "copy"))
        for a in graph.outputs
    ]
    function = source.function("compiled", parameters, f"[{', '.join(results)}]")
    return locate(function, {index + 2: e for index, e in source.places.items()})  # after the `def`


def locate(function: Any, equations: dict[int, Equation]) -> Any:
    """Tell of each line of a function which equation it carries out, and so the user's line behind it."""
    function.equations = equations
    sites = {line: e.site for line, e in equations.items()}
    filename = function.__code__.co_filename
    source_info.SITES[filename] = lambda frame: sites.get(frame.f_lineno)
    weakref.finalize(function, source_info.SITES.pop, filename, None)
    return function
