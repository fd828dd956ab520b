"""Lazily loading packages: their modules are imported when a name is first used.

CPython locks a module during its import, and `import package.part` locks the part before the package. If a package
imported its parts, one thread could hold the package and wait for a part, while another holds the part and waits for
the package. A lazy package therefore imports nothing itself. What it imports under `if TYPE_CHECKING:`, for type
checkers, is what it has: it is loaded on first use, when no lock is held. `from .module import name as name` gives a
name its home. `from .module import *` gives the package a part; other names are looked for in the parts, in their
order.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from itertools import accumulate
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from .advice import suggest


class Home(NamedTuple):
    """Where a name is: a module, relative to a package, and the name there. It may be that of a part of the module."""

    module: str
    name: str

    def load(self, package: str) -> Any:
        """Carry out the import in a package."""
        path = self.module.lstrip(".")
        dots = self.module[: len(self.module) - len(path)]
        found = None
        for part in accumulate(path.split("."), "{}.{}".format) if path else ():
            found = import_module(dots + part, package)  # a package before its parts
        if hasattr(found, self.name):
            return getattr(found, self.name)
        return import_module(f"{self.module}.{self.name}" if path else dots + self.name, package)


class Names(NamedTuple):
    """What a module imports from its own package: names with their homes, and the parts that it imports as a whole."""

    homes: dict[str, Home]
    parts: tuple[str, ...]


class Noted:
    """What an import statement gives where imports are noted instead of carried out."""

    __slots__ = ("__fxgrad_home__",)
    __all__ = ()  # for `import *`

    def __init__(self, module: str, name: str = ""):
        self.__fxgrad_home__ = Home(module, name)

    def __getattr__(self, name: str) -> Noted:
        return Noted(self.__fxgrad_home__.module, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Noted:
        return self


@cache
def noted_imports(name: str, code: CodeType) -> Names:
    """Return what a module of this name and code imports, for type checkers too.

    The code, which has no other effects, runs once more with an `__import__` that notes what it is asked for. In this
    run `TYPE_CHECKING` is true.
    """
    parts: list[str] = []

    def note(module: str, _: Any = None, __: Any = None, names: Any = (), level: int = 0) -> Noted:
        if level and names == ("*",):
            parts.append(module)
        return Noted("." * level + module)

    namespace: dict[str, Any] = {"__name__": name, "__builtins__": {**vars(builtins), "__import__": note}}
    exec(code, namespace)
    found = {key: value.__fxgrad_home__ for key, value in namespace.items() if type(value) is Noted}
    homes = {key: home for key, home in found.items() if home.module.startswith(".") and home.name}
    return Names(homes, tuple(parts))


# What a lazy package imports for its own use.
NOT_LISTED = frozenset({"Any", "LazyPackage", "ModuleType", "TYPE_CHECKING", "annotations", "import_module"})


class LazyPackage(ModuleType):
    """A package that has the names which it imports for type checkers, and its submodules.

    `_listed` are further names that it lists. `_homes` are modules in which further names are. `_shadowed` are the
    submodules that have the name of a function: as an attribute it is the function. `_find_otherwise` is asked for a
    name that is nowhere.
    """

    _code: CodeType
    _own: frozenset[str] = frozenset()
    _homes: Mapping[str, str] = {}
    _listed: tuple[str, ...] = ()
    _shadowed: tuple[str, ...] = ()
    _find_otherwise: Callable[[str], Any] | None = None

    @staticmethod
    def of(
        package: str,
        shadowed: tuple[str, ...] = (),
        homes: Mapping[str, str] | None = None,
        listed: tuple[str, ...] = (),
        find_otherwise: Callable[[str], Any] | None = None,
    ) -> None:
        """Make a package lazy. `homes` are modules with the names that are in each as one text: those of which the
        package imports everything for type checkers, but which are not to be searched one after another."""
        module: Any = sys.modules[package]
        module.__class__ = LazyPackage
        module._shadowed, module._listed, module._own = shadowed, listed, frozenset(module.__dict__)
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # documented in spite of its name
        module._code = frame.f_code  # of the package: not every loader tells it
        module._homes = {name: home for home, names in (homes or {}).items() for name in names.split()}
        module._find_otherwise = find_otherwise
        # A class that defines these would make every attribute three times as slow.
        module.__getattr__, module.__dir__ = module._load_attribute, module._list_names

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._shadowed and isinstance(value, ModuleType):
            return  # a part was imported
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:  # as part of a function that is pickled with what it refers to
        return import_module, (self.__name__,)

    @cache  # noqa: B019 (a package stays)
    def _names(self) -> Names:
        """Return the homes of the names of a package, and the parts in which others are looked for."""
        found = noted_imports(self.__name__, self._code)
        homes = {name: home for name, home in found.homes.items() if name not in self._own}
        homes |= {name: Home(f".{home}", name) for name, home in self._homes.items()}
        known = {home.partition(".")[0] for home in self._homes.values()}
        return Names(homes, tuple([part for part in found.parts if part not in known]))

    def _load_attribute(self, name: str) -> Any:
        """Load the attribute of this name, which the package has not had yet."""
        homes, parts = self._names()
        if name == "__all__":
            names = (name for part in parts for name in public_names(self._load_part(part)))
            return [*self._listed, *(home for home in homes if not home.startswith("_")), *names]
        if name in homes:
            return vars(self).setdefault(name, homes[name].load(self.__name__))
        if not name.startswith("__"):
            if name not in self._shadowed and has_submodule(self, name):
                return import_module(f"{self.__name__}.{name}")
            for part in parts:
                surface = self._load_part(part)
                if name in vars(self):
                    return vars(self)[name]
                if name.startswith("_") and name in vars(surface):  # which no list has
                    return vars(self).setdefault(name, vars(surface)[name])
                if "__getattr__" in vars(surface) and hasattr(surface, name):
                    return vars(self).setdefault(name, getattr(surface, name))
        if self._find_otherwise is not None:
            try:
                return self._find_otherwise(name)
            except AttributeError as error:
                if str(error) != f"module {self.__name__!r} has no attribute {name!r}":
                    raise
        raise missing_attribute(self.__name__, name)

    def _list_names(self) -> list[str]:
        """List the public names, with the submodules unless these are the families of the functions."""
        from pkgutil import iter_modules

        names = {name for name in vars(self) if name.startswith("__")} | {*self._load_attribute("__all__")}
        homes, parts = self._names()
        has_names_of_parts = any(home.module.strip(".") and home.module[1] != "." for home in homes.values())
        if parts == ("_surface",) or (has_names_of_parts and not self._homes):
            names |= {*vars(self), *(part.name for part in iter_modules(self.__path__))} - NOT_LISTED
        return sorted(name for name in names if name.startswith("__") or not name.startswith("_"))

    def _load_part(self, part: str) -> ModuleType:
        """Import a part of a package, and give the package its public names."""
        surface = import_module(f"{self.__name__}.{part}")
        vars(self).update(
            {name: vars(surface)[name] for name in public_names(surface) if name in vars(surface)}
        )
        return surface


def show_public_names(name: str) -> None:
    """Let a module that is no package list its public names only, in `__all__` too, and suggest one for a name that it
    has not. To be called at its end."""
    module: Any = sys.modules[name]
    names: dict[str, Any] = module.__dict__
    names.setdefault("__all__", public_names(module))
    own = {key for key in names if key.startswith("__")}
    names["__dir__"] = lambda: sorted({*own, *public_names(module)})
    names.setdefault("__getattr__", partial(find_nothing, name))


def find_nothing(module: str, name: str) -> Any:
    """Raise the error for a name that a module has not."""
    raise missing_attribute(module, name)


def missing_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module has not, with the nearest one that it has."""
    asked = "" if name.startswith("_") else suggest_attribute(module, name)
    error = AttributeError(f"module {module!r} has no attribute {name!r}{asked}")
    error.name = name  # without `obj`, among whose names Python would look once more
    return error


@cache
def suggest_attribute(module: str, name: str) -> str:
    """Return the suggestion for a name that a module has not: kept, since programs ask again and again."""
    return suggest(name, dir(sys.modules[module]))


def has_submodule(package: ModuleType, name: str) -> bool:
    """Whether there is a module of this name in a package."""
    return PathFinder.find_spec(f"{package.__name__}.{name}", package.__path__) is not None


def public_names(surface: ModuleType) -> list[str]:
    """The public names of a module."""
    return getattr(surface, "__all__", None) or [name for name in vars(surface) if not name.startswith("_")]
