"""Groups of elementwise equations: machine code, tiles and NumPy's functions one after the other give the same."""

import math
import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels import tiles
from fxgrad.kernels.native import engine
from fxgrad.passes import fusion

WAYS = ["always", "never"] if engine.mode() != "never" else ["never"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Every group is fused, however small: carried out by machine code, or in tiles of a few entries."""
    return set_way(monkeypatch, request.param)


def set_way(patch, mode):
    patch.setattr(engine, "mode", lambda: mode)
    for place in (fusion, tiles):
        patch.setattr(place, "TILE", 16)
        patch.setattr(place, "FEWEST", 1)
    patch.setattr(fusion, "LARGE", 1)
    return mode


SPECIAL = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1e300, -1e38, 3e-45, 0.5]
LENGTHS = st.sampled_from([1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130, 257, 1000])


@st.composite
def shapes(draw):
    """A shape, and one that broadcasts to it."""
    shape = tuple(draw(st.lists(LENGTHS, min_size=1, max_size=3)))
    while math.prod(shape) > 20_000:
        shape = shape[1:] if len(shape) > 1 else (100,)
    other = tuple(n if draw(st.booleans()) else 1 for n in shape)
    return shape, other[draw(st.integers(0, len(other))) :]


@st.composite
def arrays(draw, shape, dtype):
    """An array with any layout in memory and some special values."""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    wide = tuple(2 * n for n in shape)
    layout = draw(
        st.sampled_from(["dense", "dense", "every other", "backwards", "Fortran", "unaligned", "read-only"])
    )
    data = np.asarray(random.standard_normal(wide) * 3)
    if draw(st.booleans()):
        places = random.random(wide) < 0.2
        data[places] = random.choice(SPECIAL, int(places.sum()))
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "iub":
            data = np.asarray(np.nan_to_num(data, posinf=99, neginf=-99).clip(-99, 99))
        if np.dtype(dtype).kind == "u":
            data = np.asarray(np.abs(data))
        data = data.astype(dtype)
    part = np.array(data[tuple(slice(0, n) for n in shape)])
    if layout == "every other":
        part = np.asarray(data[tuple(slice(None, None, 2) for _ in shape)])
    elif layout == "backwards":
        part = part[::-1] if part.ndim else part
    elif layout == "Fortran":
        part = np.asfortranarray(part)
    elif layout == "unaligned" and part.ndim:
        memory = np.empty(part.nbytes + 1, np.uint8)
        moved = memory[1:].view(part.dtype).reshape(part.shape)
        moved[...] = part
        part = moved
    elif layout == "read-only":
        part.flags.writeable = False
    return part


# Operations whose results are the same to the bit.
ONE = [
    operator.neg, abs, lambda x: x * x, lambda x: x + 1, lambda x: 2 * x - 0.5, lambda x: fnp.sqrt(abs(x)),
    lambda x: fnp.where(x > 0.5, x, 0), lambda x: 1 / x, fnp.floor, lambda x: x.astype(float) * 0.25,
    lambda x: x.astype(np.float32), lambda x: fnp.isnan(x) | (x < 0), lambda x: fnp.isfinite(x) & (x != 1),
]  # fmt: skip
TWO = [
    operator.add, operator.sub, operator.mul, operator.truediv, fnp.maximum, fnp.minimum,
    lambda x, y: fnp.where(x < y, x, y), lambda x, y: fnp.where(x == y, y, -1.5), fnp.copysign,
]  # fmt: skip
ENDS = [
    lambda y: (fnp.max(y),), lambda y: (fnp.max(y, axis=-1), y), lambda y: (fnp.min(y, axis=0),),
    lambda y: (fnp.any(y > 1, axis=-1),), lambda y: (fnp.all(y > -5),), lambda y: (y, y * 2),
    lambda y: (fnp.sum(y > 0),), lambda y: (fnp.sum(y > 0, axis=0), fnp.sum(y < 1, axis=-1)),
]  # fmt: skip


def run(function, *operands):
    with np.errstate(all="ignore"):
        return function(*operands)


def check_same(got, want, exact=True):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert (np.shape(a), np.asarray(a).dtype, type(a)) == (np.shape(b), np.asarray(b).dtype, type(b))
        if exact:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", WAYS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_programs_give_what_numpy_gives(mode, data):
    dtypes = st.sampled_from(["f8", "f8", "f4", "f4", "f2", "i8", "i4", "i2", "u4", "?"])
    shape, other = data.draw(shapes())
    operands = [data.draw(arrays(s, data.draw(dtypes))) for s in (shape, other)]
    steps = data.draw(st.lists(st.one_of(st.sampled_from(ONE), st.sampled_from(TWO)), min_size=1, max_size=6))
    end = data.draw(st.sampled_from(ENDS))

    def program(x, y):
        for step in steps:
            try:
                z = step(x) if step in ONE else step(x, y)
            except TypeError:  # of bools
                continue
            if fnp.shape(z) == shape:
                x = z
        return end(x + 0 * y if fnp.shape(x) != shape else x)

    *_, before, _ = fx.jit(program).lower(*operands).passes.values()  # others may change the order of factors
    want = run(before, *operands)
    with pytest.MonkeyPatch.context() as patch:
        set_way(patch, mode)
        got = run(fx.jit(program), *operands)
    check_same(got, want)


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
