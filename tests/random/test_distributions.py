"""Every distribution against SciPy's, with fixed keys: Kolmogorov and Smirnov's test of continuous ones, χ² of counts.

A right sampler fails one such test in 10⁴; since keys are fixed, it fails always or never.
"""

import numpy as np
import pytest
import scipy.stats as stats

import fxgrad as fx
from fxgrad import random

KEY = random.key(2024)
COUNT = 50_000
LEAST = 1e-4

CONTINUOUS = {
    "uniform": (lambda key, shape: random.uniform(key, shape, minval=-1, maxval=3), stats.uniform(-1, 4)),
    "normal": (random.normal, stats.norm),
    "complex normal": (lambda key, shape: random.normal(key, shape, complex).imag, stats.norm(0, 0.5**0.5)),
    "exponential": (random.exponential, stats.expon),
    "laplace": (random.laplace, stats.laplace),
    "gumbel": (random.gumbel, stats.gumbel_r),
    "logistic": (random.logistic, stats.logistic),
    "cauchy": (random.cauchy, stats.cauchy),
    "maxwell": (random.maxwell, stats.maxwell),
    "rayleigh": (lambda key, shape: random.rayleigh(key, 2.0, shape), stats.rayleigh(scale=2)),
    "lognormal": (lambda key, shape: random.lognormal(key, 0.7, shape), stats.lognorm(0.7)),
    "pareto": (lambda key, shape: random.pareto(key, 1.5, shape), stats.pareto(1.5)),
    "weibull_min": (lambda key, shape: random.weibull_min(key, 2.0, 0.6, shape), stats.weibull_min(0.6, scale=2)),
    "triangular": (lambda key, shape: random.triangular(key, -1.0, 0.0, 3.0, shape), stats.triang(0.25, -1, 4)),
    "triangular to the left": (lambda key, shape: random.triangular(key, 0.0, 0.0, 1.0, shape), stats.triang(0)),
    "generalized_normal": (lambda key, shape: random.generalized_normal(key, 0.7, shape), stats.gennorm(0.7)),
    **{
        f"double_sided_maxwell, {side}": (
            lambda key, shape, side=side: side * (random.double_sided_maxwell(key, 1.0, 2.0, 2 * shape[0]) - 1) / 2,
            lambda x: (x < 0) / 2 + (x >= 0) * (1 + stats.maxwell.cdf(x)) / 2 - (x < 0) * stats.maxwell.cdf(-x) / 2,
        )
        for side in (1, -1)
    },
    **{
        f"truncated_normal {low} {high}": (
            lambda key, shape, low=low, high=high: random.truncated_normal(key, low, high, shape),
            stats.truncnorm(low, high),
        )
        for low, high in [(-1, 2), (-np.inf, 0.5), (3, np.inf), (8, 8.1), (-30, -29), (-9, 9)]
    },
    **{
        f"gamma {a}": (lambda key, shape, a=a: random.gamma(key, a, shape), stats.gamma(a))
        for a in (0.05, 0.5, 1.0, 1.7, 30.0, 1e4, 1e8)
    },
    "loggamma 1e-3": (  # most of which underflow as gamma variables: F = zᵃ/Γ(a + 1) there
        lambda key, shape: 1e-3 * random.loggamma(key, 1e-3, shape),
        lambda y: stats.gamma(1e-3).cdf(np.exp(np.maximum(y, -0.6) / 1e-3)) * np.exp(np.minimum(y + 0.6, 0)),
    ),
    "loggamma 20": (lambda key, shape: random.loggamma(key, 20.0, shape), stats.loggamma(20)),
    "chisquare": (lambda key, shape: random.chisquare(key, 3.0, shape), stats.chi2(3)),
    **{
        f"beta {a} {b}": (lambda key, shape, a=a, b=b: random.beta(key, a, b, shape), stats.beta(a, b))
        for a, b in [(0.5, 2.0), (3.0, 4.0), (200.0, 0.3)]
    },
    "dirichlet": (lambda key, shape: random.dirichlet(key, np.array([0.3, 1, 2]), shape)[:, 0], stats.beta(0.3, 3)),
    **{f"t {df}": (lambda key, shape, df=df: random.t(key, df, shape), stats.t(df)) for df in (0.7, 3.0, 1e3)},
    "f": (lambda key, shape: random.f(key, 3.0, 5.0, shape), stats.f(3, 5)),
    **{f"wald {m}": (lambda key, shape, m=m: random.wald(key, m, shape), stats.invgauss(m)) for m in (0.2, 3.0, 50.0)},
    "ball, radius": (
        lambda key, shape: np.sum(np.abs(random.ball(key, 3, 1.5, shape)) ** 1.5, -1) ** 2, stats.uniform  # r^d
    ),
    "orthogonal": (  # a coordinate of a point on the sphere in three dimensions is uniform
        lambda key, shape: random.orthogonal(key, 3, (shape[0] // 10,))[:, 1, 2], stats.uniform(-1, 2)
    ),
}  # fmt: skip

COUNTS = {
    **{
        f"poisson {lam}": (lambda key, shape, lam=lam: random.poisson(key, lam, shape), stats.poisson(lam))
        for lam in (0.1, 1.0, 9.99, 10.0, 47.0, 1e3, 1e6)
    },
    **{
        f"binomial {n} {p}": (lambda key, shape, n=n, p=p: random.binomial(key, n, p, shape), stats.binom(n, p))
        for n, p in [(1, 0.3), (20, 0.5), (20, 0.95), (1000, 0.003), (1000, 0.4), (50, 0.8), (10**8, 0.5)]
    },
    **{
        f"geometric {p}": (lambda key, shape, p=p: random.geometric(key, p, shape), stats.geom(p))
        for p in (0.5, 0.01)
    },
    "bernoulli": (lambda key, shape: random.bernoulli(key, 0.2, shape), stats.bernoulli(0.2)),
    "rademacher": (lambda key, shape: (random.rademacher(key, shape) + 1) // 2, stats.bernoulli(0.5)),
    "randint": (lambda key, shape: random.randint(key, shape, -5, 12), stats.randint(-5, 12)),
    "randint of all": (lambda key, shape: random.randint(key, shape, -128, 128, np.int8), stats.randint(-128, 128)),
}  # fmt: skip


def kolmogorov_smirnov(x, distribution):
    """The probability of a distance as large as that of a sample."""
    return stats.kstest(x, getattr(distribution, "cdf", distribution)).pvalue


def chi_square(x, distribution):
    """The same of counts, in about 30 cells as likely as each other."""
    edges = np.unique(distribution.ppf(np.linspace(0, 1, 31)[1:-1]))
    cells = np.concatenate([[-np.inf], edges, [np.inf]])
    probability = np.diff(distribution.cdf(cells))
    observed = np.histogram(x, np.concatenate([[-np.inf], np.floor(edges) + 0.5, [np.inf]]))[0]
    likely = probability * len(x) > 1
    assert observed[~likely].sum() <= 5
    expected = probability[likely] * observed[likely].sum() / probability[likely].sum()
    return 1.0 if len(expected) == 1 else stats.chisquare(observed[likely], expected).pvalue


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    draw, distribution = CONTINUOUS[name]
    assert kolmogorov_smirnov(draw(KEY, (COUNT,)), distribution) > LEAST


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    draw, distribution = COUNTS[name]
    x = np.asarray(draw(KEY, (COUNT,))).astype(float)
    assert chi_square(x, distribution) > LEAST


def test_the_tests_can_fail():
    x = random.normal(KEY, (COUNT,))
    assert kolmogorov_smirnov(x + 0.03, stats.norm) < LEAST
    assert kolmogorov_smirnov(x * 1.06, stats.norm) < LEAST
    assert chi_square(random.poisson(KEY, 46.5, (COUNT,)), stats.poisson(47)) < LEAST


@pytest.mark.parametrize("name", ["normal", "exponential", "gumbel"])
def test_moments(name):
    draw, distribution = CONTINUOUS[name]
    x = draw(KEY, (400_000,))
    for order in (1, 2, 3, 4):
        error = np.sqrt(distribution.moment(2 * order) / len(x))
        assert abs(np.mean(x**order) - distribution.moment(order)) < 4.5 * error


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal(method):
    root = np.array([[2.0, 0, 0], [-1, 1, 0], [0.5, 0.2, 0.1]])
    mean = np.array([1.0, -2, 3])
    x = random.multivariate_normal(KEY, mean, root @ root.T, (COUNT,), method=method)
    white = np.linalg.solve(root, (x - mean).T)
    assert np.abs(np.cov(white) - np.eye(3)).max() < 4.5 * np.sqrt(2 / COUNT)
    assert kolmogorov_smirnov(np.sum(white**2, 0), stats.chi2(3)) > LEAST


def test_singular_covariance():
    for method in ("eigh", "svd"):
        x = random.multivariate_normal(KEY, np.zeros(2), np.ones((2, 2)), (100,), method=method)
        np.testing.assert_allclose(x[:, 0], x[:, 1], atol=1e-7)


def test_dirichlet_of_small_parameters_is_a_corner():
    """Gamma variables of shape 1e-4 underflow; their logarithms do not."""
    x = random.dirichlet(KEY, np.full(3, 1e-4), (2000,))
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-15)
    counts = np.bincount(x.argmax(-1))
    assert stats.chisquare(counts).pvalue > LEAST


def test_far_tails():
    """Where uniform numbers near 1 would have no digits left."""
    x = random.truncated_normal(KEY, 36.0, np.inf, (COUNT,))
    assert x.min() >= 36
    exceedance = (x**2 - 36**2) / 2  # of density ∝ e^−y/√(36² + 2y), within 1e-3 of an exponential's
    assert kolmogorov_smirnov(exceedance[:2000], stats.expon) > LEAST
    assert abs(random.normal(KEY, (10**6,))).max() < 8.3


def test_domains():
    """Parameters outside their domain give NaN, −1 where results are integers; bounds of domains give limits."""
    with np.errstate(all="raise", under="ignore"):
        assert np.isnan(random.gamma(KEY, np.array([-1.0, np.nan]))).all()
        assert (random.gamma(KEY, np.array([0.0, 1e-5])) == 0).all() and random.gamma(KEY, np.inf) == np.inf
        assert random.loggamma(KEY, 0.0) == -np.inf
        assert (random.poisson(KEY, np.array([-1.0, np.nan])) == -1).all() and random.poisson(KEY, 0.0) == 0
        assert random.poisson(KEY, 1e30) > 2**62
        for n, p in [(-1, 0.5), (2.5, 0.5), (3, 1.5), (3, -0.5), (np.nan, 0.5), (3, np.nan)]:
            assert np.isnan(random.binomial(KEY, n, p))
        assert random.binomial(KEY, 7, 1.0) == 7 and random.binomial(KEY, 7, 0.0) == 0 == random.binomial(
            KEY, 0, 0.5
        )
        assert random.geometric(KEY, 1.0) == 1
        assert (random.geometric(KEY, np.array([0.0, -1.0, 1.5, np.nan])) == -1).all()
        assert random.geometric(KEY, 1e-300, dtype=np.int8) == 127
        assert np.isnan(random.truncated_normal(KEY, 1.0, 0.0)) and np.isnan(random.pareto(KEY, -1.0))
        assert np.isnan(random.truncated_normal(KEY, np.array([-41.0, 40.0]), np.array([-40.0, 41.0]))).all()
        assert np.isnan(random.t(KEY, 0.0)) and np.isnan(random.triangular(KEY, 0.0, 2.0, 1.0))
        assert random.truncated_normal(KEY, 2.0, 2.0) == 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_randint_over_the_whole_range(dtype):
    limits = np.iinfo(dtype)
    x = random.randint(KEY, (COUNT,), int(limits.min), int(limits.max) + 1, dtype)
    assert x.dtype == dtype
    scaled = (x.astype(float) - float(limits.min)) / (float(limits.max) - float(limits.min))
    if limits.bits < 16:
        assert set(x.tolist()) == set(range(limits.min, limits.max + 1))
    else:
        assert kolmogorov_smirnov(scaled, stats.uniform) > LEAST
    traced = fx.jit(lambda low, high: random.randint(KEY, (50,), low, high, dtype))
    low = np.array(limits.min, dtype)
    np.testing.assert_array_equal(
        traced(low, low + np.array(3, dtype)) - low, random.randint(KEY, (50,), 0, 3)
    )
    assert (random.randint(KEY, (5,), 3, 3, dtype) == 3).all() and (
        random.randint(KEY, (5,), 3, 2, dtype) == 3
    ).all()
    assert (
        (random.randint(KEY, (5,), 100, np.array(2**62) * 2 + 2**62, dtype) >= 0).all()
        if limits.min == 0
        else True
    )
