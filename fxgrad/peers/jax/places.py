"""Functions of `jax.numpy` that differ at positions out of bounds, by the dtype of sums, and by polynomials' zeros."""

from __future__ import annotations

from functools import wraps
from typing import Any, NoReturn

import numpy as np

from ... import numpy as fnp
from ...core.errors import ImmutableError
from .arrays import array_of, lift, value_of
from .numpy import asarray

__all__ = [
    "conj", "conjugate", "copyto", "fill_diagonal", "mask_indices", "modf", "nan_to_num", "place", "polydiv", "polymul",
    "prod", "put", "put_along_axis", "putmask", "reciprocal", "roots", "sum", "take_along_axis",
]  # fmt: skip


def along(a: Any, indices: Any, axis: int) -> tuple[Any, tuple[Any, ...]]:
    """Return an array and an index of its entries at positions along an axis: the others are matched entry by entry."""
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
        if not promote_integers and dtype is None:
            dtype = asarray(a).dtype
            dtype = np.dtype(np.int32) if dtype.kind == "b" else dtype
        return lifted(a, axis, dtype, *args, **options)

    return reduced


sum, prod = keeping(fnp.sum), keeping(fnp.prod)


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
    return lift(fnp.convolve)(np.atleast_1d(a1), np.atleast_1d(a2))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the quotient and the remainder of polynomials, this as long as `u` unless its zeros are trimmed."""
    quotient, remainder = lift(fnp.polydiv)(u, v)
    if not trim_leading_zeros:
        remainder = lift(fnp.pad)(remainder, (np.size(u) - remainder.size, 0))
    return quotient, remainder


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> Any:
    """Return where a function like `triu` leaves entries of a matrix."""
    return lift(fnp.nonzero)(mask_func(array_of(np.ones((n, n))), k), size=size)
