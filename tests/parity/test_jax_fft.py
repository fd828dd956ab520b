"""Fourier transforms against JAX: values, and derivatives of real and complex functions of spectra."""

import numpy
import pytest

from tests.parity.oracle import by_fxgrad, by_jax, same

import jax  # isort: skip

rng = numpy.random.default_rng(0)
V, X, T = rng.normal(size=5), rng.normal(size=(4, 6)), rng.normal(size=(2, 3, 4))
Z = X + 1j * rng.normal(size=X.shape)
CUBE = rng.normal(size=(2, 3, 4)) + 1j * T

CALLS = {
    "fft": lambda f, a: f.fft(a),
    "fft, n, axis, ortho": lambda f, a: f.fft(a, 7, 0, "ortho"),
    "fft, cropped": lambda f, a: f.fft(a, 3, norm="forward"),
    "ifft": lambda f, a: f.ifft(a, axis=0),
    "rfft": lambda f, a: f.rfft(a.real),
    "rfft, odd": lambda f, a: f.rfft(a.real, 5, norm="forward"),
    "irfft": lambda f, a: f.irfft(a),
    "irfft, odd": lambda f, a: f.irfft(a, 9, norm="ortho"),
    "irfft, cropped": lambda f, a: f.irfft(a, 4, 0),
    "hfft": lambda f, a: f.hfft(a, norm="ortho"),
    "hfft, odd": lambda f, a: f.hfft(a, 7),
    "ihfft": lambda f, a: f.ihfft(a.real, norm="forward"),
    "fft2": lambda f, a: f.fft2(a),
    "ifft2, s": lambda f, a: f.ifft2(a, s=(3, 8)),
    "rfft2": lambda f, a: f.rfft2(a.real),
    "irfft2": lambda f, a: f.irfft2(a, s=(4, 5)),
    "fftn": lambda f, a: f.fftn(a, axes=(1, 0), norm="ortho"),
    "ifftn": lambda f, a: f.ifftn(a),
    "rfftn": lambda f, a: f.rfftn(a.real, s=(4, 7), axes=(1, 0)),
    "irfftn": lambda f, a: f.irfftn(a),
    "shifts": lambda f, a: f.ifftshift(f.fft(f.fftshift(a, axes=(0,)))),
}


def agree(program):
    """As one program for JAX's compiler, which takes its time for each."""
    same(by_fxgrad(program), jax.jit(lambda: by_jax(program))())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_and_derivatives(call):
    ct_of = {}

    def program(fx, np):
        def f(a):
            return call(np.fft, a)

        shape = numpy.shape(f(Z))
        ct = ct_of.setdefault(shape, rng.normal(size=shape) + 1j * rng.normal(size=shape))
        ct = ct if numpy.iscomplexobj(f(Z)) else ct.real
        _, pullback = fx.vjp(f, Z)
        return f(Z), f(X), fx.jvp(f, (Z,), (Z.conj(),)), pullback(ct), fx.jit(f)(Z)

    agree(program)


PROGRAMS = {
    "power spectrum": lambda fx, np: fx.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4))(V),
    "phases": lambda fx, np: fx.grad(lambda x: np.sum(np.angle(np.fft.fft(x))[1:3] ** 2))(V),
    "convolution": lambda fx, np: fx.jacrev(lambda x: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(V), 5))(V),
    "hessian": lambda fx, np: fx.hessian(lambda x: np.sum(np.abs(np.fft.fft(np.sin(x), 8)) ** 4))(V),
    "holomorphic": lambda fx, np: fx.grad(lambda z: np.sum(np.fft.fft2(z) ** 3), holomorphic=True)(Z),
    "gradient of a complex argument": lambda fx, np: fx.grad(lambda z: np.sum(np.fft.irfft2(z) ** 3))(Z),
    "three axes": lambda fx, np: fx.grad(lambda t: np.sum(np.abs(np.fft.rfftn(t)) ** 3))(T),
    "three axes back": lambda fx, np: fx.grad(lambda t: np.sum(np.fft.irfftn(t, s=(3, 3, 5)) ** 3))(CUBE),
    "vmap": lambda fx, np: fx.vmap(fx.grad(lambda x: np.sum(np.abs(np.fft.rfft(x, 7)) ** 3)), 1, 1)(X),
    "single precision": lambda fx, np: fx.value_and_grad(lambda x: np.sum(np.fft.fft(x).real ** 3))(
        V.astype("float32")
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)
