"""The greatest or least entries of rows, in order: each entry is compared with the last of those that were found.

    void function(first, last, n, k, x, values, places)

Entries are compared by integers of the same order, in which −0 equals 0 and NaN is the greatest. Of equal entries the
first comes first. Threads share the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ...core.costs import COMPOSED_TIME, RANKED_ENTRIES, RANKING_TIME
from ..memory import allocate
from . import arrays, engine
from .correlation import lanes
from .ir import I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .scatter import COMBINED
from .threads import Crew

ENTRY_WORK = 2  # operations that an entry which is looked at takes as long as


def order_of(value: Value, least: int) -> Value:
    """Return integers in the order of values, or in the opposite one."""
    if value.type.is_float:
        type = value.type.integer
        bits = (value + 0.0).bits_as(type.element)
        ordered = bits ^ ((bits >> (type.bits - 1)) & ((1 << (type.bits - 1)) - 1))
        value = value.is_nan().select((1 << (type.bits - 1)) - 1, ordered)
    return ~value if least else value


def ranking_function(name: str, element: str, least: int) -> Function:
    """Return the function that finds the greatest, or least, entries of rows."""
    f = Function(name, [*[I64] * 4, PTR, PTR, PTR])
    first, last, n, k, *given = f.arguments
    x, values, places = (arrays.address(f, array) for array in given)
    one, many = Type(element), Type(element, lanes(element))
    number = one.integer
    kept = f.emit(f"alloca {number}, i64 {RANKED_ENTRIES + 1}", PTR)  # after one that is greater than all
    f.store(f.constant((1 << (number.bits - 1)) - 1, number), kept)

    def insert(key: Value, place: Value, count: Value) -> None:
        """Put an entry among the `count` greatest."""
        with f.cycle([count]) as search:
            (at,) = search.carry
            before = f.load(kept, number, at)
            search.go_on_if(before < key)
            f.store(before, kept, at + 1)
            f.store(f.load(found, I64, at - 1), found, at)
            search.update(at - 1)
        f.store(key, kept, search.carry[0] + 1)
        f.store(place, found, search.carry[0])

    def compare(place: Value) -> None:
        """Put an entry in the place of the last one, if it is greater."""
        key = order_of(f.load(source, one, place), least)
        with f.when(key > f.load(kept, number, k)):
            insert(key, place, k - 1)

    with f.loop(last, first) as row:
        source, found = f.place(x, row.index * n, element), f.place(places, row.index * k, "i64")
        with f.loop(k) as at:
            insert(order_of(f.load(source, one, at.index), least), at.index, at.index)
        whole = n - ((n - k) & (many.width - 1))
        with f.loop(whole, k, step=many.width) as at:
            keys = order_of(f.load(source, many, at.index), least)
            some = f.reduce(keys > f.splat(f.load(kept, number, k), many.width), "or")
            with f.when(some), f.loop(at.index + many.width, at.index) as each:
                compare(each.index)
        with f.loop(n, whole) as at:
            compare(at.index)
        with f.loop(k) as at:
            value = f.load(source, one, f.load(found, I64, at.index))
            f.store(value, values, row.index * k + at.index)
    return f


def ranker(x: np.ndarray, k: int, least: bool) -> Callable[[np.ndarray], list[np.ndarray] | None] | None:
    """Return the function of arrays like x that gives the k greatest, or least, entries of rows, and their places. It
    gives None where NumPy is to find them, and so does this one."""
    dtype, shape = x.dtype, x.shape
    if (
        dtype not in COMBINED
        or not x.size
        or not 0 < k <= min(shape[-1], RANKED_ENTRIES)
        or engine.mode() == "never"
    ):
        return None
    rows, n, size = prod(shape[:-1]), shape[-1], x.size

    def rank(x: np.ndarray) -> list[np.ndarray] | None:
        native = ask_kernel(COMPOSED_TIME + RANKING_TIME * size, ranking_function, dtype, int(least))
        if native is None or not (x.flags.c_contiguous and x.flags.aligned):
            return None
        values, places = allocate((*shape[:-1], k), dtype), allocate((*shape[:-1], k), np.int64)
        (native if rows == 1 else Crew(native, rows, ENTRY_WORK * size))(
            0, rows, n, k, *map(id, (x, values, places))
        )
        return [values, places]

    return rank
