"""Modules under a library's names: the tables of a `Door` say where their contents are in this package."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .absence import is_asked, make_absent, make_absent_function
from .inventory import OUTSIDE, Entry, Inventory

UNKNOWN = "it does not have this"
VERSIONS = ("__version__", "__version_info__")


class Door:
    """What a library's module paths lead to.

    Attributes:
        roots: The library's top modules, and the modules of ours that stand for them; the first is the library itself.
        layout: Its modules that are here, each with the names that are elsewhere here; "*" are those that the inventory
            lists.
        homes: Modules of ours in which such names are, where these are not around the path.
        absent: The reasons for modules that are not here, by path: with all that is below, unless that is in `layout`.
        lacking: The reasons for names that modules here lack.
        unlisted: Absent modules of which the inventory lists neither parts nor names: any can be imported.
        inventory_file: The list of the library's modules and names that are not here.
        classes: Classes of ours that say they are the library's. Others keep their names, by which they are pickled.
        loads_late: Whether names of our modules are loaded when they are used, and not with the module.
        error: What the use of an absent name raises.
        install, command: How a program opens the door, and what opens it for a program, for messages.
    """

    roots: Mapping[str, str] = {}
    layout: Mapping[str, str] = {}
    homes: Mapping[str, list[str]] = {}
    absent: Mapping[str, str] = {}
    lacking: Mapping[str, str] = {}
    unlisted: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    loads_late = False
    inventory_file: Path
    error: type[Exception] = NotImplementedError
    install: str
    command: str

    def __init__(self) -> None:
        self.library, self.here = next(iter(self.roots.items()))
        self.is_open = False
        # What functions and classes say of their module when the door is closed.
        self.homes_of_claimed: dict[Any, str] = {}
        # The namespaces that programs reach as attributes of our package, which have no file.
        self.namespaces: dict[str, Any] = {}

    @cached_property
    def inventory(self) -> Inventory:
        """The library's modules and names that are not here."""
        return Inventory(self.inventory_file.read_text(encoding="utf-8"))

    def answer(self, name: str) -> Any:
        """Return the object for a name in an absent module: None if nothing is."""
        return None

    def find_own(self, name: str) -> Any:
        """Find our module that has the path of one of the library's: None if there is none."""
        root, _, rest = name.partition(".")
        ours = f"{self.roots[root]}.{rest}".rstrip(".")
        try:
            return import_module(ours)
        except ModuleNotFoundError as error:
            if error.name is None or not ours.startswith(error.name):
                raise
        return None

    def is_known(self, name: str) -> bool:
        """Whether a path is one of the library's, as far as that is known."""
        if name in self.layout or name in self.absent or name in self.inventory:
            return True
        return nearest(name, self.unlisted) is not None

    def open_module(self, name: str, tree: dict[str, Any]) -> Any:
        """Return a module of the library's from a tree of them; it is added if it is missing.

        None if nothing of it is here, and nothing is known of it.
        """
        if name not in tree and self.is_known(name):
            own = self.find_own(name)
            made = DoorModule(name, own, tree, self)
            inside = (self.open_module(f"{name}.{part}", tree) for part in self.parts_of(name))
            found = any(part in vars(made) for part in self.names_elsewhere(name))
            listed = name not in self.layout or name in self.inventory
            if own is not None or listed or found or any(part is not None for part in inside):
                tree.setdefault(name, made)
        return tree.get(name)

    def names_elsewhere(self, name: str) -> list[str]:
        """Return the names of a module of the library's that are elsewhere here."""
        names = self.layout.get(name, "")
        return self.inventory.names_here(name) if names == "*" else names.split()

    def parts_of(self, name: str) -> set[str]:
        """Return the names of the parts that a module of the library's has here."""
        start = f"{name}."
        known = (*self.layout, *self.absent)
        return {path.removeprefix(start).partition(".")[0] for path in known if path.startswith(start)}

    def explain(self, name: str) -> str:
        """Say why a name is not there, as far as that is known."""
        return f"\n  {self.here} stands for {self.library} here: {self.reason_for(name)}"

    def reason_for(self, name: str) -> str:
        """Return the reason for the absence of a name, given for the path itself or one above it."""
        reasons = {**self.absent, **self.lacking}
        path = nearest(name, reasons)
        return UNKNOWN if path is None else reasons[path]

    def claim(self, value: Any, name: str) -> None:
        """Have a function of ours, or one of the `classes`, say that it is of the library's module of the same path;
        where there is none, of the module of this name, while the door is open. Programs choose libraries by that."""
        if not self.is_open:
            return
        is_claimed = type(value) is FunctionType or (
            isinstance(value, type) and f"{name}.{value.__name__}" in self.classes
        )
        home = value.__module__ if is_claimed else None
        if home is not None and f"{home}.".startswith(f"{self.here}."):
            self.homes_of_claimed[value] = home
            path = home.replace(self.here, self.library, 1)
            value.__module__ = path if path in self.layout else name

    def disclaim(self) -> None:
        """Have functions and classes say again where they are found while the door is closed."""
        while self.homes_of_claimed:
            value, value.__module__ = self.homes_of_claimed.popitem()

    def find_elsewhere(self, name: str, part: str) -> dict[str, Any]:
        """Find a name that the library has in a module and that is elsewhere here: {name: what it stands for}, or {}.

        It is looked for in the packages around, from the inside, and what is private in their files as well, where a
        class may have the name without the underscore.
        """
        private = part.startswith("_")
        spellings = [part, part[1:]] if private and part[1:2].isupper() else [part]
        for place in self.places_of(name, private):
            values = (getattr(place, spelling, None) for spelling in spellings)
            value = next((v for v in values if v is not None and not isinstance(v, ModuleType)), None)
            if value is not None:
                return {part: value}
        return {}

    def places_of(self, name: str, private: bool) -> Iterator[Any]:
        """The modules of ours that provide the names of the library's module `name`."""
        for home in self.homes.get(name, ()):
            yield import_module(f"{self.here}.{home}".rstrip("."))
        package = name.rpartition(".")[0]
        while "." in package:  # not in the library itself, where other functions have the same names
            own = self.find_own(package)
            if own is not None:
                yield own
                if private:
                    yield from [
                        m for path, m in sorted(sys.modules.items()) if path.startswith(f"{own.__name__}.")
                    ]
            package = package.rpartition(".")[0]


class DoorModule(ModuleType):
    """A module with a path of a library's, such as `torch.optim.sgd`, and names of ours.

    It has what our module of the same path has, and of the names that the library has there those which are elsewhere
    here. Others that the library has are absent: classes and functions that say so when they are used. Its parts are
    modules of the same kind, made when they are asked for; `_tree` holds all of them by their names. Where the library
    has a function and a module of one name, the attribute is the function, as there. Ours may be an object with
    switches, whose attributes are read and set then.
    """

    __all__: list[str]
    _tree: dict[str, Any]
    _own: Any
    _door: Door
    _stand_ins: dict[str, Any]

    def __init__(self, name: str, own: Any, tree: dict[str, Any], door: Door):
        super().__init__(name, getattr(own, "__doc__", None))
        # A method of the class would make every attribute slower, also those that are there.
        self.__dict__.update(__getattr__=self._look_up)
        self.__dict__.update(_tree=tree, _own=own, _door=door, _stand_ins={}, __all__=[])
        self.__spec__, self.__path__, self.__package__ = ModuleSpec(name, None, is_package=True), [], name
        if own is not None and not isinstance(own, ModuleType):
            return
        if own is not None:
            self.__file__ = own.__file__
        if name == door.library:
            self.__dict__[name] = self  # it has imported itself
        if door.loads_late:
            self.__all__ = public_names(own)
            return
        names = {part: getattr(own, part) for part in public_names(own)}
        for part in door.names_elsewhere(name):
            if part not in names:
                names |= door.find_elsewhere(name, part)
        self.__dict__.update({n: value for n, value in names.items() if not isinstance(value, ModuleType)})
        for value in names.values():
            door.claim(value, name)
        self.__all__ = sorted(n for n in names if n in self.__dict__ and not n.startswith("_"))

    def _look_up(self, name: str) -> Any:
        """Find an attribute that is not there yet."""
        whole = f"{self.__name__}.{name}"
        special = name.startswith("__") and name not in VERSIONS and whole not in self._door.layout
        if not special:
            if self._has_switch(name):
                return getattr(self._own, name)
            if getattr(self._own, name, self) is None:  # as of `newaxis`
                return None
            value = self._find(name)
            if value is not None:
                return value
            if not is_asked():
                entry = self._entry(name)
                if entry is not None:
                    return self._stand_in(name, entry)
                value = self._load(self._door.inventory.entries(OUTSIDE).get(name))
                if value is not None and self.__name__ not in self._door.roots:
                    return value
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}{self._door.explain(whole)}",
            name=name,
            obj=self,
        )

    def _has_switch(self, name: str) -> bool:
        """Whether a name is an attribute of the object that is here for the module."""
        return self._own is not None and not isinstance(self._own, ModuleType) and hasattr(self._own, name)

    def _find(self, name: str) -> Any:
        """Find what is here under a name: None if nothing is."""
        whole, door = f"{self.__name__}.{name}", self._door
        if whole in door.layout or whole in door.absent or whole in door.inventory:
            found = door.open_module(whole, self._tree)
            if found is not None:
                return self.__dict__.setdefault(name, found)
        value = getattr(self._own, name, None)
        if isinstance(value, ModuleType) and value.__name__.startswith(door.here):
            value = None  # a room of ours
        if value is None:
            value = door.answer(whole)
        if value is None:
            return self._load(door.inventory.entries(self.__name__).get(name))
        door.claim(value, self.__name__)
        return self.__dict__.setdefault(name, value)

    def _entry(self, name: str) -> Entry | None:
        """Return what the library has under a name that is not here: None if it has nothing."""
        door = self._door
        listed = door.inventory.entries(self.__name__).get(name)
        any_name = (
            self.__name__ in door.inventory.open
            or nearest(self.__name__, door.unlisted) is not None
            or (name.startswith("_") and nearest(self.__name__, door.absent) is not None)
        )
        return Entry("other") if listed is None and any_name else listed

    def _load(self, entry: Entry | None) -> Any:
        """Load what the library's module has taken from another one: None if that is not here."""
        if entry is None or not entry.path:
            return None
        if entry.path.partition(".")[0] not in self._door.roots:
            return load(entry)
        if entry.kind == "module":
            return self._door.open_module(entry.path, self._tree)
        home, _, last = entry.path.rpartition(".")
        module = self._door.open_module(home, self._tree)
        if module is None or module is self:
            return None
        if last in vars(module):
            return vars(module)[last]
        return module._find(last) if isinstance(module, DoorModule) else getattr(module, last, None)

    def _stand_in(self, name: str, entry: Entry) -> Any:
        """Return what stands for an absent name: the same for all modules that the library has it in."""
        if name not in self._stand_ins:
            home, _, last = entry.path.rpartition(".")
            module = self._door.open_module(home, self._tree) if entry.kind == "alias" else None
            whole, door = f"{self.__name__}.{name}", self._door
            if isinstance(module, DoorModule) and module is not self:
                made = module._stand_in(last, module._entry(last) or Entry("other"))
            elif entry.kind == "function":
                made = make_absent_function(whole, door.reason_for(whole), door.error)
            else:
                made = make_absent(whole, door.reason_for(whole), door.error, entry.kind == "exception")
            self._stand_ins[name] = made
        return self._stand_ins[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            isinstance(value, DoorModule)
            and value is self._tree.get(f"{self.__name__}.{name}")
            and name in self.__dict__
        ):
            return  # a part was imported that has the name of a function
        if not name.startswith("__") and self._has_switch(name):
            setattr(self._own, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of {self._door.here}>"

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._door.parts_of(self.__name__), *public_names(self._own)})


def nearest(name: str, paths: Mapping[str, Any] | frozenset[str]) -> str | None:
    """Return the path among some that a name is, or is below: the longest one."""
    while name and name not in paths:
        name = name.rpartition(".")[0]
    return name or None


def public_names(own: ModuleType | None) -> list[str]:
    """Return the names that a module of ours offers."""
    if own is None:
        return []
    return list(getattr(own, "__all__", ())) or [n for n in dir(own) if not n.startswith("_")]


def load(entry: Entry) -> Any:
    """Load what a module of the library's has taken from another library: None if that is not installed."""
    module, _, name = entry.path.rpartition(".")
    try:
        return (
            import_module(entry.path)
            if entry.kind == "module"
            else getattr(import_module(module), name, None)
        )
    except ImportError:
        return None
