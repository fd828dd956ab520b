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
        with pytest.raises(fx.ImmutableError, match="made outside of make_graph"):
            fx.make_graph(touch)(1.0)

    def step(carry, row):
        ref = fx.new_ref(carry)
        ref[0] = row.sum()
        return fx.freeze(ref), ref.__class__.__name__ and row

    last, _ = fx.lax.scan(step, X[0], X)
    np.testing.assert_allclose(last, [X[-1].sum(), *X[0, 1:]])


def test_values_do_not_outlive_their_level():
    ref = fx.new_ref(0.0)
    with pytest.raises(fx.ImmutableError, match=r"(?s)made outside of grad.*stop_gradient"):
        fx.grad(lambda x: (ref.__setitem__(..., x), x)[1])(1.0)
    with pytest.raises(fx.ImmutableError, match=r"(?s)made outside of vmap.*an argument that vmap maps over"):
        fx.vmap(lambda x: (ref.__setitem__(..., 1.0), x)[1])(np.ones(2))
    assert ref[...] == 0.0
    with pytest.raises(fx.DTypeError, match="derivative would be lost"):
        fx.grad(lambda x: (fx.new_ref(0).__setitem__(..., x), x)[1])(1.0)


def test_an_argument_of_a_function_ends_with_the_call():
    kept = []
    fx.jit(lambda ref: kept.append(ref))(fx.new_ref(1.0))
    fx.vmap(lambda ref: kept.append(ref))(fx.new_ref(np.ones(2)))
    for ref in kept:
        with pytest.raises(fx.ImmutableError, match="the function to which it was given has returned"):
            ref[...] = 2.0


@pytest.mark.parametrize("options", [{"chunk_size": 2}, {"control": "split"}])
def test_vmap_maps_over_them_part_by_part(options):
    ref = fx.new_ref(np.zeros(3))

    def f(ref, x):
        ref[...] = x * x if "chunk_size" in options or x > 1.0 else -x
        return ref[...] + 1.0

    values = fx.vmap(f, **options)(ref, np.arange(3.0))
    np.testing.assert_array_equal(ref[...], [0.0, 1.0 if "chunk_size" in options else -1.0, 4.0])
    np.testing.assert_array_equal(values, ref[...] + 1.0)


def test_references_of_observed_functions():
    ref = fx.new_ref(np.ones(2))
    with fx.debug_nans():
        fx.jit(lambda ref: ref.__setitem__(..., 2.0 * ref[...]))(ref)
    np.testing.assert_array_equal(ref[...], [2.0, 2.0])


def test_pullbacks_add_to_those_that_are_given():
    ref = fx.new_ref(np.ones(2))
    pull = fx.vjp(lambda x, y: {"z": x * y}, np.array([2.0, 3.0]), np.array([4.0, 5.0]))[1]
    left = pull.with_refs(ref, None)({"z": np.ones(2)})
    assert left[0] is None
    np.testing.assert_array_equal(left[1], [2.0, 3.0])
    np.testing.assert_array_equal(ref[...], [5.0, 6.0])
    with pytest.raises(fx.StructureError, match="with_refs"):
        pull.with_refs(ref)({"z": np.ones(2)})
