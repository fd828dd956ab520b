"""Loops over rows as machine code give what the loops in Python give, for every kind of step that they know."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.kernels.native import engine, steps
from tests.kernels.native.native_loops import compare, made_natively, numbers

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no machine code")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch, hidden", [((), 5), ((), 64), ((1,), 7), ((3,), 16), ((16,), 33)])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_recurrent_network_and_its_gradient(monkeypatch, dtype, batch, hidden, reverse):
    weights = numbers(hidden, hidden, dtype=dtype), numbers(hidden, dtype=dtype)
    xs = numbers(20, *batch, hidden, dtype=dtype)

    def loss(weights, xs):
        def step(h, x):
            h = fnp.tanh(h @ weights[0] + x + weights[1])
            return h, fnp.sum(h * h)

        h, sums = lax.scan(step, np.zeros((*batch, hidden), dtype), xs, reverse=reverse)
        return fnp.mean(sums) + fnp.sum(h)

    compare(monkeypatch, fx.value_and_grad(loss, argnums=(0, 1)), weights, xs)


STEPS = {
    "numbers": (lambda c, x: (fnp.sin(c) * x + 1, c), (), ()),
    "carries that change places": (lambda c, x: ((c[1], c[2], c[0] + x), c[0]), [(), (), ()], ()),
    "vectors that change places": (lambda c, x: ((c[1], c[0] * 0.5 + x), c[1]), [(9,), (9,)], (9,)),
    "a carry that stays": (lambda c, x: ((c[0], c[1] * c[0] + x), c[1]), [(4,), (4,)], (4,)),
    "a carry that is a row": (lambda c, x: (x, c + x), (6,), (6,)),
    "a matrix times a vector": (lambda c, x: (fnp.tanh(x @ c), fnp.max(c)), (11,), (11, 11)),
    "a transposed matrix": (lambda c, x: (fnp.tanh(c @ x.T), c), (3, 11), (11, 11)),
    "an inner product": (lambda c, x: (c * 0.5 + x, c @ x), (13,), (13,)),
    "sums along each axis": (lambda c, x: (c * 0.5 + x, (c.sum(0), x.sum(1), c.sum())), (5, 6), (5, 6)),
    "a softmax": (
        lambda c, x: (fnp.exp(c - c.max()) / fnp.sum(fnp.exp(c - c.max())) + x, None),
        (20,),
        (20,),
    ),
    "rows of a matrix": (lambda c, x: (c * 0.5 + x - c.mean(1, keepdims=True), None), (4, 6), (6,)),
    "another shape": (lambda c, x: (c * 0.5 + x.reshape(2, 6), (c.reshape(3, 4) + 1) * 2), (2, 6), (12,)),
    "truth values": (lambda c, x: (fnp.where(c > x, c * 0.5, x), c > x), (7,), (7,)),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step(monkeypatch, name):
    step, carry, row = STEPS[name]
    start = numbers(*carry) + 0.5 if isinstance(carry, tuple) else tuple(numbers(*s) + 0.5 for s in carry)
    xs = numbers(15, *row)
    for reverse in (False, True):  # of so few steps that nothing is taken out of the loop
        compare(monkeypatch, lambda start, xs, r=reverse: lax.scan(step, start, xs, reverse=r), start, xs)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.integers(1, 9),
    columns=st.integers(2, 40),
    terms=st.integers(1, 20),
    spec=st.sampled_from(["ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij", "kj,ik->ij", "jk,ki->ij"]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_products_of_all_sizes_and_orders(monkeypatch, rows, columns, terms, spec, dtype):
    sizes = dict(zip("ijk", (rows, columns, terms)))
    left, right = (tuple(sizes[c] for c in s) for s in spec.split("->")[0].split(","))

    def run(a, b):
        def step(c, x):
            y = fnp.einsum(spec, a * c, b)
            return c + x * fnp.max(y), y

        return lax.scan(step, np.ones((), dtype), np.ones(4, dtype) / 64)

    compare(monkeypatch, run, numbers(*left, dtype=dtype), numbers(*right, dtype=dtype))


def test_operands_that_lie_otherwise_in_memory(monkeypatch):
    xs = numbers(20, 12)[:, ::2]
    start = numbers(12)[::-2]
    xs.flags.writeable = False
    compare(monkeypatch, lambda c, xs: lax.scan(lambda c, x: (c * x, c + x), c, xs[::-1][:15]), start, xs)


def test_warnings_and_what_they_are_turned_into(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda c, xs: lax.scan(lambda c, x: (c / x, c), c, xs))
    xs = np.array([1.0, 0.0, 2.0])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert run(np.float64(1.0), xs)[0] == np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        run(np.float64(1.0), xs)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_equal(run(np.float64(1.0), xs)[1], [1.0, 1.0, np.inf])


def test_special_values_and_zeros_of_both_signs(monkeypatch):
    xs = np.array([[0.0, -0.0], [np.nan, 1.0], [np.inf, -np.inf], [5e-324, -1e-310]])
    made_natively(monkeypatch)
    with np.errstate(all="ignore"):
        ends, rows = fx.jit(lambda xs: lax.scan(lambda c, x: (x * 1.0, c * -1.0), -xs[0], xs))(xs)
    np.testing.assert_array_equal(ends, xs[-1])
    expected = np.array([xs[0], -xs[0], -xs[1], -xs[2]])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(np.signbit(rows[:2]), np.signbit(expected[:2]))


def test_long_loops_ask_for_interruptions(monkeypatch):
    monkeypatch.setattr(steps, "PATIENCE", 7)

    def step(c, x):
        return fnp.sin(c) + x, c

    compare(monkeypatch, lambda xs: lax.scan(step, 0.0 * xs[0], xs), numbers(50))
    compare(monkeypatch, lambda xs: lax.scan(step, 0.0 * xs[0], xs, reverse=True), numbers(50, 3))


ENDLESS = """
import _thread, signal, threading, numpy as np, fxgrad as fx
from fxgrad import lax

def endless(v):
    return lax.while_loop(lambda v: v < 2.0, lambda v: 1.0 - v * 0.5, v)

run = fx.jit({
    "while": endless,
    "scan": lambda v: lax.scan(lambda c, _: (1.0 - c * 0.5, None), v, None, length=10**12)[0],
    "inner": lambda v: lax.fori_loop(0, 3, lambda i, v: endless(v), v),
}["%s"])
signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background ignore it
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    run(np.float64(0.5))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("kind", ["while", "scan", "inner"])
def test_a_loop_without_end_can_be_interrupted(kind):
    environment = {**os.environ, "FXGRAD_NATIVE": "always"}
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS % kind], capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.stdout == "interrupted\n", done.stderr


def test_what_machine_code_does_not_know_stays_in_python(monkeypatch):
    def run(step):
        return lambda c, xs: lax.scan(step, c, xs)

    compare(
        monkeypatch,
        run(lambda c, x: (fnp.fft.ifft(fnp.fft.fft(c)).real + x, c)),
        numbers(5),
        numbers(20, 5),
        is_native=False,
    )
    compare(monkeypatch, run(lambda c, x: (c * x, c)), numbers(0), numbers(20, 0), is_native=False)


def test_a_profile_sees_the_equations_of_a_step(monkeypatch):
    made_natively(monkeypatch)
    run = fx.jit(lambda c, xs: lax.scan(lambda c, x: (fnp.sin(c) * x, c), c, xs))
    c, xs = numbers(3), numbers(20, 3)
    run(c, xs)
    with fx.profile() as report:
        run(c, xs)
    assert "sin" in str(report)
