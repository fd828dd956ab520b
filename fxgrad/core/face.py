"""Lazily loading packages: their modules are imported when a name is first used.

CPython locks a module during its import, and `import package.part` locks the part before the package. If a package
imported its parts, one thread could hold the package and wait for a part, while another holds the part and waits for
the package. A lazy package therefore imports nothing itself. Its names are loaded on first use, when no lock is held:
from the module given as the home of a name, or else from the first of its parts, usually a module `_surface`, that
has the name.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class LazyPackage(ModuleType):
    """A package that has the names of its parts, and its submodules.

    `_parts` are the modules whose public names it has, in the order in which they are looked through, `_homes` says of
    further names in which module each of them is, and `_listed` are names that it has beside them. `_shadowed` are the
    submodules that have the name of a function: as an attribute it is the function. `_find_otherwise` is asked for a
    name that is nowhere.
    """

    _parts: tuple[str, ...] = ()
    _homes: Mapping[str, str] = {}
    _listed: tuple[str, ...] = ()
    _shadowed: tuple[str, ...] = ()
    _find_otherwise: Callable[[str], Any] | None = None

    @staticmethod
    def of(
        package: str,
        shadowed: tuple[str, ...] = (),
        parts: tuple[str, ...] = ("_surface",),
        homes: Mapping[str, str] | None = None,
        listed: tuple[str, ...] = (),
        find_otherwise: Callable[[str], Any] | None = None,
    ) -> None:
        """Make a package lazy; `homes` are modules, with the names that are there as one text."""
        module: Any = sys.modules[package]
        module.__class__ = LazyPackage
        module._shadowed, module._parts, module._listed = shadowed, parts, listed
        module._homes = {name: home for home, names in (homes or {}).items() for name in names.split()}
        module._find_otherwise = find_otherwise
        # A class that defines these would make every attribute three times as slow.
        module.__getattr__, module.__dir__ = partial(load_attribute, module), partial(list_names, module)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._shadowed and isinstance(value, ModuleType):
            return  # a part was imported
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:  # as part of a function that is pickled with what it refers to
        return import_module, (self.__name__,)


def load_attribute(package: LazyPackage, name: str) -> Any:
    """Load the attribute of this name, which the package has not had yet."""
    if name == "__all__":
        names = (name for part in package._parts for name in public_names(load(package, part)))
        return [*package._listed, *package._homes, *names]
    if name in package._homes:
        home = import_module(f"{package.__name__}.{package._homes[name]}")
        return vars(package).setdefault(name, getattr(home, name))
    if not name.startswith("__"):
        if name not in package._shadowed and has_submodule(package, name):
            return import_module(f"{package.__name__}.{name}")
        for part in package._parts:
            surface = load(package, part)
            if name in vars(package):
                return vars(package)[name]
            if name.startswith("_") and name in vars(surface):  # which no list has
                return vars(package).setdefault(name, vars(surface)[name])
            if "__getattr__" in vars(surface) and hasattr(surface, name):
                return getattr(surface, name)
    if package._find_otherwise is not None:
        return package._find_otherwise(name)
    raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)


def list_names(package: LazyPackage) -> list[str]:
    """List the public names of a lazy package, with its submodules unless these are the families of its functions."""
    from pkgutil import iter_modules

    names = {name for name in vars(package) if name.startswith("__")} | {*load_attribute(package, "__all__")}
    if package._homes or package._parts == ("_surface",):
        names |= {*vars(package), *(part.name for part in iter_modules(package.__path__))}
    return sorted(name for name in names if name.startswith("__") or not name.startswith("_"))


def has_submodule(package: LazyPackage, name: str) -> bool:
    """Whether there is a module of this name in a package."""
    return PathFinder.find_spec(f"{package.__name__}.{name}", package.__path__) is not None


def load(package: LazyPackage, part: str) -> ModuleType:
    """Import a part of a package, and give the package its public names."""
    surface = import_module(f"{package.__name__}.{part}")
    vars(package).update(
        {name: vars(surface)[name] for name in public_names(surface) if name in vars(surface)}
    )
    return surface


def public_names(surface: ModuleType) -> list[str]:
    """The public names of a module."""
    return getattr(surface, "__all__", None) or [name for name in vars(surface) if not name.startswith("_")]
