"""References: cells that are written while a function is transformed."""

import numpy as np
import pytest

import fxgrad as fx
from tests.numpy.test_in_place import agree

X = np.random.default_rng(8).uniform(0.5, 2.0, (3, 4))


def accumulate(x):
    total = fx.new_ref(x[0])
    for row in x:
        total[...] = total[...] * row
        total[1:3] = total[:2] + 1.0
    count = fx.new_ref(np.zeros((2, 4)))
    count[0] += total[...]
    count[1, 2] = x[1, 1]
    return np.concatenate([fx.freeze(count), total[...][None]])


def test_what_is_written_is_differentiated_mapped_and_staged():
    agree(accumulate, X)
    np.testing.assert_allclose(
        fx.hessian(lambda x: accumulate(x).sum())(X), fx.jacrev(fx.jacrev(lambda x: accumulate(x).sum()))(X)
    )


def test_values_are_kept_apart():
    start = np.zeros(3)
    ref = fx.new_ref(start)
    before, part = ref[...], ref[1:]
    ref[1:] = 2.0
    start[0] = 7.0
    np.testing.assert_array_equal(ref[...], [0, 2, 2])
    np.testing.assert_array_equal(before, [0, 0, 0])
    np.testing.assert_array_equal(part, [0, 0])
    assert (ref.shape, ref.dtype, ref.ndim, ref.size) == ((3,), float, 1, 3)
    assert isinstance(ref, fx.Ref) and "Ref(" in repr(ref)
    np.testing.assert_array_equal(fx.freeze(ref), [0, 2, 2])
    with pytest.raises(fx.ImmutableError, match="freeze"):
        ref[0] = 1.0


def test_bodies_have_their_own():
    outside = fx.new_ref(0.0)
    for touch in (lambda x: outside[...] + x, lambda x: outside.__setitem__(..., x)):
        with pytest.raises(fx.ImmutableError, match="made outside of jit"):
            fx.jit(touch)(1.0)

    def step(carry, row):
        ref = fx.new_ref(carry)
        ref[0] = row.sum()
        return fx.freeze(ref), ref.__class__.__name__ and row

    last, _ = fx.lax.scan(step, X[0], X)
    np.testing.assert_allclose(last, [X[-1].sum(), *X[0, 1:]])


def test_traced_values_do_not_outlive_their_level():
    ref = fx.new_ref(0.0)
    fx.grad(lambda x: (ref.__setitem__(..., x), x)[1])(1.0)
    with pytest.raises(fx.EscapedTracerError):
        ref[...] + 1.0
    with pytest.raises(fx.DTypeError, match="derivative would be lost"):
        fx.grad(lambda x: (fx.new_ref(0).__setitem__(..., x), x)[1])(1.0)
