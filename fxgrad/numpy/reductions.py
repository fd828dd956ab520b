"""Reductions and running reductions.

`axis` is None (all axes), an int or a tuple; `where` selects the entries that take part; `initial` is the start value.
Results have NumPy's dtypes: sums of booleans and small integers widen, means of integers are float64, and means of
float16 are summed in float32.
"""

from __future__ import annotations

import builtins
from typing import Any, Literal, overload

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.aval import Aval
from ..core.common_errors import wrong_shape
from ..core.costs import FUSED_ENTRIES
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import CURRENT
from ..core.typing import Array, ArrayLike, Axis, DType
from ..ops.operators import remember_radicand, square
from .composite import (
    at_axis,
    cast,
    composite,
    dtype_of,
    fill_outside,
    kind,
    line_up,
    normalize_axes,
    normalize_axis,
    operand,
    reduced_axes,
)
from .documentation import LINEAR, NO_DERIVATIVE


def keep_reduced_axes(y: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """Put axes of length one in the place of the reduced ones, where these are kept."""
    return ops.restore_axes(y, shape, axes) if keepdims else y


def widen_dtype(dtype: Any) -> Any:
    """Return the dtype in which NumPy adds and multiplies: booleans and small integers widen to 64 bits."""
    return np.add.reduce(np.zeros(1, dtype)).dtype if dtype.kind in "biu" else dtype


def reduction(a: Any, reduce: Any, identity: Any, join: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any,
              where: Any) -> Any:  # fmt: skip
    """Reduce by a primitive: entries left out are replaced by `identity`, `join` takes `initial` in."""
    a = cast(operand(a), dtype)
    if where is not True:
        a = fill_outside(where, a, identity)
    axes = reduced_axes(axis, a.ndim)
    y = cast(reduce(a, axes=axes), dtype)
    if initial is not None:
        y = cast(join(y, as_value(initial)), dtype_of(y))
    return keep_reduced_axes(y, a.shape, axes, keepdims)


# -- sums and products ------------------------------------------
@composite(np.sum, below=FUSED_ENTRIES, derivative=LINEAR)
def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Array:
    """The sum of entries along axes.

    >>> fx.grad(lambda x: fnp.sum(x, where=[True, False, True]))(fnp.ones(3))
    array([1., 0., 1.])
    """
    return reduction(a, ops.reduce_sum, 0, ops.add, axis, dtype, keepdims, initial, where)


@composite(np.prod, below=FUSED_ENTRIES)
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Array:
    """The product of the entries along axes. Its derivative is also correct where entries are 0.

    >>> fx.grad(fnp.prod)(fnp.array([0.0, 2.0, 3.0]))
    array([6., 0., 0.])
    """
    return reduction(a, ops.reduce_prod, 1, ops.multiply, axis, dtype, keepdims, initial, where)


@composite(np.count_nonzero, derivative=NO_DERIVATIVE)
def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """The number of nonzero entries along axes, as integers.

    >>> fnp.count_nonzero(fnp.array([[1.0, 0.0], [2.0, 3.0]]), axis=0)
    array([2, 1])
    """
    a = operand(a)
    return sum(a if kind(a) == "b" else ops.not_equal(a, 0), axis, np.intp, keepdims=keepdims)


@composite(np.any, below=FUSED_ENTRIES, derivative=NO_DERIVATIVE)
def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike = True
) -> Array:
    """Whether any entry along axes is true, that is, nonzero. For no entries the result is False.

    >>> fnp.any(fnp.array([[True, False], [False, False]]), axis=1)
    array([ True, False])
    """
    return reduction(a, ops.reduce_any, False, None, axis, None, keepdims, None, where)


@composite(np.all, below=FUSED_ENTRIES, derivative=NO_DERIVATIVE)
def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike = True
) -> Array:
    """Whether all entries along axes are true, that is, nonzero. For no entries the result is True.

    >>> fnp.all(fnp.array([[True, False], [True, True]]), axis=1)
    array([False,  True])
    """
    return reduction(a, ops.reduce_all, True, None, axis, None, keepdims, None, where)


# -- extrema ------------------------------------------
def extremum(a: Any, reduce: Any, join: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if where is not True and initial is None:
        raise ShapeError(
            "reduction operation has no identity, so to use a where mask one has to specify 'initial'",
            hint="initial=-fnp.inf for a maximum, fnp.inf for a minimum",
        )
    a = operand(a)
    if initial is None or where is not True:
        return reduction(a, reduce, initial, join, axis, None, keepdims, initial, where)
    axes = reduced_axes(axis, a.ndim)
    if 0 in (a.shape[i] for i in axes):  # nothing but `initial`
        y = ops.broadcast_to(cast(operand(initial), dtype_of(a)), shape=tuple(
            n for i, n in enumerate(a.shape) if i not in axes))  # fmt: skip
        return keep_reduced_axes(y, a.shape, axes, keepdims)
    return reduction(a, reduce, None, join, axes, None, keepdims, initial, True)


@composite(np.max, below=FUSED_ENTRIES)
def max(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike = True) -> Array:  # fmt: skip
    """The largest entry along axes; tied entries share the derivative.

    Raises:
        ValueError: no entries, or with `where`, and no `initial`.

    >>> fx.grad(fnp.max)(fnp.array([1.0, 2.0, 2.0]))
    array([0. , 0.5, 0.5])
    """
    return extremum(a, ops.reduce_max, ops.maximum, axis, keepdims, initial, where)


@composite(np.min, below=FUSED_ENTRIES)
def min(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike = True) -> Array:  # fmt: skip
    """The smallest entry along axes; tied entries share the derivative.

    Raises:
        ValueError: no entries, or with `where`, and no `initial`.

    >>> fx.grad(fnp.min)(fnp.array([1.0, 1.0, 2.0]))
    array([0.5, 0.5, 0. ])
    """
    return extremum(a, ops.reduce_min, ops.minimum, axis, keepdims, initial, where)


amax, amin = max, min


@composite(np.ptp, below=FUSED_ENTRIES)
def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The difference of the largest and the smallest entry along axes; tied entries share the derivative.

    >>> fx.grad(fnp.ptp)(fnp.array([1.0, 5.0, 2.0]))
    array([-1.,  1.,  0.])
    """
    return ops.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def extremum_position(a: Any, primitive: Any, axis: Any, keepdims: bool) -> Any:
    a = operand(a)
    shape, axes = a.shape, reduced_axes(axis, a.ndim)
    a, axis = line_up(a, axis)
    return keep_reduced_axes(primitive(a, axis=axis), shape, axes, keepdims)


@composite(np.argmax, derivative=NO_DERIVATIVE)
def argmax(a: ArrayLike, axis: Axis = None, out: None = None, *, keepdims: bool = False) -> Array:
    """The position of the largest entry along an axis, or in the flattened array; of several the first.

    >>> fnp.argmax(fnp.array([[1.0, 5.0], [7.0, 2.0]]), axis=1)
    array([1, 0])
    """
    return extremum_position(a, ops.argmax, axis, keepdims)


@composite(np.argmin, derivative=NO_DERIVATIVE)
def argmin(a: ArrayLike, axis: Axis = None, out: None = None, *, keepdims: bool = False) -> Array:
    """The position of the smallest entry along an axis, or in the flattened array; of several the first.

    >>> fnp.argmin(fnp.array([[1.0, 5.0], [7.0, 2.0]]), axis=1)
    array([0, 1])
    """
    return extremum_position(a, ops.argmin, axis, keepdims)


# -- moments ------------------------------------------
def summation_dtypes(a: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the dtype in which a mean is computed, and that of the result."""
    if dtype is not None:
        return np.dtype(dtype), np.dtype(dtype)
    if kind(a) in "biu":
        return np.dtype(float), np.dtype(float)
    own = dtype_of(a)
    return np.dtype(np.float32) if own == np.float16 else own, own


def reduced_count(a: Any, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """Count the entries that go into each result."""
    if where is True:
        return Aval(tuple(a.shape[i] for i in axes), None).size
    taking_part = ops.broadcast_to(ops.not_equal(operand(where), False), shape=a.shape)
    return keep_reduced_axes(ops.reduce_sum(cast(taking_part, np.intp), axes=axes), a.shape, axes, keepdims)


@composite(np.mean, below=FUSED_ENTRIES, derivative=LINEAR)
def mean(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None, keepdims: bool = False, *,
         where: ArrayLike = True) -> Array:  # fmt: skip
    """The arithmetic mean along axes.

    >>> fx.grad(fnp.mean)(fnp.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    a = operand(a)
    axes = normalize_axes(axis, a.ndim)
    inner, outer = summation_dtypes(a, dtype)
    total = sum(a, axes, inner, keepdims=keepdims, where=where)
    return cast(cast(ops.divide(total, reduced_count(a, axes, where, keepdims)), inner), outer)


def deviations(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, center: Any, correction: Any
               ) -> tuple[Any, Any, tuple[int, ...], Any, Any]:  # fmt: skip
    """Return a − mean (with 0 where entries are left out), the divisor, the axes, and the dtypes of the sum
    and of the result."""
    if correction is not None:
        if ddof != 0:
            raise ShapeError(
                f"ddof={ddof} and correction={correction} are both given",
                hint="one of them: they are names of one number",
            )
        ddof = correction
    a = operand(a)
    axes = normalize_axes(axis, a.ndim)
    inner, outer = summation_dtypes(a, dtype)
    if center is None:
        center = mean(a, axes, inner, keepdims=True, where=where)
    apart = ops.subtract(a, center)
    if where is not True:
        apart = fill_outside(where, apart, 0)
    divisor = reduced_count(a, axes, where, keepdims) - ddof
    divisor = builtins.max(divisor, 0) if where is True else ops.maximum(divisor, 0)
    inner, outer = (np.zeros(0, d).real.dtype for d in (inner, outer))
    return apart, divisor, axes, inner, outer


@composite(np.var, below=FUSED_ENTRIES)
def var(
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
    """The variance along axes: the mean of |a − mean|², divided by count − ddof. It is real, also for complex numbers.

    Raises:
        ValueError: both `ddof` and `correction` are given.

    >>> fx.grad(fnp.var)(fnp.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    apart, divisor, axes, inner, outer = deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    if type(apart) is np.ndarray and kind(apart) == "f" and CURRENT.get().observer is None:
        squares = np.square(
            apart, out=apart
        )  # which nobody else has: it costs more to ask the system for memory
    else:
        squares = squared_modulus(apart)
    total = sum(squares, axes, inner, keepdims=keepdims)
    return cast(cast(ops.divide(total, divisor), inner), outer)


@composite(np.std, below=FUSED_ENTRIES)
def std(
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
    """The standard deviation along axes. It is a norm: if all entries are equal its derivative is 0 by convention, and
    its square has the derivative of the variance.

    Raises:
        ValueError: both `ddof` and `correction` are given.

    >>> fx.grad(fnp.std)(fnp.ones(2))
    array([0., 0.])
    >>> fx.grad(fnp.std)(fnp.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    apart, divisor, axes, inner, outer = deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    apart = cast(apart, np.result_type(dtype_of(apart), inner))
    length = keep_reduced_axes(ops.norm2(apart, axes=axes), apart.shape, axes, keepdims)
    if mean is None:
        length = freeze_lone_groups(length, apart, reduced_count(apart, axes, where, True), divisor, axes)
    result = cast(cast(ops.divide(length, divisor**0.5), inner), outer)
    return remember_radicand(result, lambda a: var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean,
                                      correction=correction), a)  # fmt: skip


def freeze_lone_groups(length: Any, apart: Any, count: Any, divisor: Any, axes: tuple[int, ...]) -> Any:
    """Make the norms of deviations constant for groups of one entry, which is its own mean wherever it
    moves."""
    if isinstance(count, int):
        return ops.stop_gradient(length) if count == 1 and divisor > 0 else length
    lone = ops.logical_and(ops.equal(count, 1), ops.greater(ops.reshape(divisor, shape=count.shape), 0))
    moving = ops.norm2(ops.where(lone, 1, apart), axes=axes)
    lone, moving = (ops.reshape(x, shape=length.shape) for x in (lone, moving))
    return ops.where(lone, ops.stop_gradient(length), moving)


def squared_modulus(x: Any) -> Any:
    """|x|², with a derivative everywhere."""
    return ops.real(ops.multiply(x, ops.conjugate(x))) if kind(x) == "c" else square(x)


def weights_along(a: Any, weights: Any, axis: Any) -> Array:
    """Return weights of the shape of `a`, made of those of its entries along the axes where they are given
    so."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise StructureError(
            f"average: weights of shape {weights.shape} for an array of shape {a.shape}",
            hint=f"axis=, along which the weights go, or weights of shape {a.shape}",
        )
    axes = normalize_axes(axis, a.ndim)
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise wrong_shape("average", "weights", weights.shape, tuple(a.shape[i] for i in axes))
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = tuple(n if i in axes else 1 for i, n in enumerate(a.shape))
    return ops.broadcast_to(ops.reshape(ops.permute(weights, axes=tuple(order)), shape=shape), shape=a.shape)


@overload
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: Literal[False] = False, *,
    keepdims: bool = False,
) -> Array: ...  # fmt: skip
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
@composite(np.average)
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The weighted mean along axes. Plain weights with sum 0 raise ZeroDivisionError; for traced ones the result is NaN
    or ∞.

    Args:
        weights: an array of the shape of `a`, or (one-dimensional) of its size along `axis`.
        returned: give (average, sum of the weights).

    Raises:
        TypeError: `weights` of another shape than `a`, without `axis`.
        ValueError: `weights` do not fit the shape of `a` along `axis`.

    >>> fnp.average(fnp.array([1.0, 2.0, 4.0]), weights=fnp.array([1.0, 1.0, 2.0]))
    np.float64(2.75)
    """
    a = operand(a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total = ops.full_like(result, value=reduced_count(a, normalize_axes(axis, a.ndim), True, False))
        return (result, total) if returned else result
    weights = operand(weights)
    dtype = np.result_type(dtype_of(a), dtype_of(weights), *([np.float64] if kind(a) in "biu" else []))
    axes = normalize_axes(axis, a.ndim)
    weights = weights_along(a, weights, axis)
    total = sum(weights, axes, dtype, keepdims=keepdims)
    result = ops.divide(
        sum(ops.multiply(cast(a, dtype), cast(weights, dtype)), axes, keepdims=keepdims), total
    )
    return (result, total) if returned else result


# -- running reductions ------------------------------------------
def running_reduction(a: Any, primitive: Any, axis: Any, dtype: Any) -> Any:
    a, axis = line_up(operand(a), axis)
    y = primitive(cast(a, widen_dtype(dtype_of(a)) if dtype is None else dtype), axis=axis)
    return cast(y, dtype)


def running_array_api(
    x: Any, primitive: Any, first: int, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    x = operand(x)
    if axis is None:
        if x.ndim > 1:
            raise ShapeError(
                f"an array of shape {x.shape} needs an axis to go along", hint="axis=0, or x.ravel()"
            )
        axis = 0
    x = ops.reshape(x, shape=(1,)) if x.ndim == 0 else x
    y, axis = running_reduction(x, primitive, axis, dtype), normalize_axis(axis, x.ndim)
    if not include_initial:
        return y
    start = ops.full_like(ops.getitem(y, index=at_axis(slice(0, 1), axis)), value=first)
    return ops.concatenate(start, y, axis=axis)


@composite(np.cumsum, derivative=LINEAR)
def cumsum(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None) -> Array:
    """The running sum along an axis, or of the flattened array: the sum of each entry and all before it.

    >>> fnp.cumsum(fnp.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    return running_reduction(a, ops.cumsum, axis, dtype)


@composite(np.cumprod)
def cumprod(a: ArrayLike, axis: Axis = None, dtype: DType = None, out: None = None) -> Array:
    """The running product along an axis, or of the flattened array. Its derivative is right where entries are 0.

    >>> fx.jacobian(fnp.cumprod)(fnp.array([0.0, 2.0]))
    array([[1., 0.],
           [2., 0.]])
    """
    return running_reduction(a, ops.cumprod, axis, dtype)


@composite(np.cumulative_sum, derivative=LINEAR)
def cumulative_sum(x: ArrayLike, /, *, axis: Axis = None, dtype: DType = None, out: None = None,
                   include_initial: bool = False) -> Array:  # fmt: skip
    """The running sum along an axis, under the Array API's name; `include_initial` prepends a 0. An array of several
    axes needs `axis`.

    Raises:
        ValueError: several axes, and no `axis`.

    >>> fnp.cumulative_sum(fnp.array([1.0, 2.0, 3.0]), include_initial=True)
    array([0., 1., 3., 6.])
    """
    return running_array_api(x, ops.cumsum, 0, axis, dtype, include_initial)


@composite(np.cumulative_prod)
def cumulative_prod(x: ArrayLike, /, *, axis: Axis = None, dtype: DType = None, out: None = None,
                    include_initial: bool = False) -> Array:  # fmt: skip
    """The running product along an axis, under the Array API's name; `include_initial` prepends a 1. An array of
    several axes needs `axis`.

    Raises:
        ValueError: several axes, and no `axis`.

    >>> fnp.cumulative_prod(fnp.array([2.0, 3.0]), include_initial=True)
    array([1., 2., 6.])
    """
    return running_array_api(x, ops.cumprod, 1, axis, dtype, include_initial)


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
