"""`x.at`: updated copies of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from ...core.arrays import as_value
from ...core.aval import PLAIN, SCALARS, aval_of
from ...core.errors import ShapeError
from ...core.fp_errors import call_silently
from ...core.interpreter import CURRENT
from ...numpy.at_index import At as FullAt
from .arrays import Array, array_of, convert, value_of
from .dtypes import SINGLE, fit
from .indices import check_index, is_simple, is_within


class At:
    """`x.at`, which takes an index."""

    __slots__ = ("array",)

    def __init__(self, array: Array):
        self.array = array

    def __getitem__(self, key: Any) -> IndexedUpdate:
        key = value_of(key)
        check_index(key)
        return IndexedUpdate(self.array, key)


class IndexedUpdate:
    """Entries of an array that are to be read or updated. Integers out of bounds are left out by updates, and by `get`
    replaced by the nearest, unless `mode` says otherwise."""

    __slots__ = ("array", "key")

    def __init__(self, array: Array, key: Any):
        self.array, self.key = array, key

    def apply_method(self, name: str, values: tuple[Any, ...], mode: Any, options: dict[str, Any]) -> Any:
        """Call the method of `fxgrad.numpy.at` of this name."""
        x = as_value(self.array._fx_value)
        if mode is not None:
            mode = getattr(mode, "name", str(mode)).lower()
        if name == "divide" and aval_of(x).dtype.kind in "biu":
            x = as_value(convert(x, float)._fx_value)
        if mode is None and not is_within(self.key, self.array.shape):
            mode = "clip" if name == "get" else "drop"
        if mode in ("fill_or_drop", "promise_in_bounds"):
            mode = "fill" if mode == "fill_or_drop" else None
        if name not in ("get", "apply"):
            values = tuple([fit(value_of(v), aval_of(x).dtype) for v in values])
            if any(
                np.shape(v)[:1] == (1,) and np.ndim(v) > np.ndim(FullAt(x)[self.key].get(mode=mode))
                for v in values
            ):
                raise ShapeError(
                    f"x.at[…]: values of shape {np.shape(values[0])} have more axes than x[…]",
                    hint="values[0]",
                )
        method = getattr(FullAt(x)[self.key], name)
        if options:
            options = {n: value_of(v) for n, v in options.items()}
        return array_of(method(*values, mode=mode, **options))


def write_copy(x: Any, key: Any, ufunc: Any, given: Any) -> Any:
    """Return a copy of NumPy's array with numbers written, or combined with entries by a ufunc: None unless it is seen
    at once that they fit."""
    is_array = type(key) is ndarray and key.dtype.kind in "iu"
    if not (is_within(key, x.shape) if is_array else is_simple(key, x.shape)):
        return None
    value = fit(value_of(given), x.dtype)
    if type(value) not in SCALARS and (type(value) not in PLAIN or value.shape not in ((), x[key].shape)):
        return None
    y = x.copy()
    try:
        if is_array and ufunc is not None:
            ufunc.at(y, key, value)
        else:
            y[key] = value if ufunc is None else ufunc(y[key], value)
    except (OverflowError, TypeError, ValueError):  # which is explained elsewhere
        return None
    return array_of(y)


WRITES = {
    "set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mul": np.multiply,
    "divide": np.divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def make_update(name: str) -> Callable[..., Any]:
    """Make a method of `IndexedUpdate`."""
    can_write, ufunc = name in WRITES, WRITES.get(name)

    def method(self: IndexedUpdate, *values: Any, mode: Any = None, **options: Any) -> Any:
        x = self.array._fx_value
        is_plain = can_write and type(x) is ndarray and (ufunc is None or x.dtype is SINGLE)
        if is_plain and mode is None and len(values) == 1 and not options and not CURRENT.get().observer:
            made = call_silently(write_copy, x, self.key, ufunc, values[0])
            if made is not None:
                return made
        for unused in ("out_sharding", "wrap_negative_indices"):
            options.pop(unused, None)
        if name == "apply":
            values = (partial(call_on_array, values[0]),)
        return self.apply_method(name, values, mode, options)

    method.__name__, method.__doc__ = name, getattr(FullAt(0.0)[()], name).__doc__
    return method


def call_on_array(function: Callable[[Any], Any], value: Any) -> Any:
    """Call a program's function of an array on a value."""
    return value_of(function(array_of(value)))


for _name in ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"):
    setattr(IndexedUpdate, _name, make_update(_name))


Array.at = property(At, doc="Updated copies: `x.at[index].set(values)`.")
