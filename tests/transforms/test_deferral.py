"""Gradients of large arrays, whose elementwise work is deferred: the same numbers and errors, in less memory."""

import contextlib
import gc
import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.transforms import deferral as deferral_module
from fxgrad.transforms import vjp

pytestmark = pytest.mark.usefixtures("no_heap_of_others")

SIZE = 120_000
X = np.random.default_rng(0).uniform(-2, 2, SIZE)


@contextlib.contextmanager
def deferral(on):
    """Whether work is deferred; it never is where warnings raise, as in all other tests."""
    before, vjp.DEFERS = vjp.DEFERS, on
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        vjp.DEFERS = before


def compare(f, *args, rtol=1e-12):
    """The value and gradients of `f` with and without."""
    positions = tuple(range(len(args)))
    found = []
    for on in (True, False):
        with deferral(on):
            value, gradients = fx.value_and_grad(f, positions)(*args)
        found.append([value, *gradients])
    for a, b in zip(*found):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=0))
    return found[0]


def chain(x):
    y = x
    for _ in range(30):
        y = x * fnp.exp(-(y * y)) + 0.1
    return fnp.sum(y)


def named_steps(x):
    a = fnp.sin(x)
    b = a * x
    c = fnp.tanh(b) + a
    d = c / (1.0 + b * b)
    e = fnp.sum(a)  # which is needed at once
    f = float(e.primal) if hasattr(e, "primal") else float(e)
    g = d * 2 - c + f / SIZE
    return fnp.sum(g * d) + 0.5 * e


def recurrent(x):
    h, total = x, 0.0
    for _ in range(40):
        h = fnp.tanh(0.9 * h + 0.1 * x)
        total = total + fnp.sum(h * h) * 1e-3
    return total


def in_rows(x):
    y = fnp.exp(-fnp.abs(x)).reshape(200, 600)
    z = y * 2 + 1 - y * y * y
    return fnp.sum(fnp.sum(z, axis=0) ** 2) + fnp.mean(z / (1 + y) - y + 2 * z * z)


def with_constants(x):
    data = np.linspace(-1, 1, SIZE)
    y = fnp.cos(x * 2 + 1) - x * 0.5 + x
    y = y * data
    data[:] = np.nan  # the user's own array, which may be filled anew
    y = y + np.float64(2) * x * x + 3 * x - x / 7
    return fnp.sum(y * y)


@pytest.mark.parametrize("f", [chain, named_steps, recurrent, in_rows, with_constants])
def test_values_and_gradients(f):
    compare(f, X)


def test_float32_and_scalars_that_are_differentiated():
    def f(x, scale, shift):
        y = fnp.tanh(scale * x + shift) * 2 - x * scale
        return fnp.sum(y * y * scale + fnp.exp(-y) * 0.5 + y)

    x = X.astype("float32")
    compare(f, x, np.float32(0.7), np.float32(0.1), rtol=1e-4)
    compare(f, X, 0.7, np.array(0.1))


@pytest.mark.parametrize("dtype", ["float16", "complex128"])
def test_dtypes_that_are_not_deferred(dtype):
    x = (X[:, None] * [1, 1j]).sum(1) if dtype == "complex128" else X.astype(dtype)
    compare(
        lambda x: fnp.sum(fnp.abs(x * 2 + 1 - x * x * x / 8 + x)),
        x,
        rtol=2e-3 if dtype == "float16" else 1e-12,
    )


def test_gradients_beside_singularities():
    x = np.maximum(X, 0.0)  # half of it is zero, where √x has no derivative

    def root_below_a_kink(x):
        root = fnp.sqrt(x)
        held = fnp.sum(root)  # ends the first segment
        assert float(held.primal) > 0
        return fnp.sum(
            fnp.maximum(root, 0.5) * 2 - 1 + fnp.maximum(root, 0.25) * root * 0 + fnp.maximum(root, 1.0) * 3
        )

    with deferral(True):
        gradient = fx.grad(
            lambda x: fnp.sum(fnp.where(x > 0, fnp.sqrt(x) * 2 + fnp.log(x) - x * x * x, 0.0))
        )(x)
    assert np.isfinite(gradient).all()
    for on in (True, False):
        with deferral(on):
            gradient = fx.grad(lambda x: fnp.sum(fnp.maximum(fnp.sqrt(x), 0.5)))(x)
        assert np.isfinite(gradient).all() and (gradient[x == 0] == 0).all()
    found = []
    for on in (True, False):
        with deferral(on):
            found.append(fx.grad(root_below_a_kink)(x))
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(found[1]))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_pullbacks_may_be_called_again_and_mapped():
    def f(x):
        y = fnp.sin(x) * x - fnp.cos(x) / 2 + fnp.exp(-x * x)
        return fnp.sum(y), fnp.sum(y.reshape(4, -1) * 2, axis=1)

    found = []
    for on in (True, False):
        with deferral(on):
            (_, rows), pullback = fx.vjp(f, X)
            first, again = pullback((1.0, rows)), pullback((1.0, rows))
            np.testing.assert_array_equal(first[0], again[0])
            mapped = fx.vmap(lambda ct, pull=pullback, rows=rows: pull((ct, rows * ct))[0])(
                np.array([1.0, 2.0])
            )
            np.testing.assert_allclose(mapped[1], 2 * first[0], rtol=1e-12)
            found.append(first[0])
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_derivatives_of_derivatives():
    def f(x):
        return fnp.sum(fnp.sin(x) * x * x - fnp.exp(-x) / (2 + fnp.cos(x)))

    expected = []
    for on in (True, False):
        with deferral(on):
            of_gradient = fx.grad(lambda x: fnp.sum(fx.grad(f)(x) ** 2))(X)
            forward = fx.jvp(fx.grad(f), (X,), (np.ones(SIZE),))[1]
            inside = fx.grad(lambda x: fnp.sum(fx.jvp(fnp.sin, (x,), (x * x + 1,))[1] * x))(X)
            expected.append((of_gradient, forward, inside))
    for a, b in zip(*expected):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_what_looks_at_values_sees_them():
    def f(x):
        y = fnp.sin(x) * 2 + x - x / 3
        assert y.shape == (SIZE,) and y.dtype == X.dtype and y.ndim == 1 and len(y) == SIZE
        if fnp.max(y) > 100:
            raise AssertionError
        np.testing.assert_allclose(fx.debug and fnp.asarray(y).primal, np.sin(X) * 2 + X - X / 3, rtol=1e-12)
        return fnp.sum(fnp.where(y > 0, y, -y)), y

    with deferral(True):
        gradient, aux = fx.grad(f, has_aux=True)(X)
    assert type(aux) is np.ndarray
    y = np.sin(X) * 2 + X - X / 3
    np.testing.assert_allclose(aux, y, rtol=1e-12)
    np.testing.assert_allclose(gradient, np.sign(y) * (2 * np.cos(X) + 1 - 1 / 3), rtol=1e-10)


def test_memory_is_that_of_segments():
    peaks = {}
    for on in (True, False):
        with deferral(on):
            gradient = fx.grad(chain)
            gradient(X)
            tracemalloc.start()
            gradient(X)
            peaks[on] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peaks[True] < 0.6 * peaks[False]


def test_warnings_and_errors():
    def logarithms(x):
        y = fnp.log(x) * 2 + x - 3 * x + x * x
        return fnp.sum(y)

    zeros = np.zeros(SIZE)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fx.grad(logarithms)(zeros)
    assert any("divide by zero encountered in log" in str(w.message) for w in told)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fx.grad(logarithms)(zeros + 1)
        with np.errstate(all="ignore"):
            fx.grad(logarithms)(zeros)
    assert not told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            fx.grad(logarithms)(zeros)
        with pytest.raises(fx.NonFiniteError, match="log"), fx.debug_nans():
            fx.grad(lambda x: fnp.sum(fnp.log(x - 1) * 2 + x * x - x))(zeros)
    with pytest.raises(RuntimeWarning, match="divide by zero"):  # the filter of all tests
        fx.grad(logarithms)(zeros)


def test_mistakes_are_told_at_their_lines():
    def broken(x):
        y = fnp.sin(x) * 2 + x
        return fnp.sum(y * np.ones(7))

    def no_derivative(x):
        return fnp.sum(fnp.sin(x) * 2 + x) & 3

    for on in (True, False):
        with deferral(on):
            with pytest.raises(fx.ShapeError, match=r"\(120000,\) \(7,\)"):
                fx.grad(broken)(X)
            with pytest.raises(TypeError):
                fx.grad(no_derivative)(X)
            with pytest.raises(fx.NonScalarError, match=r"shape \(120000,\)"):
                fx.grad(lambda x: fnp.sin(x) * 2)(X)


def test_a_leaked_value_is_told():
    kept = []

    def f(x):
        kept.append(fnp.sin(x) * x + 1)
        return fnp.sum(kept[0])

    with deferral(True):
        fx.grad(f)(X)
        with pytest.raises(fx.EscapedTracerError):
            kept[0] + 1


def test_nothing_is_left_to_the_garbage_collector():
    with deferral(True):
        gradient = fx.grad(recurrent)
        gradient(X)
        gc.collect()
        gc.disable()
        try:
            gradient(X)
            kinds = (deferral_module.Expression, deferral_module.DeferredTracer)
            assert not [o for o in gc.get_objects() if type(o) in kinds]
        finally:
            gc.enable()


def test_threads():
    results, errors = {}, []

    def work(number):
        try:
            results[number] = fx.grad(chain)(X[:110_000] + number)
        except BaseException as error:
            errors.append(error)

    with deferral(True):
        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    assert not errors and len(results) == 4
    with deferral(False):
        for number, gradient in results.items():
            np.testing.assert_allclose(gradient, fx.grad(chain)(X[:110_000] + number), rtol=1e-10, atol=1e-14)
