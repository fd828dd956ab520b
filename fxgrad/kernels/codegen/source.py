"""Graphs as readable straight-line Python.

All names in the source are generated here: variables `v0, v1, …`, constants `k0, k1, …`, primitives by their names; a
second primitive with the same name gets another one. The source is registered with linecache, so tracebacks and
debuggers show its lines.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import source_info
from ...core.graph import Literal
from .direct import direct_form, makes_memory, takes_buffer

if TYPE_CHECKING:
    from ...core.graph import Equation, Graph, Var
    from ...core.rules import Rules

_serial = itertools.count()
_equations: dict[str, dict[int, Equation]] = {}  # of the lines of compiled files, while their functions live
_NUMBERS = (bool, int, float, complex)
INDENT = "    "
NO_BUFFERS: Mapping[Any, str] = {}
ERRSTATE_LINE = 'with errstate(all="ignore"):'


class FunctionBuilder:
    """A function under construction: its statements, and the namespace in which they run.

    With `plain`, primitives are called as their NumPy kernels; otherwise as binding functions, for traced values
    and arrays of other libraries. With `exact`, the values have the shapes that the avals say, and direct forms take
    the place of kernels. With `free_dead`, variables are deleted after their last use. With `quiet`, it runs
    where floating-point warnings are off; otherwise they are turned off for the equations of which this was so.
    """

    reuses_memory = True  # writes into arrays that are not needed any more

    def __init__(self, plain: bool, free_dead: bool = False, quiet: bool = False, exact: bool = False):
        self.plain, self.free_dead, self.quiet, self.exact = plain, free_dead, quiet, exact
        self.lines: list[str] = []
        self.places: dict[int, Equation] = {}  # index of a line → what it carries out
        # The text of the expression that carries out an equation, and those of its operands.
        self.calls: list[tuple[str, Equation, list[str]]] = []
        self.namespace: dict[str, Any] = {"errstate": np.errstate}
        self.names: dict[Var, str] = {}
        self.functions: dict[Rules, str] = {}

    def constant(self, value: Any) -> str:
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def name_value(self, name: str, value: Any) -> str:
        """Give a value this name, or a similar one that is free; return the name."""
        while self.namespace.setdefault(name, value) is not value:
            name += "_"
        return name

    def function_name(self, primitive: Rules) -> str:
        """Return the name under which a primitive is called."""
        name = self.functions.get(primitive)
        if name is None:
            function = primitive.kernel if self.plain else primitive.call
            name = self.functions[primitive] = self.name_value(primitive.name, function)
        return name

    def call_code(self, equation: Equation, operands: list[str], buffer: str | None) -> str:
        """Return the expression that carries out an equation on the expressions `operands`, into the array `buffer` if
        there is one."""
        direct = direct_form(equation, operands, self.name_value, buffer) if self.exact else None
        if direct is not None:
            return direct
        arguments = [*operands, *(f"{key}={self.param(value)}" for key, value in equation.params.items())]
        if buffer is not None:  # two ufuncs do not take it by position
            keyword = "out=" if equation.primitive.kernel in (np.maximum, np.minimum) else ""
            arguments.append(keyword + buffer)
        return f"{self.function_name(equation.primitive)}({', '.join(arguments)})"

    def atom(self, atom: Any) -> str:
        """Return the expression for a variable or literal."""
        if type(atom) is Literal:
            if type(atom.value) in _NUMBERS and atom.value == atom.value and abs(atom.value) != float("inf"):
                return repr(atom.value)
            return self.constant(atom.value)
        return self.names[atom]

    def operand_code(self, atom: Any, equation: Equation) -> str:
        """Return the expression for an operand of an equation. Python numbers beside floating arrays are given their
        dtype here: NumPy takes longer to convert one than to work on a small array. Some ufuncs want another dtype."""
        kernel: Any = equation.primitive.kernel
        if self.plain and type(atom) is Literal and atom.aval.weak and type(kernel) is np.ufunc:
            strong = {a.aval.dtype for a in equation.inputs if not a.aval.weak}
            if len(strong) == 1 and has_loop(kernel, *strong):
                value = convert_number(atom.value, *strong)
                return self.atom(atom) if value is None else self.constant(value)
        return self.atom(atom)

    def equations(
        self, graph: Graph, no_reuse_from: int | None = None, buffers: Mapping[Var, str] = NO_BUFFERS
    ) -> None:
        """Append the statements of a graph whose inputs have names. Those from the equation number `no_reuse_from` on
        write into nothing that was made before. `buffers` are the arrays, by name, into which variables are
        computed."""
        for var, value in graph.captured.items():
            self.names[var] = self.constant(value)
        last_use = graph.last_uses()
        reusable: set[Var] = set()  # arrays made here that nothing else refers to
        for index, equation in enumerate(graph.equations):
            if index == no_reuse_from:
                reusable.clear()
            primitive = equation.primitive
            operands = [self.operand_code(a, equation) for a in equation.inputs]
            dead = [
                v for v in last_use.get(index, ()) if v not in equation.outputs and v not in graph.captured
            ]
            buffer = self.output_buffer(equation, dead, reusable)
            if equation.outputs and equation.outputs[0] in buffers:
                buffer = buffers[equation.outputs[0]]
                reusable.discard(equation.outputs[0])
            call = self.call_code(equation, operands, buffer)
            self.calls.append((call, equation, operands))
            for var in equation.outputs:
                self.names[var] = f"v{len(self.names)}"
            outputs = [self.names[var] for var in equation.outputs]
            target = ", ".join(outputs) + ("," if primitive.multiple_results and len(outputs) == 1 else "")
            line = f"{target}{' = ' * bool(outputs)}{call}"
            if dead and self.free_dead:
                line += f"; del {', '.join(self.names[v] for v in dead)}"
            inside = equation.quiet and not self.quiet
            if inside and not (index and graph.equations[index - 1].quiet):
                self.lines.append(ERRSTATE_LINE)
            self.places[len(self.lines)] = equation
            self.lines.append(INDENT * inside + line)

    def output_buffer(self, equation: Equation, dead: Sequence[Var], reusable: set[Var]) -> str | None:
        """Return the array that is not needed any more, into which a ufunc is to write: fresh memory costs more than
        arithmetic. Keeps `reusable` up to date: what has memory of its own that no view shows."""
        if not self.plain or not makes_memory(equation):
            reusable.difference_update(v for v in equation.inputs if type(v) is not Literal)
            return None
        out, kernel = equation.outputs[0], equation.primitive.kernel
        if out.aval.shape == ():  # results without axes are scalars, which cannot be written into
            return None
        free = [v for v in dead if v in reusable and v.aval == out.aval]
        reusable.add(out)
        fits = type(kernel) is np.ufunc and takes_buffer(equation) and self.reuses_memory
        return self.names[free[0]] if free and fits else None

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


def has_loop(ufunc: np.ufunc, dtype: np.dtype) -> bool:
    """Whether a ufunc computes with operands that all have this dtype: ldexp(x, i) does not."""
    operands = dtype.char * ufunc.nin + "->"
    return any(loop.startswith(operands) for loop in ufunc.types)


def convert_number(value: Any, dtype: np.dtype) -> np.ndarray | None:
    """Return a Python number as NumPy converts it beside floating-point arrays; None if it warns or widens."""
    if dtype.kind not in "fc" or (type(value) is complex and dtype.kind == "f"):
        return None
    try:
        with np.errstate(all="raise"):
            return np.array(value, dtype)
    except (FloatingPointError, OverflowError):
        return None


def make_function(name: str, text: str, namespace: dict[str, Any]) -> Any:
    """Make the function of this name and text, which tracebacks and debuggers show."""
    filename = f"<fxgrad {name} {next(_serial)}>"
    exec(compile(text, filename, "exec"), namespace)
    function = namespace.pop(name)  # which would refer to itself: freed by the garbage collector only
    function.source = text
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    weakref.finalize(function, linecache.cache.pop, filename, None)
    return function


def as_scalar(value: Any) -> Any:
    """Return an array without axes as a scalar; scalars as they are."""
    return value[()] if type(value) is np.ndarray else value


def compile_graph(
    graph: Graph,
    plain: bool,
    quiet: bool = False,
    builder: type[FunctionBuilder] = FunctionBuilder,
    scalars: bool = False,
) -> Callable[..., Any]:
    """Compile a Graph to a function: positional values → a list of results. With `scalars`, those without axes are
    scalars, of which some of NumPy's functions make arrays."""
    plain = plain and not any(equation.bound_to_axis for equation in graph.equations)
    source = builder(plain, free_dead=plain and builder.reuses_memory, quiet=quiet, exact=plain)
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
    if scalars:
        sure = {v for e in graph.equations if type(e.primitive.kernel) is np.ufunc for v in e.outputs}
        whole = [a in sure or a.aval.weak or a.aval.shape != () for a in graph.outputs]
        convert = source.name_value("as_scalar", as_scalar)
        results = [r if done else f"{convert}({r})" for r, done in zip(results, whole)]
    function = source.function("compiled", parameters, f"[{', '.join(results)}]")
    return locate(function, {index + 2: e for index, e in source.places.items()})  # after the `def`


def locate(function: Any, equations: dict[int, Equation]) -> Any:
    """Map each line of a function to its equation, and so to the user's line."""
    function.equations = equations
    sites = {line: e.site for line, e in equations.items()}
    filename = function.__code__.co_filename
    source_info.SITES[filename] = lambda frame: sites.get(frame.f_lineno)
    _equations[filename] = equations
    for places in (source_info.SITES, _equations):
        weakref.finalize(function, places.pop, filename, None)
    return function


def failing_equation(error: BaseException, code: Any) -> Equation | None:
    """Return the equation in which compiled code raised an error; for a group, the equation inside it."""
    entry, found = error.__traceback__, None
    while entry is not None:
        frame = entry.tb_frame
        if frame.f_code is code.__code__:
            found = code.equations.get(entry.tb_lineno)
        elif found is not None and found.primitive.computes == "fused":
            found = _equations.get(frame.f_code.co_filename, {}).get(entry.tb_lineno, found)
        entry = entry.tb_next
    return found
