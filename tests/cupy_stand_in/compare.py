"""Compares the stand-in with CuPy: `python -m tests.cupy_stand_in.compare WHEEL`, which `nox -s gpu` runs.

The wheel is read and not imported, for which it would need a GPU's libraries. Each public name of the stand-in, each
method and each parameter has to be CuPy's, in the same place. Python's files say what they define; of those that Cython
compiled, the signatures stand in the docstrings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import MODULES, install

COMPARED = (
    "cupy", "cupy.linalg", "cupy.fft", "cupy.random", "cupy.cuda", "cupy.lib.stride_tricks",
    "cupyx.scipy.linalg", "cupyx.scipy.special",
)  # fmt: skip
# What the modules and classes of the stand-in have for themselves.
HELPERS = {
    "BY_VALUE", "CUDARuntimeError", "DEVICES", "FUNCTIONS", "LOCAL", "Local", "NAMES", "NO_COMPLEX", "PINNED",
    "RESULTS", "STABLE", "STATE", "TRUTH", "WRAPPING", "arrays_of", "as_scalar", "check_device", "check_dtype", "draw",
    "factor", "get_device_properties", "give_back", "has_arrays", "make_function", "note_transfer", "of_thread", "read",
    "read_signatures", "refuse_capture", "reset", "run", "serial", "solve_factored", "substitute", "take",
    "with_complex_results", "without_errors", "write", "cupy.get_device_id", "cupy.linalg.ndarray",
}  # fmt: skip
SIGNATURE = re.compile(rb"[\x20-\x7e]{2,}")
CALL = re.compile(r"(?P<name>[\w.]+)\((?P<parameters>.*)\)(?: -> .*)?")
ANY = None  # in the place of parameters of which nothing is known
Parameters = list[tuple[str, bool]]  # the names, and whether they may be left out


class Compiled:
    """A module that Cython compiled: the signatures in its docstrings, and all else as text."""

    def __init__(self, content: bytes):
        self.content = content
        self.calls: dict[
            str, list[Parameters]
        ] = {}  # by the last part of the name, of which there may be several
        for text in SIGNATURE.findall(content):
            if found := CALL.fullmatch(text.decode()):
                parameters = [parameter(p) for p in split(found["parameters"])]
                self.calls.setdefault(found["name"].rpartition(".")[2], []).append(parameters)

    def __contains__(self, name: str) -> bool:
        """Whether a name may be defined: the names of attributes are texts, one after the other."""
        return name.encode() in self.content


class Wheel:
    """CuPy as its files say it."""

    def __init__(self, path: Path):
        self.archive = zipfile.ZipFile(path)
        self.files = set(self.archive.namelist())

    @cache  # noqa: B019  (there is one wheel)
    def module(self, name: str) -> ast.Module | None:
        """The source of a module, or None: it is compiled, or there is none."""
        for file in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
            if file in self.files:
                return ast.parse(self.archive.read(file))
        return None

    @cache  # noqa: B019
    def compiled(self, name: str) -> Compiled | None:
        """A module that Cython compiled, or None: there is none."""
        start = name.replace(".", "/") + "."
        file = next((f for f in self.files if f.startswith(start) and f.endswith((".so", ".pyd"))), None)
        return Compiled(self.archive.read(file)) if file else None

    def find(self, module: str, name: str) -> tuple[str, Any]:
        """Find the module that defines a name, following imports, and its definition there."""
        tree = self.module(module)
        if tree is None:
            compiled = self.compiled(module)
            if compiled is None or name not in compiled:
                raise LookupError(name)
            return module, compiled.calls.get(name, ANY)
        for node in reversed(list(statements(tree.body))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return module, node
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if name in [getattr(target, "id", None) for target in targets]:
                if isinstance(node.value, ast.Attribute | ast.Name):  # type: ignore[attr-defined]  # another name of something
                    return self.find_value(module, node.value)
                return module, node
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        if not (node.module or "").startswith("cupy"):
                            return node.module or "", ANY
                        inner = f"{node.module}.{alias.name}"
                        is_module = self.module(inner) is not None or self.compiled(inner) is not None
                        return (inner, ANY) if is_module else self.find(node.module, alias.name)
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return alias.name, ANY
        raise LookupError(name)

    def find_value(self, module: str, value: ast.expr) -> tuple[str, Any]:
        """Find what `name` or `module.name` means in a module."""
        if isinstance(value, ast.Name):
            return self.find(module, value.id)
        assert isinstance(value, ast.Attribute)
        if self.compiled(ast.unparse(value.value)) is not None:
            return self.find(ast.unparse(value.value), value.attr)
        try:
            return self.find(self.find_value(module, value.value)[0], value.attr)
        except LookupError:
            return module, ANY


def parameters_of(function: Any) -> list[Parameters] | None:
    """The parameters of a function: of Python, or those that a compiled module has for its name."""
    if not isinstance(function, ast.FunctionDef):
        return function if isinstance(function, list) else ANY
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    least = len(positional) - len(given.defaults)
    named = [(a.arg, d is not None) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    stars = [(star + a.arg, True) for star, a in (("*", given.vararg), ("**", given.kwarg)) if a]
    return [[(a.arg, i >= least) for i, a in enumerate(positional)] + named + stars]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those below its conditions, and those that make a name when it is asked for."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            yield from statements(node.body)
        if isinstance(node, ast.If | ast.Try):
            yield from statements(
                [*node.body, *node.orelse, *(s for h in getattr(node, "handlers", ()) for s in h.body)]
            )


def split(parameters: str) -> list[str]:
    """The parameters in the text of a signature."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [p.strip() for p in parts if p.strip() not in ("", "*", "/")]


def parameter(text: str) -> tuple[str, bool]:
    """The name of a parameter in Cython's text, which may have a type in front, and whether it may be left out."""
    name, equals, _ = text.partition("=")
    return name.split()[-1], bool(equals) or text.startswith("*")


def own_parameters(value: Any) -> Parameters | None:
    """The parameters of a function of the stand-in."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ANY
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(stars.get(p.kind, "") + p.name, p.default is not p.empty or p.kind in stars) for p in given]


def differences(wheel: Wheel) -> Iterator[str]:
    """What of the stand-in is not CuPy's, a line each."""
    for module in COMPARED:
        for name, value in public_names(MODULES[module]).items():
            where = f"{module}.{name}"
            if where in HELPERS:
                continue
            try:
                place, definition = wheel.find(module, name)
            except LookupError:
                yield f"{where} is not in CuPy"
                continue
            if inspect.isclass(value):
                yield from (f"{where}.{what}" for what in class_differences(wheel, place, definition, value))
            elif callable(value):
                yield from compare(where, value, parameters_of(definition))


def public_names(module: ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name not in HELPERS
        and not isinstance(value, ModuleType)
        and is_own(value)
    }


def is_own(value: Any) -> bool:
    """Whether something is the stand-in's, and no tool that it imports."""
    return getattr(value, "__module__", "cupy").partition(".")[0] in ("cupy", "cupyx")


def class_differences(wheel: Wheel, place: str, definition: Any, kind: type) -> Iterator[str]:
    """What of a class is not CuPy's."""
    compiled = wheel.compiled(place)
    if compiled is not None:
        known: Any = compiled
    else:
        known = members(wheel, place, definition)
    for name, value in vars(kind).items():
        if name.startswith("_") or name in HELPERS:
            continue
        if name not in known:
            yield f"{name} is not in CuPy"
        elif inspect.isfunction(value):
            yield from compare(name, value, known.calls.get(name, ANY) if compiled else known[name])


def members(wheel: Wheel, place: str, definition: Any) -> dict[str, list[Parameters] | None]:
    """The members of a class that is written in Python, with the parameters of methods; those of its bases, too."""
    found: dict[str, list[Parameters] | None] = {}
    for base in definition.bases:
        module, defined = wheel.find_value(place, base)
        compiled = wheel.compiled(module)
        if compiled is not None:
            found |= compiled.calls
        elif isinstance(defined, ast.ClassDef):
            found |= members(wheel, module, defined)
    for node in definition.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = ANY if node.decorator_list else parameters_of(node)
        elif isinstance(node, ast.Assign):
            found |= {target.id: ANY for target in node.targets if isinstance(target, ast.Name)}
    return found


def compare(where: str, function: Any, theirs: list[Parameters] | None) -> Iterator[str]:
    """What the parameters of a function of the stand-in have that none of CuPy's of the name have."""
    ours = own_parameters(function)
    if ours is not None and theirs is not None and not any(is_part(ours, other) for other in theirs):
        yield f"{where} has the parameters {told(ours)}, CuPy's {' or '.join(map(told, theirs))}"


def is_part(ours: Parameters, theirs: Parameters) -> bool:
    """Whether what a function takes, another one takes: the same parameters in the same places."""
    ours, theirs = [p for p in ours if p[0] != "self"], [p for p in theirs if p[0] != "self"]
    takes_any = any(name.startswith("**") for name, _ in theirs)
    for place, (name, has_default) in enumerate(ours):
        if name.startswith("*"):
            continue
        if (name, has_default) not in theirs and not (takes_any and has_default):
            return False
        if not any(n.startswith("*") for n, _ in ours[:place]) and theirs[place : place + 1] != [
            (name, has_default)
        ]:
            return takes_any and (name, has_default) not in theirs
    return True


def told(parameters: list[tuple[str, bool]]) -> str:
    return "(" + ", ".join(name + "=…" * has_default for name, has_default in parameters) + ")"


def main() -> int:
    wheel = Wheel(Path(sys.argv[1]))
    with install():
        import importlib

        MODULES.update({name: importlib.import_module(name) for name in COMPARED})
        found = list(differences(wheel))
        names = sum(len(public_names(MODULES[name])) for name in COMPARED)
    for line in found:
        print(line)
    print(f"{Path(sys.argv[1]).name}: {names} names of the stand-in, {len(found)} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
