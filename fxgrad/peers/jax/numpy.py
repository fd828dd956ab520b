"""The names of `jax.numpy` that are not those of `fxgrad.numpy`, or mean differently."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...core import pytree
from ...core.aval import SCALARS
from ...core.errors import StructureError
from ...core.interpreter import Tracer
from .arrays import INSTANCES, Array, WeakArray, array_of, convert, value_of
from .dtypes import (
    SCALAR_TYPES,
    canonicalize_dtype,
    cast,
    check_integer,
    dtype_of,
    finfo,
    iinfo,
    issubdtype,
    promote_types,
    result_type,
)
from .indices import GREATEST, LEAST
from .keywords import in_order
from .lifting import lift

globals().update(SCALAR_TYPES)
ndarray = Array
CONSTANTS = {name: getattr(np, name) for name in ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")}
globals().update(CONSTANTS)
KINDS = [
    "character", "complexfloating", "dtype", "floating", "generic", "inexact", "integer", "number",
    "signedinteger", "unsignedinteger",
]  # fmt: skip
globals().update({name: getattr(np, name) for name in KINDS})
object_ = np.object_


def array(
    object: Any, dtype: Any = None, copy: bool | None = True, order: Any = "K", ndmin: int = 0, **options: Any
) -> Any:
    """Make an array of its own from an array, a number or nested sequences of them."""
    if type(object) is WeakArray and dtype is None and not ndmin:
        return object
    value = value_of(object)
    if value is None:
        raise StructureError("None is no value for an array", hint="jnp.nan, say")
    if dtype is None and type(value) in (list, tuple):
        parts = pytree.leaves(value)
        if not all(type(part) in SCALARS for part in parts):
            dtype = result_type(*parts)
            value = pytree.map(
                lambda part: cast(part if hasattr(part, "dtype") else np.asarray(part), dtype), value
            )
    if type(value) is int and dtype is None:
        check_integer(value, dtype_of(0))
    if dtype is None and not ndmin and (type(value) in SCALARS or isinstance(value, Tracer)):
        return array_of(value)  # weak if it was
    if dtype is not None:
        dtype = canonicalize_dtype(value_of(dtype))
        if hasattr(value, "dtype"):
            return convert(fnp.array(value, ndmin=ndmin), dtype)
    made = fnp.array(value, dtype, ndmin=ndmin)
    if type(made) is np.ndarray and made.dtype == np.int64 and made.size and type(value) in (list, tuple):
        check_integer(int(max(made.max(), -1 - made.min())), dtype_of(0))
    return array_of(made)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, device: Any = None,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Make an array; what is one is returned. NumPy's arrays are copied, since they may be written into."""
    if type(a) in INSTANCES and (dtype is None or a.dtype == canonicalize_dtype(value_of(dtype))):
        return a
    return array(a, dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return an array in another dtype."""
    return convert(value_of(x), dtype)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Return the coordinate arrays of a grid."""
    return list(lift(fnp.meshgrid)(*xi, copy=copy, sparse=sparse, indexing=indexing))


class Indexed:
    """What gives arrays for an index in brackets, such as `jnp.ogrid` and `jnp.r_`."""

    def __init__(self, made: Any):
        self.made = made

    def __getitem__(self, key: Any) -> Any:
        found = array_of(self.made[value_of(key)])
        return list(found) if type(found) is tuple else found


ogrid, mgrid, r_, c_ = map(Indexed, (np.ogrid, np.mgrid, fnp.r_, fnp.c_))


def unravel_index(indices: Any, shape: Any) -> Any:
    """Return the positions along every axis of flat ones, which count from the end if negative, and are clamped."""
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    size, places = math.prod(shape), value_of(indices)
    inside = fnp.clip(fnp.where(places < 0, places + size, places), 0, max(size - 1, 0))
    return tuple(convert(p, dtype_of(indices)) for p in fnp.unravel_index(inside, shape))


def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str | None = None,
    unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None,
) -> Any:  # fmt: skip
    """Take entries along an axis; for integers out of bounds NaN, or `fill_value`, unless `mode` says otherwise."""
    x, places = value_of(a), value_of(indices)
    if mode is None is fill_value and type(x) is type(places) is np.ndarray and places.dtype.kind in "iu":
        n = x.size if axis is None else x.shape[axis]
        if places.size and LEAST(places, None) >= -n and GREATEST(places, None) < n:
            return array_of(x.take(places, axis))
    if mode == "wrap":
        return lift(fnp.take)(x, places, axis, mode="wrap")
    if axis is None:
        x, axis = fnp.ravel(x), 0
    key = (slice(None),) * (axis % np.ndim(x)) + (places,)
    return asarray(x).at[key].get(mode=mode or "fill", fill_value=fill_value)


def einsum(subscripts: Any, /, *operands: Any, **options: Any) -> Any:
    """Sum products of entries by a subscript, `fnp.einsum`, whatever the program says of how to carry it out."""
    for option in ("_dot_general", "out_sharding"):
        options.pop(option, None)
    return product_sum(subscripts, *operands, **options)


product_sum = lift(fnp.einsum)


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None, **options: Any
) -> Any:
    """Repeat entries along an axis: `fnp.repeat`. With a total length the numbers may be traced: what is beyond is left
    out, and what is missing are copies of the last entry."""
    if total_repeat_length is None:
        return repeated(a, repeats, axis)
    x = asarray(a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    ends = fnp.cumsum(fnp.broadcast_to(value_of(repeats), (x.shape[axis],)))
    places = fnp.searchsorted(ends, np.arange(total_repeat_length), side="right")
    return lift(fnp.take)(x, fnp.minimum(places, x.shape[axis] - 1), axis)


repeated = lift(fnp.repeat)


def without_precision(function: Any) -> Any:
    """Return a function of arrays that takes options of how products are rounded, which have no meaning here."""
    lifted = lift(function)

    @wraps(function)
    def product(*args: Any, precision: Any = None, preferred_element_type: Any = None, **options: Any) -> Any:
        made = lifted(*args, **options)
        return made if preferred_element_type is None else made.astype(preferred_element_type)

    return product


convolve, correlate = without_precision(fnp.convolve), without_precision(fnp.correlate)


def copy(a: Any, order: Any = None) -> Any:
    """Return an array of its own."""
    return array(a)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return numbers of equal distances as JAX rounds them: means of the ends, in the precision of floats."""
    given = [value_of(start), value_of(stop)]
    wanted = result_type(*given, 0.0) if dtype is None else canonicalize_dtype(value_of(dtype))
    kind = result_type(wanted, float)
    low, high = [convert(v, kind)._fx_value for v in given]
    parts = num - 1 if endpoint else num
    if parts < 1 or wanted.kind == "O":
        return spread(*given, num, endpoint, retstep, dtype, axis)
    share = np.arange(parts, dtype=finfo(kind).dtype) / finfo(kind).dtype.type(parts)
    share = share.reshape((-1, *[1] * len(np.broadcast_shapes(np.shape(low), np.shape(high)))))
    made = low * (1 - share) + high * share
    if endpoint:
        made = fnp.concatenate([made, fnp.broadcast_to(high, made.shape[1:])[None]])
    made = fnp.moveaxis(made, 0, axis)
    made = convert(fnp.floor(made) if wanted.kind in "iu" else made, wanted)
    return (made, array_of((high - low) / parts)) if retstep else made


spread = lift(fnp.linspace)
frombuffer, fromfile, fromstring = map(lift, (np.frombuffer, np.fromfile, np.fromstring))
load, save, savez = lift(np.load), np.save, np.savez
full_like, zeros_like, ones_like, empty_like = [
    in_order(lift(make)) for make in (fnp.full_like, fnp.zeros_like, fnp.ones_like, fnp.zeros_like)
]


def with_dtype(function: Any) -> Any:
    """Return a function that joins arrays as one whose result may be of any dtype."""
    join = lift(function)

    @wraps(join)
    def joined(*args: Any, dtype: Any = None, **options: Any) -> Any:
        made = join(*args, **options)
        return made if dtype is None else made.astype(dtype)

    return in_order(joined)


concatenate, stack, hstack, vstack, dstack = map(
    with_dtype, (fnp.concatenate, fnp.stack, fnp.hstack, fnp.vstack, fnp.dstack)
)
empty = lift(fnp.zeros)  # as there

__all__ = [
    *SCALAR_TYPES, *CONSTANTS, *KINDS, "array", "asarray", "astype", "c_", "concatenate", "convolve", "copy",
    "correlate", "dstack", "einsum", "empty", "empty_like", "finfo", "frombuffer", "fromfile", "fromstring",
    "full_like", "hstack", "iinfo", "issubdtype", "linspace", "load", "meshgrid", "mgrid", "ndarray", "object_",
    "ogrid", "ones_like", "promote_types", "r_", "repeat", "result_type", "save", "savez", "stack", "take",
    "unravel_index", "vstack", "zeros_like",
]  # fmt: skip
