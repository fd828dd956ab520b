"""Arrays as sets: NumPy's elements, the derivative of the first occurrence, and sizes where values are not known."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import agree, same, traced

ALL = {"return_index": True, "return_inverse": True, "return_counts": True}
A = np.array([3, 1, np.nan, 2, 1, np.nan, -np.inf, 3, 0, -0.0])
B = np.array([1, 7, 3, np.nan, 5, 5.0])
PAIRS = ("intersect1d", "setdiff1d", "setxor1d", "union1d")


def everywhere(name, *args, **options):
    """Check a function where values are known, and with NumPy's size as `size` where they are not."""
    expected = getattr(np, name)(*args, **options)
    if name == "unique_values":  # NumPy leaves the order open
        expected = np.sort(expected)
    same(fx.vjp(lambda *xs: getattr(fnp, name)(*xs, **options), *args)[0], expected)
    size = (expected[0] if isinstance(expected, tuple) else expected).shape[options.get("axis") or 0]
    traced(lambda *xs: getattr(fnp, name)(*xs, **options, size=size), expected, *args)
    same(getattr(fnp, name)(*args, **options, size=size), expected)


@st.composite
def few_values(draw, dtypes=("float64", "float32", "int64", "bool", "complex128"), dims=3):
    shape = draw(array_shapes(min_dims=0, max_dims=dims, min_side=0, max_side=4))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    values = [0, 1] if dtype.kind == "b" else [0, 1, 2]
    values += [np.nan, np.inf] * (dtype.kind in "fc") + [1j, complex(1, np.nan)] * (dtype.kind == "c")
    return draw(arrays(dtype, shape, elements=st.sampled_from(values)))


@given(few_values(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_unique_is_numpys(x, equal_nan):
    everywhere("unique", x, equal_nan=equal_nan)
    everywhere("unique", x, equal_nan=equal_nan, **ALL)
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        everywhere(name, x)


@given(few_values(("float64", "int64", "bool")))
@settings(max_examples=40, deadline=None)
def test_unique_slices(x):
    if np.isnan(x).any() or x.size == 0:  # NumPy's order of records with NaN is its own
        return
    for axis in range(-x.ndim, x.ndim):
        everywhere("unique", x, axis=axis, **ALL)


@pytest.mark.parametrize("name", PAIRS)
@given(few_values(("float64",), 2), few_values(("float64", "int64"), 2))
@settings(max_examples=30, deadline=None)
def test_pairs_of_sets(name, a, b):
    everywhere(name, a, b)


@given(few_values(("float64", "int64", "complex128")), few_values(("float64", "int64")))
@settings(max_examples=40, deadline=None)
def test_isin_is_numpys(a, b):
    traced(fnp.isin, np.isin(a, b), a, b)
    traced(lambda a, b: np.isin(a, b, invert=True), np.isin(a, b, invert=True), a, b)


def test_options_of_pairs():
    everywhere("intersect1d", A, B, return_indices=True)
    a, b = np.array([3, 1, 5]), np.array([7, 5, 2])
    for name in PAIRS[:3]:
        everywhere(name, a, b, assume_unique=True)


def test_what_lacks_is_filled_up():
    x = np.array([3, 1, 1])
    same(
        fnp.unique(x, size=4, **ALL),
        tuple(map(np.array, ([1, 3, 1, 1], [1, 0, 1, 1], [1, 0, 0], [2, 1, 0, 0]))),
    )
    same(fnp.unique(x, size=1, return_counts=True), (np.array([1]), np.array([2])))
    same(fnp.unique(x, size=4, fill_value=9), np.array([1, 3, 9, 9]))
    same(fnp.unique(x, size=0), x[:0])
    same(fnp.unique(x[:0], size=2), np.array([0, 0]))
    same(fnp.unique(np.array([[2, 1], [2, 1]]), axis=0, size=2, fill_value=7), np.array([[2, 1], [7, 7]]))
    same(fnp.intersect1d(x, [1, 3, 5], size=3), np.array([1, 3, 1]))
    same(fnp.setdiff1d(x, [1], size=2, fill_value=0), np.array([3, 0]))
    same(fnp.setxor1d(x, [1, 5], size=4), np.array([3, 5, 3, 3]))
    same(fnp.union1d(x, [5], size=2), np.array([1, 3]))


def test_derivatives_are_those_of_first_occurrences():
    x = np.array([2.0, 1.0, 2.0, 5.0])
    same(fx.jacobian(fnp.unique)(x), np.eye(4)[[1, 0, 3]])
    same(fx.jacobian(fx.jit(lambda x: fnp.unique(x, size=3)))(x), np.eye(4)[[1, 0, 3]])
    same(fx.jacobian(lambda x: fnp.intersect1d(x, [2.0, 5.0, 7.0]))(x), np.eye(4)[[0, 3]])
    same(fx.jacobian(lambda x: fnp.setdiff1d(x, [2.0]))(x), np.eye(4)[[1, 3]])
    same(fx.jacobian(lambda x: fnp.setxor1d([2.0, 9.0], x))(x), np.vstack([np.eye(4)[[1, 3]], np.zeros(4)]))
    agree(lambda a, b: fnp.union1d(a, b, size=6), np.array([4.0, 1.0, 3.0]), np.array([2.0, 6.0, 5.0]))
    same(fx.hessian(lambda x: fnp.sum(np.unique(x) ** 3))(x), np.diag([12.0, 6.0, 0.0, 30.0]))


@pytest.mark.parametrize("name", ["unique", "unique_all", *PAIRS])
def test_unknown_sizes_say_what_to_write(name):
    args = (A, B) if name in PAIRS else (A,)
    for transform in (fx.jit, lambda f: lambda *xs: fx.vmap(f)(*[x[None] for x in xs])):
        with pytest.raises(fx.ConcretizationError, match="size=n"):
            transform(getattr(fnp, name))(*args)
