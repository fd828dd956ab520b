"""Loops write into rows and into arrays that are made once: what a step needs, or hands on, is never overwritten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
W = np.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7], [0.0, 0.4, 0.6]])
XS = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def in_python(step, state, xs, reverse=False):
    """The steps one after the other, on copies."""
    rows = []
    for x in xs[::-1] if reverse else xs:
        state, y = step(fx.tree.map(np.copy, state), x.copy())
        rows.append(fx.tree.map(np.copy, y))
    rows = rows[::-1] if reverse else rows
    return state, fx.tree.map(lambda *ys: np.stack(ys), *rows)


def strong(tree):
    """All leaves as arrays."""
    return fx.tree.map(np.asarray, tree)


STEPS = {
    "new carry beside the old": lambda s, x: (fnp.tanh(s[0] @ W + x), s[1] + s[0]),
    "carries change places": lambda s, x: (s[1] + x, s[0]),
    "carries go round": lambda s, x: (s[1], s[0] * x),
    "a view of the carry": lambda s, x: (s[1] * x, s[0][::-1]),
    "the carry as it is": lambda s, x: (s[0], s[1] + s[0]),
    "the carry twice": lambda s, x: (lambda v: (v, v))(s[0] * x + s[1]),
    "a carry and a view of it": lambda s, x: (lambda v: (v, v[::-1]))(s[0] * x + s[1]),
    "a row as the carry": lambda s, x: (x, s[0] * 2.0),
    "a constant as the carry": lambda s, x: (V, s[0] * s[1]),
    "chains": lambda s, x: (fnp.sin(fnp.cos(s[0] * x) + s[1]) * s[0], fnp.exp(-s[1] * s[1]) @ W),
    "two uses of a value": lambda s, x: (lambda v: (v * fnp.sin(v) + v, v - s[0]))(s[0] + x),
    "a view that is read late": lambda s, x: (lambda v: (v[::-1] * fnp.sin(v), fnp.cos(v) + v[::-1]))(
        s[0] + x
    ),
    "a product with itself": lambda s, x: ((s[0][:, None] * x) @ s[1], s[1] @ (s[0][:, None] * x)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(name, reverse):
    def step(state, x):
        new = STEPS[name](state, x)
        return new, (new[0], new[0] + new[1], state[0], new[1][::-1], fnp.sum(new[0]))

    expected = in_python(step, (V, V + 1.0), XS, reverse)

    def scan(state, xs):
        return lax.scan(step, state, xs, reverse=reverse)

    for run in (scan, fx.jit(scan)):
        xs, state = XS.copy(), (V.copy(), V + 1.0)
        found = run(state, xs)
        same(strong(found), strong(expected))
        same((xs, state), (XS, (V, V + 1.0)))


@pytest.mark.parametrize("name", STEPS)
def test_while_loops(name):
    def step(state):
        (a, b), i = state
        return STEPS[name]((a, b), XS[0] + i), i + 1

    state = (V.copy(), V + 1.0), 0
    expected = state
    for _ in range(4):
        expected = step(fx.tree.map(lambda v: v if isinstance(v, int) else np.copy(v), expected))
    found = lax.while_loop(lambda s: s[1] < 4, step, state)
    same(strong(found), strong(expected))
    same(state, ((V, V + 1.0), 0))


@pytest.mark.parametrize("name", STEPS)
def test_results_of_a_scan_are_the_callers_own(name):
    def step(state, x):
        new = STEPS[name](state, x)
        return new, new[0]

    results = fx.tree.leaves(fx.jit(lambda s, xs: lax.scan(step, s, xs))((V, V + 1.0), XS))
    for index, result in enumerate(results):
        kept = [np.copy(r) for r in results]
        result[...] = 7.0
        assert all(np.array_equal(a, b) for i, (a, b) in enumerate(zip(results, kept)) if i != index)


def test_what_the_user_was_shown_stays():
    seen = []

    def step(h, x):
        h = fnp.tanh(h + x)
        middle = h * 2.0
        fx.debug.callback(seen.append, middle)
        fx.debug.callback(seen.append, h)
        return fnp.cos(middle), middle + h

    lax.scan(step, V, XS)
    expected, h = [], V
    for x in XS:
        h = np.tanh(h + x)
        expected += [h * 2.0, h]
        h = np.cos(h * 2.0)
    same(seen, expected)


def test_calls_within_calls_do_not_meet():
    def inner(h, x):
        return lax.scan(lambda a, b: (fnp.sin(a + b), a * b), h, fnp.stack([x, h]))

    def inner_in_python(h, x):
        return in_python(lambda a, b: (np.sin(a + b), a * b), h, np.stack([x, h]))

    same(lax.scan(inner, V, XS), in_python(inner_in_python, V, XS))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i4", "u1", "?"])
def test_dtypes(dtype):
    xs = (XS * 3).astype(dtype)
    h = np.ones(3, dtype)

    def step(h, x):
        new = fnp.where(h > x, h * x, h + x) if dtype != "c8" else h * x
        return new, (new, fnp.abs(new) == 1)

    same(lax.scan(step, h, xs), in_python(step, h, xs), 1e-2 if dtype == "f2" else 1e-6)


def test_empty_loops_and_empty_arrays():
    same(lax.scan(lambda h, x: (h * x, h), V, XS[:0]), (V, np.zeros((0, 3))))
    same(lax.scan(lambda h, x: (h * x, h + 1.0), V[:0], XS[:, :0]), (V[:0], np.zeros((4, 0))))


def test_warnings_are_as_without_a_loop():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        lax.scan(lambda h, x: (h, 1.0 / (h * x)), np.zeros(3), XS)


UNARY = [
    fnp.sin,
    fnp.negative,
    lambda v: v[::-1],
    lambda v: v.reshape(3, 1)[:, 0],
    lambda v: v @ W,
    lambda v: v,
]
BINARY = [
    fnp.add,
    fnp.multiply,
    fnp.maximum,
    lambda a, b: fnp.where(a > b, a, b),
    lambda a, b: fnp.outer(a, b) @ a,
]


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_programs_of_random_steps(data):
    choose = lambda options: data.draw(st.sampled_from(options))  # noqa: E731
    plan = [(choose([*range(len(UNARY))]), choose([*range(len(BINARY))]), choose(range(64)), choose(range(64)))
            for _ in range(data.draw(st.integers(1, 6)))]  # fmt: skip
    ends, shown = [data.draw(st.lists(st.integers(0, 63), min_size=k, max_size=k)) for k in (2, 3)]

    def step(state, x):
        known = [*state, x]
        for unary, binary, i, j in plan:
            a, b = known[i % len(known)], known[j % len(known)]
            known.append(fnp.tanh(BINARY[binary](UNARY[unary](a), b)) if binary % 2 else UNARY[unary](a))
        return tuple(known[i % len(known)] for i in ends), tuple(known[i % len(known)] for i in shown)

    same(strong(lax.scan(step, (V, V + 1.0), XS)), strong(in_python(step, (V, V + 1.0), XS)), 1e-10)
