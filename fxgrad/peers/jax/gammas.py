"""Gamma numbers as JAX draws them: each entry has a key of its own, and rejects with it (Marsaglia and Tsang, "A simple
method for generating gamma variables", 2000)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of
from ...scipy import special
from ...transforms.custom.jvp_vjp import custom_jvp
from . import threefry
from .loops import loop


def split_each(words: Any, num: int) -> list[Any]:
    """Return for each of the keys, which lie along the first axis, so many others."""
    low = np.arange(num, dtype=np.uint32)
    first, second = threefry.compiled(words[:, 0, None], words[:, 1, None], np.zeros_like(low), low)
    parts = fnp.stack([first, second], axis=-1)
    return [parts[:, i] for i in range(num)]


def uniform_each(words: Any, dtype: Any) -> Any:
    """Return one uniform number for each of the keys."""
    zero = np.zeros((), np.uint32)
    high, low = threefry.compiled(words[:, 0], words[:, 1], zero, zero)
    if dtype.itemsize == 8:
        return threefry.fraction((high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64), dtype)
    mixed = high ^ low
    return threefry.fraction(mixed if dtype.itemsize == 4 else mixed.astype(np.uint16), dtype)


def normal_each(words: Any, dtype: Any) -> Any:
    """Return one normal number for each of the keys."""
    low = np.nextafter(dtype.type(-1), dtype.type(0), dtype=dtype)
    u = fnp.maximum(low, uniform_each(words, dtype) * (dtype.type(1) - low) + low)
    return dtype.type(math.sqrt(2)) * special.erfinv(u).astype(dtype)


def keep(done: Any, old: Any, new: Any) -> Any:
    """Return the old state where an entry is done, the new one elsewhere."""
    return tuple(
        [fnp.where(done if o.ndim == 1 else done[:, None], o, n) for o, n in zip(old, new, strict=True)]
    )


@custom_jvp
def draw_log_gammas(words: Any, a: Any) -> Any:
    """Return the logarithms of gamma numbers, one for each entry of `a`."""
    dtype, shape = aval_of(a).dtype, aval_of(a).shape
    one, third = dtype.type(1), dtype.type(1 / 3)
    given = fnp.reshape(a, (-1,))
    is_large = given >= 1
    raised = fnp.where(is_large, given, given + one)
    d = raised - third
    c = third / fnp.sqrt(d)

    def draw_root(state: Any) -> Any:
        keys, _, v = state
        rest, part = split_each(keys, 2)
        new = normal_each(part, dtype)
        return keep(v > 0, state, (rest, new, one + new * c))

    def is_rejected(x: Any, v: Any, u: Any) -> Any:
        far = u >= one - dtype.type(0.0331) * (x * x)
        return fnp.logical_and(far, fnp.log(u) >= x * dtype.type(0.5) + d * ((one - v) + fnp.log(v)))

    def step(state: Any) -> Any:
        keys, x, v, u = state
        rest, for_root, for_u = split_each(keys, 3)
        start = (for_root, fnp.zeros_like(x), fnp.zeros_like(x) - one)
        _, root, cube = loop(lambda s: fnp.any(s[2] <= 0), draw_root, start)
        new = (rest, root * root, cube * cube * cube, uniform_each(for_u, dtype))
        return keep(fnp.logical_not(is_rejected(x, v, u)), state, new)

    flat = threefry.split_words(words, (math.prod(shape),))
    keys, for_boost = split_each(flat, 2)
    zero = fnp.zeros_like(given)
    state = (keys, zero, zero + one, zero + dtype.type(2))
    _, _, v, _ = loop(lambda s: fnp.any(is_rejected(*s[1:])), step, state)
    boost = fnp.log1p(-uniform_each(for_boost, dtype))
    boost = fnp.where(fnp.logical_or(is_large, boost == 0), zero, boost * (one / given))
    return fnp.reshape(fnp.log(d) + fnp.log(v) + boost, shape)


@draw_log_gammas.defjvp
def move_log_gammas(primals: Any, tangents: Any) -> Any:
    """Return how the numbers move such that the distribution function stays what it is."""
    words, a = primals
    drawn = draw_log_gammas(words, a)
    return drawn, (tangents[1] * ops.gamma_shift(a, drawn)).astype(drawn.dtype)
