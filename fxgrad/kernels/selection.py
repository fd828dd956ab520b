"""Kernels that select entries and add entries at positions, without a branch or a call for each entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.costs import INDEXED_ENTRIES, NEAR_CACHE_ENTRIES, WHERE_ENTRIES
from ..core.fp_errors import is_silent
from .registry import native_function

BOOL = np.dtype(bool)
WORDS = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}  # integers by their number of bytes


def where_kernel(xp: Any) -> Callable[..., Any]:
    """NumPy's own `where` branches at every entry, and is ten times slower if the processor cannot guess the
    condition."""

    def where(condition: Any, a: Any, b: Any) -> Any:
        if type(condition) is np.ndarray and condition.size >= WHERE_ENTRIES and condition.dtype is BOOL:
            found = None
            if condition.size >= INDEXED_ENTRIES:
                found = select_by_bits(condition, a, b)
            elif type(b) is int and b == 0:
                found = zero_outside(condition, a)
            elif type(a) is int and a == 0:
                found = zero_outside(~condition, b)
            if found is not None:
                return found
        return np.where(condition, a, b)

    return where if xp is np else xp.where


def select_by_bits(condition: np.ndarray, a: Any, b: Any) -> np.ndarray | None:
    """Select by bit patterns times 0 or 1, among arrays of one dtype and numbers; None for other operands."""
    given = a if type(a) is np.ndarray and a.ndim else b
    if type(given) is not np.ndarray or given.dtype.kind not in "fciu" or given.itemsize not in WORDS:
        return None
    dtype, word, shape = given.dtype, WORDS[given.itemsize], condition.shape
    p, q = bit_pattern(a, dtype, word), bit_pattern(b, dtype, word)
    if p is None or q is None:
        return None
    flat = condition.flags.c_contiguous
    for x in (p, q):
        if x.ndim:
            flat = flat and x.shape == shape and x.flags.c_contiguous
    if flat:
        out = np.empty(condition.size, dtype)
        select_blocks(
            out.view(word), condition.reshape(-1), *(x.reshape(-1) if x.ndim else x for x in (p, q))
        )
        return out.reshape(shape)
    shape = np.broadcast_shapes(shape, p.shape, q.shape)
    out = np.empty(shape, dtype)
    select_blocks(out.view(word), *(np.broadcast_to(x, shape) if x.ndim else x for x in (condition, p, q)))
    return out


def bit_pattern(x: Any, dtype: np.dtype, word: np.dtype) -> np.ndarray | None:
    """Return an operand as integers; None if it has another dtype and is no number that converts to it."""
    if type(x) is np.ndarray:
        return x.view(word) if x.dtype is dtype else None
    if type(x) is int or (type(x) is float and dtype.kind in "fc"):
        try:
            return np.array(x, dtype).view(word)
        except OverflowError:
            return None
    return np.asarray(x).view(word) if isinstance(x, np.generic) and x.dtype is dtype else None


def select_blocks(out: np.ndarray, condition: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """Write p into `out` where the condition holds, and q elsewhere; p and q are integers, of the shape of `out` or
    single ones.

    Block by block, since there are several passes: one where p or q is 0, two otherwise. Where few entries differ from
    the others, which is what `np.copyto` is fast for, they are copied.
    """
    zero_first, zero_second = ((not x.ndim and not x) for x in (p, q))
    step = max(1, NEAR_CACHE_ENTRIES * len(out) // max(1, out.size))
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        here, mask = out[part], condition[part]
        yes, no = p[part] if p.ndim else p, q[part] if q.ndim else q
        count, few = np.count_nonzero(mask), mask.size >> 6
        if count <= few:
            np.copyto(here, no)
            if count:
                np.copyto(here, yes, where=mask)
        elif mask.size - count <= few:
            np.copyto(here, yes)
            if count < mask.size:
                np.copyto(here, no, where=~mask)
        elif zero_second:
            np.copyto(here, mask)
            np.multiply(here, yes, out=here)
        elif zero_first:
            np.copyto(here, mask)
            np.subtract(here, 1, out=here)
            np.bitwise_and(here, no, out=here)
        else:
            np.bitwise_xor(yes, no, out=here)
            np.multiply(here, mask, out=here)
            np.bitwise_xor(here, no, out=here)


def add_at(out: np.ndarray, index: tuple, u: np.ndarray) -> None:
    """Add u to out[index]; entries that occur several times are added in their order. NumPy is fast along one axis
    only, and machine code where places are those along one axis."""
    if u.size >= INDEXED_ENTRIES and out.ndim > 1 and is_silent():
        axis = indexed_axis(index)
        if axis is not None:
            rows = index[axis]
            if rows.min() < 0 or rows.max() >= out.shape[axis]:
                rows = np.arange(out.shape[axis])[rows]  # which refuses places outside
            if native_function("scatter.add_slices")(out, rows, u, axis):
                return
    if u.size < INDEXED_ENTRIES or out.ndim == 1:
        np.add.at(out, index, u)
    elif isinstance(index[0], np.ndarray) and index[0].ndim == 1 and has_only_full_slices(index[1:]):
        rows = np.arange(len(out))[index[0]]
        width = u[0].size
        number = np.arange(len(rows))
        first = np.empty(len(out), np.intp)
        first[rows[::-1]] = number[::-1]
        again = first[rows] != number
        once = np.flatnonzero(~again)
        out[rows[once]] = u[once]
        rest = np.flatnonzero(again)
        places = rows[rest, None] * width + np.arange(width)
        np.add.at(out.reshape(-1), places.reshape(-1), u[rest].reshape(-1))
    elif 4 * u.size >= out.size:
        places = np.arange(out.size).reshape(out.shape)[index]
        np.add.at(out.reshape(-1), places.reshape(-1), u.reshape(-1))
    else:
        np.add.at(out, index, u)


def combine_at(xp: Any, name: str, out: Any, index: tuple, u: Any) -> None:
    """Combine out[index] with u by a ufunc of this name, whose order does not matter, where entries may occur several
    times. NumPy is fast with vectors only: whole rows are combined by segments of equal places."""
    ufunc = getattr(xp, name)
    if xp is not np or out.ndim == 1 or not u.size:
        ufunc.at(out, index, u)
        return
    if indexed_axis(index) == 0 and len(index) > 1:
        rows = np.arange(len(out))[index[0]]
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
        found = ufunc.reduceat(u[order], starts, axis=0)
        out[rows[starts]] = ufunc(out[rows[starts]], found)
        return
    places = np.arange(out.size).reshape(out.shape)[index]
    ufunc.at(out.reshape(-1), places.reshape(-1), u.reshape(-1))


def indexed_axis(index: Sequence[Any]) -> int | None:
    """Return the axis to which an index with one array of numbers applies, if its other entries are full slices."""
    axes = [axis for axis, e in enumerate(index) if type(e) is not slice]
    if len(axes) != 1 or not has_only_full_slices([e for e in index if type(e) is slice]):
        return None
    places = index[axes[0]]
    return axes[0] if type(places) is np.ndarray and places.ndim == 1 and places.dtype.kind in "iu" else None


def has_only_full_slices(index: Sequence[Any]) -> bool:
    return all(type(e) is slice and e == slice(None) for e in index)


def zero_outside(mask: Any, x: Any) -> np.ndarray | None:
    """Set the entries of x outside the mask to 0 in one pass; None unless both are arrays of one, medium size."""
    if type(x) is not np.ndarray or type(mask) is not np.ndarray or not 256 <= x.size < INDEXED_ENTRIES:
        return None
    word = WORDS.get(x.itemsize)
    if word is None or x.dtype.kind != "f" or mask.dtype is not BOOL or mask.shape != x.shape:
        return None
    if not (x.flags.c_contiguous and mask.flags.c_contiguous):
        return None
    return (x.view(word) * mask.view(np.int8)).view(x.dtype)
