"""Rows that are read from places or combined with those at places: gathers; sums, products and extrema at indices.

    i32 function(first, last, by blocks, blocks, length, count, width, places, …)

Arrays are blocks of rows; a block of the array that has places has `length` rows, of the others `count`. Threads share
the blocks, or else the rows of a result: each is combined in order, by one thread. To combine rows all threads look at
all places, and read with gaps what one alone reads in a stream, in half the time: several threads gain, on wide rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...core.costs import COMPOSED_TIME, SCATTER_TIME
from ..memory import allocate
from ..selection import Places
from . import engine, exceptions, math
from .correlation import lanes
from .ir import I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .runner import concerns_somebody
from .tables import address
from .threads import Crew, worker_count

ROUNDS = 30  # sums that an entry takes as long as, for which NumPy multiplies all others at its place
SHARED_WIDTH = 64  # entries of a row
SHARED_THREADS = 4
ENTRY_WORK = 4  # operations that an entry which is moved takes as long as
COMBINED = frozenset(map(np.dtype, ["f4", "f8", "i4", "i8"]))
PARTS = {np.dtype("c8"): np.dtype("f4"), np.dtype("c16"): np.dtype("f8")}  # of a complex number
WORDS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}  # in which entries are copied


class Rows(NamedTuple):
    """A row under construction: the numbers of a block and of a row in it, and the number of its place."""

    block: Value
    number: Value
    place: Value


class Walk:
    """The loops over rows, and over the vectors of a row."""

    def __init__(self, name: str, element: str, width: int, arrays: int):
        numbers = [I64] * 7
        self.function = f = Function(name, [*numbers, PTR, *[PTR] * arrays], "i32")
        self.first, self.last, self.by_blocks, self.blocks, self.length, self.count, self.width = f.arguments[
            :7
        ]
        self.places, *self.arrays = f.arguments[7:]
        self.element, self.single = element, width == 1
        self.rest = self.width & (lanes(element) - 1)

    @contextmanager
    def rows(self, read: bool, backwards: bool = False) -> Iterator[Rows]:
        """Write the loop over the rows of which this thread writes the result: the row itself where it is `read`, else
        that at its place."""
        f = self.function
        by_blocks = self.by_blocks.compare("!=", 0)
        begin, end = by_blocks.select(self.first, 0), by_blocks.select(self.last, self.blocks)
        low = by_blocks.select(0, self.first)
        high = by_blocks.select(self.count if read else self.length, self.last)
        start, stop = (low, high) if read else (0, self.count)
        with f.loop(end, begin) as block, f.loop(stop, start) as i:
            number = self.count - 1 - i.index if backwards else i.index
            place = f.load(self.places, I64, number)
            if read:
                yield Rows(block.index, number, place)
            else:
                with f.when((place >= low) & (place < high)):
                    yield Rows(block.index, number, place)

    def row(self, array: int, rows: Rows, at_place: bool) -> Value:
        """Return the address of a row of an array: that at the place, or that of the number."""
        count, number = (self.length, rows.place) if at_place else (self.count, rows.number)
        return self.function.place(
            self.arrays[array], (rows.block * count + number) * self.width, self.element
        )

    def vectors(self, write: Callable[[Callable[..., Value], Callable[..., None]], None]) -> None:
        """Write the loop over a row: write(load, store) with functions of the addresses of rows."""
        f = self.function
        if self.single:
            type = Type(self.element)
            write(
                lambda row, volatile=False: f.load(row, type, 0, volatile),
                lambda value, row: f.store(value, row),
            )
            return
        type = Type(self.element, lanes(self.element))
        with f.loop(self.width - self.rest, step=type.width) as j:
            write(
                lambda row, volatile=False: f.load(row, type, j.index, volatile),
                lambda value, row: f.store(value, row, j.index),
            )
        with f.when(self.rest > 0):
            place, present = self.width - self.rest, f.lanes_below(self.rest, type.width)
            write(
                lambda row, volatile=False: f.load_masked(row, present, type, place),
                lambda value, row: f.store_masked(value, row, present, place),
            )


def combine_rows_function(name: str, element: str, width: int, combination: str) -> Function:
    """Return the function that combines rows of its first array with those at their places in the second one."""
    walk = Walk(name, element, width, 2)
    with exceptions.watch(walk.function) as raised, walk.rows(read=False) as rows:
        given, target = walk.row(0, rows, False), walk.row(1, rows, True)
        walk.vectors(
            lambda load, store: store(math.apply(combination, load(target, True), load(given)), target)
        )
    walk.function.return_value(raised.value)
    return walk.function


def take_rows_function(name: str, element: str, width: int) -> Function:
    """Return the function that copies rows at places in its first array to the second one."""
    walk = Walk(name, element, width, 2)
    with walk.rows(read=True) as rows:
        source, target = walk.row(0, rows, True), walk.row(1, rows, False)
        walk.vectors(lambda load, store: store(load(source), target))
    walk.function.return_value(walk.function.constant(0, Type("i32")))
    return walk.function


def multiply_others_function(name: str, element: str, width: int, backwards: int) -> Function:
    """Return the function that multiplies the rows of its third array by those at their places in the second one, and
    then these by the rows of the first: in order, or backwards."""
    walk = Walk(name, element, width, 3)
    with exceptions.watch(walk.function) as raised, walk.rows(read=False, backwards=bool(backwards)) as rows:
        given, total, found = walk.row(0, rows, False), walk.row(1, rows, True), walk.row(2, rows, False)

        def write(load: Callable[..., Value], store: Callable[..., None]) -> None:
            before = load(total)
            store(load(found) * before, found)
            store(before * load(given), total)

        walk.vectors(write)
    walk.function.return_value(raised.value)
    return walk.function


def run_rows(
    build: Any,
    dtype: np.dtype,
    places: Places,
    size: int,
    read: bool,
    arrays: Any,
    *options: Any,
    time: float = SCATTER_TIME,
) -> Any:
    """Carry out a function of rows; return the exceptions that it raised, or None if there is no such function."""
    blocks, length, width, rows = places
    rows = np.ascontiguousarray(rows, np.int64)
    count = len(rows)
    run = ask_kernel(COMPOSED_TIME + time * size, build, dtype, min(width, 2), *options)
    if run is None:
        return None
    lines = count if read else length
    by_blocks = blocks >= lines
    units = blocks if by_blocks else lines
    pays = read or by_blocks or (width >= SHARED_WIDTH and worker_count() >= SHARED_THREADS)
    crew = Crew(run, units if pays else 1, ENTRY_WORK * size)
    return crew(0, units, int(by_blocks), blocks, length, count, width, *map(address, (rows, *arrays)))


def combine_rows(combination: str, out: np.ndarray, places: Places, u: np.ndarray) -> bool | None:
    """Combine rows of `out` with those of u that have their places; return whether that was done, or None if it has to
    be told of floating-point exceptions that it raised."""
    dtype = out.dtype
    if u.dtype != dtype or engine.mode() == "never" or not (out.flags.carray):
        return False
    if dtype in PARTS and combination == "add":
        dtype = PARTS[dtype]
        places = places._replace(width=2 * places.width)
    if dtype not in COMBINED:
        return False
    u = np.require(u, requirements=("C", "A"))
    raised = run_rows(combine_rows_function, dtype, places, u.size, False, (u, out), combination)
    return False if raised is None else None if raised and concerns_somebody(raised) else True


def take_rows(x: np.ndarray, places: Places) -> np.ndarray | None:
    """Return the rows of x at places one after another, or None if NumPy is to read them."""
    word, width = WORDS.get(x.itemsize), places.width
    if x.itemsize == 16:
        word, width = WORDS[8], 2 * width
    if (
        word is None
        or x.dtype.kind not in "biufc"
        or not (x.flags.c_contiguous and x.flags.aligned)
        or engine.mode() == "never"
    ):
        return None
    y = allocate((places.size,), x.dtype)
    done = run_rows(take_rows_function, word, places._replace(width=width), y.size, True, (x, y))
    return None if done is None else y


def multiply_others(x: np.ndarray, places: Places, u: np.ndarray) -> np.ndarray | None:
    """Return for each row of u the product of the row of x at its place and of all other rows with this place, or None
    if NumPy is to compute it."""
    dtype = x.dtype
    if u.dtype != dtype or dtype not in COMBINED or engine.mode() == "never":
        return None
    u, found = np.require(u, requirements=("C", "A")), np.ones(u.shape, dtype)
    raised = 0
    for total, backwards in ((np.array(x, order="C"), 0), (np.ones(x.shape, dtype), 1)):
        given = (u, total, found)
        some = run_rows(
            multiply_others_function,
            dtype,
            places,
            u.size,
            False,
            given,
            backwards,
            time=ROUNDS * SCATTER_TIME,
        )
        if some is None:
            return None
        raised |= some
    return None if raised and concerns_somebody(raised) else found
