"""`jax.profiler`: names that programs give to parts of themselves. What is measured is in `fx.profile`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .api import do_nothing as StepTraceAnnotation
from .api import do_nothing as TraceAnnotation

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function"]


def annotate_function(func: Callable[..., Any] | None = None, name: str | None = None, **options: Any) -> Any:
    """Return a function, which `fx.profile` shows by its own name."""
    return partial(annotate_function, name=name) if func is None else func
