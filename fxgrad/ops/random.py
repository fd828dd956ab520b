"""Random numbers: pure functions of keys.

A key is a uint64. A primitive takes keys of any shape, which gives the leading axes of the result. So a batch of keys
is simply an array of more keys, and mapped and unmapped calls give the same bits.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..kernels import philox, sampling, special
from .kinds import elementwise, general
from .special import gamma_shift

UINT64 = np.dtype(np.uint64)
DRAW, SPLIT = philox.DRAW, philox.SPLIT


# -- bits ------------------------------------------
def draw(xp: Any, key: Any, shape: tuple[int, ...], domain: int, law: str | None = None) -> Any:
    """Draw words for keys of any shape, or numbers of a law."""
    keys, count, found = xp.reshape(xp.asarray(key), (-1,)), math.prod(shape), None
    if xp is np:
        found = philox.native_stream("draw")(keys, domain, count, law)
    if found is None:
        found = philox.stream(xp, keys, domain, count)
        if law is not None:
            found = special.map_chunks(xp, partial(LAWS[law], xp), xp.reshape(found, (-1,)))
    found = xp.reshape(found, (*key.shape, *shape))
    return found[()] if xp is np else found


# The words of the key's stream in one of Philox's domains: draws, or the keys that come of a split.
random_bits = general(
    "random_bits",
    lambda xp: lambda key, *, shape, domain: draw(xp, key, shape, domain),
    abstract_rule=lambda self, key, *, shape, domain: Aval((*key.shape, *shape), UINT64),
    tangent_rule=None,
    batch_rule=lambda key, *, size, shape, domain: random_bits(key, shape=shape, domain=domain),
)


# What becomes of random words, each by itself.
LAWS = {
    "fraction": special.uniform_from_bits,
    "unit": special.open_uniform_from_bits,
    "normal": lambda xp, words: special.normal_quantile(xp, special.open_uniform_from_bits(xp, words)),
}


# Numbers in float64 from the draws of random_bits: multiples of 2⁻⁵³ in [0, 1), numbers inside (0, 1), or their normal
# quantiles. One primitive, which makes no large arrays of words on the way: these take half as long again.
random_real = general(
    "random_real",
    lambda xp: lambda key, *, shape, law: draw(xp, key, shape, DRAW, law),
    abstract_rule=lambda self, key, *, shape, law: Aval((*key.shape, *shape), np.dtype(float)),
    tangent_rule=None,
    batch_rule=lambda key, *, size, shape, law: random_real(key, shape=shape, law=law),
)


def fold_in_kernel(xp: Any) -> Any:
    def words(x: Any, shape: tuple[int, ...]) -> Any:
        if type(x) is int and xp is not np:
            x = xp.full((), x % 2**64, dtype=xp.uint64)
        x = xp.astype(xp.asarray(x), xp.uint64)
        return xp.reshape(x if x.shape == shape else xp.broadcast_to(x, shape), (-1,))

    def fold_in(key: Any, data: Any) -> Any:
        shape = np.broadcast_shapes(np.shape(key), np.shape(data))
        keys, numbers, folded = words(key, shape), words(data, shape), None
        if xp is np:
            folded = philox.native_stream("fold")(keys, numbers)
        if folded is None:
            folded = philox.blocks(xp, keys, philox.FOLD, xp.ones_like(keys), numbers)[:, 0]
        folded = xp.reshape(folded, shape)
        return folded[()] if xp is np else folded

    return fold_in


fold_in = elementwise("fold_in", None, None, kernel=fold_in_kernel)


def multiply_high_kernel(xp: Any) -> Any:
    def multiply_high(x: Any, y: Any) -> Any:
        x, y = (xp.astype(xp.asarray(v), xp.uint64) for v in (x, y))
        return philox.multiply_high(x, y)

    return multiply_high


# The upper half of the product of two uint64: an integer below y for a random x.
multiply_high = elementwise("multiply_high", None, None, kernel=multiply_high_kernel)


# -- the gamma distribution ------------------------------------------
def log_gamma_tangent(w: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Implicit reparameterization (Figurnov, Mohamed and Mnih, 2018): the sample moves so that the distribution
    function stays as it is."""
    (_, a), (_, t) = primals, tangents
    return t * gamma_shift(a, w)


def sampler_aval(dtype: Any) -> Any:
    """Return the abstract rule of a sampler, whose result has the shape of its parameters."""
    return lambda self, key, *parameters: Aval(parameters[0].shape, np.dtype(dtype))


# The logarithm of a gamma variable of shape a, which is not lost where the variable itself is below all numbers.
random_log_gamma = general(
    "random_log_gamma",
    sampling.sampler(sampling.sample_log_gamma),
    abstract_rule=sampler_aval(np.float64),
    tangent_rule=log_gamma_tangent,
    batch_rule=lambda key, a, *, size: random_log_gamma(key, a),
)

# -- counts ------------------------------------------
random_poisson = general(
    "random_poisson",
    sampling.sampler(sampling.sample_poisson),
    abstract_rule=sampler_aval(np.int64),
    tangent_rule=None,
    batch_rule=lambda key, mean, *, size: random_poisson(key, mean),
)
random_binomial = general(
    "random_binomial",
    sampling.sampler(sampling.sample_binomial),
    abstract_rule=sampler_aval(np.int64),
    tangent_rule=None,
    batch_rule=lambda key, n, p, *, size: random_binomial(key, n, p),
)
