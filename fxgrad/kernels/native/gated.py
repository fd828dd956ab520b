"""What the loops of gated recurrent layers share, as machine code: all steps in one call, for sequences of any number,
length and size. Threads share the sequences.

States and cells are (steps + 1, batch, size) by time: the rows before and after the step at time t are t and t + 1, or
t + 1 and t where time runs backward. Products are as in `products`, of matrices whose lengths are known when they are
computed; the weight is packed, since rows that lie a power of two apart would be in each other's place in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...core.costs import PRODUCT_TIME, RECURRENT_STATE, RECURRENT_STEP_TIME, STATE_TIME
from . import engine
from .correlation import lanes, registers
from .ir import I64, PTR, Function, Type, Value, fma
from .kernel import ELEMENTS, ask_kernel
from .processor import vector_bytes
from .tables import address
from .threads import Crew

ROWS = 4  # of a block of a product: sequences, which one thread takes
NUMBERS = ["first", "last", "steps", "size", "batch", "start", "stride", "multiplies", "has_outer"]


# -- products ------------------------------------------
def block_vectors() -> int:
    """Return how many vectors a block of a product has side by side, whose sums stay in registers."""
    return 4 if registers() == 32 else 2


def pack_columns(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix as the panels of columns that blocks read; the last one is filled up with zeros."""
    terms, columns = matrix.shape
    span = block_vectors() * (vector_bytes() // matrix.itemsize)
    panels = np.zeros((-(-columns // span), terms, span), matrix.dtype)
    whole = columns // span
    panels[:whole] = matrix[:, : whole * span].reshape(terms, whole, span).transpose(1, 0, 2)
    panels[whole:, :, : columns - whole * span] = matrix[:, whole * span :]
    return panels


def write_product(
    f: Function, element: str, shape: tuple[Value, Value, Value], a: Value, b: Value, c: Value, adds: bool
) -> None:
    """Write c = a·b, or c += a·b if `adds`, for dense matrices a and c and the panels of b; `shape` is (rows, columns,
    terms)."""
    rows, columns, terms = shape
    width, vectors = lanes(element), block_vectors()
    type, span = Type(element, width), vectors * width

    def write_block(row: Value, high: int, column: Value, is_whole: bool) -> None:
        begins = [column + j * width for j in range(vectors)]
        masks = [None if is_whole else f.lanes_below(columns - begin, width) for begin in begins]
        places = [((row + i) * columns + begin, m) for i in range(high) for begin, m in zip(begins, masks)]
        panel = f.place(b, column * terms, element)
        totals = [
            f.constant(0.0, type)
            if not adds
            else f.load(c, type, place)
            if mask is None
            else f.load_masked(c, mask, type, place)
            for place, mask in places
        ]
        with f.loop(terms, carry=totals) as k:
            right = [f.load(panel, type, k.index * span + j * width) for j in range(vectors)]
            left = [
                f.splat(f.load(a, Type(element), (row + i) * terms + k.index), width) for i in range(high)
            ]
            pairs = [(x, y) for x in left for y in right]
            k.update(*(fma(x, y, total) for (x, y), total in zip(pairs, k.carry)))
        for (place, mask), total in zip(places, k.carry):
            if mask is None:
                f.store(total, c, place)
            else:
                f.store_masked(total, c, mask, place)

    def write_rows(row: Value, high: int) -> None:
        whole = columns / span * span
        with f.loop(whole, step=span) as j:
            write_block(row, high, j.index, True)
        with f.loop(columns, whole, step=span) as j:
            write_block(row, high, j.index, False)

    whole = rows - (rows & (ROWS - 1))
    with f.loop(whole, step=ROWS) as i:
        write_rows(i.index, ROWS)
    with f.loop(rows, whole) as i:
        write_rows(i.index, 1)


# -- loops ------------------------------------------
class Layer:
    """The function of a loop in the making: of the NUMBERS, and of the addresses of `counts`, `weight` and more."""

    def __init__(self, name: str, element: str, gates: int, arrays: Sequence[str]):
        pointers = ["counts", "weight", *arrays]
        self.f = f = Function(name, [*[I64] * len(NUMBERS), *[PTR] * len(pointers)])
        self.element, self.type = element, Type(element, lanes(element))
        self.given = given = dict(zip([*NUMBERS, *pointers], f.arguments))
        self.size, self.batch, self.width = given["size"], given["batch"], given["size"] * gates
        self.begin = given["first"] * ROWS
        self.rows = (given["last"] * ROWS).intrinsic("smin", self.batch) - self.begin

    def take_step(self, k: Value) -> tuple[Value, Value, Value]:
        """Return the numbers of the rows before and after step k, and of its time, of the sequences from `begin` on;
        `active` becomes the number of those that take it."""
        given, batch = self.given, self.batch
        t = given["start"] + k * given["stride"]
        forward = (given["stride"] > 0).select(self.f.constant(1, I64), self.f.constant(0, I64))
        count = self.f.load(given["counts"], I64, k)
        self.active = (count - self.begin).intrinsic("smin", self.rows).intrinsic("smax", 0)
        return tuple([v * batch + self.begin for v in (t + 1 - forward, t + forward, t)])  # type: ignore[return-value]

    def place(self, name: str, row: Value, width: Value) -> Value:
        """Return the address of a row of an array."""
        return self.f.place(self.given[name], row * width, self.element)

    def multiply(self, terms: Value, columns: Value, a: Value, c: Value, adds: bool) -> None:
        """Write the product of the active rows with the weight, unless BLAS computes it."""
        with self.f.when(self.given["multiplies"] > 0):
            shape = (self.active, columns, terms)
            write_product(self.f, self.element, shape, a, self.given["weight"], c, adds)

    def iterate(self) -> Iterator[tuple[Row, Value]]:
        """Write loops over the vectors of the active rows, the body once for whole vectors and once for the last ones:
        to store some lanes of a vector takes as long as a dozen instructions."""
        width = self.type.width
        whole = self.size - (self.size & (width - 1))
        with self.f.loop(self.active) as i:
            for first, last in ((0, whole), (whole, self.size)):
                with self.f.loop(last, first, step=width) as j:
                    yield Row(self, j.index, last is whole), i.index

    def add_outer(self, row: Value, dh: Value) -> None:
        """Write the sum of the cotangents of a state by the next step and from outside."""
        f, outer, number = self.f, self.place("outer", row, self.size), Type(self.element)
        with f.when(self.given["has_outer"] > 0), f.loop(self.rows * self.size) as i:
            f.store(f.load(dh, number, i.index) + f.load(outer, number, i.index), dh, i.index)

    def keep_ended(self, before: Value, after: Value) -> None:
        """Write the copies of what sequences that have ended keep."""
        f, size, number = self.f, self.size, Type(self.element)
        with f.loop(self.rows * size, self.active * size) as rest:
            f.store(f.load(before, number, rest.index), after, rest.index)


class Row:
    """Vectors of the entries of a row from `index` on: the last one, if it is not whole, has those inside."""

    def __init__(self, layer: Layer, index: Value, is_whole: bool):
        self.f, self.type, self.index = layer.f, layer.type, index
        self.inside = None if is_whole else self.f.lanes_below(layer.size - index, self.type.width)

    def load(self, pointer: Value, begin: Value | int) -> Value:
        at = self.index + begin
        if self.inside is None:
            return self.f.load(pointer, self.type, at)
        return self.f.load_masked(pointer, self.inside, self.type, at)

    def store(self, value: Value, pointer: Value, begin: Value) -> None:
        if self.inside is None:
            self.f.store(value, pointer, begin + self.index)
        else:
            self.f.store_masked(value, pointer, self.inside, begin + self.index)


def run_steps(
    build: Callable[..., Function],
    times: range,
    counts: np.ndarray,
    weight: np.ndarray,
    arrays: Sequence[np.ndarray | None],
    sizes: tuple[int, int],
    multiply: Callable[[int, int], None],
    back: bool = False,
) -> bool:
    """Run the loop that `build` writes, which fills some of `arrays`; return whether machine code has done so, which
    NumPy is to do else.

    `sizes` are the number of sequences and the size of their states, `counts` how many sequences take each step; weight
    (size, gates·size), or (gates·size, size) on the way back, is what the rows of a step are multiplied with: by
    `multiply`(time, count), before a step or after one on the way back, where BLAS is faster. An array that is None is
    not read; it is the cotangents from outside.
    """
    steps, (batch, size) = len(times), sizes
    if weight.dtype not in ELEMENTS or engine.mode() == "never":
        return False
    run = ask_kernel(steps * (RECURRENT_STEP_TIME + STATE_TIME * batch * size), build, weight.dtype)
    if run is None:
        return False
    multiplies = size <= RECURRENT_STATE
    effort = STATE_TIME * batch * size * (steps if multiplies else 1)
    effort += PRODUCT_TIME * steps * batch * weight.size * multiplies
    units = -(-batch // ROWS)
    crew = Crew(run, units, 4 * effort)
    pointers = [0 if v is None else address(v) for v in arrays]
    has_outer = int(all([v is not None for v in arrays]))
    if multiplies:
        panels = pack_columns(weight)  # which lives as long as this
        numbers = (steps, size, batch, times.start, times.step, 1, has_outer)
        crew(0, units, *numbers, address(counts), address(panels), *pointers)
        return True
    for k in range(steps)[:: -1 if back else 1]:
        t, n = times[k], int(counts[k])
        if not back:
            multiply(t, n)
        crew(0, units, 1, size, batch, t, times.step, 0, has_outer, address(counts, k), 0, *pointers)
        if back:
            multiply(t, n)
    return True
