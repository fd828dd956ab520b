"""Outer products with large results: gradients of weights, one for every sample.

    i32 group(first, last, repeats, length, x, y, z)
        z[i, :length] = x[i] * y[i / repeats, :length] for first ≤ i < last; returns the exceptions that it raised

A large result is written past the caches (`Function.stream`). Then the processor need not read the memory that it
overwrites, and takes half the time.
"""

from __future__ import annotations

import ctypes
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...core.cache import Cache
from ...core.costs import COMPILATION, OUTER_ROW, OUTER_TIME, STREAMED_BYTES
from ..memory import allocate
from . import arrays, exceptions
from .engine import compile_functions
from .groups import GROUP
from .ir import I64, PTR, Function, Type, Value
from .kernel import ELEMENTS
from .processor import vector_bytes
from .runner import concerns_somebody
from .threads import Crew
from .tier import Tier

_tiers: Cache = Cache(8)  # dtype, whether results are streamed → Tier


def multiply_outer(a: np.ndarray, b: np.ndarray, shared: int) -> np.ndarray | None:
    """Compute `contraction.multiply_outer`, or return None if NumPy is to compute it."""
    length = prod(b.shape[shared:])
    size = a.size * length
    if length < OUTER_ROW or a.dtype != b.dtype or a.dtype not in ELEMENTS:
        return None
    key = a.dtype, size * a.itemsize >= STREAMED_BYTES
    tier = _tiers.get(key)
    if tier is None:
        tier = _tiers[key] = Tier(partial(compile_outer, *key), COMPILATION, "an outer product")
    native = tier.ask(OUTER_TIME * size)
    if native is None:
        return None
    x, y = (np.require(v, requirements=("C", "A")) for v in (a, b))
    z = allocate((*a.shape, *b.shape[shared:]), a.dtype)
    raised = Crew(native, a.size, size)(0, a.size, prod(a.shape[shared:]), length, x, y, z)
    return None if raised and concerns_somebody(raised) else z


def compile_outer(dtype: np.dtype, streams: bool) -> Any:
    """Compile the product for a dtype."""
    function = Function(GROUP, [I64, I64, I64, I64, PTR, PTR, PTR], "i32")
    with exceptions.watch(function) as raised:
        rows = Rows(function, ELEMENTS[dtype], vector_bytes() // dtype.itemsize)
        rows.write_streamed() if streams else rows.write()
    function.return_value(raised.value)
    code = compile_functions([function])
    kinds = [ctypes.c_ssize_t] * 4 + [ctypes.py_object] * 3
    native = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(code.address(GROUP))
    native.code = code  # type: ignore[attr-defined]  # which lives as long
    return native


class Row(NamedTuple):
    """A row of the result: its factor in all lanes, the entries that it multiplies, the first of them in all lanes, and
    the address of the products."""

    factor: Value
    source: Value
    absent: Value
    target: Value

    def multiply(self, place: Value, present: Value) -> Value:
        """Return the products from a place on. Absent lanes hold the first one, which raises nothing new."""
        f = self.source.function
        return self.factor * f.load_masked(self.source, present, self.factor.type, place, self.absent)


class Rows:
    """The loop over rows under construction, in vectors of this width."""

    def __init__(self, function: Function, element: str, width: int):
        self.function, self.type = function, Type(element, width)
        self.first, self.last, self.repeats, self.length, *objects = function.arguments
        self.arrays = [arrays.address(function, o) for o in objects]

    def row(self, index: Value) -> Row:
        """Load the values that are constant along a row."""
        f, (x, y, z), (element, width) = self.function, self.arrays, self.type
        source = f.place(y, index / self.repeats * self.length, element)
        factor, absent = (f.splat(f.load(p, Type(element), i), width) for p, i in ((x, index), (source, 0)))
        return Row(factor, source, absent, f.place(z, index * self.length, element))

    def write_part(self, row: Row, place: Value | int, count: Value) -> None:
        """Write less than a vector of a row."""
        f = self.function
        place = place if isinstance(place, Value) else f.constant(place, I64)
        present = f.lanes_below(count, self.type.width)
        f.store_masked(row.multiply(place, present), row.target, present, place)

    def write(self) -> None:
        """Write whole vectors from the beginning of each row, and then the rest of it."""
        f, width = self.function, self.type.width
        rest = self.length & (width - 1)
        with f.loop(self.last, self.first) as rows:
            row = self.row(rows.index)
            with f.loop(self.length - rest, step=width) as loop:
                f.store(row.factor * f.load(row.source, self.type, loop.index), row.target, loop.index)
            with f.when(rest > 0):
                self.write_part(row, self.length - rest, rest)

    def write_streamed(self) -> None:
        """Write vectors that lie at multiples of their size. The rest of a row shares one with the beginning of the
        next: a line of the cache that is not written as a whole takes as long as ten that are."""
        f, width, itemsize = self.function, self.type.width, self.type.bits // 8
        with f.loop(self.last, self.first) as rows:
            row = self.row(rows.index)
            offset = -f.cast("ptrtoint", row.target, I64)
            start = (offset & (width * itemsize - 1)).logical_shift(itemsize.bit_length() - 1)
            with f.when(rows.index.equals(self.first)):
                self.write_part(row, 0, start)
            rest = (self.length - start) & (width - 1)
            stop, following = self.length - rest, rows.index + 1
            with f.loop(stop, start, step=width) as loop:
                f.stream(row.factor * f.load(row.source, self.type, loop.index), row.target, loop.index)
            is_last = following.equals(self.last)
            with f.when(is_last):
                self.write_part(row, stop, rest)
            with f.when(~is_last & (rest > 0)):
                own = f.lanes_below(rest, width)
                ending, beginning = row.multiply(stop, own), self.row(following).multiply(-rest, ~own)
                f.stream(own.select(ending, beginning), row.target, stop)
        f.wait_for_stores()
