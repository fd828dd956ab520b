"""Sorting, searching and interpolation: NumPy's values everywhere, derivatives that move with the entries."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.testing import check_grads
from tests.ways import agree, same, traced

rng = np.random.default_rng(0)
V, X = rng.normal(size=7), rng.normal(size=(4, 3))
# Ties, NaN, infinities and both zeros.
TIED = np.array([3.0, 1.0, np.nan, 2.0, 1.0, -np.inf, 0.0, np.inf, 3.0])
DTYPES = ("float64", "float32", "int64", "uint8", "bool", "complex128")


@st.composite
def arrays_and_axes(draw, dtypes=DTYPES):
    """An array of few different values, also empty, and an axis of it or None."""
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    values = [0, 1] if dtype.kind == "b" else [0, 1, 2, 3]
    if dtype.kind in "fc":
        values += [-1, 0.5, np.nan, np.inf, -np.inf]
    if dtype.kind == "c":
        values += [1 + 1j, 1 - 1j, complex(2, np.nan), complex(np.nan, 1)]
    x = draw(arrays(dtype, shape, elements=st.sampled_from(values)))
    return x, draw(st.none() | st.integers(-len(shape), len(shape) - 1))


# -- sorting ------------------------------------------
@given(arrays_and_axes())
@settings(max_examples=80, deadline=None)
def test_sorting_is_numpys(case):
    x, axis = case
    traced(lambda x: fnp.sort(x, axis), np.sort(x, axis, stable=True), x)
    traced(lambda x: np.sort(x, axis), np.sort(x, axis, stable=True), x)
    traced(lambda x: fnp.argsort(x, axis), np.argsort(x, axis, stable=True), x)


@given(arrays_and_axes())
@settings(max_examples=80, deadline=None)
def test_descending_order_is_the_reverse_and_keeps_ties_and_nan_last(case):
    x, axis = case
    expected = np.argsort(-(x.astype(float) if x.dtype.kind in "iub" else x), axis, stable=True)
    taken = np.take_along_axis(x if axis is not None else x.ravel(), expected, 0 if axis is None else axis)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        same(np.argsort(x, axis, stable=True, descending=True), expected)
        same(np.sort(x, axis, stable=True, descending=True), taken)
    for call in (lambda f: f(x), lambda f: fx.jit(f)(x)):
        same(call(lambda x: fnp.argsort(x, axis, stable=True, descending=True)), expected)
        same(call(lambda x: fnp.sort(x, axis, descending=True)), taken)


def test_bfloat16_has_a_place_for_nan():
    """NumPy's own sorting of it, and searching in it, has not."""
    x = np.array([3, 1, np.nan, 2, 1]).astype(fnp.bfloat16)
    single = x.astype("float32")
    for sort in (fnp.sort, fx.jit(fnp.sort), lambda x: fx.vjp(fnp.sort, x)[0]):
        assert sort(x).dtype == x.dtype
        np.testing.assert_array_equal(sort(x).astype("float32"), np.sort(single))
    same(fnp.argsort(x), np.argsort(single, stable=True))
    expected = np.searchsorted(np.sort(single), single)
    for search in (fnp.searchsorted, lambda a, v: fx.vmap(fnp.searchsorted)(a[None], v[None])[0]):
        same(search(fnp.sort(x), x), expected)


def test_value_and_derivative_belong_to_one_permutation():
    x, t = np.array([2.0, 1.0, 2.0, 1.0]), np.arange(4.0)
    order = np.argsort(x, stable=True)
    same(fx.jvp(fnp.sort, (x,), (t,))[1], t[order])
    same(fx.vjp(fnp.sort, x)[1](t)[0], t[np.argsort(order)])
    same(fx.vmap(fx.grad(lambda x: fnp.sort(x)[0]))(np.stack([x, -x])), np.eye(4)[[1, 0]])
    same(fx.jvp(lambda x: fnp.sort(x, descending=True), (x,), (t,))[1], np.array([0.0, 2.0, 1.0, 3.0]))


def test_derivatives_of_sorted_arrays():
    agree(lambda x: fnp.sort(x), V)
    agree(lambda x: fnp.sort(x, 0) ** 2, X)
    agree(lambda x: fnp.sort(x, None, descending=True), X)
    agree(lambda x: fnp.partition(x, 3) * fnp.arange(7), np.sort(V))
    check_grads(lambda x: fnp.sum(fnp.sort(fnp.sin(x)) ** 3 * fnp.arange(7)), (V,), order=2)
    check_grads(lambda x: fnp.real(fnp.sort(x)[1] ** 2), (X[0] + 1j * X[1],), order=2, modes=("fwd",))


def test_entries_that_are_left_out_have_derivative_zero():
    """The slope of the root at 0 is infinite; what is sorted away does not meet it."""
    for f in (lambda x: fnp.sort(fnp.sqrt(x))[-1], lambda x: fnp.median(fnp.sqrt(x))):
        same(fx.grad(f)(np.array([4.0, 0.0, 9.0])).sum(), f(np.array([4.0, 0.0, 9.0])) ** -1 / 2)


@pytest.mark.parametrize("axis", range(3))
def test_vmap_over_every_axis(axis):
    x = rng.integers(0, 3, (2, 3, 4)) / 2
    rows = np.moveaxis(x, axis, 0)
    for f, g in ((fnp.sort, np.sort), (fnp.argsort, lambda r: np.argsort(r, stable=True))):
        same(fx.vmap(f, axis)(x), np.stack([g(r) for r in rows]))
    expected = np.stack([fx.grad(lambda r: fnp.sum(fnp.sort(r, 0) ** 3))(r) for r in rows])
    same(fx.vmap(fx.grad(lambda r: fnp.sum(fnp.sort(r, 0) ** 3)), axis)(x), expected)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_lexsort_is_numpys(data):
    x, axis = data.draw(arrays_and_axes(("float64", "int64")))
    keys = [x, np.round(x / 2), x[::-1]]
    axis = -1 if axis is None else axis
    traced(lambda *keys: fnp.lexsort(keys, axis), np.lexsort(keys, axis), *keys)


def test_partitions():
    for kth in (0, -1, (1, 3)):
        y = fx.jit(lambda x, kth=kth: fnp.partition(x, kth))(TIED)
        same(y, np.sort(TIED))
        order = fx.jit(lambda x, kth=kth: fnp.argpartition(x, kth, 0))(TIED)
        same(TIED[order], np.sort(TIED))
    for f in (fnp.partition, fnp.argpartition):
        with pytest.raises(ValueError, match="out of bounds"):
            fx.jit(lambda x, f=f: f(x, 9))(TIED)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "complex64"])
def test_sort_complex(dtype):
    x = np.array([3, 1, 2]).astype(dtype)
    traced(fnp.sort_complex, np.sort_complex(x), x)


def test_methods_and_errors():
    same(fx.jit(lambda x: x.argsort())(V), np.argsort(V))
    same(fx.jit(lambda x: x.argpartition(2))(V), np.argsort(V))
    same(
        fx.jit(lambda x: x.searchsorted(0.5, side="right"))(np.sort(V)), np.sort(V).searchsorted(0.5, "right")
    )
    for write in (lambda x: x.sort(0), lambda x: x.partition(0)):
        same(fx.jit(lambda x, write=write: (write(x), x[0])[1])(V), V.min())
    with pytest.raises(np.exceptions.AxisError):
        fx.jit(lambda x: fnp.sort(x, 1))(V)
    with pytest.raises(ValueError, match="names fields"):
        fx.jit(lambda x: fnp.sort(x, order="a"))(V)


# -- searching ------------------------------------------
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_searching_is_numpys(data):
    a, _ = data.draw(arrays_and_axes())
    v, _ = data.draw(arrays_and_axes((a.dtype.name,)))
    a, side = np.sort(a, None), data.draw(st.sampled_from(["left", "right"]))
    expected = np.searchsorted(a, v, side)
    traced(lambda a, v: fnp.searchsorted(a, v, side), expected, a, v)
    for in_axes in ((0, None), (None, 0)):
        batch = [x if b is None else np.stack([x, x]) for b, x in zip(in_axes, (a, v))]
        same(fx.vmap(lambda a, v: np.searchsorted(a, v, side), in_axes)(*batch)[1], expected)


def test_each_row_is_searched_for_its_own_values():
    a, v = np.sort(rng.integers(0, 9, (3, 5, 6)), -1), rng.integers(-1, 10, (5, 2, 3))
    found = fx.vmap(fx.vmap(fnp.searchsorted), (0, 2))(a, v)
    same(found, np.array([[np.searchsorted(a[i, j], v[j, :, i]) for j in range(5)] for i in range(3)]))
    other = fx.vmap(lambda a: fx.vmap(fnp.searchsorted, (None, 0))(a, v[:, 0, 0]))(a[:, 0])
    same(other, np.stack([np.searchsorted(row, v[:, 0, 0]) for row in a[:, 0]]))


def test_sorter_and_what_cannot_be_searched():
    order = np.argsort(V)
    traced(lambda a, v, s: fnp.searchsorted(a, v, sorter=s), np.searchsorted(V, X, sorter=order), V, X, order)
    same(
        fx.grad(lambda a: fnp.searchsorted(a, 0.3) * a[0])(np.sort(V)),
        np.searchsorted(np.sort(V), 0.3) * np.eye(7)[0],
    )
    for call, message in (
        (lambda a: fnp.searchsorted(a, 1, "middle"), "side"),
        (lambda a: fnp.searchsorted(a[None], 1), "one axis"),
        (lambda a: fnp.searchsorted(a, 1, sorter=[0]), "sorter"),
    ):
        with pytest.raises(ValueError, match=message):
            fx.jit(call)(V)


@pytest.mark.parametrize("bins", [[0.0, 1, 1, 2], [2.0, 1, 1, 0], [1.0], [], [1, 1.0]])
@pytest.mark.parametrize("right", [False, True])
def test_digitize(bins, right):
    bins = np.array(bins)
    traced(lambda x, bins: fnp.digitize(x, bins, right), np.digitize(TIED, bins, right), TIED, bins)


def test_bins_in_no_order_are_refused_where_they_are_known():
    with pytest.raises(ValueError, match="monotonically"):
        fx.grad(lambda x: x * fnp.digitize(x, fnp.array([0.0, 2.0, 1.0])))(1.0)
    with pytest.raises(TypeError, match="complex"):
        fx.jit(lambda x: fnp.digitize(x, [0.0, 1.0]))(1j)


# -- interpolation ------------------------------------------
XP, FP = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, -2.0, 3.0, 3.5])
AT = np.array([-1, 0, 0.3, 1, 2, 2.5, 3, 4, 5, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "xp, fp",
    [
        (XP, FP),
        (XP, FP * (1 + 2j)),
        (XP, np.array([1, np.inf, 3, np.nan])),
        (XP, np.array([np.inf, np.inf, 3, -np.inf])),
        (XP[:2], np.array([np.inf, -np.inf])),
        (np.array([0.0, 0, 1, 1, 2]), np.arange(5.0)),
        (np.array([0.0, 1, 1]), np.arange(3.0)),
        (XP.astype(int), FP.astype("float32")),
    ],
)
def test_interpolation_is_numpys(xp, fp):
    traced(fnp.interp, np.interp(AT, xp, fp), AT, xp, fp)
    traced(lambda x: np.interp(x, xp, fp, -9, right=7), np.interp(AT, xp, fp, -9, 7), AT)


def test_interpolation_through_one_point():
    traced(fnp.interp, np.interp(AT[:-1], [1.0], [2.0]), AT[:-1], np.array([1.0]), np.array([2.0]))


@pytest.mark.parametrize("period", [4.5, -4.5, 100.0])
def test_periodic_interpolation(period):
    x, xp = np.linspace(-7, 9, 23), np.array([3, 1, 4.2, 0.5])
    expected = np.interp(x, xp, FP, period=period)
    traced(lambda x, xp, fp: fnp.interp(x, xp, fp, period=period), expected, x, xp, FP)
    agree(lambda x, xp, fp: fnp.interp(x, xp, fp, period=period), x[[3, 9, 14]], xp, FP)


def test_derivatives_of_interpolation():
    x = np.array([[-0.5, 0.3], [2.0, 4.4]])
    agree(fnp.interp, x, XP, FP)
    agree(lambda left, right: fnp.interp(x, XP, FP, left, right), np.array(2.0), np.array(3.0))
    check_grads(lambda x, xp, fp: fnp.sum(fnp.interp(x, xp, fp) ** 2), (x, XP, FP), order=2)


def test_derivatives_at_and_beyond_the_points():
    slope = fx.vmap(fx.grad(lambda x: fnp.interp(x, XP, FP)))
    pieces = np.diff(FP) / np.diff(XP)
    same(slope(XP), pieces[[0, 1, 2, 2]])
    same(slope(np.array([-1.0, 5.0, np.inf])), np.zeros(3))
    same(fx.jacobian(lambda fp: fnp.interp(XP, XP, fp))(FP), np.eye(4))


def test_what_interpolation_refuses():
    for args, error, message in (
        ((XP, XP, FP[:2]), ValueError, "as long as"),
        ((XP, XP[:0], FP[:0]), ValueError, "not empty"),
        ((XP * 1j, XP, FP), TypeError, "expected real"),
    ):
        with pytest.raises(error, match=message):
            fx.jit(fnp.interp)(*args)
    with pytest.raises(ValueError, match="period"):
        fx.vjp(lambda x: fnp.interp(x, XP, FP, period=0.0), XP)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: fnp.choose([2, 0], [x, x]), ValueError),
        (lambda x: fnp.choose([-1, 0], [x, x]), ValueError),
        (lambda x: fnp.choose(np.array([0.5, 0.0]), [x, x]), TypeError),
        (lambda x: fnp.take(x, np.array([0.5])), TypeError),
        (lambda x: fnp.take(x, [2]), IndexError),
        (lambda x: fnp.take_along_axis(x, np.array([0.5]), 0), IndexError),
    ],
)
def test_positions_that_there_are_not_raise_the_classes_of_numpy(call, error):
    plain = np.array([1.0, 2.0])
    with pytest.raises(error):
        call(plain)
    with pytest.raises(error) as raised:
        fx.make_graph(call)(plain)
    assert isinstance(raised.value, fx.FxgradError)
