"""Kernels that choose entries and add them at places, without a branch or a call for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MANY = 4096  # entries from which on the preparations are worth their time
BLOCK = 1 << 14  # entries, which stay in the cache
BOOL = np.dtype(bool)
WORDS = {np.dtype("f4"): np.dtype("i4"), np.dtype("f8"): np.dtype("i8")}


def where_kernel(xp: Any) -> Callable[..., Any]:
    """NumPy's own `where` branches at every entry, and is ten times slower if the processor cannot guess the
    condition."""

    def where(condition: Any, a: Any, b: Any) -> Any:
        if type(condition) is np.ndarray and condition.size >= MANY and condition.dtype is BOOL:
            found = select_by_bits(condition, a, b)
            if found is not None:
                return found
        return np.where(condition, a, b)

    return where if xp is np else xp.where


def select_by_bits(condition: np.ndarray, a: Any, b: Any) -> np.ndarray | None:
    """Select by bit patterns times 0 or 1, among floating arrays in the order of the condition and numbers; else give
    None."""
    arrays = [x for x in (a, b) if type(x) is np.ndarray and x.ndim]
    dtype = arrays[0].dtype if arrays else BOOL
    if dtype not in WORDS or not condition.flags.c_contiguous:
        return None
    word, sides = WORDS[dtype], []
    for x in (a, b):
        if isinstance(x, np.ndarray | np.generic) and x.dtype is dtype and x.shape in ((), condition.shape):
            if not x.flags.c_contiguous:
                return None
            sides.append(np.asarray(x).view(word).reshape(-1 if x.ndim else ()))
        elif type(x) in (int, float):
            sides.append(np.asarray(x, dtype).view(word))
        else:
            return None
    result = np.empty(condition.shape, dtype)
    out, chosen = result.view(word).reshape(-1), condition.view(np.int8).reshape(-1)
    zeros = not sides[1].ndim and not sides[1]
    for start in range(0, len(out), BLOCK):
        part = slice(start, start + BLOCK)
        here, p, q = out[part], *(x[part] if x.ndim else x for x in sides)
        if zeros:
            np.copyto(here, chosen[part])
            np.multiply(here, p, out=here)
        else:
            np.bitwise_xor(p, q, out=here)
            np.multiply(here, chosen[part], out=here)
            np.bitwise_xor(here, q, out=here)
    return result


def add_at(out: np.ndarray, index: tuple, u: np.ndarray) -> None:
    """Add u to out[index]; entries that occur several times are added in their order. NumPy is fast along one axis
    only."""
    if u.size < MANY or out.ndim == 1:
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


def has_only_full_slices(index: Sequence[Any]) -> bool:
    return all(type(e) is slice and e == slice(None) for e in index)
