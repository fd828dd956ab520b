"""The namespaces of torch, and the registration of functions in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

from .entrance import make_entrance, public_place, try_first
from .entry import is_entry_point
from .late_text import complete_late
from .view_plan import remember_views


class Space(dict[str, Any]):
    """The functions of a namespace by name. Families that few programs use are loaded when one of their names is asked
    for; whoever lists the names loads all that belong to the namespace. `rare` has the modules of these by name."""

    def __init__(self) -> None:
        self.rare: dict[str, str] = {}

    def __missing__(self, name: str) -> Any:
        import_module(self.rare[name])  # a KeyError for what is nowhere
        return dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.rare

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def load(self) -> Space:
        """Load all families of this namespace, and return it."""
        for module in dict.fromkeys(self.rare.values()):
            import_module(module)
        return self

    def loaded(self) -> dict[str, Any]:
        """Return what is there without loading more."""
        return {name: dict.__getitem__(self, name) for name in super().__iter__()}

    def __iter__(self) -> Iterator[str]:
        return super(Space, self.load()).__iter__()

    def __len__(self) -> int:
        return super(Space, self.load()).__len__()

    def keys(self) -> Any:
        return super(Space, self.load()).keys()

    def values(self) -> Any:
        return super(Space, self.load()).values()

    def items(self) -> Any:
        return super(Space, self.load()).items()


# What the namespaces have: "function" is `torch.` itself, "method" the Tensor, others as "linalg", "nn.functional".
SPACES: dict[str, Space] = {"function": Space(), "method": Space()}


def announce_families(table: dict[str, dict[str, str]], package: str) -> None:
    """Let families of a package be loaded on first use: the names of each by namespace, in a text."""
    for family, spaces in table.items():
        for space, names in spaces.items():
            SPACES.setdefault(space, Space()).rare |= dict.fromkeys(names.split(), f"{package}.{family}")


def load_families() -> None:
    """Declare every operation, for code that lists them all."""
    for space in SPACES.values():
        space.load()


def expose(
    spaces: str = "function",
    name: str | None = None,
    views: bool = False,
    direct: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """Put a function on Tensors into namespaces, as an entry point of the library. `views`: what it returns may be a
    view of its first operand in one step (see `view_plan`). `direct` is tried first, if there is one, and returns
    None if there is more to decide."""

    def put(function) -> Any:
        entrance, known = function, name or function.__name__
        if type(function) is FunctionType and not is_entry_point(function):
            hooks = [] if direct is None else [try_first(direct)]
            hooks += [remember_views()] * views
            entrance = make_entrance(function, known, public_place(spaces.split(), known), *hooks)
            if known == function.__name__ or not hasattr(function, "exposed"):
                function.exposed = entrance  # type: ignore[attr-defined]
        if type(entrance) in (FunctionType, property):
            complete_late(entrance)
        for space in spaces.split():
            SPACES.setdefault(space, Space())[known] = entrance
        return function

    return put
