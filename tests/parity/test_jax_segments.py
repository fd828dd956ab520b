"""Reductions of segments beside `jax.ops`: values and derivatives, jitted and batched."""

from functools import partial

import jax
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

jax.config.update("jax_enable_x64", True)

NAMES = ["segment_sum", "segment_prod", "segment_max", "segment_min"]
IDS = np.array([0, 4, 0, 2, 7, -1, 2, 0])


def both(name, **options):
    return [partial(getattr(home, name), **options) for home in (fx.lax, jax.ops)]


@pytest.mark.parametrize("shape", [(8,), (8, 3)])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives(name, shape):
    x = np.random.default_rng(0).standard_normal(shape)
    for options in ({}, {"num_segments": 5}, {"num_segments": 9, "mode": "clip"}):
        ours, theirs = both(name, **options)
        np.testing.assert_allclose(ours(x, IDS), theirs(x, IDS))
    ours, theirs = both(name, num_segments=6)
    np.testing.assert_allclose(fx.jit(ours)(x, IDS), theirs(x, IDS))
    xs, ids = np.stack([x, x + 1]), np.stack([IDS, IDS[::-1]])
    np.testing.assert_allclose(fx.vmap(ours)(xs, ids), jax.vmap(theirs)(xs, ids))
    if name == "segment_prod":  # JAX has no derivative
        ids = np.array([0, 1, 0, 2, 2, 1, 2, 0])
        for_prod = fx.grad(lambda v: fnp.sum(fx.lax.segment_prod(v, ids, 3)))(x)
        total = fx.lax.segment_prod(x, ids, 3)
        np.testing.assert_allclose(for_prod, total[ids] / x)
        return

    def loss(lib, f):
        return lambda v: lib.sum(lib.where(lib.isinf(f(v, IDS)), 0, f(v, IDS)) ** 2)

    expected = jax.grad(loss(jax.numpy, theirs))(x)
    for transform in (fx.grad, lambda f: fx.jit(fx.grad(f))):
        np.testing.assert_allclose(transform(loss(fnp, ours))(x), expected)


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4"])
@pytest.mark.parametrize("name", NAMES)
def test_segments_without_rows(name, dtype):
    ours, theirs = both(name, num_segments=3)
    x = np.array([1, 2], dtype)
    found, expected = ours(x, np.array([0, 2])), theirs(x, np.array([0, 2]))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_bad_input():
    with pytest.raises(fx.ConcretizationError, match="num_segments"):
        fx.jit(lambda i: fx.lax.segment_sum(np.ones(2), i))(np.array([0, 1]))
    with pytest.raises(fx.ShapeError, match="segment_ids of shape"):
        fx.lax.segment_sum(np.ones(3), np.array([0, 1]))
    with pytest.raises(fx.DTypeError):
        fx.lax.segment_sum(np.ones(2), np.array([0.0, 1.0]))
