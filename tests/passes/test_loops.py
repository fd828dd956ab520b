"""Loops are passed what they need: random loops, with constants given twice and values that nobody reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.passes.loops import trim_loops
from fxgrad.passes.marks import drop_marks
from fxgrad.passes.table import optimize

X, P = np.array([0.5, -0.25]), np.array([0.7, 1.3, -0.4])
number = st.integers(0, 3)


@st.composite
def loops(draw):
    """A function of two vectors with a loop of four carried vectors, of whose results some are returned."""
    terms = [[(draw(number), draw(number)) for _ in range(draw(st.integers(0, 2)))] for _ in range(4)]
    returned = draw(st.lists(number, min_size=1, max_size=4))
    kind = draw(st.sampled_from(["scan", "reverse scan", "while", "bounded while"]))
    wrap = fx.checkpoint if draw(st.booleans()) else lambda f: f

    def program(x, p):
        def follow(state):
            new = [v * 0.5 for v in state]
            for i, pairs in enumerate(terms):
                for j, k in pairs:
                    new[i] = new[i] + fnp.sin(state[j]) * p[k % 3] + p[0]
            return new

        start = [x, 2 * x, x + 1, x - 1]
        if "while" in kind:
            most = 6 if kind.startswith("bounded") else None
            ends = lax.while_loop(
                lambda s: (s[0] < 4) & (fnp.sum(s[1] ** 2) < 1e3),
                lambda s: (s[0] + 1, *wrap(follow)(s[1:])),
                (0, *start),
                max_steps=most,
            )
            return [ends[k + 1] for k in returned]
        rows = np.arange(8.0).reshape(4, 2)
        ends, ys = lax.scan(
            lambda s, r: (wrap(follow)([s[0] + r, *s[1:]]), (s[1] * r, s[2], r)),
            start,
            rows,
            reverse="r" in kind[:1],
        )
        return [*(ends[k] for k in returned), *(ys[k % 3] for k in returned[1:])]

    return program


@given(loops())
@settings(max_examples=40, deadline=None)
def test_trimmed_loops_compute_the_same(program):
    graph = fx.make_graph(program)(X, P)
    expected = graph(X, P)
    for done in (drop_marks(graph), trim_loops(graph), optimize(graph)):
        done.check()
        assert [v.aval for v in done.outputs] == [v.aval for v in graph.outputs]
        for a, b in zip(done(X, P), expected):
            np.testing.assert_allclose(a, b, 1e-13)
    for a, b in zip(trim_loops(graph)(X, P), expected):
        assert a.tobytes() == b.tobytes()


@given(loops())
@settings(max_examples=15, deadline=None)
def test_derivatives_of_trimmed_loops_are_the_same(program):
    def tangents(x, p):
        return fx.jvp(program, (x, p), (p[:2], 2 * p))[1]

    for a, b in zip(fx.jit(tangents)(X, P), tangents(X, P), strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-13)


def only_loop(function, *operands):
    (equation,) = [e for e in trim_loops(fx.make_graph(function)(*operands)).equations if "body" in e.params]
    return equation


def test_what_nobody_reads_is_not_carried():
    def count(x, p):
        start = (0, x, x)
        return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * p[0] * p[0], s[1]), start)[0]

    loop = only_loop(count, X, P)
    assert (len(loop.inputs), len(loop.outputs)) == (1, 1)


def test_a_constant_is_passed_once():
    loop = only_loop(lambda x, p: lax.fori_loop(0, 3, lambda i, x: x * p[0] + p[0], x), X, P)
    assert loop.params["consts"] == 1


def test_effects_stay():
    seen = []

    def step(s):
        fx.debug.callback(seen.append, s[1])
        return s[0] + 1, s[1] * 2

    assert fx.jit(lambda x: lax.while_loop(lambda s: s[0] < 3, step, (0, x))[0])(1.0) == 3
    assert [float(v) for v in seen] == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("size", [3, 10_000])
def test_checkpoints_of_few_values_leave_no_equation(size):
    graph = fx.make_graph(lambda x: fx.checkpoint(lambda x: fnp.sin(fnp.sin(x)))(x) * 2)(np.ones(size))
    assert ("checkpoint" in [e.primitive.name for e in drop_marks(graph).equations]) is (size > 3)
