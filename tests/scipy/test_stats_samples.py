"""Statistics of samples, kernel densities, distributions of vectors and clusters: values against SciPy, derivatives."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.stats

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.scipy import stats
from fxgrad.scipy.cluster import vq

rng = np.random.default_rng(0)
X = np.abs(rng.normal(size=(7, 4))) + 0.1
COUNTS = rng.integers(0, 4, size=(6, 5))
STATISTICS = (
    "gmean", "hmean", "skew", "kurtosis", "variation", "sem", "zscore", "iqr", "median_abs_deviation", "entropy",
)  # fmt: skip


def close(ours, theirs):
    """Compare results, or tuples of them: numbers and shapes."""
    for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (ours, theirs)), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_scipys_along_every_axis_and_differentiable(name):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    for axis in (0, 1, -1, None):
        if axis is not None or name != "entropy":
            close(ours(X, axis=axis), theirs(X, axis=axis))
    close(fx.vmap(ours)(X), theirs(X, axis=1))
    weights = np.arange(1.0, 8.0)[:, None]
    fx.testing.check_grads(lambda x: fnp.sum(weights * ours(x)), (X,), order=1)
    assert ours(X.astype(np.float32)).dtype == np.float32


def test_options_of_statistics():
    for options in ({"bias": False}, {"keepdims": True}, {"axis": None, "keepdims": True}):
        close(stats.skew(X, **options), scipy.stats.skew(X, **options))
        close(stats.kurtosis(X, **options), scipy.stats.kurtosis(X, **options))
    for p in (3.0, 0.0, -1.0):
        close(stats.pmean(X, p), scipy.stats.pmean(X, p))
    close(stats.gmean(X, weights=X), scipy.stats.gmean(X, weights=X))
    close(stats.moment(X, [0, 1, 2, 3]), scipy.stats.moment(X, [0, 1, 2, 3]))
    close(stats.moment(X, 3, center=1.0), scipy.stats.moment(X, 3, center=1.0))
    close(stats.zmap(X, X[:3]), scipy.stats.zmap(X, X[:3]))
    close(stats.trim_mean(X, 0.2), scipy.stats.trim_mean(X, 0.2))
    close(stats.entropy(X, X[::-1], base=2), scipy.stats.entropy(X, X[::-1], base=2))
    close(stats.iqr(X, scale="normal"), scipy.stats.iqr(X, scale="normal"))
    close(stats.median_abs_deviation(X, scale="normal"), scipy.stats.median_abs_deviation(X, scale="normal"))
    assert np.isnan(stats.skew(np.ones(4))) and np.isnan(stats.zscore(np.ones(2))).all()
    with pytest.raises(ValueError, match="leaves nothing"):
        stats.trim_mean(X, 0.6)
    with pytest.raises(NotImplementedError, match="omit"):
        stats.sem(X, nan_policy="omit")


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_are_scipys(method):
    for axis in (None, 0, 1):
        ours, theirs = (
            stats.rankdata(COUNTS, method, axis=axis),
            scipy.stats.rankdata(COUNTS, method, axis=axis),
        )
        close(ours, theirs)
        assert ours.dtype == np.float64
    for dtype in ("float32", "float64", "int8", "bool"):  # those of SciPy from 1.18 on
        assert stats.rankdata(COUNTS.astype(dtype), method).dtype == np.result_type(dtype, 1.0)
    missing = [1.0, np.nan, 2.0]
    close(stats.rankdata(missing, method), scipy.stats.rankdata(missing, method))
    close(
        fx.vmap(lambda row: stats.rankdata(row, method))(COUNTS), scipy.stats.rankdata(COUNTS, method, axis=1)
    )
    assert stats.rankdata(np.zeros((0, 2)), method, axis=0).shape == (0, 2)
    assert not fx.grad(lambda x: fnp.sum(stats.rankdata(x, method)))(X).any()


def test_the_most_common_value_is_scipys():
    for axis in (0, 1, None):
        for keepdims in (False, True):
            ours, theirs = (s.mode(COUNTS, axis=axis, keepdims=keepdims) for s in (stats, scipy.stats))
            close(tuple(ours), tuple(theirs))
    for row in ([1.0, np.nan, np.nan], [1.0, 1.0, np.nan], [2.5]):
        close(tuple(stats.mode(row)), tuple(scipy.stats.mode(row)))
    close(tuple(fx.jit(stats.mode)(COUNTS)), tuple(scipy.stats.mode(COUNTS)))


def test_correlations_and_lines_are_scipys():
    x, y = rng.normal(size=(2, 9))
    y += x
    for name in ("pearsonr", "spearmanr"):
        theirs = getattr(scipy.stats, name)(x, y)
        close(tuple(getattr(stats, name)(x, y)), (theirs.statistic, theirs.pvalue))
    line = scipy.stats.linregress(x, y)
    close(tuple(stats.linregress(x, y)), (*line, line.intercept_stderr))
    fx.testing.check_grads(
        lambda x, y: sum(stats.pearsonr(x, y)) + sum(stats.linregress(x, y)), (x, y), order=1
    )
    with pytest.raises(ValueError, match="same length"):
        stats.pearsonr(x, y[:3])


@pytest.mark.parametrize("shape", [(12,), (2, 12)])
def test_kernel_densities_are_scipys(shape):
    sample, weights = rng.normal(size=shape), np.abs(rng.normal(size=12)) + 0.1
    d = len(np.atleast_2d(sample))
    points = rng.normal(size=(*shape[:-1], 5))
    for bandwidth, w in (
        (None, None),
        ("silverman", weights),
        (0.4, weights),
        (lambda kde: kde.neff**-0.5, None),
    ):
        ours, theirs = (s.gaussian_kde(sample, bandwidth, w) for s in (stats, scipy.stats))
        close(ours(points), theirs(points))
        close(ours.logpdf(points), theirs.logpdf(points))
        close((ours.covariance, ours.inv_cov, ours.neff), (theirs.covariance, theirs.inv_cov, theirs.neff))
        close(
            ours.integrate_gaussian(np.ones(d), np.eye(d)), theirs.integrate_gaussian(np.ones(d), np.eye(d))
        )
        close(ours.integrate_kde(ours), theirs.integrate_kde(theirs))
    if d == 1:
        close(ours.integrate_box_1d(-1.0, 0.5), theirs.integrate_box_1d(-1.0, 0.5))
    else:
        close(ours.marginal([1]).pdf(points[:1]), theirs.marginal([1]).pdf(points[:1]))
        with pytest.raises(ValueError, match="one component"):
            ours.integrate_box_1d(0.0, 1.0)
    fx.testing.check_grads(lambda s, p: stats.gaussian_kde(s).logpdf(p).sum(), (sample, points), order=1)
    close(fx.jit(lambda kde, p: kde.pdf(p))(ours, points), ours.pdf(points))  # a pytree
    drawn = ours.resample(3, seed=fx.random.key(0))
    assert drawn.shape == (d, 3)
    with pytest.raises(ValueError, match="bw_method"):
        stats.gaussian_kde(sample, "wide")


MATRIX = rng.normal(size=(3, 3))
COVARIANCE, MEAN, VECTORS = MATRIX @ MATRIX.T + np.eye(3), rng.normal(size=3), rng.normal(size=(5, 3))


def test_normal_and_student_vectors():
    normal = stats.multivariate_normal
    for args in ((VECTORS, MEAN, COVARIANCE), (VECTORS[0], MEAN), (1.3,), (VECTORS[0], 0.5, 2.0)):
        close(normal.logpdf(*args), scipy.stats.multivariate_normal.logpdf(*args))
        close(normal.pdf(*args), scipy.stats.multivariate_normal.pdf(*args))
    close(normal(MEAN, COVARIANCE).entropy(), scipy.stats.multivariate_normal(MEAN, COVARIANCE).entropy())
    flat = (np.array([MEAN * 0.3, VECTORS[0]]), np.zeros(3), np.outer(MEAN, MEAN))
    close(
        normal.logpdf(*flat, allow_singular=True),
        scipy.stats.multivariate_normal.logpdf(*flat, allow_singular=True),
    )
    args = (VECTORS, MEAN, COVARIANCE)
    close(stats.multivariate_t.logpdf(*args, 4.0), scipy.stats.multivariate_t.logpdf(*args, 4.0))
    # SciPy 1.16's raises a TypeError here.
    close(stats.multivariate_t.logpdf(*args, np.inf), scipy.stats.multivariate_normal.logpdf(*args))
    for law, args, order in ((normal, (), 2), (stats.multivariate_t, (4.0,), 1)):

        def program(x, m, c, *rest, law=law):
            return law.logpdf(x, m, c + c.T, *rest).sum()

        fx.testing.check_grads(program, (VECTORS, MEAN, COVARIANCE, *args), order=order)
    batched = fx.vmap(normal.logpdf, in_axes=(0, None, None))(VECTORS, MEAN, COVARIANCE)
    close(batched, normal.logpdf(VECTORS, MEAN, COVARIANCE))
    close(
        normal.logpdf(VECTORS[:2], MEAN, np.stack([COVARIANCE, np.eye(3)]))[1],
        normal.logpdf(VECTORS[1], MEAN),
    )
    assert normal.rvs(MEAN, COVARIANCE, size=(2,), random_state=fx.random.key(0)).shape == (2, 3)
    with pytest.raises(ValueError, match="centre"):
        normal.logpdf(VECTORS, MEAN, np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        normal.logpdf(VECTORS, MEAN, -np.eye(3))


def test_shares_counts_and_matrices():
    alpha, shares = np.array([1.5, 2.0, 3.0]), rng.dirichlet([1.0, 2.0, 3.0], 4).T
    for x in (shares, shares[:2], shares[:, 0]):
        close(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha))
    for name in ("mean", "var", "cov", "entropy"):
        close(getattr(stats.dirichlet, name)(alpha), getattr(scipy.stats.dirichlet, name)(alpha))
    assert stats.dirichlet.pdf(np.array([0.5, 0.7, 0.1]), alpha) == 0
    assert np.isnan(stats.dirichlet.pdf(shares[:, 0], -alpha))
    counts, p = np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]]), np.array([0.2, 0.3, 0.5])
    close(stats.multinomial.logpmf(counts, 6, p), scipy.stats.multinomial.logpmf(counts, 6, p))
    close(stats.multinomial.cov(6, p), scipy.stats.multinomial.cov(6, p))
    close(stats.multinomial.entropy([6, 3], p), scipy.stats.multinomial.entropy([6, 3], p))
    assert np.isnan(stats.multinomial.pmf(counts[0], 6, 2 * p))
    wishart = (COVARIANCE, 5.0, COVARIANCE + 1)
    close(stats.wishart.logpdf(*wishart), scipy.stats.wishart.logpdf(*wishart))

    def program(x, a, p, c):
        vectors = (
            stats.dirichlet.logpdf(x, a).sum() + stats.multinomial.logpmf(counts[:2], 6, p / p.sum()).sum()
        )
        return vectors + stats.wishart.logpdf(c + c.T, 5.0, c + c.T + 1)

    fx.testing.check_grads(program, (shares[:2], alpha, p, COVARIANCE), order=1)
    assert not fx.grad(lambda x: stats.dirichlet.pdf(x, alpha))(np.array([0.5, 0.7, 0.1])).any()


def test_clusters_are_scipys():
    theirs = scipy.cluster.vq
    data = rng.normal(size=(20, 3))
    centres = data[:4]
    for obs, codes in ((data, centres), (data[:, 0], centres[:, 0])):
        close(vq.vq(obs, codes), theirs.vq(obs, codes))
        close(vq.kmeans2(obs, codes, minit="matrix"), theirs.kmeans2(obs, codes, minit="matrix"))
    close(vq.whiten(data), theirs.whiten(data))
    close(vq.kmeans(data, centres), theirs.kmeans(data, centres))
    close(fx.jit(vq.vq)(data, centres), vq.vq(data, centres))
    close(fx.vmap(vq.vq, in_axes=(0, None))(np.stack([data, data]), centres)[0][1], vq.vq(data, centres)[0])
    fx.testing.check_grads(lambda x, c: vq.vq(x, c)[1].sum(), (data[4:], centres), order=1)
    fx.testing.check_grads(lambda x: (vq.kmeans2(x, centres, minit="matrix")[0] ** 2).sum(), (data,), order=1)
    for start in ("random", "points", "++"):
        found, label = vq.kmeans2(data, 3, minit=start, rng=fx.random.key(1))
        assert found.shape == (3, 3) and label.shape == (20,)
    found, distance = vq.kmeans(data, 3, rng=fx.random.key(1))
    np.testing.assert_allclose(distance, vq.vq(data, found)[1].mean())
    with pytest.raises(ValueError, match="code book"):
        vq.vq(data, centres[:, :2])
    with pytest.raises(ValueError, match="minit"):
        vq.kmeans2(data, 3, minit="best")
