"""What a state of a program has to tell apart under `jit(control="follow")`."""

from __future__ import annotations

import functools
import types
from collections import deque
from typing import Any

import numpy as np
import pytest

import fxgrad.numpy as fnp
from fxgrad.transforms.follow import operands, program

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


def written_into(x, y):
    a, n = fnp.zeros(3) + x, 0
    row = a[1:]
    while n < 6 and x > 0:
        a[n % 3] = a[0] * y + n
        row[1] += x
        x = x - 0.5
        n += 1
    return a, row


def of_roots(x, y):
    while x > 1.5:
        x = fnp.sqrt(x)
    root = fnp.sqrt(x * x + y * y)
    while root > y:
        root = root - fnp.square(root) / 7
    return x, root


def of_views(x, y):
    a = fnp.stack([x, y, x + y])
    column = a[:, None].T
    while column[0, 0] < 9:
        column = (column + 1)[::-1]
        a = column[0][1:]
    return a, column


def indexed(x, y):
    array, total, found = fnp.arange(6.0) * x, 0.0, 0
    for i in range(20):
        if total > 60 or i > 12:
            break
        try:
            total = total + array[i] + array[-i]
        except IndexError:
            total, found = total + y, found + 1
    for i in range(5, -1, -1):
        if array[i] > y:
            total = total + array[i]
    return total, found


def listed_by_number(x, y):
    table, rows, total = [1.0, 0.5, 2.0, 0.25], ((x, y), (y, x)), x
    for i in range(8):
        if total < 50:
            total = total * table[i % 4] + rows[i % 2][0]
    return total


def bounded(x, y):
    n = 0
    while x < 30 and n < 12:
        x = x * min(max(0.5 * y, 1.1), 2.0) + max((x, y, 0.3), key=lambda v: -v)
        n += 1
    return x, min([y, x, 1.0]), max(n, 3), min((), default=x)


def in_expressions(x, y):
    def halved(v):
        n = 0
        while v > y:
            v = v / 2
            n += 1
        return v + n

    n = 0
    while n < 6 and x < 100:
        x = x + n * halved(x + n) + shifted(x)
        n += 1
    return x


def shifted(v):
    if v > 2:
        return bounded_below(v - 1)
    return v


def bounded_below(v):
    return v if v > 0.5 else 0.5


def changed_meanwhile(x, y):
    n = 1.0

    def step(v):
        nonlocal n
        n = n + 1
        return v if v > y else -v

    while x < 20:
        x = x + n + step(x) * 0 + n * 1.0
    return x, n


class Counter:
    def __init__(self, place):
        self.place, self.rounds = place, 0

    def run(self, bound):
        for i in range(10):
            if self.place > bound:
                break
            self.place = self.place + 0.5 * i
            self.rounds += 1
        return self


def counted(x, y):
    counter = Counter(x).run(y)
    return counter.place, counter.run(y + 5).rounds


def generated_in_loops(x, y):
    def rounds(v):
        while v > y:
            v = v - 1
            yield v

    total, n = 0.0, 0
    for v in rounds(x):
        total = total + v if v > 1 else total - v
        n += 1
    return total, n


def within_blocks(x, y):
    with np.errstate(all="ignore"):
        while x > y:
            x = x - 1
    return x


def with_namespaces(x, y):
    settings = types.SimpleNamespace(rate=0.5, seen=0)
    while x > y:
        x = x - settings.rate
        settings.seen += 1
    return x, settings.seen


def over_lists(x, y):
    total = 0.0
    for v in [x, y, x + y, x - y, 2 * x, 3 * y, x * y]:
        if v > 1:
            total = total + v
        else:
            total = total - 0.5 * v
    for i, (a, b) in enumerate(zip((x, y, x, y, x), [1.0, 2.0, 3.0, 4.0, 5.0])):
        total = total + a if a < b else total - i * b
    for v in reversed([x, y, x + y]):
        total = total + (v if v > 2 else bounded_below(v))
    return total


def in_methods(x, y):
    class Walk:
        def __init__(self, place):
            self.place = place

        def run(self, bound):
            for i in range(12):
                if self.place > bound:
                    self.place = self.place - i
                else:
                    self.place = self.place + 0.5 * i
            return self.place

    walk = Walk(x)
    place = walk.run(y)
    return place


CASES = [(3.0, 2.0), (1.0, 2.0), (2.0, 3.0), (10.0, 1.0), (0.5, 0.5), (-1.0, 4.0), (40.0, 0.3)]


FUNCTIONS = [
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
    *(written_into, of_roots, of_views, indexed, listed_by_number, bounded, in_expressions),
    *(
        over_lists,
        in_methods,
        changed_meanwhile,
        counted,
        generated_in_loops,
        within_blocks,
        with_namespaces,
    ),
    *(with_numbers, with_division, with_growth, with_sets, with_slices),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_states(function: Any, monkeypatch: Any):
    monkeypatch.setattr(program, "FOLLOWED_TURNS", 1)  # loops at once
    check_same(function, *CASES, *CASES[::-1], max_paths=300)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_states_where_the_stack_is_not_read(function: Any, monkeypatch: Any):
    """As on Pythons whose layout is not known."""
    monkeypatch.setattr(operands, "IS_READABLE", False)
    check_same(function, *CASES, max_paths=300)


@pytest.mark.skipif(not operands.IS_READABLE, reason="the stack is not read: each way is one of its own")
@pytest.mark.parametrize(
    ("function", "most"),
    [(over_lists, 20), (in_methods, 30), (generated_in_loops, 8), (within_blocks, 6), (in_expressions, 40)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_ways_meet_again(function: Any, most: int):
    """Where operands are on the stack: iterators of loops, exits of blocks, parts of expressions."""
    random = np.random.default_rng(0)
    check_same(function, *[tuple(random.uniform(0.5, 5, 2)) for _ in range(40)], max_paths=most)
