"""Words of the generator MT19937 (Matsumoto and Nishimura, 1998), whole blocks of them, as machine code.

    void function(blocks, key, words)

The key is the block before the first one, and becomes the last one. A word hangs on those 624, 623 and 227 places
before, so vectors of them are made at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.costs import TWISTED_TIME
from .ir import I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .processor import vector_bytes
from .tables import address

N, M = 624, 397  # as the paper calls them: words of a block, and how far ahead the third one lies
UPPER = -1 << 31  # the sign bit
# As signed numbers.
TWIST, FIRST_MASK, SECOND_MASK = (c - (1 << 32) for c in (0x9908B0DF, 0x9D2C5680, 0xEFC60000))


def twist(word: Value, next: Value, ahead: Value) -> Value:
    """Return the word that follows after a block."""
    joined = (word & UPPER) | (next & ~UPPER)
    return ahead ^ joined.logical_shift(1) ^ (-(next & 1) & TWIST)


def temper(word: Value) -> Value:
    """Return a word as it is given out."""
    word = word ^ word.logical_shift(11)
    word = word ^ ((word << 7) & FIRST_MASK)
    word = word ^ ((word << 15) & SECOND_MASK)
    return word ^ word.logical_shift(18)


def twister_function(name: str, element: str) -> Function:
    """Return the function that makes blocks."""
    f = Function(name, [I64, PTR, PTR])
    blocks, key, words = f.arguments
    width = vector_bytes() // 4
    one, type = Type(element), Type(element, width)
    with f.loop(blocks) as block:
        for start, stop, distance in ((0, N - M, M), (N - M, N - 1, M - N)):
            whole = stop - (stop - start) % width
            for first, last, kind in ((start, whole, type), (whole, stop, one)):
                with f.loop(last, first, step=kind.width) as i:
                    given = [f.load(key, kind, i.index + k) for k in (0, 1, distance)]
                    f.store(twist(*given), key, i.index)
        f.store(twist(*(f.load(key, one, k) for k in (N - 1, 0, M - 1))), key, N - 1)
        with f.loop(N, step=width) as i:
            f.store(temper(f.load(key, type, i.index)), words, block.index * N + i.index)
    return f


def block_maker(count: int) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the function of a key, which it moves on, that makes `count` words, whole blocks; or None if NumPy is
    to make them."""
    native = ask_kernel(TWISTED_TIME * count, twister_function, np.dtype(np.int32))
    if native is None:
        return None

    def make(key: np.ndarray) -> np.ndarray:
        words = np.empty(count, np.uint32)
        native(count // N, address(key), address(words))
        return words

    return make
