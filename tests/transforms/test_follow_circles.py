"""Loops of Python in functions under `jit(control="follow")` run as one loop of compiled code: for any number of steps,
with derivatives of all orders, and without Python."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine
from fxgrad.transforms.follow import program

from .test_follow import check_equal, follow, paths


def root(a: Any, _: Any) -> Any:
    x = a + 1
    while fnp.abs(x * x - a) > 1e-13 * a:
        x = 0.5 * (x + a / x)
    return x


def walk(x: Any, n: Any) -> Any:
    """Loops in a loop, with every kind of exit."""
    total, i = x * 0, 0
    while True:
        i += 1
        if i > n:
            break
        if fnp.sin(x + i) > 0.3:
            total = total + fnp.cos(x * i)
            continue
        for _ in range(3):
            total = total - 0.01 * total * x
            if total > 2:
                break
        else:
            total = total + 0.01
    return total


def descend(x: Any, n: Any) -> Any:
    """A line search in every step, over arrays."""
    a, point, k = fnp.stack([x, 1 + x * x, 3.0]), fnp.stack([x, -x, x]), 0
    while k < n:
        value, slope, step = fnp.sum(a * point**2), 2 * a * point, 1.0
        while fnp.sum(a * (point - step * slope) ** 2) > value - 0.5 * step * fnp.sum(slope**2):
            step = step / 2
            if step < 1e-9:
                break
        point, k = point - step * slope, k + 1
    return fnp.sum(point) + k


def halve(x: Any, n: Any) -> Any:
    """Bisection: which side is kept depends on the sign."""
    low, high, steps = x * 0, x + 5, 0
    while steps < n and high - low > 1e-12:
        middle = (low + high) / 2
        if middle**3 + middle > x:
            high = middle
        else:
            low = middle
        steps += 1
    return (low + high) / 2 + 0.1 * x * steps


PROGRAMS = [root, walk, descend, halve]


def count_lines(function: Any) -> int:
    """How many lines of this file a function runs."""
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line" and frame.f_code.co_filename == __file__
        return trace if frame.f_code.co_filename == __file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("function", PROGRAMS)
def test_other_numbers_of_steps_run_without_python(function: Any):
    jitted = follow(function)
    for n in (500, 300, 500):
        check_equal(jitted(0.3, n), function(np.float64(0.3), n))
    known = paths(jitted)
    assert known < 40
    assert count_lines(lambda: jitted(0.3, 400)) <= 1  # that of the lambda here
    check_equal(jitted(0.3, 400), function(np.float64(0.3), 400))
    assert paths(jitted) == known


@pytest.mark.parametrize("function", PROGRAMS)
def test_derivatives(function: Any):
    jitted = follow(function)
    jitted(0.3, 200)

    def of(f: Any) -> Any:
        return lambda x: f(x, 90)

    for derivative in (
        fx.value_and_grad,
        lambda f: lambda x: fx.jvp(f, (x,), (1.0,)),
        lambda f: fx.grad(fx.grad(f)),
        lambda f: fx.jacfwd(fx.grad(f)),
    ):
        found, wanted = derivative(of(jitted))(0.3), derivative(of(function))(0.3)
        for one, other in zip(fx.tree.leaves(found), fx.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["always", "never"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_a_program_that_is_called_often(function: Any, mode: str, monkeypatch: Any):
    """Where there is machine code, it runs from its start to its end; ways that are new then are still learned."""
    monkeypatch.setattr(program, "FOLLOWED_TURNS", 4)
    monkeypatch.setattr(engine, "mode", lambda: "never" if find_spec("llvmlite") is None else mode)
    jitted = follow(function)
    for k in range(24):
        x, n = 0.2 + 0.01 * (k % 5), 12 + k % 3
        check_equal(jitted(x, n), function(np.float64(x), n))
    for x, n in ((2.5, 3), (0.01, 0), (2.5, 30)):
        check_equal(jitted(x, n), function(np.float64(x), n))
    np.testing.assert_allclose(fx.grad(jitted)(0.2, 12), fx.grad(function)(0.2, 12), rtol=1e-9, atol=1e-9)


def test_ways_are_counted_in_loops_too():
    jitted = follow(walk)
    for n in (200, 200):
        jitted(0.3, n)
    before = {way: way.times for program in jitted.cache.values() for way in program.ways()}
    jitted(0.3, 150)
    rounds = [way.times - before[way] for way in before if way.times - before[way] > 20]
    assert sum(rounds) > 300


def test_a_loop_knows_where_integers_of_python_would_wrap_around():
    def grow(x: Any) -> Any:
        n = 1
        while n < x:
            n = n + 3_000_000
        return n

    jitted = follow(grow)
    assert jitted(1e9) == grow(1e9)
    with pytest.raises(fx.UnsupportedError, match="wraps around"):
        jitted(1e10)


def test_entries_of_a_batch_are_not_decided_together():
    jitted = follow(root)
    for _ in range(20):
        jitted(3.0, 0)
    with pytest.raises(fx.ConcretizationError, match="split"):
        fx.vmap(jitted, (0, None))(np.array([2.0, 3.0]), 0)


def test_errors_in_a_loop_name_the_line():
    def collect(x: Any, table: Any) -> Any:
        total, k = x * 0, 0
        while k < x:
            total = total + fnp.linalg.inv(table - k * np.eye(2))[0, 0]
            k = k + 1
        return total

    jitted = follow(collect)
    regular = np.array([[0.5, 1.0], [1.0, 0.5]])
    for x in (300.0, 100.0):
        check_equal(jitted(x, regular), collect(x, regular))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        jitted(100.0, 20 * np.eye(2))
