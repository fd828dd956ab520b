"""Groups of elementwise equations: machine code, tiles and NumPy's functions one after the other give the same."""

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine

from .random_programs import set_way

WAYS = ["always", "never"] if engine.mode() != "never" else ["never"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Every group is fused, however small: carried out by machine code, or in tiles of a few entries."""
    return set_way(monkeypatch, request.param)


def run(function, *operands):
    with np.errstate(all="ignore"):
        return function(*operands)


def check_same(got, want, exact=True):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert (np.shape(a), np.asarray(a).dtype, type(a)) == (np.shape(b), np.asarray(b).dtype, type(b))
        if exact:
            np.testing.assert_array_equal(a, b)


FUNCTIONS = {
    "exp": (fnp.exp, (-30, 30)), "log": (fnp.log, (1e-9, 50)), "sin": (fnp.sin, (-9, 9)), "tanh": (fnp.tanh, (-3, 3)),
    "expm1": (fnp.expm1, (-3, 3)), "log1p": (fnp.log1p, (-0.9, 9)), "sqrt": (fnp.sqrt, (0, 9)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_within_rounding(name, dtype, way):
    function, (low, high) = FUNCTIONS[name]
    x = np.random.default_rng(0).uniform(low, high, 1003).astype(dtype)
    (got,), (want,) = run(fx.jit(lambda x: (function(x) * 2,)), x), run(lambda x: (function(x) * 2,), x)
    assert got.dtype == want.dtype
    np.testing.assert_array_max_ulp(got, want, 3)


@pytest.mark.parametrize(
    "shape", [(1,), (5,), (17,), (1000,), (70_001,), (300, 7), (7, 300), (40, 50, 6), (3, 9000)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_are_as_exact_as_numpys(shape, dtype, way):
    random = np.random.default_rng(1)
    x, y = (random.standard_normal(shape).astype(dtype) for _ in range(2))
    ways = [None, -1, 0, tuple(range(1, len(shape))) or None]

    def sums(x, y):
        z = x * y + 1
        return [fnp.sum(z, axis=a) for a in ways]

    z = (x * y + 1).astype(np.longdouble)
    exact = [np.sum(z, axis=a) for a in ways]
    for got, theirs, true in zip(fx.jit(sums)(x, y), sums(x, y), exact):
        assert (got.dtype, np.shape(got)) == (theirs.dtype, np.shape(theirs))
        error, bound = abs(got - true).max(), abs(theirs - true).max()
        assert error <= 2 * bound + np.finfo(dtype).eps * abs(true).max()


def test_a_sum_of_negative_zeros_is_numpys(way):
    x = np.full(100, -0.0)
    total = fx.jit(lambda x: fnp.sum(x * 1.0 + x))(x)
    assert np.signbit(total) == np.signbit(np.sum(x * 1.0 + x))


def test_nan_goes_through_extrema(way):
    x = np.arange(200.0).reshape(4, 50)
    x[1, 49] = x[2, 0] = np.nan
    high, low = fx.jit(lambda x: (fnp.max(x * 2, axis=1), fnp.min(-x, axis=0)))(x)
    np.testing.assert_array_equal(high, np.max(x * 2, axis=1))
    np.testing.assert_array_equal(low, np.min(-x, axis=0))


CASES = {
    "division by zero": (lambda x: 1 / x + 1, [0.0, 2.0] * 40, "divide by zero"),
    "invalid": (lambda x: fnp.sqrt(x) + x, [-1.0, 2.0] * 40, "invalid value"),
    "overflow": (lambda x: x * x + x, [1e200, 2.0] * 40, "overflow"),
    "in the last entry": (lambda x: fnp.log(x) * 2, [1.0] * 76 + [0.0], "divide by zero"),
}


@pytest.mark.parametrize("case", CASES)
def test_warnings_are_numpys(case, way):
    function, x, message = CASES[case]
    x, jitted = np.array(x), fx.jit(function)
    with pytest.warns(RuntimeWarning, match=message) as seen:
        got = jitted(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, function(x))
        np.testing.assert_array_equal(got, jitted(x))
    assert len(seen) == 1
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message) as caught:
        jitted(x)
    assert "test_groups.py" in str(caught.value)


def test_nothing_warns_without_reason(way):
    x = np.concatenate([np.linspace(0.5, 2, 83), [np.nan, -np.inf, np.inf]])
    with np.errstate(all="raise"):
        got = fx.jit(lambda x: fnp.where(x > 1, fnp.maximum(x, 0.5) * 2, fnp.isnan(x) * 1.0))(x)
    np.testing.assert_array_equal(got, np.where(x > 1, np.maximum(x, 0.5) * 2, np.isnan(x)))


def test_lanes_behind_the_end_do_not_warn(way):
    for n in (2, 3, 7, 9, 15, 17, 33):
        with np.errstate(all="raise"):
            fx.jit(lambda x: fnp.log(1 / x) + 1)(np.full(n, 2.0))


@pytest.mark.skipif("always" not in WAYS, reason="machine code needs llvmlite (fxgrad[native])")
def test_lanes_behind_the_end_raise_no_exceptions(monkeypatch):
    """They would have NumPy compute everything again."""
    from fxgrad.kernels.native import runner

    set_way(monkeypatch, "always")
    raised = []
    monkeypatch.setattr(runner, "concerns_somebody", raised.append)
    for n in (2, 3, 7, 9, 15, 17):
        fx.jit(lambda x: fnp.log(1 / x) + fnp.sqrt(x))(np.full(n, 2.0))
        fx.jit(lambda x: fnp.sum(1 / x + fnp.log(x), axis=1))(np.full((5, n), 2.0))
    assert not raised


def test_underflow_is_told_to_those_who_want_it(way):
    x, f = np.full(50, 1e-200), fx.jit(lambda x: x * x + x)
    f(x)
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        f(x)


def test_derivatives_of_the_function_are_unchanged(way):
    x = np.linspace(0.1, 2, 91)
    f = lambda x: fnp.sum(fnp.exp(-x) * fnp.sqrt(x) + fnp.maximum(x, 1.0))  # noqa: E731
    np.testing.assert_allclose(fx.grad(fx.jit(f))(x), fx.grad(f)(x), rtol=1e-14)
    np.testing.assert_allclose(fx.jit(fx.grad(f))(x), fx.grad(f)(x), rtol=1e-14)
    np.testing.assert_allclose(fx.vmap(fx.jit(lambda r: r * 2 + 1))(x[None]), x[None] * 2 + 1)


def test_results_are_memory_of_their_own(way):
    x = np.arange(100.0)
    f = fx.jit(lambda x: (x + 1, fnp.broadcast_to(x[:1] * 2, (100,)), (x + 1) * 2))
    first, second = f(x), f(x)
    for a in first:
        a[...] = -1
    np.testing.assert_array_equal(second[0], x + 1)
    np.testing.assert_array_equal(f(x)[1], np.zeros(100))
    assert x[3] == 3


def test_an_operand_given_twice(way):
    x = np.arange(90.0)
    np.testing.assert_array_equal(fx.jit(lambda x, y: (x + y) * x)(x, x), 2 * x * x)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), ()])
def test_arrays_without_entries_or_axes(shape, way):
    x = np.ones(shape)
    got = fx.jit(lambda x: (x * 2 + 1, fnp.sum(x * 2 + 1)))(x)
    check_same(got, (x * 2 + 1, np.sum(x * 2 + 1)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ml_dtypes.bfloat16, "i8", "i2", "i1", "?"], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 15, 17, 33])
def test_rows_shorter_and_longer_than_vectors(n, dtype, way):
    """Lanes are moved one by one where a mask sets them: also those of types that the processor does not know."""
    x, y = np.random.default_rng(n).integers(0, 2, (2, 3, n)).astype(dtype)
    with_gaps = np.stack([y, y], axis=-1)[..., 0]
    functions = (
        (lambda x, y: (x * y,)),
        (lambda x, y: (fnp.maximum(x, y) * x,)),
        (lambda x, y: (x * y, x + y)),
    )
    for f in functions:
        program = fx.jit(f)
        for other in (y, with_gaps, y[:, :1], y[0]):
            check_same(program(x, other), f(x, other))
