"""Reductions that ignore NaN entries. NaN entries have derivative 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.typing import Array, ArrayLike, Axis, DType
from ..ops.operators import remember_radicand
from .composite import composite, ensure, fill_outside, kind, operand, reduced_axes
from .documentation import NO_DERIVATIVE
from .reductions import any, cumprod, cumsum, extremum_position, max, mean, min, prod, std, sum, var


def mask_nan(a: ArrayLike, where: Any) -> tuple[Array, Array]:
    """Return the array, and which of its entries take part."""
    a = operand(a)
    numbers = ops.logical_not(ops.isnan(a))
    return a, numbers if where is True else ops.logical_and(numbers, where)


@composite(np.nansum)
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Array:
    """The sum of the entries along axes, without NaN; NaN entries have derivative 0.

    >>> fx.grad(fnp.nansum)(fnp.array([1.0, fnp.nan, 3.0]))
    array([1., 0., 1.])
    """
    a, numbers = mask_nan(a, where)
    return sum(a, axis, dtype, keepdims=keepdims, initial=initial, where=numbers)


@composite(np.nanprod)
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Array:
    """The product of the entries along axes, without NaN; NaN entries have derivative 0.

    >>> fx.grad(fnp.nanprod)(fnp.array([2.0, fnp.nan, 3.0]))
    array([3., 0., 2.])
    """
    a, numbers = mask_nan(a, where)
    return prod(a, axis, dtype, keepdims=keepdims, initial=initial, where=numbers)


@composite(np.nanmean)
def nanmean(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None, keepdims: bool = False, *,
            where: ArrayLike = True) -> Array:  # fmt: skip
    """The mean of the entries along axes, without NaN; NaN entries have derivative 0.

    >>> fx.grad(fnp.nanmean)(fnp.array([1.0, fnp.nan, 3.0]))
    array([0.5, 0. , 0.5])
    """
    a, numbers = mask_nan(a, where)
    return mean(a, reduced_axes(axis, a.ndim), dtype, keepdims=keepdims, where=numbers)


def nan_if_undetermined(y: Any, numbers: Any, axis: Any, keepdims: bool, freedom: Any) -> Any:
    """Return a variance of the entries that are numbers; NaN where these are no more than the degrees of
    freedom taken off."""
    return fill_outside(ops.greater(sum(numbers, axis, keepdims=keepdims), freedom), y, np.nan)


@composite(np.nanvar)
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """The variance of the entries along axes, without NaN; NaN entries have derivative 0.

    >>> fx.grad(fnp.nanvar)(fnp.array([1.0, fnp.nan, 3.0]))
    array([-1.,  0.,  1.])
    """
    a, numbers = mask_nan(a, where)
    axis = reduced_axes(axis, a.ndim)
    y = var(a, axis, dtype, None, ddof, keepdims, where=numbers, mean=mean, correction=correction)
    return nan_if_undetermined(y, numbers, axis, keepdims, ddof if correction is None else correction)


@composite(np.nanstd)
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """The standard deviation of the entries along axes, without NaN. As for `std`, its derivative is 0 if the entries
    are equal; NaN entries have derivative 0.

    >>> fx.grad(fnp.nanstd)(fnp.array([1.0, fnp.nan, 3.0]))
    array([-0.5,  0. ,  0.5])
    """
    a, numbers = mask_nan(a, where)
    axis = reduced_axes(axis, a.ndim)
    y = std(a, axis, dtype, None, ddof, keepdims, where=numbers, mean=mean, correction=correction)
    y = nan_if_undetermined(y, numbers, axis, keepdims, ddof if correction is None else correction)
    return remember_radicand(y, lambda a: nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean,
                                    correction=correction), a)  # fmt: skip


def nan_extremum(
    a: Any, reduce: Any, worst: float, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """Reduce to the extremum: NaN entries lose against all others, and a slice of nothing else gives NaN."""
    a, numbers = mask_nan(a, True)
    if kind(a) not in "fc":
        return reduce(a, axis, keepdims=keepdims, initial=initial, where=where)
    y = reduce(fill_outside(numbers, a, worst), axis, keepdims=keepdims, initial=initial, where=where)
    return fill_outside(any(numbers, axis, keepdims=keepdims), y, np.nan) if initial is None else y


@composite(np.nanmax)
def nanmax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
           where: ArrayLike = True) -> Array:  # fmt: skip
    """The largest entry along axes, without NaN; tied entries share the derivative.

    >>> fx.grad(fnp.nanmax)(fnp.array([1.0, fnp.nan, 3.0]))
    array([0., 0., 1.])
    """
    return nan_extremum(a, max, -np.inf, axis, keepdims, initial, where)


@composite(np.nanmin)
def nanmin(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
           where: ArrayLike = True) -> Array:  # fmt: skip
    """The smallest entry along axes, without NaN; tied entries share the derivative.

    >>> fx.grad(fnp.nanmin)(fnp.array([1.0, fnp.nan, 3.0]))
    array([1., 0., 0.])
    """
    return nan_extremum(a, min, np.inf, axis, keepdims, initial, where)


def nan_extremum_position(a: Any, primitive: Any, worst: float, axis: Any, keepdims: bool) -> Any:
    a, numbers = mask_nan(a, True)
    if kind(a) in "fc":
        ensure(
            any(numbers, axis),
            "All-NaN slice encountered",
            "fnp.where(fnp.isnan(a), 0, a) first, or take such slices out",
        )
        a = fill_outside(numbers, a, worst)
    return extremum_position(a, primitive, axis, keepdims)


@composite(np.nanargmax, derivative=NO_DERIVATIVE)
def nanargmax(a: ArrayLike, axis: Axis = None, out: None = None, *, keepdims: bool = False) -> Array:
    """The position of the largest entry that is not NaN. Known values that are all NaN raise ValueError.

    >>> fnp.nanargmax(fnp.array([1.0, fnp.nan, 3.0]))
    np.int64(2)
    """
    return nan_extremum_position(a, ops.argmax, -np.inf, axis, keepdims)


@composite(np.nanargmin, derivative=NO_DERIVATIVE)
def nanargmin(a: ArrayLike, axis: Axis = None, out: None = None, *, keepdims: bool = False) -> Array:
    """The position of the smallest entry that is not NaN. Known values that are all NaN raise ValueError.

    >>> fnp.nanargmin(fnp.array([1.0, fnp.nan, 3.0]))
    np.int64(0)
    """
    return nan_extremum_position(a, ops.argmin, np.inf, axis, keepdims)


@composite(np.nancumsum)
def nancumsum(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None) -> Array:
    """The running sum of the entries, in which NaN counts as 0; NaN entries have derivative 0.

    >>> fnp.nancumsum(fnp.array([1.0, fnp.nan, 3.0]))
    array([1., 1., 4.])
    """
    a, numbers = mask_nan(a, True)
    return cumsum(fill_outside(numbers, a, 0), axis, dtype)


@composite(np.nancumprod)
def nancumprod(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None) -> Array:
    """The running product of the entries, in which NaN counts as 1; NaN entries have derivative 0.

    >>> fnp.nancumprod(fnp.array([2.0, fnp.nan, 3.0]))
    array([2., 2., 6.])
    """
    a, numbers = mask_nan(a, True)
    return cumprod(fill_outside(numbers, a, 1), axis, dtype)


__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar",
]  # fmt: skip
