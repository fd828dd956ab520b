"""Kernels of windows that slide along the last axes: views, overlapping sums, extrema and their positions.

Along an axis of n entries, tap k of window o reads the entry o·step + k·dilation − low, where `low` is the padding at
the front.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.costs import INDEXED_ENTRIES
from ..core.errors import UnsupportedError
from .registry import native_function
from .selection import combine_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Pads = Sequence[tuple[int, int]]


def window_counts(
    shape: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
    dilations: Sequence[int],
    pads: Pads | None = None,
) -> tuple[int, ...]:
    """Return how many windows fit along each axis."""
    extents = shape if pads is None else [n + low + high for n, (low, high) in zip(shape, pads)]
    return tuple(
        max(n - (size - 1) * dilation - 1, -step) // step + 1
        for n, size, step, dilation in zip(extents, sizes, steps, dilations)
    )


def windows_kernel(xp: Any) -> Callable[..., Any]:
    def gather_windows(x: Any, *, sizes: Any, steps: Any, dilations: Any) -> Any:
        lead = x.ndim - len(sizes)
        counts = window_counts(x.shape[lead:], sizes, steps, dilations)
        for i, (size, step, dilation, count) in enumerate(zip(sizes, steps, dilations, counts)):
            places = xp.arange(size)[:, None] * dilation + xp.arange(count)[None, :] * step
            x = xp.take(x, xp.reshape(places, (-1,)), axis=lead + i)
        x = xp.reshape(x, (*x.shape[:lead], *itertools.chain(*zip(sizes, counts))))
        k = len(sizes)
        return xp.permute_dims(
            x, (*range(lead), *range(lead, lead + 2 * k, 2), *range(lead + 1, lead + 2 * k, 2))
        )

    def view_windows(x: Any, *, sizes: Any, steps: Any, dilations: Any) -> Any:
        lead = x.ndim - len(sizes)
        counts = window_counts(x.shape[lead:], sizes, steps, dilations)
        strides = x.strides[lead:]
        return np.lib.stride_tricks.as_strided(
            x,
            (*x.shape[:lead], *sizes, *counts),
            (
                *x.strides[:lead],
                *(s * d for s, d in zip(strides, dilations)),
                *(s * t for s, t in zip(strides, steps)),
            ),
            writeable=False,
        )

    return view_windows if xp is np else gather_windows


def col2im_kernel(xp: Any) -> Callable[..., Any]:
    def col2im(u: Any, *, shape: Any, steps: Any, dilations: Any) -> Any:
        """Accumulate tap by tap, or window by window if there are fewer windows."""
        k = len(shape)
        lead = u.ndim - 2 * k
        sizes, counts = u.shape[lead : lead + k], u.shape[lead + k :]
        if 0 in counts or 0 in sizes:
            return xp.zeros((*u.shape[:lead], *shape), dtype=u.dtype)
        by_tap = prod(sizes) <= prod(counts)
        fixed, moving = (sizes, counts) if by_tap else (counts, sizes)
        start, stride = (dilations, steps) if by_tap else (steps, dilations)
        out = xp.zeros((*u.shape[:lead], *shape), dtype=u.dtype)
        every = (slice(None),) * k
        disjoint = all((n - 1) * d < s for n, d, s in zip(sizes, dilations, steps))
        for place in itertools.product(*map(range, fixed)):
            at = tuple(
                slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, start, moving, stride)
            )
            part = u[(..., *place, *every)] if by_tap else u[(..., *every, *place)]
            if disjoint:
                out[(..., *at)] = part
            else:
                out[(..., *at)] += part
        return out

    return col2im


# -- one axis after the other -----------------------------------------------------------------------------------------


def tap_slices(n: int, count: int, step: int, start: int) -> tuple[slice, slice]:
    """Return slices (windows, entries) for one tap, at which window o takes the entry start + o·step: those of `count`
    windows for which this is one of the n entries, and these entries."""
    first = max(-(start // step), 0)
    stop = max(min((n - 1 - start) // step + 1, count), first)
    begin = first * step + start
    return slice(first, stop), slice(begin, begin + max((stop - first - 1) * step + 1, 0), step)


@lru_cache(64)
def each_axis(
    lead: int, shape: Sequence[int], sizes: Any, steps: Any, pads: Pads, dilations: Any
) -> list[tuple[int, tuple[slice, ...], int, list[tuple[slice, slice]]]]:
    """Return for each spatial axis: its number, an index of all later axes, the number of windows along it, and for
    each tap the windows with an entry and the entries."""
    counts = window_counts(shape, sizes, steps, dilations, pads)
    return [
        (
            lead + i,
            (slice(None),) * (len(shape) - 1 - i),
            count,
            [tap_slices(n, count, step, k * dilation - low) for k in range(size)],
        )
        for i, (n, count, size, step, (low, _), dilation) in enumerate(
            zip(shape, counts, sizes, steps, pads, dilations)
        )
    ]


def fold_taps(
    xp: Any,
    x: Any,
    combine: Callable[..., Any],
    start: Any,
    sizes: Any,
    steps: Any,
    pads: Pads,
    dilations: Any,
) -> Any:
    """Combine the entries of each window, beginning with `start`, axis by axis, so that there are as many passes as the
    sum of the sizes."""
    lead, given = x.ndim - len(sizes), x
    for axis, after, count, taps in each_axis(lead, x.shape[lead:], sizes, steps, pads, dilations):
        inside = [(to, of) for to, of in taps if to.stop > to.start]
        whole = [k for k, (to, _) in enumerate(inside) if to == slice(0, count)]
        if inside == [(slice(0, count), slice(0, x.shape[axis], 1))]:
            continue
        if len(whole) > 1:
            (_, a), (_, b) = inside[whole[0]], inside[whole[1]]
            total = combine(x[(..., a, *after)], x[(..., b, *after)])
            del inside[whole[1]], inside[whole[0]]
        elif whole:
            total = xp.asarray(x[(..., inside.pop(whole[0])[1], *after)], copy=True)
        else:
            total = xp.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), start, dtype=x.dtype)
        for to, of in inside:
            part = total[(..., to, *after)]
            if xp is np:
                combine(part, x[(..., of, *after)], out=part)
            else:
                total[(..., to, *after)] = combine(part, x[(..., of, *after)])
        x = total
    return xp.asarray(x, copy=True) if x is given else x


def window_sum_kernel(xp: Any) -> Callable[..., Any]:
    def window_sum(x: Any, *, sizes: Any, steps: Any, pads: Any, dilations: Any) -> Any:
        return fold_taps(xp, x, xp.add, 0, sizes, steps, pads, dilations)

    return window_sum


def spread_windows_kernel(xp: Any) -> Callable[..., Any]:
    def spread_windows(u: Any, *, shape: Any, sizes: Any, steps: Any, pads: Any, dilations: Any) -> Any:
        """Add each number to all entries of its window, along the last axis first."""
        lead = u.ndim - len(shape)
        axes = each_axis(lead, shape, sizes, steps, pads, dilations)
        for (axis, after, _, taps), n, size, step, dilation in reversed(
            [*zip(axes, shape, sizes, steps, dilations)]
        ):
            out = xp.zeros((*u.shape[:axis], n, *u.shape[axis + 1 :]), dtype=u.dtype)
            for to, of in taps:
                if (size - 1) * dilation < step:
                    out[(..., of, *after)] = u[(..., to, *after)]
                else:
                    out[(..., of, *after)] += u[(..., to, *after)]
            u = out
        return u

    return spread_windows


def window_extremum_kernel(name: str, least: bool) -> Callable[..., Any]:
    """Return the factory of the kernels of the greatest or `least` entry of each window, by the function `name`;
    NaN, if there is one, is both."""

    def make_kernel(xp: Any) -> Callable[..., Any]:
        def window_extremum(x: Any, *, sizes: Any, steps: Any, pads: Any, dilations: Any) -> Any:
            start = worst_value(x.dtype, least)
            return fold_taps(xp, x, getattr(xp, name), start, sizes, steps, pads, dilations)

        return window_extremum

    return make_kernel


def worst_value(dtype: Any, least: bool) -> Any:
    """Return the value that no entry of a dtype is worse than, in a search for the greatest, or the `least`, entry."""
    kind = getattr(dtype, "kind", "f")
    if kind == "b":
        return least
    if kind in "iu":
        return getattr(np.iinfo(dtype), "max" if least else "min")
    return np.inf if least else -np.inf


def place_table(
    xp: Any,
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
    pads: Any,
    dilations: tuple[int, ...],
) -> Any:
    """Return the places in a flattened image of the taps of windows, as (taps and one, windows): −1 where there is
    none, as in all of the last row."""
    rank, counts = len(shape), window_counts(shape, sizes, steps, dilations, pads)
    places, outside = xp.zeros((), dtype=xp.int64), xp.zeros((), dtype=xp.bool)
    for i, (n, size, step, (low, _), d, count) in enumerate(
        zip(shape, sizes, steps, pads, dilations, counts)
    ):
        entries = xp.arange(size)[:, None] * d + xp.arange(count)[None, :] * step - low
        axes = [size if k == i else count if k == rank + i else 1 for k in range(2 * rank)]
        entries = xp.reshape(entries, tuple(axes))
        places, outside = places * n + entries, outside | (entries < 0) | (entries >= n)
    known = xp.reshape(xp.where(outside, -1, places), (prod(sizes), prod(counts)))
    return xp.concat([known, xp.full((1, prod(counts)), -1)])


@lru_cache(16)
def numpy_table(*window: Any) -> np.ndarray:
    """Return the table in NumPy's memory, which is kept."""
    return place_table(np, *window)


def inside(pads: Pads) -> list[slice]:
    """Return the slices that negative pads leave."""
    return [slice(max(-low, 0), high if high < 0 else None) for low, high in pads]


def window_places_kernel(xp: Any) -> Callable[..., Any]:
    windows = windows_kernel(xp)

    def window_places(x: Any, *, sizes: Any, steps: Any, pads: Any, dilations: Any, least: bool) -> Any:
        """Compare the entries of all windows at one tap after the other with the best, the last tap first."""
        if xp is np:
            found = native_function("pool.window_places")(x, sizes, steps, pads, dilations, least)
            if found is not None:
                return found
        lead, taps = x.ndim - len(sizes), prod(sizes)
        shape = x.shape[lead:]
        window = shape, sizes, steps, pads, dilations
        table = numpy_table(*window) if xp is np else place_table(xp, *window)
        if (
            xp is np
            and table.size * prod(x.shape[:lead]) < INDEXED_ENTRIES
            and table[:-1].min(initial=0) >= 0
        ):
            view = windows(x[(..., *inside(pads))], sizes=sizes, steps=steps, dilations=dilations)
            number = (np.argmin if least else np.argmax)(
                view.reshape(*x.shape[:lead], *table[:-1].shape), axis=lead
            )
            return table[number, np.arange(table.shape[1])].reshape(*x.shape[:lead], *view.shape[x.ndim :])
        combine, start = xp.minimum if least else xp.maximum, worst_value(x.dtype, least)
        best = fold_taps(xp, x, combine, start, sizes, steps, pads, dilations)
        has_nan = xp is not np or bool(np.any(best != best))  # a device is not asked
        number = xp.full(best.shape, taps, dtype=xp.uint8 if taps < 256 else xp.int64)
        every = itertools.product(*(one[3] for one in each_axis(lead, shape, sizes, steps, pads, dilations)))
        for k, slices in reversed([*enumerate(every)]):
            to, of = zip(*slices)
            tap, here = x[(..., *of)], number[(..., *to)]
            hit = tap == best[(..., *to)]
            if has_nan:
                hit = xp.logical_or(hit, tap != tap)
            if xp is np:  # here = k where hit, without a branch: unsigned numbers wrap around
                here += hit * (number.dtype.type(k) - here)
            else:
                number[(..., *to)] = xp.where(hit, xp.full((), k, dtype=number.dtype), here)
        columns = xp.reshape(xp.arange(table.shape[1]), best.shape[lead:])
        flat = xp.astype(number, xp.int64) * table.shape[1] + columns
        return xp.reshape(xp.take(xp.reshape(table, (-1,)), xp.reshape(flat, (-1,)), axis=0), best.shape)

    return window_places


def pick_kernel(xp: Any) -> Callable[..., Any]:
    def pick(x: Any, places: Any, *, rank: int) -> Any:
        if xp is np:
            found = native_function("pool.pick")(x, places, rank)
            if found is not None:
                return found
        flat, flat_places, absent = flatten_places(xp, x.shape, places, rank)
        if not flat:
            return xp.zeros(places.shape, dtype=x.dtype)
        y = xp.reshape(xp.take(xp.reshape(x, (-1,)), flat_places, axis=0), places.shape)
        return y if absent is None else xp.where(absent, xp.zeros((), dtype=x.dtype), y)

    return pick


def deposit_kernel(xp: Any) -> Callable[..., Any]:
    if not hasattr(xp.add, "at"):
        raise UnsupportedError(
            f"deposit has no kernel for {xp.__name__}",
            hint="fx.device_get(x), NumPy's array, in which it is computed",
        )

    def deposit(u: Any, places: Any, *, shape: Any) -> Any:
        if xp is np:
            found = native_function("pool.deposit")(u, places, shape)
            if found is not None:
                return found
        whole = (*u.shape[: u.ndim - len(shape)], *shape)
        flat, flat_places, absent = flatten_places(xp, whole, places, len(shape))
        if not flat:
            return xp.zeros(whole, dtype=u.dtype)
        if absent is not None:
            u = xp.where(absent, xp.zeros((), dtype=u.dtype), u)
        u = xp.reshape(u, (-1,))
        if xp is np:
            out = combine_at("add", lambda: np.zeros(prod(whole), u.dtype), (flat_places,), u)
        else:
            out = xp.zeros((prod(whole),), dtype=u.dtype)
            xp.add.at(out, flat_places, u)
        return xp.reshape(out, whole)

    return deposit


def flatten_places(xp: Any, shape: Any, places: Any, rank: int) -> tuple[bool, Any, Any]:
    """Return (whether there are entries, the places in all images flattened to one row, a mask of the places that lie
    outside of their image). The mask is None if NumPy finds no such place."""
    lead, size = shape[: len(shape) - rank], prod(shape[len(shape) - rank :])
    first = xp.reshape(xp.arange(prod(lead)) * size, (*lead, *(1,) * rank))
    absent = xp.logical_or(places < 0, places >= size)
    absent = None if xp is np and not np.any(absent) else absent
    known = places if absent is None else xp.where(absent, xp.zeros((), dtype=places.dtype), places)
    return bool(size and prod(lead)), xp.reshape(known + first, (-1,)), absent
