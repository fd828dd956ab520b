"""Random variates computed from a generator's words as torch 2.13 does on a CPU: a seed gives torch's numbers.
Integers, permutations and choices are equal to torch's; after a logarithm or a cosine, the last digit may differ.

Functions draw an array of a shape: (generator, shape, NumPy's dtype, parameters). Large ones are made in pieces that
stay in the cache. Normal numbers come in pairs (Box and Muller, "A note on the generation of random normal deviates",
1958), a permutation from swaps (Fisher and Yates; Durstenfeld, "Algorithm 235", 1964), the others from inverse
distribution functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ...extend import costs, kind_of, native_function
from .mersenne_twister import to_long_words, to_unit_doubles, to_unit_floats

if TYPE_CHECKING:
    from .generators import Generator
    from .mersenne_twister import MersenneTwister

SMALL_RANGE = 1 << 28  # whole numbers of ranges below it are made of one word, others of two
SINGLE = np.dtype(np.float32)
SHORT = 16  # arrays of fewer normal numbers are made pair by pair, from 16 on eight pairs at once
FEW_SWAPS = 256  # permutations up to this length are made swap by swap
MANY_SWAPS = (1 << 32) // 20  # permutations of this length and above take two words a swap


# What numbers are made of, by the name of the twister's method: how many words, and the function of these.
KINDS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "words": (1, lambda words: words),
    "pairs_of_words": (2, lambda words: words),
    "long_words": (2, to_long_words),
    "floats": (1, to_unit_floats),
    "doubles": (2, to_unit_doubles),
}


def make_in_pieces(
    rng: Generator, kind: str, shape: Any, numpy: Any, make: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Make an array of this shape and dtype of numbers of a kind, by a function of pieces of them if there is one."""
    count = math.prod(shape)
    if count > costs.DRAWN_ENTRIES:
        made = np.empty(count, numpy)
        fill_in_pieces(rng, kind, made, make)
        return made.reshape(shape)
    made = getattr(rng._fx_twister, kind)(count)
    if make is not None:
        made = make(made)
    if made.dtype != numpy:
        made = made.astype(numpy)
    return made if len(shape) == 1 else made.reshape(shape)


def fill_in_pieces(
    rng: Generator, kind: str, made: np.ndarray, make: Callable[[np.ndarray], np.ndarray] | None
) -> None:
    """Do so in the array `made`. Words come one after another, from whichever thread asks for the next ones; threads
    share what is made of them."""
    size, convert = KINDS[kind]
    step, twister = costs.DRAWN_ENTRIES, rng._fx_twister
    parts = [made[start : start + step] for start in range(0, len(made), step)]
    turns, turn = iter(parts), Lock()

    def make_some(first: int, last: int) -> None:
        for _ in range(first, last):
            with turn:
                part = next(turns)
                words = twister.words(size * len(part))
            drawn = convert(words)
            part[...] = drawn if make is None else make(drawn)

    native_function("threads.share_calls")(make_some, len(parts), 4 * costs.TWISTED_TIME * len(made))


def scale_and_shift(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """x·scale + shift, rounded once: as processors multiply and add in one step."""
    if x.dtype == np.float32:
        return (x * np.float64(scale) + shift).astype(np.float32)
    if not shift:
        return x * scale
    # products of halves are exact (Dekker, "A floating-point technique for extending the available precision", 1971)
    product = x * scale
    high, low = split(x)
    scale_high, scale_low = split(np.float64(scale))
    error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
    total = product + shift
    moved = total - product
    return total + ((product - (total - moved)) + (shift - moved) + error)


def split(x: Any) -> tuple[Any, Any]:
    """Split numbers into parts of half as many digits."""
    large = x * 134217729.0  # 2²⁷ + 1
    high = large - (large - x)
    return high, x - high


# -- continuous ------------------------------------------
def uniform(rng: Generator, shape: Any, numpy: Any, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers in [low, high), with 53 random bits in double precision and 24 otherwise; complex numbers have
    two uniform parts."""
    if numpy == SINGLE and low == 0 and high == 1:
        return make_in_pieces(rng, "floats", shape, numpy)
    if kind_of(numpy) == "c":
        part = np.dtype(f"f{numpy.itemsize // 2}")
        return uniform(rng, (*shape, 2), part, low, high).view(numpy)[..., 0]
    if numpy == np.float64:
        if low == 0 and high == 1:
            return make_in_pieces(rng, "doubles", shape, numpy)
        width = high - low
        return make_in_pieces(rng, "doubles", shape, numpy, lambda units: scale_and_shift(units, width, low))
    start, end = np.float32(low), numpy.type(high)
    width = np.float32(high) - start

    def make_single(units: np.ndarray) -> np.ndarray:
        made = scale_and_shift(units, float(width), float(start)).astype(numpy, copy=False)
        if (
            numpy != np.float32
        ):  # what is rounded to the end, which does not belong to the range, is taken to its start
            made[made == end] = numpy.type(low)
        return made

    return make_in_pieces(rng, "floats", shape, numpy, make_single)


def normal(
    rng: Generator, shape: Any, numpy: Any, mean: Any = 0.0, std: float = 1.0, in_rows: bool = True
) -> np.ndarray:
    """Normal numbers. The variance of a complex number is the sum of those of its parts, which both have the mean.

    Args:
        in_rows: the entries will lie one after the other in memory, row by row: then 16 and more are made eight pairs
            at once.
    """
    count = math.prod(shape)
    if in_rows and numpy == SINGLE and SHORT <= count < costs.PAIRED_ENTRIES:
        found = normals_at_hand(rng._fx_twister, count)
        if found is not None:
            if std != 1 or mean != 0:
                found *= SINGLE.type(std)
                found += SINGLE.type(mean)
            return found if len(shape) == 1 else found.reshape(shape)
    if kind_of(numpy) == "c":
        part = np.dtype(f"f{numpy.itemsize // 2}")
        return normal(rng, (*shape, 2), part, mean, std * math.sqrt(0.5), in_rows).view(numpy)[..., 0]
    if count < SHORT or not in_rows:
        made = normals_by_pairs(rng, count)
        if mean != 0 or std != 1:
            made = scale_and_shift(made, std, mean)
        return made.astype(numpy).reshape(shape)
    wide = np.dtype(np.float64 if numpy == np.float64 else np.float32)
    kind = "doubles" if wide == np.float64 else "floats"
    whole = count - count % SHORT

    def make(drawn: np.ndarray) -> np.ndarray:
        made = eight_pairs(drawn)
        if mean == 0 and std == 1:
            return made
        return (
            scale_and_shift(made, std, mean)
            if wide == np.float64
            else made * wide.type(std) + wide.type(mean)
        )

    made = np.empty(count, numpy)
    fill_in_pieces(rng, kind, made[:whole], make)
    # The last sixteen are made anew, after what has been drawn for the rest: nothing for halves.
    if whole < count:
        left = (count - whole) * (numpy.itemsize != 2)
        made[-SHORT:] = make(getattr(rng._fx_twister, kind)(left + SHORT)[-SHORT:])
    return made.reshape(shape)


def to_radius(units: np.ndarray) -> np.ndarray:
    """The distances of pairs of normal numbers from 0, from uniform numbers."""
    radius = 1 - units
    np.log(radius, radius)
    radius *= -2
    return np.sqrt(radius, radius)


def normals_at_hand(twister: MersenneTwister, count: int) -> np.ndarray | None:
    """Normal numbers, sixteen or more, as `normal` makes them in single precision, from words of the run at hand;
    None where these are too few. What a word gives together with the one eight places on is computed for all words of
    the run at once, wherever sixteens begin."""
    place = twister.pass_words(count + SHORT if count % SHORT else count)
    if place is None:
        return None
    pairs = twister.normals
    if pairs is None:
        units = twister.run_floats()
        radius, angle = to_radius(units[:-8]), units[8:] * SINGLE.type(2 * math.pi)
        made = np.empty((len(radius), 2), SINGLE)
        np.multiply(radius, np.cos(angle), made[:, 0])
        np.multiply(radius, np.sin(angle, angle), made[:, 1])
        pairs = twister.normals = made.reshape(-1)
    return pairs[2 * place :].take(places_of_normals(count))


@lru_cache(64)
def places_of_normals(count: int) -> np.ndarray:
    """Where normal numbers are among the pairs of their words: of each sixteen words, the first eight have pairs, whose
    first numbers come before the second ones. The last sixteen numbers are those of the last sixteen words."""
    words = np.arange(0, count + SHORT * (count % SHORT > 0), SHORT)
    if count % SHORT:
        words[-1] = count
    places = 2 * words[:, None, None] + np.arange(2)[:, None] + np.arange(0, SHORT, 2)
    places = places.reshape(-1)
    return places if not count % SHORT else np.append(places[: count - SHORT], places[-SHORT:])


def eight_pairs(units: np.ndarray) -> np.ndarray:
    """Normal numbers from as many uniform ones: of each sixteen, the first eight give radii and the others angles."""
    rows = units.reshape(-1, 2, 8)
    radius = to_radius(rows[:, 0])
    angle = rows[:, 1] * units.dtype.type(2 * math.pi)
    made = np.empty_like(rows)
    np.multiply(radius, np.cos(angle), made[:, 0])
    np.multiply(radius, np.sin(angle, angle), made[:, 1])
    return made.reshape(-1)


def normals_by_pairs(rng: Generator, count: int) -> np.ndarray:
    """Normal numbers in double precision. The second one of the last pair is kept, if it is not asked for."""
    if count < SHORT:
        return np.array([next_normal(rng) for _ in range(count)], np.float64)
    made = np.empty(count)
    start = 0
    if rng._fx_spare_normal is not None:
        made[0], rng._fx_spare_normal, start = rng._fx_spare_normal, None, 1
    while count - start > 1:
        pairs = min((count - start) // 2, costs.DRAWN_ENTRIES // 2)
        units = rng._fx_twister.doubles(2 * pairs)
        radius, angle = np.sqrt(-2 * np.log1p(-units[1::2])), 2 * math.pi * units[0::2]
        made[start : start + 2 * pairs : 2] = radius * np.cos(angle)
        made[start + 1 : start + 2 * pairs : 2] = radius * np.sin(angle)
        start += 2 * pairs
    if start < count:
        made[start] = next_normal(rng)
    return made


def next_normal(rng: Generator) -> float:
    """One normal number; of each pair, the second one is kept for the next call."""
    kept = rng._fx_spare_normal
    if kept is not None:
        rng._fx_spare_normal = None
        return kept
    a, b, c, d = rng._fx_twister.words(4).tolist()
    return normal_of_pair(rng, to_double(a, b), to_double(c, d))


def to_double(upper: int, lower: int) -> float:
    """The double in [0, 1) of two words."""
    return ((upper & 0x1FFFFF) << 32 | lower) * 2.0**-53


def normal_of_pair(rng: Generator, first: float, second: float) -> float:
    """The first normal number of a pair of uniform ones; the second is kept."""
    radius, angle = math.sqrt(-2 * math.log1p(-second)), 2 * math.pi * first
    rng._fx_spare_normal = radius * math.sin(angle)
    return radius * math.cos(angle)


def by_inverse(inverse: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The sampler of a distribution by a function of uniform numbers in double precision, and its parameters."""

    def sample(rng: Generator, shape: Any, numpy: Any, *parameters: float) -> np.ndarray:
        def make(units: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore"):
                return inverse(units, *parameters)

        return make_in_pieces(rng, "doubles", shape, numpy, make)

    return sample


exponential = by_inverse(lambda u, rate: np.log1p(-u) * (-1.0 / rate))
cauchy = by_inverse(lambda u, median, sigma: median + sigma * np.tan(math.pi * (u - 0.5)))
geometric = by_inverse(lambda u, p: np.ceil(np.log(u) / math.log1p(-p)))


def bernoulli(rng: Generator, shape: Any, numpy: Any, p: float, value: float = 1) -> np.ndarray:
    """1, or another value, where a uniform number in double precision is less than p, and 0 elsewhere: its words
    decide, the lower one only where the upper one is on the edge."""
    upper, lower = divmod(math.ceil(p * 2.0**53), 1 << 32)

    def make(words: np.ndarray) -> np.ndarray:
        high = words[0::2] & np.uint32(0x1FFFFF)
        made = high < upper
        if lower:
            on_edge = high == upper
            if np.count_nonzero(on_edge):
                made |= on_edge & (words[1::2] < lower)
        return made if value == 1 else made * numpy.type(value)

    return make_in_pieces(rng, "pairs_of_words", shape, numpy, make)


def log_normal(rng: Generator, shape: Any, numpy: Any, mean: float, std: float) -> np.ndarray:
    """Numbers whose logarithms are normal."""
    made = np.exp(scale_and_shift(normals_by_pairs(rng, math.prod(shape)), std, mean))
    return made.astype(numpy).reshape(shape)


# -- whole numbers ------------------------------------------
def integers(rng: Generator, shape: Any, low: int, count: int, is_long: bool | None = None) -> np.ndarray:
    """Whole numbers of which there are `count`, from `low` on: int64, with torch's wrapping around.

    Args:
        is_long: whether each is made of two words; None: where the range is long.
    """
    if count >= SMALL_RANGE if is_long is None else is_long:
        kind = "long_words"

        def make(words: np.ndarray) -> np.ndarray:
            if count == 1 << 64:
                return words.view(np.int64)
            words %= np.uint64(count)
            words += np.uint64(low % (1 << 64))
            return words.view(np.int64)
    else:
        kind, divisor = "words", np.uint32(count)

        def make(words: np.ndarray) -> np.ndarray:
            rest = (words - words // divisor * divisor).astype(np.int64)
            if low:
                rest += low
            return rest

    return make_in_pieces(rng, kind, shape, np.dtype(np.int64), make)


def permutation(rng: Generator, n: int) -> np.ndarray:
    """A random permutation of the numbers below n, by swaps of each with itself or a later one."""
    if n < 2:
        return np.arange(n)
    kind, numpy = ("words", np.uint32) if n < MANY_SWAPS else ("long_words", np.uint64)
    drawn = make_in_pieces(rng, kind, (n - 1,), np.dtype(numpy))
    swapped = native_function("permutation.swap_by_words")(drawn)
    if swapped is not None:
        return swapped
    drawn = drawn % np.arange(n, 1, -1, dtype=drawn.dtype)
    if n > FEW_SWAPS:
        return swap_in_turn(np.append(drawn + np.arange(n - 1), n - 1))
    order = list(range(n))
    for i, step in enumerate(drawn.tolist()):
        order[i], order[i + step] = order[i + step], order[i]
    return np.array(order)


def swap_in_turn(targets: np.ndarray) -> np.ndarray:
    """Apply the swaps of the places i and targets[i] ≥ i, for each i in turn, to 0, 1, 2, ….

    A place holds its own number until a step aims at it, and then what the last such step i found at its own place i,
    where the last step before it that aimed at i had brought it. These references are followed to their ends, all at
    once.
    """
    n = len(targets)
    small = np.int32 if n < 1 << 31 else np.int64
    by_target = targets << 32 | np.arange(n)  # the steps that aim at each place, in turn
    by_target.sort()
    place, step = (by_target >> 32).astype(small), by_target.astype(small)
    same = np.flatnonzero(place[1:] == place[:-1])
    before = np.full(n, -1, small)  # the last step before i that aimed at targets[i], or -1
    before[step[same + 1]] = step[same]
    source = np.arange(n, dtype=small)  # the last step before i that aimed at i, or i itself
    ends = np.flatnonzero(place != np.append(place[1:], -1))
    source[place[ends]] = step[ends]
    own = np.flatnonzero(targets == np.arange(n))
    source[own] = np.where(before[own] < 0, own, before[own])
    while not np.array_equal(further := source[source], source):
        source = further
    return np.where(before < 0, targets, source[before])
