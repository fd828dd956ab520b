"""Philox4x64-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).

A block is four words of 64 bits, a function of a key (two words) and a counter (four words); no state is kept. The
second word of the key is the *domain*, which tells uses of one key apart. Counters start at 1, as NumPy's do:

    stream(np, key, domain, n) = np.random.Philox(key=[key, domain]).random_raw(n)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.costs import FEWEST_DRAWS, NEAR_CACHE_ENTRIES
from .registry import native_function

DRAW, SPLIT, FOLD = range(3)

LOW = 0xFFFFFFFF
MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
ROUNDS = 10
DRAWS = itertools.count()


def native_stream(name: str) -> Callable[..., Any]:
    """Return the machine code of this name in `streams`, or a function that leaves the first draws to NumPy."""
    return decline if next(DRAWS) < FEWEST_DRAWS else native_function(f"streams.{name}")


def decline(*operands: Any) -> None:
    """Return None, so that NumPy draws."""


def multiply_high(x: Any, y: Any) -> Any:
    """The upper 64 bits of the product of unsigned 64-bit integers, by the halves of both."""
    x_low, x_high, y_low, y_high = x & LOW, x >> 32, y & LOW, y >> 32
    middle = x_high * y_low + (x_low * y_low >> 32)
    other = x_low * y_high + (middle & LOW)
    return x_high * y_high + (middle >> 32) + (other >> 32)


def block(xp: Any, key: Any, domain: int, first: Any, second: Any, third: int) -> tuple:
    """The four words for arrays of keys and counters (first, second, third, 0), all with axes: then products wrap
    around without a warning."""
    a, b = first, second
    c, d = xp.full_like(first, third), xp.zeros_like(first)
    other = xp.full_like(key, domain)
    for index in range(ROUNDS):
        if index:
            key, other = key + WEYL[0], other + WEYL[1]
        m, n = MULTIPLIERS
        a, b, c, d = multiply_high(c, n) ^ b ^ key, c * n, multiply_high(a, m) ^ d ^ other, a * m
    return a, b, c, d


def blocks(xp: Any, keys: Any, domain: int, first: Any, second: Any = None, third: int = 0) -> Any:
    """The blocks [n, 4] of n keys with n counters, by vector arithmetic."""
    second = xp.zeros_like(first) if second is None else second
    if xp is not np:
        return xp.stack(block(xp, keys, domain, first, second, third), axis=-1)
    out = np.empty((len(keys), 4), np.uint64)
    for start in range(0, len(keys), NEAR_CACHE_ENTRIES):
        part = slice(start, start + NEAR_CACHE_ENTRIES)
        for i, word in enumerate(block(np, keys[part], domain, first[part], second[part], third)):
            out[part, i] = word
    return out


def stream(xp: Any, keys: Any, domain: int, count: int, third: int = 0) -> Any:
    """For each of n keys the first `count` words, as [n, count]: for counters (1, 0, third, 0), (2, 0, third, 0), …

    NumPy's generator takes 9 µs a key and 4 ns a word, vector arithmetic 200 µs and 20 ns a word.
    """
    n, many = keys.shape[0], -(-count // 4)
    if xp is np and n * (100 - many) < 2000:
        generators = [
            np.random.Philox(key=np.array([key, domain], np.uint64), counter=[0, 0, third, 0]) for key in keys
        ]
        rows = [generator.random_raw(count) for generator in generators]
        return np.asarray(rows[0] if n == 1 else rows, np.uint64).reshape(n, count)
    first = xp.broadcast_to(xp.arange(1, many + 1, dtype=xp.uint64), (n, many))
    keys = xp.broadcast_to(xp.reshape(keys, (n, 1)), (n, many))
    words = blocks(xp, xp.reshape(keys, (-1,)), domain, xp.reshape(first, (-1,)), third=third)
    return xp.reshape(words, (n, 4 * many))[:, :count]
