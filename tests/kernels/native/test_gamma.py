"""The gamma function in machine code: log |Γ|, and the first two derivatives of log Γ."""

import math

import numpy as np
import pytest

import fxgrad as fx
from fxgrad import ops
from fxgrad.kernels.native import engine

from .random_programs import set_way

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="native kernels are switched off")

NAMES = ["log_gamma", "digamma", "trigamma"]
FUNCTIONS = {
    "log_gamma": ops.log_gamma,
    "digamma": lambda x: ops.polygamma(x, n=0),
    "trigamma": lambda x: ops.polygamma(x, n=1),
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    2.0,
    -1.0,
    -2.0,
    5e-324,
    -5e-324,
    1e-310,
    1e-30,
    1e300,
    -0.5,
    -1e10,
    np.inf,
    -np.inf,
    np.nan,
]
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30]
SHIFT = 40  # by which arguments of the reference are moved up


def reference(name, x):
    """In extended precision: the asymptotic series far up, and the recurrence down from there."""
    x = x.astype(np.longdouble)
    steps = [x + k for k in range(SHIFT)]
    y = x + SHIFT
    if name == "log_gamma":
        tail = sum(b / (2 * k * (2 * k - 1)) / y ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1))
        half = np.log(2 * np.arccos(np.longdouble(-1))) / 2
        return (y - np.longdouble(0.5)) * np.log(y) - y + half + tail - sum(map(np.log, steps))
    if name == "digamma":
        tail = sum(b / (2 * k) / y ** (2 * k) for k, b in enumerate(BERNOULLI, 1))
        return np.log(y) - 0.5 / y - tail - sum(1 / s for s in steps)
    tail = sum(b / y ** (2 * k + 1) for k, b in enumerate(BERNOULLI, 1))
    return 1 / y + 0.5 / y**2 + tail + sum(1 / s**2 for s in steps)


def apply_natively(name, x, monkeypatch):
    set_way(monkeypatch, "always")
    with np.errstate(all="ignore"):
        return fx.jit(lambda x: (FUNCTIONS[name](x),))(x)[0]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 60, reason="longdouble is no longer than double")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_exact_to_four_units(name, dtype, monkeypatch):
    random = np.random.default_rng(5)
    ranges = [(0.01, 0.5), (0.5, 3), (3, 12), (12, 500)]
    x = np.concatenate([random.uniform(*r, 2000) for r in ranges]).astype(dtype)
    want = reference(name, x)
    error = np.abs(apply_natively(name, x, monkeypatch) - want)
    # beside zeros what is lost in the reference counts
    assert (error <= 4 * np.spacing(np.abs(want).astype(dtype)) + 2e-17 * SHIFT * (name != "trigamma")).all()


@pytest.mark.parametrize("name, zeros", [("log_gamma", [1.0, 2.0]), ("digamma", [1.4616321449683622])])
def test_no_digit_is_lost_beside_zeros(name, zeros, monkeypatch):
    """There the function is its slope times the distance, to first order."""
    slopes = {1.0: -0.5772156649015329, 2.0: 0.42278433509846714, 1.4616321449683622: 0.967672245447621}
    for zero in zeros:
        distance = np.array([1e-9, -1e-9, 2e-10, 4e-12])
        x = zero + distance
        beyond = x - zero - (9.549995429965697e-17 if name == "digamma" else 0)
        np.testing.assert_allclose(
            apply_natively(name, x, monkeypatch), slopes[zero] * beyond, rtol=3e-9, atol=0
        )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_numpys(name, dtype, monkeypatch):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        want = FUNCTIONS[name](x)
    got = apply_natively(name, x, monkeypatch)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])


@pytest.mark.parametrize("name", NAMES)
def test_negative_numbers_are_reflected(name, monkeypatch):
    x = -np.random.default_rng(1).uniform(0.001, 20, 999)
    want = FUNCTIONS[name](x)
    np.testing.assert_allclose(apply_natively(name, x, monkeypatch), want, rtol=1e-12, atol=1e-14)


def test_a_likelihood_is_one_group(monkeypatch):
    """Its gradient and curvature are computed together with their neighbours."""
    set_way(monkeypatch, "always")
    counts = np.arange(1.0, 200.0)

    def likelihood(a):
        return fx.numpy.sum(ops.log_gamma(counts + a) - ops.log_gamma(a) + counts * fx.numpy.log(a))

    a = np.linspace(0.5, 4, counts.size)
    for function in (fx.grad(likelihood), lambda a: fx.jvp(fx.grad(likelihood), (a,), (a,))[1]):
        *_, compiled = fx.jit(function).lower(a).passes.values()
        assert [e.params["native"] for e in compiled.equations] == [True]
        np.testing.assert_allclose(fx.jit(function)(a), function(a), rtol=1e-13)


def test_an_array_outside_of_jit(monkeypatch):
    x = np.linspace(0.1, 30, 40_000)
    before = ops.log_gamma(x), ops.polygamma(x, n=0), ops.polygamma(x, n=5)
    monkeypatch.setattr(engine, "mode", lambda: "always")
    after = ops.log_gamma(x), ops.polygamma(x, n=0), ops.polygamma(x, n=5)
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=math.ulp(1.0))
