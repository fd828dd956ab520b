"""Standalone source: the text of functions with all their dependencies, which needs NumPy only.

A function is printed as it was written or generated. Its names are looked up in its globals and closure. Each is
replaced or defined before it: `np.add` for a ufunc, a literal for a number, a constant for an array, the definition of
a helper, once. A closure is returned by a function of the values that it closes over:

    def make_erf(function):
        def kernel(x):
            …
        return kernel
    erf = make_erf(erf_by_polynomials)
"""

from __future__ import annotations

import ast
import base64
import builtins
import dis
import functools
import importlib
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...core.cache import Cache
from ...core.errors import FxgradError, UnsupportedError
from .source import INDENT

PACKAGE = __name__.partition(".")[0]
WIDE = 100  # entries from which on an array is written as text of base 64
NOTHING = "lambda *operands, **params: None"  # what native functions are where there are none
# Functions that look for what is not there where there is NumPy only, and what they find then.
STAND_INS = {
    f"{PACKAGE}.core.fp_errors.is_silent": "lambda: False",
    f"{PACKAGE}.core.surface.SurfaceObject": "lambda value: False",  # is it one?
    f"{PACKAGE}.kernels.lapack.find_library": "lambda: None",
    f"{PACKAGE}.kernels.native.engine.mode": "lambda: 'never'",
    f"{PACKAGE}.kernels.philox.native_stream": f"lambda name: {NOTHING}",
    f"{PACKAGE}.kernels.registry.native_function": f"lambda name: {NOTHING}",
    f"{PACKAGE}.kernels.registry.share_calls": "lambda function, units, *options, **more: function(0, units)",
    f"{PACKAGE}.kernels.registry.worker_count": "lambda: 1",
    f"{PACKAGE}.ops.reduction.primitive_of": "lambda name: None",
    f"{PACKAGE}.ops.scatter.multiply_at": "lambda xp, out, at, u: None",  # for GPUs
}
LONG = 40  # letters from which on the expression for a value is given a name
NUMBERS = (bool, int, str, bytes, type(None), type(...))
Edit = tuple[int, int, int, int, str]  # from (line, column) to (line, column), and what is to stand there


class StandaloneModule:
    """A module under construction: its definitions so far, and the expressions for the defined values."""

    def __init__(self) -> None:
        self.imports = {"import numpy as np"}
        self.sections: list[str] = []
        self.taken = {"np", *dir(builtins)}
        self.expressions: dict[int, tuple[str, Any]] = {}  # with the value, so that its number stays its own

    def text(self) -> str:
        """Return the source of the module."""
        head = ["from __future__ import annotations", "", *sorted(self.imports)]
        return "\n".join(head) + "\n\n\n" + "\n\n".join(self.sections) + "\n"

    def free_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self.taken.add(name)
        return name

    def expression(self, value: Any, wanted: str) -> str:
        """Return an expression for a value, which is defined first, if possible under the preferred name."""
        kernel = getattr(getattr(value, "primitive", None), "kernel", None)
        value = value if kernel is None else kernel  # not the binding function
        if id(value) in self.expressions:
            return self.expressions[id(value)][0]
        found = self.literal(value, wanted) or self.library_path(value)
        return self.definition(value, wanted) if found is None else found

    def literal(self, value: Any, wanted: str) -> str | None:
        """Return the expression for a number, a text, a dtype, or a container of these; None for other values."""
        kind = type(value)
        if kind in NUMBERS:
            return repr(value)
        if kind is float:
            return repr(value) if np.isfinite(value) else f'float("{value!r}")'
        if kind is complex:
            return f"complex({self.literal(value.real, wanted)}, {self.literal(value.imag, wanted)})"
        if isinstance(value, np.dtype):
            if value.kind not in "biufc":
                raise UnsupportedError(
                    f"to_source: NumPy alone has no dtype {value}",
                    hint="x.astype(np.float32) in the function that is written",
                )
            return f"np.dtype({value.name!r})"
        if isinstance(value, np.generic):
            item = repr(str(value)) if value.dtype.char in "gG" else self.literal(value.item(), wanted)
            return f"np.{kind.__name__}({item})"
        if kind in (tuple, list, set, frozenset):
            items = [self.expression(v, f"{wanted}_item") for v in value]
            inner = ", ".join(items)
            if kind is tuple:
                return f"({inner}{',' * (len(items) == 1)})"
            return f"[{inner}]" if kind is list else f"{kind.__name__}([{inner}])"
        if kind is slice:
            parts = [self.expression(v, wanted) for v in (value.start, value.stop, value.step)]
            return f"slice({', '.join(parts)})"
        if kind is Cache:
            return "{}"
        if kind in (dict, types.MappingProxyType):
            entries = [
                f"{self.expression(k, wanted)}: {self.expression(v, wanted)}" for k, v in value.items()
            ]
            return f"{{{', '.join(entries)}}}"
        return None

    def library_path(self, value: Any) -> str | None:
        """Return the expression for an object of Python or NumPy under a name."""
        if isinstance(value, types.ModuleType):
            return self.module_path(value.__name__)
        if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:
            return f"np.{value.__name__}"
        owner = getattr(value, "__self__", None)
        if isinstance(owner, np.ufunc):
            return f"{self.library_path(owner)}.{value.__name__}"
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        home = getattr(value, "__objclass__", None)
        if isinstance(value, np.ufunc) or name is None:
            return None
        if home is not None:
            return f"{self.library_path(home)}.{value.__name__}"
        for module in (getattr(value, "__module__", None) or "", "builtins", "numpy"):
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is value and (prefix := self.module_path(module)) is not None:
                return name if prefix == "builtins" else f"{prefix}.{name}"
        return None

    def module_path(self, name: str) -> str | None:
        """Import a module of NumPy or of Python's library and return its name; None for other modules."""
        first, _, rest = name.partition(".")
        if first == "numpy":
            public = [part for part in rest.split(".") if part and not part.startswith("_")]
            return ".".join(["np", *public])
        if first not in sys.stdlib_module_names:
            return None
        if name != "builtins":
            self.imports.add(f"import {name}")
        return name

    def definition(self, value: Any, wanted: str) -> str:
        """Append the definition of a value, and return its name."""
        if isinstance(value, np.ndarray):
            return self.define(value, wanted, self.array_text(value))
        if isinstance(value, functools.partial):
            given = [self.expression(v, wanted) for v in (value.func, *value.args)]
            given += [f"{k}={self.expression(v, k)}" for k, v in value.keywords.items()]
            self.imports.add("import functools")
            return self.define(value, wanted, f"functools.partial({', '.join(given)})")
        if isinstance(value, type) and issubclass(value, FxgradError):
            base = next(c for c in value.__mro__ if c.__module__ == "builtins" and c is not object)
            name = self.remember(value, self.free_name(value.__name__))
            init = (
                f"{INDENT}def __init__(self, message='', **details):\n{INDENT * 2}super().__init__(message)"
            )
            self.sections.append(f"class {name}({base.__name__}):\n{init}\n")
            return name
        owner = getattr(value, "__self__", None)
        paths = [f"{getattr(x, '__module__', '')}.{getattr(x, '__qualname__', '')}" for x in (value, owner)]
        stand_in = next((STAND_INS[path] for path in paths if path in STAND_INS), None)
        if stand_in is not None:
            return self.define(value, wanted, stand_in)
        inner = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
        if isinstance(inner, types.FunctionType) or (
            isinstance(value, type) and value.__module__.startswith(PACKAGE)
        ):
            return self.define_function(value, inner, wanted)
        raise UnsupportedError(
            f"to_source: {wanted} is of the type {type(value).__name__}, which cannot be written",
            hint="numbers, arrays, tuples, lists, dicts and functions: take the value apart before",
        )

    def remember(self, value: Any, name: str) -> str:
        self.expressions[id(value)] = name, value
        return name

    def define(self, value: Any, wanted: str, text: str) -> str:
        name = self.remember(value, self.free_name(wanted))
        self.sections.append(f"{name} = {text}\n")
        return name

    def array_text(self, array: np.ndarray) -> str:
        dtype = self.literal(array.dtype, "dtype")
        if array.size < WIDE and array.dtype.char not in "gG" and np.isfinite(array).all():
            text = f"np.array({array.tolist()!r}, {dtype})"
            return text if array.size else f"{text}.reshape({array.shape})"
        self.imports.add("import base64")
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return f"np.frombuffer(base64.b64decode({data!r}), {dtype}).reshape({array.shape})"

    def define_function(self, value: Any, inner: Any, wanted: str) -> str:
        """Append the definition of a function or class from its text."""
        text, tree = find_source(inner)
        is_lambda = isinstance(tree, ast.Lambda)
        own = wanted if is_lambda else inner.__name__
        bound = {} if isinstance(inner, type) else closed_over(inner)
        name = self.remember(value, self.free_name(wanted if bound else own))
        self.remember(inner, name)
        own_names = {n for n, v in bound.items() if v is inner or v is value}
        edits = list(self.edits_of(tree, inner, set(bound)))
        if not is_lambda and own != name and not bound:
            edits.append((*position_of_name(tree, text), name))
        text = apply_edits(text, edits)
        if not bound:
            self.sections.append(f"{name} = {text}\n" if is_lambda else text + "\n")
            return name
        given = {n: self.expression(v, n) for n, v in bound.items() if n not in own_names}
        body = textwrap.indent(f"return {text}" if is_lambda else f"{text}\nreturn {own}", INDENT)
        maker = self.free_name(f"make_{name}")
        call = f"{maker}({', '.join(given.values())})"
        self.sections.append(f"def {maker}({', '.join(given)}):\n{body}\n\n\n{name} = {call}\n")
        return name

    def edits_of(self, tree: ast.AST, function: Any, bound: set[str]) -> Iterator[Edit]:
        """Find the replacements for the global names and imports of a function."""
        known = dict(
            vars(sys.modules[function.__module__]) if isinstance(function, type) else function.__globals__
        )
        own = bound if isinstance(function, type) else bound | local_names(function.__code__)
        for name in own:
            known.pop(name, None)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(PACKAGE)):
                yield (*span(node), "pass")
                known |= imported_values(node, known["__package__"])
        passed = {id(inner) for node in ast.walk(tree) for inner in annotation_nodes(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            base = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
            if isinstance(base, ast.Name):
                owner = known.get(base.id)
                owner = owner if base is node.value else module_of_loader(owner)
                home = getattr(owner, "__name__", type(owner).__module__)
                if home.startswith(PACKAGE) and not callable(owner):
                    passed.add(id(base))
                    yield (*span(node), self.visible(getattr(owner, node.attr), node.attr, own))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and id(node) not in passed and node.id in known:
                text = self.visible(known[node.id], node.id, own)
                if text != node.id:
                    yield (*span(node), text)

    def visible(self, value: Any, wanted: str, own: set[str]) -> str:
        """Return an expression for a value inside a function with local variables; a long expression is given a
        name."""
        text = self.expression(value, wanted)
        if len(text) > LONG and id(value) not in self.expressions:
            text = self.define(value, wanted, text)
        if text in own:
            name = self.free_name(f"{text}_")
            self.sections.append(f"{name} = {text}\n")
            text = name
        return text


def imported_values(node: ast.ImportFrom, package: str) -> dict[str, Any]:
    """Return the objects that a statement inside a function imports from this package, by name."""
    home = importlib.import_module("." * node.level + (node.module or ""), package if node.level else None)
    found = {}
    for alias in node.names:
        if hasattr(home, alias.name):
            value = getattr(home, alias.name)
        else:
            value = importlib.import_module(f"{home.__name__}.{alias.name}")
        found[alias.asname or alias.name] = value
    return found


def module_of_loader(function: Any) -> Any:
    """Return the module of this package that a function imports and returns, if it does nothing else."""
    if not isinstance(function, types.FunctionType) or not function.__module__.startswith(PACKAGE):
        return None
    body = getattr(find_source(function)[1], "body", None)
    match body if isinstance(body, list) else []:
        case [ast.Expr(), ast.ImportFrom() as loading, ast.Return(ast.Name(name))]:
            return imported_values(loading, function.__globals__["__package__"]).get(name)
    return None


def annotation_nodes(node: Any) -> Iterator[ast.AST]:
    """Yield the nodes of the annotations of a definition or an assignment."""
    for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if isinstance(annotation, ast.AST):
            yield from ast.walk(annotation)


def closed_over(function: types.FunctionType) -> dict[str, Any]:
    """Return the values over which a function closes."""
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells)}


def local_names(code: types.CodeType) -> set[str]:
    """Return the names of local variables of a function and of the functions inside it."""
    found = {*code.co_varnames, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= local_names(constant)
    return found - {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}


def span(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def position_of_name(tree: Any, text: str) -> tuple[int, int, int, int]:
    """Return where the name stands in `def name(` or `class name`."""
    line = text.splitlines()[tree.lineno - 1].encode()
    start = line.index(
        tree.name.encode(), tree.col_offset + len("class" if isinstance(tree, ast.ClassDef) else "def")
    )
    return tree.lineno, start, tree.lineno, start + len(tree.name.encode())


def apply_edits(text: str, edits: list[Edit]) -> str:
    """Replace spans of a text; columns count bytes."""
    lines = [line.encode() for line in text.split("\n")]
    for first, start, last, end, new in sorted(edits, reverse=True):
        joined = lines[first - 1][:start] + new.encode() + lines[last - 1][end:]
        lines[first - 1 : last] = joined.split(b"\n")
    return b"\n".join(lines).decode()


def find_source(function: Any) -> tuple[str, Any]:
    """Return the text of a function, a lambda or a class, and its syntax tree."""
    text = getattr(function, "source", None)
    if text is None and getattr(function, "__name__", "") == "<lambda>":
        return find_lambda(function)
    if text is None:
        text = textwrap.dedent(inspect.getsource(function))
    text = text.rstrip("\n")
    return text, ast.parse(text).body[0]


def find_lambda(function: Callable[..., Any]) -> tuple[str, ast.Lambda]:
    """Find a lambda by its line, and by its code if there are several in that line."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            found = ast.get_source_segment(text, node) or ""
            found = f"({found})" if "\n" in found else found
            made = compile(found, code.co_filename, "eval").co_consts
            if any(isinstance(c, types.CodeType) and is_same_code(c, code) for c in made):
                found = found[1:-1] if found.startswith("(") else found
                lines = f"({found})" if "\n" in found else found
                tree = ast.parse(lines, mode="eval").body
                assert isinstance(tree, ast.Lambda)
                return lines, tree
    raise UnsupportedError(
        f"to_source: the text of a lambda in {code.co_filename} is not to be found",
        hint="a function with def, in a file",
    )


def is_same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two lambdas of one line are the same, compared by their names and number of constants."""
    names = [{*c.co_names, *c.co_freevars, *c.co_varnames} for c in (one, other)]
    return names[0] == names[1] and len(one.co_consts) == len(other.co_consts)
