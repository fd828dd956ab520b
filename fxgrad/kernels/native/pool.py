"""Pooling: the positions of the maxima of windows, gathers at these positions, and scatters to them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.costs import ENTRY_TIME, POOL_TIME, POOLED_ENTRIES, TAP_TIME
from ..memory import allocate, zeros
from ..windows import window_counts
from . import engine
from .correlation import lanes
from .ir import I32, I64, PTR, Function, Type, Value
from .kernel import ELEMENTS, ask_kernel
from .tables import address
from .threads import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = Sequence[int]


PLACES = [
    "first", "last", "height", "width", "rows", "columns",
    "row_taps", "column_taps", "row_step", "column_step", "row_low",
    "column_low", "row_dilation", "column_dilation", "x_image", "x_row",
]  # fmt: skip


def places_function(name: str, element: str, step: int, padded: int, least: int) -> Function:
    """Return the function that finds the places of the greatest (or least) entries of windows in images of contiguous
    rows; `step` is the distance of windows in a row if it is 1, and else 0; `padded` says whether windows reach over
    the edge."""
    width = lanes(element)
    type, index, numbers = Type(element, width), Type("i64", width), Type("i32", width)
    f = Function(name, [*[I64] * len(PLACES), PTR, PTR], "i32")
    a = dict(zip([*PLACES, "x", "y"], f.arguments))
    worst = float("inf") if least else -float("inf")
    with f.loop(a["last"], a["first"]) as image, f.loop(a["rows"]) as row:
        source = f.place(a["x"], image.index * a["x_image"], element)
        target = f.place(a["y"], (image.index * a["rows"] + row.index) * a["columns"], "i64")
        with f.loop(a["columns"], step=width) as column:
            inside = f.lanes_below(a["columns"] - column.index, width)
            lane = Value(f, f"<{', '.join(f'i64 {i}' for i in range(width))}>", index)
            first = (f.splat(column.index, width) + lane) * f.splat(a["column_step"], width)
            first = first - f.splat(a["column_low"], width)
            initial = [f.constant(worst, type), f.constant(-1, numbers)]
            with f.loop(a["row_taps"], carry=initial) as i:
                y = row.index * a["row_step"] + i.index * a["row_dilation"] - a["row_low"]
                exists = (y >= 0) & (y < a["height"])
                taps = exists.select(a["column_taps"], f.constant(0, I64))
                with f.loop(taps, carry=i.carry) as j:
                    begin = f.place(source, y * a["x_row"], element)
                    reach = j.index * a["column_dilation"]
                    places = first + f.splat(reach, width)
                    valid = inside
                    if padded:
                        valid = valid & (places >= 0) & (places < f.splat(a["width"], width))
                    if step == 1:
                        entry = f.load_masked(begin, valid, type, column.index + reach - a["column_low"])
                    else:
                        entry = f.gather(begin, places, element, valid)
                    best, place = j.carry
                    better = ~(entry >= best) if least else ~(entry <= best)
                    better = (better | (place < 0)) & (~best.is_nan() | (place < 0)) & valid
                    number = places + f.splat(y * a["width"], width)
                    j.update(
                        better.select(entry, best), better.select(f.cast("trunc", number, numbers), place)
                    )
                i.update(*j.carry)
            f.store_masked(f.cast("sext", i.carry[1], index), target, inside, column.index)
    f.return_value(f.constant(0, I32))
    return f


def pick_function(name: str, element: str) -> Function:
    """Return the function that reads the entries of images at places; places outside have none."""
    width = lanes(element)
    type = Type(element, width)
    f = Function(name, [I64, I64, I64, I64, PTR, PTR, PTR], "i32")
    first, last, size, count, x, places, y = f.arguments
    with f.loop(last, first) as image:
        source, target = (f.place(p, image.index * n, element) for p, n in ((x, size), (y, count)))
        here = f.place(places, image.index * count, "i64")
        with f.loop(count, step=width) as at:
            inside = f.lanes_below(count - at.index, width)
            index = f.load_masked(here, inside, type.of("i64"), at.index)
            known = inside & (index >= 0) & (index < f.splat(size, width))
            f.store_masked(f.gather(source, index, element, known), target, inside, at.index)
    f.return_value(f.constant(0, I32))
    return f


def deposit_function(name: str, element: str) -> Function:
    """Return the function that adds entries to those of images at places, in order; places outside are skipped."""
    number = Type(element)
    f = Function(name, [I64, I64, I64, I64, PTR, PTR, PTR], "i32")
    first, last, size, count, u, places, y = f.arguments
    with f.loop(last, first) as image:
        source, target = (f.place(p, image.index * n, element) for p, n in ((u, count), (y, size)))
        here = f.place(places, image.index * count, "i64")
        with f.loop(count) as at:
            place = f.load(here, I64, at.index)
            with f.when((place >= 0) & (place < size)):
                total = f.load(target, number, place) + f.load(source, number, at.index)
                f.store(total, target, place)
    f.return_value(f.constant(0, I32))
    return f


def is_for_native(x: Any, count: int) -> bool:
    """Whether native code is to compute so many results from x."""
    asked = engine.mode()
    return (
        x.dtype in ELEMENTS
        and bool(count)
        and (asked == "always" or (asked == "auto" and count >= POOLED_ENTRIES))
    )


def window_places(
    x: np.ndarray,
    sizes: Numbers,
    steps: Numbers,
    pads: Sequence[tuple[int, int]],
    dilations: Numbers,
    least: bool,
) -> np.ndarray | None:
    """Return the places of the best entries of windows along one or two axes, or None if NumPy is to find them."""
    rank = len(sizes)
    counts = window_counts(x.shape[x.ndim - rank :], sizes, steps, dilations, pads)
    lead, shape = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    if rank > 2 or not is_for_native(x, prod(lead) * prod(counts)) or not prod(shape) < 1 << 31:
        return None
    padded = any(
        (count - 1) * step + (size - 1) * d - low >= n or low > 0
        for n, count, size, step, (low, _), d in zip(shape, counts, sizes, steps, pads, dilations)
    )
    cost = POOL_TIME + TAP_TIME * prod(lead) * prod(counts) * prod(sizes)
    options = (steps[-1] == 1, padded, least)
    run = ask_kernel(cost, places_function, x.dtype, *map(int, options))
    if run is None:
        return None
    x = np.ascontiguousarray(x)
    y = allocate((*lead, *counts), np.int64)
    shape, counts, sizes, steps, dilations = (
        (*(1,) * (2 - rank), *v) for v in (shape, counts, sizes, steps, dilations)
    )
    lows = (*(0,) * (2 - rank), *(low for low, _ in pads))
    images, layout = prod(lead), (*shape, *counts, *sizes, *steps, *lows, *dilations, prod(shape), shape[1])
    Crew(run, images, cost / ENTRY_TIME)(0, images, *layout, address(x), address(y))
    return y


def share(run: Any, images: int, size: int, count: int, *arrays: np.ndarray) -> None:
    """Call a function of images of a size, and of as many places in each, on all cores."""
    effort = TAP_TIME * images * (size + count) / ENTRY_TIME
    Crew(run, images, effort)(0, images, size, count, *map(address, arrays))


def pick(x: np.ndarray, places: np.ndarray, rank: int) -> np.ndarray | None:
    """Return the entries of images at places, or None if NumPy is to read them."""
    if (
        not is_for_native(x, places.size)
        or (run := ask_kernel(POOL_TIME + TAP_TIME * places.size, pick_function, x.dtype)) is None
    ):
        return None
    lead = x.ndim - rank
    x, places = np.ascontiguousarray(x), np.ascontiguousarray(places, np.int64)
    y = allocate(places.shape, x.dtype)
    share(run, prod(x.shape[:lead]), prod(x.shape[lead:]), prod(places.shape[lead:]), x, places, y)
    return y


def deposit(u: np.ndarray, places: np.ndarray, shape: Numbers) -> np.ndarray | None:
    """Return zeros with entries added at their places in each image, or None if NumPy is to add them."""
    if (
        not is_for_native(u, places.size)
        or (run := ask_kernel(POOL_TIME + TAP_TIME * u.size, deposit_function, u.dtype)) is None
    ):
        return None
    lead = u.ndim - len(shape)
    u, places = np.ascontiguousarray(u), np.ascontiguousarray(places, np.int64)
    y = zeros((*u.shape[:lead], *shape), u.dtype)
    share(run, prod(u.shape[:lead]), prod(shape), prod(places.shape[lead:]), u, places, y)
    return y
