"""Jacobians by forward mode: the first of a kind is mapped over the basis, later ones run compiled code."""

import gc
import threading
import weakref

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

pytestmark = pytest.mark.usefixtures("no_heap_of_others")

RNG = np.random.default_rng(0)


def curve(x, w):
    y = fnp.tanh(w @ x) * x[0] + fnp.where(x > 0, x, 0.5 * x)
    return fnp.concatenate([fnp.cumsum(y), y[:2] * fnp.sum(x)])


def columns(f, x, *rest):
    """The Jacobian by one tangent at a time."""
    return np.stack(
        [fx.jvp(lambda x: f(x, *rest), (x,), (e.astype(x.dtype),))[1] for e in np.eye(len(x))], -1
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_every_time_the_same_at_other_points(dtype):
    jacobian = fx.jacfwd(
        curve if dtype != "c16" else lambda x, w: fnp.sin(w @ x) * x, holomorphic=dtype == "c16"
    )
    f = curve if dtype != "c16" else lambda x, w: fnp.sin(w @ x) * x
    for _ in range(4):
        x, w = RNG.standard_normal(3).astype(dtype), RNG.standard_normal((3, 3)).astype(dtype)
        found = jacobian(x, w)
        assert found.dtype == dtype and found.flags.writeable
        np.testing.assert_allclose(found, columns(f, x, w), rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6)
        found[...] = 7  # it is the caller's own
        np.testing.assert_allclose(
            jacobian(x, w), columns(f, x, w), rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6
        )


def test_numbers_on_the_way_are_no_part_of_the_program():
    """What is a number at one point is another at the next: the code is the same."""

    def f(x):
        scale = fnp.sum(x) ** 2
        return scale * fnp.exp(x)

    for _ in range(4):
        x = RNG.standard_normal(4)
        np.testing.assert_allclose(fx.jacfwd(f)(x), columns(f, x), rtol=1e-12)


def test_hessians_of_trees():
    def f(p):
        return fnp.sum(fnp.sin(p["a"]) * p["b"]) + p["b"][0] ** 3

    for _ in range(3):
        p = {"a": RNG.standard_normal(2), "b": RNG.standard_normal(2)}
        found = fx.hessian(f)(p)
        np.testing.assert_allclose(found["a"]["a"], np.diag(-np.sin(p["a"]) * p["b"]), rtol=1e-12)
        np.testing.assert_allclose(found["a"]["b"], np.diag(np.cos(p["a"])), rtol=1e-12)
        np.testing.assert_allclose(found["b"]["b"], np.diag([6 * p["b"][0], 0]), rtol=1e-12, atol=1e-300)


def test_results_without_derivative_and_auxiliary_ones():
    def f(x):
        return (fnp.floor(x).astype(int), x * 2), "aux"

    for _ in range(3):
        (none, slope), aux = fx.jacfwd(f, has_aux=True)(np.ones(2))
        assert aux == "aux" and (slope == 2 * np.eye(2)).all() and not none.any()


def test_under_other_transforms_and_in_threads():
    x, w = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 3))
    expected = np.stack([columns(curve, row, w) for row in x])
    jacobian = fx.jacfwd(curve)
    for _ in range(3):
        np.testing.assert_allclose(fx.vmap(lambda row: jacobian(row, w))(x), expected, rtol=1e-12)
        np.testing.assert_allclose(fx.jit(jacobian)(x[0], w), expected[0], rtol=1e-12)
        np.testing.assert_allclose(
            fx.grad(lambda s: fnp.sum(jacobian(s * x[0], w)))(1.0),
            fx.grad(lambda s: fnp.sum(fx.jacrev(curve)(s * x[0], w)))(1.0),
            rtol=1e-10,
        )
    found = {}

    def work(i):
        found[i] = [jacobian(row, w) for row in x]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for i in range(8):
        np.testing.assert_allclose(found[i], expected, rtol=1e-12)


def test_nothing_of_the_users_is_kept():
    jacobian = fx.jacfwd(curve)
    for _ in range(3):
        w = np.asarray(RNG.standard_normal((3, 3)))
        seen = weakref.ref(w)
        jacobian(RNG.standard_normal(3), w)
        del w
        gc.collect()
        assert seen() is None
