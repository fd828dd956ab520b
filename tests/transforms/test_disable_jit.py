"""disable_jit: compiled functions and control flow run as the Python that they are made of."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.ways import same

X = np.array([0.5, -1.0, 2.0])
seen = []


def note(*values):
    seen.append([type(v) for v in values])


def loop(x):
    """Every kind of control flow; what it is called with is noted."""

    def grow(v):
        note(v)
        return 2 * v

    def row(c, r):
        note(c, r)
        return c + r * x, fnp.sin(c)

    carry, ys = lax.scan(row, x, X)
    carry, back = lax.scan(row, carry, X, reverse=True)
    total = lax.while_loop(lambda v: v < 100, grow, carry + 10, max_steps=20) + fnp.sum(ys * back)
    total = lax.fori_loop(0, 3, lambda i, v: v + i * x, total)
    total = total + lax.cond(total > 0, grow, lambda v: v, x)
    total = total + lax.switch(7, [lambda v: v, grow], x)
    return total + fnp.sum(lax.map(lambda r: r * x, X))


@pytest.mark.parametrize("f", [loop, fx.jit(loop)], ids=["plain", "jitted"])
@pytest.mark.parametrize(
    "transform",
    [lambda f: f, fx.grad, lambda f: lambda x: fx.jvp(f, (x,), (1.0,))[1]],
    ids=["f", "vjp", "jvp"],
)
def test_results_stay(f, transform):
    expected = transform(f)(0.7)
    with fx.disable_jit():
        same(transform(f)(0.7), expected)
    same(transform(f)(0.7), expected)


def test_the_users_functions_get_values():
    with fx.disable_jit():
        seen.clear()
        fx.jit(loop)(0.7)
    assert seen and {kind for row in seen for kind in row} <= {float, np.float64}


def test_a_mapped_condition_is_taken_as_it_is_otherwise():
    f = fx.vmap(lambda x: lax.cond(x > 0, lambda v: v, lambda v: -2 * v, x))
    g = fx.vmap(lambda x: lax.while_loop(lambda v: v < 10, lambda v: v * v + 2, x))
    expected = f(X), g(X)
    with fx.disable_jit():
        same(f(X), expected[0])
        same(g(X), expected[1])


def test_python_may_decide_on_values():
    f = fx.jit(lambda x: x if x > 0 else -x)
    with pytest.raises(fx.ConcretizationError):
        f(1.0)
    with fx.disable_jit():
        assert f(-2.0) == 2.0
    with fx.disable_jit(False), pytest.raises(fx.ConcretizationError):
        f(1.0)


def test_loops_without_steps_have_results_all_the_same():
    with fx.disable_jit():
        carry, ys = lax.scan(lambda c, x: (c, (c, x)), 1.0, np.ones((0, 2)))
        assert carry == 1.0 and ys[0].shape == (0,) and ys[1].shape == (0, 2)
        assert lax.fori_loop(3, 1, lambda i, v: v + 1, 5) == 5


def test_a_checker_inside_sees_operations():
    with fx.disable_jit(), fx.debug_nans(), pytest.raises(fx.NonFiniteError, match="log"):
        fx.jit(lambda x: fnp.log(x - 1))(0.0)


def test_an_error_is_the_users_own():
    def fail(c, x):
        raise KeyError("mine")

    with fx.disable_jit(), pytest.raises(KeyError, match="mine"):
        lax.scan(fail, 0.0, X)
    with fx.disable_jit(), pytest.raises(fx.StructureError, match="must return a pair"):
        lax.scan(lambda c, x: c, 0.0, X)


@pytest.mark.parametrize("xs, length", [(np.float64(1.0), None), ((X, X[:2]), None), (X, 2)])
def test_rows_that_do_not_fit_are_the_same_error(xs, length):
    with fx.disable_jit(), pytest.raises(fx.ShapeError):
        lax.scan(lambda c, x: (c, x), 0.0, xs, length)
