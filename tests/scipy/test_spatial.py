"""fxgrad.scipy.spatial against SciPy's values and against differences."""

import numpy as np
import pytest
import scipy.spatial
from scipy.spatial import distance as theirs

import fxgrad as fx
from fxgrad.scipy import spatial
from fxgrad.scipy.spatial import distance

rng = np.random.default_rng(0)
X, Y = rng.uniform(0.5, 2, (5, 3)), rng.uniform(0.5, 2, (4, 3))
W = np.array([0.5, 1.0, 2.0])
OPTIONS = {
    "minkowski": [{}, {"p": 3}, {"p": 1.5, "w": W}],
    "mahalanobis": [{}, {"VI": np.diag(W)}],
    "seuclidean": [{}, {"V": W}],
    "jensenshannon": [{}],
    "chebyshev": [{}, {"w": np.array([1.0, 0.0, 2.0])}],
}
CASES = [(name, o) for name in distance.METRICS for o in OPTIONS.get(name, [{}, {"w": W}])]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_metrics(name, options):
    def all_of(x, y, module=distance):
        return module.cdist(x, y, name, **options)

    def pairs(x, module=distance):
        return module.pdist(x, name, **options)

    np.testing.assert_allclose(fx.jit(all_of)(X, Y), all_of(X, Y, theirs), rtol=1e-10)
    np.testing.assert_allclose(fx.jit(pairs)(X), pairs(X, theirs), rtol=1e-10)
    np.testing.assert_array_equal(all_of(X, Y), all_of(X, Y, theirs))
    fx.testing.check_grads(all_of, (X, Y), order=1)
    if options or name not in ("mahalanobis", "seuclidean"):
        single = getattr(distance, name)
        expected = getattr(theirs, name)(X[0], Y[0], **options)
        np.testing.assert_allclose(
            fx.jit(lambda u, v: single(u, v, **options))(X[0], Y[0]), expected, rtol=1e-10
        )


def test_forms_and_metrics_of_the_users_own():
    vector = distance.pdist(X)
    np.testing.assert_array_equal(fx.jit(distance.squareform)(vector), theirs.squareform(vector))
    np.testing.assert_array_equal(fx.jit(distance.squareform)(theirs.squareform(vector)), vector)
    np.testing.assert_allclose(
        fx.jit(lambda x: distance.cdist(x, Y, lambda u, v: ((u - v) ** 2).sum()))(X),
        theirs.cdist(X, Y, "sqeuclidean"),
    )
    np.testing.assert_allclose(
        fx.jit(lambda x: spatial.distance_matrix(x, Y, 3))(X), theirs.cdist(X, Y, "minkowski", p=3)
    )


def test_points_that_coincide_have_no_direction():
    gradient = fx.grad(lambda x: distance.cdist(x, x).sum())(X)
    np.testing.assert_allclose(gradient, 2 * fx.grad(lambda x: distance.pdist(x).sum())(X))


def test_the_base_of_the_logarithm():
    u, v = X[0], np.array([0.0, 1.0, 2.0])
    found = fx.jit(lambda u, v: distance.jensenshannon(u, v, base=2.0))(u, v)
    np.testing.assert_allclose(found, theirs.jensenshannon(u, v, base=2.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: distance.cdist(x, Y, "euklid"), "there is no metric"),
        (lambda x: distance.cdist(x, Y[:, :2]), r"shapes \(5, 3\)"),
        (lambda x: distance.cosine(x, Y), "cdist"),
        (lambda x: distance.squareform(x[0, :2]), "a vector of shape"),
        (lambda x: distance.pdist(x[0]), "a matrix of shape"),
    ],
)
def test_messages(call, words):
    with pytest.raises(ValueError, match=words):
        fx.jit(call)(X)


@pytest.mark.parametrize("k", [1, 2])
def test_neighbours(k):
    tree, reference = spatial.KDTree(X), scipy.spatial.KDTree(X)
    for limit in (np.inf, 0.6):

        def query(y, tree=tree, limit=limit):
            return tree.query(y, k, distance_upper_bound=limit)

        for transform in (lambda f: f, fx.jit, fx.vmap):
            for found, expected in zip(transform(query)(Y), query(Y, reference), strict=True):
                np.testing.assert_allclose(found, expected)
    fx.testing.check_grads(lambda y: tree.query(y, k)[0], (Y,), order=2)
    fx.testing.check_grads(lambda x: spatial.KDTree(x).query(Y, k)[0], (X,), order=1, modes=["rev"])
    assert tree.query_pairs(0.9) == reference.query_pairs(0.9)
