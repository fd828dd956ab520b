"""Poisson and binomial numbers as JAX draws them: few events by their waiting times, many by rejection. Entries that
one way draws are given harmless parameters in the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as fnp
from ...core.aval import aval_of
from ...scipy import special
from .loops import loop
from .threefry import fractions, keys_of

Shape = tuple[int, ...]
FEW = 10  # the number of expected events up to which these are counted one by one, as JAX does


# -- Poisson ---------------------------------------------------------------------------------------------------------
def count_events(words: Any, rate: Any, shape: Shape) -> Any:
    """Return Poisson numbers of small rates: how many uniform numbers have a product above e^(−rate) (Knuth)."""
    zeros = fnp.zeros(shape, rate.dtype)

    def step(state: Any) -> Any:
        words, count, total = state
        words, part = keys_of(words, 2)
        count = fnp.where(total > -rate, count + 1, count)
        return words, count, total + fnp.log(fractions(part, shape, rate.dtype))

    return loop(lambda state: fnp.any(state[2] > -rate), step, (words, zeros - 1, zeros))[1]


def reject_events(words: Any, rate: Any, shape: Shape) -> Any:
    """Return Poisson numbers of large rates (Hörmann, "The transformed rejection method for generating Poisson random
    variables", 1993)."""
    b = 0.931 + 2.53 * fnp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)

    def step(state: Any) -> Any:
        words, count, done = state
        words, first, second = keys_of(words, 3)
        u = fractions(first, shape, rate.dtype) - 0.5
        v = fractions(second, shape, rate.dtype)
        side = 0.5 - fnp.abs(u)
        k = fnp.floor((2 * a / side + b) * u + rate + 0.43)
        s = fnp.log(v * inverse / (a / (side * side) + b))
        limit = -rate + k * fnp.log(rate) - special.gammaln(k + 1).astype(rate.dtype)
        at_once = fnp.logical_and(side >= 0.07, v <= bound)
        out = fnp.logical_or(k < 0, fnp.logical_and(side < 0.013, v > side))
        taken = fnp.logical_or(at_once, fnp.logical_and(fnp.logical_not(out), s <= limit))
        return words, fnp.where(taken, k, count), fnp.logical_or(done, taken)

    start = (words, fnp.full(shape, -1, rate.dtype), fnp.zeros(shape, bool))
    return loop(lambda state: fnp.logical_not(fnp.all(state[2])), step, start)[1]


# -- binomial --------------------------------------------------------------------------------------------------------
def stirling_error(k: float) -> float:
    """Return by how much log k! is above log √(2π) + (k + ½)·log(k + 1) − (k + 1)."""
    return math.lgamma(k + 1) - 0.5 * math.log(2 * math.pi) - (k + 0.5) * math.log(k + 1) + (k + 1)


# JAX takes for larger numbers what three terms of the series give for 9.
STIRLING = np.array([*map(stirling_error, range(10)), (1 / 12 - (1 / 360 - 1 / 1260 / 100) / 100) / 10])


def stirling_errors(k: Any) -> Any:
    """Return `stirling_error` of whole numbers, as JAX has them."""
    places = fnp.clip(fnp.where(fnp.isnan(k), 0, k), 0, len(STIRLING) - 1).astype(np.int32)
    return fnp.take(STIRLING.astype(aval_of(k).dtype), places)


def count_successes(words: Any, n: Any, p: Any) -> Any:
    """Return binomial numbers for few expected successes: how many waiting times, which are geometric, fit into `n`
    trials (Devroye, "Non-uniform random variate generation", 1986, X.4.3)."""
    shape, dtype = aval_of(n).shape, aval_of(n).dtype
    zeros, rate = fnp.zeros(shape, dtype), fnp.log1p(-p).astype(dtype)

    def step(state: Any) -> Any:
        words, count, trials = state
        part, words = keys_of(words, 2)
        count = fnp.where(trials <= n, count + 1, count)
        return words, count, trials + fnp.ceil(fnp.log(fractions(part, shape, dtype)) / rate)

    return loop(lambda state: fnp.any(state[2] <= n), step, (words, zeros, zeros))[1] - 1


def reject_successes(words: Any, n: Any, p: Any) -> Any:
    """Return binomial numbers for many expected successes: BTRS of Hörmann, "The generation of binomial random
    variates", Journal of Statistical Computation and Simulation 46 (1993)."""
    shape, dtype = aval_of(n).shape, aval_of(n).dtype
    fail, part = 1 - p, 0.01 * p
    p, fail, part, odds = [v.astype(dtype) for v in (p, fail, part, p / fail)]
    deviation = fnp.sqrt(n * p * fail)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + part
    center, bound, alpha = n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
    mode = fnp.floor((n + 1) * p)

    def log_ratio(k: Any) -> Any:
        """Return the logarithm of the probability of k over that of the mode."""
        near = (mode + 0.5) * fnp.log((mode + 1) / (odds * (n - mode + 1)))
        near = near + (n + 1) * fnp.log((n - mode + 1) / (n - k + 1))
        near = near + (k + 0.5) * fnp.log(odds * (n - k + 1) / (k + 1))
        near = near + stirling_errors(mode) + stirling_errors(n - mode)
        return near - stirling_errors(k) - stirling_errors(n - k)

    def step(state: Any) -> Any:
        words, count, done = state
        words, first, second = keys_of(words, 3)
        u, v = fractions(first, shape, dtype) - 0.5, fractions(second, shape, dtype)
        side = 0.5 - fnp.abs(u)
        k = fnp.floor((2 * a / side + b) * u + center)
        at_once = fnp.logical_and(side >= 0.07, v <= bound)
        is_possible = fnp.logical_and(k >= 0, k <= n)
        is_below = fnp.log(v * alpha / (a / (side * side) + b)) <= log_ratio(k)
        taken = fnp.logical_or(at_once, fnp.logical_and(is_possible, is_below))
        return words, fnp.where(taken, k, count), fnp.logical_or(done, taken)

    start = (words, fnp.full(shape, -1, dtype), fnp.zeros(shape, bool))
    return loop(lambda state: fnp.logical_not(fnp.all(state[2])), step, start)[1]


def draw_successes(words: Any, n: Any, p: Any) -> Any:
    """Return binomial numbers of `n` trials with success of probability `p`, of one shape: the rarer of success and
    failure is drawn. The numbers have the dtype of `n`; what is of probabilities alone is computed in that of `p`."""
    n, p = lax.stop_gradient(n), lax.stop_gradient(p)
    count, chance = aval_of(n).dtype.type, aval_of(p).dtype.type
    is_rare = p < 0.5
    q = fnp.where(is_rare, p, 1 - p)
    no_trials, no_chance = fnp.logical_not(n >= 0), fnp.logical_not(q >= 0)
    q = fnp.where(no_chance, chance(0.01), q)
    is_endless = fnp.isinf(n)  # of these nothing is drawn: JAX does not return for n = inf, p = 0
    whole = fnp.where(is_endless, count(0), fnp.floor(n))
    is_few = fnp.logical_or(no_trials, whole * q.astype(count) <= FEW)
    few = count_successes(words, fnp.where(is_few, whole, count(0)), q)
    many = reject_successes(words, fnp.where(is_few, count(1e4), whole), fnp.where(is_few, chance(0.5), q))
    is_wrong = fnp.logical_or(no_trials, no_chance)
    drawn = fnp.where(is_endless, count(np.inf), fnp.where(is_few, few, many))
    drawn = fnp.where(is_wrong, count(np.nan), drawn)
    as_drawn = fnp.logical_or(is_rare, fnp.logical_or(is_wrong, is_endless))
    return fnp.where(as_drawn, drawn, whole - drawn)
