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
