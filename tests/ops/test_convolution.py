"""Correlations and pooling by their definition, by NumPy's kernels and by native ones, which give the same."""

import ctypes
import itertools
import threading
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fxgrad as fx
from fxgrad import lax, ops
from fxgrad.kernels.native import conv, engine, kernel, threads
from fxgrad.kernels.native.ir import F32, PTR, Function, Type
from tests.samples.windows import correlate, extreme_places

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
HAS_NATIVE = engine.mode() != "never"
WAYS = ["never", *["always"] * HAS_NATIVE]


@pytest.fixture
def by(monkeypatch):
    """A function that chooses when native kernels are used."""
    return lambda mode: monkeypatch.setattr(engine, "mode", lambda: mode)


def numbers(shape, seed=0, dtype="f8"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def few(draw, rank, low, high):
    return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))


@st.composite
def correlations(draw):
    """(shapes, params) of a correlation with at least one window."""
    rank = draw(st.integers(1, 3))
    b, g, c = few(draw, 3, 1, 3)
    f = draw(st.integers(1, 11))
    n, k = (
        few(draw, rank, 1, 20 if rank == 1 else 9 if rank == 2 else 5),
        few(draw, rank, 1, 5 if rank < 3 else 3),
    )
    pads = tuple((draw(st.integers(-1, 3)), draw(st.integers(-1, 3))) for _ in range(rank))
    params = {
        "steps": few(draw, rank, 1, 3),
        "pads": pads,
        "x_dilations": few(draw, rank, 1, 3) if draw(st.booleans()) else (1,) * rank,
        "w_dilations": few(draw, rank, 1, 2),
    }
    for size, m, (low, high), d, e in zip(n, k, pads, params["x_dilations"], params["w_dilations"]):
        assume((size - 1) * d + 1 + low + high >= (m - 1) * e + 1)
    return (b, g, c, *n), (g, f, c, *k), params


@MANY
@given(correlations(), st.sampled_from(["f8", "f4", "c16"]), st.booleans())
@pytest.mark.parametrize("way", WAYS)
def test_correlations_are_what_they_say(by, way, case, dtype, turned):
    by(way)
    shape_x, shape_w, params = case
    x, w = numbers(shape_x, dtype=dtype), numbers(shape_w, 1, dtype)
    if turned:  # the channels last in memory
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 2, -1)), -1, 2)
    y = ops.correlate(x, w, **params)
    expected = correlate(x.astype("c16"), w.astype("c16"), *params.values())
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_allclose(
        y, expected if dtype == "c16" else expected.real, rtol=1e-5, atol=1e-5 if dtype == "f4" else 1e-12
    )


@MANY
@given(correlations())
def test_derivatives_of_correlations_by_either_way(by, case):
    """Those are correlations of other kinds: with large kernels, and with zeros between the entries."""
    shape_x, shape_w, params = case
    x, w = numbers(shape_x), numbers(shape_w, 1)
    found = []
    for way in WAYS:
        by(way)
        y, pullback = fx.vjp(lambda x, w: ops.correlate(x, w, **params), x, w)
        ct = numbers(y.shape, 2)
        dx, dw = pullback(ct)
        assert np.isclose((y * ct).sum(), (dx * x).sum()) and np.isclose((y * ct).sum(), (dw * w).sum())
        found.append((y, dx, dw))
    for ours, theirs in zip(found[0], found[-1]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once(by, way, dtype):
    by(way)
    x, w = numbers((2, 1, 8, 20)).astype(dtype), numbers((1, 4, 8, 5), 1).astype(dtype)
    params = {"steps": (1,), "pads": ((2, 2),), "x_dilations": (1,), "w_dilations": (1,)}
    y = ops.correlate(x, w, **params)
    exact = ops.correlate(x.astype("f8"), w.astype("f8"), **params)
    assert y.dtype == dtype
    spacing = np.spacing(np.abs(exact).astype("f4")).astype("f8") * 2.0 ** (23 - ml_dtypes.finfo(dtype).nmant)
    assert (np.abs(y.astype("f8") - exact) <= 0.51 * spacing + 1e-4).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("x", "w"),
    [
        ((0, 1, 2, 5), (1, 3, 2, 3)),
        ((2, 1, 0, 5), (1, 3, 0, 3)),
        ((2, 1, 2, 5), (1, 0, 2, 3)),
        ((2, 1, 2, 0), (1, 3, 2, 1)),
        ((2, 1, 2, 2), (1, 3, 2, 3)),
    ],
)
def test_nothing_to_correlate(by, way, x, w):
    by(way)
    params = {"steps": (1,), "pads": ((0, 0),), "x_dilations": (1,), "w_dilations": (1,)}
    x, w = np.ones(x), np.ones(w)
    y, pullback = fx.vjp(lambda x, w: ops.correlate(x, w, **params), x, w)
    assert y.shape == (*x.shape[:2], w.shape[1], max(x.shape[3] - w.shape[3] + 1, 0)) and not y.any()
    dx, dw = pullback(np.ones_like(y))
    assert dx.shape == x.shape and dw.shape == w.shape and not dx.any() and not dw.any()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_numbers_that_are_not_finite_go_where_they_belong(by, way, number):
    """And warn as products of matrices do."""
    x, w = np.ones((2, 1, 3, 9, 9), "f4"), np.ones((1, 4, 3, 3, 3), "f4")
    x[1, 0, 2, 4, 4] = number
    x[1, 0, 1, 4, 4] = 3e38 if number == 3e38 else 1
    params = {"steps": (1, 1), "pads": ((1, 1), (1, 1)), "x_dilations": (1, 1), "w_dilations": (1, 1)}
    by(way)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y, pullback = fx.vjp(lambda x, w: ops.correlate(x, w, **params), x, w)
        dx, dw = pullback(np.ones_like(y))
    touched = np.zeros((9, 9), bool)
    touched[3:6, 3:6] = True
    assert np.array_equal(~np.isfinite(y[1, 0, 0]), touched) and np.isfinite(y[0]).all()
    assert np.isfinite(dx).all() and np.isfinite(dw[0, 0, 0]).all() == (
        number != number or number in (np.inf, -np.inf, 3e38)
    )
    assert bool(caught) == (number == 3e38)


@MANY
@given(st.data())
@pytest.mark.parametrize("way", WAYS)
def test_places_of_the_best_entries(by, way, data):
    by(way)
    rank, dtype = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["f8", "f4"]))
    shape, sizes = (few(data.draw, rank, 1, high) for high in (9, 3))
    pads = tuple((data.draw(st.integers(-1, 2)), data.draw(st.integers(-1, 2))) for _ in range(rank))
    params = {
        "sizes": sizes,
        "steps": few(data.draw, rank, 1, 3),
        "pads": pads,
        "dilations": few(data.draw, rank, 1, 2),
    }
    least = data.draw(st.booleans())
    for n, k, (low, high), d in zip(shape, sizes, pads, params["dilations"]):
        assume(n + low + high >= (k - 1) * d + 1)
    rng = np.random.default_rng(data.draw(st.integers(0, 5)))
    x = rng.choice([-1.0, 0.0, 0.5, 2.0], (2, *shape)).astype(dtype)
    places = ops.window_places(x, least=least, **params)
    assert np.array_equal(places, extreme_places(x, least, **params))
    best = ops.pick(x, places, rank=rank)
    inside = places >= 0
    extremum = (ops.window_min if least else ops.window_max)(x, **params)
    assert np.array_equal(best[inside], extremum[inside]) and np.isinf(extremum[~inside]).all()
    u = numbers(places.shape, 1)
    back = ops.deposit(u, places, shape=shape)
    assert np.isclose((back * x).sum(), (u * best).sum())
    x.reshape(2, -1)[:, ::3] = np.nan
    first = ops.window_places(x, least=least, **params)
    picked = ops.pick(x, first, rank=rank)
    nan = np.isnan((ops.window_min if least else ops.window_max)(x, **params))
    assert np.array_equal(np.isnan(picked), nan)
    order = np.where(np.isnan(x), -np.inf if least else np.inf, x)
    assert np.array_equal(first[nan], extreme_places(order, least, **params)[nan])


@pytest.fixture
def fresh(monkeypatch):
    """No kernel is compiled yet."""
    monkeypatch.setattr(kernel, "_kernels", type(kernel._kernels)(8))


@pytest.mark.skipif(not HAS_NATIVE, reason="llvmlite is not installed")
def test_native_kernels_are_compiled_while_numpy_computes(by, fresh):
    """No call waits for them until NumPy has computed for as long as that takes; small ones never do."""
    by("auto")
    x, w = np.ones((8, 1, 8, 32, 32), "f4"), np.ones((1, 8, 8, 3, 3), "f4")
    arguments = (x, w, (30, 30), (1, 1), ((0, 0), (0, 0)), (1, 1))
    results = [conv.correlate(*arguments) for _ in range(60)]
    begun = next(i for i, y in enumerate(results) if y is not None)
    assert begun > 1 and all((y is None) == (i < begun) for i, y in enumerate(results))
    assert np.array_equal(results[-1], np.full((8, 1, 8, 30, 30), 72, "f4"))
    assert conv.correlate(x[:1, :, :, :4, :4], w, (2, 2), *arguments[3:]) is None


@pytest.mark.skipif(not HAS_NATIVE, reason="llvmlite is not installed")
def test_what_cannot_be_compiled_stays_with_numpy(by, fresh, monkeypatch):
    by("always")
    monkeypatch.setattr(engine, "compile_functions", lambda functions: 1 / 0)
    x, w = numbers((1, 1, 3, 9)), numbers((1, 2, 3, 3), 1)
    params = {"steps": (1,), "pads": ((0, 0),), "x_dilations": (1,), "w_dilations": (1,)}
    with pytest.warns(RuntimeWarning, match="stays with NumPy: ZeroDivisionError"):
        y = ops.correlate(x, w, **params)
    np.testing.assert_allclose(y, correlate(x, w, *params.values()))
    assert np.array_equal(y, ops.correlate(x, w, **params))


@pytest.mark.skipif(not HAS_NATIVE, reason="llvmlite is not installed")
@pytest.mark.parametrize("groups", [1, 3])
def test_shared_among_threads(by, monkeypatch, groups):
    """The results are those of one thread, to the bit."""
    by("always")
    x, w = numbers((5, groups, 4, 12, 12), dtype="f4"), numbers((groups, 9, 4, 3, 3), 1, "f4")
    params = {"steps": (1, 1), "pads": ((1, 1), (1, 1)), "x_dilations": (1, 1), "w_dilations": (1, 1)}

    def run():
        y, pullback = fx.vjp(lambda x, w: ops.correlate(x, w, **params), x, w)
        return y, *pullback(np.ones_like(y))

    monkeypatch.setattr(threads, "thread_count", lambda: 1)
    alone = run()
    monkeypatch.setattr(threads, "thread_count", lambda: 3)
    monkeypatch.setattr(threads, "THREAD_WORK", 1e-6)
    for ours, theirs in zip(run(), alone):
        assert np.array_equal(ours, theirs)


def test_threads_compute_side_by_side(by):
    by(WAYS[-1])
    x, w = numbers((3, 1, 4, 12, 12), dtype="f4"), numbers((1, 9, 4, 3, 3), 1, "f4")
    params = {"steps": (1, 1), "pads": ((1, 1), (1, 1)), "x_dilations": (1, 1), "w_dilations": (1, 1)}
    expected = ops.correlate(x, w, **params)
    failed = []

    def compute():
        for _ in range(20):
            if not np.array_equal(ops.correlate(x, w, **params), expected):
                failed.append(1)

    threads = [threading.Thread(target=compute) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failed


def test_operands_as_they_come(by):
    """Read-only, of reversed rows, broadcast, of another byte order."""
    by(WAYS[-1])
    x, w = numbers((2, 1, 3, 8, 8)), numbers((1, 5, 3, 3, 3), 1)
    params = {"steps": (1, 1), "pads": ((0, 0), (0, 0)), "x_dilations": (1, 1), "w_dilations": (1, 1)}
    for view in (x[..., ::-1], x[::-1, :, :, ::2], np.broadcast_to(x[:1], x.shape), x[:, :, ::-2]):
        view.flags.writeable = False
        few = w[:, :, : view.shape[2]]
        np.testing.assert_allclose(
            ops.correlate(view, few, **params),
            ops.correlate(view.copy(), few.copy(), **params),
            atol=1e-12,
        )


def test_per_sample_gradients_are_few_large_calls():
    """The gradients of kernels for each sample are one correlation in groups."""
    x, w = numbers((5, 2, 9)), numbers((3, 2, 3), 1)
    gradient = fx.vmap(fx.grad(lambda w, x: (lax.conv(x[None], w, (1,), "VALID") ** 2).sum()), (None, 0))
    names = [e.primitive.name for e in fx.make_graph(gradient)(w, x).equations]
    assert names.count("correlate") == 2
    one = fx.grad(lambda w, x: (lax.conv(x[None], w, (1,), "VALID") ** 2).sum())
    np.testing.assert_allclose(gradient(w, x), [one(w, v) for v in x])


def test_errors_say_what_does_not_fit():
    x, w = np.ones((1, 4, 8, 8)), np.ones((6, 3, 3, 3))
    with pytest.raises(fx.ShapeError, match=r"4 channels in 1 groups.*kernels for 3 channels"):
        lax.conv(x, w, (1, 1), "SAME")
    with pytest.raises(ValueError, match=r"window_strides must be 2 numbers.*\(1,\)"):
        lax.conv(x, w, (1,), "SAME")
    with pytest.raises(fx.ShapeError, match="padding is 'VALID', 'SAME', 'SAME_LOWER'"):
        lax.conv(x, w[:, :1], (1, 1), "FULL")
    with pytest.raises(fx.ShapeError, match=r"dimension_numbers .* do not name the axes"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NCH"))
    with pytest.raises(fx.ShapeError, match="same number of axes"):
        lax.conv(x[0], w, (1, 1), "SAME")
    with pytest.raises(fx.ShapeError, match="not defined"):
        lax.conv_general_dilated(x, w, (1, 1), "SAME", lhs_dilation=(2, 2))
    with pytest.raises(fx.ShapeError, match="window_dimensions must be 4 numbers"):
        lax.reduce_window(x, 0.0, lax.add, (2, 2))
    with pytest.raises(fx.ShapeError, match="one shape"):
        lax.reduce_window((x, w), (0.0, 0.0), lambda a, b: a, (1, 1, 2, 2))


@pytest.mark.skipif(not HAS_NATIVE, reason="llvmlite is not installed")
def test_sums_of_lanes():
    """Two vectors become one, until there is one."""
    for width, rows in itertools.product((4, 8, 16), (2, 4, 8, 16)):
        name = f"sums_{width}_{rows}"
        f = Function(name, [PTR, PTR])
        x, y = f.arguments
        f.store(conv.sum_lanes(f, [f.load(x, Type(F32.element, width), i * width) for i in range(rows)]), y)
        run = engine.bind_function(engine.compile_functions([f]), name, ctypes.c_void_p, ctypes.c_void_p)
        given, out = np.arange(width * rows, dtype="f4"), np.zeros(max(rows, width), "f4")
        run(given.ctypes.data, out.ctypes.data)
        assert np.array_equal(out[:rows], given.reshape(rows, width).sum(1))


def test_pooling_needs_no_windows_written_out(by):
    """A window as large as the image costs a pass for each axis, not one for each entry."""
    by(WAYS[-1])
    x = numbers((2, 40, 40))
    params = {"sizes": (40, 40), "steps": (1, 1), "pads": ((0, 0), (0, 0)), "dilations": (1, 1)}
    assert np.array_equal(ops.window_max(x, **params)[:, 0, 0], x.max((1, 2)))
    assert np.allclose(ops.window_sum(x, **params)[:, 0, 0], x.sum((1, 2)))


@pytest.mark.parametrize("way", WAYS)
def test_entries_that_are_not_the_greatest_get_nothing(by, way):
    """Also where a later derivative is infinite, and on the way through other maxima."""
    by(way)

    def loss(x):
        best = lax.reduce_window(fx.numpy.maximum(fx.numpy.sqrt(x), -1.0), -np.inf, lax.max, (2,), (2,))
        return (best**2).sum()

    x = np.array([0.0, 1.0, 4.0, 0.0])
    expected = [0.0, 1.0, 1.0, 0.0]
    assert np.array_equal(fx.grad(loss)(x), expected)
    assert np.array_equal(fx.jit(fx.grad(loss))(x), expected)
    assert np.array_equal(fx.vmap(fx.grad(loss))(np.stack([x, x])), [expected, expected])
    tangent = fx.jvp(fx.grad(loss), (x + 1,), (np.ones(4),))[1]
    assert np.isfinite(tangent).all()
