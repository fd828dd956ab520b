"""Kernels that select entries, and combine entries at positions, without a branch or a call for each entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..core.costs import INDEXED_ENTRIES, NEAR_CACHE_ENTRIES, SHARED_ENTRIES, WHERE_ENTRIES
from .registry import native_function, share_calls

SELECTION_WORK = 4  # operations that the choice of an entry takes as long as
BOOL, ALL = np.dtype(bool), slice(None)
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
        select_together(
            out.view(word), condition.reshape(-1), *(x.reshape(-1) if x.ndim else x for x in (p, q))
        )
        return out.reshape(shape)
    shape = np.broadcast_shapes(shape, p.shape, q.shape)
    out = np.empty(shape, dtype)
    select_together(out.view(word), *(np.broadcast_to(x, shape) if x.ndim else x for x in (condition, p, q)))
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


def select_together(out: np.ndarray, condition: np.ndarray, p: np.ndarray, q: np.ndarray) -> None:
    """Do what `select_blocks` does; threads share what is large."""
    if out.size < SHARED_ENTRIES:
        select_blocks(out, condition, p, q)
        return

    def select_part(first: int, last: int) -> None:
        part = slice(first, last)
        select_blocks(out[part], condition[part], *(x[part] if x.ndim else x for x in (p, q)))

    share_calls(select_part, len(out), SELECTION_WORK * out.size)


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


def find_nonzero(array: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the positions of the entries that are not 0, one array for each axis: NumPy's `nonzero`, which is fast for
    masks of one axis only."""
    if array.size < WHERE_ENTRIES or (array.ndim == 1 and array.dtype is BOOL):
        return array.nonzero()
    mask = array if array.dtype is BOOL else array != 0
    (places,) = mask.reshape(-1).nonzero()
    found = []
    for n in array.shape[:0:-1]:
        rest = places // n
        found.append(places - rest * n)
        places = rest
    return places, *found[::-1]


def select_rows(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return x[mask], which branches at every entry, by positions where the processor cannot guess the mask."""
    if not is_irregular(mask) or not x.flags.c_contiguous:
        return x[mask]
    return x.reshape(mask.size, *x.shape[mask.ndim :]).take(mask.reshape(-1).nonzero()[0], 0)


def replace_rows(x: np.ndarray, mask: np.ndarray, entries: Any) -> None:
    """Do x[mask] = entries, as `select_rows` reads."""
    if not is_irregular(mask) or not x.flags.c_contiguous:
        x[mask] = entries
    else:
        x.reshape(mask.size, *x.shape[mask.ndim :])[mask.reshape(-1).nonzero()[0]] = entries


def is_irregular(mask: np.ndarray) -> bool:
    """Whether a large mask changes too often to be guessed."""
    if mask.size < WHERE_ENTRIES:
        return False
    flat = mask.reshape(-1)
    return bool(np.count_nonzero(flat[1:] != flat[:-1]) > mask.size >> 4)


class Places(NamedTuple):
    """The rows that an index of arrays and full slices selects: their numbers within each block of rows."""

    blocks: int
    length: int  # how many rows a block has
    width: int
    rows: np.ndarray

    @property
    def size(self) -> int:
        """How many entries are chosen."""
        return self.blocks * len(self.rows) * self.width


def find_places(shape: Sequence[int], index: Sequence[Any]) -> Places | None:
    """Return the places of an index, or None if its arrays do not stand side by side, or its slices are not full; raise
    for numbers that are out of bounds."""
    axes = [axis for axis, e in enumerate(index) if type(e) is not slice]
    if not axes or axes[-1] - axes[0] != len(axes) - 1:
        return None
    arrays: list[Any] = [index[axis] for axis in axes]
    if not all(type(a) is np.ndarray and a.dtype.kind in "iu" for a in arrays):
        return None
    if not all(type(e) is slice and e == slice(None) for e in (*index[: axes[0]], *index[axes[-1] + 1 :])):
        return None
    sizes = tuple(shape[axes[0] : axes[-1] + 1])
    joint = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*(a.shape for a in arrays))
    if 0 in joint:
        return None
    blocks, width = prod(shape[: axes[0]]), prod(shape[axes[-1] + 1 :])
    numbers = [wrap_places(a, n) for a, n in zip(arrays, sizes)]
    while len(numbers) > 1 and joint[-1:] == sizes[-1:] and is_whole_axis(numbers, sizes[-1]):
        width *= sizes[-1]
        numbers = [a[..., 0] if a.ndim else a for a in numbers[:-1]]
        sizes, joint = sizes[:-1], joint[:-1]
    return Places(blocks, prod(sizes), width, number_rows(numbers, sizes, joint).reshape(-1))


def number_rows(numbers: Sequence[np.ndarray], sizes: Sequence[int], joint: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of rows, of which numbers along axes of these sizes are given; threads share what is large."""
    if len(numbers) == 1 or prod(joint) < SHARED_ENTRIES:
        rows = numbers[0]
        for n, a in zip(sizes[1:], numbers[1:]):
            rows = rows * n + a
        return rows if rows.shape == joint else np.broadcast_to(rows, joint)
    rows, given = np.empty(joint, np.int64), [np.broadcast_to(a, joint) for a in numbers]

    def compute(first: int, last: int) -> None:
        part = rows[first:last]
        part[...] = given[0][first:last]
        for n, a in zip(sizes[1:], given[1:]):
            part *= n
            part += a[first:last]

    share_calls(compute, len(rows), SELECTION_WORK * rows.size)
    return rows


def wrap_places(places: np.ndarray, size: int) -> np.ndarray:
    """Return numbers of entries along an axis counted from its beginning, in int64; axes that repeat them still do."""
    some = places
    if 0 in places.strides:
        some = places[tuple([slice(0, 1) if step == 0 else slice(None) for step in places.strides])]
    some = some.astype(np.int64, copy=False)
    if some.size and greatest(some.view(np.uint64)) >= size:  # as which negative numbers are large
        some = np.arange(size)[some]  # which refuses places outside
    return some if some.shape == places.shape else np.broadcast_to(some, places.shape)


def greatest(x: np.ndarray) -> Any:
    """Return the greatest entry of an array; threads share what is large."""
    if x.size < SHARED_ENTRIES:
        return x.max()
    found: list[Any] = []
    share_calls(lambda first, last: found.append(x[first:last].max()), len(x), x.size)
    return max(found)


def is_whole_axis(numbers: Sequence[np.ndarray], n: int) -> bool:
    """Whether the last numbers are all of 0 … n − 1 in order, for each combination of the others."""
    *others, last = numbers
    if any(a.ndim and a.shape[-1] > 1 and a.strides[-1] for a in others) or last.shape[-1:] != (n,):
        return False
    if any(step for step, m in zip(last.strides[:-1], last.shape) if m > 1):
        return False
    return bool((last.reshape(-1, n)[0] == np.arange(n)).all())


def combine_at(name: str, start: Callable[[], np.ndarray], index: tuple, u: np.ndarray) -> np.ndarray:
    """Return the array that `start` makes, in the order of its axes, with its entries at an index combined with u by
    the ufunc of a name; entries that occur several times are combined in their order.

    NumPy is fast with vectors only, so that large arrays are combined entry by entry; machine code combines whole rows.
    """
    out = start()
    ufunc: Any = getattr(np, name)
    places = find_places(out.shape, index) if u.size >= INDEXED_ENTRIES else None
    if places is None or u.size != places.size:  # which broadcasts
        ufunc.at(out, index, u)
        return out
    done = native_function("scatter.combine_rows")(name, out, places, u)
    if done is None:  # NumPy tells of the exceptions
        out = start()
    if not done:
        ufunc.at(out.reshape(-1), flat_numbers(places), u.reshape(-1))
    return out


def flat_numbers(places: Places) -> np.ndarray:
    """Return the numbers of all entries at places."""
    blocks, length, width, rows = places
    numbers = rows if width == 1 else rows[:, None] * width + np.arange(width)
    if blocks > 1:
        numbers = numbers + (np.arange(blocks) * (length * width)).reshape(-1, *(1,) * numbers.ndim)
    return numbers.reshape(-1)


def take_at(x: np.ndarray, index: tuple) -> np.ndarray:
    """Return x[index]. NumPy's `take` copies whole rows of one array of numbers; machine code does so for several of
    them, and together with other threads for large results."""
    axes = [axis for axis, e in enumerate(index) if type(e) is np.ndarray]
    others = [e for e in index if type(e) is not np.ndarray]
    if len(axes) == 1 and x.size and x.flags.c_contiguous and all([e == ALL for e in others]):
        (axis,) = axes
        numbers = index[axis]
        if numbers.dtype.kind == "i" and x.size // x.shape[axis] * numbers.size < SHARED_ENTRIES:
            return x.take(numbers, axis)
    if x.size >= INDEXED_ENTRIES or any([index[axis].size >= INDEXED_ENTRIES for axis in axes]):
        places = find_places(x.shape, index)
        if places is not None and places.size >= INDEXED_ENTRIES:
            found = native_function("scatter.take_rows")(x, places)
            if found is not None:
                joint = np.broadcast_shapes(*(index[axis].shape for axis in axes))
                return found.reshape(*x.shape[: axes[0]], *joint, *x.shape[axes[-1] + 1 :])
    return x[index]


def multiply_others_at(x: np.ndarray, index: tuple, u: np.ndarray) -> np.ndarray:
    """Return for each entry of u, which belongs to an entry x[index], the product of this and of all other entries of u
    that belong to it: of those before and of those behind, so that zeros do no harm."""
    places = find_places(x.shape, index)
    if places is not None and u.size >= INDEXED_ENTRIES:
        found = native_function("scatter.multiply_others")(x, places, u)
        if found is not None:
            return found
    numbers = (
        np.arange(x.size).reshape(x.shape)[index].reshape(-1) if places is None else flat_numbers(places)
    )
    values, found = u.reshape(-1), np.ones(u.size, u.dtype)
    turns = split_into_rounds(numbers)
    for total, order in ((np.array(x, u.dtype).reshape(-1), turns), (np.ones(x.size, u.dtype), turns[::-1])):
        for turn in order:
            here = numbers[turn]
            found[turn] *= total[here]
            total[here] *= values[turn]
    return found.reshape(u.shape)


def split_into_rounds(numbers: np.ndarray) -> list[np.ndarray]:
    """Group the positions in an array so that no group has a number twice: first occurrences, second ones, …"""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    occurrence = np.empty(len(numbers), np.intp)
    occurrence[order] = np.arange(len(numbers)) - np.searchsorted(ordered, ordered)
    return np.split(np.argsort(occurrence, kind="stable"), np.cumsum(np.bincount(occurrence))[:-1])


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
