"""Places of true entries, as many as `size` says: NumPy's first ones, then filled up, also where values are traced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import ShapeError

MASKS = arrays(bool, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))


def filled(places, size, fill):
    """The first places, then a number."""
    return np.concatenate([places[:size], np.full(max(0, size - len(places)), fill)])


@settings(max_examples=60)
@given(MASKS, st.integers(0, 30), st.integers(-3, 9))
def test_places_are_numpys_first_ones(mask, size, fill):
    expected = [filled(p, size, fill) for p in mask.nonzero()]
    for f in (
        lambda m: fnp.nonzero(m, size=size, fill_value=fill),
        lambda m: fnp.where(m, size=size, fill_value=fill),
    ):
        for found in (f(mask), fx.jit(f)(mask)):
            assert len(found) == mask.ndim
            for axis, want in zip(found, expected):
                np.testing.assert_array_equal(axis, want)
    rows = fnp.argwhere(mask, size=size, fill_value=fill)
    np.testing.assert_array_equal(rows, np.stack(expected, axis=1).reshape(size, mask.ndim))
    flat = fx.jit(lambda m: fnp.flatnonzero(m, size=size, fill_value=fill))(mask)
    np.testing.assert_array_equal(flat, filled(np.flatnonzero(mask), size, fill))


def test_a_number_for_each_axis_fills_up():
    mask = np.array([[False, True], [True, False]])
    rows, columns = fnp.nonzero(mask, size=3, fill_value=(7, 8))
    assert rows.tolist() == [0, 1, 7] and columns.tolist() == [1, 0, 8]
    with pytest.raises(ShapeError, match="3 numbers in fill_value for 2 axes"):
        fnp.nonzero(mask, size=3, fill_value=(7, 8, 9))


def test_batches_have_places_of_their_own():
    rows = np.array([[0, 3, 4], [5, 0, 0]])
    found = fx.vmap(lambda r: fnp.flatnonzero(r, size=2, fill_value=-1))(rows)
    assert found.tolist() == [[1, 2], [0, -1]]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_entries_at_true_places(size, axis):
    x = np.arange(6.0).reshape(2, 3)
    mask = np.array([True, False, True])[: 3 if axis in (1, -1, None) else 2]
    f = fx.jit(lambda m, x: fnp.compress(m, x, axis, size=size, fill_value=-1.0))
    known = np.compress(mask, x, axis)
    taken = np.take(known, range(min(size, known.shape[axis or 0])), axis or 0)
    pads = [(0, 0)] * taken.ndim
    pads[axis or 0] = (0, size - taken.shape[axis or 0])
    np.testing.assert_array_equal(f(mask, x), np.pad(taken, pads, constant_values=-1.0))
    gradient = fx.grad(lambda x: fnp.sum(f(mask, x)))(x)
    expected = fx.grad(
        lambda x: fnp.sum(fnp.take(fnp.compress(mask, x, axis), range(taken.shape[axis or 0]), axis))
    )(x)
    np.testing.assert_array_equal(gradient, expected)


def test_an_extract_under_jit_has_a_derivative():
    f = fx.jit(lambda x: fnp.sum(fnp.extract(x > 1, x, size=4) ** 2))
    np.testing.assert_array_equal(fx.grad(f)(np.array([0.0, 2.0, 3.0])), [0.0, 4.0, 6.0])


def test_a_condition_longer_than_the_axis_is_an_error():
    with pytest.raises(ShapeError, match="the condition has 4 entries, the axis 3"):
        fnp.compress(np.ones(4, bool), np.ones((2, 3)), axis=1, size=2)


def test_without_a_size_the_error_names_it():
    with pytest.raises(fx.ConcretizationError, match="size=n"):
        fx.jit(fnp.nonzero)(np.ones(3))
