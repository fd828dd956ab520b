"""Every kind of equation in the steps of loops as machine code: of values in registers, and of values in memory."""

import threading

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.kernels.native import engine
from fxgrad.kernels.native import recurrence as native
from tests.kernels.native.native_loops import compare, made_natively, numbers

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no machine code")

STEPS = 6
SIZES = [3, 40]  # in registers, in memory


def scanned(step, length=STEPS):
    return lambda c, *xs: lax.scan(lambda c, i: step(c, i), c, np.arange(length))


def rotate(c, i):
    return fnp.concatenate([c[1:], c[:1] * 0.5]), c[i % 3]


BODIES = {
    "slices": lambda c, i: (c[::-1] * 0.5 + fnp.concatenate([c[1:], c[:1]]), c[1:-1]),
    "a traced index": lambda c, i: (c + c[i % 3], c[-i % 2]),
    "a traced negative index": lambda c, i: (c + c[-1 - i % 3], c[i % 2]),
    "several indices": lambda c, i: (
        c + fnp.sum(c[fnp.stack([i % 3, i % 2, 0 * i])]),
        c[fnp.stack([i % 3, 0 * i])],
    ),
    "an update": lambda c, i: (fnp.at(c)[i % 3].set(c[0] + 1), c[1]),
    "an update of a copy": lambda c, i: (fnp.at(c)[i % 3].set(c[0] + 1) + c, c),
    "a static update": lambda c, i: (fnp.at(c)[1].set(c[0] + 1), c),
    "an update of a slice": lambda c, i: (fnp.at(c)[1:].set(c[:-1] * 0.5), c.sum()),
    "additions at indices": lambda c, i: (fnp.at(c)[fnp.stack([i % 3, i % 2])].add(1.0), c),
    "a window": lambda c, i: (c * 0.5, lax.dynamic_slice(c, (i % 2,), (2,))),
    "an update of a window": lambda c, i: (lax.dynamic_update_slice(c, c[1:3] * 0.5, (i % 2,)), c),
    "a matrix": lambda c, i: (c * 0.5 + fnp.stack([c, c + i]).T.reshape(2, -1)[0], fnp.stack([c, c + i]).T),
    "sorting": lambda c, i: (fnp.sort(c * -1.5) + 0.25, (fnp.argsort(c), fnp.argmax(c), fnp.argmin(c))),
    "sums of products": lambda c, i: (c * 0.5 + fnp.sum(fnp.outer(c, c), 0), fnp.einsum("i,j->ji", c, c + i)),
    "batches of products": lambda c, i: (
        fnp.tanh(fnp.einsum("bij,bj->bi", c * fnp.ones((2, 3, 1)), fnp.stack([c, c + 1]))[0, 0]) * c,
        None,
    ),
    "a choice": lambda c, i: (lax.cond(i % 2 == 0, lambda c: c * 0.5, lambda c: c[::-1] + 1, c), c),
    "several branches": lambda c, i: (
        lax.switch(i, [lambda c: c, lambda c: c + 1, lambda c: c * c[0]], c),
        lax.switch(i, [lambda: 1.0, lambda: 2.0]),
    ),
    "an inner loop": lambda c, i: (lax.fori_loop(0, 3, lambda k, c: c * 0.5 + k * c[::-1], c), c[0]),
    "an inner loop of i steps": lambda c, i: (lax.fori_loop(0, i, lambda k, c: c * 0.5 + k, c), c[0]),
    "an inner scan": lambda c, i: (c * 0.5, lax.scan(lambda s, x: (s + x, s * x), 0.0, c, reverse=True)[1]),
    "an inner while loop": lambda c, i: (
        lax.while_loop(lambda v: v[0][0] < 3.0, lambda v: (v[0] + 1, v[1] + 1), (c, 0))[0] * 0.5,
        c,
    ),
    "integers": lambda c, i: (
        c + (i * 7 - 9) // 4 + (i * 7 - 9) % 4 + (9 - i * 3) // -2 + (9 - i * 3) % -2,
        i // 2,
    ),
    "integers of floating numbers": lambda c, i: (c * 0.5, (c[:3] * 10).astype(int)),
    "many sines": lambda c, i: (fnp.sin(c) + fnp.tanh(c * i) - fnp.exp(-c * c), fnp.log1p(c * c)),
    "rotations": rotate,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BODIES)
def test_a_step(monkeypatch, name, size):
    compare(monkeypatch, scanned(BODIES[name]), numbers(size) + 0.5)


def test_long_code_keeps_its_values_in_memory(monkeypatch):
    def step(c, i):
        for k in range(9):
            c = fnp.tanh(c * 0.5 + c[::-1] * (0.1 * k)) + fnp.sum(c) * 0.01
        return c, c[:3]

    monkeypatch.setattr(native, "STEP_INSTRUCTIONS", 300)
    compare(monkeypatch, scanned(step), numbers(32))
    compare(
        monkeypatch,
        lambda c: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, step(s[1], 0)[0]), (0, c)),
        numbers(32),
    )


SYSTEMS = {
    "solve": lambda a, b: fnp.linalg.solve(a, b),
    "cholesky": lambda a, b: fnp.linalg.cholesky(a) @ b,
}


@pytest.mark.parametrize("order", [1, 3, 9, 33])
@pytest.mark.parametrize("name", ["solve", "cholesky"])
def test_systems(monkeypatch, name, order):
    a = numbers(order, order)
    positive = a @ a.T + np.eye(order)
    matrix = positive if name == "cholesky" else positive[::-1]  # whose rows have to be exchanged

    def run(m, b):
        return lax.scan(lambda c, i: (SYSTEMS[name](m + i * np.eye(order), c), c), b, np.arange(4.0))

    # LAPACK's factors of larger systems are not in machine code.
    compare(monkeypatch, run, matrix, numbers(order, 2) + 1, is_native=name == "cholesky" or order < 33)


def test_a_singular_matrix_is_refused_as_numpy_does(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda a, b: lax.scan(lambda c, _: (fnp.linalg.solve(a, c), None), b, None, length=3)[0])
    with pytest.raises(np.linalg.LinAlgError):
        run(np.zeros((2, 2)), np.ones((2, 1)))


def test_an_index_out_of_bounds_is_refused_as_numpy_does(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda x, n: lax.scan(lambda c, i: (c + x[i], c), 0.0, n)[0])
    assert run(np.arange(3.0), np.array([0, 2, -1, -3])) == 4.0
    with pytest.raises(IndexError):
        run(np.arange(3.0), np.array([0, 3]))


def test_integers_divided_by_zero_warn(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda v, n: lax.scan(lambda c, i: (c + v // i, c % i), v, n))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        run(np.int64(7), np.array([1, 0]))
    least = np.iinfo(np.int64).min
    with np.errstate(all="ignore"):
        assert run(np.int64(least), np.array([-1]))[1] == 0


def test_nan_is_last_in_order_and_first_in_searches(monkeypatch):
    rows = np.array([[np.nan, 1.0, -1.0], [2.0, np.nan, np.nan], [0.0, -0.0, 0.0], [3.0, 3.0, -np.inf]])

    def run(rows):
        return lax.scan(
            lambda c, x: (c, (fnp.sort(x), fnp.argsort(x), fnp.argmax(x), fnp.argmin(x))), 0.0, rows
        )

    compare(monkeypatch, run, rows)
    compare(monkeypatch, run, np.tile(rows, (1, 9)))


@pytest.mark.parametrize(
    "dtype, size",
    [
        (d, n)
        for d in ("float16", "float32", "int32", "uint64", "uint8", "bool")
        for n in SIZES
        if d[0] != "u" or n < 9
    ],
)
def test_dtypes(monkeypatch, dtype, size):
    start = (np.arange(size) % 5 > 1) if dtype == "bool" else np.arange(size).astype(dtype)

    def step(c, x):
        new = fnp.where(c > x, c, x) if dtype != "bool" else c ^ x
        return new[::-1], (new, c == x, fnp.concatenate([c, x]))

    compare(
        monkeypatch,
        lambda c, xs: lax.scan(step, c, xs),
        start,
        np.stack([start[::-1], start, np.roll(start, 1)]),
    )


def draws(key, shape):
    first, second, third = fx.random.split(key, 3)
    return (
        fx.random.normal(first, shape),
        fx.random.uniform(second, shape),
        fx.random.gamma(third, 0.7, shape),
        fx.random.bits(fx.random.fold_in(third, 5), (5,)),
    )


@pytest.mark.parametrize("keys", [(), (3,), (20,)])
def test_draws_have_the_same_bits(monkeypatch, keys):
    start = fx.random.split(fx.random.key(1), keys) if keys else fx.random.key(1)

    def step(key, _):
        drawn = draws(key, (7,)) if not keys else fx.vmap(lambda k: draws(k, (7,)))(key)
        return (drawn[3][..., 0], drawn)

    compare(monkeypatch, lambda key: lax.scan(step, key, None, length=4), start)


@pytest.mark.parametrize("size", [5, 33])
def test_loops_that_end_at_different_steps(monkeypatch, size):
    def root(a):
        return lax.while_loop(
            lambda s: fnp.abs(s[0] * s[0] - a) > 1e-9, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0)
        )

    compare(monkeypatch, fx.vmap(root), np.linspace(1.0, 900.0, size))
    compare(
        monkeypatch,
        lambda a: fx.vmap(lambda n: lax.fori_loop(0, n, lambda i, v: v * 2, 1.0))(a),
        np.arange(size),
    )


def test_steps_that_are_bounded(monkeypatch):
    for most in (0, 1, 7):
        compare(
            monkeypatch,
            lambda v, most=most: lax.while_loop(lambda v: v < 100.0, lambda v: v + 1.0, v, max_steps=most),
            np.float64(1.0),
            is_native=most > 0,
        )


@pytest.mark.parametrize("name", ["a matrix", "batches of products", "a window", "an inner scan", "sorting"])
def test_derivatives_of_a_step(monkeypatch, name):
    def total(c):
        c, ys = scanned(lambda c, i: BODIES[name](fnp.tanh(c), i))(c)
        return fnp.sum(c) + sum(fnp.sum(y) * 1.0 for y in fx.tree.leaves(ys))

    compare(monkeypatch, fx.vmap(fx.grad(total)), np.stack([numbers(8), numbers(8) + 0.5]))
    compare(monkeypatch, fx.grad(total), numbers(40))


def test_derivatives_of_loops(monkeypatch):
    def energy(v, n):
        def step(c, i):
            c = lax.cond(c[0] > 0, lambda c: fnp.sin(c) * 1.1, lambda c: c * c, c)
            return fnp.at(c)[i % 3].add(0.1 * c[1]), c[i % 2]

        c, ys = lax.scan(step, v, n)
        return fnp.sum(c) + fnp.sum(ys * ys)

    v, n = numbers(4) + 0.5, np.arange(8)
    compare(monkeypatch, fx.grad(energy), v, n)
    compare(monkeypatch, fx.hessian(energy), v, n)
    compare(monkeypatch, lambda v, n: fx.jvp(lambda v: energy(v, n), (v,), (v,)), v, n)


def test_a_loop_becomes_machine_code_in_its_first_call(monkeypatch):
    made = made_natively(monkeypatch)
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    steps = 200_000
    ends = fx.jit(lambda v: lax.scan(lambda c, _: (c + 1.0, None), v, None, length=steps)[0])(np.float64(0))
    _, count = fx.jit(
        lambda v: lax.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1.0, s[1] + 2), (v, 0))
    )(np.float64(0))
    assert (ends, count) == (steps, 2 * steps)
    assert made == [True, True]


def test_threads_share_a_loop(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda v: lax.fori_loop(0, 20_000, lambda i, v: fnp.at(v)[i % 40].add(v[0] * 0.5 + 1e-3), v))
    starts = [numbers(40) * 0 + k for k in range(4)]
    with np.errstate(all="ignore"):
        expected = [run(start) for start in starts]
        found = [None] * 4

        def work(k):
            with np.errstate(all="ignore"):
                found[k] = [run(starts[k]) for _ in range(10)]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for results, y in zip(found, expected):
        for x in results:
            np.testing.assert_array_equal(x, y)
