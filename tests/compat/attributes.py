"""The attributes of classes from which users derive: those of torch's classes, by the classes' paths, are in
attributes.json, so that ours can be compared with them where torch is not installed.

    python -m tests.compat.attributes

writes the file. An attribute is what a class has, and what its methods write into `self`.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import warnings
from collections import namedtuple
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

FILE = Path(__file__).with_name("attributes.json")
OURS = "fxgrad.compat"
PREFIX = "_fx_"
NAMED_TUPLE = {*dir(namedtuple("Point", "x"))} - {"x"}

# Classes of torch's from which Python lets one derive, though nobody does.
NOT_DERIVED_FROM = {
    "autograd.SavedTensor": "nobody can make one",
    "autograd.function.BackwardCFunction": "nobody can make one; what `ctx` has is kept apart from what it has",
    "jit.Future": "a type for annotations",
}
# What classes have beside torch's names and ours, by class; that of a base counts for all that derive from it.
ALLOWED = {
    "fxgrad.core.message.FxgradError": ("chain hint page site _plain_values_needed", "all errors have these"),
    "fxgrad.compat.autograd.grad_mode.ModeSwitch": (
        "clone",
        "torch's switches have it, by which they decorate",
    ),
    "fxgrad.compat._core.storage.UntypedStorage": (
        "is_sparse_csr",
        "torch's has it; a TypedStorage is one here",
    ),
    "fxgrad.compat.nn.parameter.Buffer": ("persistent", "torch's has it, as soon as it is made"),
    "fxgrad.compat.cuda.streams.Stream": (
        "cuda_stream device priority",
        "torch has them where there is CUDA",
    ),
}


# -- classes -----------------------------------------------------------------------------------------------------------
def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """The modules of a package, by their paths in it, outer ones first: a class has its shortest path."""
    found = {"": package}
    for info in walk_packages(package.__path__, f"{package.__name__}."):
        path = info.name.removeprefix(f"{package.__name__}.")
        if path != "__main__":
            found[path] = import_module(info.name)
    return dict(sorted(found.items(), key=lambda item: (item[0].count("."), item[0])))


def find(library: str, path: str) -> Any:
    """What a path means in a library; None if there is nothing."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(f"{library}.{module}".rstrip(".")), name, None)
    except ImportError:
        return None


def can_be_derived_from(cls: type) -> bool:
    """Whether Python lets one derive a class from it."""
    try:
        type(cls)("Derived", (cls,), {})
    except Exception:
        return False
    return True


# -- attributes --------------------------------------------------------------------------------------------------------
@cache
def class_nodes(module: str) -> dict[str, ast.ClassDef]:
    """The definitions of the classes in the source of a module, by qualified name."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    found: dict[str, ast.ClassDef] = {}

    def visit(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[path + child.name] = child
                visit(child, f"{path}{child.name}.")
            elif isinstance(child, ast.FunctionDef):
                visit(child, f"{path}{child.name}.<locals>.")
            else:
                visit(child, path)

    visit(tree, "")
    return found


@cache
def written_names(cls: type) -> frozenset[str]:
    """The names of what the methods in the source of a class write into `self`."""
    node = class_nodes(cls.__module__).get(cls.__qualname__)
    found = set()
    for function in [] if node is None else node.body:
        if not isinstance(function, ast.FunctionDef) or any(
            isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list
        ):
            continue
        parameters = [*function.args.posonlyargs, *function.args.args]
        found |= {
            x.attr
            for x in ast.walk(function)
            if isinstance(x, ast.Attribute)
            and isinstance(x.ctx, ast.Store)
            and isinstance(x.value, ast.Name)
            and parameters
            and x.value.id == parameters[0].arg
        }
    return frozenset(found)


def is_protocol(name: str) -> bool:
    """Whether it is a name to which Python or a library gives a meaning in all classes, or private to one class."""
    return name.startswith("__") or "__" in name[1:].rstrip("_")


def attributes_of(cls: type) -> dict[str, type]:
    """The attributes of a class, each with the class that has it first."""
    found: dict[str, type] = {}
    pythons = NAMED_TUPLE if issubclass(cls, tuple) else ()
    for base in cls.__mro__:
        for name in (*vars(base), *written_names(base)):
            if (
                not is_protocol(name)
                and name not in pythons
                and name != "_abc_impl"  # of abstract classes
                and base not in (object, BaseException, Exception)
            ):
                found.setdefault(name, base)
    return found


# -- what torch has ----------------------------------------------------------------------------------------------------
def torch_attributes() -> dict[str, str]:
    """The attributes of torch's classes that are here too, by path: their names, and after a colon the paths of classes
    that have the others."""
    attributes: dict[type, set[str]] = {}
    paths: dict[str, type] = {}
    pairs = set()
    for path, module in modules_of(import_module(OURS)).items():
        for name in dir(module):
            whole = f"{path}.{name}".lstrip(".")
            ours, theirs = getattr(module, name, None), find("torch", whole)
            if not (isinstance(ours, type) and isinstance(theirs, type) and ours.__module__.startswith(OURS)):
                continue
            known = whole in NOT_DERIVED_FROM or (ours, theirs) in pairs  # under another path
            if not known and all(map(can_be_derived_from, (ours, theirs))):
                pairs.add((ours, theirs))
                paths[whole] = theirs
                annotated = [inspect.get_annotations(base) for base in theirs.__mro__[:-1]]
                names = {*dir(theirs), *attributes_of(theirs)}.union(*annotated)
                attributes[theirs] = {name for name in names if not is_protocol(name)}
    first = {theirs: path for path, theirs in reversed(sorted(paths.items()))}
    found = {}
    for path, theirs in sorted(paths.items()):
        others, known = [], set()
        for base in theirs.__mro__[first[theirs] == path :]:
            if base in attributes and not attributes[base] <= known:
                others.append(f":{first[base]}")
                known |= attributes[base]
        found[path] = " ".join(sorted(attributes[theirs] - known) + others)
    return found


def read_attributes() -> dict[str, set[str]]:
    """What `torch_attributes` has written into the file, by path."""
    texts = json.loads(FILE.read_text())

    @cache
    def read(path: str) -> frozenset[str]:
        words = texts[path].split()
        others = [read(word[1:]) for word in words if word.startswith(":")]
        return frozenset(word for word in words if not word.startswith(":")).union(*others)

    return {path: set(read(path)) for path in texts}


# -- what is beyond it -------------------------------------------------------------------------------------------------
def attributes_beyond_torch() -> dict[str, set[str]]:
    """The attributes, by class of ours, that torch's does not have and whose names are not ours alone."""
    classes: dict[type, set[str]] = {}
    for path, names in read_attributes().items():
        classes.setdefault(find(OURS, path), set()).update(names)
    found: dict[str, set[str]] = {}
    for cls, names in classes.items():
        allowed = set(names).union(*(ALLOWED.get(path_of(base), ("",))[0].split() for base in cls.__mro__))
        for name, base in attributes_of(cls).items():
            if name not in allowed and not name.startswith(PREFIX):
                found.setdefault(path_of(base), set()).add(name)
    return found


def path_of(cls: type) -> str:
    """The path of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FILE.write_text(json.dumps(torch_attributes(), indent=0) + "\n")
