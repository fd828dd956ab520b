"""Order statistics, covariances and histograms: NumPy's values, and derivatives with respect to all that they are made
of."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.testing import check_grads, strategies
from tests.versions import with_new_numpy
from tests.ways import agree, same, traced

rng = np.random.default_rng(0)
V, X, Y = rng.normal(size=7), rng.normal(size=(3, 6)), rng.normal(size=(2, 6))
HOLES = np.round(rng.normal(size=(4, 3, 5)), 1)
HOLES[0, 0, 0] = HOLES[:, 1, 1] = np.nan
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
CONTINUOUS = METHODS[3:9]


def numpys(name, *args, **options):
    """NumPy's result; what it warns of is seen in the result as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(np, name)(*args, **options)


def as_numpy(name, x, *args, tolerance=1e-12, **options):
    """Check a function of x alone."""
    expected = numpys(name, x, *args, **options)
    traced(lambda x: getattr(fnp, name)(x, *args, **options), expected, x, tolerance=tolerance)
    same(fx.jit(lambda x: getattr(np, name)(x, *args, **options))(x), expected, tolerance)


# -- medians and quantiles ------------------------------------------
@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool", "complex128"])
def test_medians(name, dtype):
    holes = dtype in (
        "float64",
        "float32",
        "complex128",
    )  # a sum of NaN in half precision warns, in NumPy too
    x = (HOLES if holes else np.nan_to_num(HOLES * 3)).astype(dtype)
    for axis in (None, 0, -1, (0, 2), (0, 1, 2)):
        as_numpy(name, x, axis=axis, keepdims=axis == 0)
    as_numpy(name, x[:, 1, 1])


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_order_statistics_of_any_shape(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, max_side=4))
    values = st.sampled_from([0.0, 1, 2, 2.5, -1, np.nan])
    x, axis = data.draw(arrays(float, shape, elements=values)), data.draw(strategies.axes(shape))
    if axis == ():
        return
    keepdims, q = data.draw(st.booleans()), data.draw(st.sampled_from([0.25, [0.0, 0.3, 1.0]]))
    for prefix in ("", "nan"):
        as_numpy(prefix + "median", x, axis, keepdims=keepdims)
        method = data.draw(st.sampled_from(METHODS))
        as_numpy(prefix + "quantile", x, q, axis, method=method, keepdims=keepdims)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_methods_of_quantiles(name, method):
    """The dtype is NumPy's too: a Python number q leaves single precision as it is, and integers where it can."""
    for q in (0.3, np.array([0, 0.1, 0.25, 0.5, 0.9, 1]), 0, 1, np.float32(0.7)):
        for x in (HOLES, HOLES.astype("float32"), rng.integers(0, 9, (4, 3, 5))):
            as_numpy(name, x, q, method=method, tolerance=1e-12 if x.dtype != "float32" else 1e-6)
            as_numpy(name, x, q, 0, method=method, tolerance=1e-12 if x.dtype != "float32" else 1e-6)
    as_numpy(name.replace("quantile", "percentile"), HOLES, [10, 50.0], (0, 2), method=method, keepdims=True)
    as_numpy(name.replace("quantile", "percentile"), HOLES, 30, -1, method=method)


def test_q_may_have_two_axes_and_be_traced():
    q = np.array([[0.1, 0.5], [0.0, 1.0]])
    as_numpy("quantile", X, q, 1, keepdims=True)
    traced(lambda q: fnp.percentile(X, q, 0), np.percentile(X, 100 * q, 0), 100 * q)
    same(
        fx.vmap(fnp.quantile, (1, 0))(X, np.linspace(0, 1, 6)),
        np.diag(np.quantile(X, np.linspace(0, 1, 6), 0)),
    )


@with_new_numpy
@pytest.mark.parametrize("q", [0.3, np.array([0, 0.1, 0.5, 0.9, 1])], ids=["one", "several"])
def test_weighted_quantiles(q):
    weights = rng.integers(0, 3, HOLES.shape)
    weights[-1] = 1
    options = {"method": "inverted_cdf"}
    for name in ("quantile", "nanquantile"):
        as_numpy(name, np.nan_to_num(HOLES), q, 0, weights=weights, **options)
        as_numpy(name, HOLES[:, 0], q, weights=weights[:, 0], **options)
    as_numpy("quantile", HOLES, q, 1, weights=np.array([0, 1, 2.5]), **options)
    as_numpy("quantile", HOLES, q, (2, 0), weights=rng.random((5, 4)), **options)
    x = np.array([3.0, 1.0, 2.0])
    gradients = fx.grad(lambda *a: fnp.sum(fnp.quantile(a[0], q, weights=a[1], **options)), (0, 1))(
        x, np.ones(3)
    )
    same(gradients[0].sum(), float(np.size(q)))
    same(gradients[1], np.zeros(3))


def test_derivatives_of_order_statistics():
    agree(lambda x: fnp.median(x, 0), X)
    agree(lambda x: fnp.nanmedian(x, (0, 1)), X)
    holes = np.array([4.0, np.nan, 1.0, 2.0, np.nan])
    same(fx.grad(fnp.nanmedian)(holes), np.array([0.0, 0, 0, 1, 0]))
    same(fx.grad(fnp.nanquantile)(holes, 0.25), np.array([0.0, 0, 0.5, 0.5, 0]))
    for method in CONTINUOUS:
        agree(lambda x, q, m=method: fnp.quantile(x, q, 1, method=m), X, np.array([0.31, 0.47, 0.83]))
    for method in ("inverted_cdf", "nearest", "midpoint", "averaged_inverted_cdf"):
        agree(lambda x, m=method: fnp.quantile(x, 0.31, 1, method=m), X)
        same(fx.grad(lambda q, m=method: fnp.quantile(V, q, method=m))(0.31), 0.0)
    check_grads(lambda x, q: fnp.quantile(fnp.sin(x), q) ** 3, (V, 0.4), order=2)
    check_grads(lambda x: fnp.median(x) ** 3 + fnp.percentile(x, 80) ** 2, (X,), order=2)


def test_conventions():
    """Ties go by the sorted order; a NaN result leads to a NaN; beyond what is interpolated q has no effect."""
    same(fx.grad(fnp.median)(np.array([2.0, 2.0, 2.0])), np.array([0.0, 1.0, 0.0]))
    same(fx.grad(fnp.median)(np.array([1.0, np.nan, 2.0])), np.array([0.0, 1.0, 0.0]))
    same(fx.grad(lambda q: fnp.quantile(np.array([0.0, 1.0, 5.0]), q))(0.5), 8.0)
    same(fx.grad(lambda q: fnp.quantile(np.array([0.0, 1.0, 5.0]), q))(1.0), 0.0)
    same(fx.grad(lambda q: fnp.quantile(np.array([0.0, 1.0, 5.0]), q, method="hazen"))(0.1), 0.0)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: fnp.quantile(x, 1.5), ValueError, r"range \[0, 1\]"),
        (lambda x: fnp.percentile(x, -1), ValueError, r"range \[0, 100\]"),
        (lambda x: fnp.quantile(x, 0.5, method="best"), ValueError, "not a valid method"),
        (lambda x: fnp.quantile(x * 1j, 0.5), TypeError, "real numbers"),
        (lambda x: fnp.quantile(x, 0.5, weights=x), ValueError, "inverted_cdf"),
        (lambda x: fnp.quantile(x, 0.5, weights=x - 9, method="inverted_cdf"), ValueError, "non-negative"),
        (lambda x: fnp.quantile(x, 0.5, weights=x * 0, method="inverted_cdf"), ValueError, "all zero"),
        (lambda x: fnp.quantile(x[:0], 0.5), IndexError, "no entries"),
        (lambda x: fnp.quantile(x, np.full((1, 1, 1), 0.5)), ValueError, "scalar or 1d"),
        (lambda x: fnp.cov(x, fweights=[1.5] * 7), ValueError, "integer"),
        (lambda x: fnp.cov(x, aweights=x - 9), ValueError, "negative"),
        (lambda x: fnp.cov(x, aweights=[1.0]), ValueError, "observations"),
        (lambda x: fnp.cov(x[None, None]), ValueError, "two axes"),
        (lambda x: fnp.cov(x, ddof=0.5), ValueError, "ddof"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        fx.vjp(call, V)
    assert isinstance(caught.value, fx.FxgradError)


# -- covariances ------------------------------------------
Z = X + 1j * X[::-1] ** 2


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_covariances(name):
    for x, y in ((X, None), (X, Y), (X[0], None), (X[0], Y[1]), (Z, None), (Z, Y), (X[:0], None)):
        as_numpy(name, x, y)
    as_numpy(name, X.T, Y.T, rowvar=False)
    as_numpy(name, X, dtype=np.float32, tolerance=1e-6)
    as_numpy(name, X.astype("float32"))
    as_numpy(name, np.arange(12).reshape(3, 4) ** 2)


@pytest.mark.parametrize(
    "options",
    [
        {"bias": True},
        {"ddof": 0},
        {"ddof": 2},
        {"fweights": np.array([1, 2, 0, 3, 1, 1])},
        {"aweights": np.arange(1.0, 7)},
        {"aweights": np.arange(1.0, 7), "ddof": 2},
        {"aweights": np.arange(1.0, 7), "fweights": np.array([1, 2, 0, 3, 1, 1])},
        {"aweights": np.arange(1.0, 7), "bias": True},
    ],
)
def test_options_of_covariances(options):
    as_numpy("cov", X, Y, **options)
    as_numpy("cov", X[0], **options)
    as_numpy("cov", Z, **options)


def test_derivatives_of_covariances():
    agree(fnp.cov, X, Y)
    agree(lambda x, w: fnp.cov(x, aweights=w), X, np.arange(1.0, 7))
    agree(lambda x: fnp.corrcoef(x)[0, 1:], X)
    check_grads(lambda x, y: fnp.sum(fnp.sin(fnp.corrcoef(x, y))[0]), (X[0], Y), order=2)
    check_grads(lambda x: fnp.linalg.det(fnp.cov(x)), (X,), order=2)


def test_correlation_with_a_constant_is_nan_and_warns_of_nothing():
    x = X.copy()
    x[1] = 2
    as_numpy("corrcoef", x)
    as_numpy("corrcoef", x[1])
    slope = fx.grad(lambda x: fnp.corrcoef(x)[0, 2])(x)
    same(slope[[0, 2]], fx.grad(lambda x: fnp.corrcoef(x)[0, 1])(x[[0, 2]]))
    assert np.isnan(fx.grad(lambda x: fnp.corrcoef(x)[0, 1])(x)[:2]).all()


# -- counts ------------------------------------------
INTEGERS = rng.integers(0, 7, 20)


def test_bincount():
    weights = rng.normal(size=20)
    same(fx.vjp(lambda w: fnp.bincount(INTEGERS, w), weights)[0], np.bincount(INTEGERS, weights))
    same(fx.vjp(lambda x: fnp.bincount(x, minlength=9), INTEGERS)[0], np.bincount(INTEGERS, minlength=9))
    traced(lambda x, w: fnp.bincount(x, w, length=7), np.bincount(INTEGERS, weights), INTEGERS, weights)
    for length in (0, 3, 9):
        expected = np.bincount(INTEGERS, minlength=9)[:length]
        traced(lambda x, n=length: fnp.bincount(x, length=n), expected, INTEGERS)
        same(fnp.bincount(INTEGERS, length=length), expected)
    agree(lambda w: fnp.bincount(INTEGERS, w, 10), weights)
    same(fx.jit(lambda x: fnp.bincount(x, length=3))(np.array([-1, 2])), np.array([0, 0, 1]))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: fnp.bincount(x), fx.ConcretizationError, "length=n"),
        (lambda x: fnp.bincount(x + 0.5, length=3), TypeError, "integers"),
        (lambda x: fnp.bincount(x[None], length=3), ValueError, "one axis"),
        (lambda x: fnp.bincount(x, x[:2], length=3), ValueError, "same length"),
        (lambda x: fnp.bincount(x, x * 1j, length=3), TypeError, "complex"),
        (lambda x: fnp.histogram(x, "auto"), fx.ConcretizationError, "bins=n"),
        (lambda x: fnp.histogram(x, x[0]), fx.ConcretizationError, "number of bins"),
        (lambda x: fnp.histogram(x, 0), ValueError, "positive"),
        (lambda x: fnp.histogram(x, 1.5), TypeError, "integer"),
        (lambda x: fnp.histogram(x, [[1]]), ValueError, "1d"),
        (lambda x: fnp.histogram(x, [1, 0]), ValueError, "monotonically"),
        (lambda x: fnp.histogram(x, 3, (1, 0)), ValueError, "max must be larger"),
        (lambda x: fnp.histogram(x, 3, (0, np.inf)), ValueError, "finite"),
        (lambda x: fnp.histogram(x * 1j, 3), TypeError, "complex"),
        (lambda x: fnp.histogram(x, weights=x[:1]), ValueError, "same shape"),
        (lambda x: fnp.histogramdd([x, x], [1, 2, 3]), ValueError, "axes"),
        (lambda x: fnp.histogram2d(x, x[:1]), ValueError, "same length"),
    ],
)
def test_what_cannot_be_counted(call, error, message):
    for transform in (fx.jit, lambda f: lambda x: fx.vmap(f)(x[None])):
        with pytest.raises(error, match=message):
            transform(call)(INTEGERS)


def test_values_are_checked_where_they_are_known():
    with pytest.raises(ValueError, match="negative"):
        fx.vjp(lambda w: fnp.bincount([-1, 2], w), np.ones(2))
    with pytest.raises(ValueError, match="not finite"):
        fx.vjp(fnp.histogram, np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="Too many bins"):
        fx.vjp(fnp.histogram, np.array([1.0, 1.0 + 1e-15]))


DATA = rng.normal(size=50)
EDGES = [
    {},
    {"bins": 7},
    {"bins": np.array([-1, 0, 0.5, 2.0])},
    {"bins": 5, "range": (-1, 1)},
    {"range": (0.0, 0.0)},
    {"density": True},
    {"bins": [0, 0, 1, 1.0]},
    {"bins": [0]},
]


@pytest.mark.parametrize("options", EDGES, ids=str)
def test_histograms(options):
    several = [
        DATA,
        np.round(DATA),
        (3 * DATA).astype(int),
        DATA.astype("float32"),
        DATA.reshape(5, 10),
        np.ones(3),
    ]
    if "density" not in options:
        several.append(DATA[:0])
    if "range" in options or np.ndim(options.get("bins", 1)):
        several.append(np.append(DATA, np.nan))
    for x in several:
        tolerance = 1e-6 if x.dtype == "float32" else 1e-12
        as_numpy("histogram", x, tolerance=tolerance, **options)
        if "density" not in options:
            as_numpy("histogram_bin_edges", x, tolerance=tolerance, **options)
        weights = rng.random(x.shape)
        if x.size:
            expected = np.histogram(x, weights=weights, **options)
            traced(
                lambda x, w: fnp.histogram(x, weights=w, **options), expected, x, weights, tolerance=tolerance
            )


@given(arrays(float, st.integers(1, 9), elements=st.sampled_from(np.arange(9) / 8)), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_values_on_edges(x, bins):
    traced(lambda x: fnp.histogram(x, bins), np.histogram(x, bins), x)
    traced(lambda x: fnp.histogram(x, bins, (0, 1)), np.histogram(x, bins, (0, 1)), x)


def test_single_precision_is_added_in_double():
    weights = np.full(300_000, 0.1, "float32")
    counts, _ = fx.jit(lambda w: fnp.histogram(np.zeros(w.shape), 1, weights=w))(weights)
    same(counts, np.histogram(np.zeros(weights.shape), 1, weights=weights)[0])


@pytest.mark.parametrize("bins", ["auto", "sturges", "fd"])
def test_estimated_numbers_of_bins(bins):
    same(fx.vjp(lambda x: fnp.histogram(x, bins), DATA)[0], np.histogram(DATA, bins))
    same(fx.jvp(lambda x: fnp.histogram_bin_edges(x, bins, (-1, 1)), (DATA,), (DATA,))[0],
         np.histogram_bin_edges(DATA, bins, (-1, 1)))  # fmt: skip


def test_histograms_of_points():
    points, weights = rng.normal(size=(40, 3)), rng.random(40)
    edges = np.array([-1, 0, 0.5, 1])
    as_numpy("histogramdd", points)
    as_numpy("histogramdd", points, (2, 3, 4))
    as_numpy("histogramdd", points, [3, edges, 4], density=True)
    as_numpy("histogramdd", points, 3, ((-1, 1), None, (0, 2)), weights=weights)
    x, y = points.T[:2]
    for options in ({}, {"bins": edges}, {"bins": [3, edges], "density": True}, {"range": [[-1, 1], [0, 1]]}):
        expected = np.histogram2d(x, y, **options)
        traced(lambda x, y, o=options: fnp.histogram2d(x, y, **o), expected, x, y)
    traced(lambda *xs: fnp.histogramdd(xs, 3), np.histogramdd(points, 3), *points.T)


def test_deviations_of_one_entry():
    """It is its own mean: the deviation is 0 wherever the entry is, and so is every derivative."""
    mask = np.array([[True, True], [False, True], [False, True]])
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    lone = [
        (lambda x: fnp.sum(fnp.std(x, axis=0)), x[:1]),
        (lambda x: fnp.std(x, axis=0, where=mask)[0], x),
        (lambda x: fnp.std(x, axis=0, ddof=0.5, where=mask, keepdims=True)[0, 0], x),
        (lambda x: fnp.nanstd(x, axis=0)[0], np.where(mask, x, np.nan)),
    ]
    for f, x in lone:
        for derivative in (
            fx.grad,
            fx.hessian,
            lambda f: fx.jacfwd(fx.jacfwd(f)),
            lambda f: fx.jacrev(fx.jacrev(f)),
        ):
            np.testing.assert_array_equal(derivative(f)(x), 0.0)
    agree(lambda x: fnp.std(x, axis=0, where=mask), x)
    check_grads(lambda x: fnp.nanstd(x, axis=0)[1], (np.where(mask, x, 0.3),))
    for ddof in (0, 0.5, 1, 2):
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            expected = np.std(x, axis=0, where=mask, ddof=ddof)
            np.testing.assert_allclose(
                fx.jit(lambda x, d=ddof: fnp.std(x, axis=0, where=mask, ddof=d))(x), expected, 1e-15
            )
    with np.errstate(all="ignore"):
        assert np.isnan(fx.grad(lambda x: fnp.std(x, ddof=1))(np.ones(1)))  # which has no value


def test_derivatives_of_histograms():
    agree(lambda w: fnp.histogram(DATA, 5, weights=w, density=True), rng.random(50))
    agree(lambda w: fnp.histogram2d(DATA[:20], DATA[20:40], 3, weights=w)[0], rng.random(20))
    agree(lambda x: fnp.histogram_bin_edges(x, 4), DATA)
    edges = fx.jacobian(lambda x: fnp.histogram(x, 2)[1])(np.array([5.0, 1.0, 2.0]))
    same(edges, np.array([[0, 1, 0], [0.5, 0.5, 0], [1, 0, 0]]))


def test_no_mask():
    """`where=None` is no mask, as in JAX; to NumPy it is False."""
    x = np.array([1.0, 2.0, 4.0])
    for f in (fnp.sum, fnp.mean, fnp.std, fnp.prod, fnp.max, fnp.any):
        assert f(x, where=None) == f(x) == fx.jit(lambda x, f=f: f(x, where=None))(x)
