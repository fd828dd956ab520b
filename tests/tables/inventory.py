"""`python -m tests.tables.inventory [torch|jax|autograd]`: ask a library which modules and names it has, and write down
those that its door lacks, for the door's inventory.

Public modules are listed with all their names, but for private names where the whole module is absent; private modules
only as paths, with what they have taken from public ones if they are packages. A module that needs a library which is
not installed is listed as private ones are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from fxgrad.compat.door.modules import TORCH
from fxgrad.doors.inventory import OUTSIDE, Inventory
from fxgrad.doors.modules import Door, DoorModule, nearest, public_names
from fxgrad.peers.door.modules import DOORS as PEERS

DOORS = {"torch": TORCH, **PEERS}
FUNCTIONS = (FunctionType, BuiltinFunctionType)
SCALARS = (bool, int, float, str)
# Where Python says that a class is, and where it is public.
PUBLIC = {"_io": "io", "_thread": "threading", "_collections_abc": "collections.abc"}
LETTERS = {"class": "c", "exception": "e", "function": "f", "other": "o"}


def list_paths(folder: str, package: str, door: Door) -> Iterator[str]:
    """The modules in a folder, but for programs and for those of which nothing is listed."""
    for module in iter_modules([folder]):
        path = f"{package}.{module.name}"
        if module.name == "__main__" or nearest(path, door.unlisted) is not None:
            continue
        yield path
        if module.ispkg:
            yield from list_paths(os.path.join(folder, module.name), path, door)


def load_modules(door: Door) -> dict[str, ModuleType | None]:
    """Import a library's modules, by path: None for one that needs what is not installed."""
    packages = [import_module(name) for name in door.roots]
    loaded: dict[str, ModuleType | None] = {package.__name__: package for package in packages}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in packages:
            for path in list_paths(package.__path__[0], package.__name__, door):
                try:
                    loaded[path] = import_module(path)
                except Exception:
                    loaded[path] = None
    return loaded | redirected_modules(loaded)


def redirected_modules(loaded: dict[str, ModuleType | None]) -> dict[str, ModuleType | None]:
    """The modules that torch has put under a second path, where no file is."""
    return {
        path: module
        for path, module in sorted(sys.modules.items())
        if path not in loaded
        and nearest(path, TORCH.unlisted) is None
        and loaded.get(getattr(module, "__name__", "")) is module
    }


def is_private(path: str) -> bool:
    """Whether a part of a path begins with an underscore."""
    return any(part.startswith("_") for part in path.split("."))


def list_names(module: ModuleType) -> dict[str, Any]:
    """What a module has that is not one of its parts, nor of Python itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: value
            for name, value in vars(module).items()
            if name.isidentifier()
            and not name.startswith("__")
            and name not in ("TYPE_CHECKING", "annotations")
            and not (isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}")
        }


def kind_of(value: Any) -> str:
    """The kind of a value that is of no other module."""
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if isinstance(value, FUNCTIONS) or hasattr(value, "__wrapped__") else "other"


def source_of(
    name: str, value: Any, path: str, loaded: dict[str, ModuleType | None], door: Door
) -> tuple[str, str]:
    """The letter of a name's kind, and the path of the module that it is from: its own, if it does not say."""
    if isinstance(value, ModuleType):
        return "m", value.__name__
    kind, home = LETTERS[kind_of(value)], getattr(value, "__module__", None)
    if not isinstance(home, str) or isinstance(value, SCALARS):
        return kind, path
    if home.partition(".")[0] not in door.roots:
        return kind, PUBLIC.get(home, home) if getattr(value, "__name__", None) == name else path
    there = loaded.get(home)
    known = (
        there is not None and vars(there).get(name) is value and (not is_private(home) or home in door.layout)
    )
    return kind, home if known else path


def find_names_here(loaded: dict[str, ModuleType | None], door: Door) -> dict[str, list[str]]:
    """By path, the names of a library's modules that are elsewhere here, where we have no module of the path, or it
    lacks them. Public modules list those that are from there."""
    found: dict[str, list[str]] = {}
    for path, module in loaded.items():
        if module is None or door.layout.get(path) != "*":
            continue
        own = door.find_own(path)
        known = set() if own is None else {*vars(own), *public_names(own)}
        found[path] = [
            name
            for name, value in sorted(list_names(module).items())
            if name not in known
            and (is_private(path) or source_of(name, value, path, loaded, door)[1] == path)
            and door.find_elsewhere(path, name)
        ]
    return {path: names for path, names in found.items() if names}


def compose_inventory(loaded: dict[str, ModuleType | None], door: Door) -> str:
    """Compose the list of what a library has and its door lacks, or has elsewhere."""
    here = find_names_here(loaded, door)
    blocks_here = {path: {"h": names} for path, names in here.items()}
    kept, door.inventory = door.inventory, Inventory("\n".join(write_blocks(blocks_here)))
    tree: dict[str, Any] = {}
    outside: Counter[tuple[str, str, str]] = Counter()
    blocks: dict[str, dict[str, list[str]]] = {}
    try:
        for path, module in sorted(loaded.items()):
            ours = door.open_module(path, tree)
            lacking: dict[str, list[str]] = defaultdict(list)
            for name, value in sorted(list_names(module).items()) if module is not None else ():
                if ours is not None and has(ours, name):
                    continue
                if name.startswith("_") and nearest(path, door.absent) is not None:
                    continue
                kind, home = source_of(name, value, path, loaded, door)
                is_outside = home.partition(".")[0] not in door.roots
                if (is_outside or value is loaded[door.library]) and path not in door.roots:
                    outside[name, home, kind] += 1
                elif kind == "m":
                    lacking["m"].append(home if home.rpartition(".")[2] == name else f"{name}={home}")
                elif home != path:
                    lacking[home].append(name)
                elif not is_private(path):
                    lacking[kind].append(name)
            if is_private(path) and not hasattr(module, "__path__"):
                lacking = {}
            if path in here:
                lacking["h"] = here[path]
            if lacking or ours is None or is_private(path):
                blocks[path + " *" * (is_private(path) or module is None)] = lacking
    finally:
        door.inventory = kept
    return "\n".join(write_blocks({OUTSIDE: unite(outside), **blocks})) + "\n"


def has(ours: DoorModule, name: str) -> bool:
    """Whether there is something real under a name of a module of ours."""
    return name in vars(ours) or ours._has_switch(name) or ours._find(name) is not None


def unite(outside: Counter[tuple[str, str, str]]) -> dict[str, list[str]]:
    """What is taken from other libraries, each name from the one that it is taken from most often."""
    chosen: dict[str, tuple[str, str]] = {}
    for (name, home, kind), _ in outside.most_common():
        chosen.setdefault(name, (home, kind))
    united: dict[str, list[str]] = defaultdict(list)
    for name, (home, kind) in sorted(chosen.items()):
        if kind != "m":
            united[home].append(name)
        else:
            united["m"].append(home if home.rpartition(".")[2] == name else f"{name}={home}")
    return united


def write_blocks(blocks: dict[str, dict[str, list[str]]]) -> Iterator[str]:
    """Write modules with their names."""
    for header, kinds in blocks.items():
        yield header
        for kind, names in sorted(kinds.items()):
            yield f" {kind} {' '.join(names)}"


def list_own_names(loaded: dict[str, ModuleType | None], door: Door) -> dict[str, list[str]]:
    """By path, the names of a library's modules, but for what is of other packages."""

    def is_own(value: Any) -> bool:
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        return not isinstance(home, str) or home.partition(".")[0] in door.roots

    return {
        path: [name for name, value in list_names(module).items() if is_own(value)] if module else []
        for path, module in loaded.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tables.inventory", description=__doc__)
    parser.add_argument(
        "library", nargs="?", choices=DOORS, default="torch", help="the library that is asked"
    )
    parser.add_argument("--to", type=Path, help="write the list there")
    parser.add_argument("--names", type=Path, help="write all names of the library's modules there, as JSON")
    options = parser.parse_args()
    door = DOORS[options.library]
    loaded = load_modules(door)
    text = compose_inventory(loaded, door)
    (options.to or door.inventory_file).write_text(text, encoding="utf-8")
    if options.names:
        options.names.write_text(json.dumps(list_own_names(loaded, door)))
    print(f"{len(text.splitlines())} lines, {len(text)} characters")


if __name__ == "__main__":
    main()
