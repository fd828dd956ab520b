"""The public modules of torch with their public names, as torch itself has them, in modules.txt: a line for each module
and kind of names.

    torch.optim.sgd class Optimizer SGD
    torch.optim.sgd function sgd

A name is public if it does not begin with an underscore. A module's names are those that `__all__` lists, and others
that are torch's: what a module imports from elsewhere for its own use is left out.
"""

from __future__ import annotations

import inspect
import logging
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

FILE = Path(__file__).with_name("modules.txt")
PROGRAMS = {"test", "tests", "examples"}  # names of packages that are no part of the library
# The modules that import a package which need not be there; all that is known of them is that there are such modules.
WITH_OTHERS = {"torch.utils.tensorboard", "torch.distributed.elastic.rendezvous.etcd_rendezvous_backend"}


def ask_for_modules() -> None:
    """Ask torch for its modules and their names, and keep the answers."""
    FILE.write_text(compose_table(), encoding="utf-8")
    kept_modules.cache_clear()


def compose_table() -> str:
    """Compose the table from the torch that is installed."""
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of modules that are deprecated
        logging.disable()  # and tells which packages are not there
        try:
            for name, module in sorted(public_modules(import_module("torch"))):
                kinds = names_by_kind(module)
                lines += [f"{name} {kind} {' '.join(sorted(kinds[kind]))}\n" for kind in sorted(kinds)]
                lines += [f"{name}\n"] * (not kinds)
        finally:
            logging.disable(logging.NOTSET)
    return "".join(lines)


def public_modules(
    package: ModuleType | None, name: str = "torch"
) -> Iterator[tuple[str, ModuleType | None]]:
    """A package and the public modules in it, by name; None for one of `WITH_OTHERS`."""
    yield name, package
    for info in iter_modules(getattr(package, "__path__", ()), f"{name}."):
        last = info.name.rpartition(".")[2]
        if not last.startswith("_") and last not in PROGRAMS:
            module = None if info.name in WITH_OTHERS else import_module(info.name)
            yield from public_modules(module, info.name)


def names_by_kind(module: ModuleType | None) -> dict[str, list[str]]:
    """The public names of a module, by kind."""
    found: dict[str, list[str]] = defaultdict(list)
    declared = set(getattr(module, "__all__", ()))
    for name in {*declared, *dir(module)} if module else ():
        value = getattr(module, name, None)
        if not name.startswith("_") and (name in declared or is_torchs(value)):
            found[kind_of(value)].append(name)
    return found


def is_torchs(value: Any) -> bool:
    """Whether a value is torch's rather than of a library that torch uses."""
    if isinstance(value, ModuleType):
        return f"{value.__name__}.".startswith("torch.")
    return f"{getattr(value, '__module__', None) or type(value).__module__}.".startswith("torch.")


def kind_of(value: Any) -> str:
    """The kind of a value: that which decides how a stand-in for it may be used."""
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return (
        "function"
        if inspect.isroutine(value) or (callable(value) and hasattr(value, "__name__"))
        else "constant"
    )


@cache
def kept_modules() -> dict[str, dict[str, list[str]]]:
    """The names of torch's modules by module and kind, as they were when it was asked."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        name, *rest = line.split()
        kinds = found.setdefault(name, {})
        if rest:
            kinds[rest[0]] = rest[1:]
    return found
