"""The list of a library's modules and names that are not here: a text, which a program has written beside the library.

    torch.quantization.observer
     c ObserverBase
     e ObserverError
     h Observer
     f get_observer_state_dict
     o default_observer
     torch.ao.quantization MinMaxObserver
     m torch.ao.quantization fx=torch.ao.quantization.fx

A line with a path begins a module. The lines below are its names by kind: classes, exceptions, functions, other values;
names that are here after all, in other modules; names that it has taken from another module, after the path of that;
and modules that it has imported, by their paths, with the name if that is not the last part. In a module with `*`
behind its path any name may be. The module `*` lists what modules have taken from other libraries: any may have it.
"""

from __future__ import annotations

from typing import NamedTuple

KINDS = {"c": "class", "e": "exception", "f": "function", "h": "here", "o": "other"}
OUTSIDE = "*"


class Entry(NamedTuple):
    """What a library has under a name: a kind of `KINDS`, or "alias" with the path of what it stands for, or "module"
    with its path."""

    kind: str
    path: str = ""


class Inventory:
    """The modules of a library, and the names in each, read from a text when they are first asked for."""

    def __init__(self, text: str):
        self.blocks: dict[str, list[str]] = {}
        self.open: set[str] = set()  # modules in which any name may be
        block: list[str] = []
        for line in text.splitlines():
            if line.startswith(" "):
                block.append(line[1:])
            elif line:
                path = line.removesuffix(" *")
                block = self.blocks.setdefault(path, [])
                if path != line:
                    self.open.add(path)
        self.read: dict[str, dict[str, Entry]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self.blocks

    def entries(self, path: str) -> dict[str, Entry]:
        """Return what a module has, by name.

        >>> from fxgrad.doors.inventory import Inventory
        >>> Inventory("torch.optim.sgd\\n c SGD\\n torch.optim.optimizer Optimizer").entries("torch.optim.sgd")["SGD"]
        Entry(kind='class', path='')
        """
        if path not in self.read:
            self.read[path] = dict(pair for line in self.blocks.get(path, ()) for pair in read_line(line))
        return self.read[path]

    def names_here(self, path: str) -> list[str]:
        """Return the names of a module that are here, in other modules."""
        return [name for name, entry in self.entries(path).items() if entry.kind == "here"]


def read_line(line: str) -> list[tuple[str, Entry]]:
    """Read the names of one kind."""
    kind, *names = line.split()
    if kind == "m":
        pairs = [
            (name, path) if path else (name.rpartition(".")[2], name)
            for name, _, path in (word.partition("=") for word in names)
        ]
        return [(name, Entry("module", path)) for name, path in pairs]
    if kind in KINDS:
        return [(name, Entry(KINDS[kind])) for name in names]
    return [(name, Entry("alias", f"{kind}.{name}")) for name in names]
