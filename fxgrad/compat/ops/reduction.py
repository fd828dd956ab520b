"""Reductions over some dimensions, or over all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import FxgradError, aval_of, ops
from ...numpy.reductions import keep_reduced_axes
from .._core.dtypes import as_numpy_dtype, default_numpy_dtype, short_name
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import DimensionError, TensorError
from .arguments import normalize_dim, normalize_dims
from .arithmetic import maximum, minimum, pow_primitive
from .declarers import absolute, add_aliases, kind, over_dims, refuse, step_primitives, value_dtype


def reduce_dims(function, x, dim, keepdim: bool) -> Any:
    """Apply a primitive reduction over the dimensions that torch's arguments name."""
    shape = aval_of(x).shape
    axes = normalize_dims(dim, len(shape))
    y = function(x, axes=axes)
    if value_dtype(y) != value_dtype(x) and kind(y) == kind(x):  # NumPy sums small integers in large ones
        y = ops.convert(y, dtype=value_dtype(x))
    return keep_reduced_axes(y, shape, axes, keepdim)


def sum_dims(x, dim=None, keepdim: bool = False) -> Any:
    """The sum over dimensions; half precision is summed in single."""
    dtype = value_dtype(x)
    if dtype.itemsize == 2 and kind(x) == "f":
        return ops.convert(
            reduce_dims(ops.reduce_sum, ops.convert(x, dtype=np.dtype("f4")), dim, keepdim), dtype=dtype
        )
    return reduce_dims(ops.reduce_sum, x, dim, keepdim)


def sum_operand(x, dtype) -> Any:
    """Convert the operand of a sum or product: integers and booleans are summed in int64."""
    if dtype is not None:
        target = as_numpy_dtype(dtype)
    else:
        target = default_numpy_dtype("i") if kind(x) in "biu" else value_dtype(x)
    return x if value_dtype(x) == target else ops.convert(x, dtype=target)


@operation("input", overload=over_dims, by_value=False)
def sum(input, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The sum over some dimensions, or all.

    >>> torch.sum(torch.ones(2, 3), dim=1).tolist()
    [3.0, 3.0]
    """
    return sum_dims(sum_operand(input, dtype), dim, keepdim)


def real_operand(x) -> Any:
    """Return the operand; raise for complex numbers, for which torch has no sums without NaN."""
    if kind(x) == "c":
        raise TensorError("nansum does not support complex inputs", hint="torch.where(x.isnan(), 0, x)")
    return x


@operation("input")
def nansum(input, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The sum of the elements that are not NaN."""
    x = real_operand(sum_operand(input, dtype))
    return sum_dims(ops.where(ops.isnan(x), 0, x) if kind(x) == "f" else x, dim, keepdim)


@operation("input", overload=over_dims, by_value=False)
def prod(input, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The product along one dimension, or of all elements."""
    axis = None if dim is None else (normalize_dim(dim, aval_of(input).ndim),)
    return reduce_dims(ops.reduce_prod, sum_operand(input, dtype), axis, keepdim)


def mean_operand(name: str, x, dtype) -> Any:
    """Convert the operand of a mean, which has to be floating."""
    x = x if dtype is None else ops.convert(x, dtype=as_numpy_dtype(dtype))
    if kind(x) not in "fc":
        short = short_name(value_dtype(x))
        words = "Input dtype must be either a floating point or complex dtype."
        raise TensorError(f"{name}(): could not infer output dtype. {words} Got: {short}", hint="x.float()")
    return x


def reduction_size(x, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    return math.prod([aval_of(x).shape[axis] for axis in axes])


def divide_by_count(x, count) -> Any:
    """Divide x by a number of elements, which may be 0."""
    return ops.divide(x, np.asarray(count, value_dtype(x)))


@operation("input", overload=over_dims)
def mean(input, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The mean over some dimensions, or over all."""
    x = mean_operand("mean", input, dtype)
    return divide_by_count(sum_dims(x, dim, keepdim), reduction_size(x, normalize_dims(dim, aval_of(x).ndim)))


@operation("input", node="DivBackward0")
def nanmean(input, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The mean of the elements that are not NaN."""
    x = real_operand(mean_operand("nanmean", input, dtype))
    count = sum_dims(ops.convert(ops.logical_not(ops.isnan(x)), dtype=value_dtype(x)), dim, keepdim)
    return ops.divide(sum_dims(ops.where(ops.isnan(x), 0, x), dim, keepdim), count)


# -- variance ------------------------------------------
def variance_arguments(
    input, dim=None, unbiased: bool | None = None, keepdim: bool = False, *, correction=None
) -> Any:
    """torch says in three ways by how much the divisor is less than the number of elements: var(x, unbiased) is one."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return (input,), {"dim": dim, "correction": correction, "keepdim": keepdim}


def safe_sqrt(variance) -> Any:
    """The square root, with derivative 0 at 0."""
    zero = ops.equal(variance, 0)
    return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, variance)))


def declare_variance(name: str, doc: str, root: bool = False, with_mean: bool = False) -> None:
    """Declare the variance, or its square root, alone or with the mean."""

    def compute(input, dim, correction, keepdim: bool) -> Any:
        x = mean_operand(name, input, None)
        axes = normalize_dims(dim, aval_of(x).ndim)
        count = reduction_size(x, axes)
        center = divide_by_count(sum_dims(x, axes, True), count) if axes else x
        away = ops.subtract(x, center)
        squares = ops.square(ops.absolute(away) if kind(x) == "c" else away)
        found = divide_by_count(sum_dims(squares, axes or None, keepdim), max(count - correction, 0))
        found = safe_sqrt(found) if root else found
        return (found, ops.reshape(center, shape=aval_of(found).shape)) if with_mean else found

    compute.__doc__ = f"{doc}, divided by the number of elements less `correction`."
    options = {"spaces": "function", "results": tuple, "out": False} if with_mean else {}
    operation("input", name=name, arguments=variance_arguments, **options)(compute)


declare_variance("var", "The variance")
declare_variance("std", "The standard deviation", root=True)
declare_variance("var_mean", "The variance and the mean", with_mean=True)
declare_variance("std_mean", "The standard deviation and the mean", root=True, with_mean=True)


# -- extrema ------------------------------------------
def empty_error(error: type[FxgradError], name: str) -> FxgradError:
    """Return the error for an extremum of no elements at all."""
    return error(
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
        "'dim' argument.",
        hint="only where x.numel() > 0, or dim=… of one that has entries",
    )


def ensure_elements(name: str, x, axes: tuple[int, ...]) -> None:
    """Raise where a reduced dimension is empty."""
    shape = aval_of(x).shape
    for axis in axes:
        if shape[axis] == 0:
            if len(axes) == len(shape) > 1 or len(axes) > 1:
                raise empty_error(TensorError, name)
            raise DimensionError(
                f"{name}(): Expected reduction dim {axis} to have non-zero size.",
                hint=f"only where x.size({axis}) > 0",
            )


def extremum(name: str, function, x, dim, keepdim: bool) -> Any:
    """The values of max and min."""
    ensure_elements(name, x, normalize_dims(dim, aval_of(x).ndim))
    return reduce_dims(function, x, dim, keepdim)


@operation("input")
def amax(input, dim=(), keepdim: bool = False) -> Any:
    """The greatest entry along some dimensions, or of all."""
    return extremum("amax", ops.reduce_max, input, dim, keepdim)


@operation("input")
def amin(input, dim=(), keepdim: bool = False) -> Any:
    """The least entry along some dimensions, or of all."""
    return extremum("amin", ops.reduce_min, input, dim, keepdim)


@operation("input", results=make_result_type("aminmax", "min", "max"))
def aminmax(input, *, dim=None, keepdim: bool = False) -> Any:
    """The least and the greatest."""
    return [extremum("aminmax", f, input, dim, keepdim) for f in (ops.reduce_min, ops.reduce_max)]


def ensure_numbers(name: str, x) -> None:
    """Raise for truth values, and for complex numbers, which have no order."""
    if kind(x) in "bc":
        word = "bool" if kind(x) == "b" else "complex"
        raise TensorError(f"{name}(): does not support {word} input", hint="x.int(), x.abs()")


def extremum_index(name: str, function, x, dim, keepdim: bool) -> Any:
    """The first place of an extremum along a dimension, or among all elements."""
    shape = aval_of(x).shape
    if kind(x) == "b":
        x = ops.convert(x, dtype=np.dtype("u1"))
    ensure_numbers(name, x)
    if dim is None or (not shape and normalize_dim(dim, 0) == 0):
        if aval_of(x).size == 0:
            raise empty_error(DimensionError, name)
        found = function(fnp.ravel(x), axis=0)
        return ops.reshape(found, shape=(1,) * len(shape)) if keepdim else found
    axis = normalize_dim(dim, len(shape))
    ensure_elements(name, x, (axis,))
    found = function(x, axis=axis)
    return keep_reduced_axes(found, shape, (axis,), keepdim)


@operation("input", by_value=False)
def argmax(input, dim=None, keepdim: bool = False) -> Any:
    """The place of the greatest, the first one."""
    ensure_numbers("argmax", input)
    return extremum_index("argmax", ops.argmax, input, dim, keepdim)


@operation("input", by_value=False)
def argmin(input, dim=None, keepdim: bool = False) -> Any:
    """The place of the least, the first one."""
    ensure_numbers("argmin", input)
    return extremum_index("argmin", ops.argmin, input, dim, keepdim)


def take_with_indices(x, places, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """Return (the elements at places along an axis, the places); the places have length one along the axis."""
    if not aval_of(x).shape:
        return x, ops.reshape(places, shape=())
    values = ops.take_along(x, places, axis)
    if keepdim:
        return values, places
    shape = aval_of(x).shape[:axis] + aval_of(x).shape[axis + 1 :]
    return ops.reshape(values, shape=shape), ops.reshape(places, shape=shape)


def take_tangent(ys, primals, tangents, params: dict) -> list[Any]:
    """The tangents of the chosen elements along a dimension; the second result has their places."""
    (x,), (t,), (value, places) = primals, tangents, ys
    shape = aval_of(x).shape
    if not shape:
        return [t, None]
    axis = normalize_dim(params["dim"], len(shape))
    if aval_of(places).ndim < len(shape):
        places = ops.restore_axes(places, shape, (axis,))
    return [ops.reshape(ops.take_along(t, places, axis), shape=aval_of(value).shape), None]


def declare_selection(name: str, **options) -> Any:
    """Declare an operation that gives elements along a dimension, and their places."""
    pair = make_result_type(name, "values", "indices")
    return operation("input", name=name, results=pair, tangent=take_tangent, **options)


def declare_extreme(name: str, reduce, position, pairwise, doc: str) -> None:
    """Declare the overloads of max or min: of all elements, along a dimension with the place, of two Tensors."""

    @declare_selection(name, spaces="")
    def along(input, dim, keepdim: bool = False) -> Any:
        axis = normalize_dim(dim, aval_of(input).ndim)
        places = extremum_index(name, position, input, axis, aval_of(input).ndim > 0)
        return take_with_indices(input, places, axis, keepdim)

    @operation("input", name=name, spaces="", node=f"{name.title()}Backward1")
    def of_all(input) -> Any:
        refuse("c", input, operation=name)
        if not aval_of(input).size:
            raise empty_error(TensorError, name)
        return extremum(name, reduce, input, None, False)

    def function(input: Tensor, dim=None, keepdim: bool = False, *, other=None, out=None) -> Any:
        if other is None and isinstance(dim, Tensor):
            dim, other = None, dim
        if other is not None:
            return pairwise(input, other, out=out)
        return of_all(input, out=out) if dim is None else along(input, dim, keepdim, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    expose("function method", name)(function)


declare_extreme(
    "max",
    ops.reduce_max,
    ops.argmax,
    maximum,
    "max(x), max(x, dim, keepdim) → (values, indices), or max(x, other).",
)
declare_extreme(
    "min",
    ops.reduce_min,
    ops.argmin,
    minimum,
    "min(x), min(x, dim, keepdim) → (values, indices), or min(x, other).",
)


# -- truth and numbers of elements ------------------------------------------
def reduce_truth(function, x, dim, keepdim: bool) -> Any:
    """Reduce by all or any, to bool; uint8 to uint8. Unlike sums they are of single elements where `dim` is empty."""
    nonzero = ops.not_equal(x, 0)
    found = nonzero if dim == () else reduce_dims(function, nonzero, dim, keepdim)
    return ops.convert(found, dtype=value_dtype(x)) if value_dtype(x) == np.uint8 else found


@operation("input", by_value=False)
def all(input, dim=None, keepdim: bool = False) -> Any:
    """Whether all entries are true (not 0), along some dimensions or of all."""
    return reduce_truth(ops.reduce_all, input, dim, keepdim)


@operation("input", by_value=False)
def any(input, dim=None, keepdim: bool = False) -> Any:
    """Whether one entry is true (not 0), along some dimensions or of all."""
    return reduce_truth(ops.reduce_any, input, dim, keepdim)


@operation("input", out=False, by_value=False)
def count_nonzero(input, dim=None) -> Any:
    """How many are not 0."""
    return sum_dims(ops.convert(ops.not_equal(input, 0), dtype=default_numpy_dtype("i")), dim)


# -- norms ------------------------------------------
def p_norm(x, p, axes, keepdim: bool = False) -> Any:
    """The p-norm (Σ|x|ᵖ)^(1/p) and its limits; the derivative is 0 where it does not exist."""
    if p == 2:
        return reduce_dims(ops.norm2, x, axes, keepdim)
    size = absolute(x)
    if p == np.inf:
        return reduce_dims(ops.reduce_max, size, axes, keepdim)
    if p == -np.inf:
        return reduce_dims(ops.reduce_min, size, axes, keepdim)
    if p == 1:
        return sum_dims(size, axes, keepdim)
    zero = ops.equal(size, 0)
    if p == 0:
        return sum_dims(ops.where(ops.isnan(size), 1, step_primitives["sign"](size)), axes, keepdim)
    powers = sum_dims(
        ops.where(zero, 0.0 if p > 0 else np.inf, pow_primitive(ops.where(zero, 1, size), p)), axes, keepdim
    )
    none = ops.equal(powers, 0)
    return ops.where(none, 0.0 if p > 0 else np.inf, pow_primitive(ops.where(none, 1, powers), 1 / p))


def logsumexp_tangent(y, primals, tangents, params: dict) -> Any:
    """Σ t·exp(x − y): the softmax is computed from the result."""
    (x,), (t,) = primals, tangents
    axes = normalize_dims(params["dim"], x.ndim)
    top = y if params["keepdim"] else ops.restore_axes(y, x.shape, axes)
    return keep_reduced_axes(
        ops.reduce_sum(t * ops.exp(ops.subtract(x, top)), axes=axes), x.shape, axes, params["keepdim"]
    )


@operation("input", promote="float", tangent=logsumexp_tangent)
def logsumexp(input, dim, keepdim: bool = False) -> Any:
    """The logarithm of a sum of exponentials, log Σ eˣ, computed without overflow."""
    axes = normalize_dims(dim, aval_of(input).ndim)
    top = ops.real(input) if kind(input) == "c" else input
    if reduction_size(input, axes) == 0:
        return ops.log(sum_dims(ops.exp(input), axes, keepdim))
    top = ops.stop_gradient(reduce_dims(ops.reduce_max, top, axes, True))
    top = ops.where(ops.isfinite(top), top, 0)
    found = ops.log(sum_dims(ops.exp(ops.subtract(input, top)), axes, keepdim))
    return found + ops.reshape(top, shape=aval_of(found).shape)


add_aliases("special", logsumexp=logsumexp)
