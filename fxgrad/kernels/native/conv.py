"""Correlations as loops over windows, which are not copied in memory.

Images are copied into zero-padded planes, one sample at a time. In a plane, the entries that one tap of the kernel
reads for all results are the places of these results, shifted by an offset. So results are computed as if the image
were one row; results of windows across the edge of a row are computed too, and ignored. One kernel therefore serves
images and windows of any shape and number of axes. If windows step by more than one entry, a plane has one part for
each place within a step.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.cache import Cache
from ...core.costs import CONVOLVED_PRODUCTS, PLANE_ENTRIES, PRODUCT_TIME
from ..memory import allocate
from ..windows import tap_slices
from . import engine
from .ir import I64, PTR, Function, Type, Value, fma
from .kernel import ELEMENTS, ask_kernel
from .threads import share_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Numbers = Sequence[int]

EXPONENT = {"float": 0x7F800000, "double": 0x7FF0000000000000}  # all set in what is not finite
_planes: Cache = Cache(256)  # geometry → Planes


# -- planes -----------------------------------------------------------------------------------------------------------
class Planes(NamedTuple):
    """How images lie in memory, by entries: `rows` are (where it begins in the image, in the plane, how long it is),
    of which the entries of the image are `stride` apart; `plane` is the size of a channel; result number o is at
    starts[o over all axes but the last] + o[-1], `length` is where the last one ends, and what it meets at a tap
    `offsets` further."""

    rows: np.ndarray
    stride: int
    plane: int
    starts: np.ndarray
    length: int
    offsets: np.ndarray


def lay_out(
    shape: Numbers,
    strides: Numbers,
    counts: Numbers,
    sizes: Numbers,
    steps: Numbers,
    lows: Numbers,
    dilations: Numbers,
) -> Planes:
    """Return the Planes for images of a shape and strides; result o meets at tap k the entry o·step + k·dilation −
    low."""
    key = (*shape, *strides, *counts, *sizes, *steps, *lows, *dilations)
    found = _planes.get(key)
    if found is None:
        found = _planes[key] = make_planes(shape, strides, counts, sizes, steps, lows, dilations)
    return found


def make_planes(
    shape: Numbers,
    strides: Numbers,
    counts: Numbers,
    sizes: Numbers,
    steps: Numbers,
    lows: Numbers,
    dilations: Numbers,
) -> Planes:
    """Make the Planes that `lay_out` remembers."""
    rank = len(shape)
    # Along each axis, a part has room for all windows; there is one for each place within a step at which there are
    # taps.
    lengths = [count + (k - 1) * d // s for count, k, s, d in zip(counts, sizes, steps, dilations)]
    residues = [sorted({k * d % s for k in range(size)}) for size, s, d in zip(sizes, steps, dilations)]
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
    offsets = np.zeros(1, np.int64)
    for size, s, d, kinds, leap, pitch in zip(sizes, steps, dilations, residues, leaps, pitches):
        reach = np.arange(size) * d
        own = np.array([kinds.index(r) for r in (reach % s).tolist()], np.int64) * leap + reach // s * pitch
        offsets = (offsets[:, None] + own).reshape(-1)
    starts = np.zeros(1, np.int64)
    for count, pitch in zip(counts[:-1], pitches):
        starts = (starts[:, None] + np.arange(count) * pitch).reshape(-1)
    return Planes(
        np.concatenate(rows),
        strides[-1] * steps[-1],
        part * prod(map(len, residues)),
        starts,
        int(sum((count - 1) * pitch for count, pitch in zip(counts, pitches))) + 1,
        offsets,
    )


# -- code -------------------------------------------------------------------------------------------------------------
def copy_rows(
    function: Function, element: str, source: Value, target: Value, count: Value, rows: Value, stride: Value
) -> None:
    """Copy rows of an image into its plane."""
    number, width = Type(element), lanes(element)
    vector = Type(element, width)
    with function.loop(count) as row:
        place = row.index * 3
        begin, to, length = (function.load(rows, I64, place + k) for k in range(3))
        of, into = function.place(source, begin, element), function.place(target, to, element)
        with function.when(stride.equals(1)):
            copy_row(function, vector, of, into, length)
        with function.when(~stride.equals(1)), function.loop(length) as entry:
            function.store(function.load(of, number, entry.index * stride), into, entry.index)


def copy_row(
    function: Function,
    type: Type,
    source: Value,
    target: Value,
    length: Value,
    seen: Callable[[Value], None] | None = None,
) -> None:
    """Copy consecutive entries, and show them to `seen`."""
    whole = length & -type.width
    with function.loop(whole, step=type.width) as at:
        value = function.load(source, type, at.index)
        if seen is not None:
            seen(value)
        function.store(value, target, at.index)
    rest = length - whole
    with function.when(rest > 0):
        mask = function.lanes_below(rest, type.width)
        value = function.load_masked(source, mask, type, whole)
        if seen is not None:
            seen(value)
        function.store_masked(value, target, mask, whole)


def watch_finite(function: Function, status: Value) -> Callable[[Value], None]:
    """Return a function of values that sets bits of the 64 bytes at `status` where one is not finite."""

    def see(value: Value) -> None:
        bits = value.bits_as(value.type.integer.element)
        exponent = EXPONENT[value.type.element]
        hit = function.cast("sext", (bits & exponent).equals(exponent), value.type.integer)
        function.store(function.load(status, value.type.integer) | hit, status)

    return see


def lanes(element: str) -> int:
    return engine.vector_bytes() * 8 // Type(element).bits


def registers() -> int:
    """How many vectors the processor keeps at hand."""
    return 16 if engine.vector_bytes() == 32 else 32


def smaller(a: Value, b: Value | int) -> Value:
    return (a < b).select(a, b)


WINDOWS = [
    "samples", "groups", "channels", "rows", "stride", "plane", "taps", "features",
    "tiles", "lines", "width",
]  # fmt: skip
WINDOW_STRIDES = ["x_sample", "x_group", "x_channel", "y_sample", "y_group", "y_feature"]


def windows_function(name: str, element: str, block: int, vectors: int) -> Function:
    """Return the function that computes results from windows: `block` features at `vectors` vectors of places at a
    time stay in registers over the loop of channels and taps. Weights are packed as [group][block][channel,
    tap][feature]."""
    width = lanes(element)
    tile, vector, number = vectors * width, Type(element, width), Type(element)
    pointers = ["x", "row_table", "planes", "offsets", "weights", "tmp", "starts", "y", "status"]
    count = len(WINDOWS) + len(WINDOW_STRIDES)
    f = Function(name, [*[I64] * count, *[PTR] * len(pointers)])
    a = dict(zip([*WINDOWS, *WINDOW_STRIDES, *pointers], f.arguments))
    see = watch_finite(f, a["status"])
    blocks = (a["features"] + (block - 1)) / block
    with f.loop(a["samples"]) as sample, f.loop(a["groups"]) as group:
        x = f.place(a["x"], sample.index * a["x_sample"] + group.index * a["x_group"], element)
        y = f.place(a["y"], sample.index * a["y_sample"] + group.index * a["y_group"], element)
        with f.loop(a["channels"]) as channel:
            source = f.place(x, channel.index * a["x_channel"], element)
            target = f.place(a["planes"], channel.index * a["plane"], element)
            copy_rows(f, element, source, target, a["rows"], a["row_table"], a["stride"])
        with f.loop(blocks) as part:
            w = f.place(a["weights"], (group.index * blocks + part.index) * a["taps"] * block, element)
            with f.loop(a["tiles"]) as at:
                begin = f.place(a["planes"], at.index * tile, element)
                zeros = [f.constant(0.0, vector)] * (block * vectors)
                with f.loop(a["taps"], carry=zeros) as tap:
                    here = f.place(begin, f.load(a["offsets"], I64, tap.index), element)
                    factors = f.place(w, tap.index * block, element)
                    entries = [f.load(here, vector, v * width) for v in range(vectors)]
                    sums = []
                    for j in range(block):
                        factor = f.splat(f.load(factors, number, j), width)
                        sums += [
                            fma(factor, entry, total)
                            for entry, total in zip(entries, tap.carry[j * vectors : (j + 1) * vectors])
                        ]
                    tap.update(*sums)
                for j, v in itertools.product(range(block), range(vectors)):
                    to = (a["tiles"] * j + at.index) * tile + v * width
                    f.store(tap.carry[j * vectors + v], a["tmp"], to)
            first = part.index * block
            with f.loop(smaller(a["features"] - first, block)) as feature:
                source = f.place(a["tmp"], feature.index * a["tiles"] * tile, element)
                target = f.place(y, (first + feature.index) * a["y_feature"], element)
                with f.loop(a["lines"]) as line:
                    of = f.place(source, f.load(a["starts"], I64, line.index), element)
                    copy_row(
                        f, vector, of, f.place(target, line.index * a["width"], element), a["width"], see
                    )
    return f


TAPS = [
    "groups", "samples", "together", "channels", "rows", "stride", "plane", "features",
    "w_rows", "w_stride", "w_pitch", "taps", "length",
]  # fmt: skip
TAP_STRIDES = ["x_group", "x_sample", "x_channel", "w_group", "w_sample", "w_feature"]


def taps_function(name: str, element: str, block: int, taps: int) -> Function:
    """Return the function that sums, for each feature and each channel and tap, over the places of all samples:
    `block` features and `taps` taps stay in registers over the loop of places, in which a few samples come one after
    the other."""
    width = lanes(element)
    vector = Type(element, width)
    pointers = ["x", "row_table", "planes", "offsets", "w", "w_row_table", "w_planes", "y", "status"]
    count = len(TAPS) + len(TAP_STRIDES)
    f = Function(name, [*[I64] * count, *[PTR] * len(pointers)])
    a = dict(zip([*TAPS, *TAP_STRIDES, *pointers], f.arguments))
    see = watch_finite(f, a["status"])
    size = 1 << (taps - 1).bit_length()  # lanes of a vector of sums
    mask = f.lanes_below(f.constant(taps, I64), size)
    x_pitch, w_pitch = a["together"] * a["plane"], a["w_pitch"]  # of a channel, a feature
    with f.loop(a["groups"]) as group, f.loop(a["samples"] / a["together"]) as few:
        y = f.place(
            a["y"], group.index * ((a["features"] + (block - 1)) / block * block) * a["taps"], element
        )
        with f.loop(a["together"]) as one:
            sample = few.index * a["together"] + one.index
            x = f.place(a["x"], group.index * a["x_group"] + sample * a["x_sample"], element)
            w = f.place(a["w"], group.index * a["w_group"] + sample * a["w_sample"], element)
            with f.loop(a["channels"]) as channel:
                source = f.place(x, channel.index * a["x_channel"], element)
                target = f.place(a["planes"], channel.index * x_pitch + one.index * a["plane"], element)
                copy_rows(f, element, source, target, a["rows"], a["row_table"], a["stride"])
            with f.loop(a["features"]) as feature:
                source = f.place(w, feature.index * a["w_feature"], element)
                target = f.place(a["w_planes"], feature.index * w_pitch + one.index * a["plane"], element)
                copy_rows(f, element, source, target, a["w_rows"], a["w_row_table"], a["w_stride"])
        with (
            f.loop(a["length"], step=PLANE_ENTRIES) as chunk,
            f.loop(a["features"], step=block) as first,
            f.loop(a["taps"], step=taps) as tap,
        ):
            features = [f.place(a["w_planes"], (first.index + j) * w_pitch, element) for j in range(block)]
            entries = [
                f.place(a["planes"], f.load(a["offsets"], I64, tap.index + k), element) for k in range(taps)
            ]
            stop = smaller(chunk.index + PLANE_ENTRIES, a["length"])
            zeros = [f.constant(0.0, vector)] * (block * taps)
            with f.loop(stop, start=chunk.index, step=width, carry=zeros) as place:
                left = [f.load(pointer, vector, place.index) for pointer in features]
                sums = list(place.carry)
                for k, pointer in enumerate(entries):
                    right = f.load(pointer, vector, place.index)
                    for j in range(block):
                        sums[j * taps + k] = fma(left[j], right, sums[j * taps + k])
                place.update(*sums)
            for j in range(block):
                rows = place.carry[j * taps : (j + 1) * taps]
                total = sum_lanes(f, [*rows, *[f.constant(0.0, vector)] * (size - taps)])
                to = (first.index + j) * a["taps"] + tap.index
                total = total + f.load_masked(y, mask, total.type, to)
                see(total)
                f.store_masked(total, y, mask, to)
    return f


def shuffle(function: Function, a: Value, b: Value, lanes: Sequence[int]) -> Value:
    """Return lanes of two vectors, numbered through a and then b."""
    type = Type(a.type.element, len(lanes))
    numbers = f"<{len(lanes)} x i32> <{', '.join(f'i32 {i}' for i in lanes)}>"
    return function.emit(f"shufflevector {a.type} {a.text}, {b.type} {b.text}, {numbers}", type)


def sum_lanes(function: Function, rows: Sequence[Value]) -> Value:
    """Return the vector of the sums of each of the rows, 2ᵏ vectors: two become one, with half as many terms of
    each, until there is one."""
    rows, size = list(rows), 1  # each vector holds `size` rows, in consecutive parts
    while len(rows) > 1:
        width = rows[0].type.width
        part = width // size
        if part == 1:  # as many rows as lanes: side by side
            rows = [shuffle(function, a, b, range(2 * width)) for a, b in zip(rows[::2], rows[1::2])]
        else:
            half = part // 2
            low = [i * part + k for i in range(2 * size) for k in range(half)]
            rows = [
                shuffle(function, a, b, low) + shuffle(function, a, b, [i + half for i in low])
                for a, b in zip(rows[::2], rows[1::2])
            ]
        size *= 2
    (row,) = rows
    while row.type.width > size:
        part = row.type.width // size
        low = [i * part + k for i in range(size) for k in range(part // 2)]
        row = shuffle(function, row, row, low) + shuffle(function, row, row, [i + part // 2 for i in low])
    return row


# -- calls ------------------------------------------------------------------------------------------------------------
def correlate(
    x: np.ndarray,
    w: np.ndarray,
    counts: Numbers,
    steps: Numbers,
    pads: Sequence[tuple[int, int]],
    dilations: Numbers,
) -> np.ndarray | None:
    """Return the correlation of images (batch, group, channel, *n) with kernels (group, feature, channel, *k), or None
    if NumPy is to compute it, because the correlation is small, of another dtype, or has numbers that are not
    finite."""
    mode = engine.mode()
    if mode == "never" or x.dtype is not w.dtype or x.dtype not in ELEMENTS:
        return None
    sizes = w.shape[3:]
    products = prod(x.shape[:3]) * w.shape[1] * prod(sizes) * prod(counts)
    if mode != "always" and products < CONVOLVED_PRODUCTS:
        return None
    if mode != "always" and prod(sizes) == prod(steps) == 1 and not any(map(any, pads)):
        return None  # a product of matrices
    if any(s % x.itemsize for s in (*x.strides, *w.strides)):
        return None
    forward = prod(counts) >= prod(sizes)
    many, few = (counts, sizes) if forward else (sizes, counts)
    one, other = (steps, dilations) if forward else (dilations, steps)
    planes = lay_out(x.shape[3:], elements(x)[3:], many, few, one, [low for low, _ in pads], other)
    if mode != "always" and 3 * prod(many) < planes.length:
        return None  # most of the places would be those of windows over the edge
    return (correlate_windows if forward else correlate_taps)(x, w, counts, planes, products)


def share_work(work: Callable[[int, int], bool], count: int, unit: int, products: int) -> bool:
    """Have threads do parts of some work, multiples of `unit` each; return whether all have succeeded."""
    found: list[bool] = []
    share_calls(
        lambda first, last: found.append(work(first * unit, min(last * unit, count))),
        -(-count // unit),
        4 * products * PRODUCT_TIME,
    )
    return all(found)


def feature_block(features: int) -> tuple[int, int]:
    """Return how many features, and how many vectors of places, stay in registers."""
    choices = {8: 3, 4: 6, 2: 8, 1: 8} if registers() == 32 else {4: 3, 2: 5, 1: 8}
    return next((n, v) for n, v in choices.items() if n == 1 or features % n == 0 or features > 2 * n)


def pack_weights(w: np.ndarray, block: int) -> np.ndarray:
    """Return the weights as (group, block, channel, tap, feature of the block), filled up by zeros."""
    g, f, c = w.shape[:3]
    whole, rest = divmod(f, block)
    packed = np.zeros((g, whole + bool(rest), c, prod(w.shape[3:]), block), w.dtype)
    w = w.reshape(g, f, c, -1)
    packed[:, :whole] = w[:, : whole * block].reshape(g, whole, block, c, -1).transpose(0, 1, 3, 4, 2)
    if rest:
        packed[:, -1, :, :, :rest] = w[:, whole * block :].transpose(0, 2, 3, 1)
    return packed


def address(array: np.ndarray, *start: int) -> int:
    """Return where an array, or its entry number `start` along the first axes, is in memory."""
    return array.ctypes.data + sum(i * s for i, s in zip(start, array.strides))


def elements(array: np.ndarray) -> list[int]:
    """Return the strides of an array, counted in entries."""
    return [s // array.itemsize for s in array.strides]


def correlate_windows(
    x: np.ndarray, w: np.ndarray, counts: Numbers, planes: Planes, products: int
) -> np.ndarray | None:
    """Correlate with small kernels."""
    (b, g, c), f = x.shape[:3], w.shape[1]
    block, vectors = feature_block(f)
    run = ask_kernel(products * PRODUCT_TIME, windows_function, x.dtype, block, vectors)
    if run is None:
        return None
    tile = vectors * lanes(ELEMENTS[x.dtype])
    tiles = -(-planes.length // tile)
    weights = pack_weights(w, block)
    offsets = (np.arange(c)[:, None] * planes.plane + planes.offsets).reshape(-1)
    y = allocate((b, g, f, *counts), x.dtype)

    def work(first: int, last: int) -> bool:
        scratch = np.zeros(c * planes.plane + 2 * tile, x.dtype)
        tmp = np.empty(block * tiles * tile, x.dtype)
        status = np.zeros(64, np.int8)
        arrays = (planes.rows, scratch, offsets, weights, tmp, planes.starts)
        run(
            last - first, g, c, len(planes.rows), planes.stride, planes.plane, len(offsets), f, tiles,
            len(planes.starts), counts[-1], *elements(x)[:3], *elements(y)[:3],
            address(x, first), *map(address, arrays), address(y, first), address(status),
        )  # fmt: skip
        return not status.any()

    return y if share_work(work, b, 1, products) else None


def correlate_taps(
    x: np.ndarray, w: np.ndarray, counts: Numbers, planes: Planes, products: int
) -> np.ndarray | None:
    """Correlate with large kernels, of few results."""
    (c, g, n), f, sizes = x.shape[:3], w.shape[1], w.shape[3:]
    block, step = (4, 6) if registers() == 32 else (2, 6)
    run = ask_kernel(products * PRODUCT_TIME, taps_function, x.dtype, block, step)
    if run is None:
        return None
    width, taps = lanes(ELEMENTS[x.dtype]), c * len(planes.offsets)
    together = max(k for k in range(1, n + 1) if n % k == 0 and (k == 1 or k * planes.plane <= PLANE_ENTRIES))
    length = -(-((together - 1) * planes.plane + planes.length) // width) * width
    pitch = max(together * planes.plane, length)
    offsets = np.zeros(-(-taps // step) * step, np.int64)
    offsets[:taps] = (np.arange(c)[:, None] * together * planes.plane + planes.offsets).reshape(-1)
    x_strides, w_strides = elements(x), elements(w)
    begins = np.zeros(1, np.int64)
    for count, stride in zip(sizes[:-1], w_strides[3:]):
        begins = (begins[:, None] + np.arange(count) * stride).reshape(-1)
    w_rows = np.stack([begins, planes.starts, np.full(len(begins), sizes[-1])], 1)
    y = np.zeros((g, -(-f // block) * block, len(offsets)), x.dtype)
    by_group = g > 1

    def work(first: int, last: int) -> bool:
        groups, features = (last - first, f) if by_group else (g, last - first)
        start = (first, 0) if by_group else (0, first)
        scratch = np.zeros(together * c * planes.plane + length + 2 * width, x.dtype)
        w_scratch = np.zeros(-(-features // block) * block * pitch, x.dtype)
        status = np.zeros(64, np.int8)
        run(
            groups, n, together, c, len(planes.rows), planes.stride, planes.plane, features, len(w_rows),
            w_strides[-1], pitch, len(offsets), length,
            x_strides[1], x_strides[2], x_strides[0], w_strides[0], w_strides[2], w_strides[1],
            address(x, 0, start[0]), *map(address, (planes.rows, scratch, offsets)),
            address(w, *start), address(w_rows), address(w_scratch), address(y, *start), address(status),
        )  # fmt: skip
        return not status.any()

    if not share_work(work, g if by_group else f, 1 if by_group else block, products):
        return None
    y = np.ascontiguousarray(y[:, :f, :taps]).reshape(g, f, c, *counts)
    return y.transpose(2, 0, 1, *range(3, y.ndim))
