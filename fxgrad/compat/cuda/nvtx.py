"""torch.cuda.nvtx: marks for NVIDIA's profiler, which are set nowhere here; `torch.profiler` shows ranges."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def range_push(msg: str) -> int:
    """Begin a range inside those that are open, and return 0."""
    return 0


def range_pop() -> int:
    """End the range that was begun last, and return 0."""
    return 0


def range_start(msg: str) -> int:
    """Begin a range that another thread may end, and return 0."""
    return 0


def range_end(range_id: int) -> None:
    """End a range that `range_start` began."""


def mark(msg: str) -> None:
    """Mark a moment."""


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Context manager and decorator for a range whose name is `msg.format(*args, **kwargs)`.

    >>> import fxgrad.compat as torch
    >>> with torch.cuda.nvtx.range("step {}", 3):
    ...     torch.ones(1)
    tensor([1.])
    """
    yield


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
