"""`jax.lax.rng_bit_generator`: bits of Philox4x32-10, whose key and counter are the state, the key also being the upper
half of the counter.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...core.errors import DTypeError, ShapeError, UnsupportedError
from .dtypes import canonicalize_dtype
from .lifting import lift

__all__ = ["RandomAlgorithm", "rng_bit_generator"]

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
LOW = 0xFFFFFFFF
ROUNDS = 10


class RandomAlgorithm(IntEnum):
    """What makes bits."""

    RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX = range(3)


def rng_bit_generator(
    key: Any, shape: Any, dtype: Any = np.uint32, algorithm: Any = RandomAlgorithm.RNG_DEFAULT, *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the state after a draw, and unsigned integers of random bits.

    Raises:
        DTypeError: another dtype.
        ShapeError: the state has not four words.
        UnsupportedError: another algorithm than Philox.
    """
    dtype = canonicalize_dtype(dtype)
    if dtype.kind != "u":
        raise DTypeError(f"rng_bit_generator: unsupported dtype {dtype}", hint="jnp.uint32")
    if np.shape(key) != (4,):
        raise ShapeError(f"rng_bit_generator: a state of shape {np.shape(key)}", hint="four words of 32 bits")
    if algorithm == RandomAlgorithm.RNG_THREE_FRY:
        raise UnsupportedError("rng_bit_generator: Philox alone is here", hint="jax.random.bits")
    return lift(draw)(key, shape, dtype)


def draw(state: Any, shape: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the state after a draw, and the words of so many blocks as it needs."""
    size = math.prod(shape) * (2 if dtype.itemsize == 8 else 1)
    count = -(-size // 4)
    key, other, low, high = [state[i].astype(np.uint64) for i in range(4)]
    places = (high << np.uint64(32)) + low + np.arange(count, dtype=np.uint64)
    a, b = places & LOW, places >> np.uint64(32)
    c, d = fnp.broadcast_to(key, a.shape), fnp.broadcast_to(other, a.shape)
    for index in range(ROUNDS):
        if index:
            key, other = (key + WEYL[0]) & LOW, (other + WEYL[1]) & LOW
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b = (second >> np.uint64(32)) ^ b ^ key, second & LOW
        c, d = (first >> np.uint64(32)) ^ d ^ other, first & LOW
    words = fnp.stack([a, b, c, d], axis=-1).reshape(-1)[:size]
    if dtype.itemsize == 8:
        words = words[::2] + (words[1::2] << np.uint64(32))
    after = (high << np.uint64(32)) + low + np.uint64(count)
    counter = fnp.stack([after & LOW, after >> np.uint64(32)])
    return fnp.concatenate([state[:2], counter.astype(np.uint32)]), words.astype(dtype).reshape(shape)
