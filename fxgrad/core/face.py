"""Faces: packages that import nothing of their own.

CPython locks a module while it is imported, and `import package.part` locks the part before the package. So a package
that imports its parts would wait for one thread, which waits for the package, while another waits for the part. The
names of a face are loaded from its module `_surface` when the first of them is used; by then nothing is locked.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


class Face(ModuleType):
    """A package with the names of its module `_surface`, and with its parts.

    `_hidden` are the parts that have the name of a function: as an attribute it is the function.
    """

    _hidden: tuple[str, ...] = ()

    @staticmethod
    def of(package: str, hidden: tuple[str, ...] = ()) -> None:
        """Make a package a face."""
        module: Any = sys.modules[package]
        module.__class__ = Face
        module._hidden = hidden
        # A class that defines these would make every attribute three times as slow.
        module.__getattr__, module.__dir__ = partial(attribute, module), partial(directory, module)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._hidden and isinstance(value, ModuleType):
            return  # a part was imported
        super().__setattr__(name, value)


def attribute(face: Face, name: str) -> Any:
    """What a face has of this name, and has not had yet."""
    if name == "__all__":
        return names(load(face))
    if not name.startswith("__"):
        if name not in face._hidden and name in parts(face):
            return import_module(f"{face.__name__}.{name}")
        surface = load(face)
        if hasattr(surface, name):
            return getattr(surface, name)
    raise AttributeError(f"module {face.__name__!r} has no attribute {name!r}", name=name, obj=face)


def directory(face: Face) -> list[str]:
    """The names of a face."""
    load(face)
    return sorted({*vars(face), *parts(face)})


def parts(face: Face) -> set[str]:
    """The modules in a package."""
    return {part.name for part in iter_modules(face.__path__)}


def load(face: Face) -> ModuleType:
    """The surface of a face, which has its names from then on."""
    surface = import_module(f"{face.__name__}._surface")
    vars(face).update({name: vars(surface)[name] for name in names(surface) if name in vars(surface)})
    return surface


def names(surface: ModuleType) -> list[str]:
    """The public names of a module."""
    return getattr(surface, "__all__", None) or [name for name in vars(surface) if not name.startswith("_")]
