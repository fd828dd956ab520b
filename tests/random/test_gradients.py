"""Derivatives of samples in the parameters of their distributions, the key fixed.

A sample moves with its distribution function held fixed: x(θ) = F⁻¹(u; θ). Where it is made by inversion or by scaling
that is the derivative of the program; gamma variables, made by rejection, have it by a rule of their own.
"""

import numpy as np
import pytest
import scipy.special

import fxgrad as fx
from fxgrad import random
from fxgrad.core.errors import NonScalarError
from tests.sample import close
from tests.ways import agree

KEY = random.key(11)

# Functions of parameters that are smooth for a fixed key.
SMOOTH = {
    "uniform": (lambda a, b: random.uniform(KEY, (4,), minval=a, maxval=b), 0.3, 2.0),
    "truncated_normal": (lambda a, b: random.truncated_normal(KEY, a, b, (4,)), -0.5, 1.5),
    "truncated_normal in the tail": (lambda a, b: random.truncated_normal(KEY, a, b, (4,)), 5.0, 6.0),
    "exponential": (lambda rate: random.exponential(KEY, (4,)) / rate, 2.0),
    "lognormal": (lambda s: random.lognormal(KEY, s, (4,)), 0.7),
    "pareto": (lambda b: random.pareto(KEY, b, (4,)), 1.5),
    "weibull_min": (lambda s, c: random.weibull_min(KEY, s, c, (4,)), 2.0, 0.7),
    "rayleigh": (lambda s: random.rayleigh(KEY, s, (4,)), 2.0),
    "triangular": (lambda a, m, b: random.triangular(KEY, a, m, b, (4,)), -1.0, 0.2, 2.0),
    "double_sided_maxwell": (lambda m, s: random.double_sided_maxwell(KEY, m, s, (4,)), 1.0, 2.0),
    "multivariate_normal": (
        lambda mean, root: random.multivariate_normal(KEY, mean, root @ root.T, (3,)),
        np.array([1.0, 2.0]),
        np.array([[1.0, 0.3], [-0.2, 2.0]]),
    ),
}
# Functions of parameters of gamma variables: derivatives are checked against SciPy's quantiles and by other means.
IMPLICIT = {
    "gamma": (lambda a: random.gamma(KEY, a), np.array([0.3, 1.0, 2.5, 80.0])),
    "loggamma": (lambda a: random.loggamma(KEY, a), np.array([1e-3, 0.3, 2.5])),
    "beta": (lambda a, b: random.beta(KEY, a, b), np.array([0.5, 2.0]), np.array([1.5, 3.0])),
    "dirichlet": (lambda alpha: random.dirichlet(KEY, alpha, (2,)), np.array([0.5, 1.0, 4.0])),
    "chisquare": (lambda df: random.chisquare(KEY, df), np.array([1.0, 7.0])),
    "t": (lambda df: random.t(KEY, df, (3,)), np.array([1.5, 4.0, 30.0])),
    "f": (lambda m, n: random.f(KEY, m, n), np.array([3.0, 5.0]), np.array([4.0, 9.0])),
    "generalized_normal": (lambda p: random.generalized_normal(KEY, p, (2,)), np.array([0.7, 3.0])),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_reparameterized(name):
    function, *parameters = SMOOTH[name]
    agree(function, *(np.asarray(p) for p in parameters))


@pytest.mark.parametrize("name", IMPLICIT)
def test_modes_and_transforms_agree(name):
    function, *parameters = IMPLICIT[name]
    rng = np.random.default_rng(0)
    ts = [rng.normal(size=p.shape) for p in parameters]
    y, t = fx.jvp(function, parameters, ts)
    ct = rng.normal(size=y.shape)
    pulled = fx.vjp(function, *parameters)[1](ct)
    close(np.sum(t * ct), sum(np.sum(a * b) for a, b in zip(pulled, ts)), 1e-12)
    rows = [np.stack([p, 0.75 * p]) for p in parameters]
    mapped = fx.vmap(lambda *ps: fx.vjp(function, *ps)[1](ct))(*rows)
    for i in range(2):
        for a, b in zip(mapped, fx.vjp(function, *(p[i] for p in rows))[1](ct)):
            close(a[i], b, 1e-12)
    for a, b in zip(fx.jit(lambda *ps: fx.vjp(function, *ps)[1](ct))(*parameters), pulled):
        close(a, b, 1e-13)


def implied(a, w, order):
    """Derivatives of log F⁻¹(u; a) in a by differences, from the tail with the smaller probability."""
    z = np.exp(w)
    if z < a:
        p = scipy.special.gammainc(a, z)
        inverse = lambda b: np.log(scipy.special.gammaincinv(b, p))  # noqa: E731
    else:
        p = scipy.special.gammaincc(a, z)
        inverse = lambda b: np.log(scipy.special.gammainccinv(b, p))  # noqa: E731

    def central(h):
        if order == 1:
            return (inverse(a + h) - inverse(a - h)) / (2 * h)
        return (inverse(a + h) - 2 * inverse(a) + inverse(a - h)) / h**2

    h = (2e-3 if order == 1 else 2e-2) * a
    return (64 * central(h / 4) - 20 * central(h / 2) + central(h)) / 45


@pytest.mark.parametrize("a", [1e-2, 0.3, 1.0, 1.4999, 2.5, 30.0, 1e4, 1e6])
def test_gamma_moves_with_its_quantile(a):
    keys = random.split(KEY, 20)
    values = fx.vmap(lambda key: random.loggamma(key, a))(keys)
    slopes = fx.vmap(lambda key: fx.grad(lambda b: random.loggamma(key, b))(a))(keys)
    for w, slope in zip(values, slopes):
        if w > -600:
            np.testing.assert_allclose(slope, implied(a, w, 1), rtol=1e-8)


@pytest.mark.parametrize("a", [0.3, 2.5, 30.0])
def test_second_derivatives_of_gamma(a):
    def log_gamma(b, key):
        return random.loggamma(key, b)

    for key in random.split(KEY, 8):
        expected = implied(a, log_gamma(a, key), 2)
        for second in (fx.grad(fx.grad(log_gamma)), fx.hessian(log_gamma), fx.jacfwd(fx.jacfwd(log_gamma))):
            np.testing.assert_allclose(second(a, key), expected, rtol=1e-5, atol=1e-7 / a**2)


def test_where_gamma_variables_underflow_logarithms_have_derivatives():
    """F = zᵃ/Γ(a + 1) for small z, so that w = (log u + log Γ(a + 1))/a and dw/da = (ψ(a + 1) − w)/a."""
    a = 1e-4
    w, slope = fx.value_and_grad(lambda b: random.loggamma(KEY, b))(a)
    assert np.exp(w) == 0
    np.testing.assert_allclose(slope, (scipy.special.digamma(a + 1) - w) / a, rtol=1e-13)


def test_expectations_are_differentiated():
    """d E[x²]/da = 2a + 1 for gamma variables, as a mean of derivatives of samples."""
    x, t = fx.jvp(lambda a: random.gamma(KEY, a, (100_000,)) ** 2, (1.7,), (1.0,))
    assert abs(t.mean() - (2 * 1.7 + 1)) < 4.5 * t.std() / np.sqrt(t.size)
    assert abs(x.mean() - 1.7 * 2.7) < 4.5 * x.std() / np.sqrt(x.size)


def test_extreme_shapes_have_finite_derivatives():
    for a in (1e-100, 1e-10, 1e10, 1e15):
        slope = fx.grad(lambda a: random.gamma(KEY, a))(a)
        assert np.isfinite(slope)
    np.testing.assert_allclose(fx.grad(lambda a: random.gamma(KEY, a))(1e10), 1, rtol=1e-4)


def test_single_precision():
    a = np.array([0.5, 3.0], np.float32)
    y, pullback = fx.vjp(lambda a: random.gamma(KEY, a, dtype=np.float32), a)
    (ct,) = pullback(np.ones(2, np.float32))
    assert y.dtype == ct.dtype == np.float32
    exact = fx.vjp(lambda a: random.gamma(KEY, a), a.astype(float))[1](np.ones(2))[0]
    np.testing.assert_allclose(ct, exact, rtol=1e-6)


def test_counts_have_no_derivative():
    assert fx.grad(lambda lam: 1.0 * random.poisson(KEY, lam) * lam)(3.0) == random.poisson(KEY, 3.0)
    assert fx.grad(lambda p: random.binomial(KEY, 10, p))(0.3) == 0
    with pytest.raises(NonScalarError):
        fx.grad(lambda p: random.bernoulli(KEY, p, (3,)) * p)(0.3)
