"""Derivatives on branch cuts: the side is told by the sign of a zero, for the derivative as for the value.

Generated over all elementwise operations of complex numbers. The reference is a difference along
the cut, which keeps the zero as it is; an operation whose rule takes the other side differs from it by a sign.
"""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.core.primitive import REGISTRY
from fxgrad.ops.kinds import Elementwise
from tests.samples import SAMPLES

SIZES = (0.3, 0.75, 2.0, 3.5)  # on both sides of ±1 and ±i, where the cuts end
POINTS = [
    *(complex(sign * size, zero) for size in SIZES for sign in (1, -1) for zero in (0.0, -0.0)),
    *(complex(zero, sign * size) for size in SIZES for sign in (1, -1) for zero in (0.0, -0.0)),
]
BESIDE = np.complex128(0.7 - 0.3j)  # the other operand
# The elementwise operations that have samples of complex numbers, and the derivative of what they compute.
COMPLEX = sorted(
    {
        sample.name
        for sample in SAMPLES
        if any(domain == "complex" for domain, _ in sample.operands)
        and isinstance(sample.primitive, Elementwise)
        and not sample.params
        and sample.model is None
    }
)
CASES = [(name, i) for name in COMPLEX for i, rule in enumerate(REGISTRY[name].partials) if rule is not None]


def along(z, h):
    """z moved along the axis on which it is; the zero stays as it is."""
    return np.complex128(complex(z.real + h, z.imag) if z.imag == 0 else complex(z.real, z.imag + h))


def measured(f, z):
    def slope(h):
        return (f(along(z, h)) - f(along(z, -h))) / (2 * h)

    return (4 * slope(5e-4) - slope(1e-3)) / 3


def differentiated(f, t):
    return lambda z: fx.jvp(f, (z,), (np.complex128(t),))[1]


def check(f, z, tolerance=1e-7):
    """First and second derivative along the axis, and the cotangent that belongs to the first."""
    t = 1.0 if z.imag == 0 else 1j
    slope = differentiated(f, t)
    for g in (f, slope):
        expected = measured(g, z)
        np.testing.assert_allclose(differentiated(g, t)(np.complex128(z)), expected, tolerance, tolerance)
    y, pullback = fx.vjp(f, np.complex128(z))
    ct = np.ones_like(y)
    np.testing.assert_allclose(np.real(pullback(ct)[0] * t), np.real(ct * slope(z)), tolerance, tolerance)


@pytest.mark.parametrize("name, position", CASES)
def test_operations(name, position):
    call, count = REGISTRY[name].call, len(REGISTRY[name].partials)
    with np.errstate(all="ignore"):
        for z in POINTS:
            check(lambda x: call(*[BESIDE] * position, x, *[BESIDE] * (count - position - 1)), z)


@pytest.mark.parametrize("p", [0.5, -0.5, 1.5, 2, 3, -1, 1 / 3])
def test_powers(p):
    for z in POINTS:
        check(lambda x: x**p, z)
        check(lambda x: ops.static_power(x, p=p), z)


@pytest.mark.parametrize(
    "name", ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "log", "sqrt", "log1p"]
)
@pytest.mark.parametrize("wrap", [fx.jit, fx.vmap])
def test_compiled_and_mapped(name, wrap):
    """The compiled rules, on arrays: the derivative is that of the same side as the value."""
    f = fx.grad(getattr(fnp, name), holomorphic=True)
    z = np.array(POINTS)
    expected = [measured(getattr(np, name), p) / (1 if p.imag == 0 else 1j) for p in POINTS]
    found = wrap(f)(z) if wrap is fx.vmap else [wrap(f)(p) for p in z]
    np.testing.assert_allclose(found, expected, 1e-7)


def towards(z, direction):
    """One-sided differences of second order: along the cut, or away from it on the side of the zero's sign."""
    along_cut = (direction == 1.0) == (z.imag == 0)
    side = 1.0 if along_cut else np.copysign(1.0, z.imag if direction == 1j else z.real)

    def point(h):
        h = side * h
        return complex(z.real + h, z.imag) if direction == 1.0 else complex(z.real, z.imag + h)

    def slope(f, h):
        near, far = (f(np.complex128(point(k * h))) for k in (1, 2))
        return side * (4 * near - far - 3 * f(np.complex128(z))) / (2 * h)

    return lambda f: (4 * slope(f, 2e-4) - slope(f, 4e-4)) / 3


@pytest.mark.parametrize("part", [np.real, np.imag, np.abs])
@pytest.mark.parametrize("name", ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "log", "log10",
                                  "log1p", "log2", "sqrt"])  # fmt: skip
def test_parts_of_values_on_cuts(name, part):
    """The gradient ∂/∂x - i∂/∂y of a part is taken on the side of the value, too: of NumPy's own function, of Python's
    numbers, and compiled."""
    f = lambda z: part(getattr(np, name)(z))  # noqa: E731
    for z in POINTS:
        expected = towards(z, 1.0)(f) - 1j * towards(z, 1j)(f)
        for gradient in (fx.grad(f), fx.jit(fx.grad(f)), fx.grad(fx.jit(f))):
            np.testing.assert_allclose(gradient(z), expected, 1e-6, 1e-6, err_msg=str(z))
        for t in (1.0, 1j):
            slope = fx.jvp(f, (np.complex128(z),), (np.complex128(t),))[1]
            np.testing.assert_allclose(slope, towards(z, t)(f), 1e-6, 1e-6, err_msg=str(z))


def test_functions_that_are_holomorphic_are_found():
    assert {"arccos", "arccosh", "arcsin", "arcsinh", "sqrt", "log", "power", "silu"} <= {
        name for name, _ in CASES
    }
