"""Lazy packages, which import nothing of their own.

CPython locks a module while it is imported, and `import package.part` locks the part before the package. So a package
that imports its parts would wait for one thread, which waits for the package, while another waits for the part. The
names of a lazy package are loaded from its module `_surface` when the first of them is used; by then nothing is locked.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package that has the names of its module `_surface`, and its submodules.

    `_shadowed` are the submodules that have the name of a function: as an attribute it is the function. `_submodules`
    are the names of all, once they were looked for.
    """

    _shadowed: tuple[str, ...] = ()
    _submodules: frozenset[str]

    @staticmethod
    def of(package: str, shadowed: tuple[str, ...] = ()) -> None:
        """Make a package lazy."""
        module: Any = sys.modules[package]
        module.__class__ = LazyPackage
        module._shadowed = shadowed
        # A class that defines these would make every attribute three times as slow.
        module.__getattr__, module.__dir__ = partial(load_attribute, module), partial(list_names, module)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._shadowed and isinstance(value, ModuleType):
            return  # a part was imported
        super().__setattr__(name, value)


def load_attribute(package: LazyPackage, name: str) -> Any:
    """Load the attribute of this name, which the package has not had yet."""
    if name == "__all__":
        return public_names(load_surface(package))
    if not name.startswith("__"):
        if name not in package._shadowed and name in submodules(package):
            return import_module(f"{package.__name__}.{name}")
        surface = load_surface(package)
        if name in vars(surface):  # with an underscore, which nobody lists
            return vars(package).setdefault(name, vars(surface)[name])
        if hasattr(surface, name):
            return getattr(surface, name)
    raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)


def list_names(package: LazyPackage) -> list[str]:
    """List the names of a lazy package."""
    load_surface(package)
    return sorted({*vars(package), *submodules(package)})


def submodules(package: LazyPackage) -> frozenset[str]:
    """Return the names of the modules in a package, whose folder is read once."""
    found = vars(package).get("_submodules")
    if found is None:
        found = package._submodules = frozenset(part.name for part in iter_modules(package.__path__))
    return found


def load_surface(package: LazyPackage) -> ModuleType:
    """Import the module `_surface` of a package, and give the package its names."""
    surface = import_module(f"{package.__name__}._surface")
    vars(package).update(
        {name: vars(surface)[name] for name in public_names(surface) if name in vars(surface)}
    )
    return surface


def public_names(surface: ModuleType) -> list[str]:
    """The public names of a module."""
    return getattr(surface, "__all__", None) or [name for name in vars(surface) if not name.startswith("_")]
