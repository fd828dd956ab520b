"""What vjp, linearize and linear_transpose return are pytrees: through jit and vmap, with their leaves changed."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.ways import same

X = np.array([0.5, -1.0, 2.0])
W = np.arange(6.0).reshape(2, 3) / 5


def f(w, x):
    return {"a": fnp.tanh(w @ x), "n": fnp.argmax(x)}


def pulled(x):
    return fx.vjp(lambda v: lax.scan(lambda c, r: (c * fnp.sin(r), c), 1.0, v)[0] * v, x)[1]


MAKERS = {
    "vjp": (lambda x: fx.vjp(lambda v: fnp.sin(v) * v, x)[1], X),
    "linearize": (lambda x: fx.linearize(lambda v: v**3 / fnp.sum(v), x)[1], X),
    "transpose": (lambda x: fx.linear_transpose(lambda v: fnp.cumsum(x * v), X), X),
    "scan": (pulled, X),
}


@pytest.mark.parametrize("make, x", MAKERS.values(), ids=MAKERS)
def test_it_passes_through_transforms(make, x):
    t = np.array([1.0, -2.0, 3.0])
    expected = make(x)(t)
    same(fx.tree.map(lambda v: v, make(x))(t), expected)
    returned = fx.jit(make)(x)
    same(returned(t), expected)
    same(fx.jit(lambda p, t: p(t))(returned, t), expected)
    same(fx.jit(lambda x: make(x)(t))(x), expected)
    rows = np.stack([x, 2 * x, x - 1])
    mapped = fx.vmap(make)(rows)
    each = fx.vmap(lambda p: p(t))(mapped)
    alone = [make(row)(t) for row in rows]
    same(each, fx.tree.map(lambda *r: np.stack(r), *alone))
    slope = fx.grad(lambda x: fnp.sum(fx.tree.leaves(fx.jit(make)(x)(t))[0]))(x)
    same(slope, fx.grad(lambda x: fnp.sum(fx.tree.leaves(make(x)(t))[0]))(x))


def test_a_function_that_takes_it_is_staged_once():
    count = []

    @fx.jit
    def apply(p, t):
        count.append(1)
        return p(t)

    for k in range(4):
        x = X + k
        (found,) = apply(fx.vjp(lambda v: fnp.sin(v) * v, x)[1], X)
        same(found, X * (fnp.cos(x) * x + fnp.sin(x)))
    assert count == [1]


def test_integers_have_no_derivative_on_either_side():
    _, p = fx.vjp(f, W, X)
    ct = {"a": np.ones(2), "n": np.zeros((), fx.float0)}
    same(fx.tree.map(lambda v: v, p)(ct), p(ct))
    _, p = fx.vjp(lambda x, i: x[i], X, 1)
    assert fx.tree.map(lambda v: v, p)(1.0)[1].dtype == fx.float0
    assert fx.linear_transpose(lambda x: 2 * x, 1)(3) == (6,)


def test_its_leaves_are_what_it_needs():
    _, p = fx.vjp(lambda x: fnp.exp(x), X)
    (leaf,) = fx.tree.leaves(p)
    same(leaf, np.exp(X))
    same(fx.tree.map(lambda v: 2 * v, p)(np.ones(3)), (2 * np.exp(X),))
    assert "vjp" in repr(p) and p.graph.equations


def test_arguments_that_do_not_fit():
    _, p = fx.vjp(f, W, X)
    for again in (p, fx.tree.map(lambda v: v, p)):
        with pytest.raises(fx.StructureError, match="cotangent"):
            again(1.0)
        with pytest.raises(TypeError, match="one argument"):
            again(1.0, 2.0)


def test_it_may_be_an_auxiliary_result():
    """Its leaves are then those of the level's primal values, as of all auxiliary results."""

    def f(x):
        y, p = fx.vjp(lambda a: fnp.sin(a) * x, x)
        return y, p

    gradient, p = fx.grad(f, has_aux=True)(1.0)
    same(gradient, np.cos(1.0) + np.sin(1.0))
    same(p(1.0), (np.cos(1.0),))
    same(fx.jvp(f, (1.0,), (1.0,), has_aux=True)[2](1.0), (np.cos(1.0),))
    same(fx.vjp(f, 1.0, has_aux=True)[2](1.0), (np.cos(1.0),))
    gradients, ps = fx.vmap(fx.grad(f, has_aux=True))(X)
    same(gradients, np.cos(X) * X + np.sin(X))
    same(fx.vmap(lambda p: p(1.0)[0])(ps), np.cos(X) * X)


def test_it_may_be_the_result_that_is_differentiated():
    """x ↦ the pullback of sin at x, whose only leaf is cos x: its cotangent has the same structure."""
    make = lambda x: fx.vjp(fnp.sin, x)[1]  # noqa: E731
    p, pull = fx.vjp(make, 0.5)
    same(p(1.0), (np.cos(0.5),))
    one = fx.tree.map(np.ones_like, p)
    same(pull(one), (-np.sin(0.5),))
    p, t = fx.jvp(make, (0.5,), (1.0,))
    same(fx.tree.leaves(t), [-np.sin(0.5)])
