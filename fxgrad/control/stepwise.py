"""Loops that run step by step while a level observes. The observer sees the operations of the body, at the user's
lines, and not those of the Graphs that the rules of a loop derive from it. Without an observer a loop is one operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..core import observer
from ..core.aval import PLAIN
from ..core.errors import ConcretizationError
from ..transforms.subgraphs import is_abstract
from . import loops


def is_stepwise(values: Sequence[Any]) -> bool:
    """Whether a loop over these values runs step by step."""
    return observer.is_stepwise() and not any(map(is_abstract, values))


def run_scan(count: Any, *args: Any, **params: Any) -> list[Any]:
    """Run a scan as one operation, or step by step."""
    if type(count) not in PLAIN or not is_stepwise(args):
        return loops.scan_primitive.call(count, *args, **params)
    return loops.scan_primitive.unfold([count, *args], params)


def run_while(*args: Any, **params: Any) -> list[Any]:
    """Run a while loop as one operation, or step by step, unless the number of steps differs between the
    entries of a batch."""
    if is_stepwise(args):
        with suppress(ConcretizationError):
            return loops.while_primitive.unfold(args, params)
    return loops.while_primitive.call(*args, **params)
