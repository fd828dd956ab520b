"""Order statistics and covariances.

A median or quantile is an entry, or lies between two: its derivative goes to these, in proportion to their weights. If
a slice contains NaN, the result is NaN and its derivative goes to a NaN, except in the functions that ignore NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.common_errors import wrong_shape
from ..core.errors import DTypeError, IndexingError, ShapeError
from ..core.typing import Array, ArrayLike, Axis, DType
from .composite import cast, composite, dtype_of, ensure, kind, normalize_axes, operand
from .contraction import dot
from .elementwise import clip
from .joining import concatenate
from .manipulation import atleast_2d, diagonal, entry_count, expand_dims, squeeze, transpose
from .reductions import average, mean, sum, weights_along


# -- order statistics ------------------------------------------
def move_sample_first(a: Any, axis: Any) -> Any:
    """Make the given axes into one, the first."""
    axes = normalize_axes(axis, a.ndim)
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    shape = (entry_count(a.shape[i] for i in axes), *(a.shape[i] for i in rest))
    return ops.reshape(ops.permute(a, axes=(*axes, *rest)), shape=shape)


def restore_sample_axes(y: Any, lead: tuple[int, ...], a: Any, axis: Any, keepdims: Any) -> Any:
    """Reshape results for the samples in `a`: axes `lead` first, then those of `a`; reduced ones are of
    length one, or gone."""
    axes = normalize_axes(axis, a.ndim)
    rest = (1 if i in axes else n for i, n in enumerate(a.shape) if keepdims or i not in axes)
    return ops.reshape(y, shape=(*lead, *rest))


def can_have_nan(a: Any) -> bool:
    """Whether there can be NaN among the entries."""
    return kind(a) in "fc"


def count_numbers(rows: Any) -> Any:
    """Count the entries along the first axis that are not NaN."""
    return ops.reduce_sum(cast(ops.logical_not(ops.isnan(rows)), np.intp), axes=(0,))


def propagate_nan(y: Any, rows: Any) -> Any:
    """Return results for sorted rows, NaN where an entry is."""
    if not can_have_nan(rows):
        return y
    last = rows[-1]
    return ops.where(ops.isnan(last), last, y)


@composite(np.median)
def median(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The middle entry of the sorted ones, or the mean of the two middle ones.

    >>> fx.grad(fnp.median)(fnp.array([7.0, 1.0, 5.0, 3.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    a = operand(a)
    rows = ops.sort(move_sample_first(a, axis), axis=0)
    count = rows.shape[0]
    y = mean(rows[max(count - 1, 0) // 2 : count // 2 + 1], axis=0)
    return restore_sample_axes(propagate_nan(y, rows) if count else y, (), a, axis, keepdims)


@composite(np.nanmedian)
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: Any = False
) -> Array:
    """The median of the entries along axes, without NaN; NaN entries have derivative 0.

    >>> fnp.nanmedian(fnp.array([1.0, fnp.nan, 3.0]))
    np.float64(2.0)
    """
    a = operand(a)
    if not can_have_nan(a) or not a.size:
        return median(a, axis, keepdims=keepdims)
    rows = ops.sort(move_sample_first(a, axis), axis=0)
    count = expand_dims(count_numbers(rows), 0)
    low, high = ops.maximum(ops.floor_divide(count - 1, 2), 0), ops.floor_divide(count, 2)
    pair = ops.take_along(rows, concatenate([low, high]), 0)
    y = ops.where(ops.equal(low, high)[0], pair[0], mean(pair, 0))
    return restore_sample_axes(y, (), a, axis, keepdims)


def continuous_method(alpha: float, beta: float) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return a continuous method: the sample is at (k − α)/(n + 1 − α − β), k = 1, …, n, and linear in
    between."""
    return lambda n, q: split_fraction(n * q + (alpha + q * (1 - alpha - beta)) - 1)


def split_fraction(h: Any) -> tuple[Any, Any]:
    """Split numbers into integral part and fraction."""
    low = ops.floor(h)
    return low, h - low


def stepwise_method(h: Any, weight: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Return the integral part, and the weight of the next entry as a function of (whether there is a
    fraction, integral part)."""
    low, fraction = split_fraction(h)
    return low, weight(ops.not_equal(fraction, 0), low)


# The methods of NumPy: those of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American
# Statistician 50 (1996) 361–365, and four others. (number of entries, q) → (position of an entry in the sorted ones,
# counted from 0, and the weight of the next one).
CONTINUOUS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "averaged_inverted_cdf": lambda n, q: stepwise_method(
        n * q - 1, lambda apart, _: ops.where(apart, 1.0, 0.5)
    ),
    "interpolated_inverted_cdf": continuous_method(0, 1),
    "hazen": continuous_method(0.5, 0.5),
    "weibull": continuous_method(0, 0),
    "linear": lambda n, q: split_fraction((n - 1) * q),
    "median_unbiased": continuous_method(1 / 3, 1 / 3),
    "normal_unbiased": continuous_method(3 / 8, 3 / 8),
    "midpoint": lambda n, q: stepwise_method((n - 1) * q, lambda apart, _: ops.where(apart, 0.5, 0.0)),
}
# Methods that choose an entry; the weight is whether to take the next one.
DISCRETE: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "inverted_cdf": lambda n, q: stepwise_method(n * q - 1, lambda apart, _: apart),
    "closest_observation": lambda n, q: stepwise_method(
        n * q - 1.5, lambda apart, low: ops.logical_or(apart, ops.equal(ops.remainder(low, 2), 0))
    ),
    "lower": lambda n, q: (ops.floor((n - 1) * q), False),
    "higher": lambda n, q: (ops.ceil((n - 1) * q), False),
    "nearest": lambda n, q: (ops.rint((n - 1) * q), False),
}


def interpolate_weighted(a: Any, b: Any, weight: Any) -> Any:
    """Return a + (b − a)·weight, monotonic in the weight."""
    difference = ops.subtract(b, a)
    from_a = ops.add(a, ops.multiply(difference, weight))
    from_b = ops.subtract(b, ops.multiply(difference, ops.subtract(1, weight)))
    return ops.where(ops.less(weight, 0.5), from_a, from_b)


def quantiles_by_rank(rows: Any, q: Any, method: str, count: Any, weak: bool) -> Any:
    """Return quantiles of the first `count` of sorted rows; a `weak` q, a Python number, has the precision of
    the rows."""
    column = ops.reshape(q, shape=(q.size, *(1,) * (rows.ndim - 1)))

    def take_entries(position: Any) -> Any:
        """Take the entries at positions, which are brought into range."""
        index = cast(ops.maximum(ops.minimum(position, count - 1), 0), np.intp)
        return ops.take_along(rows, ops.broadcast_to(index, shape=(q.size, *rows.shape[1:])), 0)

    if kind(q) in "biu" and method == "linear":  # the least or the greatest entry, as it is
        method = "lower"
    if method in DISCRETE:
        return take_entries(ops.add(*DISCRETE[method](count, column)))
    low, weight = CONTINUOUS[method](count, column)
    if weak:
        weight = cast(weight, dtype_of(rows) if kind(rows) == "f" else float)
    elif kind(q) == "f":
        weight = cast(weight, dtype_of(q))
    if weight.size == 1:
        weight = ops.reshape(weight, shape=())  # a number goes where the rows are, a device perhaps
    return interpolate_weighted(take_entries(low), take_entries(low + 1), weight)


def quantiles_by_weight(rows: Any, weights: Any, q: Any) -> Any:
    """Return the entries of sorted rows at which the share of the weights up to them reaches q."""
    below = ops.cumsum(cast(weights, float), axis=0)
    total = below[-1]
    usable = ops.logical_and(ops.isfinite(total), ops.not_equal(total, 0))
    ensure(usable, "Weights included NaN, inf or were all zero.", "weights=None for equal ones")
    share = ops.divide(below, ops.where(ops.equal(total, 0), np.nan, total))
    share = ops.where(ops.equal(share, 0), -1, share)  # entries before the first weight are not that of q = 0
    share = ops.move_axis(cast(share, dtype_of(q) if kind(q) == "f" else None), 0, rows.ndim - 1)
    places = ops.searchsorted(share, ops.broadcast_to(q, shape=(*rows.shape[1:], q.size)), side="left")
    places = ops.minimum(ops.move_axis(places, rows.ndim - 1, 0), rows.shape[0] - 1)
    return ops.take_along(rows, places, 0)


def quantiles(
    a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, skip_nan: bool, most: int = 1
) -> Any:
    """Return quantiles, q in [0, most], of all entries or (`skip_nan`) of those that are not NaN."""
    a, q = operand(a), as_value(q)
    weak = aval_of(q).weak
    q = operand(q if most == 1 else q / most)
    if kind(a) == "c":
        raise DTypeError(
            f"quantile: a has the complex dtype {dtype_of(a)}",
            hint="the quantiles of a.real, a.imag or abs(a)",
        )
    if method not in CONTINUOUS and method not in DISCRETE:
        raise ShapeError(f"{method!r} is not a valid method", hint=", ".join({**DISCRETE, **CONTINUOUS}))
    if q.ndim > 2:
        raise ShapeError(f"quantile: q has shape {q.shape}, expected a number or one axis", hint="q.ravel()")
    within = ops.logical_and(ops.greater_equal(q, 0), ops.less_equal(q, 1))
    ensure(within, f"q must be in the range [0, {most}]", "quantile takes shares, percentile takes percents")
    if skip_nan and not a.size:
        return mean(a, axis, keepdims=keepdims)
    rows, flat = move_sample_first(a, axis), ops.reshape(q, shape=(q.size,))
    if not rows.shape[0]:
        raise IndexingError(
            f"a quantile of no entries: an array of shape {a.shape} along axis {axis}",
            hint="look at a.size first",
        )
    skip_nan = skip_nan and can_have_nan(a)
    if weights is None:
        rows = ops.sort(rows, axis=0)
        count = cast(expand_dims(count_numbers(rows), 0), dtype_of(q)) if skip_nan else rows.shape[0]
        y = quantiles_by_rank(rows, flat, method, count, weak)
    else:
        if method != "inverted_cdf":
            raise ShapeError(f"quantile: method={method!r} takes no weights", hint='method="inverted_cdf"')
        weights = weights_along(a, operand(weights), axis)
        ensure(ops.greater_equal(weights, 0), "Weights must be non-negative.", "fnp.clip(weights, 0)")
        order = ops.argsort(rows, axis=0)
        rows = ops.take_along(rows, order, 0)
        weights = ops.take_along(move_sample_first(weights, axis), order, 0)
        if skip_nan:
            weights = ops.where(ops.isnan(rows), 0, weights)
        y = quantiles_by_weight(rows, weights, flat)
    return restore_sample_axes(y if skip_nan else propagate_nan(y, rows), q.shape, a, axis, keepdims)


@composite(np.quantile)
def quantile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:  # fmt: skip
    """The values below which fractions q of the entries lie, differentiable with respect to `a` and, where the method
    interpolates, to `q` (from the right at an entry, and 0 at the largest one).

    Raises:
        TypeError: `a` is complex.
        ValueError: there is no such `method`, it takes no `weights`, or `q` has more than one axis.
        IndexError: there are no entries.

    >>> fx.grad(fnp.quantile)(fnp.array([8.0, 0.0, 4.0]), 0.75)
    array([0.5, 0. , 0.5])
    >>> float(fx.grad(fnp.quantile, argnums=1)(fnp.array([8.0, 0.0, 4.0]), 0.75))
    8.0
    """
    return quantiles(a, q, axis, method, keepdims, weights, False)


@composite(np.nanquantile)
def nanquantile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: Any = False, *,
                weights: ArrayLike | None = None) -> Array:  # fmt: skip
    """The quantiles of the entries along axes, without NaN; `q`, `method` and derivatives as for `quantile`.

    Raises:
        TypeError: `a` is complex.
        ValueError: there is no such `method`, it takes no `weights`, or `q` has more than one axis.
        IndexError: there are no entries.

    >>> fnp.nanquantile(fnp.array([1.0, fnp.nan, 3.0]), 0.25)
    np.float64(1.5)
    """
    return quantiles(a, q, axis, method, keepdims, weights, True)


@composite(np.percentile)
def percentile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *,
               weights: ArrayLike | None = None) -> Array:  # fmt: skip
    """The percentiles of the entries along axes: `quantile` for q from 0 to 100.

    Raises:
        TypeError: `a` is complex.
        ValueError: there is no such `method`, it takes no `weights`, or `q` has more than one axis.
        IndexError: there are no entries.

    >>> fnp.percentile(fnp.array([1.0, 2.0, 3.0]), 25)
    np.float64(1.5)
    """
    return quantiles(a, q, axis, method, keepdims, weights, False, 100)


@composite(np.nanpercentile)
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: Any = False, *,
                  weights: ArrayLike | None = None) -> Array:  # fmt: skip
    """The percentiles of the entries along axes, without NaN: `nanquantile` for q from 0 to 100.

    Raises:
        TypeError: `a` is complex.
        ValueError: there is no such `method`, it takes no `weights`, or `q` has more than one axis.
        IndexError: there are no entries.

    >>> fnp.nanpercentile(fnp.array([1.0, fnp.nan, 3.0]), 25)
    np.float64(1.5)
    """
    return quantiles(a, q, axis, method, keepdims, weights, True, 100)


# -- covariance ------------------------------------------
def variable_rows(x: Any, dtype: Any, upright: bool) -> Any:
    """Return a matrix with a variable in every row; `upright` says that they are given in columns."""
    x = cast(operand(x), dtype)
    if x.ndim > 2:
        raise ShapeError(
            f"an array of variables has two axes at most, not the shape {x.shape}",
            hint="fx.vmap(fnp.cov) over the first axes",
        )
    return transpose(x) if upright and x.ndim == 2 else atleast_2d(x)


def observation_weights(weights: Any, name: str, count: int) -> Array:
    """Return the weights of the observations as an array of floats."""
    weights = cast(operand(weights), float)
    if weights.shape != (count,):
        raise wrong_shape("cov", name, weights.shape, (count,))
    ensure(ops.greater_equal(weights, 0), f"{name} cannot be negative", f"fnp.clip({name}, 0)")
    return weights


@composite(np.cov)
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DType = None,
) -> Array:
    """The covariances of variables.

    Args:
        m, y: the variables, one in every row (`rowvar`) or column; an array with one axis is one variable.
        bias: divide by the number of observations, and not by one less, where `ddof` does not say what to subtract.
        fweights, aweights: how often each observation is to be counted, and how important it is.

    Raises:
        ValueError: `ddof` is no integer, `m` has more than two axes, or the weights have another length.

    >>> fx.grad(lambda x: fnp.cov(x, [0.0, 1.0, 2.0])[0, 1])(fnp.ones(3))
    array([-0.5,  0. ,  0.5])
    """
    if ddof is not None and ddof != int(ddof):
        raise ShapeError(f"cov: ddof={ddof} is not a whole number", hint=f"ddof={round(ddof)}")
    ddof = (0 if bias else 1) if ddof is None else ddof
    given = [operand(v) for v in (m, y) if v is not None]
    dtype = np.result_type(*map(dtype_of, given), np.float64) if dtype is None else dtype
    parts = [variable_rows(v, dtype, not rowvar) for v in given]
    if not parts[0].shape[0]:
        return np.zeros((0, 0))
    x = concatenate(parts)
    count, w = x.shape[1], None
    if fweights is not None:
        w = observation_weights(fweights, "fweights", count)
        ensure(ops.equal(w, ops.rint(w)), "fweights must be integer", "aweights, which need not be whole")
    if aweights is not None:
        aweights = observation_weights(aweights, "aweights", count)
        w = aweights if w is None else w * aweights
    center, total = average(x, 1, w, returned=True, keepdims=True)
    apart = x - center
    if w is None:
        free, weighted = count - ddof, apart
    else:
        total = sum(w)
        repeated = 1 if aweights is None else sum(w * aweights) / total
        free, weighted = total - ddof * repeated, apart * w
    c = dot(apart, ops.conjugate(transpose(weighted)))
    return squeeze(cast(c * ops.divide(1, ops.maximum(free, 0)), dtype_of(c)))


@composite(np.corrcoef)
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DType = None) -> Array:
    """The correlations of variables: covariances divided by both standard deviations. If one of these is 0, the result
    is NaN, without derivative.

    >>> float(fx.jit(fnp.corrcoef)(fnp.array([0.0, 1.0, 3.0]), [3.0, 1.0, 2.0])[0, 1].round(3))
    -0.327
    """
    c = cov(x, y, rowvar, dtype=dtype)
    variance = ops.real(diagonal(atleast_2d(c)))
    deviation = ops.sqrt(variance)
    deviation = ops.where(ops.equal(variance, 0), np.nan, deviation)
    c = ops.reshape(atleast_2d(c) / expand_dims(deviation, 1) / deviation, shape=c.shape)
    if kind(c) != "c":
        return clip(c, -1, 1)
    return ops.make_complex(clip(ops.real(c), -1, 1), clip(ops.imag(c), -1, 1))


__all__ = [
    "corrcoef", "cov", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip
