"""`fxgrad.scipy.cluster.vq`: vector quantization and k-means (Lloyd, "Least squares quantization in PCM", 1982)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import random as fxrandom
from ...extend import (
    Array,
    ArrayLike,
    ShapeError,
    StructureError,
    aval_of,
    check_option,
    ops,
    show_public_names,
)
from ...numpy.composite import cast, composite
from ..stats.distribution import as_floats

__all__ = ["kmeans", "kmeans2", "vq", "whiten"]


@composite()
def whiten(obs: ArrayLike, check_finite: bool = True) -> Array:
    """The observations `obs` [n, d] with each column divided by its standard deviation, where it has one.
    `check_finite` has no effect: NaN and ∞ are handed on.

    >>> print(fx.scipy.cluster.vq.whiten([[0.0, 1.0], [2.0, 1.0]]))
    [[0. 1.]
     [2. 1.]]
    """
    (obs,), dtype = as_floats([obs], "whiten")
    var = fnp.var(obs, axis=0)
    flat = ops.equal(var, 0)
    return cast(obs / ops.where(flat, 1.0, ops.sqrt(ops.where(flat, 1.0, var))), dtype)


@composite()
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Find for each observation the nearest row of a code book.

    Args:
        obs: observations [n, d], or [n] for single numbers.
        code_book: [k, d], or [k].
        check_finite: has no effect: NaN and ∞ are handed on.

    Returns:
        (The positions of the nearest rows [n], the distances from them [n]); the distances are differentiable, with
        derivative 0 where they are 0.

    Raises:
        ShapeError: observations and code book have not the same number of columns.

    >>> code, distance = fx.scipy.cluster.vq.vq([[1.0, 1.0], [5.0, 4.0]], [[1.0, 0.0], [5.0, 4.0]])
    >>> print(code, distance)
    [0 1] [1. 0.]
    """
    (obs, code_book), dtype = as_floats([obs, code_book], "vq")
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2) or obs.shape[1:] != code_book.shape[1:]:
        raise ShapeError(
            f"vq: observations [n, d] and a code book [k, d] are needed, not shapes {obs.shape} and {code_book.shape}",
            hint="obs.reshape(len(obs), -1), and a code book with as many columns",
        )
    obs, code_book = (v[:, None] if v.ndim == 1 else v for v in (obs, code_book))
    code = fnp.argmin(fnp.sum(ops.square(obs[:, None] - code_book), axis=-1), axis=-1)
    distance = fnp.linalg.norm(obs - fnp.take(code_book, code, axis=0), axis=-1)
    return code, cast(distance, dtype)


@composite()
def kmeans2(
    data: ArrayLike,
    k: Any,
    iter: int = 10,
    thresh: float = 1e-5,
    minit: str = "random",
    missing: str = "warn",
    check_finite: bool = True,
    *,
    rng: Any = None,
) -> tuple[Array, Array]:
    """Divide observations into k clusters by steps of Lloyd's algorithm.

    Args:
        data: observations [n, d], or [n].
        k: how many clusters, or (with `minit="matrix"`, and whatever `minit` is for an array) the centres [k, d] to
            start from.
        iter: how many steps.
        thresh: has no effect, as in SciPy.
        minit: where the centres start: "random" normal numbers with the covariance of the data, "points" of the data,
            "++" points far from each other (Arthur and Vassilvitskii, "k-means++", 2007), or the "matrix" k.
        missing: has no effect: a cluster without observations keeps its centre, and there is no warning.
        check_finite: has no effect.
        rng: a key of `fxgrad.random`, where centres are drawn.

    Returns:
        (The centres [k, d], the positions of the nearest centres [n]); the centres are differentiable in the data.

    Raises:
        StructureError: `iter` is not positive, there is no such `minit`, or no `rng`.
        ShapeError: the centres have not the axes of the observations.

    >>> centres, label = fx.scipy.cluster.vq.kmeans2([0.0, 1.0, 8.0, 10.0], [0.0, 5.0], minit="matrix")
    >>> print(centres, label)
    [0.5 9. ] [0 0 1 1]
    """
    check_option("kmeans2", "minit", minit, ("random", "points", "++", "matrix"))
    if int(iter) < 1:
        raise StructureError(
            f"kmeans2: iter is a positive number of steps, not {iter}", hint="iter=10, the default"
        )
    (data,), dtype = as_floats([data], "kmeans2")
    rows = data[:, None] if data.ndim == 1 else data
    if minit == "matrix" or np.ndim(k):
        (centres,), _ = as_floats([k], "kmeans2")
        centres = centres[:, None] if data.ndim == 1 else centres
        if centres.shape[1:] != rows.shape[1:]:
            raise ShapeError(
                f"kmeans2: centres of shape {centres.shape} for data with {rows.shape[1]} columns",
                hint="centres[None] for a single one, or as many columns as the data have",
            )
    else:
        if rng is None:
            raise StructureError(
                f"kmeans2: minit={minit!r} draws random numbers, which need a key",
                hint="rng=fx.random.key(0)",
            )
        centres = draw_centres(rows, int(k), minit, rng)
    count = centres.shape[0]
    for _ in range(int(iter)):
        label, _ = vq(rows, centres)
        members = cast(ops.equal(label[:, None], np.arange(count)), aval_of(rows).dtype)
        size = fnp.sum(members, axis=0)[:, None]
        empty = ops.equal(size, 0)
        centres = ops.where(empty, centres, (members.T @ rows) / ops.where(empty, 1.0, size))
    centres = cast(centres[:, 0] if data.ndim == 1 else centres, dtype)
    return centres, label


def draw_centres(rows: Any, count: int, minit: str, key: Any) -> Any:
    """Draw the centres from which the clusters start."""
    n = rows.shape[0]
    if minit == "points":
        return fnp.take(rows, fxrandom.choice(key, n, (count,), replace=False), axis=0)
    if minit == "random":
        cov = fnp.atleast_2d(fnp.cov(rows, rowvar=False))
        return fxrandom.multivariate_normal(key, fnp.mean(rows, axis=0), cov, (count,), method="svd")
    keys = fxrandom.split(key, count)
    centres = fnp.take(rows, fxrandom.choice(keys[0], n, (1,)), axis=0)
    for i in range(1, count):
        nearest = ops.square(vq(rows, centres)[1])
        weights = nearest / fnp.sum(nearest)
        centres = fnp.concatenate(
            [centres, fnp.take(rows, fxrandom.choice(keys[i], n, (1,), p=weights), axis=0)]
        )
    return centres


@composite()
def kmeans(
    obs: ArrayLike,
    k_or_guess: Any,
    iter: int = 20,
    thresh: float = 1e-5,
    check_finite: bool = True,
    *,
    rng: Any = None,
) -> tuple[Array, Array]:
    """Find the centres of k clusters by Lloyd's algorithm, until the mean distance changes by no more than `thresh`.

    Args:
        obs: observations [n, d], or [n], whose values are known: under `jit` and `vmap` use `kmeans2`.
        k_or_guess: how many clusters, or the centres [k, d] to start from.
        iter: from how many draws of centres the best is taken, where they are drawn.
        thresh: the change of the mean distance that ends the steps.
        check_finite: has no effect.
        rng: a key of `fxgrad.random`, where centres are drawn.

    Returns:
        (The centres [k, d], of which those without observations are left out; the mean distance from them.)

    Raises:
        StructureError: `iter` or the number of clusters is not positive, or there is no `rng`.

    >>> centres, distance = fx.scipy.cluster.vq.kmeans([0.0, 1.0, 8.0, 10.0], [0.0, 5.0])
    >>> print(centres, distance)
    [0.5 9. ] 0.75
    """
    if int(iter) < 1:
        raise StructureError(f"kmeans: iter is a positive number, not {iter}", hint="iter=20, the default")
    (obs,), dtype = as_floats([obs], "kmeans")
    rows = obs[:, None] if obs.ndim == 1 else obs
    if np.ndim(k_or_guess):
        (guess,), _ = as_floats([k_or_guess], "kmeans")
        starts = [guess[:, None] if obs.ndim == 1 else guess]
    else:
        if int(k_or_guess) < 1:
            raise StructureError(
                f"kmeans: k_or_guess is a positive number of clusters, not {k_or_guess}",
                hint="a number of clusters from 1 on, or their first centres",
            )
        if rng is None:
            raise StructureError(
                "kmeans: centres are drawn, which needs a key",
                hint="rng=fx.random.key(0), or the first centres as k_or_guess",
            )
        starts = [
            draw_centres(rows, int(k_or_guess), "points", key) for key in fxrandom.split(rng, int(iter))
        ]
    found = [settle(rows, start, thresh) for start in starts]
    centres, distance = min(found, key=lambda pair: float(pair[1]))
    return cast(centres[:, 0] if obs.ndim == 1 else centres, dtype), cast(distance, dtype)


def settle(rows: Any, centres: Any, thresh: float) -> tuple[Any, Any]:
    """Move centres until the mean distance from them does not change."""
    previous = math.inf
    while True:
        label, distance = vq(rows, centres)
        mean = fnp.mean(distance)
        if not previous - float(mean) > thresh:
            return centres, mean
        previous = float(mean)
        members = cast(ops.equal(label[:, None], np.arange(centres.shape[0])), aval_of(rows).dtype)
        size = fnp.sum(members, axis=0)
        used = fnp.flatnonzero(size)
        centres = (members.T @ rows)[used] / size[used][:, None]


show_public_names(__name__)
