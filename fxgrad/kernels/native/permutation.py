"""Random permutations by swaps, one after the other: of each entry with itself or a later one, which a word chooses.

    void function(swaps, words, order)

Each swap may read what the one before has written, so one thread does it.
"""

from __future__ import annotations

import numpy as np

from ...core.costs import SWAP_TIME
from .ir import I64, PTR, Function, Type
from .kernel import ask_kernel
from .tables import address


def swap_function(name: str, element: str) -> Function:
    """Return the function that swaps each entry of `order` but the last in turn with one of those from it on: that
    whose number is the remainder of a word."""
    f = Function(name, [I64, PTR, PTR])
    swaps, words, order = f.arguments
    with f.loop(swaps) as each:
        word = f.load(words, Type(element), each.index)
        left = f.cast("trunc", swaps - each.index + 1, word.type)
        step = f.emit(f"urem {word.type} {word.text}, {left.text}", word.type)
        place = each.index + f.cast("zext", step, I64)
        here, there = f.load(order, I64, each.index), f.load(order, I64, place)
        f.store(there, order, each.index)
        f.store(here, order, place)
    return f


def swap_by_words(words: np.ndarray) -> np.ndarray | None:
    """Return 0, 1, 2, …, len(words) after the swaps that random words choose, or None if NumPy is to find it."""
    native = ask_kernel(SWAP_TIME * len(words), swap_function, np.dtype(f"i{words.itemsize}"))
    if native is None:
        return None
    order = np.arange(len(words) + 1)
    native(len(words), address(words), address(order))
    return order
