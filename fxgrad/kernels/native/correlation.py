"""Functions of machine code that correlate images in planes (`planes`): a part of the results stays in registers over
sums of channels and taps, or, where kernels are large and results few, of places and samples."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import arrays
from .ir import I32, I64, PTR, Function, Type, Value, fma
from .processor import vector_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXPONENT = {"float": 0x7F800000, "double": 0x7FF0000000000000}  # all set in what is not finite


def lanes(element: str) -> int:
    return vector_bytes() * 8 // Type(element).bits


def registers() -> int:
    """How many vectors the processor keeps at hand."""
    return 16 if vector_bytes() == 32 else 32


def smaller(a: Value, b: Value | int) -> Value:
    return (a < b).select(a, b)


def remainder(a: Value, b: Value) -> Value:
    return a - a / b * b


def read_table(function: Function, table: Value, names: Sequence[str]) -> dict[str, Value]:
    """Load numbers and addresses (`at_…`) by name."""
    found = {name: function.load(table, I64, k) for k, name in enumerate(names)}
    return {k: function.cast("inttoptr", v, PTR) if k[:3] == "at_" else v for k, v in found.items()}


@contextmanager
def scratch(function: Function, bytes: Value) -> Iterator[tuple[Value, Value]]:
    """Write a block with zeroed memory of its own; the function returns 0, or else 1 where there is none, or where its
    numbers are not finite (`watch_finite`)."""
    function.declare("@calloc", "ptr", ["i64", "i64"])
    function.declare("@free", "void", ["ptr"])
    memory = function.emit(f"call ptr @calloc(i64 1, i64 {(bytes + 64).text})", PTR)
    missing = function.cast("ptrtoint", memory, I64).equals(0)
    status = function.emit("alloca i64, i64 8", PTR)
    type = Type("i64", 8)
    function.store(function.constant(0, type), status)
    with function.when(~missing):
        yield memory, status
        function.lines.append(f"  call void @free(ptr {memory.text})")
    hit = function.reduce(function.load(status, type), "or").equals(0)
    function.return_value(function.cast("zext", ~hit | missing, I32))


@contextmanager
def each_unit(
    name: str, names: Sequence[str]
) -> Iterator[tuple[Function, dict[str, Value], list[Value], Value, Value, Value]]:
    """Write the function (first unit, last unit, table, two operands, result), and in it the block for a unit: of the
    function, the table, the addresses of the three arrays, memory of its own with its status, and the unit's number."""
    f = Function(name, [I64, I64, PTR, PTR, PTR, PTR], returns="i32")
    first, last, table, *given = f.arguments
    places = [arrays.address(f, array) for array in given]
    a = read_table(f, table, names)
    with scratch(f, a["scratch"]) as (memory, status), f.loop(last, start=first) as unit:
        yield f, a, places, memory, status, unit.index


def watch_finite(function: Function, status: Value, values: Sequence[Value]) -> None:
    """Set bits of the 64 bytes at `status` where a value is not finite."""
    type = values[0].type
    exponent = EXPONENT[type.element]
    first, *hits = [(value.bits_as(type.integer.element) & exponent).equals(exponent) for value in values]
    for hit in hits:
        first = first | hit
    whole = function.cast("sext", first, type.integer)
    function.store(function.load(status, whole.type) | whole, status)


def copy_rows(
    function: Function, element: str, source: Value, target: Value, count: Value, rows: Value, stride: Value
) -> None:
    """Copy rows of an image into its plane, in the order of their places there: zeros may follow a row."""
    type = Type(element, lanes(element))
    one, two = stride.equals(1), stride.equals(2)
    with function.loop(count) as row:
        begin, to, length = (function.load(rows, I64, row.index * 3 + k) for k in range(3))
        of, into = function.place(source, begin, element), function.place(target, to, element)
        with function.when(one):
            whole = length & -type.width
            with function.loop(whole, step=type.width) as at:
                function.store(function.load(of, type, at.index), into, at.index)
            with function.when(whole < length):
                mask = function.lanes_below(length - whole, type.width)
                function.store(function.load_masked(of, mask, type, whole), into, whole)
        with function.when(two):
            copy_even(function, type, of, into, length)
        with function.when(~(one | two)):
            copy_apart(function, element, of, stride, into, function.constant(1, I64), length)


def copy_even(function: Function, type: Type, source: Value, target: Value, count: Value) -> None:
    """Copy every second entry; zeros may follow."""

    def copy(at: Value, load: Callable[[int], Value]) -> None:
        pair = shuffle(function, load(0), load(type.width), range(0, 2 * type.width, 2))
        function.store(pair, target, at)

    whole = (count - 1) & -type.width
    with function.loop(whole, step=type.width) as loop:
        copy(loop.index, lambda k: function.load(source, type, loop.index * 2 + k))
    last = count * 2 - whole * 2 - 1

    def load_rest(k: int) -> Value:
        return function.load_masked(source, function.lanes_below(last - k, type.width), type, whole * 2 + k)

    copy(whole, load_rest)


def copy_apart(
    function: Function, element: str, source: Value, stride: Value, target: Value, step: Value, count: Value
) -> None:
    """Copy entries that are `stride` apart to places that are `step` apart."""
    with function.loop(count) as at:
        entry = function.load(source, Type(element), at.index * stride)
        function.store(entry, target, at.index * step)


def copy_exactly(function: Function, element: str, source: Value, target: Value, length: Value) -> None:
    """Copy consecutive entries and write nothing else: the last vector once more in part, or halves of a vector.
    Masked stores take twenty times as long on some processors."""
    type = Type(element, lanes(element))
    many = length >= type.width
    with function.when(many):
        with function.loop(length - type.width, step=type.width) as at:
            function.store(function.load(source, type, at.index), target, at.index)
        last = length - type.width
        function.store(function.load(source, type, last), target, last)
    with function.when(~many):
        size = type.width // 2
        while size:
            with function.when((length & size) > 0):
                at = length & (-2 * size)
                function.store(function.load(source, Type(element, size), at), target, at)
            size //= 2


SHAPE = [
    "samples", "groups", "channels", "features", "together",
    "at_rows", "rows", "stride", "plane", "pitch", "at_starts", "starts", "width", "at_taps", "taps", "panel",
    "span", "length", "x_sample", "x_group", "x_channel", "panel_place", "scratch",
]  # fmt: skip


def copy_image(
    f: Function, element: str, a: dict[str, Value], x: Value, memory: Value, count: Value
) -> Value:
    """Copy `count` samples of all channels into planes, and, if they are to be packed, for each tap into the panel.
    Return what windows are read from."""
    type = Type(element, lanes(element))
    with f.loop(a["channels"]) as channel, f.loop(count) as one:
        source = f.place(x, channel.index * a["x_channel"] + one.index * a["x_sample"], element)
        target = f.place(memory, channel.index * a["pitch"] + one.index * a["plane"], element)
        copy_rows(f, element, source, target, a["rows"], a["at_rows"], a["stride"])
    panel = f.place(memory, a["panel_place"], element)
    with f.when(a["panel"] > 0), f.loop(a["channels"]) as channel, f.loop(a["taps"]) as tap:
        source = f.place(memory, channel.index * a["pitch"] + f.load(a["at_taps"], I64, tap.index), element)
        target = f.place(panel, (channel.index * a["taps"] + tap.index) * a["panel"], element)
        with f.loop(count) as one, f.loop(a["starts"]) as line:
            begin = f.load(a["at_starts"], I64, line.index) + one.index * a["plane"]
            of = f.place(source, begin, element)
            to = f.place(target, (one.index * a["starts"] + line.index) * a["width"], element)
            with f.loop(a["width"], step=type.width) as at:
                f.store(f.load(of, type, at.index), to, at.index)
    return panel


WINDOWS = [
    *SHAPE, "sets", "parts", "blocks", "part_blocks", "results", "results_place",
    "phases", "at_phases", "step", "y_sample", "y_group", "y_feature", "w_group", "w_feature",
]  # fmt: skip
PHASE = ["at_offsets", "terms", "weights", "at_lines", "lines", "at_weights"]


def each_phase(f: Function, a: dict[str, Value]) -> Iterator[dict[str, Value]]:
    """Write a loop over the phases; it is the one value of this iterator."""
    with f.loop(a["phases"]) as phase:
        yield read_table(f, f.place(a["at_phases"], phase.index * len(PHASE), "i64"), PHASE)


def windows_function(name: str, element: str, block: int, vectors: int) -> Function:
    """Return the function that computes results from windows: `block` features at `vectors` vectors of places at a
    time stay in registers over the loop of channels and taps. Its units are (a set of samples, a group, a part of the
    features)."""
    width = lanes(element)
    tile, vector, number = vectors * width, Type(element, width), Type(element)
    with each_unit(name, WINDOWS) as (f, a, (x, weights, y), memory, status, unit):
        part, rest = remainder(unit, a["parts"]), unit / a["parts"]
        group, sample = remainder(rest, a["groups"]), rest / a["groups"] * a["together"]
        count = smaller(a["together"], a["samples"] - sample)
        source = f.place(x, sample * a["x_sample"] + group * a["x_group"], element)
        here = copy_image(f, element, a, source, memory, count)
        results = f.place(memory, a["results_place"], element)
        length = (count - 1) * a["span"] + a["length"]
        begin = part * a["part_blocks"]
        end = smaller(begin + a["part_blocks"], a["blocks"])
        for phase in each_phase(f, a):
            with f.loop(end, start=begin) as at_block:
                w_place = phase["weights"] + (group * a["blocks"] + at_block.index) * phase["terms"] * block
                w = f.place(weights, w_place, element)
                with f.loop(length, step=tile) as at:
                    windows = f.place(here, at.index, element)
                    zeros = [f.constant(0.0, vector)] * (block * vectors)
                    with f.loop(phase["terms"], carry=zeros) as term:
                        entry = f.place(windows, f.load(phase["at_offsets"], I64, term.index), element)
                        factors = f.place(w, term.index * block, element)
                        entries = [f.load(entry, vector, v * width) for v in range(vectors)]
                        sums = []
                        for j in range(block):
                            factor = f.splat(f.load(factors, number, j), width)
                            sums += [
                                fma(factor, entry, total)
                                for entry, total in zip(entries, term.carry[j * vectors : (j + 1) * vectors])
                            ]
                        term.update(*sums)
                    watch_finite(f, status, term.carry)
                    for k, (j, v) in enumerate(itertools.product(range(block), range(vectors))):
                        f.store(term.carry[k], results, a["results"] * j + at.index + v * width)
                feature = at_block.index * block
                with (
                    f.loop(smaller(a["features"] - feature, block)) as j,
                    f.loop(count) as one,
                    f.loop(phase["lines"]) as line,
                ):
                    of, to, long = (f.load(phase["at_lines"], I64, line.index * 3 + k) for k in range(3))
                    of = of + j.index * a["results"] + one.index * a["span"]
                    to = to + (sample + one.index) * a["y_sample"] + group * a["y_group"]
                    to = f.place(y, to + (feature + j.index) * a["y_feature"], element)
                    of = f.place(results, of, element)
                    with f.when(a["step"].equals(1)):
                        copy_exactly(f, element, of, to, long)
                    with f.when(a["step"] > 1):
                        copy_apart(f, element, of, f.constant(1, I64), to, a["step"], long)
    return f


def pack_function(name: str, element: str, block: int) -> Function:
    """Return the function that copies kernels for `windows_function`: as [phase][group][block][channel, tap][feature],
    where there is room for whole blocks."""
    f = Function(name, [PTR, PTR, PTR])
    table, *given = f.arguments
    w, packed = (arrays.address(f, array) for array in given)
    a = read_table(f, table, WINDOWS)
    for phase in each_phase(f, a):
        with f.loop(a["groups"]) as group, f.loop(a["blocks"]) as at:
            first = at.index * block
            source = f.place(w, group.index * a["w_group"] + first * a["w_feature"], element)
            to = phase["weights"] + (group.index * a["blocks"] + at.index) * phase["terms"] * block
            target = f.place(packed, to, element)
            count = smaller(a["features"] - first, block)
            with f.loop(phase["terms"]) as term:
                of = f.place(source, f.load(phase["at_weights"], I64, term.index), element)
                into = f.place(target, term.index * block, element)
                copy_apart(f, element, of, a["w_feature"], into, f.constant(1, I64), count)
    return f


TAPS = [
    *SHAPE, "sets", "parts", "channel_parts", "all_channels", "room", "at_offsets", "terms", "row",
    "at_w_rows", "w_rows", "w_stride", "w_plane", "w_place", "w_sample", "w_group", "w_feature", "chunk",
]  # fmt: skip


def taps_function(name: str, element: str, block: int, step: int) -> Function:
    """Return the function that sums, for each feature and each channel and tap, over the places of all samples:
    `block` features and `step` taps stay in registers over the loop of places. Its units are (a group, a part of the
    sets of samples, a part of the channels); each adds to results of its own."""
    width = lanes(element)
    vector = Type(element, width)
    size = 1 << (step - 1).bit_length()  # lanes of a vector of sums
    with each_unit(name, TAPS) as (f, a, (x, w, y), memory, status, unit):
        zero = f.constant(0.0, vector)
        begin, rest = remainder(unit, a["channel_parts"]) * a["channels"], unit / a["channel_parts"]
        part, group = remainder(rest, a["parts"]), rest / a["parts"]
        own = f.place(y, unit * a["room"] * a["row"], element)
        here_too = {**a, "channels": smaller(a["channels"], a["all_channels"] - begin)}
        w_planes = f.place(memory, a["w_place"], element)
        sets = [(part + k) * a["sets"] / a["parts"] for k in range(2)]
        with f.loop(sets[1], start=sets[0]) as few:
            sample = few.index * a["together"]
            count = smaller(a["together"], a["samples"] - sample)
            source = sample * a["x_sample"] + group * a["x_group"] + begin * a["x_channel"]
            here = copy_image(f, element, here_too, f.place(x, source, element), memory, count)
            with f.when(count < a["together"]), f.loop(a["room"] * a["w_plane"], step=width) as at:
                f.store(zero, w_planes, at.index)
            with f.loop(a["features"]) as feature, f.loop(count) as one:
                source = (sample + one.index) * a["w_sample"] + group * a["w_group"]
                source = f.place(w, source + feature.index * a["w_feature"], element)
                target = f.place(w_planes, feature.index * a["w_plane"] + one.index * a["span"], element)
                copy_rows(f, element, source, target, a["w_rows"], a["at_w_rows"], a["w_stride"])
            length = (count - 1) * a["span"] + a["length"]
            with f.cycle([f.constant(0, I64)]) as chunk:
                (start,) = chunk.carry
                chunk.go_on_if(start < length)
                stop = smaller(start + a["chunk"], length)
                chunk.update(stop)
                with f.loop(a["terms"], step=step) as term, f.loop(a["features"], step=block) as first:
                    left_places = [
                        f.place(w_planes, (first.index + j) * a["w_plane"], element) for j in range(block)
                    ]
                    right_places = [
                        f.place(here, f.load(a["at_offsets"], I64, term.index + k), element)
                        for k in range(step)
                    ]
                    with f.loop(stop, start=start, step=width, carry=[zero] * (block * step)) as place:
                        left = [f.load(pointer, vector, place.index) for pointer in left_places]
                        sums = list(place.carry)
                        for k, pointer in enumerate(right_places):
                            right = f.load(pointer, vector, place.index)
                            for j in range(block):
                                sums[j * step + k] = fma(left[j], right, sums[j * step + k])
                        place.update(*sums)
                    for j in range(block):
                        rows = place.carry[j * step : (j + 1) * step]
                        total = sum_lanes(f, [*rows, *[zero] * (size - step)])
                        to = (first.index + j) * a["row"] + term.index
                        total = total + f.load(own, total.type, to)
                        watch_finite(f, status, [total])
                        f.store(total, own, to)
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
