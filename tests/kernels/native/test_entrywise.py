"""Operations of many passes on large arrays, un-jitted: machine code gives what NumPy gives."""

import ml_dtypes
import numpy as np
import pytest

from fxgrad import ops
from fxgrad.core.primitive import REGISTRY
from fxgrad.kernels.native import engine, entrywise

NAMES = ["sigmoid", "sigmoid_slope", "silu", "silu_slope", "erf", "erfc", "normal_cdf"]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, -1e300, 40.0, -40.0]

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")


@pytest.fixture(autouse=True)
def small_arrays_are_large(monkeypatch):
    monkeypatch.setattr(entrywise, "FUSED_ENTRIES", 0)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype, monkeypatch):
    x = np.concatenate([np.linspace(-12, 12, 40_001), SPECIAL]).astype(float)
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x = np.concatenate([x, x])  # more than a block
    function = REGISTRY[name].call
    with np.errstate(all="ignore"):
        monkeypatch.setattr(engine, "mode", lambda: "never")
        want = function(x)
        monkeypatch.setattr(engine, "mode", lambda: "always")
        got = function(x)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    # Neither is exact: NumPy's forms of these have errors of some units in the last place; slopes have a zero.
    eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
    finite, near = np.isfinite(want), 4 * eps if "slope" in name else tiny
    np.testing.assert_allclose(got[finite], want[finite], rtol=20 * eps, atol=near)
    np.testing.assert_array_equal(got[~finite], want[~finite])


@pytest.mark.parametrize("count", [1, 7, 8, 16, 33, 1000])
def test_arrays_of_any_length_and_shape(count, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    x = np.random.default_rng(count).standard_normal(2 * count)
    want = [ops.erf(v) for v in x.tolist()]
    np.testing.assert_allclose(entrywise.compute_entrywise("erf", x), want, rtol=1e-15)
    np.testing.assert_allclose(
        entrywise.compute_entrywise("erf", x.reshape(2, count)), np.reshape(want, (2, -1))
    )
    assert entrywise.compute_entrywise("erf", x[::2]) is None or count == 1  # NumPy computes it
    assert entrywise.compute_entrywise("erf", x.astype(complex)) is None
    assert entrywise.compute_entrywise("no such function", x) is None


def test_the_first_call_does_not_wait(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    monkeypatch.setattr(entrywise, "_tiers", {})
    asked = []
    monkeypatch.setattr(entrywise, "compile_entrywise", lambda *key: asked.append(key))
    assert entrywise.compute_entrywise("erf", np.ones(100)) is None
    assert not asked


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("other", ["f4", "f8"])
def test_conversions_to_and_from_half_precision_are_numpys(half, other, monkeypatch):
    half = np.dtype(half)
    limits = [6e4, -6e4] if half == np.float16 else [1e30, -1e30]
    x = np.random.default_rng(0).standard_normal(5001) * 10.0 ** np.arange(5001).clip(0, 9)
    x = np.concatenate([x.clip(-6e4, 6e4), np.linspace(-1e-7, 1e-7, 999), SPECIAL[:5], limits]).astype(other)
    halves = x.astype(half)
    monkeypatch.setattr(engine, "mode", lambda: "always")
    found, back = entrywise.convert_entries(x, half), entrywise.convert_entries(halves, x.dtype)
    assert found.dtype == half and back.dtype == x.dtype
    np.testing.assert_array_equal(found.view("i2")[~np.isnan(x)], halves.view("i2")[~np.isnan(x)])
    np.testing.assert_array_equal(back, halves.astype(other))
    assert np.isnan(found.astype(other)[np.isnan(x)]).all()
    np.testing.assert_array_equal(ops.convert(x, dtype=half).view("i2"), halves.view("i2"))
    if half == np.float16:
        with pytest.warns(RuntimeWarning, match="overflow"):
            ops.convert(np.full(5000, 1e5, other), dtype=half)
