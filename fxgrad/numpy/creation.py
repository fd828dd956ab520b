"""Creation of arrays. NumPy's own functions create arrays that depend on no traced value; the functions here accept
traced values where NumPy's accept arrays or numbers.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy import frombuffer, fromiter, fromstring, mgrid, ogrid

from .. import ops
from ..core.arrays import as_value
from ..core.aval import is_differentiable
from ..core.common_errors import check_ndim
from ..core.errors import UnsupportedError
from ..core.interpreter import Tracer
from ..core.typing import Array, ArrayLike, DType, Shape
from .composite import (
    cast,
    composite,
    creator,
    dtype_of,
    is_beyond_numpy,
    normalize_axis,
    operand,
    operands,
)
from .documentation import LINEAR, ZERO_DERIVATIVE
from .dtypes import ndim
from .elementwise import power, sign
from .joining import concatenate
from .manipulation import broadcast_arrays, expand_dims
from .placement import on_default_device
from .ufuncs import log10

empty, eye = creator(on_default_device(np.empty)), creator(on_default_device(np.eye))
identity, indices = creator(on_default_device(np.identity)), creator(on_default_device(np.indices))
ones, tri = creator(on_default_device(np.ones)), creator(on_default_device(np.tri))
zeros = creator(on_default_device(np.zeros))


# -- from values ------------------------------------------
@composite(on_default_device(np.asarray), derivative=LINEAR)
def asarray(a: ArrayLike, dtype: DType = None, order: Any = None, *, device: Any = None, copy: Any = None,
            like: Any = None) -> Array:  # fmt: skip
    """An array from numbers, arrays, traced values and nested sequences of them.

    >>> fx.jacobian(lambda x: fnp.asarray([x, 2 * x]))(1.0)
    array([1., 2.])
    """
    return cast(operand(a), dtype)


@composite(on_default_device(np.array))
def array(
    object: ArrayLike,
    dtype: DType = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Array:
    """An array from numbers, nested sequences of them, or arrays. Entries may be traced, and are then differentiated.
    Traced values are not copied, because they are never written to.

    >>> fx.grad(lambda x: fnp.prod(fnp.array([x, 2.0, 3 * x])))(1.0)
    np.float64(12.0)
    """
    x = asarray(object, dtype)
    return x if x.ndim >= ndmin else ops.reshape(x, shape=(*(1,) * (ndmin - x.ndim), *x.shape))


@composite(on_default_device(np.asanyarray), derivative=LINEAR)
def asanyarray(a: ArrayLike, dtype: DType = None, order: Any = None, *, device: Any = None, copy: Any = None,
               like: Any = None) -> Array:  # fmt: skip
    """Like `asarray`, but instances of NumPy's subclasses stay as they are.

    >>> fnp.asanyarray([1.0, 2.0])
    array([1., 2.])
    """
    return asarray(a, dtype)


@composite(np.ascontiguousarray, derivative=LINEAR)
def ascontiguousarray(a: ArrayLike, dtype: DType = None, *, like: Any = None) -> Array:
    """An array with at least one axis, contiguous in memory. Traced values have no memory: only their axes are adapted.

    >>> fnp.ascontiguousarray(3.0)
    array([3.])
    """
    return array(a, dtype, ndmin=1)


@composite(np.copy, derivative=LINEAR)
def copy(a: ArrayLike, order: Any = "K", subok: bool = False) -> Array:
    """A copy of an array. Under transforms it can be written into.

    >>> fnp.copy(fnp.array([1.0, 2.0]))
    array([1., 2.])
    """
    return operand(a)


@composite(np.from_dlpack, derivative="")
def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """An array that shares memory with another library's array, by the DLPack protocol. Traced values have no memory:
    they raise UnsupportedError.

    >>> fnp.from_dlpack(fnp.arange(3.0))
    array([0., 1., 2.])
    """
    return np.from_dlpack(x, device=device, copy=copy)


@composite(np.astype)
def astype(x: ArrayLike, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Array:
    """An array in another dtype. Between floating and complex dtypes it is linear; conversions to integers and booleans
    have no derivative.

    >>> fnp.astype(fnp.array([1.7, -1.7]), int)
    array([ 1, -1])
    """
    return cast(x, dtype)


# -- filled ------------------------------------------
@composite(on_default_device(np.full), derivative=LINEAR)
def full(shape: Shape, fill_value: ArrayLike, dtype: DType = None, order: Any = "C", *, device: Any = None,
         like: Any = None) -> Array:  # fmt: skip
    """An array of one value, which may be traced.

    >>> float(fx.grad(lambda x: fnp.sum(fnp.full((2, 3), x)))(1.0))
    6.0
    """
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return ops.broadcast_to(cast(operand(fill_value), dtype), shape=shape)


@composite(np.full_like)
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DType = None,
    order: Any = "K",
    subok: bool = True,
    shape: Shape = None,
    *,
    device: Any = None,
) -> Array:
    """An array of one value with the shape and the dtype of another, unless these are given. It is differentiated by
    `fill_value` only.

    >>> fnp.full_like(fnp.ones((1, 3)), 7)
    array([[7., 7., 7.]])
    """
    a = operand(a)
    dtype = dtype_of(a) if dtype is None else np.dtype(dtype)
    if shape is not None or isinstance(fill_value, Tracer) or operand(fill_value).ndim:
        return full(a.shape if shape is None else shape, fill_value, dtype)
    if dtype != dtype_of(a):  # by way of booleans, which convert to everything
        a = cast(ops.equal(a, a), dtype)
    return ops.full_like(a, value=fill_value)


@composite(np.zeros_like, derivative=ZERO_DERIVATIVE)
def zeros_like(a: ArrayLike, dtype: DType = None, order: Any = "K", subok: bool = True, shape: Shape = None, *,
               device: Any = None) -> Array:  # fmt: skip
    """An array of zeros with the shape and the dtype of another, unless these are given.

    >>> fnp.zeros_like(fnp.ones((1, 3)))
    array([[0., 0., 0.]])
    """
    return full_like(a, 0, dtype, shape=shape)


@composite(np.ones_like, derivative=ZERO_DERIVATIVE)
def ones_like(a: ArrayLike, dtype: DType = None, order: Any = "K", subok: bool = True, shape: Shape = None, *,
              device: Any = None) -> Array:  # fmt: skip
    """An array of ones with the shape and the dtype of another, unless these are given.

    >>> fnp.ones_like(fnp.zeros((1, 3)))
    array([[1., 1., 1.]])
    """
    return full_like(a, 1, dtype, shape=shape)


@composite(np.empty_like, derivative=ZERO_DERIVATIVE)
def empty_like(
    prototype: ArrayLike,
    /,
    dtype: DType = None,
    order: Any = "K",
    subok: bool = True,
    shape: Shape = None,
    *,
    device: Any = None,
) -> Array:
    """An array with the shape and the dtype of another, unless these are given; its entries are arbitrary, those of
    traced ones are zeros.

    >>> fnp.empty_like(fnp.ones((1, 3))).shape
    (1, 3)
    """
    return zeros_like(prototype, dtype, shape=shape)


# -- ranges ------------------------------------------
@composite(on_default_device(np.arange), derivative="")
def arange(
    start_or_stop: ArrayLike,
    /,
    stop: ArrayLike | None = None,
    step: ArrayLike = 1,
    *,
    dtype: DType = None,
    device: Any = None,
    like: Any = None,
) -> Array:
    """Numbers from start to stop, without stop, at equal steps. The bounds determine the shape: traced integers must be
    known, otherwise ConcretizationError; traced floating-point numbers raise UnsupportedError.

    Raises:
        UnsupportedError: a traced floating-point value would fix the shape of the result.

    >>> fnp.arange(1.0, 2.0, 0.25)
    array([1.  , 1.25, 1.5 , 1.75])
    """
    bounds = [as_value(v) for v in (start_or_stop, stop, step) if v is not None]
    if any(isinstance(v, Tracer) and is_differentiable(dtype_of(v)) for v in bounds):
        raise UnsupportedError(
            "arange of a traced floating-point value, which would fix the shape of the result",
            hint="start + step * fnp.arange(count), or fnp.linspace(start, stop, count)",
        )
    return np.arange(*[v.__index__() for v in bounds], dtype=dtype)


@overload
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: Literal[False] = False,
    dtype: DType = None, axis: int = 0, *, device: Any = None,
) -> Array: ...  # fmt: skip
@overload
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, *, retstep: Literal[True],
    dtype: DType = None, axis: int = 0, device: Any = None,
) -> tuple[Array, Array]: ...  # fmt: skip
@composite(on_default_device(np.linspace))
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers evenly from start to stop, both of which may be traced arrays.

    >>> fx.jacobian(lambda stop: fnp.linspace(0.0, stop, 3))(2.0)
    array([0. , 0.5, 1. ])
    """
    start, stop, _ = ops.promote_dtypes([as_value(start), as_value(stop), 0.0])
    shape = np.broadcast_shapes(start.shape, stop.shape)
    count = num - 1 if endpoint else num
    step = ops.divide(ops.subtract(stop, start), count) if count > 0 else ops.full_like(start, value=np.nan)
    serial = np.arange(num).reshape(-1, *(1,) * len(shape))
    if count > 0:
        result = ops.add(ops.multiply(serial.astype(dtype_of(step)), step), start)
    else:
        result = ops.broadcast_to(ops.add(start, ops.multiply(stop, 0)), shape=(num, *shape))
    if endpoint and num > 1:
        result = ops.where(serial == num - 1, stop, result)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        result = ops.floor(result)
    result = ops.move_axis(cast(result, dtype), 0, normalize_axis(axis, result.ndim))
    return (result, step) if retstep else result


@composite(on_default_device(np.logspace))
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DType = None,
    axis: int = 0,
) -> Array:
    """Numbers base^e for exponents e at equal distances; differentiated by bounds and base.

    >>> fnp.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    if ndim(base) == 0:
        return cast(power(base, linspace(start, stop, num, endpoint, axis=axis)), dtype)
    start, stop, base = broadcast_arrays(start, stop, base)
    return cast(power(expand_dims(base, axis), linspace(start, stop, num, endpoint, axis=axis)), dtype)


@composite(on_default_device(np.geomspace))
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType = None,
    axis: int = 0,
) -> Array:
    """Numbers from start to stop at equal ratios; differentiated by both.

    >>> fnp.geomspace(1, 8, 4)
    array([1., 2., 4., 8.])
    """
    start, stop, _ = ops.promote_dtypes([operand(start), operand(stop), 0.0])
    # Turned so that it starts from a positive number; the turn cancels, so that its derivative is not needed.
    turn = sign(ops.stop_gradient(start))
    start, stop = ops.divide(start, turn), ops.divide(stop, turn)
    result = logspace(log10(start), log10(stop), num, endpoint)
    serial = np.arange(num).reshape(-1, *(1,) * (result.ndim - 1))
    if num > 0:
        result = ops.where(serial == 0, start, result)
    if endpoint and num > 1:
        result = ops.where(serial == num - 1, stop, result)
    result = ops.multiply(result, turn)
    return ops.move_axis(cast(result, dtype), 0, normalize_axis(axis, result.ndim))


# -- coordinates ------------------------------------------
@composite(np.meshgrid, derivative=LINEAR)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinate arrays of the grid of coordinate vectors, in a tuple: one array for each vector.

    >>> fnp.meshgrid(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    (array([[1., 2.],
           [1., 2.]]), array([[3., 3.],
           [4., 4.]]))
    """
    xs = operands(xi)
    count = len(xs)
    axes = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else range(count)
    shape = tuple(xs[i].size for i in axes)
    grids = [ops.reshape(x, shape=tuple(x.size if i == axis else 1 for i in range(count)))
             for x, axis in zip(xs, axes)]  # fmt: skip
    return tuple(g if sparse else ops.broadcast_to(g, shape=shape) for g in grids)


class Joiner:
    """`fnp.r_[…]` and `fnp.c_[…]`: arrays, numbers and ranges between brackets, joined. As NumPy's; traced values may
    be among them.

    >>> fx.jacobian(lambda x: fnp.r_[0.0, x, 1:3])(fnp.ones(2))[1:3]
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, plain: Any, axis: int, ndim: int, place: int):
        self.plain: Any = plain
        self.layout: tuple[int, int, int] = (axis, ndim, place)

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        if not any(is_beyond_numpy([i.start, i.stop, i.step] if isinstance(i, slice) else i) for i in items):
            return self.plain[key]
        axis, ndim, place = self.layout
        if isinstance(items[0], str):
            numbers = items.pop(0).split(",")
            if not all(n.strip().lstrip("-").isdigit() for n in numbers) or len(numbers) > 3:
                raise UnsupportedError(
                    f"{','.join(numbers)!r} between the brackets, which makes a matrix",
                    hint="integers: 'axis,ndim,place'",
                )
            axis, ndim, place = [*map(int, numbers), *self.layout[len(numbers) :]]
        parts = [as_value(self.expand_slice(i) if isinstance(i, slice) else i) for i in items]
        dtype = ops.result_dtype(parts)
        return concatenate([self.add_axes(cast(operand(p), dtype), ndim, place) for p in parts], axis)

    @staticmethod
    def expand_slice(part: slice) -> Any:
        """Return the range that a slice stands for; an imaginary step is the number of points."""
        start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
        if isinstance(step, complex):
            return linspace(start, part.stop, int(step.imag))
        return arange(start, part.stop, step)

    @staticmethod
    def add_axes(x: Any, ndim: int, place: int) -> Any:
        """Return x with at least `ndim` axes, its own from `place` on."""
        extra = ndim - x.ndim
        if extra <= 0:
            return x
        before = place + extra + 1 if place < 0 else place
        return ops.reshape(x, shape=(*(1,) * before, *x.shape, *(1,) * (extra - before)))


r_: Joiner = Joiner(np.r_, 0, 1, -1)
c_: Joiner = Joiner(np.c_, -1, 2, 0)


@composite(np.vander)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix of the powers of a vector's entries, the highest in the first column unless `increasing`. ValueError
    unless `x` has one axis.

    Raises:
        ValueError: `x` has not one axis.

    >>> fnp.vander(fnp.array([2.0, 3.0]), 3)
    array([[4., 2., 1.],
           [9., 3., 1.]])
    """
    x = operand(x)
    check_ndim("vander", "x", x, 1)
    exponents = np.arange(x.size if N is None else N)
    return power(ops.reshape(x, shape=(x.size, 1)), exponents if increasing else exponents[::-1])


__all__ = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "astype", "c_", "copy", "empty", "empty_like",
    "eye", "from_dlpack", "frombuffer", "fromiter", "fromstring", "full", "full_like", "geomspace", "identity",
    "indices", "linspace", "logspace", "meshgrid", "mgrid", "ogrid", "ones", "ones_like", "r_", "tri", "vander",
    "zeros", "zeros_like",
]  # fmt: skip
