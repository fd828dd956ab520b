"""Functions of `jax.numpy` that differ from NumPy's: at positions out of bounds, in the dtypes of results, or in the
zeros of polynomials."""

from __future__ import annotations

from functools import wraps
from typing import Any, NoReturn

import numpy as np

from ... import numpy as fnp
from ...core.errors import ImmutableError, ShapeError, UnsupportedError
from . import updates  # noqa: F401  (which gives arrays `at`)
from .arrays import Array, array_of, value_of
from .dtypes import issubdtype, result_type
from .lifting import lift
from .numpy import asarray

__all__ = [
    "argpartition", "bincount", "clip", "compress", "conj", "conjugate", "copyto", "cumprod", "cumsum",
    "cumulative_prod", "deg2rad", "degrees", "diff", "digitize", "fill_diagonal", "float_power",
    "histogram", "histogram2d", "histogramdd", "isin", "mask_indices", "modf", "nan_to_num", "nancumprod",
    "nancumsum", "place", "polydiv", "polymul", "positive", "prod", "put", "put_along_axis", "putmask", "rad2deg",
    "radians", "reciprocal", "roots", "searchsorted", "spacing", "sum", "take_along_axis", "vander",
]  # fmt: skip


def along(a: Any, indices: Any, axis: int) -> tuple[Any, tuple[Any, ...]]:
    """Return an array and an index of its entries at positions along an axis: the others are matched entry by entry."""
    if np.ndim(a) != np.ndim(indices):
        raise ShapeError(
            f"along an axis: {np.ndim(indices)} axes of positions for an array with {np.ndim(a)}",
            hint="jnp.expand_dims(indices, axis)",
        )
    axis %= np.ndim(a)
    shape = np.broadcast_shapes(*[(*np.shape(x)[:axis], 1, *np.shape(x)[axis + 1 :]) for x in (a, indices)])
    a = fnp.broadcast_to(a, (*shape[:axis], np.shape(a)[axis], *shape[axis + 1 :]))
    return a, tuple(
        indices if i == axis else np.arange(n).reshape((-1, *[1] * (len(shape) - i - 1)))
        for i, n in enumerate(shape)
    )


def take_along_axis(
    arr: Any, indices: Any, axis: int | None = -1, mode: Any = None, fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:  # fmt: skip
    """Take entries at positions along an axis; for those out of bounds NaN, or `fill_value`, unless `mode` says
    otherwise."""
    x, places = value_of(arr), value_of(indices)
    if axis is None:
        x, axis = fnp.ravel(x), 0
    if not wrap_negative_indices:
        places = fnp.where(places < 0, np.shape(x)[axis], places)
    x, key = along(x, places, axis)
    return asarray(array_of(x)).at[key].get(mode=mode or "fill", fill_value=fill_value)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: Any = None
) -> Any:
    """Return the array with values at positions along an axis; those out of bounds are left out, unless `mode` says
    otherwise."""
    if inplace:
        raise ValueError("jax.numpy.put_along_axis cannot write into its argument: pass inplace=False")
    x, places = value_of(arr), value_of(indices)
    shape = np.shape(x)
    if axis is None:
        x, axis = fnp.ravel(x), 0
    _, key = along(x, places, axis)
    return asarray(array_of(x)).at[key].set(value_of(values), mode=mode).reshape(shape)


def updated_copy(function: Any) -> Any:
    """Return a function that writes into its argument as JAX has it: of a copy, which has to be asked for."""
    lifted = lift(function)

    @wraps(function)
    def updated(arr: Any, *args: Any, inplace: bool = True, **options: Any) -> Any:
        if inplace:
            raise ValueError(
                f"jax.numpy.{function.__name__} cannot write into its argument: pass inplace=False"
            )
        return lifted(arr, *args, inplace=False, **options)

    return updated


def refused(name: str) -> Any:
    """Return what stands for a function of NumPy's that does nothing but write into its argument."""

    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise ImmutableError(
            f"{name}: arrays of JAX's programs are immutable", hint="x.at[index].set(values)"
        )

    return refuse


copyto, putmask = refused("copyto"), refused("putmask")
fill_diagonal, place, put = map(updated_copy, (fnp.fill_diagonal, fnp.place, fnp.put))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replace NaN and infinite entries, in a copy always."""
    return lift(fnp.nan_to_num)(x, True, nan, posinf, neginf)


def keeping(function: Any) -> Any:
    """Return a sum or product that takes small integers in their own dtype if they are not to be promoted."""
    lifted = lift(function)

    @wraps(function)
    def reduced(
        a: Any, axis: Any = None, dtype: Any = None, *args: Any, promote_integers: bool = True, **options: Any
    ) -> Any:
        if axis is None is dtype and promote_integers and not (args or options):
            return lifted(a)
        if not promote_integers and dtype is None:
            dtype = asarray(a).dtype
            dtype = np.dtype(np.int32) if dtype.kind == "b" else dtype
        return lifted(a, axis, dtype, *args, **options)

    return reduced


sum, prod = keeping(fnp.sum), keeping(fnp.prod)


def accumulated(function: Any) -> Any:
    """Return a cumulative sum or product of integers in their own dtype, and of truth values in that of integers."""
    lifted = lift(function)

    @wraps(function)
    def of_own_dtype(a: Any, axis: Any = None, dtype: Any = None, *args: Any, **options: Any) -> Any:
        x = asarray(a)
        if dtype is None and x.dtype.kind in "iu":
            dtype = x.dtype
        return lifted(x, *args, axis=axis, dtype=dtype, **options)

    return of_own_dtype


cumprod, cumsum, nancumprod, nancumsum, cumulative_prod = map(
    accumulated, (fnp.cumprod, fnp.cumsum, fnp.nancumprod, fnp.nancumsum, fnp.cumulative_prod)
)


def giving_words(function: Any) -> Any:
    """Return a function whose results are positions of 32 bits, as JAX's are that it counts itself."""
    lifted = lift(function)

    @wraps(function)
    def positions(*args: Any, **options: Any) -> Any:
        return lifted(*args, **options).astype(np.int32)

    return positions


argpartition, digitize, searchsorted = map(giving_words, (fnp.argpartition, fnp.digitize, fnp.searchsorted))


def scaled(name: str, factor: float) -> Any:
    """Return a function that multiplies by a number, as JAX does also with complex ones."""

    def product(x: Any, /) -> Any:
        return asarray(x) * factor

    product.__name__, product.__doc__ = name, f"Multiply by {factor:.6g}."
    return product


deg2rad, radians = scaled("deg2rad", np.pi / 180), scaled("radians", np.pi / 180)
rad2deg, degrees = scaled("rad2deg", 180 / np.pi), scaled("degrees", 180 / np.pi)


def float_power(x: Any, y: Any, /) -> Any:
    """Return powers as floating-point numbers, in the precision of the operands."""
    x, y = asarray(x), asarray(y)
    if not issubdtype(result_type(x, y), np.inexact):
        x, y = x * 1.0, y * 1.0
    return lift(fnp.power)(x, y)


def positive(x: Any, /) -> Any:
    """Return the array."""
    return asarray(x)


def spacing(x: Any, /) -> Any:
    """Return the distances to the next numbers, for integers those of floating-point numbers."""
    x = asarray(x)
    return lift(fnp.spacing)(x if issubdtype(x.dtype, np.inexact) else x.astype(float))


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None) -> Any:
    """Count entries in bins: with floating-point numbers, and return the counts and the bins' edges."""
    a = asarray(a)
    if weights is None and not density:
        weights = lift(fnp.ones_like)(a, dtype=a.real.dtype)
    return lift(fnp.histogram)(a, bins, range=range, weights=weights, density=density)


def counting(function: Any) -> Any:
    """Return a histogram of several axes, whose counts are integers unless entries have weights."""
    lifted = lift(function)

    @wraps(function)
    def counted(*args: Any, weights: Any = None, density: Any = None, **options: Any) -> Any:
        counts, *edges = lifted(*args, weights=weights, density=density, **options)
        return (counts.astype(int) if weights is None and not density else counts, *edges)

    return counted


histogram2d, histogramdd = map(counting, (fnp.histogram2d, fnp.histogramdd))


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Return entries, or a bound where they are beyond."""
    return asarray(arr) if min is None and max is None else lift(fnp.clip)(arr, min, max)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return powers of the entries, in their dtype."""
    return lift(fnp.vander)(x, N, increasing).astype(asarray(x).dtype)


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None, out_sharding: Any = None
) -> Any:  # fmt: skip
    """Count integers, or sum their weights in the weights' dtype."""
    made = lift(fnp.bincount)(x, weights, minlength, length=length)
    return made if weights is None else made.astype(asarray(weights).dtype)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return differences of neighbours, before and behind which others are set."""
    a = asarray(a)
    parts = [asarray(part) for part in (prepend, a, append) if part is not None]
    if len(parts) > 1:
        axis %= a.ndim
        edge, dtype = (*a.shape[:axis], 1, *a.shape[axis + 1 :]), result_type(*parts)
        wide = [part.astype(dtype) for part in parts]
        wide = [part if part.ndim else lift(fnp.broadcast_to)(part, edge) for part in wide]
        a = lift(fnp.concatenate)(wide, axis)
    return lift(fnp.diff)(a, n, axis)


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: Any = ""
) -> Any:
    """Say of entries whether they are among others, in the dtype of both."""
    element, test_elements = asarray(element), asarray(test_elements)
    dtype = result_type(element, test_elements)
    return lift(fnp.isin)(element.astype(dtype), test_elements.astype(dtype), assume_unique, invert)


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:  # fmt: skip
    """Take the entries along an axis for which a condition holds; with a size, so many of them, or else fill values."""
    if out is not None:
        raise UnsupportedError(
            "compress: arrays are immutable, out= is not supported", hint="the result of the call"
        )
    x, axis = (asarray(a).reshape(-1), 0) if axis is None else (asarray(a), axis)
    condition = asarray(condition)
    if size is None:
        return lift(fnp.compress)(condition, x, axis)
    n = x.shape[axis]
    taken = lift(fnp.nonzero)(condition[:n], size=size, fill_value=n)[0]
    key = (slice(None),) * (axis % x.ndim) + (taken,)
    return x.at[key].get(mode="fill", fill_value=fill_value)


def modf(x: Any, /, out: None = None) -> Any:
    """Return the fractional and the integral parts."""
    return lift(fnp.modf)(x, *[out] * (out is not None))


def reciprocal(x: Any, /) -> Any:
    """Return 1 / x."""
    return lift(fnp.divide)(1, x)


def conjugate(x: Any, /) -> Any:
    """Return the complex conjugate; what is not complex stays as it is."""
    return asarray(x) if asarray(x).dtype.kind == "b" else lift(fnp.conjugate)(x)


conj = conjugate


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """Return the zeros of a polynomial, as complex numbers."""
    made = asarray(lift(fnp.roots)(p))
    return made.astype(np.result_type(made.dtype, np.complex64))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of polynomials, with the zeros before it unless they are trimmed."""
    if trim_leading_zeros:
        return lift(fnp.polymul)(a1, a2)
    return lift(fnp.convolve)(*[lift(fnp.atleast_1d)(a) for a in (a1, a2)])


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the quotient and the remainder of polynomials, this as long as `u` unless its zeros are trimmed."""
    quotient, remainder = lift(fnp.polydiv)(u, v)
    if not trim_leading_zeros:
        remainder = lift(fnp.pad)(remainder, (np.size(u) - remainder.size, 0))
    return quotient, remainder


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> Any:
    """Return where a function like `triu` leaves entries of a matrix."""
    return lift(fnp.nonzero)(mask_func(array_of(np.ones((n, n))), k), size=size)


# -- methods of arrays that are functions of this file ---------------------------------------------------------------
def compressed(a: Array, condition: Any, axis: int | None = None, **options: Any) -> Any:
    """Take the entries along an axis for which a condition holds."""
    return compress(condition, a, axis, **options)


METHODS = ["argpartition", "conj", "conjugate", "cumprod", "cumsum", "prod", "searchsorted", "sum"]
for _name in METHODS:
    setattr(Array, _name, globals()[_name])
Array.compress, Array.__pos__ = compressed, positive  # type: ignore[attr-defined]
