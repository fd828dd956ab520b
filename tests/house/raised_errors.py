"""What functions raise on purpose, read from their source, and what their docstrings say of it.

A function raises what its own body raises, and what those helpers of its module raise that it calls and that have no
docstring for users, as they are no public names.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import sys
from enum import Enum
from functools import cache
from types import FunctionType, ModuleType

# A docstring that sends to another one: "Raises: as for `sum`".
ELSEWHERE = re.compile(r"\b(Raises|errors)\b[^.]*\bas (of|for)\b")
SECTION = re.compile(r"^Raises:\n((?:[ ]+.*\n?|\n(?=[ ]))*)", re.MULTILINE)
MAKERS = ("__init__", "__new__", "__post_init__")  # what runs when users make an object


def list_unsaid(subject: object, text: str, public: set[object]) -> set[str]:
    """List the errors that a function or class raises without a word in the section `Raises:` of its docstring.

    Args:
        subject: the function or class.
        text: its docstring.
        public: the functions whose errors stand in docstrings of their own.
    """
    if ELSEWHERE.search(text):
        return set()
    section = SECTION.search(text)
    said = set(re.findall(r"\b[A-Z]\w+\b", section[1])) if section else set()
    return {kind.__name__ for kind in raised_by(subject, public) if not names_of(kind) & said}


def names_of(kind: type) -> set[str]:
    """The names under which an error may be announced: its own and those of the errors that it also is."""
    return {base.__name__ for base in kind.__mro__} - {"FxgradError", "Exception", "BaseException", "object"}


def raised_by(subject: object, public: set[object]) -> set[type]:
    """The classes of the errors that a function or the making of an object of a class raises."""
    functions = [subject]
    if isinstance(subject, type):
        makers = () if issubclass(subject, Enum | BaseException) else MAKERS
        made = [vars(subject)[name] for name in makers if name in vars(subject)]
        functions = [f for f in made if plain(f).__module__ == subject.__module__]  # by the class, for itself
    seen = public - {plain(function) for function in functions}
    found: set[type] = set().union(*(raised_in(function, seen) for function in functions))
    return found - {StopIteration}  # which ends a loop


def plain(function: object) -> object:
    """The function itself under its decorators."""
    return inspect.unwrap(getattr(function, "__func__", function))  # type: ignore[arg-type]


def raised_in(function: object, seen: set[object]) -> set[type]:
    """The classes that the statements of a function and of its helpers raise; `seen` are those not to look into."""
    function = plain(function)
    if function in seen or not isinstance(function, FunctionType):
        return set()
    seen.add(function)
    module = sys.modules.get(function.__module__)
    node = find_definition(function, module) if module else None
    if node is None:
        return set()
    scope = {**vars(module), **imported_in(node, module)}
    found: set[type] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Raise) and part.exc is not None:
            found |= {kind for kind in [class_of(part.exc, scope)] if kind}
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            helper = scope.get(part.func.id)
            if isinstance(helper, FunctionType) and helper.__module__ == module.__name__:
                found |= raised_in(helper, seen)
    return found


def find_definition(function: FunctionType, module: ModuleType) -> ast.AST | None:
    """The statement that defines a function."""
    if not module.__name__.startswith("fxgrad") or function.__code__.co_filename != module.__file__:
        return None
    return definitions(module).get(function.__code__.co_firstlineno)


@cache
def definitions(module: ModuleType) -> dict[int, ast.AST]:
    """The functions of a module by their first lines, decorators included."""
    found: dict[int, ast.AST] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            found[min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])] = node
    return found


def imported_in(node: ast.AST, module: ModuleType) -> dict[str, object]:
    """The names that a function imports when it runs."""
    scope: dict[str, object] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.ImportFrom):
            try:
                source = importlib.import_module("." * part.level + (part.module or ""), module.__package__)
            except ImportError:
                continue
            scope |= {a.asname or a.name: getattr(source, a.name, None) for a in part.names}
    return scope


def class_of(raised: ast.expr, scope: dict[str, object]) -> type | None:
    """The class of what is raised: `E`, `E(…)`, or a call of a function that returns an E."""
    if isinstance(raised, ast.Call):
        made = find(raised.func, scope)
        if isinstance(made, FunctionType):
            returned = made.__annotations__.get("return")
            made = (
                find(ast.parse(returned, mode="eval").body, made.__globals__)
                if isinstance(returned, str)
                else returned
            )
    else:
        made = find(raised, scope)
    return made if isinstance(made, type) and issubclass(made, BaseException) else None


def find(name: ast.expr, scope: dict[str, object]) -> object:
    """What a dotted name means."""
    if isinstance(name, ast.Attribute):
        return getattr(find(name.value, scope), name.attr, None)
    return scope.get(name.id, getattr(builtins, name.id, None)) if isinstance(name, ast.Name) else None
