"""Random variates that take a variable number of uniform numbers each; as in torch on a CPU, an entry starts where the
previous one stopped.

Sources: Hörmann, "The transformed rejection method for generating Poisson random variables" (PTRS) and "The generation
of binomial random variates" (BTRS), 1993; Devroye, "Non-uniform random variate generation", 1986, X.4.3 and X.3.3,
where means are small; Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .mersenne_twister import BLOCK
from .variates import normal_of_pair

if TYPE_CHECKING:
    from .generators import Generator

THIRD = float(np.float32(1 / 3))  # as torch has it
TINY = 2.0**-60  # in place of 0 as the distance from an edge
LARGE_MEAN = 10.0  # from here on transformed rejection is used
# log k! − log √(2π) − (k + 1/2)·log(k + 1) + (k + 1) for k < 10: the corrections to Stirling's formula
CORRECTIONS = tuple(
    math.lgamma(k + 1) - 0.5 * math.log(2 * math.pi) - (k + 0.5) * math.log(k + 1) + (k + 1)
    for k in range(10)
)


class DoubleReader:
    """Gives uniform numbers in [0, 1) of a generator one by one, of which as many are made at once as a
    block has.

    What has been made and not taken goes back at the end, `finish`.
    """

    def __init__(self, rng: Generator):
        self.rng, self._fx_twister = rng, rng._fx_twister
        self.made: list[float] = []  # the next one last

    def take(self) -> float:
        """Take the next number."""
        if not self.made:
            self._fx_twister.begin()
            left = self._fx_twister.end - self._fx_twister.place
            count = min(left, BLOCK) // 2 or BLOCK // 2  # all but perhaps the first are of one run
            self.made = self._fx_twister.doubles(count)[::-1].tolist()
        return self.made.pop()

    def take_normal(self) -> float:
        """Take the next normal number, for which there may be a spare one."""
        spare = self.rng._fx_spare_normal
        if spare is None:
            return normal_of_pair(self.rng, self.take(), self.take())
        self.rng._fx_spare_normal = None
        return spare

    def finish(self) -> None:
        """Return the unused numbers to the generator."""
        self._fx_twister.place -= 2 * len(self.made)
        self.made = []


def entry_by_entry(sampler: Callable[..., Callable[..., float]]) -> Callable[..., np.ndarray]:
    """Return the function (generator, arrays of one shape) → float64 array of that shape, from one that takes a reader
    and returns a function of single parameters."""

    def sample(rng: Generator, *parameters: np.ndarray) -> np.ndarray:
        reader = DoubleReader(rng)
        draw = sampler(reader)
        columns = [np.asarray(p, np.float64).ravel().tolist() for p in parameters]
        made = np.array([draw(*entry) for entry in zip(*columns)], np.float64)
        reader.finish()
        return made.reshape(parameters[0].shape)

    return sample


def log(x: float) -> float:
    """log x, which is −∞ at 0."""
    return math.log(x) if x else -math.inf


@entry_by_entry
def poisson(reader: DoubleReader) -> Callable[[float], float]:
    """Poisson counts of means, which are not negative."""
    take = reader.take

    def draw(mean: float) -> float:
        if not 0 < mean < math.inf:
            return mean
        return draw_large(mean) if mean >= LARGE_MEAN else draw_small(mean)

    def draw_small(mean: float) -> float:
        least, count = math.exp(-mean), 0
        product = take()
        while product > least:
            product *= take()
            count += 1
        return count

    def draw_large(mean: float) -> float:
        log_mean = math.log(mean)
        b = 0.931 + 2.53 * math.sqrt(mean)
        a = -0.059 + 0.02483 * b
        log_scale = math.log(1.1239 + 1.1328 / (b - 3.4))
        safe = 0.9277 - 3.6224 / (b - 2)
        while True:
            u, v = take() - 0.5, take()
            edge = 0.5 - abs(u) or TINY
            k = math.floor((2 * a / edge + b) * u + mean + 0.43)
            if edge >= 0.07 and v <= safe:
                return k
            if k < 0 or (edge < 0.013 and v > edge):
                continue
            if log(v) + log_scale - math.log(a / (edge * edge) + b) <= k * log_mean - mean - math.lgamma(
                k + 1
            ):
                return k

    return draw


def correction(k: float) -> float:
    """The correction to Stirling's formula, see `CORRECTIONS`."""
    if k < len(CORRECTIONS):
        return CORRECTIONS[int(k)]
    return (1 / 12 - (1 / 360 - 1 / 1260 / (k + 1) ** 2) / (k + 1) ** 2) / (k + 1)


@entry_by_entry
def binomial(reader: DoubleReader) -> Callable[[float, float], float]:
    """The numbers of successes in trials, for non-negative numbers of trials and probabilities in [0, 1]; NaN for
    NaN."""
    take = reader.take

    def draw(count: float, p: float) -> float:
        if count != count or p != p:
            return math.nan
        if p > 0.5:
            return count - draw_rare(count, 1 - p) if p < 1 else count
        return draw_rare(count, p)

    def draw_rare(count: float, p: float) -> float:
        if count == 0 or p == 0 or count == math.inf:
            return count * p if p else 0.0
        return draw_large(count, p) if count * p >= LARGE_MEAN else draw_small(count, p)

    def draw_small(count: float, p: float) -> float:
        scale, trials, successes = math.log1p(-p), 0.0, -1
        while trials <= count:
            waited = log(take()) / scale
            trials += math.ceil(waited) if waited < math.inf else waited
            successes += 1
        return successes

    def draw_large(count: float, p: float) -> float:
        deviation = math.sqrt(count * p * (1 - p))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * p
        safe = 0.92 - 4.2 / b
        odds = p / (1 - p)
        alpha = (2.83 + 5.1 / b) * deviation
        mode = math.floor((count + 1) * p)
        while True:
            u, v = take() - 0.5, take()
            edge = 0.5 - abs(u) or TINY
            k = math.floor((2 * a / edge + b) * u + count * p + 0.5)
            if edge >= 0.07 and v <= safe:
                return k
            if not 0 <= k <= count:
                continue
            rest = count - k + 1
            bound = (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            bound += (count + 1) * math.log((count - mode + 1) / rest)
            bound += (k + 0.5) * math.log(odds * rest / (k + 1))
            bound += correction(mode) + correction(count - mode) - correction(k) - correction(count - k)
            if log(v * alpha / (a / (edge * edge) + b)) <= bound:
                return k

    return draw


@entry_by_entry
def log_gamma(reader: DoubleReader) -> Callable[[float], float]:
    """The logarithms of gamma variables of these shapes, which are finite where the variables are below all numbers:
    for a shape below 1, that of one greater by 1, times a uniform number to the power 1/shape (section 6)."""
    take, take_normal = reader.take, reader.take_normal

    def draw(shape: float) -> float:
        if not 0 < shape < math.inf:
            return log(shape) if shape >= 0 else math.nan
        moved = 0.0
        if shape < 1:
            moved = math.log(1 - take()) / shape
            shape += 1
        d = shape - THIRD
        c = 1 / math.sqrt(9 * d)
        while True:
            x = take_normal()
            root = 1 + c * x
            if root <= 0:
                continue
            u, square = 1 - take(), x * x
            log_cube = 3 * math.log(root)
            if u < 1 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1 - root**3 + log_cube):
                return moved + math.log(d) + log_cube

    return draw
