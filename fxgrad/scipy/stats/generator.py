"""Draws without a key: from NumPy's generators, as SciPy's, and outside of transforms only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ... import random as fxrandom
from ...extend import CURRENT, EVAL, StructureError
from ...numpy.composite import is_beyond_numpy
from ..reference import library


def is_of_numpy(random_state: Any) -> bool:
    """Whether a `random_state` is of those that SciPy takes, and no key: None for NumPy's global generator, a seed, a
    generator."""
    kinds = (int, np.signedinteger, np.random.Generator, np.random.RandomState)
    return random_state is None or isinstance(random_state, kinds)


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


def random_key(random_state: Any = None) -> Any:
    """Return a key: that of a seed, or one that a generator of NumPy's draws."""
    source: Any = np.random if random_state is None else random_state
    if isinstance(random_state, int | np.signedinteger):
        return fxrandom.key(index(source))
    draw = source.integers if hasattr(source, "integers") else source.randint
    return fxrandom.key(int(draw(0, 2**63, dtype=np.uint64)))


__all__ = ["check_that_all_is_plain", "is_of_numpy", "random_key", "scipy_law"]
