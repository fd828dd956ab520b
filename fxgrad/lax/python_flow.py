"""Control flow in Python, for `fx.disable_jit`: a tuple with the result, or None if Python cannot decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.errors import StructureError
from ..transforms.disable_jit import known_value


def choose(index: Any, branches: Sequence[Callable[..., Any]], operands: tuple) -> tuple[Any] | None:
    """Call the branch with this number, or the nearest one that there is."""
    place = known_value(index)
    if place is None:
        return None
    return (branches[min(max(int(place), 0), len(branches) - 1)](*operands),)


def repeat_while(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any, max_steps: int | None
) -> tuple[Any] | None:
    """Apply `body_fun` as long as `cond_fun` holds."""
    goes_on, steps = known_value(cond_fun(value)), 0
    if goes_on is None:
        return None
    while goes_on and steps != max_steps:
        value, steps = body_fun(value), steps + 1
        goes_on = bool(cond_fun(value))
    return (value,)


def scan_rows(
    f: Callable[[Any, Any], tuple], carry: Any, xs: Any, length: int | None, reverse: bool
) -> tuple[Any] | None:
    """Carry a value along the rows of `xs`; None where there are no rows, whose results have a form all the same."""
    shapes = [np.shape(x) for x in pytree.leaves(xs)]
    counts = {length} - {None} | {shape[0] if shape else None for shape in shapes}
    count = counts.pop() if len(counts) == 1 else None
    if not count:  # also where lengths differ, which is reported elsewhere
        return None
    rows = []
    for i in reversed(range(count)) if reverse else range(count):
        result = f(carry, pytree.map(lambda x, i=i: x[i], xs))
        if not isinstance(result, tuple) or len(result) != 2:
            raise StructureError(
                f"scan: f must return a pair (carry, y), not {type(result).__name__}",
                hint="return carry, y; None for no y",
            )
        carry, y = result
        rows.append(y)
    if reverse:
        rows.reverse()
    return ((carry, pytree.map(lambda *parts: ops.stack(parts, 0), *rows)),)
