"""The door of torch: the tables of `layout` and `answers`, and where torch has an object with switches for a module."""

from __future__ import annotations

import multiprocessing.connection  # noqa: F401 (torch loads it, and packages use it without an import)
import sys
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

from ...doors.modules import Door, DoorModule
from ..errors import NotSupportedError
from .answers import answer
from .layout import ABSENT, HOMES, LACKING, LAYOUT, UNLISTED

COMPAT = __name__.removesuffix(".door.modules")


class TorchDoor(Door):
    """The import hook that maps torch's module paths to this package."""

    roots = MappingProxyType({"torch": COMPAT, "functorch": f"{COMPAT}.functorch"})
    layout, homes, absent, lacking, unlisted = LAYOUT, HOMES, ABSENT, LACKING, UNLISTED
    classes = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})
    inventory_file = Path(__file__).with_name("inventory.txt")
    error = NotSupportedError
    install, command = "fxgrad.compat.install()", "python -m fxgrad.compat"

    def answer(self, name: str) -> Any:
        return answer(name)

    def find_own(self, name: str) -> Any:
        """Find our module, or the object with switches, that has the path of one of torch's: None if there is none."""
        own = super().find_own(name)
        if own is not None:
            return own
        package, _, last = name.rpartition(".")
        around = (
            import_module(f"{COMPAT}._surface")
            if package == "torch"
            else self.find_own(package)
            if package
            else None
        )
        switches = vars(around).get(last) if isinstance(around, ModuleType) else None
        return switches if isinstance(switches, SimpleNamespace) else None


TORCH = TorchDoor()


def find_namespace(name: str) -> DoorModule:
    """Find the namespace of torch's that is an attribute of `fxgrad.compat` without being a module of it.

    Raises:
        AttributeError: there is none.
    """
    found = None if name.startswith("__") else TORCH.open_module(f"torch.{name}", TORCH.namespaces)
    if found is None:
        raise AttributeError(
            f"module {COMPAT!r} has no attribute {name!r}", name=name, obj=sys.modules[COMPAT]
        )
    return found
