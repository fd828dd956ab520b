"""Samples of the primitives of random numbers. The oracles are NumPy's Philox and SciPy's distributions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.special

from tests.sample import DOMAINS, Sample, drawn, written

WORD = 2**64
DOMAINS["key"] = lambda rng, shape: rng.integers(0, WORD, shape, np.uint64)
DOMAINS["open unit"] = lambda rng, shape: rng.uniform(0.02, 0.98, shape)
DOMAINS["mean"] = lambda rng, shape: rng.choice([0.3, 3.0, 30.0, 3e3], shape)
DOMAINS["trials"] = lambda rng, shape: rng.choice([3, 30, 3000], shape)


def words(key: int, domain: int, count: int, counter: Any = None) -> np.ndarray:
    """The words of NumPy's generator."""
    return np.random.Philox(key=np.array([key, domain], np.uint64), counter=counter).random_raw(count)


def bits(keys: np.ndarray, shape: tuple[int, ...], domain: int) -> np.ndarray:
    rows = [words(key, domain, int(np.prod(shape))) for key in keys.ravel()]
    return np.array(rows, np.uint64).reshape(keys.shape + shape)


def folded(key: int, data: int) -> int:
    """The first word of the block of counter (1, data, 0, 0): NumPy adds 1 to a counter before it is used."""
    return words(key, 2, 1, np.array([0, int(data) % WORD, 0, 0], np.uint64))[0]


def reals(keys: np.ndarray, shape: tuple[int, ...], law: str) -> np.ndarray:
    words = bits(keys, shape, 0)
    if law == "fraction":  # what NumPy's generators give as random()
        return (words >> np.uint64(11)) / 2.0**53
    middles = ((words >> np.uint64(12)) + 0.5) / 2.0**52
    return middles if law == "unit" else scipy.special.ndtri(middles)


def high(x: int, y: int) -> int:
    return int(x) * int(y) // WORD


def entries(function: Any) -> Any:
    """A function of Python numbers applied entry by entry."""
    return lambda *xs: np.vectorize(function, otypes=[np.uint64])(*xs)


def quantile(sample_of: Any, a: Any) -> Any:
    """log of the gamma quantile at which the sample stands: what implicit reparameterization differentiates."""
    sample = sample_of()
    _, (key, drawn_a) = drawn(sample)
    z = np.exp(sample.call(key, drawn_a))
    low, p = z < drawn_a, scipy.special.gammainc(drawn_a, z)
    q = scipy.special.gammaincc(drawn_a, z)
    return np.log(np.where(low, scipy.special.gammaincinv(a, p), scipy.special.gammainccinv(a, q)))


def log_gammas(keys: tuple[int, ...], shape: tuple[int, ...]) -> Sample:
    holder: list[Sample] = []
    sample = Sample(
        "random_log_gamma",
        (("key", keys), ("positive", (*keys, *shape))),
        model=partial(quantile, lambda: holder[0]),
    )
    holder.append(sample)
    return sample


SAMPLES = [
    *(
        written(
            "random_bits",
            ("key", keys),
            shape=shape,
            domain=domain,
            reference=partial(bits, shape=shape, domain=domain),
        )
        for keys, shape, domain in [
            ((), (), 0), ((), (3,), 0), ((), (2, 5), 1), ((3,), (3,), 1), ((40,), (5,), 0), ((2,), (0,), 0),
            ((0,), (3,), 0), ((), (1001,), 0),
        ]
    ),
    *(
        written("fold_in", ("key", shape), (data, shape), reference=entries(folded))
        for shape in [(), (3,)]
        for data in ["int", "key"]
    ),
    written("fold_in", ("key", ()), ("int", (4,)), reference=entries(folded)),
    written("multiply_high", ("key", (5,)), ("key", (5,)), reference=entries(high)),
    written("multiply_high", ("key", ()), ("key", ()), reference=entries(high)),
    *(
        written("random_real", ("key", keys), shape=shape, law=law, reference=partial(reals, shape=shape, law=law))
        for law in ("fraction", "unit", "normal")
        for keys, shape in [((), ()), ((), (3,)), ((3,), (2, 2)), ((0,), (3,)), ((), (40_000,))]
    ),
    log_gammas((), ()),
    log_gammas((), (2, 3)),
    log_gammas((3,), (3,)),
    log_gammas((2,), ()),
    log_gammas((), (0,)),
    *(
        Sample("random_poisson", (("key", keys), ("mean", (*keys, *shape))))
        for keys, shape in [((), ()), ((), (6,)), ((2,), (3,)), ((3,), ()), ((), (0, 2))]
    ),
    *(
        Sample("random_binomial", (("key", keys), ("trials", (*keys, *shape)), ("open unit", (*keys, *shape))))
        for keys, shape in [((), ()), ((), (6,)), ((2,), (3,)), ((), (0,))]
    ),
]  # fmt: skip
