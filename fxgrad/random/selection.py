"""Random choices among given entries: categories, permutations, samples with and without replacement.

If independent Gumbel numbers are added to log-probabilities, the position of the largest sum is a category drawn with
these probabilities, and the positions of the largest sums are draws without replacement. Many draws with the same
probabilities are found in their cumulative sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.aval import aval_of
from ..core.errors import ShapeError, StructureError
from ..core.shapes import as_shape, refuse_shape
from ..core.typing import Array, ArrayLike, Key, Shape
from ..numpy.composite import ensure
from .continuous import gumbel
from .discrete import randint
from .keys import check_one_key
from .parameters import as_real_parameter, common_shape, random_words, uniform_fraction


def largest_positions(x: Any, count: int, axis: int) -> Any:
    """Return the positions of the largest entries along an axis, in descending order."""
    order = ops.argsort(-x, axis=axis)
    return order[(slice(None),) * axis + (slice(count),)]


def ensure_enough(possible: Any, draws: int, name: str) -> None:
    """Raise where along the last axis fewer entries than are to be drawn can be; of known values only."""
    enough = ops.greater_equal(fnp.count_nonzero(possible, axis=-1), draws)
    ensure(
        enough,
        f"{name}: fewer than {draws} entries of positive probability to draw from",
        "fewer draws, or replace=True",
    )


def check_flag(value: Any, name: str, argument: str) -> None:
    """Raise StructureError unless an argument is True or False: another may have been meant for one of its
    neighbours."""
    if not isinstance(value, bool | np.bool_):
        raise StructureError(
            f"{name}: {argument} is True or False, not {value!r}",
            hint="arguments after the shape by their names",
        )


def draw_positions(key: Key, p: Any, shape: tuple[int, ...]) -> Any:
    """Return independent positions in one list of weights, in memory of their number and that of the weights."""
    total = fnp.cumsum(p, dtype=float)
    return ops.searchsorted(total, total[-1] * (1 - uniform_fraction(key, shape)), side="left")


def categorical(
    key: Key, logits: ArrayLike, axis: int = -1, shape: Shape = None, replace: bool = True
) -> Array:
    """Categories: the positions of entries, with probabilities proportional to e^logits.

    Args:
        key: a key.
        logits: logarithms of the probabilities, up to a constant, along `axis`; −∞ is never drawn.
        axis: the axis of the categories.
        shape: the shape of the result; it ends in that of logits without the axis, or in what that broadcasts to, and
            is that by default. What it begins with counts draws.
        replace: whether draws are independent; if not, no two have the same category, and the first axes of `shape`
            hold them in the order in which they are drawn.

    Returns:
        int64 array.

    Raises:
        ShapeError: the shape does not fit, or more draws without replacement than categories of positive probability.
            (That of traced logits is not known: under `jit` and `vmap` the others are then drawn last.)
        StructureError: `replace` is not True or False.

    >>> fx.random.categorical(fx.random.key(0), np.log([0.1, 0.6, 0.3]), shape=(8,))
    array([2, 2, 2, 1, 1, 2, 0, 0])
    """
    check_flag(replace, "categorical", "replace")
    key, logits = check_one_key(key, "categorical"), as_real_parameter(logits, "categorical")
    sizes = aval_of(logits).shape
    if not sizes:
        raise ShapeError(
            "categorical: logits have at least one axis",
            hint="logits[None]; of one category there is nothing to draw",
        )
    logits = fnp.moveaxis(logits, axis, -1)
    *batch, count = aval_of(logits).shape
    shape = common_shape(shape, "categorical", tuple(batch))
    if count == 0 and math.prod(shape):
        raise ShapeError(
            "categorical: there are no categories to draw from", hint="logits.shape[axis] from 1 on"
        )
    if replace and shape and not batch:
        largest = fnp.max(logits)
        return draw_positions(key, fnp.where(logits == largest, 1.0, fnp.exp(logits - largest)), shape)
    if replace:
        scores = ops.add(gumbel(key, (*shape, count)), logits)
        return ops.argmax(scores, axis=len(shape))
    draws = shape[: len(shape) - len(batch)]
    if shape[len(draws) :] != tuple(batch) or math.prod(draws) > count:
        raise ShapeError(
            f"categorical: the shape {shape} without replacement, for logits of {count} categories and the shape "
            f"{tuple(batch)} without that axis",
            hint="shape = (*draws, *batch) with at most as many draws as categories",
        )
    ensure_enough(ops.greater(logits, -math.inf), math.prod(draws), "categorical")
    found = largest_positions(gumbel(key, (*batch, count)) + logits, math.prod(draws), len(batch))
    return ops.reshape(fnp.moveaxis(found, -1, 0), shape=shape)


def permutation(key: Key, x: ArrayLike, axis: int = 0, independent: bool = False) -> Array:
    """The entries of an array in random order.

    Args:
        key: a key.
        x: an array, or an integer n for the numbers 0, …, n − 1.
        axis: the axis along which entries are permuted.
        independent: whether every row along the axis gets an order of its own.

    Returns:
        Array of the shape and dtype of x, differentiable in it.

    Raises:
        ShapeError: `x` is neither an array with axes nor an integer.
        StructureError: `independent` is not True or False, or `x` a shape.

    >>> fx.random.permutation(fx.random.key(0), 5)
    array([0, 2, 1, 4, 3])
    """
    check_flag(independent, "permutation", "independent")
    key, x = check_one_key(key, "permutation"), as_entries(x, "permutation")
    axis = range(x.ndim)[axis]
    if independent:
        return fnp.take_along_axis(x, ops.argsort(random_words(key, x.shape), axis=axis), axis)
    return fnp.take(x, ops.argsort(random_words(key, (x.shape[axis],)), axis=0), axis)


def as_entries(x: ArrayLike, name: str) -> Array:
    """Return the array to choose from."""
    refuse_shape(x, name)
    if fnp.ndim(x) == 0 and fnp.result_type(x).kind in "iu":
        return fnp.arange(x)
    x = fnp.asarray(x)
    if not x.shape:
        raise ShapeError(
            f"{name}: an array with axes, or the number of integers to choose from, is needed, not {x!r}",
            hint="fnp.arange(n), or n as an integer",
        )
    return x


def check_draws(count: int, draws: int, replace: bool, shape: tuple[int, ...] | None) -> None:
    """Raise ShapeError unless there are enough entries for the draws of `choice`, and a probability, which have this
    shape, for each."""
    if draws and (count < 1 or (not replace and draws > count)):
        raise ShapeError(
            f"choice: {draws} draws from {count} entries{'' if replace else ' without replacement'}",
            hint=f"at most {count} draws, or replace=True" if count > 0 else "an array that is not empty",
        )
    if shape is not None and shape != (count,):
        raise ShapeError(
            f"choice: p has the shape {shape}, the axis has {count} entries", hint=f"p of shape {(count,)}"
        )


def choice(
    key: Key, a: ArrayLike, shape: Shape = (), replace: bool = True, p: ArrayLike | None = None, axis: int = 0
) -> Array:
    """Entries of an array, drawn at random.

    Args:
        key: a key.
        a: an array, or an integer n for the numbers 0, …, n − 1.
        shape: the shape of the draws.
        replace: whether an entry may be drawn more than once.
        p: probabilities along the axis, up to a factor; all are alike by default.
        axis: the axis along which entries are drawn.

    Returns:
        Array of the shape of `a` with the axis replaced by `shape`, differentiable in `a`.

    Raises:
        ShapeError: p has another shape than (a.shape[axis],), or a negative entry, or more draws without replacement
            than entries of positive probability. (Under `jit` and `vmap` the entries of p are not known.)
        StructureError: `replace` is not True or False, or `a` a shape.

    >>> fx.random.choice(fx.random.key(0), 10, (4,), replace=False)
    array([0, 2, 9, 1])
    """
    key, a, shape = check_one_key(key, "choice"), as_entries(a, "choice"), as_shape(shape, "choice")
    check_flag(replace, "choice", "replace")
    axis = range(a.ndim)[axis]
    count, draws = a.shape[axis], math.prod(shape)
    p = None if p is None else as_real_parameter(p, "choice")
    check_draws(count, draws, replace, None if p is None else aval_of(p).shape)
    if p is not None:
        ensure(
            ops.greater_equal(p, 0),
            "choice: p has an entry that is negative or NaN",
            "nn.softmax of any numbers, or fnp.clip(p, 0)",
        )
        possible = ops.greater(p, 0)
        if draws:
            ensure_enough(possible, 1 if replace else draws, "choice")
    if not replace:
        if p is None:
            noise = random_words(key, (count,))
        else:
            logits = ops.where(possible, ops.log(ops.where(possible, p, 1.0)), -math.inf)
            noise = -(gumbel(key, (count,)) + logits)
        index = ops.reshape(ops.argsort(noise, axis=0)[:draws], shape=shape)
    elif p is None:
        index = randint(key, shape, 0, count)
    else:
        index = draw_positions(key, p, shape)
    return fnp.take(a, index, axis)


__all__ = ["categorical", "choice", "permutation"]
