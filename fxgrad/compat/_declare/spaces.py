"""The namespaces of torch, and the registration of functions in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from ...extend import source_info
from .entrance import make_entrance, public_place, with_numpy_names
from .entry import is_entry_point
from .late_text import complete_late
from .view_plan import with_known_views


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
        return self[name] if name in self else default  # noqa: SIM401  this is that method

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
    """Have families of a package loaded when they are asked for: the names of each by namespace, in a text."""
    for family, spaces in table.items():
        for space, names in spaces.items():
            SPACES.setdefault(space, Space()).rare |= dict.fromkeys(names.split(), f"{package}.{family}")


def load_families() -> None:
    """Declare every operation, as who lists them needs it."""
    for space in SPACES.values():
        space.load()


def expose(
    spaces: str = "function",
    name: str | None = None,
    views: bool = False,
    direct: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """Put a function on Tensors into namespaces, as an entry point of the library. `views`: what it returns may be a
    view of its first operand in one step (see `view_plan`). `direct` is tried first, where there is one, and returns
    None where there is more to decide."""

    def put(function) -> Any:
        entrance = function
        if type(function) is FunctionType and not is_entry_point(function):
            code = function.__code__
            parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            entered = (with_numpy_names if "dim" in parameters else make_entrance)(function)
            entrance = with_known_views(entered) if views else entered
            entrance = entrance if direct is None else with_direct(direct, entrance)
            entered.exposed = entrance
            if name in (None, function.__name__) or not hasattr(function, "exposed"):
                function.exposed = entrance  # type: ignore[attr-defined]
            entrance.__name__ = name or function.__name__
            entrance.__module__, entrance.__qualname__ = public_place(spaces.split(), entrance.__name__)
        if type(entrance) in (FunctionType, property):
            complete_late(entrance)
        for space in spaces.split():
            SPACES.setdefault(space, Space())[name or function.__name__] = entrance
        return function

    return put


def with_direct(direct: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that tries `direct` first, which returns None where there is more to decide."""

    @wraps(function)
    def call_either(*arguments, **options) -> Any:
        try:
            result = direct(*arguments, **options)
            return function(*arguments, **options) if result is None else result
        except BaseException as error:
            source_info.hide_frames(error)  # that of this function
            raise

    return call_either
