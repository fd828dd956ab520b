import numpy as np
import pytest

import fxgrad as fx
from fxgrad.scipy import ndimage
from fxgrad.testing import check_grads
from tests.scipy.compare import assert_like_scipy

R = np.random.default_rng(0)
X = R.normal(size=(6, 7))
PLACES = np.stack([R.uniform(-9, 15, size=20), R.uniform(-9, 16, size=20)])
MODES = ["reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", range(6))
def test_map_coordinates(mode, order):
    assert_like_scipy("ndimage", "map_coordinates", X, PLACES, traced=2, order=order, mode=mode, cval=0.3)


@pytest.mark.parametrize("mode", MODES)
def test_images_moved(mode):
    for order in (1, 3):
        settings = {"order": order, "mode": mode, "cval": 0.3}
        assert_like_scipy("ndimage", "map_coordinates", X, PLACES, prefilter=False, **settings)
        assert_like_scipy("ndimage", "shift", X, np.array([0.7, -1.3]), traced=2, **settings)
        assert_like_scipy(
            "ndimage", "affine_transform", X, np.array([[1.1, 0.2], [-0.1, 0.8]]), 0.3, **settings
        )
        assert_like_scipy("ndimage", "rotate", X, 30.0, **settings)
        assert_like_scipy("ndimage", "zoom", X, (1.5, 0.6), **settings)


@pytest.mark.parametrize("mode", MODES)
def test_filters(mode):
    weights = R.normal(size=(3, 4))
    for name in ("correlate", "convolve"):
        assert_like_scipy("ndimage", name, X, weights, traced=2, mode=mode, origin=(1, -1), cval=0.3)
        assert_like_scipy("ndimage", name + "1d", X, weights[0], 0, traced=2, mode=mode)
    assert_like_scipy("ndimage", "gaussian_filter", X, (1.1, 0.7), order=(1, 2), mode=mode, cval=0.2)
    assert_like_scipy("ndimage", "uniform_filter", X, 4, mode=mode)
    for name in ("sobel", "prewitt", "laplace"):
        assert_like_scipy("ndimage", name, X, mode=mode)
    assert_like_scipy("ndimage", "gaussian_gradient_magnitude", X, 1.0, mode=mode)
    assert_like_scipy("ndimage", "gaussian_laplace", X, 1.0, mode=mode)


def test_dtypes_and_stacks():
    inside = np.abs(PLACES) % 5
    assert_like_scipy("ndimage", "map_coordinates", (10 * X).astype(int), inside, order=1)
    assert_like_scipy("ndimage", "map_coordinates", np.float32(X), inside, tolerance=1e-4)
    assert_like_scipy("ndimage", "map_coordinates", X + 1j, inside)
    assert_like_scipy("ndimage", "gaussian_filter", np.float32(X), 1.0, tolerance=1e-4)
    assert_like_scipy("ndimage", "rotate", R.normal(size=(3, 4, 5)), 20.0, axes=(0, 2))


def test_derivatives_in_images_and_places():
    inside = np.abs(PLACES[:, :4]) % 4.9
    for order in (1, 3):
        check_grads(
            lambda x, q, o=order: ndimage.map_coordinates(x, q, order=o, mode="mirror"), (X, inside), order=2
        )
    check_grads(lambda x, s: ndimage.gaussian_filter(x, s), (X, 1.1), order=1)
    check_grads(lambda a: ndimage.rotate(X, a, reshape=False, mode="mirror"), (20.3,), order=1)


def test_a_width_that_fixes_a_shape_must_be_known():
    with pytest.raises(fx.ConcretizationError, match="radius"):
        fx.jit(lambda s: ndimage.gaussian_filter1d(X, s))(1.0)
    got = fx.jit(lambda s: ndimage.gaussian_filter1d(X, s, radius=4))(1.0)
    np.testing.assert_allclose(got, ndimage.gaussian_filter1d(X, 1.0))
