"""fxgrad.scipy's signal, ndimage, fft and odeint against JAX's: values and gradients."""

import numpy
import pytest

import fxgrad
import fxgrad.numpy
from fxgrad.scipy import fft, integrate, ndimage, signal
from tests.parity.oracle import same

import jax  # isort: skip
import jax.experimental.ode
import jax.numpy
import jax.scipy.fft
import jax.scipy.ndimage
import jax.scipy.signal

R = numpy.random.default_rng(0)
X, SMALL = R.normal(size=(6, 7)), R.normal(size=(3, 2))
PLACES = R.uniform(0.5, 4.5, size=(2, 5))

PROGRAMS = {
    "convolve": (signal, jax.scipy.signal, lambda m, x, y: m.convolve(x, y, mode="same"), X, SMALL),
    "convolve2d": (signal, jax.scipy.signal, lambda m, x, y: m.convolve2d(x, y), X, SMALL),
    "map_coordinates": (
        ndimage,
        jax.scipy.ndimage,
        lambda m, x, q: m.map_coordinates(x, q, order=1),
        X,
        PLACES,
    ),
    "dct": (fft, jax.scipy.fft, lambda m, x: m.dct(x, norm="ortho"), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name):
    ours, theirs, program, *args = PROGRAMS[name]

    def power(of, module):
        return lambda *args: of.sum(program(module, *args) ** 2)

    everything = tuple(range(len(args)))
    got = fxgrad.value_and_grad(power(fxgrad.numpy, ours), everything)(*args)
    wanted = jax.value_and_grad(power(jax.numpy, theirs), everything)(*map(jax.numpy.asarray, args))
    same(got, wanted)


def test_odeint():
    times = numpy.linspace(0.0, 2.0, 4)

    def end(solve, stack):
        def field(y, t, a):
            return stack([y[1], -a * y[0]])

        return lambda y, a: (solve(field, y, times, a)[-1] ** 2).sum()

    y = numpy.array([1.0, 0.5])
    got = fxgrad.grad(end(integrate.odeint, fxgrad.numpy.stack), (0, 1))(y, 1.3)
    wanted = jax.grad(
        end(lambda f, y, t, a: jax.experimental.ode.odeint(f, y, t, a), jax.numpy.stack), (0, 1)
    )
    # Each solves to a tolerance of 1.5e-8, by another method.
    for a, b in zip(got, wanted(jax.numpy.asarray(y), 1.3)):
        numpy.testing.assert_allclose(a, b, 1e-6)
