"""References from outside that the functions of a loop or branch use: they become arguments and results of these
functions, so that each step sees the writes of the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from ..numpy.refs import OuterRefError, Ref

T = TypeVar("T")


@contextmanager
def inside_body(refs: Sequence[Ref], values: Sequence[Any]) -> Iterator[list[Any]]:
    """Let references hold these values, which belong to a body; the list gets what they hold in the end."""
    outside = [ref.box for ref in refs]
    after: list[Any] = []
    try:
        for ref, value in zip(refs, values):
            ref.renew(value)
        yield after
        after += [ref.open_box().value for ref in refs]
    finally:
        for ref, box in zip(refs, outside):
            ref.box = box


def lift_refs(stage: Callable[..., T], with_refs: Callable[..., Any]) -> Callable[..., T]:
    """Return `stage` for functions that may use references made outside. `with_refs(refs, values, *args)` does the
    same as stage(*args) for functions that use `refs`, which hold `values`; it returns the result and what they hold
    then."""

    @wraps(stage)
    def stage_with_refs(*args: Any) -> T:
        refs: list[Ref] = []
        while True:
            try:
                if not refs:
                    return stage(*args)
                result, after = with_refs(refs, [ref.open_box().value for ref in refs], *args)
            except OuterRefError as error:
                if error.ref in refs:  # a function of `jit` in the body uses it
                    raise
                error.ref.open_box()  # raises where it was made further out
                refs.append(error.ref)
            else:
                for ref, value in zip(refs, after):
                    ref.open_box().assign(value)
                return result

    return stage_with_refs
