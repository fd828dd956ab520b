"""`jit(control="follow")`: compiled code takes the ways that Python takes, and computes what Python computes."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from typing import Any

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.transforms.follow import program

from .follow_programs import make_program

follow = functools.partial(fx.jit, control="follow")


def paths(function: Any) -> int:
    """How many ways have been staged, for all kinds of arguments."""
    return sum(program.paths for program in function.cache.values())


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"


def check_same(function: Any, *cases: Any, max_paths: int = 64) -> Any:
    """Check the function jitted against itself, for each value; return the jitted one."""
    jitted = follow(function, max_paths=max_paths)
    for case in cases:
        args = case if isinstance(case, tuple) else (case,)
        check_equal(outcome(jitted, *args), outcome(function, *map(np.float64, args)))
    return jitted


def check_equal(result: Any, wanted: Any) -> None:
    assert fx.tree.structure(result) == fx.tree.structure(wanted)
    for one, other in zip(fx.tree.leaves(result), fx.tree.leaves(wanted)):
        if isinstance(other, str):
            assert one == other
        else:
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# -- random programs ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, monkeypatch: Any):
    monkeypatch.setattr(program, "FOLLOWED_TURNS", 1 if seed % 2 else 4)
    text, function = make_program(seed, fnp.sin)
    random = np.random.default_rng(seed)
    jitted = check_same(function, *[tuple(random.uniform(-3, 3, 2)) for _ in range(6)], max_paths=400)
    if seed % 6 == 0:
        x, y = random.uniform(-3, 3, 2)
        if not isinstance(outcome(function, x, y), str):

            def total(f: Any) -> Any:
                return lambda x: sum(fx.tree.leaves(f(x, y)))

            np.testing.assert_allclose(
                fx.grad(total(jitted))(x), fx.grad(total(function))(x), rtol=1e-8, err_msg=text
            )


# -- loops -------------------------------------------------------------------------------------------------------
def newton(a):
    x = a
    while abs(x * x - a) > 1e-10 * a:
        x = 0.5 * (x + a / x)
    return x


def bisect(c):
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle * middle > c:
            high = middle
        else:
            low = middle
    return low


def count(x):
    n = 0
    while x > 1e-3 and n < 200:
        x = x / 2
        n += 1
    return x, n


def sum_below(n):
    total = 0.0
    for i in range(int(n) if n < 0 else 1000):
        if i >= n:
            break
        total = total + i
    return total


def sum_down(x):
    for i in range(30, 0, -3):
        if x > 100:
            break
        x = x + i
    return x


@pytest.mark.parametrize(
    ("function", "cases", "more"),
    [
        (newton, (2.0, 1.0, 50.0), (3.0, 1e6, 1e-4)),
        (bisect, (2.0, 3.0, 50.0, 51.0, 99.0, 1000.0), (77.0, 1234.0)),
        (count, (2.0, 1e-4, 1e300), (1e20, 7.0)),
        (sum_below, (50.0,), (10.0, 100.0, 300.0)),
        (sum_down, (1.0, 200.0, 50.0, -200.0), (-150.0, 30.0)),
    ],
)
def test_other_numbers_of_rounds_stage_nothing(function: Any, cases: Any, more: Any):
    jitted = check_same(function, *cases)
    known = paths(jitted)
    for case in more:
        check_equal(jitted(case), function(np.float64(case)))
    assert paths(jitted) == known < 16


def test_range_of_a_traced_bound():
    def total(n, step):
        result = 0.0
        for i in range(0, n, step):
            result = result + i
        return result

    jitted = follow(total)
    for n, step in itertools.product((0, 3, 20, -4), (1, 3, -2, 0)):
        check_equal(outcome(jitted, n, step), outcome(total, n, step))


# -- other transforms --------------------------------------------------------------------------------------------
def split_by_sign(x):
    return fnp.sin(x) * x if x > 0 else x**3


def test_derivatives():
    jitted = follow(newton)
    for derivative in (
        fx.grad,
        fx.hessian,
        lambda f: fx.grad(fx.grad(f)),
        lambda f: fx.jit(f, control="follow"),
    ):
        check_equal(derivative(jitted)(2.0), derivative(newton)(2.0))
    check_equal(fx.jvp(jitted, (2.0,), (1.0,)), fx.jvp(newton, (2.0,), (1.0,)))
    check_equal(fx.vjp(jitted, 2.0)[1](1.0), fx.vjp(newton, 2.0)[1](1.0))
    check_equal(fx.grad(follow(fx.grad(newton)))(2.0), fx.grad(fx.grad(newton))(2.0))


def test_vmap_names_what_splits():
    jitted, values = follow(newton), np.array([1.0, 2.0, 1e5])
    with pytest.raises(fx.ConcretizationError, match='control="split"'):
        fx.vmap(jitted)(values)
    check_equal(fx.vmap(jitted, control="split")(values), np.sqrt(values))


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: fx.lax.cond(x > 1, lambda v: v * 2, lambda v: v, x),
        lambda x: fx.lax.fori_loop(0, 3, lambda i, v: v * 2, x),
        lambda x: fx.lax.while_loop(lambda v: v < 50, lambda v: v * v + 1, x, max_steps=20),
        fx.grad(lambda v: v**3),
        fx.checkpoint(fnp.sin),
        fx.jit(fnp.cos),
        follow(newton),
    ],
)
def test_transforms_inside(inner: Any):
    def function(x):
        return inner(x) if x > 0.5 else -inner(x + 3)

    jitted = check_same(function, 2.0, 0.25, 1.0)
    check_equal(fx.grad(jitted)(0.75), fx.grad(function)(0.75))


@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="there each number of rounds of the inner loop is a path"
)
def test_follow_inside_follow_shares_loops():
    inner = follow(newton)
    jitted = check_same(lambda x: inner(x) + 1 if x > 1 else x, 2.0, 0.5, 50.0, 1e8)
    known = paths(jitted)
    jitted(1e12)
    assert paths(jitted) == known


def test_an_outer_jit_says_what_it_needs():
    with pytest.raises(fx.ConcretizationError, match="where"):
        fx.jit(follow(split_by_sign))(2.0)


def test_values_of_an_outer_level_are_not_kept():
    held = [1.0]
    jitted = follow(lambda x: x * held[0] if x > 0 else held[0] * held[0])

    def loss(w):
        held[0] = w
        return jitted(2.0) + jitted(-1.0)

    check_equal([fx.grad(loss)(3.0), fx.grad(loss)(5.0)], [8.0, 12.0])


# -- effects, keys, options --------------------------------------------------------------------------------------
def test_effects_are_in_order_and_once():
    seen: list[float] = []

    def function(x):
        while x > 1:
            fx.debug.callback(lambda v: seen.append(float(v)), x)
            x = x / 2
        fx.debug.callback(lambda v: seen.append(float(v)), -x)
        return x

    jitted = follow(function)
    for f, value in itertools.product((lambda f: f, fx.grad), (8.0, 20.0, 3.0, 8.0)):
        seen.clear()
        f(function)(value)
        wanted = [*seen]
        seen.clear()
        f(jitted)(value)
        assert seen == wanted


def test_keys():
    def walk(key, x):
        n = 0
        while x < 3:
            key, sub = fx.random.split(key)
            x = x + fx.random.uniform(sub)
            n += 1
        return x, n

    jitted = follow(walk)
    for seed in range(5):
        check_equal(jitted(fx.random.key(seed), 0.0), walk(fx.random.key(seed), np.float64(0)))


def test_options():
    jitted = follow(lambda x, n: x * n if x > n else x - n, static_argnums=1)
    assert (jitted(3.0, 1), jitted(3.0, 5)) == (3.0, -2.0)
    with fx.disable_jit():
        check_equal(follow(newton)(2.0), newton(np.float64(2.0)))
    with pytest.raises(ValueError, match="control"):
        fx.jit(newton, control="split")
    with pytest.raises(fx.UnsupportedError, match="lower"):
        follow(newton).source(2.0)

    class Model:
        scale = 2.0

        @fx.jit(control="follow", static_argnums=0)
        def apply(self, x):
            return x * self.scale if x > 0 else x

    assert (Model().apply(2.0), Model().apply(-2.0)) == (4.0, -2.0)


def test_structures_differ_by_way():
    check_same(lambda x: {"a": x} if x > 0 else (x, x) if x < -1 else None, 1.0, -2.0, -0.5, 3.0)


def test_arrays():
    def scale(a):
        return a * 2 if a.sum() > 0 else fnp.zeros(int(a[0] + 5))

    jitted = follow(scale)
    for array in (np.arange(3.0), -np.arange(3.0), 1 - np.arange(4.0)):
        check_equal(jitted(array), scale(array))
    with pytest.raises(ValueError, match="ambiguous"):
        follow(lambda a: a if a > 0 else -a)(np.arange(3.0))


def test_exceptions_pass():
    class OwnError(Exception):
        pass

    def function(x):
        if x > 0:
            raise OwnError
        return x

    jitted = follow(function)
    for _ in range(2):
        with pytest.raises(OwnError):
            jitted(1.0)
        assert jitted(-1.0) == -1.0


def test_an_interrupt_leaves_known_ways():
    interrupts = [KeyboardInterrupt()]

    def function(x):
        if x > 0:
            return x * 2
        if interrupts:
            raise interrupts.pop()
        return x

    jitted = follow(function)
    assert jitted(1.0) == 2.0
    with pytest.raises(KeyboardInterrupt):
        jitted(-1.0)
    assert (jitted(2.0), jitted(-1.0)) == (4.0, -1.0)


def test_threads_stage_different_ways():
    jitted, results = follow(split_by_sign), {}
    values = [1.0, -1.0, 2.0, -2.0, 0.5, -0.5]
    threads = [threading.Thread(target=lambda v=v: results.__setitem__(v, jitted(v))) for v in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_equal([results[v] for v in values], [split_by_sign(np.float64(v)) for v in values])


# -- functions that are not pure, and those with too many ways -----------------------------------------------------
def test_a_function_that_is_not_pure():
    state = iter(range(10))

    def by_number(x):
        y = x * next(state)
        return y if x > 0 else -y

    def by_decision(x):
        y = x + 1 if next(state) % 2 else x
        if y > 0:
            return y
        return fnp.sin(y) if x < -1 else y

    for function in (by_number, by_decision):
        jitted = follow(function)
        jitted(1.0)
        with pytest.raises(fx.ImpureFunctionError, match="function") as caught:
            jitted(-3.0)
        assert "test_follow.py" in str(caught.value)


def test_too_many_paths():
    jitted = follow(lambda x: x * int(x), max_paths=4)
    with pytest.raises(fx.TooManyPathsError, match="max_paths=4"):
        for n in range(6):
            jitted(float(n))
    assert jitted(1.0) == 1.0


def test_a_number_that_would_wrap_around():
    def function(x):
        n = 0
        while x > 0:
            x = x - 1
            n = n + 1 if x > 2 else n * n + n
        return 1.0 * n

    jitted = follow(function, max_paths=200)
    check_equal(jitted(14.0), function(14.0))
    with pytest.raises(fx.UnsupportedError, match="wrap"):
        jitted(50.0)
