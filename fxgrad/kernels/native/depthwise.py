"""Correlations of each channel with a kernel of its own, where channels lie side by side in memory (channels last).

The lanes of a vector are channels. Images are copied into planes (`planes`) whose entries are vectors, so that whatever
a tap meets is one aligned vector; those of neighbouring channels are copied together, since they share lines of the
cache. Results are written as the images lie in memory. Units of work depend on shapes only.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.costs import (
    CONVOLUTION_TIME,
    LEAST_PLACES,
    PRODUCT_TIME,
    SHARED_UNITS,
    TOGETHER_ENTRIES,
)
from ..memory import allocate
from .correlation import each_unit, lanes, read_table, remainder, smaller, watch_finite
from .ir import I64, PTR, Function, Type, Value, fma
from .kernel import ELEMENTS, ask_kernel
from .planes import Geometry, Planes, grid, lay_out, lay_out_phases
from .tables import Plan, Table, elements, grid_of_taps, odd_lines
from .threads import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Sequence[int]

ALIGNMENT = 64
IMAGE = ["channels", "blocks", "together", "at_rows", "rows", "stride", "x_sample", "pitch", "scratch"]
WINDOWS = [*IMAGE, "phases", "at_phases", "step", "y_sample", "results_place"]
PHASE = ["at_offsets", "at_weights", "terms", "at_lines", "lines"]
TAPS = [
    *IMAGE, "samples", "parts", "at_offsets", "terms", "whole", "at_lines", "lines",
    "at_w_rows", "w_rows", "w_stride", "w_sample", "w_pitch", "w_place", "sums_place",
]  # fmt: skip


def is_depthwise(x: np.ndarray, w: np.ndarray, forward: bool) -> bool:
    """Whether each channel is alone in its group, or summed over samples only, and a vector of channels is a vector of
    memory."""
    alone = x.shape[2] if forward else x.shape[0]
    return (
        alone == w.shape[1] == 1
        and x.strides[1] == x.itemsize
        and x.shape[1] >= lanes(ELEMENTS[x.dtype])
        and all(s >= x.shape[1] * x.itemsize for s, n in zip(x.strides[3:], x.shape[3:]) if n > 1)
    )


def describe_image(x: np.ndarray, sample: int, planes: Planes, plane: int, width: int) -> dict[str, Any]:
    """Return the part of a table that says how images are copied into planes of vectors; `scratch` is the memory of the
    planes, in entries."""
    channels = x.shape[1]
    vectors, pitch = -(-channels // width), odd_lines(plane * width, x.itemsize)
    together = min(max(TOGETHER_ENTRIES // pitch, 1), vectors)
    return {
        "channels": channels, "blocks": -(-vectors // together), "together": together,
        "at_rows": planes.rows * np.array([1, width, 1]), "rows": len(planes.rows), "stride": planes.stride,
        "x_sample": sample, "pitch": pitch, "scratch": together * pitch,
    }  # fmt: skip


def plan_windows(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> Plan:
    """Plan the correlation of the images of single channels with small kernels."""
    sizes, strides, width, channels = w.shape[3:], elements(x), lanes(ELEMENTS[x.dtype]), x.shape[1]
    planes, phases = lay_out_phases(x.shape[3:], strides[3:], sizes, geometry)
    tile = min(range(7, 15), key=lambda n: (-(-planes.width // n) * (n + 1), -n))
    inner, size = [prod(sizes[i + 1 :]) for i in range(len(sizes))], prod(geometry.counts)
    described = []
    for phase in phases:
        lines = phase.lines * np.array([1, channels, 1])
        lines[:, 0] = planes.starts[lines[:, 0]] * width
        of_phase = {
            "at_offsets": phase.offsets * width,
            "at_weights": grid_of_taps(sizes, inner, phase.taps) * channels,
            "terms": len(phase.offsets), "at_lines": lines, "lines": len(lines),
        }  # fmt: skip
        described.append(Table(PHASE, of_phase))
    plane = max(planes.plane, planes.length + int(planes.offsets.max())) + tile
    table = describe_image(x, strides[0], planes, plane, width)
    table |= {
        "phases": len(phases), "at_phases": np.array([one.numbers for one in described], np.int64),
        "step": geometry.x_dilations[-1] * channels, "y_sample": channels * size, "results_place": table["scratch"],
        "scratch": (table["scratch"] + tile * width) * x.itemsize + ALIGNMENT,
    }  # fmt: skip
    found = Table(WINDOWS, table)
    found.kept["phases"] = described
    full = sum(int(phase.lines[:, 2].sum()) for phase in phases) == size
    return Plan(found, (tile,), len(x) * table["blocks"], (full,))


def correlate_windows(
    x: np.ndarray, w: np.ndarray, counts: Numbers, products: int, plan: Plan
) -> np.ndarray | None:
    """Correlate with small kernels; the result has channels last."""
    table, options, units, (full,) = plan
    run = ask_kernel(CONVOLUTION_TIME + PRODUCT_TIME * products, windows_function, x.dtype, *options)
    if run is None:
        return None
    weights = np.ascontiguousarray(w.reshape(len(w), -1).T)
    y = (allocate if full else np.zeros)((len(x), *counts, len(w), 1), x.dtype)
    crew = Crew(run, units, 4 * PRODUCT_TIME * products)
    if crew(0, units, table.address, id(x), id(weights), id(y)):
        return None
    rank = len(counts)
    return y.transpose(0, rank + 1, rank + 2, *range(1, rank + 1))


def plan_taps(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> Plan:
    """Plan the correlation with large kernels, of few results, summed over samples (the channels of x)."""
    sizes, strides, w_strides = w.shape[3:], elements(x), elements(w)
    width, (samples, channels) = lanes(ELEMENTS[x.dtype]), x.shape[2:0:-1]
    taps = [[k * s for k in range(count)] for count, s in zip(geometry.counts, geometry.steps)]
    lows = [low for low, _ in geometry.pads]
    planes = lay_out(x.shape[3:], strides[3:], sizes, geometry.w_dilations, lows, taps)
    terms = planes.offsets.size
    step = min(range(7, 13), key=lambda n: (-(-terms // n) * (n + 1), -n))
    whole = -(-terms // step) * step
    offsets = np.zeros(whole, np.int64)
    offsets[:terms] = planes.offsets.ravel() * width
    begins = grid(sizes[:-1], w_strides[3:])
    dense = np.arange(len(begins)) * sizes[-1] * width
    long = np.full(len(begins), sizes[-1])
    plane = max(planes.plane, planes.length + int(planes.offsets.max()))
    table = describe_image(x, strides[2], planes, plane, width)
    parts = max(min(-(-SHARED_UNITS // table["blocks"]), samples, samples * prod(sizes) // LEAST_PLACES), 1)
    w_pitch, memory = odd_lines(prod(sizes) * width, x.itemsize), table["scratch"]
    sums = memory + table["together"] * w_pitch
    table |= {
        "samples": samples, "parts": parts, "at_offsets": offsets, "terms": terms, "whole": whole,
        "at_lines": np.stack([planes.starts * width, dense, long], 1), "lines": len(begins),
        "at_w_rows": np.stack([begins, dense, long], 1), "w_rows": len(begins), "w_stride": w_strides[-1],
        "w_sample": w_strides[2], "w_pitch": w_pitch, "w_place": memory, "sums_place": sums,
        "scratch": (sums + table["together"] * whole * width) * x.itemsize + ALIGNMENT,
    }  # fmt: skip
    return Plan(Table(TAPS, table), (step,), parts * table["blocks"], (parts, terms, channels))


def correlate_taps(
    x: np.ndarray, w: np.ndarray, counts: Numbers, products: int, plan: Plan
) -> np.ndarray | None:
    """Correlate with large kernels, of few results."""
    table, options, units, shape = plan
    run = ask_kernel(CONVOLUTION_TIME + PRODUCT_TIME * products, taps_function, x.dtype, *options)
    if run is None:
        return None
    y = allocate(shape, x.dtype)
    if Crew(run, units, 4 * PRODUCT_TIME * products)(0, units, table.address, id(x), id(w), id(y)):
        return None
    total = y[0] if len(y) == 1 else y.sum(0)
    return np.ascontiguousarray(total.T).reshape(1, -1, 1, *counts)


def put_last(w: np.ndarray) -> np.ndarray:
    """Return an array whose first axis lies side by side in memory."""
    if w.strides[0] == w.itemsize:
        return w
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(w, 0, -1)), -1, 0)


class Block(NamedTuple):
    """The vectors of channels of a unit: the number of the first channel, and how many vectors; the last one ends with
    the channels, so some channels may be in two of them."""

    first: Value
    vectors: Value
    last: Value
    width: int

    def channel(self, number: Value) -> Value:
        """Return the first channel of a vector."""
        return smaller(self.first + number * self.width, self.last)


def find_block(a: dict[str, Value], number: Value, width: int) -> Block:
    """Return the vectors of the block of a number."""
    first = number * a["together"] * width
    vectors = smaller(a["together"], (a["channels"] - first + (width - 1)) / width)
    return Block(first, vectors, a["channels"] - width, width)


def copy_vectors(
    f: Function,
    vector: Type,
    block: Block,
    source: Value,
    planes: Value,
    pitch: Value,
    rows: Value,
    count: Value,
    stride: Value,
) -> None:
    """Copy the vectors of an image into their planes, row by row."""
    with f.loop(count) as row, f.loop(block.vectors) as k:
        begin, to, length = (f.load(rows, I64, row.index * 3 + j) for j in range(3))
        of = f.place(source, begin + block.channel(k.index), vector.element)
        into = f.place(planes, to + k.index * pitch, vector.element)
        with f.loop(length) as at:
            f.store(f.load(of, vector, at.index * stride), into, at.index * vector.width)


def align(f: Function, memory: Value) -> Value:
    """Return the first aligned place of memory."""
    number = f.cast("ptrtoint", memory, I64)
    return f.cast("inttoptr", (number + (ALIGNMENT - 1)) & -ALIGNMENT, PTR)


def windows_function(name: str, element: str, tile: int) -> Function:
    """Return the function that computes results from windows, `tile` vectors at a time. Its units are (a sample, a
    block of channels)."""
    width = lanes(element)
    vector = Type(element, width)
    with each_unit(name, WINDOWS) as (f, a, (x, weights, y), memory, status, unit):
        zero, planes = f.constant(0.0, vector), align(f, memory)
        sample, block = unit / a["blocks"], find_block(a, remainder(unit, a["blocks"]), width)
        source = f.place(x, sample * a["x_sample"], element)
        copy_vectors(
            f, vector, block, source, planes, *(a[n] for n in ("pitch", "at_rows", "rows", "stride"))
        )
        results = f.place(planes, a["results_place"], element)
        with f.loop(a["phases"]) as at_phase:
            phase = read_table(f, f.place(a["at_phases"], at_phase.index * len(PHASE), "i64"), PHASE)
            with f.loop(phase["lines"]) as line, f.loop(block.vectors) as one:
                of, to, long = (f.load(phase["at_lines"], I64, line.index * 3 + k) for k in range(3))
                channel = block.channel(one.index)
                windows = f.place(planes, one.index * a["pitch"] + of, element)
                kernel = f.place(weights, channel, element)
                to_line = f.place(y, sample * a["y_sample"] + to + channel, element)
                with f.loop(long, step=tile, carry=[zero]) as at:
                    here = f.place(windows, at.index * width, element)
                    into = f.place(to_line, at.index * a["step"], element)
                    with f.loop(phase["terms"], carry=[zero] * tile) as term:
                        entry = f.place(here, f.load(phase["at_offsets"], I64, term.index), element)
                        factor = f.load(kernel, vector, f.load(phase["at_weights"], I64, term.index))
                        met = [f.load(entry, vector, k * width) for k in range(tile)]
                        term.update(*(fma(factor, one, total) for one, total in zip(met, term.carry)))
                    (doubt,) = at.carry
                    for total in term.carry:
                        doubt = fma(total, 0.0, doubt)  # NaN where the total is not finite
                    at.update(doubt)
                    rest = long - at.index
                    with f.when(rest >= tile):
                        for k, total in enumerate(term.carry):
                            f.store(total, into, a["step"] * k)
                    with f.when(rest < tile):
                        for k, total in enumerate(term.carry):
                            f.store(total, results, k * width)
                        with f.loop(rest) as k:
                            f.store(f.load(results, vector, k.index * width), into, k.index * a["step"])
                watch_finite(f, status, at.carry)
    return f


def taps_function(name: str, element: str, step: int) -> Function:
    """Return the function that sums over the places of all samples, for `step` taps at a time. Its units are (a part of
    the samples, a block of channels), with results of their own."""
    width = lanes(element)
    vector = Type(element, width)
    with each_unit(name, TAPS) as (f, a, (x, w, y), memory, status, unit):
        zero, planes = f.constant(0.0, vector), align(f, memory)
        part, block = unit / a["blocks"], find_block(a, remainder(unit, a["blocks"]), width)
        w_planes, sums = (f.place(planes, a[n], element) for n in ("w_place", "sums_place"))
        with f.loop(block.vectors * a["whole"]) as tap:
            f.store(zero, sums, tap.index * width)
        begin, end = ((part + k) * a["samples"] / a["parts"] for k in range(2))
        with f.loop(end, start=begin) as sample:
            source = f.place(x, sample.index * a["x_sample"], element)
            copy_vectors(
                f, vector, block, source, planes, *(a[n] for n in ("pitch", "at_rows", "rows", "stride"))
            )
            source = f.place(w, sample.index * a["w_sample"], element)
            names = ("w_pitch", "at_w_rows", "w_rows", "w_stride")
            copy_vectors(f, vector, block, source, w_planes, *(a[n] for n in names))
            with f.loop(block.vectors) as one, f.loop(a["whole"], step=step) as tap:
                plane = f.place(planes, one.index * a["pitch"], element)
                factors = f.place(w_planes, one.index * a["w_pitch"], element)
                places = [
                    f.place(plane, f.load(a["at_offsets"], I64, tap.index + k), element) for k in range(step)
                ]
                with f.loop(a["lines"], carry=[zero] * step) as line:
                    of, begin_of, long = (f.load(a["at_lines"], I64, line.index * 3 + k) for k in range(3))
                    rows = [f.place(place, of, element) for place in places]
                    row = f.place(factors, begin_of, element)
                    with f.loop(long, carry=line.carry) as at:
                        factor = f.load(row, vector, at.index * width)
                        met = [f.load(entry, vector, at.index * width) for entry in rows]
                        at.update(*(fma(factor, entry, total) for entry, total in zip(met, at.carry)))
                    line.update(*at.carry)
                for k, total in enumerate(line.carry):
                    place = (one.index * a["whole"] + tap.index + k) * width
                    f.store(f.load(sums, vector, place) + total, sums, place)
        with f.loop(block.vectors) as one, f.loop(a["terms"]) as tap:
            total = f.load(sums, vector, (one.index * a["whole"] + tap.index) * width)
            watch_finite(f, status, [total])
            to = (part * a["terms"] + tap.index) * a["channels"] + block.channel(one.index)
            f.store(total, y, to)
    return f
