"""Groups that work row by row: what is reduced along rows and used in them again gives what NumPy gives."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.kernels.native import engine, rows, threads
from fxgrad.passes import fusion

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")


@pytest.fixture(autouse=True)
def machine_code(monkeypatch):
    """Every group becomes machine code, however small."""
    monkeypatch.setattr(engine, "mode", lambda: "always")


def operations(fun, *args):
    return [e.primitive.name for e in fx.jit(fun).lower(*args).passes["fuse"].equations]


def softmax(x, axis=-1):
    e = fnp.exp(x - fnp.max(x, axis, keepdims=True))
    return e / fnp.sum(e, axis, keepdims=True)


def log_sum_exp(x):
    m = fnp.max(x, -1, keepdims=True)
    return m + fnp.log(fnp.sum(fnp.exp(x - m), -1, keepdims=True))


def normalize(x, w):
    u = x - fnp.mean(x, -1, keepdims=True)
    return u / fnp.sqrt(fnp.mean(u * u, -1, keepdims=True) + 1e-5) * w


def pull_softmax(ct, y):
    return y * (ct - fnp.sum(ct * y, -1, keepdims=True))


PROGRAMS = {
    "softmax": (softmax, 1),
    "log softmax": (lambda x: x - log_sum_exp(x), 1),
    "logsumexp": (log_sum_exp, 1),
    "twice": (lambda x: softmax(softmax(x) * 2 - x), 1),
    "pullback of softmax": (pull_softmax, 2),
    "pullback of logsumexp": (lambda x, ct: ct[..., :1] * fnp.exp(x - log_sum_exp(x)), 2),
    "normalize": (lambda x, w: normalize(x, w.reshape(-1, w.shape[-1])[:1]), 2),
    "scaled by the largest": (lambda x: x / fnp.max(abs(x) + 1e-3, -1, keepdims=True), 1),
    "several results": (lambda x: (softmax(x), fnp.max(x, -1), fnp.exp(x), fnp.sum(fnp.exp(x), -1)), 1),
    "part of the rows masked": (lambda x, m: softmax(fnp.where(m[:1] > 0, x, -1e9)), 2),
    "along two axes": (
        lambda x: (x - fnp.mean(x, (-2, -1), keepdims=True)) * fnp.sum(x, (-2, -1), keepdims=True),
        1,
    ),
}
SHAPES = [(17, 33), (2, 3, 16), (1, 50), (40, 1), (2, 700), (0, 4), (3, 0)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")  # of means of nothing
def test_programs_give_what_numpy_gives(name, shape):
    dtype = np.float32 if len(name) % 2 else np.float64
    program, count = PROGRAMS[name]
    random = np.random.default_rng(len(name))
    args = [np.asarray(random.standard_normal(shape) * 3).astype(dtype) for _ in range(count)]
    try:
        want = program(*args)
    except ValueError:  # no entries to take the maximum of
        with pytest.raises(ValueError):
            fx.jit(program)(*args)
        return
    got = fx.jit(program)(*args)
    for y, x in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(y, x, rtol=40 * eps, atol=8 * eps * np.abs(x).max(initial=0))


@pytest.mark.parametrize("name", ["softmax", "log softmax", "pullback of softmax", "normalize", "twice"])
def test_a_program_is_one_group(name):
    program, count = PROGRAMS[name]
    args = [np.ones((20, 30))] * count
    found = operations(program, *args)
    assert [o for o in found if o not in ("getitem", "reshape")] == ["fused"]
    derivative = operations(fx.grad(lambda *a: fnp.sum(program(*a) ** 2)), *args)
    assert "reduce_max" not in derivative and len([o for o in derivative if o == "fused"]) <= 2


def standardize(x, w):
    """Batch normalization: a row is what has one index along axis 1."""
    axes = (0, *range(2, x.ndim))
    u = x - fnp.mean(x, axes, keepdims=True)
    return u / fnp.sqrt(fnp.mean(u * u, axes, keepdims=True) + 1e-5) * w


def share(x, w):
    """A softmax whose exponentials are kept, and whose rows are told as well."""
    axes = (0, *range(2, x.ndim))
    e = fnp.exp(x - fnp.max(x, axes, keepdims=True)) * w
    total = fnp.sum(e, axes)
    return e / fnp.reshape(total, (1, -1, *(1,) * (x.ndim - 2))) * w, total, fnp.min(e, axes)


SEGMENTED = [
    (3, 5, 4, 7),
    (2, 3, 16),
    (9, 4, 33),
    (1, 5, 20),
    (4, 1, 20),
    (70, 2, 40),
    (3, 2, 1, 700),
    (40, 3, 5),
]


@pytest.mark.parametrize("scratch", [0, 1 << 17])
@pytest.mark.parametrize("shape", SEGMENTED, ids=str)
@pytest.mark.parametrize("program", [standardize, share])
def test_rows_may_lie_in_segments(program, shape, scratch, monkeypatch):
    monkeypatch.setattr(rows, "SCRATCH", scratch)
    random = np.random.default_rng(len(shape))
    x = np.asarray(random.standard_normal(shape)).astype(np.float32)
    for own in ((1, shape[1], *(1,) * (len(shape) - 2)), shape):
        w = random.random(own).astype(np.float32) + 0.5
        got, want = (f(x, w) for f in (fx.jit(lambda x, w: program(x, w)), program))
        for y, z in zip(got if program is share else (got,), want if program is share else (want,)):
            np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-6)
        pull = fx.grad(lambda x, w: fnp.sum(fnp.sin(fx.tree.leaves(program(x, w))[0])), (0, 1))
        exact = x.astype(float), w.astype(float)
        for y, z in zip(fx.jit(pull)(*exact), pull(*exact)):
            np.testing.assert_allclose(y, z, rtol=1e-10, atol=1e-14)


def test_a_normalization_of_channels_is_one_group():
    x, w = np.ones((4, 3, 5, 8)), np.ones((1, 3, 1, 1))
    assert operations(standardize, x, w) == ["fused"]
    assert operations(standardize, x[..., :1, :8], w).count("fused") > 1  # whose segments are short


def test_columns_are_not_taken_for_rows():
    x = np.arange(256.0).reshape(16, 16)
    for program in (
        lambda x: x - fnp.sum(x, 1),
        lambda x: x - fnp.sum(x, 1) + fnp.sum(x, 1, keepdims=True),
        lambda x: x * fnp.exp(-fnp.max(x, 1)) + softmax(x),
        lambda x: x - fnp.sum(x, 0) * fnp.sum(x, 1, keepdims=True),
        lambda x: (x + fnp.sum(x, 1, keepdims=True)) * fnp.sum(x, (0, 1)),
        lambda x: fnp.sum(x, 1) + x[0] * fnp.sum(x, 1, keepdims=True),
    ):
        np.testing.assert_allclose(fx.jit(program)(x), program(x), rtol=1e-13)


def test_very_long_rows_and_single_ones_stay_outside():
    for shape in ((2, 1 << 16), (1, 64)):
        x = np.linspace(0, 1, math.prod(shape)).reshape(shape)
        np.testing.assert_allclose(fx.jit(softmax)(x), softmax(x), rtol=1e-13)
    assert operations(softmax, np.ones((2, 1 << 16))) != ["fused"]


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, -1e38, 5e-324]


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_special_values_and_warnings_are_numpys(data):
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    x = np.asarray(random.standard_normal((data.draw(st.integers(2, 6)), data.draw(st.integers(2, 40)))))
    places = random.random(x.shape) < 0.1
    x[places] = random.choice(SPECIAL, int(places.sum()))
    if data.draw(st.booleans()):
        x[0] = -math.inf
    program, count = PROGRAMS[data.draw(st.sampled_from(["softmax", "log softmax", "pullback of softmax"]))]
    args = [x] * count

    def observed(fun):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = fun(*args)
        return y, {str(w.message).split(" encountered")[0] for w in caught}

    (got, told), (want, expected) = observed(fx.jit(program)), observed(program)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)
    assert told == expected
    if expected:
        with np.errstate(all="raise", under="ignore"), pytest.raises(FloatingPointError):
            fx.jit(program)(*args)


def test_layouts():
    random = np.random.default_rng(0)
    wide = random.standard_normal((40, 60))
    compiled = fx.jit(softmax)
    for x in (wide[::2, ::2], wide.T, np.asfortranarray(wide), wide[:, ::-1], wide[3:4].repeat(9, 0)):
        np.testing.assert_allclose(compiled(x), softmax(x), rtol=1e-14)
    read_only = wide.copy()
    read_only.flags.writeable = False
    np.testing.assert_allclose(compiled(read_only), softmax(wide), rtol=1e-14)


def test_sums_of_rows_are_as_exact_as_numpys():
    random = np.random.default_rng(1)
    x = random.random((4, 30_000)).astype(np.float32)
    exact = x.astype(float) - x.astype(float).sum(-1, keepdims=True)
    got = fx.jit(lambda x: x - fnp.sum(x, -1, keepdims=True))(x)
    assert np.abs(got - exact).max() / np.abs(exact).max() < 4 * np.finfo(np.float32).eps


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    x = np.random.default_rng(2).standard_normal((3000, 1000))
    alone = fx.jit(softmax)(x)
    monkeypatch.setattr(threads, "thread_count", lambda: 3)
    np.testing.assert_array_equal(fx.jit(lambda x: softmax(x))(x), alone)


def test_batches_and_derivatives():
    x = np.random.default_rng(3).standard_normal((6, 5, 20))
    np.testing.assert_allclose(fx.jit(fx.vmap(softmax))(x), softmax(x), rtol=1e-14)
    loss = lambda x: fnp.sum(softmax(x) ** 2 * x)  # noqa: E731
    np.testing.assert_allclose(fx.jit(fx.grad(loss))(x), fx.grad(loss)(x), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(fx.grad(fx.jit(loss))(x), fx.grad(loss)(x), rtol=1e-10, atol=1e-14)
    small = x[0, :2, :4]
    np.testing.assert_allclose(
        fx.jit(fx.hessian(loss))(small), fx.hessian(loss)(small), rtol=1e-8, atol=1e-12
    )


def test_small_rows_pay_from_some_operations_on(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    assert fusion.FUSED_OPERATIONS <= 7
    assert operations(softmax, np.ones((8, 10))) == ["fused"]
    assert "fused" not in operations(lambda x: x - fnp.sum(x, -1, keepdims=True), np.ones((8, 10)))


def chained(x, w):
    """Many stages, of which late ones read what early ones made, directly and through cheap values between."""
    r = fnp.exp(x - fnp.max(x, -1, keepdims=True))
    s = r * w
    t = fnp.sum(r, -1, keepdims=True)
    u = fnp.sum(s, -1, keepdims=True) / t
    early = r / t
    late = r * u + s
    last = late * fnp.sum(late - early, -1, keepdims=True)
    return early, last + s * fnp.sum(last * r, -1, keepdims=True)


@pytest.mark.parametrize("width", [7, 16, 100, 3000, 20_000])
@pytest.mark.parametrize("scratch", [0, 1 << 12, 1 << 17])
def test_what_is_kept_is_there_when_it_is_read(width, scratch, monkeypatch):
    monkeypatch.setattr(rows, "SCRATCH", scratch)
    random = np.random.default_rng(width)
    x, w = (np.asarray(random.standard_normal((3, width))).astype(np.float32) for _ in range(2))
    for got, want in zip(fx.jit(lambda x, w: chained(x, w))(x, w), chained(x, w)):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("scratch", [0, 1 << 17])
def test_second_order_of_a_classifier(scratch, monkeypatch):
    monkeypatch.setattr(rows, "SCRATCH", scratch)
    random = np.random.default_rng(0)
    x, w, v, y = (random.standard_normal(s) for s in ((8, 6), (6, 10), (6, 10), (8, 10)))

    def loss(w):
        z = fnp.maximum(x @ w, 0.1)
        return fnp.mean(log_sum_exp(z)[:, 0] - fnp.sum(z * y, 1))

    product = lambda w, v: fx.jvp(fx.grad(loss), (w,), (v,))[1]  # noqa: E731
    np.testing.assert_allclose(fx.jit(product)(w, v), product(w, v), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(fx.jit(fx.hessian(loss))(w), fx.hessian(loss)(w), rtol=1e-10, atol=1e-13)
