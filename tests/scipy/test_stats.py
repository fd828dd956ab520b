"""Distributions: values against SciPy, derivatives against differences, edges, invalid parameters, errors."""

import pickle

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.scipy import stats

CONTINUOUS = {
    "norm": [()], "halfnorm": [()], "lognorm": [(0.7,)], "skewnorm": [(1.5,)], "johnsonsu": [(1.0, 2.0)],
    "truncnorm": [(-1.0, 2.0), (1.0, 3.0), (-4.0, -2.0), (-np.inf, 1.0), (5.0, 9.0)], "johnsonsb": [(0.5, 1.5)],
    "expon": [()], "weibull_min": [(1.7,), (0.6,)], "invweibull": [(5.5,)], "rayleigh": [()], "pareto": [(5.5,)],
    "lomax": [(5.5,)], "powerlaw": [(1.6,)], "gumbel_l": [()], "gumbel_r": [()], "laplace": [()], "uniform": [()],
    "loguniform": [(0.5, 3.0)], "triang": [(0.3,), (0.0,), (1.0,)], "logistic": [()], "fisk": [(6.1,)],
    "cauchy": [()], "halfcauchy": [()], "hypsecant": [()], "halflogistic": [()], "gamma": [(2.3,), (0.4,)],
    "erlang": [(3.0,)], "chi2": [(3.0,), (1.0,)], "chi": [(3.0,)], "maxwell": [()], "nakagami": [(1.4,)],
    "invgamma": [(5.2,)], "gengamma": [(2.0, 1.5), (6.0, -1.2)], "loggamma": [(1.3,)], "levy": [()],
    "gennorm": [(1.4,), (0.7,)], "beta": [(2.0, 3.0), (0.5, 0.7)], "arcsine": [()], "betaprime": [(2.0, 5.5)],
    "f": [(3.0, 10.0)], "t": [(5.0,), (1.0,), (np.inf,)], "vonmises": [(2.0,), (0.1,)], "vonmises_line": [(2.0,)],
    "wrapcauchy": [(0.4,)],
}  # fmt: skip
DISCRETE = {
    "binom": [(7, 0.3), (7, 0.0), (0, 0.5)], "bernoulli": [(0.3,)], "poisson": [(2.6,), (0.0,)],
    "geom": [(0.3,)], "nbinom": [(4.5, 0.4)], "betabinom": [(6, 1.5, 2.5)], "hypergeom": [(20, 7, 12)],
    "randint": [(-2, 5)], "zipf": [(6.5,)], "dlaplace": [(0.8,)],
}  # fmt: skip
LAWS = [
    (name, shapes)
    for table in (CONTINUOUS, DISCRETE)
    for name, all_shapes in table.items()
    for shapes in all_shapes
]
WHOLE = {
    "binom": {1},
    "betabinom": {1},
    "hypergeom": {1, 2, 3},
    "randint": {1, 2},
}  # parameters that are counts
# Quantities for which no closed form is known, which SciPy integrates.
OPEN = {
    "skewnorm": {"entropy"}, "johnsonsu": {"entropy"}, "johnsonsb": {"entropy", "stats"}, "nbinom": {"entropy"},
    "zipf": {"entropy"}, "vonmises": {"stats"}, "vonmises_line": {"stats"}, "wrapcauchy": {"stats"},
}  # fmt: skip


def close(ours, theirs, rtol=1e-9, atol=1e-13):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def points(name, args):
    """Points in the support, at its ends, and outside."""
    law = getattr(scipy.stats, name)
    inside = law.ppf([0.001, 0.1, 0.3, 0.5, 0.8, 0.99, 0.999999], *args)
    return np.unique(np.r_[inside, -50.0, -1.0, 0.0, 1.0, 3.0])


@pytest.mark.parametrize(("name", "shapes"), LAWS, ids=str)
@pytest.mark.filterwarnings("ignore")  # SciPy's
def test_values_are_scipys(name, shapes):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    discrete = name in DISCRETE
    for args in (shapes, (*shapes, 2) if discrete else (*shapes, 0.5, 2.0)):
        x = points(name, args)
        densities = ("pmf", "logpmf") if discrete else ("pdf", "logpdf")
        for method in (*densities, "cdf", "sf", "logcdf", "logsf"):
            expected = getattr(theirs, method)(np.r_[x, np.nan], *args)
            found = getattr(ours, method)(np.r_[x, np.nan], *args)
            lost = np.isneginf(expected) & np.isfinite(found)  # where SciPy's logarithm underflows
            close(np.where(lost, expected, found), expected)
        q = np.array([1e-3, 0.1, 0.3, 0.5, 0.77, 0.9, 1 - 1e-6, 0.0, 1.0, -0.1, 1.1, np.nan])
        for method in ("ppf", "isf"):
            close(getattr(ours, method)(q, *args), getattr(theirs, method)(q, *args), 1e-7, 1e-9)
        close(ours.support(*args), theirs.support(*args))
        close(ours.median(*args), theirs.median(*args), 1e-7, 1e-9)
        close(ours.interval(0.9, *args), theirs.interval(0.9, *args), 1e-7, 1e-9)
        if "entropy" not in OPEN.get(name, ()) and not (name == "truncnorm" and np.isinf(shapes[0])):
            close(ours.entropy(*args), theirs.entropy(*args), 1e-7, 1e-9)
        if "stats" not in OPEN.get(name, ()):
            known = "mv" if 0 in shapes else "mvsk"  # which are quotients of zeros where there is no variance
            close(ours.stats(*args, moments=known), theirs.stats(*args, moments=known), 1e-6, 1e-7)
            close(ours.std(*args), theirs.std(*args), 1e-7, 1e-9)


@pytest.mark.parametrize(("name", "shapes"), LAWS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_parameters_at_the_ends_of_their_range_are_allowed_or_nan_as_scipys(name, shapes):
    for i in range(len(shapes)):
        for end in (-1.0, 0.0, 1.0):
            args = (*shapes[:i], end, *shapes[i + 1 :])
            allowed = ~np.isnan(getattr(scipy.stats, name).support(*args)[0])
            assert np.isnan(getattr(stats, name).support(*args)[0]) == ~allowed, args
            assert allowed or np.isnan(getattr(stats, name).cdf(0.5, *args)), args


def varied_arguments(name, count):
    """The positions of arguments after the first that may be any numbers."""
    return [i for i in range(1, count) if i not in WHOLE.get(name, ())]


def difference(function, arguments, i):
    """The derivative along an argument, by differences of fourth order."""
    step = 2e-3 * max(abs(arguments[i]), 0.1)
    at = [function(*arguments[:i], arguments[i] + k * step, *arguments[i + 1 :]) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)


@pytest.mark.parametrize(("name", "shapes"), [law for law in LAWS if np.all(np.isfinite(law[1]))], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_derivatives_are_those_of_differences_of_scipys_values(name, shapes):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    if shapes in ((7, 0.0), (0, 0.5), (0.0,), (1.0,)):
        return  # at an end of the parameters
    discrete = name in DISCRETE
    args = shapes if discrete else (*shapes, 0.3, 1.7)
    x = float(theirs.ppf(0.37, *args))
    for method in ("logpmf", "cdf") if discrete else ("logpdf", "cdf", "ppf"):
        arguments = (0.37 if method == "ppf" else x, *args)
        varied = [*([] if discrete else [0]), *varied_arguments(name, len(arguments))]
        if not varied:
            continue
        found = fx.grad(getattr(ours, method), argnums=tuple(varied))(*map(float, arguments))
        measured = [difference(getattr(theirs, method), arguments, i) for i in varied]
        close(found, measured, 1e-5, 1e-6)


@pytest.mark.parametrize(("name", "shapes"), [("norm", ()), ("gamma", (2.3,)), ("t", (5.0,)), ("truncnorm", (1.0, 3.0)),
    ("gennorm", (1.4,)), ("johnsonsb", (0.5, 1.5))], ids=str)  # fmt: skip
def test_second_derivatives_of_densities_and_quantiles_are_those_of_differences(name, shapes):
    law = getattr(stats, name)
    args = (*shapes, 0.3, 1.7)
    for method, first in (
        ("logpdf", float(law.ppf(0.37, *args))),
        ("logsf", float(law.ppf(0.6, *args))),
        ("ppf", 0.37),
    ):
        arguments, every = (first, *args), tuple(range(len(args) + 1))
        slopes = fx.grad(getattr(law, method), argnums=every)
        direction = tuple(1.0 + 0.3 * i for i in every)
        found = fx.jvp(slopes, arguments, direction)[1]
        ahead, behind = (
            np.array(slopes(*(v + s * t for v, t in zip(arguments, direction)))) for s in (1e-5, -1e-5)
        )
        close(found, (ahead - behind) / 2e-5, 1e-5, 1e-6)


positive = st.floats(0.05, 50.0)


@settings(max_examples=10, deadline=None)
@given(positive, positive, st.floats(-5.0, 5.0), st.floats(0.1, 10.0), st.floats(0.01, 0.99))
@pytest.mark.filterwarnings("ignore")
def test_parameters_and_points_are_arbitrary(a, b, loc, scale, q):
    for name, shapes in {
        "gamma": (a,), "beta": (a, b), "t": (a,), "f": (a, b), "weibull_min": (a,), "norm": (), "truncnorm": (-a, b),
        "invgamma": (a,), "pareto": (a,), "gennorm": (a,),
    }.items():  # fmt: skip
        ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
        args = (*shapes, loc, scale)
        z = theirs.ppf(q, *shapes)
        x = loc + scale * z
        if not np.isfinite(x) or abs(z) > 1e6 or abs(z) < 1e-6:
            continue
        close(ours.logpdf(x, *args), theirs.logpdf(x, *args), 1e-8, 1e-8)
        close(ours.cdf(x, *args), theirs.cdf(x, *args), 1e-8, 1e-12)
        close(ours.ppf(q, *args), x, 1e-7, 1e-7)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_outside_the_support_are_zero(name):
    law, shapes = getattr(stats, name), CONTINUOUS[name][0]
    for end, step in zip(law.support(*shapes), (-1.5, 1.5)):
        if np.isfinite(end):
            arguments = (float(end) + step, *map(float, shapes), 0.0, 1.0)
            every = tuple(range(len(arguments)))
            for method in ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"):
                assert not np.any(fx.grad(getattr(law, method), argnums=every)(*arguments)), method


@pytest.mark.parametrize(
    ("name", "args"),
    [("norm", (0.0, -1.0)), ("gamma", (-1.0,)), ("beta", (1.0, 0.0)), ("binom", (3, 1.5)), ("binom", (2.5, 0.5)),
     ("truncnorm", (1.0, 0.0)), ("poisson", (-1.0,)), ("t", (np.nan,)), ("norm", (np.nan, 1.0))],
)  # fmt: skip
def test_what_are_no_parameters_gives_nan(name, args):
    law = getattr(stats, name)
    for method in ("cdf", "sf", "ppf", "logsf", "pmf" if name in DISCRETE else "logpdf"):
        assert np.isnan(getattr(law, method)(0.5, *args)), method
    assert np.isnan(law.mean(*args))


def test_far_tails_do_not_underflow():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 40
    for x, a in ((2000.0, 2.0), (2000.0, 300.0), (14000.0, 1e4)):
        exact = mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True))
        close(stats.gamma.logsf(x, a), float(exact), 1e-12)
        slope = -mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a) - exact)
        close(fx.grad(stats.gamma.logsf)(x, a), float(slope), 1e-10)
    for x in (-3.0, -1.0, -0.2):
        whole = 2 * mpmath.pi * mpmath.besseli(0, 300)
        exact = (
            mpmath.quad(lambda u: mpmath.exp(300 * mpmath.cos(u)), mpmath.linspace(-mpmath.pi, x, 12)) / whole
        )
        close(stats.vonmises.cdf(x, 300.0), float(exact), 1e-12)
    close(stats.norm.logcdf(-40.0), float(mpmath.log(mpmath.ncdf(-40))), 1e-14)
    low, high = (mpmath.ncdf(-end) for end in (5, 9))
    x = mpmath.mpf(float(stats.truncnorm.isf(1e-12, 5.0, 9.0)))
    close(float((mpmath.ncdf(-x) - high) / (low - high)), 1e-12, 1e-9)


def test_every_argument_can_be_mapped():
    x, a, loc, scale = np.array([0.5, 1.5]), np.array([2.0, 3.0]), np.array([0.0, 0.1]), np.array([1.0, 2.0])
    for axes in ((0, None, None, None), (None, 0, None, None), (None, None, 0, 0), (0, 0, 0, 0)):
        given = [v if axis == 0 else v[0] for v, axis in zip((x, a, loc, scale), axes)]
        for method in ("logpdf", "cdf", "ppf"):
            first = given[0] / 2 if method == "ppf" else given[0]
            function = getattr(stats.gamma, method)
            close(fx.vmap(function, in_axes=axes)(first, *given[1:]), function(first, *given[1:]), 1e-12)
    q, p = np.array([0.2, 0.9]), np.array([0.3, 0.6])
    close(fx.vmap(stats.binom.ppf, in_axes=(0, None, 0))(q, 9, p), scipy.stats.binom.ppf(q, 9, p))
    close(fx.vmap(stats.johnsonsb.ppf, in_axes=(0, 0, None))(q, p, 1.0), scipy.stats.johnsonsb.ppf(q, p, 1.0))


def test_jit_and_both_modes_agree():
    def program(p):
        return fnp.sum(stats.beta(p[0], p[1], scale=p[2]).logpdf(np.array([0.1, 0.4])))

    p = np.array([2.0, 3.0, 1.5])
    close(fx.jit(fx.grad(program))(p), fx.grad(program)(p), 1e-12)
    close(fx.jacfwd(program)(p), fx.grad(program)(p), 1e-12)
    close(fx.jit(stats.nbinom.ppf)(0.7, 4.5, 0.4), scipy.stats.nbinom.ppf(0.7, 4.5, 0.4))
    close(
        fx.jit(fx.grad(stats.skewnorm.ppf, argnums=(0, 1)))(0.7, 2.0),
        fx.grad(stats.skewnorm.ppf, argnums=(0, 1))(0.7, 2.0),
    )


def test_dtypes_shapes_and_empty_arrays():
    single = np.float32([0.5, 1.0])
    for result in (
        stats.norm.logpdf(single, 0, 2.0),
        stats.gamma.cdf(single, np.float32(2)),
        stats.t.ppf(single / 2, 3),
    ):
        assert result.dtype == np.float32
    assert stats.norm.pdf(np.float16([1.0])).dtype == np.float16
    assert stats.poisson.pmf([1, 2], 3).dtype == float
    assert isinstance(stats.norm.pdf(0.0), np.float64)
    for empty in (stats.gamma.ppf(np.zeros((0, 3)), 2.0), stats.beta.logpdf(np.zeros((0, 3)), 2.0, 1.0)):
        assert empty.shape == (0, 3)
    assert (
        stats.binom.ppf(np.zeros(0), 3, 0.5).shape
        == stats.betabinom.cdf(np.zeros(0), 3, 1.0, 2.0).shape
        == (0,)
    )
    assert stats.norm.logpdf(np.zeros((3, 1)), np.zeros(4), np.ones((2, 1, 1))).shape == (2, 3, 4)
    assert stats.norm.mean(np.zeros(3), 2.0).shape == (3,)


def test_frozen_distributions_have_the_methods_of_theirs():
    frozen = stats.gamma(2.0, scale=3.0)
    close(frozen.logpdf(1.0), stats.gamma.logpdf(1.0, 2.0, scale=3.0))
    close(
        [frozen.mean(), frozen.var(), *frozen.interval(0.5)],
        [6.0, 18.0, *stats.gamma.interval(0.5, 2.0, scale=3.0)],
    )
    close(frozen.moment(3), scipy.stats.gamma(2.0, scale=3.0).moment(3))
    assert repr(frozen) == "gamma(2.0, scale=3.0)" and "logpdf" in dir(frozen)
    close(pickle.loads(pickle.dumps(frozen)).sf(1.0), frozen.sf(1.0))


def test_random_numbers_are_those_of_the_distribution():
    key = fx.random.key(0)
    for name, shapes in (
        ("gamma", (2.0,)),
        ("t", (5.0,)),
        ("vonmises", (2.0,)),
        ("poisson", (3.0,)),
        ("betabinom", (6, 1.0, 2.0)),
    ):
        law = getattr(stats, name)
        drawn = law.rvs(*shapes, loc=1, size=2000, random_state=key)
        for x in law.ppf([0.2, 0.7], *shapes) + 1:
            assert abs(np.mean(drawn <= x) - law.cdf(x, *shapes, loc=1)) < 0.04, name
    slope = fx.grad(lambda c: fnp.sum(stats.weibull_min.rvs(c, size=5, random_state=key)))(2.0)
    step = [stats.weibull_min.rvs(c, size=5, random_state=key).sum() for c in (2 + 1e-6, 2 - 1e-6)]
    close(slope, (step[0] - step[1]) / 2e-6, 1e-6)


@pytest.mark.parametrize("law, args", LAWS)
def test_without_a_key_numbers_are_scipys_outside_of_transforms(law, args):
    unplaced = law in ("vonmises_line", "wrapcauchy")
    for options in ({"size": 3} if unplaced else {"size": (2, 3), "loc": 2}, {}):
        np.random.seed(0)
        expected = getattr(scipy.stats, law).rvs(*args, **{"size": (), **options})
        np.random.seed(0)
        found = getattr(stats, law)(*args).rvs(**options)
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.float64
        for make in (
            lambda: 7,
            lambda: np.int64(7),
            lambda: np.random.default_rng(7),
            lambda: np.random.RandomState(7),
        ):
            expected = getattr(scipy.stats, law).rvs(*args, **{"size": (), **options}, random_state=make())
            found = getattr(stats, law)(*args).rvs(**options, random_state=make())
            np.testing.assert_array_equal(found, expected)
    for transform in (fx.jit, fx.grad, fx.vmap):
        with pytest.raises(TypeError, match=r"which need a key(.|\n)*random_state=fx.random.key"):
            transform(lambda x: getattr(stats, law).rvs(*args) + x.sum())(np.ones(3))


def test_without_a_key_other_draws_are_of_numpys_generator():
    class Ramp(stats.rv_continuous):
        def _logpdf(self, x):
            return fnp.log(2 * x)

        def _cdf(self, x):
            return x**2

    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    estimate = stats.gaussian_kde(np.array([[1.0, 2.0, 4.0]]))
    draws = (
        lambda key=None: Ramp(a=0.0, b=1.0).rvs(size=3, random_state=key),
        lambda key=None: estimate.resample(4, seed=key),
        lambda key=None: stats.multivariate_normal.rvs([1.0, 2.0], cov, size=4, random_state=key),
        lambda key=None: stats.dirichlet.rvs([1.0, 2.0], size=4, random_state=key),
        lambda key=None: stats.multivariate_normal.rvs(random_state=key),
    )
    for draw in draws:
        for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
            np.testing.assert_array_equal(draw(make()), draw(make()))
        np.random.seed(0)
        first, second = draw(), draw()
        np.random.seed(0)
        np.testing.assert_array_equal(draw(), first)
        assert (first != second).all()
        with pytest.raises(TypeError, match="which need a key"):
            fx.jit(draw)()
    np.random.seed(0)
    expected = scipy.stats.multivariate_normal.rvs([1.0, 2.0], cov, size=4)
    np.random.seed(0)
    np.testing.assert_array_equal(stats.multivariate_normal.rvs([1.0, 2.0], cov, size=4), expected)


def test_a_distribution_of_the_users_own_needs_a_density_and_a_distribution_function():
    class Ramp(stats.rv_continuous):
        def _logpdf(self, x, slope):
            return fnp.log(slope) + (slope - 1) * fnp.log(x)

        def _cdf(self, x, slope):
            return x**slope

    ramp = Ramp(a=0.0, b=1.0)
    assert ramp.shapes == ("slope",)
    close(ramp.ppf(0.25, 2.0), 0.5)
    fx.testing.check_grads(lambda q, s: ramp.ppf(q, s) + ramp.isf(q, s), (0.3, 1.7))

    class Two(stats.rv_discrete):
        def _pmf(self, k, p):
            return fnp.where(k == 0, 1 - p, p)

    two = Two(a=0, b=1)
    close(
        [two.cdf(0, 0.3), two.sf(0, 0.3), two.ppf(0.8, 0.3), two.entropy(0.3)],
        [0.7, 0.3, 1, scipy.stats.bernoulli.entropy(0.3)],
    )


def test_errors_are_those_that_scipy_raises_with_the_users_line():
    for call in (
        lambda: stats.gamma.pdf(1.0),
        lambda: stats.norm.pdf(1.0, 2, 3, 4),
        lambda: stats.norm.pdf(1.0, scal=2),
        lambda: stats.norm.pdf(1.0, 2, loc=2),
        lambda: stats.norm.pdf(1j),
        lambda: fx.jit(lambda: stats.norm.rvs(size=2))(),
    ):
        with pytest.raises(TypeError, match=r"test_stats\.py"):
            call()
    with pytest.raises(ValueError, match=r"norm: arguments of shapes \(4,\), \(3,\) do not broadcast"):
        fx.grad(lambda x: stats.norm.pdf(x, np.zeros(4)).sum())(np.zeros(3))
    with pytest.raises(ValueError, match="mvsk"):
        stats.norm.stats(moments="x")
    with pytest.raises(NotImplementedError, match="johnsonsb"):
        stats.johnsonsb.mean(1.0, 2.0)
    with pytest.raises(fx.ConcretizationError, match="constants"):
        fx.jit(lambda n: stats.betabinom.cdf(1, n, 1.0, 2.0))(3.0)


def test_scipys_own_functions_say_what_to_write_instead():
    for transform, function in (
        (fx.jit, scipy.stats.norm.logpdf),
        (fx.grad, lambda x: scipy.stats.multivariate_normal.logpdf(x, np.zeros(3))),
    ):
        with pytest.raises(TypeError, match=r"test_stats\.py(.|\n)*try: fx\.scipy\.stats"):
            transform(function)(np.ones(3))


def test_scipys_own_words_are_followed_by_ours():
    """From SciPy 1.18 on, a density estimate refuses what holds traced values before it asks these for numbers."""
    with pytest.raises((TypeError, ValueError)) as raised:
        fx.grad(lambda x: scipy.stats.gaussian_kde(x)(0.0)[0])(np.ones(3))
    assert "fx.scipy.stats.gaussian_kde" in "\n".join(
        [str(raised.value), *getattr(raised.value, "__notes__", [])]
    )
