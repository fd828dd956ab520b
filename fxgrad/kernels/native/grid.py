"""Images at the places of a grid, as torch's `grid_sample` defines it: places are computed for a vector of new pixels,
and the entries around them are gathered from each channel.

    void sample(first, last, channels, rows, columns, count, grid, x, y)
    void pull(first, last, channels, rows, columns, count, grid, ct, x, …)

An image has `count` new pixels. Units of work are vectors of these, or whole images where entries are added to what
they were read from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from ...core.costs import COMPOSED_TIME, SAMPLE_TIME
from ..memory import allocate
from . import arrays, engine
from .correlation import lanes, remainder, smaller
from .ir import I64, PTR, Function, Type, Value, fma
from .kernel import ELEMENTS, ask_kernel
from .matched import are_rows
from .threads import Crew

TAPS = {"nearest": 1, "bilinear": 4}  # entries that are read for a new one
TAP_WORK = 8  # operations that an entry which is gathered takes as long as


class Line(NamedTuple):
    """What is read along an axis: (number of the entry, its weight, the derivative of this) of each tap, and the
    derivative of the place."""

    taps: list[tuple[Value, Value, Value]]
    slope: Value


def find_line(coordinate: Value, n: Value, nearest: int, border: int, align: int) -> Line:
    """Return what is read along an axis of n entries at coordinates from −1 to 1; weights of what is outside are 0."""
    f, type = coordinate.function, coordinate.type
    size = f.splat(f.cast("sitofp", n, Type(type.element)), type.width)
    last, shifted = size - 1.0, coordinate + 1.0
    slope = (last if align else size) * 0.5
    place = shifted * slope if align else (shifted * size - 1.0) * 0.5
    if border:
        low, high = place <= 0.0, place >= last
        place, slope = low.select(0.0, high.select(last, place)), (low | high).select(0.0, slope)
    one = f.constant(1.0, type)
    if nearest:
        found = [(place.intrinsic("rint"), one, 0.0 * one)]
    else:
        first = place.intrinsic("floor")
        part = place - first
        found = [(first, 1.0 - part, -one), (first + 1.0, part, one)]
    taps = []
    for number, weight, change in found:
        inside = (number >= 0.0) & (number <= last)
        index = f.cast("fptosi", inside.select(number, 0.0), type.of("i32"))
        taps.append((index, inside.select(weight, 0.0), inside.select(change, 0.0)))
    return Line(taps, slope)


class Writer:
    """A function under construction: its arguments, and a vector of new pixels."""

    def __init__(self, name: str, element: str, given: int, options: Sequence[int]):
        self.element, self.width = element, lanes(element)
        self.vector = Type(element, self.width)
        self.function = f = Function(name, [*[I64] * 6, *[PTR] * given])
        self.first, self.last, self.channels, self.rows, self.columns, self.count, *arguments = f.arguments
        self.grid, *self.arrays = (arrays.address(f, array) for array in arguments)
        self.options = options

    def begin(self, image: Value, start: Value) -> None:
        """Write what is read for the pixels of an image from number `start` on: `taps` are (the number of an entry, its
        weight, the derivatives of this along both axes)."""
        f, width, element = self.function, self.width, self.element
        self.image, self.start, self.rest = image, start, self.count - start
        self.mask = f.lanes_below(self.rest, width)
        whole = f.lanes_below(self.rest * 2, 2 * width)
        begin = f.place(self.grid, (image * self.count + start) * 2, element)
        across, down = f.deinterleave(f.load_masked(begin, whole, Type(element, 2 * width)))
        self.down = find_line(down, self.rows, *self.options)
        self.across = find_line(across, self.columns, *self.options)
        pitch = f.splat(f.cast("trunc", self.columns, Type("i32")), width)
        self.taps = [
            (f.cast("sext", i * pitch + j, Type("i64", width)), v * w, dv * w, v * dw)
            for (i, v, dv), (j, w, dw) in product(self.down.taps, self.across.taps)
        ]

    def image_of(self, array: Value, channel: Value) -> Value:
        """Return the address of a channel of the image."""
        plane = self.image * self.channels + channel
        return self.function.place(array, plane * self.rows * self.columns, self.element)

    def pixels_of(self, array: Value, channel: Value) -> Value:
        """Return the address of the new pixels in a channel."""
        plane = self.image * self.channels + channel
        return self.function.place(array, plane * self.count + self.start, self.element)

    def store(self, value: Value, to: Value) -> None:
        """Store what belongs to the new pixels."""
        with self.function.when(self.rest >= self.width):
            self.function.store(value, to)
        with self.function.when(self.rest < self.width):
            self.function.store_masked(value, to, self.mask)


def sample_function(name: str, element: str, *options: int) -> Function:
    """Return the function that samples images with two axes."""
    w = Writer(name, element, 3, options)
    f, (x, y) = w.function, w.arrays
    blocks = (w.count + (w.width - 1)) / w.width
    with f.loop(w.last, w.first) as unit:
        w.begin(unit.index / blocks, remainder(unit.index, blocks) * w.width)
        with f.loop(w.channels) as channel:
            source, total = w.image_of(x, channel.index), f.constant(0.0, w.vector)
            for number, weight, *_ in w.taps:
                total = fma(f.gather(source, number, element), weight, total)
            w.store(total, w.pixels_of(y, channel.index))
    return f


def pull_function(name: str, element: str, moves: int, *options: int) -> Function:
    """Return the function that adds cotangents to those of images, and writes those of the grid, if it `moves`
    them."""
    w = Writer(name, element, 5, options)
    f, (ct, x, image_ct, grid_ct) = w.function, w.arrays
    numbers, parts = (f.emit(f"alloca {t}, i64 4", PTR) for t in (Type("i64", w.width), w.vector))
    zero = f.constant(0.0, w.vector)
    with f.loop(w.last, w.first) as image, f.loop(w.count, step=w.width) as start:
        w.begin(image.index, start.index)
        for k, (number, *_) in enumerate(w.taps):
            f.store(number, numbers, k * w.width)
        with f.loop(w.channels, carry=[zero, zero]) as channel:
            given = f.load_masked(w.pixels_of(ct, channel.index), w.mask, w.vector)
            source, target = w.image_of(x, channel.index), w.image_of(image_ct, channel.index)
            changes = [zero, zero]
            for k, (number, weight, *slopes) in enumerate(w.taps):
                f.store(given * weight, parts, k * w.width)
                if moves:
                    entry = f.gather(source, number, element)
                    changes = [fma(entry, slope, change) for slope, change in zip(slopes, changes)]
                with f.loop(smaller(w.rest, w.width)) as lane:
                    at = f.load(numbers, I64, lane.index + k * w.width)
                    part = f.load(parts, Type(element), lane.index + k * w.width)
                    f.store(f.load(target, Type(element), at) + part, target, at)
            channel.update(*(fma(given, change, total) for change, total in zip(changes, channel.carry)))
        if moves:
            down, across = channel.carry[0] * w.down.slope, channel.carry[1] * w.across.slope
            to = f.place(grid_ct, (w.image * w.count + w.start) * 2, element)
            f.store_masked(f.interleave(across, down), to, f.lanes_below(w.rest * 2, 2 * w.width))
    return f


def find_options(
    x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool
) -> tuple[int, int, int] | None:
    """Return the options of functions for images and grids like these; None where there are none."""
    fits = x.ndim == 4 and x.dtype in ELEMENTS and grid.dtype is x.dtype and x.size and grid.size
    known = mode in TAPS and padding != "reflection" and engine.mode() != "never"
    if not (fits and known and x[0, 0].size < 1 << 31):
        return None
    return int(mode == "nearest"), int(padding == "border"), int(align)


def sampler(
    x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool
) -> Callable[..., list[np.ndarray] | None] | None:
    """Return the function of images and grids like these that gives the images at the places of the grid. It gives None
    where NumPy is to compute them, and so does this one."""
    options = find_options(x, grid, mode, padding, align)
    if options is None:
        return None
    dtype, shape, count = x.dtype, (*x.shape[:2], *grid.shape[1:3]), prod(grid.shape[1:3])
    units, size = len(x) * -(-count // lanes(ELEMENTS[dtype])), prod(shape) * TAPS[mode]

    def sample(x: np.ndarray, grid: np.ndarray) -> list[np.ndarray] | None:
        native = ask_kernel(COMPOSED_TIME + SAMPLE_TIME * size, sample_function, dtype, *options)
        if native is None or not are_rows(x, grid):
            return None
        y = allocate(shape, dtype)
        Crew(native, units, TAP_WORK * size)(0, units, *x.shape[1:], count, *map(id, (grid, x, y)))
        return [y]

    return sample


def pullback(
    x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool
) -> Callable[..., list[np.ndarray] | None] | None:
    """Return the function of (cotangent, images, grid) that gives the cotangents of both; without
    images (None) that of the grid is zeros. It gives None where NumPy is to compute them, and so does this one."""
    options = find_options(x, grid, mode, padding, align)
    if options is None:
        return None
    dtype, shape, count = x.dtype, x.shape, prod(grid.shape[1:3])
    size = prod(shape[:2]) * count * TAPS[mode]

    def pull(ct: np.ndarray, x: np.ndarray | None, grid: np.ndarray) -> list[np.ndarray] | None:
        moves = x is not None and not options[0]
        time = COMPOSED_TIME + 2 * SAMPLE_TIME * size
        native = ask_kernel(time, pull_function, dtype, int(moves), *options)
        x = grid if x is None else x
        if native is None or type(ct) is not np.ndarray or ct.dtype is not dtype or not are_rows(ct, x, grid):
            return None
        cts = np.zeros(shape, dtype), (np.empty if moves else np.zeros)(grid.shape, dtype)
        crew = Crew(native, len(ct), 2 * TAP_WORK * size)
        crew(0, len(ct), *shape[1:], count, *map(id, (grid, ct, x, *cts)))
        return [*cts]

    return pull
