"""Ranks, the most common value, and correlations."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, StructureError, check_option, ops
from ...numpy.composite import cast, dtype_of, kind, normalize_axis
from .betas import beta, t
from .distribution import as_floats
from .samples import ModeResult, ensure_propagates, keep_axis, statistic


class CorrelationResult(NamedTuple):
    """A correlation, and the probability of one as far from 0 if there is none."""

    statistic: Any
    pvalue: Any


class LinregressResult(NamedTuple):
    """A line fitted to points: its slope and intercept, their correlation, the probability of a slope as far from 0 if
    there is none, and the standard errors of slope and intercept."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any
    intercept_stderr: Any


def runs(ordered: Any) -> tuple[Any, Any]:
    """Return where runs of equal entries (or of NaN) begin along the last axis, and the position at which each entry's
    run does."""
    n = ordered.shape[-1]
    before, after = ordered[..., :-1], ordered[..., 1:]
    changed = ops.logical_and(ops.not_equal(before, after), ops.equal(before, before))  # NaN is at the end
    begins = fnp.concatenate([fnp.ones((*ordered.shape[:-1], 1), dtype=bool), changed], axis=-1)
    position = np.arange(n)
    return begins, ops.cummax(ops.where(begins, position, 0), axis=ordered.ndim - 1)


@statistic
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The ranks of entries from 1, among all or along an axis.

    `method` says what equal entries get: the "average", "min" or "max" of their ranks, "dense" ranks without gaps, or
    "ordinal" ones, different and in their order. Ranks are constant between ties: their derivative is 0. A NaN makes
    all ranks of its row NaN; so ranks are floating-point numbers, of the dtype of those that are ranked, as SciPy's are
    from 1.18 on.

    Source: C. Spearman, "The proof and measurement of association between two things", 1904.

    Raises:
        StructureError: there is no such `method`.

    >>> print(fx.scipy.stats.rankdata([0.0, 2.0, 3.0, 2.0]))
    [1.  2.5 4.  2.5]
    """
    check_option("rankdata", "method", method, ("average", "min", "max", "dense", "ordinal"))
    ensure_propagates(nan_policy, "rankdata")
    a = ops.stop_gradient(fnp.asarray(a))
    a, along = (fnp.ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    rows = fnp.moveaxis(a, along, -1)
    n = rows.shape[-1]
    floating = kind(rows) == "f"
    dtype = dtype_of(rows) if floating else np.dtype(float)
    if not math.prod(rows.shape):
        return fnp.zeros(a.shape, dtype)
    order = fnp.argsort(rows, axis=-1, stable=True)
    begins, first = runs(fnp.take_along_axis(rows, order, axis=-1))
    if method == "ordinal":
        ranks = fnp.broadcast_to(np.arange(1, n + 1), rows.shape)
    elif method == "dense":
        ranks = fnp.cumsum(begins, axis=-1)
    else:
        ends = fnp.concatenate([begins[..., 1:], fnp.ones((*rows.shape[:-1], 1), dtype=bool)], axis=-1)
        last = ops.cummin(ops.where(ends, np.arange(n), n)[..., ::-1], axis=rows.ndim - 1)[..., ::-1]
        ranks = {"min": first + 1, "max": last + 1, "average": 0.5 * (first + last) + 1}[method]
    ranks = cast(fnp.take_along_axis(ranks, fnp.argsort(order, axis=-1), axis=-1), dtype)
    if floating:
        ranks = ops.where(fnp.any(fnp.isnan(rows), axis=-1, keepdims=True), math.nan, ranks)
    return fnp.moveaxis(ranks, -1, along)


@statistic
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most common value along an axis, the least of several, and how often it occurs.

    Raises:
        ShapeError: the axis is empty.

    >>> value, count = fx.scipy.stats.mode([3, 1, 2, 3, 1])
    >>> print(value, count)
    1 2
    """
    ensure_propagates(nan_policy, "mode")
    a = fnp.asarray(a)
    sample, along = (fnp.ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    ordered = fnp.sort(fnp.moveaxis(sample, along, -1), axis=-1)
    if not ordered.shape[-1]:
        raise ShapeError(
            f"mode: there is no most common value of an empty axis; a has the shape {a.shape}",
            hint="look at a.size first",
        )
    _, first = runs(ordered)
    length = np.arange(1, ordered.shape[-1] + 1) - first
    at = fnp.expand_dims(fnp.argmax(length, axis=-1), -1)
    value = fnp.take_along_axis(ordered, at, axis=-1)[..., 0]
    count = fnp.take_along_axis(length, at, axis=-1)[..., 0]
    return ModeResult(*(keep_axis(v, a, axis, keepdims) for v in (value, count)))


def paired(x: Any, y: Any, axis: int | None, name: str) -> tuple[Any, Any, int, np.dtype]:
    """Return two samples of the same length along their last axis, and that length."""
    (x, y), dtype = as_floats([x, y], name)
    x, y = ((fnp.ravel(v) if axis is None else fnp.moveaxis(v, axis, -1)) for v in (x, y))
    n = x.shape[-1]
    if y.shape[-1] != n:
        raise ShapeError(
            f"{name}: x and y have the same length, not {n} and {y.shape[-1]}",
            hint="pairs: as many entries of y as of x",
        )
    if n < 2:
        raise StructureError(
            f"{name}: x and y have at least two entries, not {n}",
            hint="two pairs or more: of one there is no correlation",
        )
    return x, y, n, dtype


def correlation(x: Any, y: Any) -> Any:
    """The correlation along the last axis, in [-1, 1]."""
    x, y = (v - fnp.mean(v, axis=-1, keepdims=True) for v in (x, y))
    x, y = (v / fnp.max(fnp.abs(ops.stop_gradient(v)), axis=-1, keepdims=True) for v in (x, y))
    product = fnp.sum(x * y, axis=-1) / ops.sqrt(fnp.sum(x * x, axis=-1) * fnp.sum(y * y, axis=-1))
    return ops.maximum(ops.minimum(product, 1.0), -1.0)


@statistic
def pearsonr(x: ArrayLike, y: ArrayLike, *, axis: int | None = 0) -> CorrelationResult:
    """The linear correlation of two samples, and the probability of one as far from 0 for independent normal samples
    (Student, "Probable error of a correlation coefficient", 1908).

    Raises:
        ShapeError: `x` and `y` have different lengths.
        StructureError: they have fewer than two entries.

    >>> result = fx.scipy.stats.pearsonr([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])
    >>> print(f"{result.statistic:.6f}", f"{result.pvalue:.6f}")
    0.800000 0.200000
    """
    x, y, n, dtype = paired(x, y, axis, "pearsonr")
    r = correlation(x, y)
    if n == 2:
        return CorrelationResult(cast(fnp.sign(r), dtype), cast(0 * r + 1, dtype))
    pvalue = 2 * beta.sf(0.5 * (1 + ops.absolute(r)), 0.5 * n - 1, 0.5 * n - 1)
    return CorrelationResult(cast(r, dtype), cast(pvalue, dtype))


@statistic
def spearmanr(
    a: ArrayLike, b: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate"
) -> CorrelationResult:
    """The correlation of the ranks of two samples, and the probability of one as far from 0; with derivative 0.

    Source: C. Spearman, "The proof and measurement of association between two things", 1904.

    Raises:
        ShapeError: `x` and `y` have different lengths.
        StructureError: they have fewer than two entries.

    >>> print(f"{fx.scipy.stats.spearmanr([1.0, 2.0, 3.0], [1.0, 8.0, 27.0]).statistic:.6f}")
    1.000000
    """
    a, b, n, dtype = paired(a, b, axis, "spearmanr")
    r = correlation(*(rankdata(v, axis=-1, nan_policy=nan_policy) for v in (a, b)))
    with np.errstate(divide="ignore"):  # of ranks in the same order the probability is 0
        statistic = ops.absolute(r) * ops.sqrt((n - 2) / ((1 + r) * (1 - r)))
    pvalue = 2 * t.sf(statistic, n - 2) if n > 2 else math.nan + 0 * r
    return CorrelationResult(cast(r, dtype), cast(pvalue, dtype))


@statistic
def linregress(x: ArrayLike, y: ArrayLike) -> LinregressResult:
    """The line of least squares through points (x, y).

    Raises:
        ShapeError: `x` and `y` have different lengths.
        StructureError: they have fewer than two entries.

    >>> line = fx.scipy.stats.linregress([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    >>> print(f"{line.slope:.6f}", f"{line.intercept:.6f}")
    2.000000 1.000000
    """
    x, y, n, dtype = paired(x, y, None, "linregress")
    centre_x, centre_y = fnp.mean(x), fnp.mean(y)
    var_x, var_y = fnp.mean(ops.square(x - centre_x)), fnp.mean(ops.square(y - centre_y))
    slope = fnp.mean((x - centre_x) * (y - centre_y)) / var_x
    intercept = centre_y - slope * centre_x
    r = correlation(x, y)
    if n == 2:
        pvalue, error, intercept_error = 0 * r + ops.where(ops.equal(r, 0), 1.0, 0.0), 0 * r, 0 * r
    else:
        error = ops.sqrt((1 - ops.square(r)) * var_y / var_x / (n - 2))
        intercept_error = error * ops.sqrt(var_x + ops.square(centre_x))
        with np.errstate(divide="ignore"):
            statistic = ops.absolute(r) * ops.sqrt((n - 2) / ((1 + r) * (1 - r)))
        pvalue = 2 * t.sf(statistic, n - 2)
    return LinregressResult(*(cast(v, dtype) for v in (slope, intercept, r, pvalue, error, intercept_error)))
