"""Functions of machine code by name: `native/` announces them, and kernels over NumPy, which do not know it, ask.

Each takes the arguments of its kernel, and returns None where NumPy is to compute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def native_function(name: str) -> Callable[..., Any]:
    """Return the function of a name such as "pool.pick", whose module is loaded on first use."""
    from .native.announcement import (
        FUNCTIONS,  # with the first question
    )

    file, _, function = name.partition(".")
    if function not in FUNCTIONS[file].split():
        raise KeyError(name)
    return getattr(import_module(f"{__package__}.native.{file}"), function)


def share_calls(function: Callable[[int, int], Any], units: int, effort: float, **options: Any) -> None:
    """Call a function of (first, last) on pieces of units of work, which threads share: see `native.threads`."""
    native_function("threads.share_calls")(function, units, effort, **options)


def worker_count() -> int:
    """How many threads share calls."""
    return native_function("threads.worker_count")()
