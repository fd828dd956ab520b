"""Quantiles by search, for distribution functions whose inverse has no closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as fnp
from ...extend import aval_of, ops

# The integers that have the size of floating-point numbers.
WORDS = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}


def rank_of(x: Any) -> Any:
    """Return the place of floating-point numbers in their order, as integers: their bits, reversed where negative."""
    word = WORDS[aval_of(x).dtype]
    bits = ops.bitcast(x, dtype=word)
    return ops.where(ops.less(bits, 0), np.iinfo(word).min - bits, bits)


def number_of(rank: Any, dtype: np.dtype) -> Any:
    """Return the floating-point numbers at places in their order."""
    bits = ops.where(ops.less(rank, 0), np.iinfo(WORDS[dtype]).min - rank, rank)
    return ops.bitcast(bits, dtype=dtype)


def least_point(reaches: Callable[[Any], Any], lower: Any, upper: Any, like: Any) -> Any:
    """Return the least floating-point numbers of [lower, upper] from which on a condition holds, upper where it never
    does; without derivative.

    The interval between two numbers is halved by their number, so that as many steps as a number has bits are enough on
    every scale.
    """
    dtype = aval_of(like).dtype
    shape = np.broadcast_shapes(*(np.shape(v) if isinstance(v, float | int) else aval_of(v).shape
                                  for v in (lower, upper, like)))  # fmt: skip
    ends = (
        ops.broadcast_to(ops.stop_gradient(ops.convert(end, dtype=dtype)), shape=shape)
        for end in (lower, upper)
    )
    start = tuple(rank_of(end + 0.0) for end in ends)  # -0.0 has no place of its own

    def halve(_: Any, interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        middle = ops.bitwise_and(low, high) + ops.right_shift(
            ops.bitwise_xor(low, high), 1
        )  # which cannot overflow
        reached = reaches(number_of(middle, dtype))
        return ops.where(reached, low, middle + 1), ops.where(reached, middle, high)

    _, found = lax.fori_loop(0, 8 * dtype.itemsize, halve, start)
    return number_of(found, dtype)


def least_count(reaches: Callable[[Any], Any], lower: Any, upper: Any) -> Any:
    """Return the least whole numbers from `lower`, which is finite, up to `upper` from which on a condition holds,
    `upper` where it never does; without derivative.

    The distance from `lower` is doubled until the condition holds, and then halved.
    """

    def is_short(interval: tuple[Any, Any]) -> Any:
        return fnp.any(ops.logical_not(holds(interval[1])))

    def holds(k: Any) -> Any:
        return ops.logical_or(ops.greater_equal(k, upper), reaches(k))

    def lengthen(interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        held = holds(high)
        further = ops.minimum(lower + 2 * (high - lower) + 1, upper)
        return ops.where(held, low, high + 1), ops.where(held, high, further)

    def halve(interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        # Large numbers are further apart than by one: the middle is not rounded to an end.
        middle = ops.minimum(ops.floor(low + 0.5 * (high - low)), ops.floor(ops.nextafter(high, -math.inf)))
        middle = ops.where(ops.less(low, high), middle, high)
        held = holds(middle)
        after = ops.maximum(middle + 1, ops.nextafter(middle, math.inf))
        return ops.where(held, low, after), ops.where(held, middle, high)

    start = lax.while_loop(is_short, lengthen, (lower, lower))
    return lax.while_loop(lambda interval: fnp.any(ops.less(*interval)), halve, start)[1]


def quantile(cdf: Callable[[Any], Any], q: Any, lower: Any, upper: Any) -> Any:
    """Return the least z of [lower, upper] with cdf(z) ≥ q, differentiable by the implicit function theorem.

    `cdf` may close over parameters: from F(z; θ) = q follows dz = (dq - ∂F/∂θ·dθ)/f(z; θ), to every order.
    """

    def excess(z: Any) -> Any:
        return cdf(z) - q

    shape = aval_of(excess(ops.convert(0.5, dtype=aval_of(q).dtype))).shape
    like = ops.broadcast_to(ops.convert(0.5, dtype=aval_of(q).dtype), shape=shape)

    def search(closed: Callable[[Any], Any], guess: Any) -> Any:
        return least_point(lambda z: ops.greater_equal(closed(z), 0), lower, upper, guess)

    return lax.custom_root(excess, like, search, lambda slope, y: y / slope(0 * y + 1))
