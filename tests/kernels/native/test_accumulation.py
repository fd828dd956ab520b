"""Running results along an axis: machine code gives the very numbers that NumPy gives, whatever the layout."""

import warnings

import numpy as np
import pytest

from fxgrad import ops
from fxgrad.kernels.native import accumulation, engine

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")
SHAPES = [
    ((7, 100), 1),
    ((3, 50, 5), 1),
    ((20, 33), 1),
    ((2000,), 0),
    ((9, 40, 1), 1),
    ((100, 3), 0),
    ((8, 2), 1),
]


@pytest.fixture(autouse=True)
def every_array_is_large(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")


def layouts(x, axis):
    yield x
    yield np.flip(x, axis)
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, 0)[::-2]
    field = np.zeros(x.shape, [("byte", "i1"), ("number", x.dtype)])["number"]
    field[...] = x  # not aligned
    yield field


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_values(shape, axis, dtype):
    rng = np.random.default_rng(0)
    x = (3 * rng.standard_normal(shape)).astype(dtype)
    if dtype != "i8":
        x.flat[0], x.flat[-1] = -0.0, np.nan
    for v in layouts(x, axis):
        for name in ("add", "multiply", "maximum", "minimum"):
            found = accumulation.accumulate_natively(name, v, axis=axis)
            same(found, getattr(np, name).accumulate(v, axis=axis))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_recurrence(shape, axis, dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    for v in layouts(a, axis):
        expected, z = np.empty_like(b), 0
        for k in range(shape[axis]):
            at = (*(slice(None),) * axis, k)
            z = expected[at] = v[at] * z + b[at]
        same(accumulation.accumulate_natively(accumulation.RECURRENCE, v, b, axis=axis), expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "?", "u1", "i2", "i4"])
@pytest.mark.parametrize("axis", [0, 1])
def test_narrow_numbers_are_added_up_in_wide_ones(axis, dtype):
    x = (np.random.default_rng(0).standard_normal((40, 33)) * 3).astype(dtype)
    wide = np.dtype("f8" if x.dtype.kind == "f" else "i8")
    between, target = ("f4", x.dtype) if x.dtype.kind == "f" else (wide, wide)
    for y in layouts(x, axis):
        found = accumulation.accumulate_natively("add", y, axis=axis, wide=wide, target=target)
        same(found, np.cumsum(y, axis, wide).astype(between).astype(target))


def test_results_lie_as_the_operand_does():
    x = np.ones((4, 300))
    assert accumulation.accumulate_natively("add", x, axis=1).flags.c_contiguous
    backwards = accumulation.accumulate_natively("add", x[:, ::-1], axis=1)
    assert backwards[:, ::-1].flags.c_contiguous


def test_what_numpy_widens_or_does_not_know_is_left_to_it():
    for dtype in ("i4", "u8", "?", "f2", "c16"):
        x = np.ones((30, 60), dtype)
        assert accumulation.accumulate_natively("add", x, axis=1) is None
        np.testing.assert_array_equal(ops.cumsum(x, axis=1), np.cumsum(x, axis=1))


def test_overflow_warns_as_in_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow"):
            ops.cumsum(np.full((4, 300), 1e38, "f4"), axis=1)
        with np.errstate(all="ignore"):
            assert ops.cumsum(np.full((4, 300), 1e38, "f4"), axis=1)[0, -1] == np.inf
