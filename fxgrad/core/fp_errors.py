"""How floating-point errors are treated, as a value that can be compared and set.

Staging asks whether somebody has turned warnings off inside the function. torch computes without warnings at all:
log(-1) is NaN and nothing more, and so is it in `fxgrad.compat`. `np.errstate` costs as much as a small operation;
what it does is to set a ContextVar, which is what is done here, with a state that was made once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def settings(**treatment: str) -> dict[str, str]:
    """One dict for every treatment of floating-point errors, so that `is` compares them."""
    return treatment


class PublicState:
    """What stands for the ContextVar in a NumPy that has none of its name: public functions, which take longer."""

    def get(self) -> Any:
        """How errors are treated."""
        return settings(**np.geterr())

    def set(self, state: Any) -> Any:
        """Have them treated so; what to `reset` is returned."""
        return np.seterr(**state)

    def reset(self, before: Any) -> None:
        """Have them treated as before."""
        np.seterr(**before)


def silent(state: Any) -> Any:
    """The value under which nothing warns."""
    with np.errstate(all="ignore"):
        return state.get()


core: Any = getattr(np, "_core", None)
STATE: Any = getattr(getattr(core, "_ufunc_config", None), "_extobj_contextvar", None) or PublicState()
SPEAKING, SILENT = STATE.get(), silent(STATE)  # as it was when the library was imported
