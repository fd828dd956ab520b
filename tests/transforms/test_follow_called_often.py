"""Functions under `jit(control="follow")` that are called often: each is one Graph, with machine code and without."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine
from fxgrad.transforms.follow import program

from .test_follow import check_equal, follow, paths

TABLE = np.arange(1.0, 5.0)


@pytest.fixture(params=["always", "never"], autouse=True)
def mode(request: Any, monkeypatch: Any) -> str:
    mode = "never" if find_spec("llvmlite") is None else request.param
    monkeypatch.setattr(engine, "mode", lambda: mode)
    monkeypatch.setattr(program, "FOLLOWED_TURNS", 3)
    return mode


def is_whole(function: Any) -> bool:
    """Whether what is known for arguments of the latest kind is one Graph."""
    return [*function.cache.values()][-1].whole is not None


def without_decision(x: Any) -> Any:
    return {"y": fnp.sin(x) * TABLE, "n": 3, "x": x}


def with_ends(x: Any) -> Any:
    """Several ends, of other structures, with numbers, what is handed through, and what is captured."""
    total = fnp.sum(x * TABLE)
    if total > 40:
        return x
    if total > 20:
        return {"twice": (x, x), "total": total}
    if total > 0:
        return x[1:], TABLE, 1.0
    return None


def with_steps(x: Any) -> Any:
    rounds, y = 0, x
    while fnp.sum(y) > 2:
        y = y / 2 if y[0] > 1 else y - 0.25
        rounds += 1
    return y, rounds, x


def in_place(x: Any) -> Any:
    y, sign = x + 0.0, 1.0
    for i in range(3):
        if y[i] > y[i + 1]:
            kept = y[i] + 0.0
            y[i] = y[i + 1]
            y[i + 1] = kept
            sign = -sign
    return y, sign, y[1:], y


FUNCTIONS = [without_decision, with_ends, with_steps, in_place]
ARGUMENTS = [
    s * np.array(v) for v in ([1.0, 2.0, 0.5, 1.0], [3.0, 0.5, 2.0, 1.0]) for s in (1.0, 2.0, 4.0, -1.0)
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_python_and_share_no_memory(function: Any, mode: str):
    jitted: Any = follow(function)
    for _ in range(8):
        for argument in ARGUMENTS:
            given, wanted = argument.copy(), function(argument.copy())
            result = jitted(given)
            check_equal(result, wanted)
            arrays = [leaf for leaf in fx.tree.leaves(result) if isinstance(leaf, np.ndarray)]
            for k, array in enumerate(arrays):
                assert not any(np.shares_memory(array, other) for other in (given, TABLE, *arrays[:k]))
                array[...] = 99.0  # which no later call sees
            np.testing.assert_array_equal(given, argument)
    assert is_whole(jitted) == (mode == "always" or function is without_decision)


@pytest.mark.parametrize("wrap", [lambda f: f, fx.checkpoint], ids=["", "checkpoint"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives(function: Any, wrap: Any):
    jitted: Any = wrap(follow(function))
    for argument in (*ARGUMENTS, *ARGUMENTS):
        jitted(argument)

    def total(f: Any) -> Any:
        return lambda x: sum([fnp.sum(leaf**2) for leaf in fx.tree.leaves(f(x))], fnp.sum(x))

    for argument in ARGUMENTS:
        for derivative in (fx.grad, fx.hessian, lambda f: lambda x: fx.jvp(f, (x,), (TABLE,))):
            check_equal(derivative(total(jitted))(argument), derivative(total(function))(argument))


@pytest.mark.parametrize("size", [3, 3000])
def test_arrays_closed_over_keep_their_values(size: int):
    table = np.arange(1.0, size + 1)

    def function(x: Any) -> Any:
        y = table * x
        while fnp.sum(y) > 10:
            y = y / 2
        return y, table

    wanted = [function(np.float64(v)) for v in (1.0, 7.0, 40.0)]
    wanted = fx.tree.map(np.copy, wanted)
    jitted: Any = follow(function)
    for k in range(6):
        found = [jitted(v) for v in (1.0, 7.0, 40.0)]
        check_equal(found, wanted)
        table[:] = -k  # which a function under jit does not see


def test_each_way_is_counted():
    jitted: Any = follow(with_steps)
    for _ in range(2):
        jitted(ARGUMENTS[0])
    before = dict(jitted.lower(ARGUMENTS[0]).times)
    for _ in range(20):
        jitted(ARGUMENTS[0])
    after = jitted.lower(ARGUMENTS[0]).times
    assert before and all(after[way] == 11 * times for way, times in before.items())


def test_a_way_that_is_new_is_learned_and_joins():
    jitted: Any = follow(with_ends)
    for _ in range(5):
        jitted(ARGUMENTS[0])
    known = paths(jitted)
    for _ in range(8):
        for argument in ARGUMENTS:
            check_equal(jitted(argument), with_ends(argument))
    assert known < paths(jitted) <= 4


def test_what_raises_is_no_path():
    def function(x: Any) -> Any:
        if x > 0:
            raise ValueError("positive")
        return x

    jitted: Any = follow(function, max_paths=3)
    for _ in range(10):
        with pytest.raises(ValueError, match="positive"):
            jitted(1.0)
        assert jitted(-1.0) == -1.0


def test_threads():
    jitted: Any = follow(with_steps)
    wanted, errors = [with_steps(argument) for argument in ARGUMENTS], []

    def call(start: int) -> None:
        try:
            for k in range(start, start + 40):
                check_equal(jitted(ARGUMENTS[k % len(ARGUMENTS)]), wanted[k % len(ARGUMENTS)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(3 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_custom_rules_and_shapes():
    @fx.custom_jvp
    def square(x: Any) -> Any:
        return x * x

    @square.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return square(primals[0]), 10.0 * tangents[0]

    jitted: Any = follow(lambda x: square(x) if x > 0 else -square(x))
    for _ in range(5):
        assert (jitted(2.0), jitted(-2.0), fx.grad(jitted)(2.0)) == (4.0, -4.0, 10.0)
    with pytest.raises(IndexError, match="test_follow_called_often"):
        follow(lambda x: x[x > 0].sum() if x.sum() > 0 else x)(TABLE)


def test_effects_stay_in_order():
    seen: list[float] = []

    def function(x: Any) -> Any:
        if x > 0:
            fx.debug.callback(lambda v: seen.append(float(v)), x)
        return x + 1

    jitted: Any = follow(function)
    for k in range(10):
        assert jitted(float(k)) == k + 1
    assert seen == [float(k) for k in range(1, 10)]


def test_batches():
    """Where the entries of a batch decide alike, `vmap` follows; elsewhere it says what does."""
    jitted: Any = follow(with_steps)
    for _ in range(10):
        jitted(ARGUMENTS[1])
    batch = np.stack(ARGUMENTS)
    with pytest.raises(fx.ConcretizationError, match='control="split"'):
        fx.vmap(jitted)(batch)
    found = fx.vmap(jitted, control="split")(batch)
    wanted = [with_steps(argument) for argument in batch]
    for k, leaf in enumerate(found):
        check_equal(leaf, np.stack([result[k] for result in wanted]))
    gradient = fx.vmap(fx.grad(lambda x: fnp.sum(jitted(x)[0])), control="split")(batch)
    check_equal(
        gradient, np.stack([fx.grad(lambda x: fnp.sum(with_steps(x)[0]))(argument) for argument in batch])
    )


def test_an_integer_that_grows_too_large_is_an_error():
    def grow(x: Any) -> Any:
        n = 1
        while n < x:
            n = n + 300_000_000
        return n

    jitted: Any = follow(grow)
    for _ in range(5):
        assert jitted(1e9) == grow(1e9)
    with pytest.raises(fx.UnsupportedError, match="wraps around"):
        jitted(1e11)
    assert jitted(1e9) == grow(1e9)
