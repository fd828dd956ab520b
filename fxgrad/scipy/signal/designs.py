"""Windows and the coefficients of filters: constants, by SciPy's own functions."""

from __future__ import annotations

from typing import Any

from ..reference import library


def __getattr__(name: str) -> Any:
    """SciPy's function or module of this name."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(library("signal", f"fxgrad.scipy.signal.{name}"), name)
