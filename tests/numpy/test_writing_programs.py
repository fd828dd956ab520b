"""Programs that write into arrays, drawn at random, give NumPy's values under every transform, and derivatives that
differences confirm."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.numpy.written_programs import SHAPE, function_of, random_array, random_program

STEP = 1e-6


def program_of(seed):
    """A program, the function that it is of NumPy, the one to be transformed, and an argument."""
    buffers = seed % 2 == 1
    statements, x = random_program(seed, 3 + seed % 7, buffers)
    return "\n".join(statements), function_of(statements), function_of(statements, fnp if buffers else np), x


def check_values(seed):
    text, reference, f, x = program_of(seed)
    given, wanted = x.copy(), reference(x.copy())
    for transform in (
        lambda f: f(x.copy()),
        lambda f: fx.jit(f)(x),
        lambda f: fx.vjp(f, x)[0],
        lambda f: fx.jvp(f, (x,), (x,))[0],
        lambda f: fx.jvp(fx.jit(f), (x,), (x,))[0],
        lambda f: fx.jit(lambda x: fx.vjp(f, x)[0])(x),
    ):
        np.testing.assert_array_equal(transform(f), wanted, err_msg=text)
    batch = np.stack([x, -x, x[::-1]])
    try:
        wanted = np.stack([reference(v.copy()) for v in batch])
    except ValueError:  # another number of entries is selected
        wanted = None
    if wanted is not None:
        np.testing.assert_array_equal(fx.vmap(f)(batch), wanted, err_msg=text)
        np.testing.assert_array_equal(fx.jit(fx.vmap(f))(batch), wanted, err_msg=text)
        pushed = fx.vmap(lambda v: fx.jvp(f, (v,), (v,))[0])(batch)
        np.testing.assert_array_equal(pushed, wanted, err_msg=text)
    np.testing.assert_array_equal(x, given, err_msg=text)


def differentiate(f, x, t):
    """The central difference of a function along t, and whether there is a kink at x, or near it."""
    here, after, before = f(x.copy()), f(x + STEP * t), f(x - STEP * t)
    slopes = (after - here) / STEP, (here - before) / STEP
    is_kink = not np.allclose(*slopes, rtol=1e-3, atol=1e-3)
    return (after - before) / (2 * STEP), is_kink


def check_derivatives(seed):
    text, reference, f, x = program_of(seed)
    source = np.random.default_rng(seed)
    t = random_array(source)
    slope, is_kink = differentiate(reference, x, t)
    if is_kink:
        return False
    value, tangent = fx.jvp(f, (x,), (t,))
    np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-5, err_msg=text)
    weights = source.integers(-3, 4, value.shape) / 2
    loss = lambda x: fnp.sum(f(x) ** 2 * weights)  # noqa: E731
    gradient = fx.grad(loss)(x)
    wanted = 2 * np.sum(weights * value * tangent)
    np.testing.assert_allclose(np.sum(gradient * t), wanted, rtol=1e-9, atol=1e-9, err_msg=text)
    for other in (
        fx.jit(fx.grad(loss))(x),
        fx.grad(fx.jit(loss))(x),
        fx.vmap(fx.grad(loss))(x[None])[0],
        fx.grad(lambda x: fx.vmap(loss)(x[None]).sum())(x),
    ):
        np.testing.assert_allclose(other, gradient, rtol=1e-9, atol=1e-9, err_msg=text)
    slope, is_kink = differentiate(fx.grad(loss), x, t)
    if not is_kink:
        for hessian in (fx.hessian(loss)(x), fx.jit(fx.hessian(loss))(x), fx.jacrev(fx.jacfwd(loss))(x)):
            product = np.tensordot(hessian, t, len(SHAPE))
            np.testing.assert_allclose(product, slope, rtol=1e-4, atol=1e-4, err_msg=text)
    return True


@pytest.mark.parametrize("start", range(0, 200, 10))
def test_values_are_those_of_numpy(start):
    for seed in range(start, start + 10):
        check_values(seed)


@pytest.mark.parametrize("start", range(0, 100, 10))
def test_derivatives_are_those_of_what_numpy_computes(start):
    assert sum(map(check_derivatives, range(start, start + 10))) >= 3


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1000, 2**32))
def test_any_program(seed):
    check_values(seed)
    check_derivatives(seed)
