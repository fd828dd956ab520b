"""Loops that rejection needs: Python's for plain values, those of `lax` for traced ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import lax
from ... import numpy as fnp
from ...core import pytree
from ...core.interpreter import EVAL, acting_level


def loop(goes_on: Callable[[Any], Any], step: Callable[[Any], Any], state: Any) -> Any:
    """Return the state at the end of a loop, whose functions may refer to what they are defined beside."""
    if acting_level() is not EVAL.interpreter:
        return lax.while_loop(
            goes_on, lambda held: pytree.map(lambda y, x: y.astype(x.dtype), step(held), held), state
        )
    while goes_on(state):
        state = step(state)
    return state


def scan(step: Callable[[Any, Any], Any], state: Any, given: Any) -> Any:
    """Return the state at the end of a loop over entries of arrays, and the results of its steps, stacked."""
    if acting_level() is not EVAL.interpreter:
        return lax.scan(step, state, given)
    results = []
    for entries in zip(*given, strict=True):
        state, result = step(state, entries)
        results.append(result)
    return state, fnp.stack(results)
