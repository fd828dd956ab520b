"""Direct ways of operations on plain arrays (see `_declare.composite.prefer`): a few calls of NumPy, where the general
way takes many. Each is found by (values, params) for operands of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...extend import SCALARS, costs, native_function, ops
from .._core.dtypes import cast_number

Direct = Callable[..., list[Any] | None] | None

PLACES = {np.dtype("i4"), np.dtype("i8")}
REALS = {np.dtype("f4"), np.dtype("f8")}  # what is not computed in another precision
NUMBERS = REALS | {np.dtype(code) for code in ("u1", "i1", "i2", "i4", "i8")}


def find_axis(dim: Any, ndim: int) -> int | None:
    """Return the axis of a dimension; None if it is none."""
    return dim % ndim if type(dim) is int and -ndim <= dim < ndim else None


def are_within(places: np.ndarray, n: int) -> bool:
    """Whether places are in the range of n: read as unsigned, negative ones are large."""
    unsigned = places.view(f"u{places.dtype.itemsize}")
    return not places.size or bool(np.maximum.reduce(unsigned, axis=None) < n)


# -- whole slices at places along a dimension ------------------------------------------
def find_slices(x: np.ndarray, index: Any, dim: Any) -> tuple[tuple[slice, ...], int] | None:
    """Return (the axes before that of the slices, how many there are); None if the index is no vector of places."""
    axis = find_axis(dim, x.ndim)
    if axis is None or type(index) is not np.ndarray or index.ndim != 1 or index.dtype not in PLACES:
        return None
    return ((slice(None),) * axis, x.shape[axis]) if index.size else None


def find_matching_slices(values: Sequence[Any], dim: Any) -> tuple[tuple[slice, ...], int] | None:
    """Return what `find_slices` does, where others of the same dtype are given for the slices."""
    x, index, source = values
    found = find_slices(x, index, dim)
    if found is None or type(source) is not np.ndarray or source.dtype is not x.dtype:
        return None
    axis = len(found[0])
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return found if source.shape == shape else None


def write_slices(values: Sequence[Any], params: dict) -> Direct:
    """Slices written at places."""
    found = find_matching_slices(values, params["dim"])
    if found is None:
        return None
    head, count = found

    def write(x: np.ndarray, index: np.ndarray, source: np.ndarray) -> list[Any] | None:
        if not are_within(index, count):
            return None
        y = x.copy()
        y[(*head, index)] = source
        return [y]

    return write


def add_slices(values: Sequence[Any], params: dict) -> Direct:
    """Slices added at places."""
    alpha, x = params["alpha"], values[0]
    found = find_matching_slices(values, params["dim"])
    if found is None or type(alpha) is not int or alpha != 1 or x.dtype not in NUMBERS:
        return None
    (head, count), total = found, ops.scatter_add.primitive.kernel
    template = (*head, ops.ARRAY)

    def add(x: np.ndarray, index: np.ndarray, source: np.ndarray) -> list[Any] | None:
        if not (x.flags.c_contiguous and are_within(index, count)):
            return None
        return [x + total(source, index, index=template, shape=x.shape)]

    return add


def fill_slices(values: Sequence[Any], params: dict) -> Direct:
    """Slices at places filled with a number; places may be counted from the end."""
    x, index, value = values
    found = find_slices(x, index, params["dim"])
    if found is None or type(value) not in SCALARS:
        return None
    head, _ = found

    def fill(x: np.ndarray, index: np.ndarray, value: Any) -> list[Any] | None:
        number, y = cast_number(value, x.dtype), x.copy()
        try:
            y[(*head, index)] = number
        except IndexError:
            return None
        return [y]

    return fill


# -- entries where a mask is set ------------------------------------------
def fill_masked(values: Sequence[Any], params: dict) -> Direct:
    """A number where a mask is set."""
    x, mask, value = values
    if type(x) is not np.ndarray or type(mask) is not np.ndarray or type(value) not in SCALARS:
        return None
    if mask.dtype != bool or x.dtype.kind not in "biufc":
        return None
    choose = ops.where.primitive.kernel

    def fill(x: np.ndarray, mask: np.ndarray, value: Any) -> list[Any] | None:
        y = choose(mask, cast_number(value, x.dtype), x)
        return [y] if y.flags.c_contiguous else None

    return fill


def scatter_masked(values: Sequence[Any], params: dict) -> Direct:
    """Entries one after the other where a mask is set."""
    if not all([type(v) is np.ndarray for v in values]):
        return None
    x, mask, source = values
    if mask.dtype != bool or mask.shape != x.shape or source.dtype is not x.dtype or not x.size:
        return None

    def scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> list[Any] | None:
        count = np.count_nonzero(mask)
        if count > source.size:
            return None
        y = x.copy()
        ops.replace_rows(y, mask, source.reshape(-1)[:count])
        return [y]

    return scatter


# -- between limits ------------------------------------------
def limit_entries(values: Sequence[Any], params: dict) -> Direct:
    """Entries between two numbers. Both of NumPy's functions return what is not a number."""
    if len(values) != 3 or type(values[0]) is not np.ndarray:
        return None
    x = values[0]
    if x.dtype not in REALS or not x.ndim or not 0 < x.size <= costs.CALLED_ENTRIES:
        return None
    if type(values[1]) not in (int, float) or type(values[2]) not in (int, float):
        return None
    greatest = float(np.finfo(x.dtype).max)

    def limit(x: np.ndarray, low: float, high: float) -> list[Any] | None:
        if not -greatest <= low < high <= greatest:
            return None
        y = np.minimum(np.maximum(x, low), high)
        if low == 0 or high == 0:  # zeros keep their sign
            np.copyto(y, x, where=x == 0)
        return [y] if y.flags.c_contiguous else None

    return limit


# -- by rank ------------------------------------------
def find_median(values: Sequence[Any], params: dict) -> Direct:
    """The median of all entries."""
    (x,) = values
    if x.dtype not in NUMBERS or not x.size:
        return None
    rank, is_real = (x.size - 1) // 2, x.dtype in REALS

    def find(x: np.ndarray) -> list[Any] | None:
        row = x.flatten()
        row.partition(rank)
        y = row[rank]
        if is_real:
            last = np.maximum.reduce(row[rank:])
            if y == 0 or last != last:  # of two signs, or among NaN, places decide
                return None
        return [np.asarray(y)]

    return find


def find_medians(values: Sequence[Any], params: dict) -> Direct:
    """The medians of rows, and their places."""
    (x,) = values
    if x.dtype not in NUMBERS or not x.size or find_axis(params["dim"], x.ndim) != x.ndim - 1:
        return None
    n, is_real, sort = x.shape[-1], x.dtype in REALS, ops.argsort.primitive.kernel
    rank, numbers = (n - 1) // 2, np.arange(x.size // n)
    shape = (*x.shape[:-1], 1) if params["keepdim"] else x.shape[:-1]

    def find(x: np.ndarray) -> list[Any] | None:
        rows = x.reshape(-1, n)
        order = sort(rows, axis=1)
        if is_real:
            last = rows[numbers, order[:, -1]]
            if np.count_nonzero(last != last):
                return None
        places = order[:, rank].copy()
        return [rows[numbers, places].reshape(shape), places.reshape(shape)]

    return find


# In what NumPy would have to add up numbers, by the name of their dtype.
WIDE = dict.fromkeys(("float16", "bfloat16", "float32"), np.dtype(np.float64))
WIDE |= dict.fromkeys(("bool", "uint8", "int8", "int16", "int32"), np.dtype(np.int64))


def running_total(combination: str) -> Callable[..., Direct]:
    """Return the direct way to sums, or products, of all entries up to each, which are computed in a wide dtype."""

    def direct(values: Sequence[Any], params: dict) -> Direct:
        (x,) = values
        wide, axis = WIDE.get(x.dtype.name), find_axis(params["dim"], x.ndim)
        if wide is None or axis is None or params.get("dtype") is not None:
            return None
        target = wide if wide.kind == "i" else x.dtype

        def accumulate(x: np.ndarray) -> list[Any] | None:
            compute = native_function("accumulation.accumulate_natively")
            y = compute(combination, x, axis=axis, wide=wide, target=target)
            return None if y is None else [y]

        return accumulate

    return direct


def running_extreme(combine: np.ufunc) -> Callable[..., Direct]:
    """Return the direct way to the extremes so far, and the places of the last entries that reached them."""

    def direct(values: Sequence[Any], params: dict) -> Direct:
        (x,) = values
        axis = find_axis(params["dim"], x.ndim)
        if axis is None or x.dtype not in NUMBERS or not 0 < x.size < costs.CALLED_ENTRIES:
            return None
        grid, end = list(np.ogrid[tuple([slice(n) for n in x.shape])]), (slice(None),) * axis + (-1,)
        steps, is_real = grid[axis], x.dtype in REALS

        def find(x: np.ndarray) -> list[Any] | None:
            y = combine.accumulate(x, axis)
            if is_real:
                last = y[end]
                if np.count_nonzero(last != last):
                    return None
            places = np.maximum.accumulate((x == y) * steps, axis)
            taken = x[(*grid[:axis], places, *grid[axis + 1 :])]
            return [taken, places] if places.flags.c_contiguous and taken.flags.c_contiguous else None

        return find

    return direct


# -- others ------------------------------------------
def find_among(values: Sequence[Any], params: dict) -> Direct:
    """Which entries are among a few others: in sorted order."""
    if not all([type(v) is np.ndarray for v in values]):
        return None
    x, others = values
    few = 0 < others.size <= costs.CALLED_ENTRIES > x.size
    if not few or x.dtype not in NUMBERS or others.dtype is not x.dtype:
        return None
    last, invert = others.size - 1, params["invert"]
    compare = np.not_equal if invert else np.equal

    def find(x: np.ndarray, others: np.ndarray) -> list[Any] | None:
        row = others.flatten()
        row.sort()
        places = row.searchsorted(x)
        y = compare(row[np.minimum(places, last)], x)
        return [y] if y.flags.c_contiguous else None

    return find


def window_maxima(x: np.ndarray, table: np.ndarray, counts: tuple[int, ...]) -> Direct:
    """The greatest entries of windows, and their places in the flattened image, by a table (taps, windows) of these."""
    lead = x.shape[: x.ndim - len(counts)]
    images, shape, columns = prod(lead), (*lead, *counts), np.arange(table.shape[1])
    size, lines = x.size // images, np.arange(images)[:, None]

    def find(x: np.ndarray) -> list[Any] | None:
        rows = x.reshape(images, size)
        number = rows.take(table, 1).argmax(1)
        places = table[number, columns]
        return [rows[lines, places].reshape(shape), places.reshape(shape)]

    return find
