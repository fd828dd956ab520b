"""The doors of JAX and autograd: modules under their paths, from the tables of names and from this library's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from ...core.errors import UnsupportedError
from ...doors.modules import VERSIONS, Door
from . import autograd_layout, jax_layout

HERE = __name__.removesuffix(".door.modules")
LIBRARY = HERE.partition(".")[0]


CALLED = ("vectorize",)  # classes whose instances are functions


def find_source(path: str) -> Any:
    """Return a module of ours, or an object of one that stands for a module, such as a distribution."""
    package, _, name = path.rpartition(".")
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        return getattr(import_module(package), name)


class Mirror(ModuleType):
    """A module with what the files of ours for a path have, and with names of this library's own modules, each seen as
    the table says."""

    def __init__(self, name: str, row: str, lifts: Mapping[str, Callable[[Any], Any]]):
        super().__init__(name)
        self.__dict__["__all__"], self._homes = [], {}
        for part in row.split(";"):
            how, path, *names = part.split()
            package = {"own": f"{HERE}.", "outside": ""}.get(how, f"{LIBRARY}.")
            source = find_source(f"{package}{path}".rstrip("."))
            self.__doc__ = self.__doc__ or source.__doc__
            self.__dict__.setdefault("__file__", getattr(source, "__file__", None))
            for given in names or getattr(source, "__all__", None) or dir(source):
                name, _, there = given.partition("=")
                if not name.startswith("_") or names or name in VERSIONS:
                    self._homes.setdefault(name, (source, there or name, how, lifts.get(how)))
        self.__all__ = [*self._homes]

    def __getattr__(self, name: str) -> Any:
        homes = self.__dict__.get("_homes", {})
        if name not in homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        source, there, how, lift = homes[name]
        value = getattr(source, there)
        if lift is not None and callable(value) and (name in CALLED or not isinstance(value, type)):
            value = (
                lift(f"{source.__name__.rpartition('.')[2]}.{name}", value)
                if how == "strict"
                else lift(value)
            )
        self.__dict__[name] = value
        return value


class PeerDoor(Door):
    """What the module paths of a library lead to: `mirrors` says for each of what its names are made."""

    mirrors: Mapping[str, str]
    loads_late = True
    error = UnsupportedError
    command = f"python -m {LIBRARY}"

    def __init__(self, tables: ModuleType) -> None:
        self.roots = MappingProxyType({tables.LIBRARY: f"{HERE}.{tables.LIBRARY}"})
        self.install = f'{LIBRARY}.install("{tables.LIBRARY}")'
        self.mirrors, self.layout = tables.MIRRORS, dict.fromkeys(tables.MIRRORS, "") | tables.ELSEWHERE
        self.absent, self.lacking, self.unlisted = tables.ABSENT, tables.LACKING, tables.UNLISTED
        self.load_lifts = tables.load_lifts
        self.inventory_file = Path(__file__).with_name(f"{tables.LIBRARY}_inventory.txt")
        self.made: dict[str, Mirror] = {}
        super().__init__()

    def find_own(self, name: str) -> Any:
        """Find the module of ours for a path of the library's: None if the table has none."""
        if name not in self.mirrors:
            return None
        if name not in self.made:
            self.made[name] = Mirror(
                f"{self.here}{name.removeprefix(self.library)}", self.mirrors[name], self.load_lifts()
            )
        return self.made[name]


DOORS = {tables.LIBRARY: PeerDoor(tables) for tables in (jax_layout, autograd_layout)}
