"""Shapes, axes, dtypes, broadcasting and indices as hypothesis finds them: as NumPy, and the same in every mode."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.testing.strategies import DTYPES, arrays, axes, broadcastable, dtypes, shapes
from tests.ways import agree

BINARY = (fnp.add, fnp.subtract, fnp.multiply, fnp.arctan2, fnp.maximum, fnp.hypot)


@given(broadcastable(2).flatmap(lambda pair: st.tuples(*map(arrays, pair))), st.sampled_from(BINARY))
def test_broadcasting(operands, function):
    a, b = operands
    expected = getattr(np, function.__name__)(a, b)
    # arctan2 and hypot as machine code are right to two units in the last place.
    room = 4 * np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
    np.testing.assert_allclose(fx.jit(function)(a, b), expected, rtol=room)
    assume(not np.any(np.subtract(a, b) == 0))  # ties of maximum
    agree(function, a, b)


REDUCTIONS = (np.sum, np.mean, np.max, np.min, np.prod, np.var)


@given(shapes(), st.sampled_from(REDUCTIONS), st.booleans(), st.data())
def test_reductions(shape, function, keepdims, data):
    x = data.draw(arrays(shape))
    axis = data.draw(axes(shape))
    chosen = slice(None) if axis is None else np.array(axis, int)
    assume(np.all(np.array(shape, int)[chosen]))  # something to reduce

    def reduced(x):
        return function(x, axis=axis, keepdims=keepdims)

    value, _ = fx.vjp(reduced, x)
    np.testing.assert_allclose(value, reduced(x), rtol=1e-14, atol=1e-14)
    assert np.shape(value) == np.shape(reduced(x))
    agree(reduced, x)


@given(shapes(min_side=1), st.data())
def test_basic_indices(shape, data):
    x = data.draw(arrays(shape))
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=5))
    np.testing.assert_array_equal(fx.jit(lambda x: x[index])(x), x[index])
    agree(lambda x: x[index], x)
    agree(lambda x, u: fnp.at(x)[index].set(u), x, np.asarray(2 * x[index]))


@given(shapes(min_dims=1, min_side=1, max_side=3), st.data())
def test_integer_arrays_as_indices(shape, data):
    """Advanced indices beside slices, integers and new axes, wherever NumPy then puts their axes."""
    x = data.draw(arrays(shape))
    common = data.draw(shapes(max_dims=2, min_side=1, max_side=3))
    entries = []
    for n in shape:
        integer = st.integers(-n, n - 1)
        array = hnp.arrays(np.intp, common, elements=integer)
        entries.append(data.draw(st.one_of(st.just(slice(None)), st.slices(n), integer, array)))
        if data.draw(st.integers(0, 4)) == 0:
            entries.append(None)
    index = tuple(entries)
    np.testing.assert_array_equal(fx.jit(lambda x: x[index])(x), x[index])
    agree(lambda x: x[index], x)
    agree(lambda x, u: fnp.at(x)[index].add(u), x, np.asarray(2 * x[index]))


@given(shapes(min_dims=2, min_side=1, max_side=3), st.data())
def test_batched_indices(shape, data):
    """vmap over the index arrays, over the array, and over both, against the loop."""
    batch = data.draw(st.integers(1, 3))
    xs = data.draw(arrays((batch, *shape)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    positions = data.draw(hnp.arrays(np.intp, (batch, 2), elements=st.integers(0, shape[axis] - 1)))
    head = (slice(None),) * axis

    def picked(x, i):
        return fnp.take(x, i, axis=axis) * fnp.asarray(x)[(*head, 0)].sum()

    both = fx.vmap(picked)(xs, positions)
    np.testing.assert_allclose(both, [picked(x, i) for x, i in zip(xs, positions)], rtol=1e-13)
    one = fx.vmap(picked, in_axes=(None, 0))(xs[0], positions)
    np.testing.assert_allclose(one, [picked(xs[0], i) for i in positions], rtol=1e-13)
    gradient = fx.grad(lambda x, i: fnp.sum(picked(x, i) ** 2))
    expected = [gradient(x, i) for x, i in zip(xs, positions)]
    np.testing.assert_allclose(fx.vmap(gradient)(xs, positions), expected, rtol=1e-12)


@given(shapes(min_dims=1, max_dims=4, max_side=3), st.data())
def test_rearrangements(shape, data):
    x = data.draw(arrays(shape))
    order = data.draw(st.permutations(range(len(shape))))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))

    def rearranged(x):
        y = np.flip(np.transpose(x, order), axis)
        return np.concatenate([y, 2 * y[..., ::-1]], axis=-1).reshape(-1)

    np.testing.assert_array_equal(fx.jit(rearranged)(x), rearranged(x))
    agree(rearranged, x)


@given(
    dtypes(DTYPES),
    dtypes(DTYPES) | st.sampled_from((bool, int, float, complex)),
    st.sampled_from(("add", "multiply", "where", "stack")),
)
def test_dtypes_are_numpys_traced_or_not(left, right, name):
    a = np.ones(2, left)
    b = right(1) if isinstance(right, type) else np.ones(2, right)
    program = {
        "add": lambda xp, a, b: xp.add(a, b),
        "multiply": lambda xp, a, b: a * b,
        "where": lambda xp, a, b: xp.where(a == a, a, b),
        "stack": lambda xp, a, b: xp.concatenate([a, a * b]),
    }[name]
    expected = program(np, a, b).dtype
    assert program(fnp, a, b).dtype == expected
    assert fx.jit(lambda a: program(fnp, a, b))(a).dtype == expected
    assert (
        fx.vmap(lambda a: program(fnp, a, right(1) if not hasattr(b, "shape") else b))(a[None]).dtype
        == expected
    )
    assert fx.vjp(lambda a: program(fnp, a, b), a)[0].dtype == expected
