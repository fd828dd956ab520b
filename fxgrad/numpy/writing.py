"""NumPy functions that write into an array, applied to boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.aval import aval_of
from ..core.errors import DTypeError
from .at_index import At
from .boxes import Box
from .entries import fit_values, read_key, unbox


def copyto(dst: Box, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
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


def shows_same(box: Box, other: Any) -> bool:
    """Whether another box shows the same entries in the same places."""
    if not isinstance(other, Box) or other.cell.root is not box.cell.root or other.cell.part != box.cell.part:
        return False
    return isinstance(other.positions, np.ndarray) and np.array_equal(other.positions, box.positions)


def put(a: Box, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at flat positions: `numpy.put`."""
    a.put(ind, v, mode)


def place(arr: Box, mask: Any, vals: Any) -> None:
    """Write values, one after another, where the mask holds: `numpy.place`."""
    arr[...] = fnp.place(arr.value, unbox(mask), fit_values(vals, arr.dtype), inplace=False)


def putmask(a: Box, mask: Any, values: Any) -> None:
    """Write values, repeated to the size of the array, where the mask holds: `numpy.putmask`."""
    values = fnp.ravel(fit_values(values, a.dtype))
    if aval_of(values).size:
        order = np.arange(a.size).reshape(a.shape) % aval_of(values).size
        a[...] = ops.where(unbox(mask), fnp.take(values, order, axis=0), a.value)


def put_along_axis(arr: Box, indices: Any, values: Any, axis: int | None) -> None:
    """Write values at positions along an axis: `numpy.put_along_axis`."""
    values = fit_values(values, arr.dtype)
    arr[...] = fnp.put_along_axis(arr.value, unbox(indices), values, axis, inplace=False)


def fill_diagonal(a: Box, val: Any, wrap: bool = False) -> None:
    """Write a value, or one after another, on the diagonal: `numpy.fill_diagonal`."""
    a[...] = fnp.fill_diagonal(a.value, fit_values(val, a.dtype), wrap, inplace=False)


WRITERS: dict[str, Callable[..., None]] = {
    f.__name__: f for f in (copyto, put, place, putmask, put_along_axis, fill_diagonal)
}


def write_at(function: Callable[..., Any], target: Box, key: Any, *values: Any) -> None:
    """Carry out `ufunc.at(target, key, *values)`."""
    key, _ = read_key(key)
    update = At(fnp.asarray(target.value))[key]
    if not values:
        result = update.apply(function)
    elif function.__name__ in ("add", "subtract"):
        result = getattr(update, function.__name__)(unbox(values[0]))
    else:
        result = update.apply_in_rounds(function, unbox(values[0]), None, False)
    target.assign_result(result, f"np.{function.__name__}.at")


def write_result(result: Any, target: Any, name: str, where: Any = True) -> Any:
    """Write what an operation with `out=target` gives into the target, where it is selected; return the target."""
    if where is not True:
        result = ops.where(unbox(where), result, target.value)
    return target.assign_result(result, name)
