"""NumPy's floating-point error state, as a value that can be compared and set.

Staging checks whether the function itself turns warnings off. torch never warns: log(-1) is silently NaN, and so it
is in `fxgrad.compat`. `np.errstate` costs as much as a small operation; all it does is set a ContextVar, which this
module does with a prepared state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import cache
from typing import Any

import numpy as np


@cache
def intern_settings(**treatment: str) -> dict[str, str]:
    """Return the one dict that stands for a treatment of floating-point errors, so that `is` compares them."""
    return treatment


class NumPyErrorState:
    """A substitute for NumPy's ContextVar in versions without it. It calls public functions, which are slower."""

    def get(self) -> Any:
        """Return how errors are treated."""
        return intern_settings(**np.geterr())

    def set(self, state: Any) -> Any:
        """Set how errors are treated, and return what `reset` takes."""
        return np.seterr(**state)

    def reset(self, before: Any) -> None:
        """Restore how errors were treated before."""
        np.seterr(**before)


def ignore_state(state: Any) -> Any:
    """Return the state under which nothing warns."""
    with np.errstate(all="ignore"):
        return state.get()


numpy_core: Any = getattr(np, "_core", None)
ERROR_STATE: Any = (
    getattr(getattr(numpy_core, "_ufunc_config", None), "_extobj_contextvar", None) or NumPyErrorState()
)
DEFAULT, IGNORE = ERROR_STATE.get(), ignore_state(ERROR_STATE)  # as it was when the library was imported


def is_silent() -> bool:
    """Whether nothing warns here, as inside `fxgrad.compat`. (There may be other states in which nothing does.)"""
    return ERROR_STATE.get() is IGNORE


def call_silently(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, of whose floating-point errors nothing warns."""
    if ERROR_STATE.get() is IGNORE:
        return function(*args, **kwargs)
    token = ERROR_STATE.set(IGNORE)
    try:
        return function(*args, **kwargs)
    finally:
        ERROR_STATE.reset(token)


def prepare_silence() -> Callable[..., Any]:
    """Return what calls a function of NumPy's on arrays as `call_silently`, at a third of its cost: in a Context of its
    own, in which no level is open. Raises RuntimeError while another thread is in there."""
    if isinstance(ERROR_STATE, NumPyErrorState):
        return call_silently
    silence = Context()
    silence.run(ERROR_STATE.set, IGNORE)
    return silence.run


run_silently = prepare_silence()
