"""Reductions of some dimensions, or all, to one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.aval import aval_of
from .._core.dtypes import as_numpy_dtype, default_numpy, short_name
from .._core.errors import DimensionError, TensorError
from .._core.tensor import Tensor
from .._declare.entry import with_numpy_names
from .._declare.named_results import results
from .._declare.operation import exposed, operation
from .arithmetic import maximum, minimum, power
from .declarers import aliased, dtype_of, kind, steps
from .dimensions import dimension, dimensions, extent, flattened, kept_shape
from .linalg import linalg_matrix_norm


def reduced(function: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """A primitive reduction of torch's dimensions."""
    shape = aval_of(x).shape
    axes = dimensions(dim, len(shape))
    y = function(x, axes=axes)
    if dtype_of(y) != dtype_of(x) and kind(y) == kind(x):  # NumPy sums small integers in large ones
        y = ops.convert(y, dtype=dtype_of(x))
    return ops.reshape(y, shape=kept_shape(shape, axes)) if keepdim and axes else y


def total(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum; that of half precision is taken in single."""
    dtype = dtype_of(x)
    if dtype.itemsize == 2 and kind(x) == "f":
        return ops.convert(
            reduced(ops.reduce_sum, ops.convert(x, dtype=np.dtype("f4")), dim, keepdim), dtype=dtype
        )
    return reduced(ops.reduce_sum, x, dim, keepdim)


def summand(x: Any, dtype: Any) -> Any:
    """An operand of sums and products: integers and booleans are summed in int64."""
    if dtype is not None:
        target = as_numpy_dtype(dtype)
    else:
        target = default_numpy("i") if kind(x) in "biu" else dtype_of(x)
    return x if dtype_of(x) == target else ops.convert(x, dtype=target)


@operation("input")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over some dimensions, or all.

    >>> import fxgrad.compat as torch
    >>> torch.sum(torch.ones(2, 3), dim=1).tolist()
    [3.0, 3.0]
    """
    return total(summand(input, dtype), dim, keepdim)


@operation("input")
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of what is not NaN."""
    x = summand(input, dtype)
    return total(ops.where(ops.isnan(x), 0, x) if kind(x) in "fc" else x, dim, keepdim)


@operation("input")
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product along one dimension, or of all elements."""
    axis = None if dim is None else (dimension(dim, aval_of(input).ndim),)
    return reduced(ops.reduce_prod, summand(input, dtype), axis, keepdim)


def averaged(name: str, x: Any, dtype: Any) -> Any:
    """An operand of means, which have to be floating."""
    x = x if dtype is None else ops.convert(x, dtype=as_numpy_dtype(dtype))
    if kind(x) not in "fc":
        short = short_name(dtype_of(x))
        words = "Input dtype must be either a floating point or complex dtype."
        raise TensorError(f"{name}(): could not infer output dtype. {words} Got: {short}", hint="x.float()")
    return x


def quotient(x: Any, count: Any) -> Any:
    """x over a number of elements, which may be 0."""
    return ops.divide(x, np.asarray(count, dtype_of(x)))


@operation("input")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean."""
    x = averaged("mean", input, dtype)
    return quotient(total(x, dim, keepdim), extent(x, dimensions(dim, aval_of(x).ndim)))


@operation("input", node="DivBackward0")
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    x = averaged("nanmean", input, dtype)
    count = total(ops.convert(ops.logical_not(ops.isnan(x)), dtype=dtype_of(x)), dim, keepdim)
    return ops.divide(total(ops.where(ops.isnan(x), 0, x), dim, keepdim), count)


# -- variance ------------------------------------------
def moments(x: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """(variance, mean)."""
    axes = dimensions(dim, aval_of(x).ndim)
    count = extent(x, axes)
    center = quotient(total(x, axes, True), count) if axes else x
    away = ops.subtract(x, center)
    squares = ops.square(ops.absolute(away)) if kind(x) == "c" else ops.square(away)
    freedom = max(count - correction, 0)
    variance = quotient(total(squares, axes or None, keepdim), freedom)
    shape = kept_shape(aval_of(x).shape, axes)
    return variance, center if keepdim else ops.reshape(
        center, shape=aval_of(variance).shape
    ) if shape else center


def root(variance: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    zero = ops.equal(variance, 0)
    return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, variance)))


@operation("input", name="var", spaces="")
def var_values(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The variance."""
    return moments(averaged("var", input, None), dim, correction, keepdim)[0]


@operation("input", name="std", spaces="")
def std_values(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The standard deviation."""
    return root(moments(averaged("std", input, None), dim, correction, keepdim)[0])


@operation("input", name="var_mean", spaces="", results=tuple)
def var_mean_values(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The variance and the mean."""
    return moments(averaged("var_mean", input, None), dim, correction, keepdim)


@operation("input", name="std_mean", spaces="", results=tuple)
def std_mean_values(input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The standard deviation and the mean."""
    variance, center = moments(averaged("std_mean", input, None), dim, correction, keepdim)
    return root(variance), center


def spread(name: str, values: Any, doc: str, spaces: str) -> None:
    """The function of a measure of spread, which torch calls in three ways."""

    def measured(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Any = None,
    ) -> Any:
        if isinstance(dim, bool):  # var(x, unbiased)
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return values(input, dim, correction, keepdim, out=out)

    measured.__name__ = measured.__qualname__ = name
    measured.__doc__ = f"{doc}, divided by the number of elements less `correction`."
    exposed(spaces, name)(measured)


spread("var", var_values, "The variance", "function method")
spread("std", std_values, "The standard deviation", "function method")
spread("var_mean", var_mean_values, "The variance and the mean", "function")
spread("std_mean", std_mean_values, "The standard deviation and the mean", "function")


# -- extrema ------------------------------------------
def ensure_elements(name: str, x: Any, axes: tuple[int, ...]) -> None:
    """Raise where there is nothing to choose from."""
    shape = aval_of(x).shape
    for axis in axes:
        if shape[axis] == 0:
            if len(axes) == len(shape) > 1 or len(axes) > 1:
                raise TensorError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument."
                )
            raise DimensionError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


def extremum(name: str, function: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """The values of max and min."""
    ensure_elements(name, x, dimensions(dim, aval_of(x).ndim))
    return reduced(function, x, dim, keepdim)


@operation("input")
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The greatest; ties share the derivative."""
    return extremum("amax", ops.reduce_max, input, dim, keepdim)


@operation("input")
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The least; ties share the derivative."""
    return extremum("amin", ops.reduce_min, input, dim, keepdim)


@operation("input", results=results("aminmax", "min", "max"))
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The least and the greatest."""
    return [extremum("aminmax", f, input, dim, keepdim) for f in (ops.reduce_min, ops.reduce_max)]


def position(name: str, function: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """The first place of an extremum along a dimension, or among all elements."""
    shape = aval_of(x).shape
    if kind(x) == "b":
        x = ops.convert(x, dtype=np.dtype("u1"))
    if dim is None or not shape:
        if aval_of(x).size == 0:
            raise DimensionError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument."
            )
        found = function(flattened(x), axis=0)
        return ops.reshape(found, shape=(1,) * len(shape)) if keepdim else found
    axis = dimension(dim, len(shape))
    ensure_elements(name, x, (axis,))
    found = function(x, axis=axis)
    return ops.reshape(found, shape=kept_shape(shape, (axis,))) if keepdim else found


@operation("input")
def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The place of the greatest, the first one."""
    return position("argmax", ops.argmax, input, dim, keepdim)


@operation("input")
def argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The place of the least, the first one."""
    return position("argmin", ops.argmin, input, dim, keepdim)


def at(x: Any, places: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """(the elements at these places along an axis, which has length one there; the places)."""
    if not aval_of(x).shape:
        return x, ops.reshape(places, shape=())
    values = ops.take_along(x, places, axis)
    if keepdim:
        return values, places
    shape = aval_of(x).shape[:axis] + aval_of(x).shape[axis + 1 :]
    return ops.reshape(values, shape=shape), ops.reshape(places, shape=shape)


def at_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """The tangents of elements along a dimension, whose places are the second result: not looked for a second time."""
    (x,), (t,), (value, places) = primals, tangents, ys
    shape = aval_of(x).shape
    if not shape:
        return [t, None]
    axis = dimension(params["dim"], len(shape))
    if aval_of(places).ndim < len(shape):
        places = ops.expanded(places, shape, (axis,))
    return [ops.reshape(ops.take_along(t, places, axis), shape=aval_of(value).shape), None]


def elements(name: str, **options: Any) -> Any:
    """Declare an operation that gives elements along a dimension, and their places."""
    pair = results(name, "values", "indices")
    return operation("input", name=name, results=pair, tangent=at_tangent, **options)


def extreme_element(name: str, function: Any, doc: str) -> Any:
    """max or min along a dimension, with the place."""

    def found(input: Any, dim: Any, keepdim: bool = False) -> Any:
        axis = dimension(dim, aval_of(input).ndim)
        return at(input, position(name, function, input, axis, bool(aval_of(input).shape)), axis, keepdim)

    found.__doc__ = doc
    return elements(name, spaces="")(found)


along = {
    "max": extreme_element("max", ops.argmax, "The greatest and its place."),
    "min": extreme_element("min", ops.argmin, "The least and its place."),
}


@operation("input", name="max", spaces="")
def greatest(input: Any) -> Any:
    """The greatest of all; ties share the derivative."""
    return extremum("max", ops.reduce_max, input, None, False)


@operation("input", name="min", spaces="")
def least(input: Any) -> Any:
    """The least of all; ties share the derivative."""
    return extremum("min", ops.reduce_min, input, None, False)


def overloaded(name: str, whole: Any, pairwise: Any, doc: str) -> None:
    """max and min: of all elements, along a dimension, of two Tensors."""

    def function(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return whole(input, out=out)
        if "other" in kwargs or (args and isinstance(args[0], Tensor)):
            return pairwise(input, *args, out=out, **kwargs)
        return along[name](input, *args, out=out, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    exposed("function method", name)(with_numpy_names(function))


overloaded("max", greatest, maximum, "max(x), max(x, dim, keepdim) → (values, indices), or max(x, other).")
overloaded("min", least, minimum, "min(x), min(x, dim, keepdim) → (values, indices), or min(x, other).")


# -- truth and numbers of elements ------------------------------------------
def truth(function: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """all or any: boolean, but uint8 of uint8. Unlike sums they are of single elements where `dim` is empty."""
    nonzero = ops.not_equal(x, 0)
    found = nonzero if dim == () else reduced(function, nonzero, dim, keepdim)
    return ops.convert(found, dtype=dtype_of(x)) if dtype_of(x) == np.uint8 else found


@operation("input")
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all are true: not 0."""
    return truth(ops.reduce_all, input, dim, keepdim)


@operation("input")
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether one is true: not 0."""
    return truth(ops.reduce_any, input, dim, keepdim)


@operation("input", out=False)
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many are not 0."""
    return total(ops.convert(ops.not_equal(input, 0), dtype=default_numpy("i")), dim)


# -- norms ------------------------------------------
def norm_of(x: Any, p: Any, axes: Any, keepdim: bool = False) -> Any:
    """(Σ|x|ᵖ)^(1/p) and its limits; the derivative is 0 where it does not exist."""
    if p == 2:
        return reduced(ops.norm2, x, axes, keepdim)
    size = ops.absolute(x)
    if p == np.inf:
        return reduced(ops.reduce_max, size, axes, keepdim)
    if p == -np.inf:
        return reduced(ops.reduce_min, size, axes, keepdim)
    if p == 1:
        return total(size, axes, keepdim)
    zero = ops.equal(size, 0)
    if p == 0:
        return total(ops.where(ops.isnan(size), 1, steps["sign"](size)), axes, keepdim)
    powers = total(
        ops.where(zero, 0.0 if p > 0 else np.inf, power(ops.where(zero, 1, size), p)), axes, keepdim
    )
    none = ops.equal(powers, 0)
    return ops.where(none, 0.0 if p > 0 else np.inf, power(ops.where(none, 1, powers), 1 / p))


@operation("input", name="norm", spaces="")
def norm_values(input: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The norm of order p of all elements, or of those along some dimensions."""
    x = averaged("norm", input, dtype)
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise TensorError(f"norm: order {p!r} is not known", hint='"fro", "nuc" or a number')
        p = 2
    return norm_of(x, p, dim, keepdim)


@exposed("function method")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The norm of order p of the elements.

    >>> import fxgrad.compat as torch
    >>> torch.norm(torch.tensor([3.0, 4.0])).item()
    5.0
    """
    if p == "nuc":
        plane = (-2, -1) if dim is None else dim
        return linalg_matrix_norm(input, "nuc", plane, keepdim, dtype=dtype, out=out)
    return norm_values(input, 2 if p is None else p, dim, keepdim, dtype, out=out)


@operation("input other", promote="float", out=False)
def dist(input: Any, other: Any, p: Any = 2) -> Any:
    """The norm of order p of input - other."""
    return norm_of(ops.subtract(input, other), p, None, False)


@operation("input", inplace=True)
def renorm(input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The parts along a dimension, those with a norm above `maxnorm` scaled down to it."""
    if not p > 0:
        raise TensorError("renorm: non-positive-norm not supported", hint=f"p = {p}")
    if not maxnorm >= 0:
        raise TensorError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = dimension(dim, aval_of(input).ndim)
    others = tuple(i for i in range(aval_of(input).ndim) if i != axis)
    size = norm_of(input, p, others, True)
    large = ops.greater(size, maxnorm)
    return ops.where(large, input * (maxnorm / (ops.where(large, size, 1) + 1e-7)), input)


@operation("input", promote="float")
def logsumexp(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """log Σ eˣ, computed without overflow."""
    axes = dimensions(dim, aval_of(input).ndim)
    top = ops.real(input) if kind(input) == "c" else input
    if extent(input, axes) == 0:
        return ops.log(total(ops.exp(input), axes, keepdim))
    top = ops.stop_gradient(reduced(ops.reduce_max, top, axes, True)) if axes else ops.stop_gradient(top)
    top = ops.where(ops.isfinite(top), top, 0)
    found = ops.log(total(ops.exp(ops.subtract(input, top)), axes or None, True)) + top
    shape = aval_of(total(input, axes or None, keepdim)).shape
    return found if aval_of(found).shape == shape else ops.reshape(found, shape=shape)


aliased("special", logsumexp=logsumexp)
