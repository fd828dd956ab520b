"""Draws without a key: from NumPy's global generator, as SciPy's, and outside of transforms only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import random as fxrandom
from ...extend import CURRENT, EVAL, StructureError
from ...numpy.composite import is_beyond_numpy
from ..reference import library


def check_that_all_is_plain(
    operation: str, arguments: Sequence[Any], parameter: str = "random_state"
) -> None:
    """Raise unless NumPy's generator can serve: a transform would take its numbers for constants."""
    if CURRENT.get().interpreter is not EVAL.interpreter or any(map(is_beyond_numpy, arguments)):
        raise StructureError(
            f"{operation} draws random numbers, which need a key", hint=f"{parameter}=fx.random.key(0)"
        )


def scipy_law(law: Any) -> Callable[..., Any] | None:
    """SciPy's distribution of the same name, for one of this package; None for one of the user's own."""
    own = type(law).__module__.rpartition(".")[0] == __package__
    return getattr(library("stats", f"{law.name}.rvs"), law.name, None) if own else None


def random_key() -> Any:
    """Return a key that NumPy's global generator draws."""
    return fxrandom.key(int(np.random.randint(0, 2**63, dtype=np.uint64)))


__all__ = ["check_that_all_is_plain", "random_key", "scipy_law"]
