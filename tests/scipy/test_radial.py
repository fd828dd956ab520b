"""RBFInterpolator against SciPy's values and against differences."""

import numpy as np
import pytest
from scipy import interpolate as reference

import fxgrad as fx
from fxgrad.scipy import interpolate
from fxgrad.scipy.interpolate.radial import KERNELS

rng = np.random.default_rng(0)
Y, X = rng.uniform(-1, 1, (15, 2)), rng.uniform(-1, 1, (4, 2))
D = np.stack([np.sin(Y[:, 0]), Y[:, 0] * Y[:, 1]], axis=1)
OPTIONS = [{}, {"neighbors": 8}, {"smoothing": 0.1}, {"degree": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_and_derivatives(kernel, options):
    options = {"kernel": kernel, "epsilon": 1.3, **options}

    def ours(x, y, d):
        return interpolate.RBFInterpolator(y, d, **options)(x)

    expected = reference.RBFInterpolator(Y, D, **options)(X)
    np.testing.assert_allclose(ours(X, Y, D), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fx.jit(lambda x, d: ours(x, Y, d))(X, D), expected, rtol=1e-8, atol=1e-9)
    fx.testing.check_grads(lambda x, d: ours(x, Y, d), (X, D), order=1)
    if not options.get("neighbors"):
        fx.testing.check_grads(lambda y: ours(X, y, D), (Y,), order=1, modes=["rev"], rtol=1e-4)


def test_one_variable_values_without_axes_and_no_polynomial():
    y, d = np.linspace(0, 1, 6)[:, None], np.linspace(0, 1, 6) ** 2
    options = {"kernel": "gaussian", "epsilon": 3.0, "degree": -1}
    np.testing.assert_allclose(
        interpolate.RBFInterpolator(y, d, **options)(y[:3] + 0.05),
        reference.RBFInterpolator(y, d, **options)(y[:3] + 0.05),
        rtol=1e-8,
    )
    slopes = fx.jacobian(interpolate.RBFInterpolator(y, d))(y)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: interpolate.RBFInterpolator(Y[:, 0], D),
        lambda: interpolate.RBFInterpolator(Y, D, kernel="cube"),
        lambda: interpolate.RBFInterpolator(Y, D, kernel="gaussian"),
        lambda: interpolate.RBFInterpolator(Y[:2], D[:2]),
        lambda: interpolate.RBFInterpolator(Y, D)(X[0]),
    ],
)
def test_messages(call):
    with pytest.raises((fx.ShapeError, fx.StructureError), match="RBFInterpolator"):
        call()
