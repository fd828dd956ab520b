"""Random programs under random stacks of transforms, against the plainest way to compute the same.

The reference knows one transform of fxgrad, `jvp`; gradients are columns of it, vmap is a loop, jit, checkpoint and
custom rules are the function itself. That `jvp` is right is checked against central differences.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core import pytree
from tests import plain_lax
from tests.programs import X, build, programs, stacks


def columns(f, x):
    """The value of f, and its derivatives along the entries of x (a leading axis)."""
    basis = np.eye(np.size(x)).reshape(-1, *np.shape(x))
    pairs = [fx.jvp(f, (x,), (e,)) for e in basis]
    return pairs[0][0], [t for _, t in pairs]


def pulled(f, x):
    y, ts = columns(f, x)
    return y, lambda ct: (fnp.reshape(fnp.stack([fnp.sum(ct * t) for t in ts]), np.shape(x)),)


def value_and_grad(f):
    return lambda x: (lambda y, pull: (y, pull(1.0)[0]))(*pulled(f, x))


def jacobian(f):
    def of(x):
        y, ts = columns(f, x)
        return fnp.reshape(fnp.stack(ts, axis=-1), np.shape(y) + np.shape(x))

    return of


def vmap(f, in_axes=0, out_axes=0):
    def mapped(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        rows = zip(*(fnp.moveaxis(fnp.asarray(a), axis, 0) for a, axis in zip(args, axes)))
        return fnp.stack([f(*row) for row in rows], axis=out_axes)

    return mapped


class Unruled:
    """A function with a custom rule, of which the rule is ignored."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)

    def defjvp(self, rule):
        pass

    def defjvps(self, *rules):
        pass


REFERENCE = SimpleNamespace(
    jvp=fx.jvp,
    grad=lambda f: lambda x: value_and_grad(f)(x)[1],
    value_and_grad=value_and_grad,
    vjp=pulled,
    linearize=lambda f, x: (f(x), lambda t: fx.jvp(f, (x,), (t,))[1]),
    linear_transpose=lambda f, x: pulled(f, x)[1],
    vmap=vmap,
    jacfwd=jacobian,
    jacrev=jacobian,
    jit=lambda f: f,
    checkpoint=lambda f: f,
    custom_jvp=Unruled,
    stop_gradient=fx.stop_gradient,
    lax=plain_lax,
)


def close(actual, expected):
    """Rounding errors only: the two ways add in different orders, and levels are bounded (see programs.bounded)."""
    np.testing.assert_allclose(
        actual, expected, rtol=1e-8, atol=1e-8 * max(1.0, np.max(np.abs(expected), initial=0))
    )


@settings(max_examples=max(settings().max_examples // 2, 1))
@given(programs(), stacks())
def test_stacks_are_what_they_mean(source, stack):
    result = build(source, stack, fx, fnp)(X)
    close(result, build(source, stack, REFERENCE, fnp)(X))
    close(fx.jit(build(source, stack, fx, fnp))(X), result)


@given(programs().filter(lambda source: "stop_gradient" not in source), stacks(max_size=2))
def test_forward_mode_is_the_derivative(source, stack):
    """By Richardson-extrapolated central differences: an error of fourth order in the step."""
    f = build(source, stack, fx, fnp)
    direction = np.cos(X)

    def difference(step):
        return (f(X + step * direction) - f(X - step * direction)) / (2 * step)

    expected = (4 * difference(5e-5) - difference(1e-4)) / 3
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(fx.jvp(f, (X,), (direction,))[1], expected, rtol=1e-6, atol=1e-6 * scale)


@given(programs(), stacks(max_size=3))
def test_graphs_evaluate_to_the_function(source, stack):
    f = build(source, stack, fx, fnp)
    graph = fx.make_graph(f)(X).check()
    close(graph(X)[0], f(X))
    assert repr(graph) and pytree.leaves(graph.out_avals)


@given(programs(), stacks(max_size=3))
def test_neither_arguments_nor_earlier_results_change(source, stack):
    x = X.copy()
    f = build(source, stack, fx, fnp)
    first = f(x)
    kept = np.array(first)
    np.testing.assert_array_equal(f(x), kept)  # the same bits again
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(first, kept)


FOUND = {  # by searches, and mended
    "the support of stacked eigenvalues, batched": (
        """def f(x):
    v1 = np.linalg.eigvalsh(separated(x)) * 0.3 + x
    return np.linalg.det(dominant(v1)) * 0.05 * v1""",
        ["vmap of grad", "jvp of a closure", "vmap, axes", "vmap of grad"],
    ),
    "the tangent of a quotient by singular values, transposed": (
        """def f(x):
    return (lambda u, s, v: u @ np.diag(np.log(s)) @ v)(*np.linalg.svd(wide(x, x), full_matrices=False))[1]""",
        ["grad", "linear_transpose"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_searches_found(name):
    source, stack = FOUND[name]
    close(build(source, stack, fx, fnp)(X), build(source, stack, REFERENCE, fnp)(X))
