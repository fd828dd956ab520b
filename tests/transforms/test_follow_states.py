"""What a state of a program has to tell apart under `jit(control="follow")`."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import numpy as np
import pytest

import fxgrad.numpy as fnp
from fxgrad.transforms.follow import program

from .test_follow import check_same


def largest(x, y):
    return max(x, y, 1.0), sorted([y, x, 2.0]), x in [y, 1.0, x], (x, y) < (y, x)


def mapped(x, y):
    return list(map(lambda i: x * i if x > i else y, [1, 2, 1]))


def reduced(x, y):
    return functools.reduce(lambda p, q: p if p > q else q + 1, [x, y, x, y])


def drawn(x, y):
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    while x > 0:
        x = x - next(numbers, 10.0)
    return x


def generated(x, y):
    def halves(v):
        while v > 1:
            v = v / 2
            yield v

    return sum(halves(x)) + sum(v if v > 0 else -v for v in (x, y))


def queued(x, y):
    queue: deque[Any] = deque([1.0, 2.0, 3.0])
    while x > 0:
        queue.rotate()
        x = x - queue[0]
    return x, queue[0]


def seeded(x, y):
    random = np.random.default_rng(0)
    while x > 0:
        x = x - random.uniform()
    return x


def listed(x, y):
    found: list[Any] = []
    while x > 1:
        x = x / 2
        found.append(x if y > x else y)
    return found


def aliased(x, y):
    one = [0.0]
    other = one if x > y else [0.0]
    n = 0
    while n < 3 and x > -5:
        other[0] = other[0] + x
        n += 1
    return one[0], other[0]


def viewed(x, y):
    array = np.zeros(3)
    other = array[:] if x > y else np.zeros(3)
    if x + y > 0:
        other[1] = 1.0
    return array * x


def boxed(x, y):
    array = fnp.zeros(4)
    for i in range(4):
        if x > i:
            array[i] = x * y
    return array


def nonlocal_number(x, y):
    n = 0

    def step(v):
        nonlocal n
        n += 1
        return v / 2 if v > y else v - 1

    while x > 0.5:
        x = step(x)
    return x, n


def guarded(x, y):
    class Guard:
        entered = 0

        def __enter__(self):
            Guard.entered += 1

        def __exit__(self, *exc):
            self.entered += 1
            return True

    while x > 0:
        guard = Guard()
        with guard:
            x = x - 1
            if x > y:
                raise ValueError
            x = x - 0.5
    return x, Guard.entered


def finished(x, y):
    n = 0
    while x > 0:
        try:
            if x > y:
                continue
            x = x - 1
        finally:
            x = x - 1
            n = n + 2
    return x, n


def recursive(x, y):
    def product(v):
        return 1.0 if v < 1 else v * product(v - 1)

    def tree(depth, v):
        return v if depth == 0 or v < y else tree(depth - 1, v / 2) + tree(depth - 1, v - 1)

    return product(x), tree(3, x)


def comprehended(x, y):
    return [v if v > y else -v for v in (x, y, x + y)], {i: a for i, a in enumerate((x, y)) if a > 0}


def zipped(x, y):
    total = 0.0
    for i, (a, b) in enumerate(zip([x, y, x], [y, 1.0, 2.0])):
        total = total + (i * a if a > b else b)
    return total


def with_defaults(x, y, kept=[]):  # noqa: B006
    kept.clear()
    while x > 1:
        x = x / 2
        kept.append(1)
    return x * len(kept)


def with_objects(x, y):
    class Walker:
        steps = 0

        def __init__(self, place):
            self.place = place

        def step(self):
            self.place = self.place / 2
            Walker.steps += 1
            return self.place > y

    walker = Walker(x)
    while walker.step() and walker.steps < 20:
        pass
    return walker.place, Walker.steps


def with_own_range(x, y):
    def range(n):
        return [2, 1, 2]

    for i in range(3):
        if x > i:
            x = x - 1
    return x


def with_numbers(x, y):
    table, total, n, text = {i: i + 1.0 for i in range(12)}, x, 0, ""
    while total < 40 and n < 10:
        total = total + table[n] * (1 if isinstance(n, int) else 100)
        text = f"{n}"
        n += 1
    return total, len(text), [0.0] * n


def with_division(x, y):
    n = 6
    try:
        while x < 100:
            x = x + 1 / n + 2**n
            n -= 1
    except ZeroDivisionError:
        return x, "zero"
    return x


def with_growth(x, y):
    n = 1
    while x > 0:
        x = x - 0.25
        n = n * 3
    return 1.0 * n


def with_sets(x, y):
    seen: set[Any] = set()
    n = 0
    while x > 1:
        x = x / 2
        seen.add(n % 3)
        n += 1
    return len(seen) * x


def with_slices(x, y):
    numbers = [1.0, 2.0, 3.0, 4.0]
    return sum(numbers[int(abs(x)) : int(abs(x)) + 2])


CASES = [(3.0, 2.0), (1.0, 2.0), (2.0, 3.0), (10.0, 1.0), (0.5, 0.5), (-1.0, 4.0), (40.0, 0.3)]


@pytest.mark.parametrize(
    "function",
    [
        *(
            largest,
            mapped,
            reduced,
            drawn,
            generated,
            queued,
            seeded,
            listed,
            aliased,
            viewed,
            boxed,
            nonlocal_number,
        ),
        *(guarded, finished, recursive, comprehended, zipped, with_defaults, with_objects, with_own_range),
        *(with_numbers, with_division, with_growth, with_sets, with_slices),
    ],
    ids=lambda f: f.__name__,
)
def test_states(function: Any, monkeypatch: Any):
    monkeypatch.setattr(program, "FOLLOWED_TURNS", 1)  # loops at once
    check_same(function, *CASES, *CASES[::-1], max_paths=300)
