"""Modules under torch's names: `layout` finds their contents in this package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from .._core.absence import is_asked, make_absent
from .answers import answer
from .layout import ABSENT, HOMES, LACKING, LAYOUT

COMPAT = __name__.removesuffix(".door.modules")
ROOTS = {"torch": COMPAT, "functorch": f"{COMPAT}.functorch"}


class TorchModule(ModuleType):
    """A module with a path of torch's, such as `torch.optim.sgd`, and names of ours.

    It has what our module of the same path has, and of the names that torch has there those which are elsewhere here.
    Its parts are modules of the same kind, made when they are asked for; `_tree` holds all of them by their names.
    Where torch has a function and a module of one name, the attribute is the function, as there.
    """

    __all__: list[str]
    _tree: dict[str, Any]
    _own: ModuleType | None
    _absent: dict[str, type]

    def __init__(self, name: str, own: ModuleType | None, tree: dict[str, Any]):
        super().__init__(name, getattr(own, "__doc__", None))
        self.__spec__, self.__path__, self.__package__ = ModuleSpec(name, None, is_package=True), [], name
        if own is not None:
            self.__file__ = own.__file__
        self._tree, self._own, self._absent = tree, own, {}
        if name == "torch":
            self.__dict__["torch"] = self  # torch has imported itself
        names = {part: getattr(own, part) for part in public_names(own)}
        for part in LAYOUT.get(name, "").split():
            if part not in names:
                names |= find_elsewhere(name, part)
        self.__dict__.update({n: value for n, value in names.items() if not isinstance(value, ModuleType)})
        if tree is not NAMESPACES:
            for value in names.values():
                say_torch(value, name)
        self.__all__ = sorted(n for n in names if n in self.__dict__ and not n.startswith("_"))

    def __getattr__(self, name: str) -> Any:
        whole = f"{self.__name__}.{name}"
        if whole in LAYOUT or whole in ABSENT:
            found = open_module(whole, self._tree)
            if found is not None:
                return found
        special = name.startswith("__") and name != "__version__"
        value = None if special else getattr(self._own, name, None)
        if isinstance(value, ModuleType) and value.__name__.startswith(COMPAT):
            value = None  # a room of ours
        reason = find_reason(self.__name__, ABSENT)
        if value is None and reason is not None and not special:
            value = answer(whole)
            if value is None and not is_asked():
                return self._absent.setdefault(name, make_absent(whole, reason))
        if value is None:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}{explain(whole)}", name=name, obj=self
            )
        if self._tree is not NAMESPACES:
            say_torch(value, self.__name__)
        return self.__dict__.setdefault(name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            isinstance(value, TorchModule)
            and value is self._tree.get(f"{self.__name__}.{name}")
            and name in self.__dict__
        ):
            return  # a part was imported that has the name of a function
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of fxgrad.compat>"

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *parts_of(self.__name__)})


# What functions say of their module when the door is closed.
HOMES_OF_FUNCTIONS: dict[FunctionType, str] = {}


def say_torch(value: Any, name: str) -> None:
    """Have a function of ours say that it is of torch's module of the same path; where torch has none, of the module of
    this name. Programs choose libraries by that."""
    home = value.__module__ if type(value) is FunctionType else None
    if home is not None and f"{home}.".startswith(f"{COMPAT}."):
        HOMES_OF_FUNCTIONS[value] = home
        path = home.replace(COMPAT, "torch", 1)
        value.__module__ = path if path in LAYOUT else name


def say_homes() -> None:
    """Have functions say again where they are found while the door is closed."""
    while HOMES_OF_FUNCTIONS:
        function, function.__module__ = HOMES_OF_FUNCTIONS.popitem()


def parts_of(name: str) -> set[str]:
    """Return the names of the parts that torch's module `name` may have here."""
    start = f"{name}."
    return {p.removeprefix(start).partition(".")[0] for p in (*LAYOUT, *ABSENT) if p.startswith(start)}


def open_module(name: str, tree: dict[str, Any]) -> Any:
    """Return a module of torch's from a tree of them; it is added if it is missing.

    None if nothing of it is here.
    """
    absent = find_reason(name, ABSENT) is not None
    if name not in tree and (name in LAYOUT or absent):
        own = find_own(name)
        made = own if isinstance(own, SimpleNamespace) else TorchModule(name, own, tree)
        inside = (open_module(f"{name}.{part}", tree) for part in parts_of(name))
        found = any(part in vars(made) for part in LAYOUT.get(name, "").split())
        if own is not None or absent or found or any(part is not None for part in inside):
            tree.setdefault(name, made)
    return tree.get(name)


# The namespaces that programs reach as attributes of `fxgrad.compat`, which have no file.
NAMESPACES: dict[str, Any] = {}


def find_namespace(name: str) -> TorchModule:
    """Find the namespace of torch's that is an attribute of `fxgrad.compat` without being a module of it.

    Raises:
        AttributeError: there is none.
    """
    found = None if name.startswith("__") else open_module(f"torch.{name}", NAMESPACES)
    if found is None:
        raise AttributeError(
            f"module {COMPAT!r} has no attribute {name!r}", name=name, obj=sys.modules[COMPAT]
        )
    return found


def find_reason(name: str, reasons: dict[str, str]) -> str | None:
    """Return the reason for the absence of a path of torch's, given for the path itself or one above it."""
    while name and name not in reasons:
        name = name.rpartition(".")[0]
    return reasons.get(name)


def explain(name: str) -> str:
    """Say why a name of torch's is not there, as far as that is known."""
    reason = find_reason(name, ABSENT | LACKING) or "it does not have this"
    return f"\n  fxgrad.compat stands for torch here: {reason}"


def find_own(name: str) -> Any:
    """Find our module, or the object with switches, that has the path of one of torch's: None if there is none."""
    root, _, rest = name.partition(".")
    ours = f"{ROOTS[root]}.{rest}".rstrip(".")
    try:
        return import_module(ours)
    except ModuleNotFoundError as error:
        if error.name is None or not ours.startswith(error.name):
            raise
    package, _, last = name.rpartition(".")
    around = (
        import_module(f"{COMPAT}._surface") if package == "torch" else find_own(package) if package else None
    )
    switches = vars(around).get(last) if isinstance(around, ModuleType) else None
    return switches if isinstance(switches, SimpleNamespace) else None


def public_names(own: ModuleType | None) -> list[str]:
    """Return the names that a module of ours offers."""
    if own is None:
        return []
    return list(getattr(own, "__all__", ())) or [n for n in dir(own) if not n.startswith("_")]


def find_elsewhere(name: str, part: str) -> dict[str, Any]:
    """Find a name that torch has in the module `name` and that is elsewhere here: {name: what it stands for}, or {}.

    It is looked for in the packages around, from the inside, and what is private in their files as well, where a class
    may have the name without the underscore.
    """
    private = part.startswith("_")
    spellings = [part, part[1:]] if private and part[1:2].isupper() else [part]
    for place in places_of(name, private):
        values = (getattr(place, spelling, None) for spelling in spellings)
        value = next((v for v in values if v is not None and not isinstance(v, ModuleType)), None)
        if value is not None:
            return {part: value}
    return {}


def places_of(name: str, private: bool) -> Iterator[Any]:
    """The modules of ours that provide the names of torch's module `name`."""
    for home in HOMES.get(name, ()):
        yield import_module(f"{COMPAT}.{home}".rstrip("."))
    package = name.rpartition(".")[0]
    while "." in package:  # not in torch itself, where other functions have the same names
        own = find_own(package)
        if own is not None:
            yield own
            if private:
                yield from [
                    m for path, m in sorted(sys.modules.items()) if path.startswith(f"{own.__name__}.")
                ]
        package = package.rpartition(".")[0]
