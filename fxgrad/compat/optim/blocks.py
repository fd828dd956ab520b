"""Blockwise rules of optimizers that treat each entry by itself: intermediate values of one block stay in the cache,
while whole arrays would pass through memory at every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import costs


def is_for_blocks(value, gradient, state: dict[str, Any]) -> bool:
    """Whether there are enough entries, which lie in memory as those of the gradient and of the state do."""
    if type(value) is not np.ndarray or value.size < costs.FEWEST_TILES * costs.CACHE_ENTRIES:
        return False
    beside = [x for x in state.values() if np.ndim(x)]
    return all(
        type(x) is np.ndarray and x.shape == value.shape and x.flags.c_contiguous
        for x in (value, gradient, *beside)
    )


def update_blocks(
    update: Callable[..., Any], value, gradient, state: dict[str, Any], options: dict[str, Any]
) -> Any:
    """Do what `update(value, gradient, state, options)` does, by blocks of the entries."""
    values, gradients = value.reshape(-1), gradient.reshape(-1)
    known = {name: x.reshape(-1) for name, x in state.items() if np.ndim(x)}
    begun: dict[str, np.ndarray] = {}  # what the first step adds to the state
    numbers: dict[str, Any] = {}
    for start in range(0, values.size, costs.CACHE_ENTRIES):
        here = slice(start, start + costs.CACHE_ENTRIES)
        parts = {name: x[here] for name, x in known.items()}
        inside = {**state, **parts}
        part = values[here]
        write(part, update(part, gradients[here], inside, options))
        for name, x in inside.items():
            if not np.ndim(x):
                numbers[name] = x
            elif name in parts:
                write(parts[name], x)
            else:
                begun.setdefault(name, np.empty(values.shape, x.dtype))[here] = x
    state.update(numbers, **{name: x.reshape(value.shape) for name, x in begun.items()})
    return value


def write(place: np.ndarray, x) -> None:
    """Write an array in its place, unless it is what is there."""
    if x is not place:
        place[...] = x
