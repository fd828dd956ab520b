"""Permutations by swaps, one after the other: of each entry with the one whose place is given for it.

    void function(n, places, order)

Each swap may read what the one before has written, so one thread does it.
"""

from __future__ import annotations

import numpy as np

from ...core.costs import SWAP_TIME
from .ir import I64, PTR, Function
from .kernel import ask_kernel
from .tables import address


def swap_function(name: str, element: str) -> Function:
    """Return the function that swaps the entries of `order` in turn with those at their places."""
    f = Function(name, [I64, PTR, PTR])
    n, places, order = f.arguments
    with f.loop(n) as each:
        place = f.load(places, I64, each.index)
        here, there = f.load(order, I64, each.index), f.load(order, I64, place)
        f.store(there, order, each.index)
        f.store(here, order, place)
    return f


def swap_in_turn(places: np.ndarray) -> np.ndarray | None:
    """Return 0, 1, 2, … after the swaps of i and places[i] for each i in turn, or None if NumPy is to find it."""
    native = ask_kernel(SWAP_TIME * len(places), swap_function, places.dtype)
    if native is None or places.dtype != np.int64:
        return None
    places, order = np.ascontiguousarray(places), np.arange(len(places), dtype=np.int64)
    native(len(places), address(places), address(order))
    return order
