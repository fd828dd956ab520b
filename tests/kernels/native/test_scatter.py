"""Rows read from, and combined at, places: the results of NumPy, in its order, whatever the threads."""

import numpy as np
import pytest

from fxgrad.kernels import selection
from fxgrad.kernels.native import engine, scatter, threads
from tests.together import together

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")

ALL = slice(None)
# Shapes, and indices of which `r` makes numbers of rows of a shape.
CASES = [
    ((5, 37), lambda r: (r(5, 11), ALL)),
    ((5, 37), lambda r: (ALL, r(37, 11))),
    ((9,), lambda r: (r(9, 30),)),
    ((2, 6, 3), lambda r: (ALL, r(6, 11), ALL)),
    ((70, 3), lambda r: (ALL, r(3, 4))),
    ((4, 1), lambda r: (r(4, 2, 3), ALL)),
    ((4, 6, 16), lambda r: (r(4, 5, 1), r(6, 3))),
    ((5, 37), lambda r: (np.broadcast_to(r(5, 11, 1), (11, 37)), np.arange(37))),
    ((5, 3), lambda r: (np.broadcast_to(r(5, 11, 1), (11, 3)), np.array([0, 2, 1]))),
    ((5, 3, 2), lambda r: (np.broadcast_to(r(5, 7, 1, 1), (7, 3, 2)), np.arange(3)[:, None], np.arange(2))),
    ((5, 1), lambda r: (np.broadcast_to(r(5, 6, 1), (6, 4)), np.zeros(1, int))),
    ((5, 3, 2), lambda r: (np.arange(5)[:, None, None], r(3, 5, 4, 1), np.arange(2))),
]
DTYPES = ["f4", "f8", "i4", "i8", "c8", "c16", "f2", "u1"]


@pytest.fixture(autouse=True, params=[1, 5])
def every_array_is_large(monkeypatch, request):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(selection, "INDEXED_ENTRIES", 1)
    monkeypatch.setattr(threads, "THREAD_WORK", 1)
    monkeypatch.setattr(scatter, "SHARED_WIDTH", 1)
    monkeypatch.setattr(threads, "thread_count", lambda: request.param)


def draw(dtype, *shape):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape) * 5
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    values = abs(values) if dtype == "u1" else values
    found = values.astype(dtype)
    if np.dtype(dtype).kind == "f" and found.size > 4:
        found.reshape(-1)[:3] = 0.0, -0.0, np.nan
    return found


def places(case, dtype=np.int64):
    shape, make = case
    rng = np.random.default_rng(1)
    return shape, make(lambda n, *sizes: rng.integers(-n, n, sizes, dtype=dtype))


@together("case")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
def test_combined(case, dtype, name):
    shape, index = places(case)
    x = draw(dtype, *shape)
    u = draw(dtype, *x[index].shape)
    expected = x.copy()
    with np.errstate(all="ignore"):
        getattr(np, name).at(expected, index, u)
        for given in (u, np.asfortranarray(u), u[::-1][::-1]):
            np.testing.assert_array_equal(selection.combine_at(name, x.copy, index, given), expected)


@together("case")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [*DTYPES, "?"])
def test_taken(case, dtype):
    for kind in (np.int64, np.int32):
        shape, index = places(case, kind)
        x = draw(dtype, *shape)
        assert selection.take_at(x, index).tobytes() == np.ascontiguousarray(x[index]).tobytes()
        np.testing.assert_array_equal(selection.take_at(x.T.copy().T, index), x[index])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_products_of_others(case, dtype, monkeypatch):
    shape, index = places(case)
    x = draw(dtype, *shape)
    u = draw(dtype, *x[index].shape)
    with np.errstate(all="ignore"):
        found = selection.multiply_others_at(x, index, u)
        monkeypatch.setattr(engine, "mode", lambda: "never")
        np.testing.assert_array_equal(found, selection.multiply_others_at(x, index, u))


def test_exceptions_are_told_by_numpy():
    x = np.full((3, 8), 1e300)
    index = (np.array([0, 0, 2]), ALL)
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = selection.combine_at("multiply", x.copy, index, np.full((3, 8), 1e10))
    assert np.isinf(found[[0, 2]]).all() and (found[1] == 1e300).all()


def test_what_does_not_fit_is_left_to_numpy():
    index = (np.array([0, 2]), ALL)
    found = selection.combine_at("add", lambda: np.zeros((3, 8)), index, np.ones(8))
    assert found.sum() == 16
    places = selection.find_places((3, 8), index)
    assert not scatter.combine_rows("add", np.zeros((3, 8)), places, np.ones((2, 8), "f4"))
    assert not scatter.combine_rows("add", np.zeros((3, 16))[:, ::2], places, np.ones((2, 8)))
    for name in (selection.take_at, lambda x, i: selection.combine_at("add", x.copy, i, np.ones((2, 8)))):
        with pytest.raises(IndexError):
            name(np.zeros((3, 8)), (np.array([0, 3]),))
