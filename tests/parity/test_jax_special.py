"""The special functions of fxgrad.lax against those of jax.lax: signatures, dtypes, values and derivatives.

JAX has no derivative of zeta, and its others are exact to about 1e-11 only.
"""

import inspect

import numpy as np
import pytest

import fxgrad
from fxgrad.lax import special
from tests.parity.oracle import JAX

import jax  # isort: skip

X, Y = np.array([0.2, 0.45, 0.8, 0.95]), np.array([1.3, 0.4, 3.0, 0.9])
ORDER = np.array([2.0, 3.5, 6.0, 9.0])
CALLS = {
    **{
        name: (lambda lax, x, name=name: getattr(lax, name)(x), X)
        for name in ("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
    },
    "polygamma": (lambda lax, x: lax.polygamma(np.ones((), x.dtype), x), X),
    "igamma": (lambda lax, a, x: lax.igamma(a, x), ORDER, 3 * Y),
    "igammac": (lambda lax, a, x: lax.igammac(a, x), ORDER, 3 * Y),
}


@pytest.mark.parametrize("name", special.__all__)
def test_signatures_are_jaxs(name):
    ours = inspect.signature(getattr(fxgrad.lax, name)).parameters
    assert [*ours] == [p for p in inspect.signature(getattr(jax.lax, name)).parameters if p != "accuracy"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("call, args", [(f, a) for f, *a in CALLS.values()], ids=CALLS)
def test_values_and_derivatives(call, args, dtype):
    def derivatives(fx, lax, *args):
        def f(*args):
            return call(lax, *args)

        value, tangent = fx.jvp(f, args, args)
        _, pullback = fx.vjp(f, *args)
        return [value, tangent, *pullback(tangent)]

    args = [a.astype(dtype) for a in args]
    ours = derivatives(fxgrad, fxgrad.lax, *args)
    theirs = jax.jit(lambda *args: derivatives(JAX, jax.lax, *args))(*args)
    for y, expected in zip(ours, theirs):
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=1e-10 if dtype is np.float64 else 1e-4, atol=1e-12)


@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (8, 23), (2, 0), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reduced_precision(bits, dtype):
    values = [3.14159, 1e30, 1e-30, 65520.0, 65519.0, -1e-7, 2.0**-14, 2.0**-15, 1.0, np.inf, -0.0, np.nan]
    x = np.array(values, dtype)
    ours, theirs = fxgrad.lax.reduce_precision(x, *bits), np.asarray(jax.lax.reduce_precision(x, *bits))
    np.testing.assert_array_equal(ours[:-1], theirs[:-1])
    np.testing.assert_array_equal(np.signbit(ours[:-1]), np.signbit(theirs[:-1]))
    assert np.isnan(ours[-1])
