"""The import hook of a door."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core.errors import LoadedError
from .modules import Door

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder


class DoorFinder:
    """Python's import system asks this finder first while it is in `sys.meta_path`. It knows the modules of one library
    and, for `importlib.metadata`, its distribution; the rest is left to others. It is the loader of what it finds as
    well."""

    def __init__(self, door: Door, distribution: Distribution | None = None) -> None:
        self.door, self.distribution = door, distribution
        self.tree: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Say that a module of the library's is here.

        Raises:
            ModuleNotFoundError: it is not, and no other such library is to be found instead.
        """
        if fullname.partition(".")[0] not in self.door.roots:
            return None
        if self.door.open_module(fullname, self.tree) is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}{self.door.explain(fullname)}", name=fullname
            )
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of this name in the place of the empty one that Python made."""
        sys.modules[module.__name__] = self.tree[module.__name__]

    def find_distributions(self, context: DistributionFinder.Context) -> list[Distribution]:
        """Find the distribution of the library, if its name is asked for."""
        own = self.distribution
        return [own] if own is not None and context.name in (None, self.door.library) else []


def loaded_modules(door: Door) -> list[str]:
    """Return the names of a library's modules that are loaded, ours or its own."""
    return [name for name in sys.modules if name.partition(".")[0] in door.roots]


def installed(door: Door) -> DoorFinder | None:
    """Return the finder by which a door is open at present, or None."""
    found = (f for f in sys.meta_path if isinstance(f, DoorFinder) and f.door is door)
    return next(found, None)


class Opening:
    """An open door: a context manager that closes it at its end, unless it was open before."""

    def __init__(self, finder: DoorFinder | None):
        self.finder = finder

    def __enter__(self) -> Opening:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.finder is not None and self.finder in sys.meta_path:
            close_door(self.finder.door)


def open_door(door: Door, distribution: Distribution | None = None) -> Opening:
    """Let the import of a library's modules give those of a door, for the whole process. Where it is open already,
    nothing happens.

    Raises:
        LoadedError: the library itself is loaded already.
    """
    if installed(door) is not None:
        return Opening(None)
    loaded = loaded_modules(door)
    if loaded:
        origin = getattr(sys.modules[loaded[0]], "__file__", None) or "without a file"
        package = door.install.partition(".install")[0]
        raise LoadedError(
            f"{package} cannot stand for {door.library}: {loaded[0]!r} ({origin}) is loaded already",
            hint=f"call {door.install} before anything imports {door.library}, "
            f"or run the program by `{door.command} script.py`",
        )
    finder = DoorFinder(door, distribution)
    sys.meta_path.insert(0, finder)
    door.is_open = True
    return Opening(finder)


def close_door(door: Door) -> None:
    """End what `open_door` has begun: modules that were imported keep theirs. Where it is closed, nothing happens."""
    finder = installed(door)
    if finder is None:
        return
    sys.meta_path.remove(finder)
    door.is_open = False
    door.disclaim()
    for name in loaded_modules(door):
        del sys.modules[name]
