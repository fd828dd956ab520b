"""`jax._src.traceback_util`, by which packages say which of their frames tracebacks leave out: here none."""

from __future__ import annotations

from pathlib import Path
from types import FrameType
from typing import TypeVar

__all__ = ["api_boundary", "include_frame", "register_exclusion"]

LIBRARY = str(Path(__file__).parent.parent.parent)
F = TypeVar("F")


def register_exclusion(path: str) -> None:
    """Take note of nothing."""


def include_frame(f: FrameType) -> bool:
    """Whether a frame is not of this library."""
    return not f.f_code.co_filename.startswith(LIBRARY)


def api_boundary(fun: F, **options: object) -> F:
    """Return the function itself."""
    return fun
