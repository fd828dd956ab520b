"""torch.cuda.nvtx: marks for NVIDIA's profiler, which have no effect here; `torch.profiler` shows ranges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._declare.packages import complete_module


def range_push(msg: str) -> int:
    """Begin a range inside those that are open, and return 0.

    >>> if torch.cuda.is_available():
    ...     level = torch.cuda.nvtx.range_push("step")
    ...     level = torch.cuda.nvtx.range_pop()
    """
    return 0


def range_pop() -> int:
    """End the range that was begun last, and return 0.

    >>> if torch.cuda.is_available():
    ...     level = torch.cuda.nvtx.range_push("step")
    ...     level = torch.cuda.nvtx.range_pop()
    """
    return 0


def range_start(msg: str) -> int:
    """Begin a range that another thread may end, and return 0.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("step"))
    """
    return 0


def range_end(range_id: int) -> None:
    """End a range that `range_start` began.

    Args:
        range_id: what `range_start` returned.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("step"))
    """


def mark(msg: str) -> None:
    """Mark a moment.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.nvtx.mark("step")
    """


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Context manager and decorator for a range whose name is `msg.format(*args, **kwargs)`.

    >>> with torch.cuda.nvtx.range("step {}", 3):
    ...     torch.ones(1)
    tensor([1.])
    """
    yield


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


complete_module(globals(), "cuda")
