"""Entries at places along one axis, those along the others matched, as in torch's `scatter` and `gather`.

    i32 function(first, last, length, count, inner, places, …)

An array that has places is (outer, length, inner) row-major, places and what goes with them are (outer, count, inner).
Threads share the outer entries. The result is 1 where a place does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.costs import COMPOSED_TIME, SCATTER_TIME
from ..memory import allocate
from . import arrays, engine, math
from .ir import I1, I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .scatter import COMBINED, ENTRY_WORK, WORDS
from .threads import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INDEX = np.dtype(np.int64)


class Walk:
    """The loops over the entries that have places; there is one loop less where an outer entry is a `line`, as `inner`
    is 1."""

    def __init__(self, name: str, count: int, line: int):
        self.function = f = Function(name, [*[I64] * 5, PTR, *[PTR] * count], "i32")
        self.first, self.last, self.length, self.count, self.inner, *given = f.arguments
        self.places, *self.arrays = (arrays.address(f, array) for array in given)
        self.line = line

    @contextmanager
    def entries(self) -> Iterator[tuple[Value, Value]]:
        """Write the block for an entry, of (its number, the number of its place); the function then returns."""
        f = self.function
        with f.loop(self.last, self.first, carry=[f.constant(0, I1)]) as block:
            with f.loop(self.count, carry=block.carry) as row:
                number = block.index * self.count + row.index
                with ExitStack() as stack:
                    entry, inner, column = row, 1, 0
                    if not self.line:
                        entry, inner = stack.enter_context(f.loop(self.inner, carry=row.carry)), self.inner
                        column, number = entry.index, number * inner + entry.index
                    place = f.load(self.places, I64, number)
                    exists = (place >= 0) & (place < self.length)
                    with f.when(exists):
                        yield number, (block.index * self.length + place) * inner + column
                    entry.update(entry.carry[0] | ~exists)
                if not self.line:
                    row.update(*entry.carry)
            block.update(*row.carry)
        f.return_value(f.cast("zext", block.carry[0], Type("i32")))


def combine_function(name: str, element: str, line: int, combination: str, counted: int) -> Function:
    """Return the function that combines entries of its first array with those at their places in the second one, in
    order; where it is `counted` it adds 1 there in a third array."""
    walk, type = Walk(name, 2 + counted, line), Type(element)
    given, target, *counts = walk.arrays
    with walk.entries() as (number, place):
        f = walk.function
        value = f.load(given, type, number)
        if combination:
            value = math.apply(combination, f.load(target, type, place), value)
        f.store(value, target, place)
        for count in counts:
            f.store(f.load(count, type, place) + 1, count, place)
    return walk.function


def take_function(name: str, element: str, line: int) -> Function:
    """Return the function that copies entries at places in its first array to the second one."""
    walk, type = Walk(name, 2, line), Type(element)
    source, target = walk.arrays
    with walk.entries() as (number, place):
        walk.function.store(walk.function.load(source, type, place), target, number)
    return walk.function


class Matched(NamedTuple):
    """How arrays of given shapes are walked through."""

    build: Any
    dtype: np.dtype
    options: tuple[Any, ...]
    outer: int
    numbers: tuple[int, int, int]  # length, count, inner
    size: int

    def run(self, *given: np.ndarray) -> bool:
        """Carry the function out; return whether there is one, and all places exist."""
        native = ask_kernel(COMPOSED_TIME + SCATTER_TIME * self.size, self.build, self.dtype, *self.options)
        if native is None:
            return False
        crew = native if self.outer == 1 else Crew(native, self.outer, ENTRY_WORK * self.size)
        return not crew(0, self.outer, *self.numbers, *map(id, given))


def match(
    build: Any, dtype: np.dtype, options: tuple[Any, ...], shape: Sequence[int], places: np.ndarray, axis: int
) -> Matched | None:
    """Return how an array of a shape is walked through by places along an axis; None where the others do not match."""
    n = len(shape)
    fits = places.ndim == n > 0 and places.dtype is INDEX and places.size and engine.mode() != "never"
    if not fits or any(m != k for d, (m, k) in enumerate(zip(shape, places.shape)) if d != axis % n):
        return None
    axis %= n
    numbers = shape[axis], places.shape[axis], prod(shape[axis + 1 :])
    options = int(numbers[2] == 1), *options
    return Matched(build, dtype, options, prod(shape[:axis]), numbers, places.size)


def combiner(
    combination: str, x: np.ndarray, places: np.ndarray, u: np.ndarray, axis: int
) -> Callable[..., list[np.ndarray] | None] | None:
    """Return the function of arrays like these that combines entries of u with those of x at their places, by a ufunc's
    name, as "mean", or with "" replaces them. It gives None where NumPy is to do it, and so does this one."""
    dtype, mean = x.dtype, combination == "mean"
    if (
        dtype not in COMBINED
        or u.dtype is not dtype
        or u.shape != places.shape
        or (mean and dtype.kind != "f")
    ):
        return None
    found = match(combine_function, dtype, ("add" if mean else combination, int(mean)), x.shape, places, axis)
    if found is None:
        return None

    def combine(x: np.ndarray, places: np.ndarray, u: np.ndarray) -> list[np.ndarray] | None:
        if not are_rows(x, places, u):
            return None
        y = x.copy()
        if not mean:
            return [y] if found.run(places, u, y) else None
        count = np.ones(x.shape, dtype)
        return [np.divide(y, count, out=y)] if found.run(places, u, y, count) else None

    return combine


def taker(x: np.ndarray, places: np.ndarray, axis: int) -> Callable[..., list[np.ndarray] | None] | None:
    """Return the function of arrays like these that gives the entries of x at places; it gives None where NumPy is to
    do it, and so does this one."""
    word = WORDS.get(x.itemsize)
    found = (
        None
        if word is None or x.dtype.kind not in "biuf"
        else match(take_function, word, (), x.shape, places, axis)
    )
    if found is None:
        return None

    def take(x: np.ndarray, places: np.ndarray) -> list[np.ndarray] | None:
        y = allocate(places.shape, x.dtype)
        return [y] if are_rows(x, places) and found.run(places, x, y) else None

    return take


def sharer(
    x: np.ndarray, places: np.ndarray, u: np.ndarray, axis: int
) -> Callable[..., list[np.ndarray] | None] | None:
    """Return the function (ct, y, x, places, u) of arrays like these that gives the cotangents of x and u where y has
    the extrema of both: those that reach one share its cotangent. It gives None where NumPy is to do it, and so does
    this one."""
    take, add = taker(x, places, axis), combiner("add", x, places, u, axis)
    if take is None or add is None or x.dtype.kind != "f":
        return None

    def share(ct: np.ndarray, y: np.ndarray, x: np.ndarray, places: np.ndarray, u: np.ndarray) -> Any:
        found = take(y, places)
        if found is None:
            return None
        own, theirs = ((v == most) | np.isnan(v) for v, most in ((x, y), (u, found[0])))
        count = add(own.astype(x.dtype), places, theirs.astype(x.dtype))
        if count is None:
            return None
        part = np.divide(ct, count[0], out=count[0])
        given = take(part, places)
        return None if given is None else [np.where(own, part, 0), np.where(theirs, given[0], 0)]

    return share


def are_rows(*given: np.ndarray) -> bool:
    """Whether arrays are row-major in memory."""
    return all([v.flags.c_contiguous and v.flags.aligned for v in given])
