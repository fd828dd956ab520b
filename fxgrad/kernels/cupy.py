"""CuPy, the one place that imports it: only after one of its arrays has been seen."""

from __future__ import annotations

from typing import Any


def namespace() -> Any:
    """The CuPy module as an array namespace."""
    import cupy

    return cupy
