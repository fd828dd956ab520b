"""Zeros of dtype float0, the tangents of integers, pass through every staged and mapped program, as they do eagerly."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core import pytree
from fxgrad.core.aval import aval_of, is_differentiable
from fxgrad.testing import random_like
from tests.sample import drawn
from tests.samples import SAMPLES
from tests.ways import same


def zeros(*shape):
    return np.zeros(shape, fx.float0)


def identical(actual, expected):
    """Equal in structure, shape, dtype and value, where float0 has no value."""
    assert pytree.structure(actual) == pytree.structure(expected)
    for a, b in zip(pytree.leaves(actual), pytree.leaves(expected)):
        assert aval_of(a).update(dtype=aval_of(a).dtype) == aval_of(b).update(dtype=aval_of(b).dtype)
        if aval_of(a).dtype != fx.float0:
            np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def has_integers(sample):
    """Whether operands or results are integers or truth values; one sample of each operation is enough."""
    _, operands = drawn(sample)
    return not all(is_differentiable(aval_of(x).dtype) for x in (*operands, sample.call(*operands)))


CASES = {sample.name: sample for sample in SAMPLES if sample.of is None and has_integers(sample)}


@pytest.mark.parametrize("sample", CASES.values(), ids=CASES)
def test_every_operation_with_integers(sample):
    rng, operands = drawn(sample)
    operands, f = tuple(operands), sample.call
    tangents = tuple(random_like(rng, *operands))
    value, tangent = fx.jvp(f, operands, tangents)
    (ct,) = random_like(rng, value)
    cotangents = fx.vjp(f, *operands)[1](ct)

    identical(fx.linearize(f, *operands)[1](*tangents), tangent)
    identical(fx.jit(lambda xs, ts: fx.jvp(f, xs, ts))(operands, tangents), (value, tangent))
    identical(fx.jit(lambda xs, ct: fx.vjp(f, *xs)[1](ct))(operands, ct), cotangents)
    identical(fx.jit(fx.linearize(f, *operands)[1])(*tangents), tangent)
    mapped = fx.vmap(lambda xs, ts: fx.jvp(f, xs, ts), axis_size=2, in_axes=None)(operands, tangents)
    identical(pytree.map(lambda y: y[1], mapped), (value, tangent))


# -- the programs that were found -----------------------------------------------------------------------------
def with_position(x):
    return x, fnp.argmax(x)


def scaled(x, n):
    return x * n, n * 2


gradient = fx.grad(lambda x, i: x[i], argnums=(0, 1), allow_int=True)


def test_linearize():
    y, push = fx.linearize(with_position, np.ones(2))
    same(y, (np.ones(2), np.intp(0)))
    identical(push(np.array([1.0, 2.0])), (np.array([1.0, 2.0]), zeros()))
    assert "float0[]" in repr(push.graph)
    y, push = fx.linearize(fnp.sum, np.array([1, 2]))
    same(y, np.int64(3))
    identical(push(zeros(2)), zeros())


@pytest.mark.parametrize(
    "wrap", [fx.jit, lambda f: fx.jit(fx.jit(f)), fx.checkpoint, lambda f: fx.jit(fx.checkpoint(f))]
)
def test_results_of_staged_programs(wrap):
    identical(wrap(gradient)(np.ones(2), 1), (np.array([0.0, 1.0]), zeros()))
    identical(wrap(lambda x: fx.jvp(scaled, (x, 3), (x, zeros())))(np.ones(2))[1], (np.full(2, 3.0), zeros()))


@pytest.mark.parametrize("wrap", [
    fx.vmap, lambda f: fx.jit(fx.vmap(f)), lambda f: fx.vmap(fx.jit(f)), lambda f: fx.vmap(f, control="split"),
    lambda f: fx.vmap(f, chunk_size=2),
])  # fmt: skip
def test_results_of_mapped_programs(wrap):
    expected = np.eye(2)[[0, 1, 0]], zeros(3)
    identical(wrap(gradient)(np.ones((3, 2)), np.array([0, 1, 0])), expected)


def test_arguments():
    _, pullback = fx.vjp(scaled, np.ones(2), 3)
    identical(fx.jit(pullback)((np.ones(2), zeros())), pullback((np.ones(2), zeros())))
    identical(fx.jit(lambda t: t)(zeros(3)), zeros(3))
    identical(
        fx.vmap(lambda x, t: (x, t), (0, 1), (0, 1))(np.ones((3, 2)), zeros(4, 3)),
        (np.ones((3, 2)), zeros(4, 3)),
    )
    mapped = fx.vmap(lambda x, t: fx.jvp(scaled, (x, 3), (x, t))[1])(np.ones((3, 2)), zeros(3))
    identical(mapped, (np.full((3, 2), 3.0), zeros(3)))
    assert fx.eval_shape(gradient, np.ones(2), 1)[1] == fx.ShapeDtypeStruct((), fx.float0)


def test_branches():
    def branch(n):
        return lambda x: fx.jvp(scaled, (x, n), (x, zeros()))[1]

    f = fx.jit(lambda which, x: lax.cond(which, branch(3), branch(4), x))
    identical(f(False, np.ones(2)), (np.full(2, 4.0), zeros()))


def test_forward_jacobians_of_integers_are_zeros():
    """As JAX's; there is no reverse mode from integers."""
    for jacobian in (
        fx.jacfwd,
        fx.jacobian,
        lambda f: fx.jit(fx.jacfwd(f)),
        lambda f: fx.jacobian(f, check=True),
    ):
        same(jacobian(fnp.argmax)(np.ones(3)), np.zeros(3, np.intp))
        same(jacobian(with_position)(np.ones(2)), (np.eye(2), np.zeros(2, np.intp)))
    same(fx.jacfwd(lambda x: fnp.argmax(x, axis=0))(np.eye(2)), np.zeros((2, 2, 2), np.intp))
    same(fx.jacfwd(fx.jacfwd(fnp.argmax))(np.ones(2)), np.zeros((2, 2), np.intp))
    with pytest.raises(fx.DTypeError, match="no derivative"):
        fx.jacrev(fnp.argmax)(np.ones(3))
