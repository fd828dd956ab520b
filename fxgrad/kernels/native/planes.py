"""How images lie in memory while machine code correlates them.

Images are copied into zero-padded planes, some samples at a time. In a plane, the entries that one tap of the kernel
reads for all results are the places of these results, shifted by an offset. So results are computed as if the images
were one row; results of windows across the edge of a row are computed too, and ignored. One kernel therefore serves
images and windows of any shape and number of axes. If windows step by more than one entry, a plane has one part for
each place within a step. If an input has zeros between its entries, results at the same distance from an entry are a
*phase*: they have taps of their own.

Where too many results would be ignored, as in small images, the entries of each tap are copied once more, without those
between the rows: the planes are *packed*.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..convolution import phases
from ..windows import tap_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Numbers = Sequence[int]


class Geometry(NamedTuple):
    """What is said of each axis of a correlation: how many results there are, by how many entries they step, the zeros
    before and after the image, and how far apart the entries of the image and of the kernel are."""

    counts: Numbers
    steps: Numbers
    pads: Sequence[tuple[int, int]]
    x_dilations: Numbers
    w_dilations: Numbers


class Planes(NamedTuple):
    """`rows` are (where it begins in the image, in the plane, how long it is), of which the entries of the image are
    `stride` apart; `plane` is the size of a channel; result number o is at starts[o over all axes but the last] +
    o[-1], of which there are `width`; `length` is where the last one ends, and what it meets at a tap `offsets`, which
    have an axis for each of the image, further."""

    rows: np.ndarray
    stride: int
    plane: int
    starts: np.ndarray
    width: int
    length: int
    offsets: np.ndarray


class Phase(NamedTuple):
    """Results of one phase: `taps` index the axes of a kernel, `offsets` are where they are in a plane, and `lines` are
    (line of results, where it begins in the result, how many)."""

    taps: tuple[slice, ...]
    offsets: np.ndarray
    lines: np.ndarray


def lay_out(
    shape: Numbers, strides: Numbers, counts: Numbers, steps: Numbers, lows: Numbers, taps: Sequence[Numbers]
) -> Planes:
    """Return the Planes for images of a shape and strides; along an axis, result o meets at the tap p the entry
    o·step + p − low."""
    rank = len(shape)
    # Along each axis, a part has room for all windows; there is one for each place within a step at which there are
    # taps.
    lengths = [count + max(own) // s for count, own, s in zip(counts, taps, steps)]
    residues = [sorted({p % s for p in own}) for own, s in zip(taps, steps)]
    # Zeros after a row are those before the next one.
    shared = max(min(lows[-1], lengths[-1] - lows[-1] - shape[-1]), 0) if steps[-1] == 1 and rank > 1 else 0
    pitches = [prod(lengths[i + 1 : -1]) * (lengths[-1] - shared) for i in range(rank - 1)] + [1]
    part = prod(lengths[:-1]) * (lengths[-1] - shared) + shared  # the size of a part of a plane
    leaps = [part * prod(map(len, residues[i + 1 :])) for i in range(rank)]

    def runs(i: int) -> Iterator[tuple[int, int, int]]:
        """Return for each part along an axis the start of its entries in the image and in the plane, and its length."""
        for j, r in enumerate(residues[i]):
            to, of = tap_slices(shape[i], lengths[i], steps[i], r - lows[i])
            yield of.start * strides[i], j * leaps[i] + to.start * pitches[i], to.stop - to.start

    begins = np.zeros((1, 2), np.int64)
    for i in range(rank - 1):
        apart = np.array([steps[i] * strides[i], pitches[i]])
        own = [(image, place) + np.arange(count)[:, None] * apart for image, place, count in runs(i)]
        begins = (begins[:, None] + np.concatenate(own)).reshape(-1, 2)
    rows = [np.zeros((0, 3), np.int64)]
    for image, place, count in runs(rank - 1):
        if count:
            rows.append(np.insert(begins + np.array([image, place]), 2, count, axis=1))
    offsets = np.zeros((1,) * rank, np.int64)
    for i, (own, s, kinds, leap, pitch) in enumerate(zip(taps, steps, residues, leaps, pitches)):
        reach = np.array(own, np.int64)
        places = (
            np.array([kinds.index(r) for r in (reach % s).tolist()], np.int64) * leap + reach // s * pitch
        )
        offsets = offsets + places.reshape([-1 if k == i else 1 for k in range(rank)])
    stride = strides[-1] * steps[-1]
    return Planes(
        join_rows(np.concatenate(rows), stride),
        stride,
        part * prod(map(len, residues)),
        grid(counts[:-1], pitches),
        counts[-1],
        int(sum((count - 1) * pitch for count, pitch in zip(counts, pitches))) + 1,
        offsets,
    )


def grid(counts: Numbers, pitches: Numbers) -> np.ndarray:
    """Return where the entries of an array of these counts are that are so far apart."""
    places = np.zeros(1, np.int64)
    for count, pitch in zip(counts, pitches):
        places = (places[:, None] + np.arange(count) * pitch).reshape(-1)
    return places


def join_rows(rows: np.ndarray, stride: int) -> np.ndarray:
    """Return rows (from, to, length) by their place, of which those that follow each other at both ends are one."""
    rows = rows[np.argsort(rows[:, 1], kind="stable")]
    if stride != 1 or len(rows) < 2:
        return rows
    ends = rows[:-1, :2] + rows[:-1, 2:]
    first = np.concatenate([[0], 1 + np.flatnonzero((rows[1:, :2] != ends).any(1))])
    return np.concatenate([rows[first, :2], np.add.reduceat(rows[:, 2:], first)], 1)


def lay_out_phases(
    shape: Numbers, strides: Numbers, sizes: Numbers, geometry: Geometry
) -> tuple[Planes, list[Phase]]:
    """Return the Planes of a correlation, and the phases of its results, which are densely in memory; along no axis are
    there both steps and zeros between entries."""
    counts, steps, pads, x_dilations, w_dilations = geometry
    axes = [
        phases(n, k, count, pad, d, e) if d > 1 else [(slice(0, count, 1), slice(0, k), (pad[0], 0), e)]
        for n, k, count, pad, d, e in zip(shape, sizes, counts, pads, x_dilations, w_dilations)
    ]
    reach = [
        [[j * e - low for j in range(len(range(k)[taps]))] for _, taps, (low, _), e in own]
        for own, k in zip(axes, sizes)
    ]
    places = [sorted({p for one in own for p in one}) or [0] for own in reach]
    lows = [-own[0] for own in places]
    most = [max([len(range(count)[to]) for to, *_ in own], default=1) for own, count in zip(axes, counts)]
    taps = [[p + low for p in own] for own, low in zip(places, lows)]
    planes = lay_out(shape, strides, most, steps, lows, taps)
    pitches, found = [prod(counts[i + 1 :]) for i in range(len(counts))], []
    for chosen in product(*(zip(own, there) for own, there in zip(axes, reach))):
        which = [[own.index(p) for p in there] for own, (_, there) in zip(places, chosen)]
        to = [range(count)[own[0]] for count, (own, _) in zip(counts, chosen)]
        line = grid([len(own) for own in to[:-1]], [prod(most[i + 1 : -1]) for i in range(len(most) - 1)])
        begin = sum(own.start * pitch for own, pitch in zip(to, pitches))
        begins = begin + grid(
            [len(own) for own in to[:-1]], [own.step * pitch for own, pitch in zip(to, pitches)]
        )
        lines = np.stack([line, begins, np.full(len(line), len(to[-1]))], 1)
        found.append(Phase(tuple(own[1] for own, _ in chosen), planes.offsets[np.ix_(*which)].ravel(), lines))
    return planes, found
