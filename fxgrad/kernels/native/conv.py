"""Correlations by machine code (`correlation`): how images are laid out, and work is shared among threads.

What can be said of operands of given shapes and strides is a `Plan`, which is kept. Units of work are the same for any
number of threads, and each has results of its own, so that results do not depend on it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.cache import Cache
from ...core.costs import (
    CONVOLUTION_TIME,
    LEAST_PLACES,
    LEAST_PRODUCTS,
    PANEL_ENTRIES,
    PLANE_ENTRIES,
    PRODUCT_TIME,
    SHARED_UNITS,
)
from ..memory import allocate
from . import depthwise, engine
from .correlation import (
    PHASE,
    TAPS,
    WINDOWS,
    lanes,
    pack_function,
    registers,
    taps_function,
    windows_function,
)
from .kernel import ELEMENTS, ask_kernel
from .planes import Geometry, Planes, grid, join_rows, lay_out, lay_out_phases
from .tables import Plan, Table, elements, grid_of_taps, odd_lines
from .threads import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Sequence[int]

_plans: Cache = Cache(512)  # shapes, strides and params → Plan


def correlate(
    x: np.ndarray,
    w: np.ndarray,
    counts: Numbers,
    steps: Numbers,
    pads: Sequence[tuple[int, int]],
    x_dilations: Numbers,
    w_dilations: Numbers,
) -> np.ndarray | None:
    """Return the correlation of images (batch, group, channel, *n) with kernels (group, feature, channel, *k), or None
    if NumPy is to compute it, because the correlation is small, of another dtype, or has numbers that are not
    finite."""
    mode = engine.mode()
    if mode == "never" or x.dtype is not w.dtype or x.dtype not in ELEMENTS:
        return None
    sizes = w.shape[3:]
    products = prod(x.shape[:3]) * w.shape[1] * prod(sizes) * prod(counts) // prod(x_dilations)
    if any(s % x.itemsize for s in (*x.strides, *w.strides)):
        return None
    forward = prod(counts) >= prod(sizes) or any(d > 1 for d in x_dilations)
    last = depthwise.is_depthwise(x, w, forward)
    if last and not forward:
        w = depthwise.put_last(w)
    if not last and x.shape[1] > 1 and abs(x.strides[-1]) > 2 * x.itemsize:
        x = np.ascontiguousarray(x)  # each group would be picked out of all lines
    geometry = Geometry(counts, steps, pads, x_dilations, w_dilations)
    key = (x.shape, x.strides, w.shape, w.strides, x.dtype.char, *map(tuple, geometry))
    make, run = WAYS[last, forward]
    plan = _plans.get(key)
    if plan is None:
        plan = _plans[key] = make(x, w, geometry)
    return run(x, w, counts, products, plan)


def choose_sets(
    samples: int,
    limit: int,
    channels: int,
    planes: Planes,
    tile: int,
    vector: int,
    work: float,
    ending: float = 0,
) -> tuple[int, bool]:
    """Return how many samples, up to a limit, are copied at a time, and whether their planes are packed: what takes the
    least time, if each place of a channel takes `work`, a fused multiplication and addition being 1, and each set of
    samples `ending`."""
    results, taps = len(planes.starts) * planes.width, planes.offsets.size
    copied = 5 * taps * len(planes.starts) * -(-planes.width // vector) * vector  # to pack a channel
    choices = []
    for packed in (False, True):
        span, length = (results, results) if packed else (planes.plane, planes.length)
        most = PANEL_ENTRIES // (channels * span * (taps if packed else 1))
        if packed and not most:
            continue
        most = max(min(most, limit, samples), 1)
        for together in range(max(most - 32, 1), most + 1):
            whole, rest = divmod(samples, together)
            ends = [(together - 1) * span + length] * bool(whole) + [(rest - 1) * span + length] * bool(rest)
            tiles = [-(-end // tile) for end in ends]
            entries = tile * (tiles[0] * max(whole, 1) + sum(tiles[1:]))
            sets = whole + bool(rest)
            choices.append((entries * work + packed * samples * copied + sets * ending, packed, together))
    _, packed, together = min(choices)
    return together, packed


def describe_image(
    shape: tuple[int, int, int],
    strides: Numbers,
    planes: Planes,
    together: int,
    packed: bool,
    tile: int,
    itemsize: int,
) -> dict[str, Any]:
    """Return the part of a table that says how images are copied; `scratch` are the entries of memory so far."""
    samples, groups, channels = shape
    taps, results = planes.offsets.size, len(planes.starts) * planes.width
    pitch, panel = (odd_lines(together * size, itemsize) for size in (planes.plane, results * packed))
    memory = channels * pitch + 2 * tile
    return {
        "samples": samples, "groups": groups, "channels": channels, "together": together,
        "at_rows": planes.rows, "rows": len(planes.rows), "stride": planes.stride, "plane": planes.plane,
        "pitch": pitch, "at_starts": planes.starts, "starts": len(planes.starts), "width": planes.width,
        "at_taps": planes.offsets.ravel(), "taps": taps, "panel": panel,
        "span": results if packed else planes.plane, "length": results if packed else planes.length,
        "x_sample": strides[0], "x_group": strides[1], "x_channel": strides[2],
        "panel_place": memory if packed else 0, "sets": -(-samples // together),
        "scratch": memory + (channels * taps * panel + 2 * tile) * packed,
    }  # fmt: skip


def spread_offsets(table: dict[str, Any], offsets: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """Return where each channel's entries at some of the taps, by their offsets, are read from."""
    size = table["pitch"]
    if table["panel"]:
        order = np.argsort(taps)
        offsets = order[np.searchsorted(taps, offsets, sorter=order)] * table["panel"]
        size = len(taps) * table["panel"]
    return (np.arange(table["channels"])[:, None] * size + offsets).reshape(-1)


def plan_windows(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> Plan:
    """Plan the correlation with small kernels."""
    (b, g, c), f, sizes = x.shape[:3], w.shape[1], w.shape[3:]
    strides, w_strides, vector = elements(x), elements(w), lanes(ELEMENTS[x.dtype])
    planes, phases = lay_out_phases(x.shape[3:], strides[3:], sizes, geometry)
    block, vectors = feature_block(f)
    tile, blocks = vectors * vector, -(-f // block)
    work = blocks * block * sum(len(phase.offsets) for phase in phases)
    together, packed = choose_sets(b, b * g // SHARED_UNITS, c, planes, tile, vector, work)
    table = describe_image((b, g, c), strides[:3], planes, together, packed, tile, x.itemsize)
    parts = max(min(-(-SHARED_UNITS // (table["sets"] * g)), f * planes.offsets.size // LEAST_PRODUCTS), 1)
    part_blocks = -(-blocks // parts)
    parts = -(-blocks // part_blocks)
    results = -(-((together - 1) * table["span"] + table["length"]) // tile) * tile
    described, weights, step, size = [], 0, geometry.x_dilations[-1], prod(geometry.counts)
    for phase in phases:
        inside = grid_of_taps(sizes, w_strides[3:], phase.taps)
        lines = phase.lines.copy()
        lines[:, 0] = lines[:, 0] * planes.width if packed else planes.starts[lines[:, 0]]
        lines = join_rows(lines, step)
        terms = c * len(phase.offsets)
        of_phase = {
            "at_offsets": spread_offsets(table, phase.offsets, planes.offsets.ravel()),
            "at_weights": (np.arange(c)[:, None] * w_strides[2] + inside).reshape(-1),
            "terms": terms, "weights": weights, "at_lines": lines, "lines": len(lines),
        }  # fmt: skip
        described.append(Table(PHASE, of_phase))
        weights += g * blocks * block * terms
    table |= {
        "parts": parts, "blocks": blocks, "part_blocks": part_blocks, "results": results,
        "results_place": table["scratch"],
        "scratch": (table["scratch"] + block * results) * x.itemsize,
        "phases": len(phases), "at_phases": np.array([one.numbers for one in described], np.int64), "step": step,
        "y_sample": g * f * size, "y_group": f * size, "y_feature": size,
        "w_group": w_strides[0], "w_feature": w_strides[1], "features": f,
    }  # fmt: skip
    found = Table(WINDOWS, table)
    found.kept["phases"] = described
    full = sum(int(phase.lines[:, 2].sum()) for phase in phases) == size
    return Plan(found, (block, vectors), table["sets"] * g * parts, (weights, f % block, full))


def correlate_windows(
    x: np.ndarray, w: np.ndarray, counts: Numbers, products: int, plan: Plan
) -> np.ndarray | None:
    """Correlate with small kernels."""
    table, (block, vectors), units, (weights, rest, full) = plan
    cost = CONVOLUTION_TIME + PRODUCT_TIME * products
    pack = ask_kernel(cost, pack_function, x.dtype, block)
    run = ask_kernel(cost, windows_function, x.dtype, block, vectors)
    if pack is None or run is None:
        return None
    shape = (*x.shape[:2], w.shape[1], *counts)
    packed = (np.zeros if rest else np.empty)(weights, x.dtype)
    pack(table.address, id(w), id(packed))
    y = allocate(shape, x.dtype) if full else np.zeros(shape, x.dtype)
    crew = Crew(run, units, 4 * PRODUCT_TIME * products)
    failed = crew(0, units, table.address, id(x), id(packed), id(y))
    return None if failed else y


def feature_block(features: int) -> tuple[int, int]:
    """Return how many features, and how many vectors of places, stay in registers."""
    choices = {8: 3, 4: 6, 2: 8, 1: 8} if registers() == 32 else {4: 3, 2: 5, 1: 8}
    return next((n, v) for n, v in choices.items() if n == 1 or features % n == 0 or features > 2 * n)


def plan_taps(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> Plan:
    """Plan the correlation with large kernels, of few results: the batch entries of x are the channels of images."""
    (c, g, n), f, sizes = x.shape[:3], w.shape[1], w.shape[3:]
    strides, w_strides, vector = elements(x), elements(w), lanes(ELEMENTS[x.dtype])
    taps = [[k * s for k in range(count)] for count, s in zip(geometry.counts, geometry.steps)]
    lows = [low for low, _ in geometry.pads]
    planes = lay_out(x.shape[3:], strides[3:], sizes, geometry.w_dilations, lows, taps)
    size = planes.offsets.size
    parts = max(min(-(-SHARED_UNITS // g), c * size // LEAST_PRODUCTS, c), 1)
    channels = -(-c // parts)
    parts, terms = -(-c // channels), channels * size
    samples = max(min(-(-SHARED_UNITS // (g * parts)), n * prod(sizes) // LEAST_PLACES), 1)
    block, step = tap_block(f, terms)
    work = -(-f // block) * block * size
    together, packed = choose_sets(n, -(-n // samples), channels, planes, vector, vector, work, 80 * work)
    table = describe_image(
        (n, g, channels), (strides[2], strides[1], strides[0]), planes, together, packed, vector, x.itemsize
    )
    samples = min(samples, table["sets"])
    whole, room = -(-terms // step) * step, -(-f // block) * block
    row = whole + (1 << (step - 1).bit_length()) - step
    offsets = np.zeros(whole, np.int64)
    offsets[:terms] = spread_offsets(table, planes.offsets.ravel(), planes.offsets.ravel())
    begins = grid(sizes[:-1], w_strides[3:])
    to = np.arange(len(begins)) * planes.width if packed else planes.starts
    w_rows = join_rows(np.stack([begins, to, np.full(len(begins), sizes[-1])], 1), w_strides[-1])
    w_plane = -(-((together - 1) * table["span"] + table["length"] + vector) // vector) * vector
    table |= {
        "parts": samples, "channel_parts": parts, "all_channels": c, "features": f, "room": room,
        "at_offsets": offsets, "terms": whole, "row": row,
        "at_w_rows": w_rows, "w_rows": len(w_rows), "w_stride": w_strides[-1], "w_plane": w_plane,
        "w_place": table["scratch"], "w_sample": w_strides[2], "w_group": w_strides[0], "w_feature": w_strides[1],
        "chunk": PLANE_ENTRIES // 4 if packed or size == 1 else PLANE_ENTRIES,
        "scratch": (table["scratch"] + room * w_plane + vector) * x.itemsize,
    }  # fmt: skip
    partial = (g, samples, parts, room, row)
    return Plan(Table(TAPS, table), (block, step), g * samples * parts, partial)


def correlate_taps(
    x: np.ndarray, w: np.ndarray, counts: Numbers, products: int, plan: Plan
) -> np.ndarray | None:
    """Correlate with large kernels, of few results."""
    table, options, units, shape = plan
    run = ask_kernel(CONVOLUTION_TIME + PRODUCT_TIME * products, taps_function, x.dtype, *options)
    if run is None:
        return None
    y = np.zeros(shape, x.dtype)
    if Crew(run, units, 4 * PRODUCT_TIME * products)(0, units, table.address, id(x), id(w), id(y)):
        return None
    c, g, f = x.shape[0], w.shape[0], w.shape[1]
    (_, samples, parts, *_), size = shape, prod(counts)
    y = y[:, 0] if samples == 1 else y.sum(1)  # group, part of the channels, feature, channel and tap
    channels = -(-c // parts)
    y = y[:, :, :f, : channels * size].reshape(g, parts, f, channels, size).transpose(1, 3, 0, 2, 4)
    return y.reshape(parts * channels, g, f, *counts)[:c]


def tap_block(features: int, terms: int) -> tuple[int, int]:
    """Return how many features and taps stay in registers."""
    choices = [(4, 6), (2, 12), (1, 12), (1, 9)] if registers() == 32 else [(2, 6), (3, 4), (1, 9), (1, 12)]
    # Vectors are loaded as fast as they are multiplied.
    return min(
        choices,
        key=lambda n: -(-features // n[0]) * -(-terms // n[1]) * max(n[0] * n[1], n[0] + n[1]),
    )


WAYS = {  # whether channels are last and alone, and whether kernels are small → how to plan and to carry out
    (False, True): (plan_windows, correlate_windows),
    (False, False): (plan_taps, correlate_taps),
    (True, True): (depthwise.plan_windows, depthwise.correlate_windows),
    (True, False): (depthwise.plan_taps, depthwise.correlate_taps),
}
