"""Tiers: when a function is compiled to machine code.

The first call never waits for compilation. Compilation starts in the background when computing without it has cost as
much as compiling, and the code is used when that has cost twice as much. Costs are estimated, not measured: so machine
code takes over at the same call in every run of a program, and every run gives the same digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import engine


class Tier:
    """A function that `make` compiles when its use has cost a price in nanoseconds. If that fails, a warning says that
    `name` stays with NumPy."""

    __slots__ = ("failure", "made", "make", "name", "price", "spent", "used")

    def __init__(self, make: Callable[[], Any], price: float, name: str):
        self.make, self.price, self.name = make, price, name
        self.spent = 0.0
        self.made: Any = None
        self.used: Any = None
        self.failure: Exception | None = None

    def ask(self, cost: float) -> Any:
        """Return the compiled function for a call that takes NumPy about `cost` nanoseconds, or None to leave it to
        NumPy."""
        if self.used is not None or self.failure is not None or engine.mode() == "never":
            return self.used
        before = self.spent
        self.spent = before + cost
        if before >= 2 * self.price or engine.mode() == "always":
            engine.BACKGROUND.finish(self.work)
            self.used = self.made
            if self.failure is not None:
                warnings.warn(f"{self.name} stays with NumPy: {self.failure!r}", RuntimeWarning, stacklevel=2)
        elif before < self.price <= self.spent:
            engine.BACKGROUND.add(self.work)
        return self.used

    def work(self) -> None:
        """Compile the function, in one thread at a time."""
        with engine.LOCK:
            if self.made is None and self.failure is None:
                try:
                    self.made = self.make()
                except Exception as error:
                    self.failure = error
