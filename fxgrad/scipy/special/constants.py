"""SciPy's own functions that have no derivative here, for plain arguments: zeros, nodes of quadrature, numbers, and
functions without a known closed form of any derivative.
"""

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
