"""Kernels that take another way for large arrays, against NumPy's plain one."""

import math

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.kernels.native import engine
from fxgrad.kernels.selection import combine_at
from fxgrad.ops.masked import densify

RNG = np.random.default_rng(0)


def normal(*shape, dtype="f4"):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_where(dtype):
    x, y = normal(100, 300, dtype=dtype), normal(100, 300, dtype=dtype)
    mask = x > 0
    x[0, 0], y[1], x[2] = math.nan, math.inf, -math.inf
    sides = [
        *[
            (x, y),
            (x, 0),
            (0, y),
            (x, -0.0),
            (1.5, y),
            (x, np.asarray(2, dtype)),
            (x, np.float64(2)),
            (x, True),
        ],
        *[(x[::-1], y), (x[:1], y), (x, 10**30), (1, 2)],
    ]
    for a, b in sides:
        found, expected = ops.where(mask, a, b), np.where(mask, a, b)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((50, 200), (RNG.integers(-50, 50, 300), slice(None))),
        ((50, 200), (RNG.integers(-50, 50, 300),)),
        ((200, 200), (RNG.permutation(200),)),
        ((50, 200), (RNG.integers(0, 50, 9000), RNG.integers(0, 200, 9000))),
        ((50, 200, 3), (slice(None), RNG.integers(0, 200, 300))),
        ((9000,), (RNG.integers(-9000, 9000, 9000),)),
        ((50, 40, 3), (RNG.integers(0, 50, (30, 2)), slice(None), slice(0, 2))),
        ((1000, 1000), (RNG.integers(0, 1000, 5000), RNG.integers(0, 1000, 5000))),
    ],
)
def test_added_at(shape, index):
    expected = np.zeros(shape, "f4")
    u = normal(*expected[index].shape)
    found = combine_at("add", lambda: np.zeros(shape, "f4"), index, u)
    np.add.at(expected, index, u)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", [10, -11])
def test_added_at_no_such_place(place):
    with pytest.raises(IndexError):
        combine_at("add", lambda: np.zeros((10, 5000)), (np.array([place, 1]),), np.ones((2, 5000)))


@pytest.mark.parametrize("shape", [(300,), (20, 50), (5, 60, 7)])
def test_argsort_is_stable(shape):
    x = np.round(normal(*shape), 1)
    x.flat[:8] = [math.nan, 0.0, -0.0, math.inf, -math.inf, -math.nan, 1e-45, -1e-45]
    x.view(np.int32).flat[20] = -4194303  # a NaN with other bits
    for axis in range(x.ndim):
        np.testing.assert_array_equal(ops.argsort(x, axis=axis), np.argsort(x, axis=axis, kind="stable"))


@pytest.mark.parametrize("size", [8, 100_000])
def test_logistic_functions_lose_no_digits(size):
    x = np.concatenate([np.linspace(-80, 80, size), [-1e30, 1e30, -math.inf, math.inf]])
    with np.errstate(over="ignore", invalid="ignore"):
        upper, lower = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(x))
        slope = np.where(np.abs(x) < 700, upper + x * upper * lower, x > 0)
    np.testing.assert_allclose(ops.sigmoid(x), upper, rtol=1e-14)
    np.testing.assert_allclose(ops.activation.sigmoid_slope(x), upper * lower, rtol=1e-14)
    np.testing.assert_allclose(ops.activation.silu_slope(x), slope, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ops.silu(x[:-2]), x[:-2] * upper[:-2], rtol=1e-14)
    np.testing.assert_array_equal(ops.relu(x), np.maximum(x, 0))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_reductions(name, axis):
    ufunc = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}[name]
    x = normal(3, 20, 400)
    x[1, 7, 5] = math.nan
    np.testing.assert_array_equal(getattr(ops, name)(x, axis=axis), ufunc.accumulate(x, axis=axis))


def test_column_sums_of_products():
    a, b = normal(6, 7, 8, dtype="f8"), normal(6, 7, 8, dtype="f8")
    for spec in ("abc,abc->c", "abc,abc->bc", "abc,abc->cb"):
        np.testing.assert_allclose(ops.contract(a, b, spec=spec), np.einsum(spec, a, b), rtol=1e-12)


SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 5e-324, -1.5, 3.0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i2", "i4", "u8", "?"])
@pytest.mark.parametrize("size", [1024, 4096, 40000])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_selection_is_bit_for_bit_that_of_numpy(dtype, size):
    """Masks of all kinds: random, almost constant, constant in blocks; operands that broadcast, views, numbers."""
    rng = np.random.default_rng(size)
    x = np.resize(np.array(SPECIAL), size).astype(dtype)
    y = rng.standard_normal(size).astype(dtype)
    tall, turned = x.reshape(8, -1), x.reshape(8, -1).T.copy().T
    masks = [rng.random(size) < p for p in (0.5, 0.001, 0.999)] + [np.arange(size) < size // 2]
    for mask in masks:
        wide = mask.reshape(8, -1)
        flat = [
            (x, y),
            (x, 0),
            (0, x),
            (x, x[:1]),
            (x.dtype.type(1), y),
            (x, 1),
            (x[::-1], y),
            (2, 3),
            (x, 0.5),
        ]
        cases = [(mask, a, b) for a, b in flat]
        cases += [
            (wide, tall, turned),
            (wide[::-1], 0, turned),
            (wide, y[: size // 8], tall),
            (wide, tall[:, :1], 0),
        ]
        for case in cases:
            expected, found = np.where(*case), fnp.where(*case)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.tobytes() == expected.tobytes()


UNARY = ["relu", "sigmoid", "tanh", "arctan", "log1p", "silu", "softplus", "reciprocal", "expm1", "arcsinh"]


def entries(x):
    """Numbers of both signs, and some that are special to rules."""
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 80.0]
    x[: len(special)] = special
    return x


@pytest.mark.parametrize("mode", ["always", "auto", "never"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_pullbacks_in_one_pass(dtype, mode, monkeypatch):
    if engine.mode() == "never" != mode:
        pytest.skip("there is no llvmlite")
    monkeypatch.setattr(engine, "mode", lambda: mode)
    x, y = entries(normal(20_011, dtype=dtype)), entries(normal(20_011, dtype=dtype)[::-1].copy())
    ct = normal(20_011, dtype=dtype)
    functions = [(getattr(ops, name), (x,)) for name in UNARY]
    functions += [(f, (x, y)) for f in (ops.divide, ops.arctan2, ops.maximum, ops.hypot)]
    with np.errstate(all="ignore"):
        for function, operands in functions:
            primitive = function.primitive
            _, rule, residuals = primitive.vjp(primitive.kernel, operands, operands, {}, lambda a: a)
            whole, half = slice(None), slice(10_000)
            found, first = (
                [densify(v) for v in rule.pull_plain(ct[part], tuple([r[part] for r in residuals]))]
                for part in (whole, half)
            )
            eps = (
                40 * np.finfo(dtype).eps
            )  # near zeros of slopes functions are right to rounding of terms only
            for a, b in zip(found, first):
                np.testing.assert_allclose(a[half], b, rtol=eps, atol=eps)


def test_a_pullback_in_one_pass_keeps_the_support(monkeypatch):
    if engine.mode() == "never":
        pytest.skip("there is no llvmlite")
    monkeypatch.setattr(engine, "mode", lambda: "always")
    x = normal(20_000, dtype="f8")
    slope = fx.grad(lambda x: ops.reduce_sum(ops.sqrt(ops.relu(x)), axes=(0,)))(x)
    positive = x > 0
    np.testing.assert_allclose(slope[positive], 0.5 / np.sqrt(x[positive]))
    assert not slope[~positive].any()
    primitive = ops.relu.primitive
    _, rule, residuals = primitive.vjp(primitive.kernel, (x,), (x,), {}, lambda a: a)
    (ct,) = rule.pull_plain(np.ones_like(x), residuals)
    assert ct.clean
    np.testing.assert_array_equal(ct.support.force(), positive)
