"""The forward and backward loop of a long short-term memory (Hochreiter and Schmidhuber, 1997) as machine code: all
steps in one call, for sequences of any number, length and size. Threads share the sequences.

    forward:   a += h·W;  o, i, f = σ(−a), g = tanh(a);  c ← f·c + i·g;  y = tanh(c);  h ← o·y
    back:      v = dc + dh·o·(1 − y²);  d = the cotangents of a;  dc ← v·f;  dh ← d·Wᵀ

Gates stand in the order o, i, f, g, the first three negative; their cotangents in torch's, i, f, g, o. Products are as
in `products`, of matrices whose lengths are known when they are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.costs import PRODUCT_TIME, RECURRENT_STATE, RECURRENT_STEP_TIME, STATE_TIME
from ..matmul import dot
from . import engine, math
from .correlation import lanes
from .ir import I64, PTR, Function, Type, Value, fma
from .kernel import ELEMENTS, ask_kernel
from .tables import address
from .threads import Crew

ROWS, VECTORS = 4, 4  # of a block of a product

NUMBERS = ["first", "last", "steps", "size", "batch", "start", "stride", "multiplies"]
FORWARD = [*NUMBERS, "counts", "gates", "weight", "states", "cells", "inner"]
BACK = [*NUMBERS, "has_outer", "counts", "gates", "weight", "cells", "inner", "outer", "d", "dh", "dc"]


def declare_arguments(name: str, arguments: Sequence[str]) -> tuple[Function, dict[str, Value]]:
    """Return a function of numbers and of the addresses that follow "counts", and its arguments by name."""
    first = arguments.index("counts")
    f = Function(name, [*[I64] * first, *[PTR] * (len(arguments) - first)])
    return f, dict(zip(arguments, f.arguments))


def write_product(
    f: Function, element: str, shape: tuple[Value, Value, Value], a: Value, b: Value, c: Value, adds: bool
) -> None:
    """Write c = a·b, or c += a·b if `adds`, for dense matrices; `shape` is (rows, columns, terms)."""
    rows, columns, terms = shape
    width = lanes(element)
    type = Type(element, width)

    def write_block(row: Value, high: int, column: Value, count: int, inside: Value | None) -> None:
        def load(pointer: Value, place: Value) -> Value:
            return (
                f.load(pointer, type, place)
                if inside is None
                else f.load_masked(pointer, inside, type, place)
            )

        places = [(row + i) * columns + column + j * width for i in range(high) for j in range(count)]
        totals = [load(c, place) if adds else f.constant(0.0, type) for place in places]
        with f.loop(terms, carry=totals) as k:
            right = [load(b, k.index * columns + column + j * width) for j in range(count)]
            left = [
                f.splat(f.load(a, Type(element), (row + i) * terms + k.index), width) for i in range(high)
            ]
            pairs = [(x, y) for x in left for y in right]
            k.update(*(fma(x, y, total) for (x, y), total in zip(pairs, k.carry)))
        for place, total in zip(places, k.carry):
            if inside is None:
                f.store(total, c, place)
            else:
                f.store_masked(total, c, inside, place)

    def write_rows(row: Value, high: int) -> None:
        wide = VECTORS * width
        whole = columns - (columns & (wide - 1))
        with f.loop(whole, step=wide) as j:
            write_block(row, high, j.index, VECTORS, None)
        with f.loop(columns, whole, step=width) as j:
            write_block(row, high, j.index, 1, f.lanes_below(columns - j.index, width))

    whole = rows - (rows & (ROWS - 1))
    with f.loop(whole, step=ROWS) as i:
        write_rows(i.index, ROWS)
    with f.loop(rows, whole) as i:
        write_rows(i.index, 1)


def rows_of(f: Function, given: dict[str, Value]) -> tuple[Value, Value]:
    """Return the first of the sequences, and the number of them, that are in blocks from `first` on."""
    begin, end = (given[v] * ROWS for v in ("first", "last"))
    return begin, end.intrinsic("smin", given["batch"]) - begin


class Row:
    """Vectors of the entries of rows, in the rows that exist."""

    def __init__(self, f: Function, element: str, size: Value, index: Value):
        self.f, self.type, self.index = f, Type(element, lanes(element)), index
        self.inside = f.lanes_below(size - index, self.type.width)

    def load(self, pointer: Value, begin: Value) -> Value:
        return self.f.load_masked(pointer, self.inside, self.type, begin + self.index)

    def store(self, value: Value, pointer: Value, begin: Value) -> None:
        self.f.store_masked(value, pointer, self.inside, begin + self.index)


def lstm_forward_function(name: str, element: str) -> Function:
    """Return the function of the loop."""
    f, given = declare_arguments(name, FORWARD)
    size, batch = given["size"], given["batch"]
    width = size * 4
    begin, rows = rows_of(f, given)
    with f.loop(given["steps"]) as k:
        t = given["start"] + k.index * given["stride"]
        n = (f.load(given["counts"], I64, k.index) - begin).intrinsic("smin", rows).intrinsic("smax", 0)
        now, then = t * batch + begin, k.index * batch + begin
        gates, inner = (f.place(given[v], now * m, element) for v, m in (("gates", width), ("inner", size)))
        states, cells = (f.place(given[v], then * size, element) for v in ("states", "cells"))
        after = batch * size
        with f.when(given["multiplies"] > 0):
            write_product(f, element, (n, width, size), states, given["weight"], gates, adds=True)
        with f.loop(n) as i, f.loop(size, step=lanes(element)) as j:
            row, here = Row(f, element, size, j.index), i.index * size
            places = [i.index * width + size * p for p in range(4)]
            a = [row.load(gates, place) for place in places]
            values = [*(math.apply("sigmoid", -x) for x in a[:3]), math.apply("tanh", a[3])]
            for value, place in zip(values, places):
                row.store(value, gates, place)
            output, enter, keep, new = values
            cell = keep * row.load(cells, here) + enter * new
            y = math.apply("tanh", cell)
            row.store(cell, cells, after + here)
            row.store(y, inner, here)
            row.store(output * y, states, after + here)
        with f.loop(rows * size, n * size) as rest:  # of the sequences that have ended
            for held in (states, cells):
                f.store(f.load(held, Type(element), rest.index), held, after + rest.index)
    return f


def lstm_back_function(name: str, element: str) -> Function:
    """Return the function of the backward loop, which begins with the last step."""
    f, given = declare_arguments(name, BACK)
    size, batch = given["size"], given["batch"]
    width = size * 4
    number = Type(element)
    begin, rows = rows_of(f, given)
    dh, dc = (f.place(given[v], begin * size, element) for v in ("dh", "dc"))
    with f.loop(given["steps"]) as back:
        k = given["steps"] - 1 - back.index
        t = given["start"] + k * given["stride"]
        n = (f.load(given["counts"], I64, k) - begin).intrinsic("smin", rows).intrinsic("smax", 0)
        now = t * batch + begin
        gates, d = (f.place(given[v], now * width, element) for v in ("gates", "d"))
        inner, outer = (f.place(given[v], now * size, element) for v in ("inner", "outer"))
        cells = f.place(given["cells"], (k * batch + begin) * size, element)
        with f.when(given["has_outer"] > 0), f.loop(rows * size) as i:
            f.store(f.load(dh, number, i.index) + f.load(outer, number, i.index), dh, i.index)
        with f.loop(n) as i, f.loop(size, step=lanes(element)) as j:
            row, here = Row(f, element, size, j.index), i.index * size
            places = [i.index * width + size * p for p in range(4)]
            output, enter, keep, new = (row.load(gates, place) for place in places)
            u, y = row.load(dh, here), row.load(inner, here)
            v = row.load(dc, here) + u * (output * (1.0 - y * y))
            slopes = [
                v * ((1.0 - enter) * enter * new),
                v * ((1.0 - keep) * keep * row.load(cells, here)),
                v * (enter * (1.0 - new * new)),
                u * ((1.0 - output) * output * y),
            ]
            for value, place in zip(slopes, places):
                row.store(value, d, place)
            row.store(v * keep, dc, here)
        with f.when(given["multiplies"] > 0):
            write_product(f, element, (n, size, width), d, given["weight"], dh, adds=False)
    return f


def ask_loop(
    build: Callable[..., Function], dtype: np.dtype, steps: int, batch: int, size: int
) -> Callable[..., Any] | None:
    """Return the loop that `build` writes, for numbers of steps, sequences and entries of a state, as a function of its
    arguments after `last`; or None if NumPy is to run it."""
    if dtype not in ELEMENTS or engine.mode() == "never":
        return None
    run = ask_kernel(steps * (RECURRENT_STEP_TIME + STATE_TIME * batch * size), build, dtype)
    if run is None:
        return None
    multiplies = size <= RECURRENT_STATE
    products = (steps * batch * size * size) * multiplies
    effort = STATE_TIME * (batch * size * (steps if multiplies else 1)) + PRODUCT_TIME * 4 * products
    return partial(Crew(run, -(-batch // ROWS), 4 * effort), 0, -(-batch // ROWS))


def run_forward(
    times: range,
    counts: np.ndarray,
    gates: np.ndarray,
    weight: np.ndarray,
    states: np.ndarray,
    cells: np.ndarray,
    inner: np.ndarray,
) -> bool:
    """Take the steps of a loop, which fill gates, states, cells and inner; return whether machine code has done so.

    gates (steps, batch, 4·size) hold what the input gives, `weight` is (size, 4·size), `states` and `cells` (steps + 1,
    batch, size) hold the first ones, `inner` is (steps, batch, size), `counts` how many sequences take each step.
    """
    steps, batch, size = inner.shape
    run = ask_loop(lstm_forward_function, gates.dtype, steps, batch, size)
    if run is None:
        return False
    pointers = list(map(address, (gates, weight, states, cells, inner)))
    if size <= RECURRENT_STATE:
        run(steps, size, batch, times.start, times.step, 1, address(counts), *pointers)
        return True
    _, _, *rows, _ = pointers
    places = [v.strides[0] for v in (states, cells)]
    for k, t in enumerate(times):
        n = counts[k]
        gates[t, :n] += dot(states[k, :n], weight)
        here = [pointer + k * step for pointer, step in zip(rows, places)]
        run(1, size, batch, t, 0, 0, address(counts, k), *pointers[:2], *here, pointers[4])
    return True


def run_back(
    times: range,
    counts: np.ndarray,
    gates: np.ndarray,
    weight: np.ndarray,
    cells: np.ndarray,
    inner: np.ndarray,
    outer: np.ndarray | None,
    d: np.ndarray,
    dh: np.ndarray,
    dc: np.ndarray,
) -> bool:
    """Run the steps backward: fill `d`, the cotangents of the gates' arguments, and leave those of the first state and
    cell in `dh` and `dc`; return whether machine code did so.

    `weight` is (4·size, size), `outer` (steps, batch, size) are the cotangents of the states by time.
    """
    steps, batch, size = inner.shape
    run = ask_loop(lstm_back_function, gates.dtype, steps, batch, size)
    if run is None:
        return False
    pointers = [
        address(v) for v in (gates, weight, cells, inner, inner if outer is None else outer, d, dh, dc)
    ]
    has_outer = int(outer is not None)
    if size <= RECURRENT_STATE:
        run(steps, size, batch, times.start, times.step, 1, has_outer, address(counts), *pointers)
        return True
    for k in reversed(range(steps)):
        n, t = counts[k], times[k]
        here = [*pointers[:2], address(cells, k), *pointers[3:]]
        run(1, size, batch, t, 0, 0, has_outer, address(counts, k), *here)
        dot(d[t, :n], weight, dh[:n])
    return True
