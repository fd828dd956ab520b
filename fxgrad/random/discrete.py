"""Random integers and booleans. None of them is differentiable: parameters have derivative 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.aval import aval_of, kind_of
from ..core.errors import DTypeError
from ..core.shapes import as_shape, refuse_shape
from ..core.typing import Array, ArrayLike, DType, Key, Shape
from ..numpy.composite import ensure
from .keys import UINT64, check_one_key
from .laws import DISCRETE, chapter
from .parameters import (
    broadcast_if_needed,
    common_shape,
    integer_dtype,
    random_words,
    read_dtype,
    sampler,
    uniform_fraction,
    uniform_open,
)

INTEGERS = "an integer dtype, int64 by default"


@sampler(chapter(DISCRETE, 3), checked=None, p="the probability of True")
def bernoulli(key: Key, p: ArrayLike = 0.5, shape: Shape = None) -> Array:
    """True with probability p, exact to 2⁻⁵³.

    >>> fx.random.bernoulli(fx.random.key(0), 0.3, (4,))
    array([ True,  True,  True, False])
    """
    possible = ops.logical_and(ops.greater_equal(p, 0), ops.less_equal(p, 1))
    ensure(
        possible,
        "bernoulli: p is not between 0 and 1",
        "nn.sigmoid of any number; a shape is given as shape=",
    )
    return ops.less(uniform_fraction(key, shape), p)


def signed_dtype(dtype: Any, name: str) -> Any:
    """Return a dtype of signed numbers; None is int64."""
    dtype = read_dtype(np.int64 if dtype is None else dtype, name)
    if kind_of(dtype) not in "ifc":
        raise DTypeError(f"{name}: dtype is one of signed numbers, not {dtype}", hint="dtype=int or float")
    return dtype


@sampler(checked=signed_dtype, dtype="a dtype of signed numbers, int64 by default")
def rademacher(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """−1 or 1 with equal probabilities; of any signed dtype, int64 by default.

    >>> fx.random.rademacher(fx.random.key(0), (3,))
    array([-1, -1, -1])
    """
    first = ops.right_shift(random_words(key, shape), np.uint64(63))
    return 2 * ops.convert(first, dtype=np.dtype(np.int64)) - 1


def randint(key: Key, shape: Shape, minval: ArrayLike, maxval: ArrayLike, dtype: DType = None) -> Array:
    """Integers from minval up to, but not including, maxval.

    Args:
        key: a key.
        shape: the shape of the result.
        minval, maxval: the bounds: integers, or arrays of them that broadcast to the shape. A bound that `dtype` does
            not hold is replaced by the nearest that it does, except that maxval may be one more, to include the last.
        dtype: an integer dtype, int64 by default.

    Returns:
        Array of the given shape and dtype, minval where maxval ≤ minval. An integer is ⌊w·n/2⁶⁴⌋ for a word w of 64
        bits and n = maxval − minval, so that probabilities differ from 1/n by at most 2⁻⁶⁴.

    Raises:
        DTypeError: the bounds or the dtype are not integers.
        ShapeError: the bounds do not broadcast to the shape.

    >>> fx.random.randint(fx.random.key(0), (8,), 0, 10)
    array([0, 2, 1, 5, 5, 2, 9, 9])
    """
    dtype = integer_dtype(dtype, "randint")
    limits = np.iinfo(dtype)
    low, _ = clip_bound(minval, limits)
    high, beyond = clip_bound(maxval, limits)
    shape = common_shape(as_shape(shape, "randint"), "randint", aval_of(low).shape, aval_of(high).shape)
    low = ops.convert(low, dtype=UINT64)
    # Modulo 2⁶⁴, where differences and sums of either sign come out right; 0 stands for 2⁶⁴ itself.
    span = ops.add(ops.subtract(ops.convert(high, dtype=UINT64), low), ops.convert(beyond, dtype=UINT64))
    random = random_words(check_one_key(key, "randint"), shape)
    offset = ops.where(ops.equal(span, np.uint64(0)), random, ops.multiply_high(random, span))
    empty = ops.logical_not(ops.logical_or(beyond, ops.greater(high, clip_bound(minval, limits)[0])))
    offset = ops.where(empty, np.uint64(0), offset)
    return broadcast_if_needed(ops.convert(ops.add(low, offset), dtype=dtype), shape)


def clip_bound(value: Any, limits: Any) -> tuple[Any, Any]:
    """Clip a bound to the limits of a dtype, as int64 or uint64; return it, and whether it was above them."""
    wide = np.dtype(np.int64 if limits.kind == "i" else np.uint64)
    if type(value) is int:
        clipped = min(max(value, int(limits.min)), int(limits.max))
        return np.asarray(clipped, wide), np.asarray(value > limits.max)
    refuse_shape(value, "randint")
    value = as_value(value)
    aval = aval_of(value)
    if aval.dtype.kind not in "iub":
        raise DTypeError(
            f"randint: bounds are integers, not {aval!r}",
            hint="int(…) of the bound, or uniform(key, shape, minval, maxval) for real numbers",
        )
    beyond = ops.greater(value, np.asarray(limits.max, wide))
    below = ops.less(value, np.asarray(limits.min, wide))
    inner = ops.convert(value, dtype=wide)
    inner = ops.where(beyond, np.asarray(limits.max, wide), inner)
    return ops.where(below, np.asarray(limits.min, wide), inner), beyond


@sampler(checked=integer_dtype, lam="the mean; negative numbers and NaN give −1", dtype=INTEGERS)
def poisson(key: Key, lam: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """Poisson counts of mean `lam`: by inversion below 10, by transformed rejection above (Hörmann, 1993).

    >>> fx.random.poisson(fx.random.key(0), 3.0, (8,))
    array([0, 3, 2, 3, 2, 1, 4, 3])
    """
    return ops.random_poisson(key, broadcast_if_needed(lam, shape))


@sampler(
    n="the number of trials, a non-negative integer; otherwise the result is NaN",
    p="the probability; NaN outside [0, 1]",
    dtype="a real floating dtype, as in JAX; float64 by default",
)
def binomial(key: Key, n: Any, p: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """The number of successes in n trials of probability p: by inversion for small n·p, otherwise by transformed
    rejection (Hörmann, 1993).

    >>> fx.random.binomial(fx.random.key(0), 10, 0.5, (5,))
    array([2., 5., 4., 5., 4.])
    """
    count = ops.random_binomial(key, broadcast_if_needed(n, shape), broadcast_if_needed(p, shape))
    return ops.where(ops.less(count, 0), math.nan, count)


@sampler(chapter(DISCRETE, 5), checked=integer_dtype, p="the probability, in (0, 1]", dtype=INTEGERS)
def geometric(key: Key, p: ArrayLike, shape: Shape = None, dtype: DType = None) -> Array:
    """The number of trials of probability p up to the first success; −1 where p is not in (0, 1].

    >>> fx.random.geometric(fx.random.key(0), 0.25, (3,))
    array([16,  5,  8])
    """
    valid = ops.logical_and(ops.greater(p, 0), ops.less_equal(p, 1))
    sure = ops.greater_equal(p, 1)
    failure = ops.log1p(-ops.where(ops.logical_and(valid, ops.logical_not(sure)), p, 0.5))
    count = ops.where(sure, 1.0, ops.floor(ops.log(uniform_open(key, shape)) / failure) + 1)
    dtype = np.dtype(dtype)
    most = float(2 ** (8 * dtype.itemsize - (dtype.kind == "i"))) * (1 - 2.0**-53)
    return ops.where(valid, ops.minimum(count, most), -1.0)


__all__ = ["bernoulli", "binomial", "geometric", "poisson", "rademacher", "randint"]
