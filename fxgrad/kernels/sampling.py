"""Sampling by rejection and by inversion with separate counters for each entry: in round r, entry i of an array drawn
with a key takes the block of counter (i + 1, 0, r, 0), independently of the other entries.

A sampler takes keys and parameters; the parameters have the shape of the result, and the keys its leading axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import aval_of, kind_of
from ..core.errors import DTypeError
from . import philox
from .gamma import log_gamma
from .special import map_chunks, normal_quantile, open_uniform_from_bits, replace_where, to_float64

TINY = 1e-20  # probabilities below it end an inversion: uniform numbers are multiples of 2⁻⁵³


def sampler(function: Callable[..., Any]) -> Callable[[Any], Callable]:
    """Return the kernel factory of function(xp, key, index, *parameters) → samples, of flat arrays: the key of every
    entry and its index among the entries of that key."""

    def make_kernel(xp: Any) -> Callable:
        def kernel(key: Any, *parameters: Any) -> Any:
            arrays = [xp.asarray(p) for p in parameters]
            if any(kind_of(aval_of(p).dtype) == "c" for p in arrays):
                raise DTypeError(
                    "the parameters of a distribution are real numbers, not complex ones",
                    hint="p.real or abs(p)",
                )
            key, shape = xp.asarray(key), arrays[0].shape
            if xp is np and function is sample_log_gamma:
                drawn = philox.native_stream("draw_log_gamma")(key, arrays[0])
                if drawn is not None:
                    return drawn[()]
            count = math.prod(shape[key.ndim :])
            keys = xp.broadcast_to(xp.reshape(key, (-1, 1)), (math.prod(key.shape), count))
            index = xp.broadcast_to(xp.arange(count, dtype=xp.uint64), keys.shape)
            flat = [xp.reshape(v, (-1,)) for v in (keys, index, *(to_float64(xp, p) for p in arrays))]
            result = xp.reshape(map_chunks(xp, partial(function, xp), *flat), shape)
            return result[()] if xp is np else result

        return kernel

    return make_kernel


def uniform_block(xp: Any, keys: Any, index: Any, turn: int) -> list[Any]:
    """Draw four uniform numbers for every entry."""
    if (
        xp is np
        and len(keys)
        and keys[0] == keys[-1]
        and (keys == keys[0]).all()
        and is_contiguous_range(index)
    ):
        generator = np.random.Philox(
            key=np.array([keys[0], philox.DRAW], np.uint64), counter=[int(index[0]), 0, turn, 0]
        )
        words = generator.random_raw(4 * len(keys)).reshape(-1, 4)
    else:
        words = philox.blocks(xp, keys, philox.DRAW, index + 1, third=turn)
    return [open_uniform_from_bits(xp, words[:, i]) for i in range(4)]


def is_contiguous_range(index: Any) -> bool:
    return int(index[-1]) - int(index[0]) == len(index) - 1 and bool((index[1:] > index[:-1]).all())


def sample_by_rejection(
    xp: Any, keys: Any, index: Any, pending: Any, propose: Callable, *parameters: Any
) -> Any:
    """Sample the entries that are pending; the others are 0. propose(uniform numbers, *parameters) → (samples,
    whether each is accepted). Other libraries than NumPy propose for all entries: of a device the host asks only
    whether some are pending."""
    result = xp.zeros(keys.shape, dtype=xp.float64)
    for turn in itertools.count():
        if not xp.any(pending):
            return result
        if xp is not np:
            samples, accepted = propose(xp, uniform_block(xp, keys, index, turn), *parameters)
            result, pending = xp.where(pending, samples, result), pending & ~accepted
            continue
        uniform = uniform_block(xp, keys[pending], index[pending], turn)
        samples, accepted = propose(xp, uniform, *[p[pending] for p in parameters])
        result[pending] = samples
        pending = np.array(pending)
        pending[pending] = ~accepted


def sample_by_inversion(xp: Any, u: Any, first: Any, ratio: Callable[[int], Any]) -> Any:
    """Return the smallest k with u ≤ p₀ + … + pₖ, where p₀ is `first` and pₖ = ratio(k)·pₖ₋₁; small numbers only."""
    count, probability, cumulated = xp.zeros_like(u), first, first
    for k in itertools.count(1):
        before, probability = probability, probability * ratio(k)
        active = (u > cumulated) & ((probability > TINY) | (probability > before))
        if not xp.any(active):
            return count
        count = xp.where(active, float(k), count)
        cumulated = cumulated + probability


# -- gamma ------------------------------------------
def propose_log_gamma(xp: Any, uniform: list, a: Any) -> tuple[Any, Any]:
    """Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). For a < 1 a sample for a + 1 times
    U^(1/a), as logarithms."""
    normal, trial, boost, _ = uniform
    boosted = a < 1
    d = xp.where(boosted, a + 1, a) - 1 / 3
    x = normal_quantile(xp, normal)
    y = x / xp.sqrt(9 * d)
    log_v = 3 * xp.log1p(y)
    accepted = (y > -1) & (xp.log(trial) < 0.5 * x * x + d * (log_v - y * (3 + y * (3 + y))))
    return xp.log(d) + log_v + xp.where(boosted, xp.log(boost) / a, 0.0), accepted


def sample_log_gamma(xp: Any, keys: Any, index: Any, a: Any) -> Any:
    """Sample logarithms of gamma variables: −∞ and ∞ for a = 0 and ∞, NaN for negative a."""
    usual = (a > 0) & (a < math.inf)
    result = sample_by_rejection(xp, keys, index, usual, propose_log_gamma, a)
    return xp.where(usual, result, xp.where(a < 0, math.nan, xp.log(a)))


# -- counts ------------------------------------------
LARGE = 10  # means from which rejection is faster than inversion
MOST = float(2**63 - 1024)  # the largest number that is float64 and int64


def accept_with_squeeze(xp: Any, quick: Any, inside: Any, accept: Callable, *operands: Any) -> Any:
    """Return whether proposals are accepted: at once where `quick`, by the exact condition elsewhere `inside` the
    domain."""
    return replace_where(xp, xp.asarray(quick, copy=True), inside & ~quick, accept, *operands)


def propose_poisson(xp: Any, uniform: list, mean: Any) -> tuple[Any, Any]:
    """Hörmann, "The transformed rejection method for generating Poisson random variables" (1993): PTRS."""
    u, v = uniform[0] - 0.5, uniform[1]
    b = 0.931 + 2.53 * xp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    left = 0.5 - xp.abs(u)
    k = xp.floor((2 * a / left + b) * u + mean + 0.43)
    inside = (k >= 0) & ((left >= 0.013) | (v <= left))
    quick = (left >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    hat = v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (left * left) + b)

    def accept(k: Any, hat: Any, mean: Any) -> Any:
        return xp.log(hat) <= k * xp.log(mean) - mean - log_gamma(xp, k + 1)

    return k, accept_with_squeeze(xp, quick, inside, accept, k, hat, mean)


def sample_poisson(xp: Any, keys: Any, index: Any, mean: Any) -> Any:
    """Sample counts as int64; −1 where the mean is negative or NaN."""
    valid = mean >= 0
    large = mean >= LARGE
    result = sample_by_rejection(xp, keys, index, large, propose_poisson, xp.where(large, mean, float(LARGE)))
    small = valid & ~large

    def invert(keys: Any, index: Any, rate: Any) -> Any:
        u = uniform_block(xp, keys, index, 0)[0]
        return sample_by_inversion(xp, u, xp.exp(-rate), lambda k: rate / k)

    return as_counts(
        xp, replace_small(xp, result, small, invert, keys, index, xp.where(small, mean, 0.0)), valid
    )


def replace_small(xp: Any, result: Any, small: Any, invert: Callable, *operands: Any) -> Any:
    """Replace the entries that are sampled by inversion, if there are any."""
    return replace_where(xp, result, small, invert, *operands) if xp.any(small) else result


def as_counts(xp: Any, result: Any, valid: Any) -> Any:
    """Convert counts to int64; invalid counts become −1."""
    result = xp.where(valid, xp.minimum(result, xp.full_like(result, MOST)), -1.0)
    return xp.astype(result, xp.int64)


def propose_binomial(xp: Any, uniform: list, n: Any, p: Any) -> tuple[Any, Any]:
    """Hörmann, "The generation of binomial random variates" (1993): BTRS, for p ≤ ½."""
    u, v = uniform[0] - 0.5, uniform[1]
    odds = p / (1 - p)
    deviation = xp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    left = 0.5 - xp.abs(u)
    k = xp.floor((2 * a / left + b) * u + n * p + 0.5)
    inside = (k >= 0) & (k <= n)
    quick = (left >= 0.07) & (v <= 0.92 - 4.2 / b)
    hat = v * (2.83 + 5.1 / b) * deviation / (a / (left * left) + b)

    def accept(k: Any, hat: Any, n: Any, p: Any, odds: Any) -> Any:
        mode = xp.floor((n + 1) * p)
        ways_of_mode = log_gamma(xp, mode + 1) + log_gamma(xp, n - mode + 1)
        ways = log_gamma(xp, k + 1) + log_gamma(xp, n - k + 1)
        return xp.log(hat) <= ways_of_mode - ways + (k - mode) * xp.log(odds)

    return k, accept_with_squeeze(xp, inside & quick, inside, accept, k, hat, n, p, odds)


def sample_binomial(xp: Any, keys: Any, index: Any, n: Any, p: Any) -> Any:
    """Sample counts as int64; −1 where n is negative or no integer, or p outside [0, 1]. The rarer of successes and
    failures is counted."""
    valid = (n >= 0) & (n < MOST) & (n == xp.floor(n)) & (p >= 0) & (p <= 1)
    turned = p > 0.5
    rare = xp.where(turned, 1 - p, p)
    large = valid & (n * rare >= LARGE)
    result = sample_by_rejection(
        xp, keys, index, large, propose_binomial, xp.where(large, n, 40.0), xp.where(large, rare, 0.5)
    )
    small = valid & ~large

    def invert(keys: Any, index: Any, m: Any, q: Any) -> Any:
        u = uniform_block(xp, keys, index, 0)[0]
        return sample_by_inversion(xp, u, xp.exp(m * xp.log1p(-q)), lambda k: (m - k + 1) / k * (q / (1 - q)))

    numbers = xp.where(small, n, 0.0), xp.where(small, rare, 0.0)
    result = replace_small(xp, result, small, invert, keys, index, *numbers)
    return as_counts(xp, xp.where(turned, n - result, result), valid)
