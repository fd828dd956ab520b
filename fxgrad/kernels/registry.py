"""Functions of machine code by name: `native/` announces them, and kernels over NumPy, which do not know it, ask.

Each takes what its kernel has, and returns None where NumPy is to compute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

_homes: dict[str, str] = {}  # name → the module that has it


def announce(package: str, **functions: str) -> None:
    """Announce functions of the files of a package: `pool="pick deposit"` is `pool.pick` and `pool.deposit`."""
    _homes.update(
        (f"{file}.{name}", f"{package}.{file}") for file in functions for name in functions[file].split()
    )


@cache
def native_function(name: str) -> Callable[..., Any]:
    """Return the function of this name, whose file is loaded when it is first asked for."""
    return getattr(import_module(_homes[name]), name.rpartition(".")[2])
