"""A Graph as text: the mathematics on the left, avals and the user's lines on the right.

    loss(x: f64[3], y: f64[3]) → f64[]
      k: f64[] = 0.5
      a = x - y              f64[3]  demo/training.py:3
      b = a ** 2             f64[3]  demo/training.py:3
      c = sum(b, axes=(0,))  f64[]   demo/training.py:4
      d = c * k              f64[]   demo/training.py:4
      return d

Inputs have the names of the arguments, or x, y, z; captured values are k, the others a, b, c, …; a sub-graph stands
below its equation. The text holds no addresses and no order of a set: equal graphs print alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, count
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

from .aval import Aval, aval_of
from .graph import Equation, Graph, Literal, Var, iter_subgraphs, letter_names
from .rules import REGISTRY
from .typing import type_of

MAX_WIDTH = 60  # a longer expression shifts the columns of its own line only


class Line(NamedTuple):
    """One line of a listing, with the user's line that it stems from."""

    text: str
    site: Any = None


def render_text(graph: Graph) -> str:
    """The listing of a graph."""
    return "\n".join(line.text for line in listing(graph))


def listing(graph: Graph, indent: str = "", label: str = "") -> list[Line]:
    """The lines of a graph; those of its sub-graphs are indented. `label` stands before the header."""
    called = variable_names(graph)
    inner = indent + "  "
    lines = [Line(f"{indent}{label}{header(graph, called)}")]
    lines += [Line(f"{inner}{called[var]}: {captured_text(value)}") for var, value in graph.captured.items()]
    rows = [(statement(e, called), ", ".join(repr(v.aval) for v in e.outputs), e) for e in graph.equations]
    wide = max((len(text) for text, _, _ in rows if len(text) <= MAX_WIDTH), default=0)
    wide_aval = max((len(aval) for _, aval, _ in rows), default=0)
    for text, aval, equation in rows:
        site = "" if equation.site is None else str(equation.site)
        lines.append(Line(f"{inner}{text:<{wide}}  {aval:<{wide_aval}}  {site}".rstrip(), equation.site))
        for path, sub in iter_subgraphs(equation.params):
            lines += listing(sub, inner + "  ", f"{path}: ")
    lines.append(Line(f"{inner}return {', '.join(atom_text(a, called) for a in graph.outputs)}"))
    return lines


def header(graph: Graph, var_names: dict[Var, str]) -> str:
    """`loss(x: f64[3], y: f64[]) → f64[]`."""
    inputs = ", ".join(f"{var_names[v]}: {v.aval!r}" for v in graph.inputs)
    results = ", ".join(map(repr, graph.out_avals))
    return f"{graph.name}({inputs}) → {results if len(graph.outputs) == 1 else f'({results})'}"


def captured_text(value: Any) -> str:
    """Return the aval of a captured value as text, with its number if it is a single one."""
    known = type(value) is np.ndarray and value.ndim == 0
    return f"{aval_of(value)!r} = {value.item()!r}" if known else repr(aval_of(value))


def variable_names(graph: Graph) -> dict[Var, str]:
    """A name for every variable of a graph (those of its sub-graphs have their own)."""
    called = {v: name for name, v in {v.label(): v for v in graph.inputs if v.label}.items()}
    taken = set(called.values())
    for group, letters in (
        ([v for v in graph.inputs if v not in called], "xyz"),
        (graph.captured, "k"),
    ):
        few = letters if len(group) <= len(letters) else ""
        names = chain(few, (f"{letters[0]}{i}" for i in count()))
        called.update(zip(group, (name for name in names if name not in taken)))
    taken.update(called.values())
    free = (name for name in letter_names() if name not in taken and not iskeyword(name))
    called.update((var, next(free)) for equation in graph.equations for var in equation.outputs)
    return called


def atom_text(a: Any, var_names: dict[Var, str]) -> str:
    return repr(a) if type(a) is Literal else var_names[a]


def statement(equation: Equation, var_names: dict[Var, str]) -> str:
    """`a = sin(x)`."""
    targets = ", ".join(var_names[v] for v in equation.outputs)
    value = expression(equation, [atom_text(a, var_names) for a in equation.inputs])
    return f"{targets} = {value}" if targets else value


# -- the right-hand side
def expression(equation: Equation, operands: Sequence[str]) -> str:
    """An application of a primitive: by its own form, infix by its sign, or as a call."""
    primitive, params = equation.primitive, equation.params
    if REGISTRY.get(primitive.name) is primitive and primitive.name in FORMS:
        return FORMS[primitive.name](operands, params)
    if primitive.symbol is not None:
        return infix_text(primitive.symbol, *operands)
    return call_text(primitive.name.removeprefix("reduce_"), *operands, **params)


def infix_text(sign: str, *operands: str) -> str:
    """`a + b` or `-a`; a negative base of a power needs parentheses."""
    if len(operands) == 1:
        return sign + operands[0]
    if sign == "**" and operands[0].startswith("-"):
        operands = (f"({operands[0]})", *operands[1:])
    return f" {sign} ".join(operands)


def call_text(name: str, *operands: str, **params: Any) -> str:
    """`name(a, b, axis=0)`."""
    return (
        f"{name}({', '.join([*operands, *(f'{key}={param_text(value)}' for key, value in params.items())])})"
    )


def index_text(index: tuple[Any, ...], arrays: Sequence[str]) -> str:
    """An index template (see `ops.indexing`) as it is written between brackets: `[1:, :, b]`."""
    rest = iter(arrays)
    return f"[{', '.join(next(rest) if e is Ellipsis else param_text(e) for e in index) or '()'}]"


def slice_text(s: slice) -> str:
    start, stop, step = ("" if v is None else str(v) for v in (s.start, s.stop, s.step))
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def dtype_text(dtype: Any) -> str:
    return repr(Aval((), dtype)).removesuffix("[]")


FORMS: dict[str, Callable[[Sequence[str], dict[str, Any]], str]] = {
    "contract": lambda x, params: f'contract("{params["spec"]}", {x[0]}, {x[1]})',
    "convert": lambda x, params: f"{dtype_text(params['dtype'])}({x[0]})",
    "getitem": lambda x, params: x[0] + index_text(params["index"], x[1:]),
    "scatter_add": lambda x, params: (
        f"zeros({param_text(params['shape'])}).at{index_text(params['index'], x[1:])}.add({x[0]})"
    ),
    "square": lambda x, params: infix_text("**", x[0], "2"),
    "static_power": lambda x, params: infix_text("**", x[0], param_text(params["p"])),
    "update": lambda x, params: f"{x[0]}.at{index_text(params['index'], x[2:])}.set({x[1]})",
}


def param_text(value: Any) -> str:
    """Return the value of a param as text, without what differs from run to run."""
    kind = type_of(value)
    if isinstance(value, Graph):
        return "…"
    if isinstance(value, np.dtype):
        return dtype_text(value)
    if kind is slice:
        return slice_text(value)
    if kind in (tuple, list):
        inside = ", ".join(map(param_text, value)) + ("," if kind is tuple and len(value) == 1 else "")
        return f"({inside})" if kind is tuple else f"[{inside}]"
    if isinstance(value, np.ndarray):
        return repr(aval_of(value))
    if callable(value):
        return getattr(value, "__name__", kind.__name__)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
