"""Shapes, axes, dtypes, broadcasting and indices as hypothesis finds them: as NumPy, and the same in every mode."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from ways import agree

import fxgrad as fx
import fxgrad.numpy as fnp

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ENTRIES = st.integers(-192, 192).map(lambda k: k / 64 + 1 / 256)  # never at a kink, nor close to one another


def arrays(shape, dtype=np.float64):
    """Arrays of distinct entries, so that extrema are unique."""
    return hnp.arrays(dtype, shape, elements=ENTRIES, unique=True)


BINARY = (fnp.add, fnp.subtract, fnp.multiply, fnp.arctan2, fnp.maximum, fnp.hypot)


@given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
    st.sampled_from(BINARY),
    st.data(),
)
def test_broadcasting(shapes, function, data):
    a, b = (data.draw(arrays(shape)) for shape in shapes.input_shapes)
    np.testing.assert_array_equal(fx.jit(function)(a, b), getattr(np, function.__name__)(a, b))
    assume(not np.any(np.subtract(a, b) == 0))  # ties of maximum
    agree(function, a, b)


REDUCTIONS = (np.sum, np.mean, np.max, np.min, np.prod, np.var)


@given(SHAPES, st.sampled_from(REDUCTIONS), st.booleans(), st.data())
def test_reductions(shape, function, keepdims, data):
    x = data.draw(arrays(shape))
    axes = data.draw(st.none() | hnp.valid_tuple_axes(len(shape), min_size=0))
    size = np.prod([shape[a] for a in (range(len(shape)) if axes is None else axes)], dtype=int)
    assume(size > 0)

    def reduced(x):
        return function(x, axis=axes, keepdims=keepdims)

    value, _ = fx.vjp(reduced, x)
    np.testing.assert_allclose(value, reduced(x), rtol=1e-14, atol=1e-14)
    assert np.shape(value) == np.shape(reduced(x))
    agree(reduced, x)


@given(SHAPES.filter(lambda shape: 0 not in shape), st.data())
def test_basic_indices(shape, data):
    x = data.draw(arrays(shape))
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=5))
    np.testing.assert_array_equal(fx.jit(lambda x: x[index])(x), x[index])
    agree(lambda x: x[index], x)
    agree(lambda x, u: fnp.at(x)[index].set(u), x, np.asarray(2 * x[index]))


@given(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3), st.data())
def test_integer_arrays_as_indices(shape, data):
    """Advanced indices beside slices, integers and new axes, wherever NumPy then puts their axes."""
    x = data.draw(arrays(shape))
    common = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
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


@given(hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3), st.data())
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


@given(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3), st.data())
def test_rearrangements(shape, data):
    x = data.draw(arrays(shape))
    order = data.draw(st.permutations(range(len(shape))))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))

    def rearranged(x):
        y = np.flip(np.transpose(x, order), axis)
        return np.concatenate([y, 2 * y[..., ::-1]], axis=-1).reshape(-1)

    np.testing.assert_array_equal(fx.jit(rearranged)(x), rearranged(x))
    agree(rearranged, x)


DTYPES = (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8, bool, np.complex64, np.complex128)


@given(
    st.sampled_from(DTYPES),
    st.sampled_from((*DTYPES, bool, int, float, complex)),
    st.sampled_from(("add", "multiply", "where", "stack")),
)
def test_dtypes_are_numpys_traced_or_not(left, right, name):
    a = np.ones(2, left)
    b = right(1) if right in (bool, int, float, complex) else np.ones(2, right)
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
