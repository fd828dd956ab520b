"""Random numbers as machine code: Philox4x64-10, as in `kernels.philox`, and functions of its words. All words, and all
numbers linear in them, are equal to the last bit.

    stream(first, last, count, keys, out)          chunks of the streams of keys: words, or numbers made of them
    fold(first, last, keys, data, out)             the children of keys for as many integers
    log_gamma(first, last, count, keys, a, out)    logarithms of gamma variables of these shapes
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Sequence

import numpy as np

from ...core.costs import DRAW_TIME, KEY_TIME, NUMBER_TIME, REJECTION_TIME, WORD_TIME
from .. import philox
from . import engine, math
from .ir import F64, I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .math.formats import guard
from .processor import vector_bytes
from .threads import Crew

CHUNK = 1024  # words that are made before they become numbers
LAWS: dict[str, Callable[[Value], Value]] = {
    "fraction": lambda words: as_double(words.logical_shift(11)) * 2.0**-53,
    "unit": lambda words: as_double(words.logical_shift(12)) * 2.0**-52 + 2.0**-53,
    "normal": lambda words: math.apply("normal_quantile", LAWS["unit"](words)),
}


def as_double(words: Value) -> Value:
    return words.function.cast("sitofp", words, words.type.of("double"))


def multiply_wide(x: Value, factor: int) -> tuple[Value, Value]:
    """Return the upper and the lower 64 bits of a product of unsigned numbers."""
    f, wide = x.function, Type("i128")
    y = f.emit(f"mul i128 {f.cast('zext', x, wide).text}, {factor}", wide)
    high = f.emit(f"lshr i128 {y.text}, 64", wide)
    return f.cast("trunc", high, I64), f.cast("trunc", y, I64)


def write_block(key: Value, domain: int, counter: Sequence[Value | int]) -> list[Value]:
    """Write the four words of a block of Philox for a counter of three words; the fourth is 0."""
    f = key.function
    a, b, c = (v if isinstance(v, Value) else f.constant(v, I64) for v in counter)
    d, other = f.constant(0, I64), f.constant(domain, I64)
    m, n = philox.MULTIPLIERS
    for turn in range(philox.ROUNDS):
        if turn:
            key, other = key + philox.WEYL[0], other + philox.WEYL[1]
        (high, low), (up, down) = multiply_wide(c, n), multiply_wide(a, m)
        a, b, c, d = high ^ b ^ key, low, up ^ d ^ other, down
    return [a, b, c, d]


def chunk_count(count: int) -> int:
    """Return the number of chunks of a stream."""
    return -(-count // CHUNK)


def stream_function(name: str, element: str, domain: int, law: str) -> Function:
    """Return the function of streams of words, or of numbers of a law."""
    f = Function(name, [I64, I64, I64, PTR, PTR], inline=False)
    begin, end, count, keys, out = f.arguments
    chunks = (count + (CHUNK - 1)) / CHUNK
    with f.loop(end, begin) as each:
        number = each.index / chunks
        key, start = f.load(keys, I64, number), (each.index - number * chunks) * CHUNK
        size = (count - start).intrinsic("smin", f.constant(CHUNK, I64))
        here = f.place(out, number * count + start, "i64")
        first = start.logical_shift(2) + 1
        with f.loop(size.logical_shift(2)) as whole:
            for k, word in enumerate(write_block(key, domain, (first + whole.index, 0, 0))):
                f.store(word, here, (whole.index << 2) + k)
        rest, done = size & 3, size & -4
        with f.when(rest > 0):
            words = write_block(key, domain, (first + size.logical_shift(2), 0, 0))
            for k, word in enumerate(words[:3]):
                with f.when(rest > k):
                    f.store(word, here, done + k)
        if law in LAWS:
            width = vector_bytes() // 8
            type = Type("i64", width)
            with f.loop(size, step=width) as numbers_of:
                inside = f.lanes_below(size - numbers_of.index, width)
                words_there = f.load_masked(here, inside, type, numbers_of.index)
                f.store_masked(LAWS[law](words_there), here, inside, numbers_of.index)
    return f


def write_log_gamma(key: Value, index: Value, a: Value) -> Value:
    """Write a sample for the entry `index` of a key, with the method of `kernels.sampling`: Marsaglia and Tsang, "A
    simple method for generating gamma variables" (2000)."""
    f = key.function
    usual = (a > 0.0) & (a < numbers.inf)
    shape = guard(~usual, 1.0, a)
    boosted = shape < 1.0
    d = boosted.select(shape + 1.0, shape) - 1 / 3
    with f.cycle([f.constant(0, I64), f.constant(0.0, F64), f.constant(1, Type("i1"))]) as loop:
        turn, sample, pending = loop.carry
        loop.go_on_if(pending)
        words = write_block(key, philox.DRAW, (index + 1, 0, turn))
        normal, trial, boost = (LAWS["unit"](word) for word in words[:3])
        x = math.apply("normal_quantile", normal)
        y = x / (d * 9.0).intrinsic("sqrt")
        possible = y > -1.0
        y = guard(~possible, 0.0, y)
        log_v = math.apply("log1p", y) * 3.0
        bound = x * x * 0.5 + d * (log_v - y * (3.0 + y * (3.0 + y)))
        accepted = possible & (math.apply("log", trial) < bound)
        small = math.apply("log", guard(~boosted, 1.0, boost)) / shape
        sample = math.apply("log", d) + log_v + boosted.select(small, 0.0)
        loop.update(turn + 1, sample, ~accepted)
    _, sample, _ = loop.carry
    end = a.equals(0.0).select(-numbers.inf, a.equals(numbers.inf).select(a, numbers.nan))
    return usual.select(sample, end)


def log_gamma_function(name: str, element: str) -> Function:
    """Return the function of samples of the logarithms of gamma variables."""
    f = Function(name, [I64, I64, I64, PTR, PTR, PTR], inline=False)
    first, last, count, keys, shapes, out = f.arguments
    with f.loop(last, first) as entry:
        number = entry.index / count
        key, place = f.load(keys, I64, number), entry.index - number * count
        f.store(write_log_gamma(key, place, f.load(shapes, F64, entry.index)), out, entry.index)
    return f


def fold_function(name: str, element: str) -> Function:
    """Return the function of the children of keys."""
    f = Function(name, [I64, I64, PTR, PTR, PTR], inline=False)
    first, last, keys, data, out = f.arguments
    with f.loop(last, first) as each:
        key, number = (f.load(p, I64, each.index) for p in (keys, data))
        f.store(write_block(key, philox.FOLD, (1, number, 0))[0], out, each.index)
    return f


# -- on arrays ------------------------------------------
def draw(keys: np.ndarray, domain: int, count: int, law: str | None = None) -> np.ndarray | None:
    """Return `count` words, or numbers of a law, for each of n keys as [n, count]; None if NumPy is to draw them."""
    n = len(keys)
    if not n or not count or engine.mode() == "never":
        return None
    cost = min(n * KEY_TIME, DRAW_TIME) + n * count * (WORD_TIME + NUMBER_TIME * (law in LAWS))
    run = ask_kernel(cost, stream_function, np.dtype(float), domain, law or "bits")
    if run is None:
        return None
    keys = np.ascontiguousarray(keys)
    out = np.empty((n, count), float if law in LAWS else np.uint64)
    chunks = n * chunk_count(count)
    Crew(run, chunks, cost)(0, chunks, count, keys.ctypes.data, out.ctypes.data)
    return out


def fold(keys: np.ndarray, data: np.ndarray) -> np.ndarray | None:
    """Return the children of keys for the same number of 64-bit integers, or None as in `draw`."""
    if not keys.size or engine.mode() == "never":
        return None
    run = ask_kernel(DRAW_TIME + WORD_TIME * keys.size, fold_function, np.dtype(float))
    if run is None:
        return None
    keys, data = np.ascontiguousarray(keys), np.ascontiguousarray(data)
    out = np.empty(keys.shape, np.uint64)
    work = Crew(run, keys.size, WORD_TIME * keys.size)
    work(0, keys.size, keys.ctypes.data, data.ctypes.data, out.ctypes.data)
    return out


def draw_log_gamma(keys: np.ndarray, shapes: np.ndarray) -> np.ndarray | None:
    """Return a sample for each entry of `shapes`, whose leading axes are those of the keys, or None as in `draw`."""
    n = keys.size
    if not shapes.size or shapes.dtype != np.float64 or engine.mode() == "never":
        return None
    run = ask_kernel(DRAW_TIME + shapes.size * REJECTION_TIME, log_gamma_function, np.dtype(float))
    if run is None:
        return None
    out = np.empty(shapes.shape)
    keys, shapes = (np.ascontiguousarray(v) for v in (keys, shapes))
    work = Crew(run, shapes.size, REJECTION_TIME * shapes.size)
    work(0, shapes.size, shapes.size // n, keys.ctypes.data, shapes.ctypes.data, out.ctypes.data)
    return out
