"""What is shown of a function under `jit(control="follow")`, and what other tools make of it."""

from __future__ import annotations

import functools
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.graph import Graph

from .test_follow import check_equal, follow, newton, paths


def halve(x):
    n = 0
    while x > 1:
        x = x / 2 if x < 100 else x / 10
        n += 1
    return x, n


def test_the_tree_of_segments():
    jitted = follow(newton)
    segments = jitted.lower(2.0)  # which calls it
    known = paths(jitted)
    assert segments.times[id(segments.start)] == 1
    jitted(2.0)
    again = jitted.lower(3.0)
    assert paths(jitted) == known and str(segments) != str(again)
    lines = str(again).splitlines()
    assert lines[0] == "newton: 2 decisions, 4 segments"
    assert lines[1].startswith("start 2×") and "while abs(x * x - a) > 1e-10 * a:" in lines[1]
    assert "test_follow.py:" in lines[1]
    assert [line[:9] for line in lines[3:]] == ["├─ True 6", "└─ False "]
    assert lines[3].endswith("→ 2 (above)") and lines[4].endswith("→ end")
    assert set(again.graphs) == {(0, "start"), (1, "True"), (2, "True"), (2, "False")}
    assert all(type(graph) is Graph for graph in again.graphs.values())
    assert repr(again.graphs[2, "True"]) in again.as_text()


def test_the_tree_says_how_often():
    jitted = follow(halve)
    jitted(1000.0)
    before = jitted.lower(0.0)
    for _ in range(3):
        jitted(1000.0)
    counts = [dict(s.times) for s in (before, jitted.lower(0.0))]
    assert all(later - earlier == 3 * earlier for earlier, later in zip(*[c.values() for c in counts]))
    assert "int()" in str(follow(lambda x: x * int(x)).lower(2.0))


def test_the_picture():
    pytest.importorskip("graphviz")
    source = follow(newton).lower(2.0).draw().source
    assert "while abs(x * x - a) > 1e-10 * a:" in source and source.count("->") == 4
    assert "True" in source and "end" in source


def test_notebooks_show_it():
    (shown,) = follow(newton).lower(2.0)._repr_mimebundle_().values()
    assert "equations" in shown and "True" in shown


def test_checkpoint_of_a_followed_function():
    kept = fx.checkpoint(follow(halve))
    root = fx.checkpoint(follow(newton))
    check_equal([kept(5.0), kept(500.0)], [halve(np.float64(5)), halve(np.float64(500))])
    for derivative in (
        fx.grad,
        fx.hessian,
        lambda f: fx.grad(fx.grad(f)),
        lambda f: fx.jit(fx.grad(f), control="follow"),
    ):
        check_equal(derivative(root)(2.0), derivative(newton)(2.0))
    check_equal(fx.jvp(root, (2.0,), (1.0,)), fx.jvp(newton, (2.0,), (1.0,)))
    scaled = [3.0]
    closing = fx.checkpoint(
        follow(lambda x: fnp.sin(x) * scaled[0] if x > 0 else x), policy=lambda *a, **k: True
    )
    check_equal(fx.grad(closing)(2.0), 3 * np.cos(2.0))
    power = fx.checkpoint(follow(lambda x, n: x**n if x > n else x, static_argnums=1))
    check_equal([power(3.0, 2), fx.grad(lambda x: power(x, 2))(3.0)], [9.0, 6.0])
    check_equal(pickle.loads(pickle.dumps(root))(2.0), newton(2.0))


def test_a_checkpoint_keeps_less():
    def waves(x):
        n = 0
        while x.max() > 0.6:
            x = fnp.sin(fnp.sin(fnp.sin(fnp.sin(x))))
            n += 1
        return x.sum()

    x, held = np.linspace(0, 1, 100_000), []
    for function in (follow(waves), fx.checkpoint(follow(waves))):
        fx.vjp(function, x)
        tracemalloc.start()
        pull = fx.vjp(function, x)[1]
        held.append(tracemalloc.get_traced_memory()[0] / x.nbytes)
        tracemalloc.stop()
        del pull
    assert held[1] < 0.6 * held[0]


def test_effects_of_a_checkpoint_happen_once():
    seen: list[float] = []

    def function(x):
        while x > 1:
            fx.debug.callback(lambda v: seen.append(float(v)), x)
            x = x / 2
        return x

    fx.grad(fx.checkpoint(follow(function)))(4.0)
    assert seen == [4.0, 2.0]


def test_profiles_name_it():
    jitted = follow(newton)
    jitted(2.0)
    with fx.profile() as profile:
        jitted(3.0)
    assert "jit(newton)" in str(profile.table())
    with fx.profile() as profile:
        fx.grad(jitted)(3.0)
    assert "jit(newton)" in str(profile.table()) and "pullback" in str(profile.table())


def test_disable_jit_runs_python():
    seen: list[Any] = []

    def function(x):
        seen.append(type(x))
        return x if x > 0 else -x

    jitted = follow(function)
    with fx.disable_jit():
        assert jitted(np.float64(-2.0)) == 2.0
        assert fx.grad(jitted)(-2.0) == -1.0
    assert seen[0] is np.float64 and paths(jitted) == 0


def test_methods_jitted():
    class Walk:
        rate = 0.5

        @functools.partial(fx.jit, control="follow", static_argnums=0)
        def run(self, x):
            for i in range(50):
                if x > 20:
                    break
                x = x + i * self.rate
            return x

    walk, plain = Walk(), Walk.run.fun
    for x in (1.0, 19.0, -100.0, 30.0):
        check_equal(walk.run(x), plain(walk, np.float64(x)))
    assert paths(Walk.run) <= 4
