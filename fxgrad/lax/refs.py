"""References from outside that the functions of a loop or branch use: they become arguments and results of these
functions, so that each step sees the writes of the previous one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..core.references import OuterRefError, Reference

T = TypeVar("T")


def lift_refs(stage: Callable[..., T], with_refs: Callable[..., Any]) -> Callable[..., T]:
    """Return `stage` for functions that may use references made outside. `with_refs(refs, values, *args)` does the
    same as stage(*args) for functions that use `refs`, which hold `values`; it returns the result and what they hold
    then."""

    @wraps(stage)
    def stage_with_refs(*args: Any) -> T:
        refs: list[Reference] = []
        while True:
            try:
                if not refs:
                    return stage(*args)
                result, after = with_refs(refs, [ref.value for ref in refs], *args)
            except OuterRefError as error:
                if error.ref in refs:  # a function of `jit` in the body uses it
                    raise
                error.ref.open_box()  # raises where it was made further out
                refs.append(error.ref)
            else:
                for ref, value in zip(refs, after):
                    ref.assign(value)
                return result

    return stage_with_refs
