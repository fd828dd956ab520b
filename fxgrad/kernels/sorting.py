"""Sorting along an axis, in several threads where there is much to sort: they share the lines, or sort runs of a single
line, which are merged in parts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.costs import SCANNED_ENTRIES, SHARED_LINE
from .registry import share_calls, worker_count

SORT_WORK = 40  # operations that the sorting of an entry takes as long as
FEWEST_OF_RUN = 1 << 14  # entries of a run
SAMPLES = 16  # entries of a run for each part, between which parts are cut
WORDS = {np.dtype("f4"): np.dtype("i4"), np.dtype("f8"): np.dtype("i8")}


def sort_lines(x: np.ndarray, axis: int) -> np.ndarray:
    """Return an array sorted along an axis."""
    if is_long_line(x) and x.dtype.kind in "iuf" and x.dtype.itemsize > 2:
        return sort_line(x.reshape(-1)).reshape(x.shape)
    y = np.array(x)
    share_lines(lambda lines, _, inner: lines.sort(axis=inner), axis, y, y)
    return y


def argsort_lines(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the positions that sort an array along an axis; entries that are equal keep their order."""
    if is_long_line(x) and x.dtype.kind in "iuf":
        line = x.reshape(-1)
        order = sort_words(line) if line.dtype == np.float32 else merge_runs(line, find_order=True)
        return order.reshape(x.shape)
    y = np.empty(x.shape, np.intp)

    def find(lines: np.ndarray, places: np.ndarray, inner: int) -> None:
        places[...] = find_order(lines, inner)

    share_lines(find, axis, x, y)
    return y


def is_long_line(x: np.ndarray) -> bool:
    """Whether an array has but one line, which is long."""
    return x.size >= SHARED_LINE and max(x.shape) == x.size


def share_lines(function: Callable[[Any, Any, int], None], axis: int, x: np.ndarray, y: np.ndarray) -> None:
    """Call a function of lines of x and y, and the number of their axis, on pieces that threads share."""
    others = [a for a in range(x.ndim) if a != axis]
    if x.size < SCANNED_ENTRIES or not others:
        function(x, y, axis)
        return
    along = max(others, key=x.shape.__getitem__)
    given, made = np.moveaxis(x, along, 0), np.moveaxis(y, along, 0)
    inner = axis + (axis < along)
    share_calls(
        lambda first, last: function(given[first:last], made[first:last], inner),
        len(given),
        SORT_WORK * x.size,
    )


def find_order(x: np.ndarray, axis: int) -> np.ndarray:
    """Sort stably; single precision is sorted by words of value and position, in a third of the time."""
    if x.dtype != np.float32 or x.size < 256:
        return np.argsort(x, axis=axis, kind="stable")
    keys = words_of(x, axis)
    keys.sort(axis=axis)
    keys &= 0xFFFFFFFF
    return keys


def sort_words(x: np.ndarray) -> np.ndarray:
    """Do so for a long line."""
    keys = merge_runs(words_of(x, 0))
    keys &= 0xFFFFFFFF
    return keys


def words_of(x: np.ndarray, axis: int) -> np.ndarray:
    """Return words of the order of numbers in single precision, and of their positions along an axis."""
    keys = order_words(x + np.float32(0)).astype(np.int64)  # −0 is 0
    keys <<= 32
    keys |= np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return keys


def order_words(x: np.ndarray) -> np.ndarray:
    """Return integers in the order of numbers, in the memory of these: −0 comes before 0, and all NaN are one."""
    x[np.isnan(x)] = np.nan
    words = x.view(WORDS[x.dtype])
    return turn_negative(words)


def turn_negative(words: np.ndarray) -> np.ndarray:
    """Turn the order of negative integers round, in place: twice is not at all."""
    limits = np.iinfo(words.dtype)
    words ^= (words >> (limits.bits - 1)) & limits.max
    return words


def sort_line(x: np.ndarray) -> np.ndarray:
    """Sort a long line, so that the result does not depend on the runs: floating-point numbers as integers."""
    if x.dtype not in WORDS:
        return merge_runs(x)
    return turn_negative(merge_runs(order_words(x.copy()))).view(x.dtype)


def merge_runs(x: np.ndarray, find_order: bool = False) -> np.ndarray:
    """Sort a line, or return the positions that sort it stably: each thread sorts a run, and then merges what lies
    between two values in all of them, which are ascending stretches for NumPy's stable sort."""
    size = len(x)
    count = min(worker_count(), size // FEWEST_OF_RUN)
    if count <= 1:
        return np.argsort(x, kind="stable") if find_order else np.sort(x)
    ends = [size * k // count for k in range(count + 1)]
    runs: list[Any] = [x[start:stop] for start, stop in pairwise(ends)]
    places: list[Any] = [None] * count

    def sort_runs(first: int, last: int) -> None:
        for k in range(first, last):
            if find_order:
                order = np.argsort(runs[k], kind="stable")
                runs[k], places[k] = runs[k][order], order + ends[k]
            else:
                runs[k] = np.sort(runs[k])

    share_calls(sort_runs, count, SORT_WORK * size)
    samples = np.sort(np.concatenate([run[:: max(len(run) // (SAMPLES * count), 1)] for run in runs]))
    values = samples[[len(samples) * k // count for k in range(1, count)]]
    cuts = np.array([[0, *np.searchsorted(run, values), len(run)] for run in runs])
    stops = cuts.sum(0)
    y = np.empty(size, np.intp if find_order else x.dtype)

    def merge_parts(first: int, last: int) -> None:
        for k in range(first, last):
            here = [slice(*cut[k : k + 2]) for cut in cuts]
            part, entries = y[stops[k] : stops[k + 1]], np.concatenate([r[s] for r, s in zip(runs, here)])
            if find_order:
                order = np.argsort(entries, kind="stable")
                part[...] = np.concatenate([p[s] for p, s in zip(places, here)])[order]
            else:
                part[...] = entries
                part.sort(kind="stable")

    share_calls(merge_parts, count, SORT_WORK * size)
    return y
