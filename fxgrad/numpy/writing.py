"""What is written into under transforms: arrays that can be, and NumPy's functions that write.

The first write makes a box of a traced value (see `boxes`); the functions here are given boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import interpreter
from ..core.aval import aval_of
from ..core.common_errors import BUFFER_REMEDY
from ..core.errors import ArrayConversionError, DTypeError, FxgradError, ImmutableError
from ..core.interpreter import Tracer
from ..core.surface import is_box
from .at_index import At
from .entries import fit_values, read_key, unbox


# -- arrays that are written into ------------------------------------------
def is_writable(target: Any) -> bool:
    """Whether traced values can be written into an array."""
    return isinstance(target, Tracer) or is_box(target)


def as_box(x: Any) -> Any:
    """Return an array under transforms as the box that it becomes when it is written into."""
    if not is_box(x):
        if x.interpreter.permanent:
            raise ImmutableError(
                f"a write into a traced value {x.aval!r} of {x.interpreter.name}, which is immutable",
                hint="x = x.at[…].set(values)",
            )
        interpreter.become_box(x)
    return x


def inplace_error(operation: str, hint: str) -> FxgradError:
    """Make the error for an operation that writes traced values into an array of NumPy's."""
    return ArrayConversionError(
        f"{operation} writes a traced value into a plain array: its derivative would be lost",
        hint=f"{BUFFER_REMEDY}; or {hint}",
    )


def take_out(name: str, out: Any, inputs: Any) -> Any:
    """Return the box that `out=` names, or None. `buffer += x` arrives as a ufunc whose first input is also its
    out."""
    targets = [target for target in (out if isinstance(out, tuple) else (out,)) if target is not None]
    for target in targets:
        if is_writable(target) and len(targets) == 1:
            continue
        if any(target is x for x in inputs[:1]):
            raise inplace_error(f"{name} in place", "a = a + b instead of a += b")
        raise inplace_error(
            f"{name} with out=",
            "use the result; for out=other, where=mask write fnp.where(mask, result, other)",
        )
    return as_box(targets[0]) if targets else None


# -- NumPy's functions that write ------------------------------------------
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write the entries of `src`, cast and broadcast, into `dst` where the mask holds: `numpy.copyto`."""
    if shows_same(dst, src) and where is True:
        return  # nothing, whether it is read-only or not
    src, where = unbox(src), unbox(where)
    aval = aval_of(fnp.asarray(src))
    if not np.can_cast(aval.dtype, dst.dtype, casting):
        raise DTypeError(
            f"copyto: cannot cast from {aval.dtype} to {dst.dtype} by the rule {casting!r}",
            hint=f'casting="unsafe", or src.astype({dst.dtype.name!r})',
        )
    src = fit_values(src, dst.dtype)
    dst[...] = src if where is True else ops.where(where, src, dst.value)


def shows_same(box: Any, other: Any) -> bool:
    """Whether another box shows the same entries in the same places."""
    if not is_box(other) or other.cell.root is not box.cell.root or other.cell.part != box.cell.part:
        return False
    return isinstance(other.positions, np.ndarray) and np.array_equal(other.positions, box.positions)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at flat positions: `numpy.put`."""
    a.put(ind, v, mode)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after another, where the mask holds: `numpy.place`."""
    arr[...] = fnp.place(arr.value, unbox(mask), fit_values(vals, arr.dtype), inplace=False)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write values, repeated to the size of the array, where the mask holds: `numpy.putmask`."""
    values = fnp.ravel(fit_values(values, a.dtype))
    if aval_of(values).size:
        order = np.arange(a.size).reshape(a.shape) % aval_of(values).size
        a[...] = ops.where(unbox(mask), fnp.take(values, order, axis=0), a.value)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write values at positions along an axis: `numpy.put_along_axis`."""
    values = fit_values(values, arr.dtype)
    arr[...] = fnp.put_along_axis(arr.value, unbox(indices), values, axis, inplace=False)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a value, or one after another, on the diagonal: `numpy.fill_diagonal`."""
    a[...] = fnp.fill_diagonal(a.value, fit_values(val, a.dtype), wrap, inplace=False)


WRITERS: dict[str, Callable[..., None]] = {
    f.__name__: f for f in (copyto, put, place, putmask, put_along_axis, fill_diagonal)
}


# The methods of `x.at[…]` that do what `at` of a ufunc does.
COMBINING = {**{name: name for name in ("add", "subtract", "multiply")}, "maximum": "max", "minimum": "min"}


def write_at(function: Callable[..., Any], target: Any, key: Any, *values: Any) -> None:
    """Carry out `ufunc.at(target, key, *values)`."""
    key, _ = read_key(key)
    update = At(fnp.asarray(target.value))[key]
    if not values:
        result = update.apply(function)
    elif function.__name__ in COMBINING:
        result = getattr(update, COMBINING[function.__name__])(unbox(values[0]))
    else:
        result = update.apply_in_rounds(function, unbox(values[0]), None, False)
    target.assign_result(result, f"np.{function.__name__}.at")
