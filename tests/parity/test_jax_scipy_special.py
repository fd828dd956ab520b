"""fxgrad.scipy.special against jax.scipy.special, and hard arguments against mpmath."""

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.scipy import special
from tests.parity.oracle import JAX

import jax  # isort: skip
import jax.scipy.special as theirs

mpmath = pytest.importorskip("mpmath")

X, A, B = np.array([0.3, 0.6, 0.9]), np.array([1.2, 0.7, 2.2]), np.array([0.8, 1.9, 1.1])
# Conventions and results of several arrays; that derivatives are right is known from finite differences.
CALLS = {
    **{name: (X,) for name in ("entr", "expit", "i0e", "log_ndtr", "log_softmax", "logsumexp")},
    **{name: (A, B) for name in ("kl_div", "rel_entr", "xlog1py", "xlogy")},
    "boxcox": (X, A),
    "factorial": (A,),
}


def test_every_name_of_jaxs_is_here():
    assert [n for n in dir(theirs) if not n.startswith("_") and not hasattr(special, n)] == []


def test_every_name_of_autograds_is_here():
    scipy = pytest.importorskip("scipy.special")
    library = pytest.importorskip("autograd.scipy.special")
    names = [n for n in dir(library) if hasattr(scipy, n) and n not in ("np", "scipy")]
    assert "jn" in names
    assert [n for n in names if not hasattr(special, n)] == []


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name):
    def along(transform, module, position):
        def f(x):
            given = [*CALLS[name][:position], x, *CALLS[name][position + 1 :]]
            y = getattr(module, name)(*given)
            return y[0] if isinstance(y, tuple) else y

        x = CALLS[name][position]
        return transform.jvp(f, (x,), (np.ones_like(x),))

    positions = [i for i, v in enumerate(CALLS[name]) if isinstance(v, np.ndarray) and v.dtype.kind in "fc"]
    for i in positions:
        for y, z in zip(along(fx, special, i), along(JAX, theirs, i)):
            np.testing.assert_allclose(y, z, rtol=1e-8, atol=1e-10)  # JAX's gamma functions are no better


def test_bessel_functions_of_several_orders():
    z = np.array([0.5, 3.0])
    np.testing.assert_allclose(
        special.bessel_jn(z, v=3), theirs.bessel_jn(jax.numpy.array(z), v=3), rtol=1e-9
    )


# -- hard arguments -----------------------------------------------------------------------------------------
mp = mpmath
HARD = {
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [-3, 3, 9.9, 10.1, 1e4, 1e8]),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), [1e-8, 3, 9.9, 10.1, 50]),
    "log_ndtr": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), [-30, 0.1, 6]),
    "exprel": (lambda x: mp.expm1(x) / x, [1e-9, -50, 300]),
    "rgamma": (mp.rgamma, [-3, -2.5, 0.5, 1e-12, -20.3]),
    "psi": (lambda x: mp.psi(0, x), [1e-5, -2.5, 30]),
    "spence": (lambda z: mp.polylog(2, 1 - z), [1.0000001, 1.4, 1.6, 0.1]),
    "ellipk": (mp.ellipk, [1e-9, 0.999999, -30]),
    "ellipkm1": (lambda p: mp.ellipk(1 - p), [1e-12]),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), [49, 51, 1e5]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-x), [1e-5, 50, 1e3]),
    "j1": (lambda x: mp.besselj(1, x), [1e-9, 3, 50]),
}


@pytest.mark.parametrize("name", HARD)
def test_first_and_second_derivatives_at_hard_arguments(name):
    f, points = HARD[name]
    with mp.workdps(60):
        for x in map(float, points):
            h = mp.mpf(x) * mp.mpf(10) ** -14
            below, at, above = (f(mp.mpf(x) + k * h) for k in (-1, 0, 1))
            expected = [float((above - below) / (2 * h)), float((above - 2 * at + below) / h**2)]
            slope = fx.grad(getattr(special, name))
            np.testing.assert_allclose(slope(x), expected[0], rtol=1e-11)
            np.testing.assert_allclose(fx.grad(slope)(x), expected[1], rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "oracle", "points"),
    [
        ("betainc", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
         [(2, 3, 0.3), (200, 0.7, 0.99), (1e3, 2e3, 0.3), (1e-2, 3, 0.01), (30, 0.1, 0.999)]),
        ("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), [(0.5, 1e-5), (20, 30), (3, 0.01)]),
        ("hyp1f1", mp.hyp1f1, [(1.3, 2.4, -30), (-2, 1.5, 3), (0.5, 5, 100), (3, 7, 600)]),
        ("hyp2f1", mp.hyp2f1, [(1.3, 0.6, 2.4, -5), (1.3, -2, 2.4, 0.9), (1.3, 0.5, 2, 0.99)]),
        ("elliprj", mp.elliprj, [(1e-6, 0.4, 1.3, 0.9), (1, 1, 1, 1e-4)]),
    ],
)  # fmt: skip
def test_derivatives_by_parameters_at_hard_arguments(name, oracle, points):
    with mp.workdps(30):
        for point in points:
            at = tuple(map(float, point))
            slopes = fx.grad(getattr(special, name), argnums=tuple(range(len(at))))(*at)
            for i, slope in enumerate(slopes):

                def f(v, i=i, at=at):
                    return oracle(*at[:i], v, *at[i + 1 :])

                expected = mp.diff(f, at[i], h=mp.mpf(at[i]) * mp.mpf(10) ** -9 or None)
                np.testing.assert_allclose(slope, float(expected), rtol=1e-10)
