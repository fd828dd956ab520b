"""What of scipy.special has no derivative here: zeros, nodes of quadrature, numbers, and functions of which no closed
form of any derivative is known. They are SciPy's own, for plain arguments."""

from __future__ import annotations

from typing import Any

from ..reference import library


def find_constant(name: str) -> Any:
    """Return SciPy's function of this name."""
    special = library("special", f"fxgrad.scipy.special.{name}")
    if name not in special.__all__:
        raise AttributeError(f"module 'fxgrad.scipy.special' has no attribute {name!r}")
    return getattr(special, name)


__all__: list[str] = []
