"""Imports of NumPy and SciPy by the modules of a program: an import hook that asks who imports."""

from __future__ import annotations

import builtins
import sysconfig
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...doors.finder import Opening
from .shadows import shadow_of

LIBRARY = str(Path(__file__).parent.parent.parent)
INSTALLED = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {LIBRARY}
FOLDERS = ("site-packages", "dist-packages")
OPEN: set[str] = set()  # the libraries whose shadows are given
ORIGINAL = builtins.__import__


@lru_cache(1024)
def is_of_program(file: str) -> bool:
    """Whether a file is the program's: in no folder of installed packages, of Python, or of this library."""
    path = Path(file).absolute()
    return not any(folder in path.parts for folder in FOLDERS) and not any(
        path.is_relative_to(p) for p in INSTALLED
    )


def asks_program(importer: Mapping[str, Any] | None) -> bool:
    """Whether the module with these globals belongs to the program: one without a file does if it is `__main__`."""
    if importer is None:
        return False
    file = importer.get("__file__")
    return importer.get("__name__") == "__main__" if file is None else is_of_program(file)


def import_for(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> Any:
    """Import as Python does, and give a shadow to modules of the program."""
    found = ORIGINAL(name, globals, locals, fromlist or (), level)
    root = name.partition(".")[0]
    if level or root not in OPEN or not asks_program(globals):
        return found
    return shadow_of(name if fromlist else root)


class ProgramDoor:
    """The door of a library that is itself installed: while it is open, modules of the program get its shadows.

    Args:
        library: "numpy" or "scipy".
    """

    def __init__(self, library: str):
        self.library = library

    def open(self) -> Opening:
        """Give shadows from here on; where it is open already, nothing happens."""
        if self.library in OPEN:
            return Opening(None)
        OPEN.add(self.library)
        builtins.__import__ = import_for
        return ProgramOpening(self)

    def close(self) -> None:
        """End this; modules that have a shadow keep it."""
        OPEN.discard(self.library)
        if not OPEN:
            builtins.__import__ = ORIGINAL


class ProgramOpening(Opening):
    """An open door of this kind."""

    def __init__(self, door: ProgramDoor):
        super().__init__(None)
        self.door = door

    def __exit__(self, *exc: object) -> None:
        self.door.close()


PROGRAM_DOORS = {name: ProgramDoor(name) for name in ("numpy", "scipy")}
