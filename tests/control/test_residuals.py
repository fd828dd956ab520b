"""What a loop keeps for its backward loop: values, or what they are made of by cheap operations, if that is less."""

import warnings

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

W = np.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7], [0.0, 0.4, 0.6]])
XS = np.sin(np.arange(12.0)).reshape(4, 3)
H = np.array([0.1, 0.2, -0.3])

STEPS = {
    "activation": lambda w, h, x: fnp.tanh(w @ h + x),
    "polynomial": lambda w, h, x: (lambda y: y * y * h - 3.0 * y)(w @ h * 0.3 + x),
    "rows alone": lambda w, h, x: h * (x * x - 1.0) * (2.0 * x),
    "relu": lambda w, h, x: fnp.maximum(w @ h, 0.0) + fnp.where(h > x, h, x * h),
    "invariants": lambda w, h, x: h * (w[0] * w[1]) + (w[2] * x) * h * h,
    "sharp sign": lambda w, h, x: fnp.abs(h) * fnp.sign(x) * h + fnp.square(w @ h),
    "several": lambda w, h, x: fnp.sin(h) * fnp.cos(h) * (h + 1.0) * (h - x) * fnp.exp(-h * h),
}


def by_scan(step, w, h, xs):
    return lax.scan(lambda h, x: (lambda new: (new, new * x))(step(w, h, x)), h, xs)


def in_python(step, w, h, xs):
    rows = []
    for x in xs:
        h = step(w, h, x)
        rows.append(h * x)
    return h, fnp.stack(rows)


def loss(run, step):
    def total(w, h, xs):
        end, rows = run(step, w, h, xs)
        return fnp.sum(end**2) + fnp.sum(fnp.sin(rows))

    return total


@pytest.mark.parametrize("name", STEPS)
def test_gradients(name):
    ours, expected = [fx.grad(loss(run, STEPS[name]), (0, 1, 2)) for run in (by_scan, in_python)]
    for f in (ours, fx.jit(ours)):
        for a, b in zip(f(W, H, XS), expected(W, H, XS), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_second_derivatives(name):
    ours, expected = [
        fx.hessian(lambda h, run=run: loss(run, STEPS[name])(W, h, XS)) for run in (by_scan, in_python)
    ]
    np.testing.assert_allclose(ours(H), expected(H), rtol=1e-9, atol=1e-11)


def test_counters_and_bounded_loops():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, h: h * h * (i + 1) - 2 * h, x)

    def g(x):
        return lax.while_loop(
            lambda s: s[1] < 4, lambda s: (fnp.tanh(s[0]) * s[1], s[1] + 1), (x, 1), max_steps=6
        )[0]

    for function, x in ((f, 0.1), (g, 0.4)):
        step = 1e-6
        slope = (function(x + step) - function(x - step)) / (2 * step)
        np.testing.assert_allclose(fx.grad(function)(x), slope, rtol=1e-6)


def count_stacks(step):
    """The number of stacks that the forward loop of a gradient makes."""
    graph = fx.make_graph(fx.grad(lambda w: fnp.sum(lax.scan(lambda h, x: (step(w, h, x), None), H, XS)[0])))(
        W
    )
    forward = next(e for e in graph.equations if e.primitive.name == "scan")
    return len(forward.outputs) - forward.params["carry"]


def test_the_value_is_kept_instead_of_several_made_of_it():
    assert (
        count_stacks(STEPS["activation"]) == 2
    )  # the state before the step, and after it: 1 − h² is made again


def test_warnings_come_once():
    def f(x):
        return lax.scan(lambda h, x: (fnp.arctan(h * x * (h * x)), None), x, XS * 1e200)[0][0]

    def count_overflows(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(H)
        return sum("overflow" in str(w.message) for w in caught)

    assert count_overflows(fx.grad(f)) == count_overflows(f) > 0
