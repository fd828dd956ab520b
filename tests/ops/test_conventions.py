"""Derivatives where one may argue: at kinks, ties, poles and origins. As `fxgrad.ops.elementwise` says."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

CONVENTIONS = {
    "a tie of maximum": (lambda x: fnp.maximum(x, 2.0), 2.0, 0.5),
    "a tie of max": (lambda x: fnp.max(fnp.stack([x, x, x])), 1.0, 1.0),
    "abs at 0": (fnp.abs, 0.0, 0.0),
    "x ** 0 at 0": (lambda x: x**0, 0.0, 0.0),
    "x ** 0.0 at 0": (lambda x: x**0.0, 0.0, 0.0),
    "x ** 1 at 0": (lambda x: x**1, 0.0, 1.0),
    "x ** 2 at 0": (lambda x: x**2, 0.0, 0.0),
    "0 ** p": (lambda p: 0.0**p, 2.0, 0.0),
    "sqrt at 0": (fnp.sqrt, 0.0, np.inf),
    "the square of a root at 0": (lambda x: fnp.sqrt(x) ** 2, 0.0, 1.0),
    "log at 0": (fnp.log, 0.0, np.inf),
    "a branch not taken": (lambda x: fnp.where(x < 1, x, fnp.sqrt(x)), 0.0, 1.0),
    "an entry not taken": (lambda x: fnp.sqrt(fnp.stack([x, x + 1]))[1], 0.0, 0.5),
    "a true 0·∞": (lambda x: fnp.sqrt(x * 0.0), 1.0, np.nan),
    "arctan2 at the origin": (lambda x: fnp.arctan2(x, 0.0 * x), 0.0, np.nan),
    "hypot at the origin": (lambda x: fnp.hypot(x, 0.0), 0.0, 0.0),
    "sign": (fnp.sign, 0.0, 0.0),
    "floor": (fnp.floor, 1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("f, x, slope", CONVENTIONS.values(), ids=CONVENTIONS)
def test_conventions(f, x, slope):
    """Forward and reverse mode agree; the backward pass is silent, whatever it divides by."""
    with np.errstate(all="ignore"):
        value, pull = fx.vjp(f, x)
        ahead = fx.jvp(f, (x,), (1.0,))[1]
    np.testing.assert_array_equal(pull(np.ones_like(value)[()])[0], slope)
    np.testing.assert_array_equal(ahead, slope)


def test_nan_goes_where_the_maximum_comes_from():
    x = np.array([1.0, np.nan, 3.0])
    assert np.isnan(fx.value_and_grad(fnp.max)(x)[0])
    assert fx.grad(lambda x: fnp.fmax(x, 0.5))(np.nan) == 0


def test_the_forward_pass_warns_as_numpy_does():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        fx.grad(fnp.log)(0.0)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        fx.grad(fnp.sqrt)(-1.0)


def test_the_hessian_of_the_squared_norm_at_the_origin():
    np.testing.assert_array_equal(fx.hessian(lambda x: fnp.linalg.norm(x) ** 2)(np.zeros(3)), 2 * np.eye(3))


# -- large and small arguments ------------------------------------------
# Functions, arguments, and their first and second derivatives.
PRECISE = {
    "expm1": (fnp.expm1, -40.0, np.exp(-40.0), np.exp(-40.0)),
    "arcsin": (fnp.arcsin, 1e-12, 1.0, 1e-12),
    "arccos": (fnp.arccos, 1e-12, -1.0, -1e-12),
    "arctanh": (fnp.arctanh, 1e-12, 1.0, 2e-12),
    "arcsin near 1": (fnp.arcsin, 1 - 2.0**-50, 2.0**24.5, 2.0**73.5),
    "arcsinh": (fnp.arcsinh, 1e100, 1e-100, -1e-200),
    "arcsinh, larger": (fnp.arcsinh, 1e200, 1e-200, 0.0),
    "softplus": (lambda x: fnp.logaddexp(x, 0.0), 800.0, 1.0, 0.0),
    "softplus below": (lambda x: fnp.logaddexp(x, 0.0), -800.0, 0.0, 0.0),
    "softplus, small": (lambda x: fnp.logaddexp(0.0, x), -700.0, np.exp(-700.0), np.exp(-700.0)),
    "softplus to base 2": (lambda x: fnp.logaddexp2(x, 0.0), 3000.0, 1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("f, x, first, second", PRECISE.values(), ids=PRECISE)
def test_derivatives_are_exact_to_rounding(f, x, first, second):
    slope = fx.grad(f)
    np.testing.assert_allclose(slope(x), first, rtol=1e-14)
    np.testing.assert_allclose(fx.jvp(f, (x,), (1.0,))[1], first, rtol=1e-14)
    np.testing.assert_allclose(fx.grad(slope)(x), second, rtol=1e-14)
    np.testing.assert_allclose(fx.jvp(slope, (x,), (1.0,))[1], second, rtol=1e-14)


@pytest.mark.parametrize("f, slope", [
    (fnp.arcsin, lambda z: 1j / z),
    (fnp.arccos, lambda z: -1j / z),
    (fnp.arcsinh, lambda z: 1 / z),
    (fnp.arctan, lambda z: 1 / z / z),
    (fnp.arctanh, lambda z: -1 / z / z),
], ids=lambda f: getattr(f, "__name__", ""))  # fmt: skip
def test_large_complex_numbers(f, slope):
    """Where z² overflows; above the real axis √(1 − z²) is −iz there."""
    z = 3e200 + 1e200j
    np.testing.assert_allclose(fx.grad(f, holomorphic=True)(z), slope(z), rtol=1e-14)


def test_infinite_parts_of_complex_numbers_do_not_meet():
    def f(x, y):
        z = fx.lax.complex(x, y)
        return fnp.sqrt(fnp.real(z)) + 3 * fnp.imag(z)

    assert fx.lax.complex(1.0, np.inf) == complex(1.0, np.inf)
    assert fx.jit(fx.lax.complex)(-np.inf, 2.0) == complex(-np.inf, 2.0)
    assert fx.grad(f, argnums=(0, 1))(0.0, 1.0) == (np.inf, 3.0)
    with np.errstate(all="ignore"):
        assert fx.jvp(lambda x: fnp.imag(fx.lax.complex(x, fnp.sqrt(x))), (0.0,), (1.0,))[1] == np.inf
        assert fx.jvp(lambda x: fnp.real(fx.lax.complex(x, fnp.sqrt(x))), (0.0,), (1.0,))[1] == 1


@pytest.mark.parametrize("f, x, slope", [
    (lambda x: x**-1.5, 1e-200, -np.inf),
    (lambda x: x**-1, -0.0, -np.inf),
    (lambda x: x**160.0, 100.0, np.inf),
], ids=["small", "zero", "large"])  # fmt: skip
def test_powers_of_numbers_overflow_to_infinity(f, x, slope):
    """Python's own power raises."""
    with np.errstate(all="ignore"):
        assert fx.grad(f)(x) == fx.jvp(f, (x,), (1.0,))[1] == slope
    with np.errstate(all="ignore"):
        assert np.isnan(fx.grad(lambda z: z**0.5, holomorphic=True)(0j))


@pytest.mark.parametrize("order", [None, 0.5, 1.5, 3, 10, 100, -1, -3])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-162])
@pytest.mark.filterwarnings("ignore:overflow")
def test_norms_of_large_and_small_vectors(order, scale):
    """Squares and other powers would overflow or underflow. Norms are homogeneous, their derivatives are constant
    along rays."""
    x = np.array([[3.0, -4.0, 0.5], [1.0, 2.0, 3.0], [1e-3, 1e-4, 1e-2]])

    def norm(x):
        return fnp.linalg.norm(x, order, axis=1)

    value, pullback = fx.vjp(norm, x * scale)
    np.testing.assert_allclose(value, np.linalg.norm(x, order, axis=1) * scale, rtol=1e-13)
    np.testing.assert_allclose(
        pullback(np.ones(3))[0], fx.vjp(norm, x)[1](np.ones(3))[0], rtol=1e-12, atol=1e-99
    )
    np.testing.assert_allclose(fx.jit(norm)(x * scale), value, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:overflow")
def test_norms_of_other_dtypes_and_of_infinity():
    z = np.array([3e30 + 4e30j, 0], np.complex64)
    value, pullback = fx.vjp(fnp.linalg.norm, z)
    np.testing.assert_allclose(value, np.float32(5e30), rtol=1e-6)
    np.testing.assert_allclose(pullback(np.float32(1))[0], [0.6 - 0.8j, 0], rtol=1e-6)
    assert fx.jit(fnp.linalg.norm)(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(fx.jit(fnp.linalg.norm)(np.array([np.nan, np.inf])))
    assert fx.jit(fnp.linalg.norm)(np.zeros(0)) == 0
    assert fx.grad(fnp.std)(np.float64(1e200)) == 0


@pytest.mark.parametrize("size", [1, 3])
def test_a_power_that_a_dtype_has_not_is_refused_as_in_numpy(size):
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        fx.jit(lambda x: x**-1)(np.ones(size, np.uint8))
