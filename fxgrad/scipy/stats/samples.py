"""Statistics of samples: means, moments, scores.

The axis is 0 unless it is given, as in SciPy; None is the whole array. NaN in a sample makes its statistic NaN.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    StructureError,
    UnsupportedError,
    aval_of,
    check_option,
    insert_before_example,
    ops,
)
from ...numpy.composite import cast, composite, normalize_axis
from .. import special
from .distribution import F, as_floats


class ModeResult(NamedTuple):
    """The most common value, and how often it occurs."""

    mode: Any
    count: Any


def statistic(body: F) -> F:
    """Declare a statistic of SciPy's; its docstring gets the error that the option `nan_policy` may raise."""
    if body.__doc__ and "nan_policy" in body.__code__.co_varnames:  # type: ignore[attr-defined]
        said = 'UnsupportedError: another `nan_policy` than "propagate".'
        listed, count = re.subn(r"( *)Raises:\n( *)", rf"\1Raises:\n\2{said}\n\2", body.__doc__)
        body.__doc__ = listed if count else insert_before_example(body.__doc__, f"Raises:\n    {said}")
    return composite(derivative="", origin=f"scipy.stats.{body.__name__}")(body)


def ensure_propagates(nan_policy: str, name: str) -> None:
    """Raise for another way to treat NaN than to propagate it."""
    if nan_policy != "propagate":
        raise UnsupportedError(f"{name}: nan_policy={nan_policy!r}", hint="select the entries first")


def as_sample(a: Any, axis: int | None, name: str, nan_policy: str = "propagate") -> tuple[Any, int]:
    """Return a sample as floating-point numbers, flat where there is no axis, and the axis."""
    ensure_propagates(nan_policy, name)
    (a,), dtype = as_floats([a], name)
    a = cast(a, dtype)
    return (fnp.ravel(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))


def keep_axis(value: Any, like: Any, axis: int | None, keepdims: bool) -> Any:
    """Return a statistic with the axes that it has lost, where they are to be kept."""
    if not keepdims:
        return value
    shape = aval_of(like).shape
    kept = (
        (1,) * len(shape)
        if axis is None
        else (*shape[: axis % len(shape)], 1, *shape[axis % len(shape) + 1 :])
    )
    return fnp.reshape(value, kept)


def weighted_mean(a: ArrayLike, axis: int | None, weights: Any, keepdims: bool) -> Array:
    """The mean along an axis, with weights if there are any."""
    if weights is None:
        return fnp.mean(a, axis=axis, keepdims=keepdims)
    return fnp.average(a, axis=axis, weights=weights, keepdims=keepdims)


# -- means ------------------------------------------
@statistic
def gmean(
    a: ArrayLike,
    axis: int | None = 0,
    dtype: Any = None,
    weights: ArrayLike | None = None,
    *,
    keepdims: bool = False,
) -> Array:
    """The geometric mean, (Π aᵢ)^(1/n), by logarithms.

    >>> print(f"{fx.scipy.stats.gmean([1.0, 4.0, 16.0]):.6f}")
    4.000000
    """
    a = cast(as_floats([a], "gmean")[0][0], dtype)
    with np.errstate(divide="ignore"):  # the logarithm of 0 makes the mean 0
        return ops.exp(weighted_mean(ops.log(a), axis, weights, keepdims))


@statistic
def hmean(
    a: ArrayLike,
    axis: int | None = 0,
    dtype: Any = None,
    *,
    weights: ArrayLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The harmonic mean, n/Σ(1/aᵢ), of numbers that are not negative: NaN where one is.

    >>> print(f"{fx.scipy.stats.hmean([1.0, 4.0, 4.0]):.6f}")
    2.000000
    """
    a = cast(as_floats([a], "hmean")[0][0], dtype)
    a = ops.where(ops.less(a, 0), math.nan, a)
    with np.errstate(divide="ignore"):
        return 1 / weighted_mean(ops.divide(1, a), axis, weights, keepdims)


@statistic
def pmean(
    a: ArrayLike,
    p: ArrayLike,
    *,
    axis: int | None = 0,
    dtype: Any = None,
    weights: ArrayLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The power mean, (Σ aᵢᵖ/n)^(1/p), of numbers that are not negative: NaN where one is.

    >>> print(f"{fx.scipy.stats.pmean([1.0, 7.0], 2.0):.6f}")
    5.000000
    """
    (a, p), _ = as_floats([a, p], "pmean")
    a = cast(ops.where(ops.less(a, 0), math.nan, a), dtype)
    zero = ops.equal(p, 0)  # the limit is the geometric mean
    p = ops.where(zero, 1.0, p)
    power = weighted_mean(a**p, axis, weights, keepdims) ** ops.divide(1, p)
    return ops.where(zero, gmean(a, axis, weights=weights, keepdims=keepdims), power)


# -- moments ------------------------------------------
def central_moment(a: Any, order: int, axis: int, centre: Any = None) -> Any:
    """The moment of an order about the mean, or another centre, along an axis."""
    centre = fnp.mean(a, axis=axis, keepdims=True) if centre is None else centre
    return fnp.mean((a - centre) ** order, axis=axis)


@statistic
def moment(
    a: ArrayLike,
    order: Any = 1,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    *,
    center: ArrayLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The moment Σ (aᵢ - c)ᵏ/n of order k, or of several orders, about the mean unless `center` is given.

    Raises:
        StructureError: the order is no whole number.

    >>> print(fx.scipy.stats.moment([1.0, 2.0, 6.0], order=3))
    6.0
    """
    sample, along = as_sample(a, axis, "moment", nan_policy)
    orders = np.asarray(order)
    if orders.dtype.kind not in "iu":
        raise StructureError(
            f"moment: the order is a whole number, not {order!r}", hint="int(order), or [1, 2] for several"
        )

    def of_order(k: int) -> Any:
        if center is None and k < 2:
            value = 0 * fnp.mean(sample, axis=along) + (1.0 if k == 0 else 0.0)
        else:
            value = central_moment(sample, k, along, center)
        return keep_axis(value, a, axis, keepdims)

    found = [of_order(int(k)) for k in orders.reshape(-1)]
    return found[0] if orders.ndim == 0 else fnp.stack(found)


@statistic
def skew(
    a: ArrayLike,
    axis: int | None = 0,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The skewness m₃/m₂^(3/2); without `bias` that of Joanes and Gill, "Comparing measures of sample skewness and
    kurtosis", 1998. NaN where all entries are equal.

    >>> print(f"{fx.scipy.stats.skew([1.0, 2.0, 6.0]):.6f}")
    0.595170
    """
    sample, along = as_sample(a, axis, "skew", nan_policy)
    n = sample.shape[along]
    m2, flat = variance_or_one(sample, along)
    value = central_moment(sample, 3, along) / m2**1.5
    if not bias and n > 2:
        value = math.sqrt(n * (n - 1)) / (n - 2) * value
    return keep_axis(ops.where(flat, math.nan, value), a, axis, keepdims)


@statistic
def kurtosis(
    a: ArrayLike,
    axis: int | None = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The kurtosis m₄/m₂², with `fisher` less the 3 of a normal distribution; without `bias` that of Joanes and Gill,
    1998. NaN where all entries are equal.

    >>> print(f"{fx.scipy.stats.kurtosis([1.0, 2.0, 3.0, 4.0]):.6f}")
    -1.360000
    """
    sample, along = as_sample(a, axis, "kurtosis", nan_policy)
    n = sample.shape[along]
    m2, flat = variance_or_one(sample, along)
    value = central_moment(sample, 4, along) / ops.square(m2)
    if not bias and n > 3:
        value = ((n**2 - 1) * value - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3
    value = ops.where(flat, math.nan, value - 3 if fisher else value)
    return keep_axis(value, a, axis, keepdims)


def variance_or_one(a: Any, axis: int) -> tuple[Any, Any]:
    """Return the variance, 1 where it is zero but for rounding, and where that is."""
    m2, mean = central_moment(a, 2, axis), fnp.mean(a, axis=axis)
    eps = float(np.finfo(aval_of(a).dtype).eps)
    flat = ops.less_equal(m2, ops.square(eps * mean))
    return ops.where(flat, 1.0, m2), flat


@statistic
def variation(
    a: ArrayLike,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    ddof: int = 0,
    *,
    keepdims: bool = False,
) -> Array:
    """The standard deviation divided by the mean.

    >>> print(fx.scipy.stats.variation([1.0, 3.0]))
    0.5
    """
    sample, along = as_sample(a, axis, "variation", nan_policy)
    value = fnp.std(sample, axis=along, ddof=ddof) / fnp.mean(sample, axis=along)
    return keep_axis(value, a, axis, keepdims)


@statistic
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean, the standard deviation divided by √n.

    >>> print(fx.scipy.stats.sem([1.0, 3.0]))
    1.0
    """
    sample, along = as_sample(a, axis, "sem", nan_policy)
    value = fnp.std(sample, axis=along, ddof=ddof) / math.sqrt(max(sample.shape[along], 1))
    return keep_axis(value, a, axis, keepdims)


# -- scores ------------------------------------------
@statistic
def zscore(a: ArrayLike, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Array:
    """The distances from the mean in standard deviations.

    >>> print(fx.scipy.stats.zscore([1.0, 3.0]))
    [-1.  1.]
    """
    return zmap(a, a, axis, ddof, nan_policy)


@statistic
def zmap(
    scores: ArrayLike,
    compare: ArrayLike,
    axis: int | None = 0,
    ddof: int = 0,
    nan_policy: str = "propagate",
) -> Array:
    """The distances of scores from the mean of another sample, in standard deviations of it: NaN where it has none.

    >>> print(fx.scipy.stats.zmap([0.0, 2.0, 5.0], [1.0, 3.0]))
    [-2.  0.  3.]
    """
    (scores, compare), dtype = as_floats([scores, compare], "zmap")
    ensure_propagates(nan_policy, "zmap")
    mean = fnp.mean(compare, axis=axis, keepdims=True)
    var = fnp.var(compare, axis=axis, ddof=ddof, keepdims=True)
    flat = ops.equal(var, 0)
    spread = ops.sqrt(ops.where(flat, 1.0, var))
    return cast(ops.where(flat, math.nan, (scores - mean) / spread), dtype)


# -- robust statistics ------------------------------------------
@statistic
def iqr(
    x: ArrayLike,
    axis: int | None = None,
    rng: tuple[float, float] = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The range between two percentiles, the quartiles unless given, divided by `scale` ("normal": of the normal
    distribution).

    Raises:
        StructureError: `scale` is neither a number nor "normal".

    >>> print(fx.scipy.stats.iqr([1.0, 2.0, 3.0, 4.0, 5.0]))
    2.0
    """
    sample, along = as_sample(x, axis, "iqr", nan_policy)
    factor = 2 * math.sqrt(2) * 0.4769362762044699 if isinstance(scale, str) else scale  # erfinv(1/2)
    if isinstance(scale, str):
        check_option("iqr", "scale", scale, ("normal",))
    low, high = (fnp.percentile(sample, q, axis=along, method=interpolation) for q in sorted(rng))
    return keep_axis((high - low) / factor, x, axis, keepdims)


@statistic
def median_abs_deviation(
    x: ArrayLike,
    axis: int | None = 0,
    center: Any = fnp.median,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
) -> Array:
    """The median of the distances from the median, divided by `scale` ("normal": of the normal distribution).

    Raises:
        StructureError: `scale` is neither a number nor "normal".

    >>> print(fx.scipy.stats.median_abs_deviation([1.0, 2.0, 6.0]))
    1.0
    """
    sample, along = as_sample(x, axis, "median_abs_deviation", nan_policy)
    if isinstance(scale, str):
        check_option("median_abs_deviation", "scale", scale, ("normal",))
    factor = math.sqrt(2) * 0.4769362762044699 if isinstance(scale, str) else scale
    distance = ops.absolute(sample - fnp.expand_dims(center(sample, axis=along), along))
    return fnp.median(distance, axis=along) / factor


@statistic
def trim_mean(a: ArrayLike, proportiontocut: float, axis: int | None = 0, *, keepdims: bool = False) -> Array:
    """The mean without a proportion of the least and of the greatest entries.

    Raises:
        StructureError: nothing is left.

    >>> print(fx.scipy.stats.trim_mean([1.0, 2.0, 3.0, 100.0], 0.25))
    2.5
    """
    sample, along = as_sample(a, axis, "trim_mean")
    n = sample.shape[along]
    cut = int(proportiontocut * n)
    if 2 * cut >= n:
        raise StructureError(
            f"trim_mean: proportiontocut={proportiontocut} leaves nothing of {n} entries",
            hint="a share below 0.5 of each end",
        )
    rest = (slice(None),) * along + (slice(cut, n - cut),)
    return keep_axis(fnp.mean(fnp.sort(sample, axis=along)[rest], axis=along), a, axis, keepdims)


# -- information ------------------------------------------
@statistic
def entropy(
    pk: ArrayLike,
    qk: ArrayLike | None = None,
    base: float | None = None,
    axis: int = 0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The entropy -Σ p·log p of probabilities, or their divergence Σ p·log(p/q) from others (Kullback and Leibler, "On
    information and sufficiency", 1951); what does not sum to 1 is normalized.

    Raises:
        StructureError: `base` is not positive.

    >>> print(fx.scipy.stats.entropy([1.0, 1.0], base=2))
    1.0
    """
    if base is not None and not base > 0:
        raise StructureError(
            f"entropy: base is a positive number, not {base}", hint="base=2 for bits, None for natural units"
        )
    values, dtype = as_floats([pk, *([] if qk is None else [qk])], "entropy")
    ensure_propagates(nan_policy, "entropy")
    values = [v / fnp.sum(v, axis=axis, keepdims=True) for v in values]
    terms = special.entr(*values) if qk is None else special.rel_entr(*values)
    value = fnp.sum(terms, axis=axis, keepdims=keepdims)
    return cast(value if base is None else value / math.log(base), dtype)
