import numpy as np
import pytest
from scipy import interpolate as reference

import fxgrad as fx
from fxgrad.scipy import interpolate
from fxgrad.testing import check_grads

R = np.random.default_rng(0)
CONDITIONS = ["not-a-knot", "natural", "clamped", ((1, np.full(2, 0.5)), (2, np.array([-0.3, 0.2])))]


def assert_like_scipy(name, x, y, *args, places=None, order=0, **kwargs):
    """Assert that what goes through values is SciPy's, with its derivatives and integrals."""
    q = np.linspace(x[0] - 0.3, x[-1] + 0.3, 7)[:, None] if places is None else places
    wanted = getattr(reference, name)(x, y, *args, **kwargs)

    def function(x, y, q):
        return getattr(interpolate, name)(x, y, *args, **kwargs)(q)

    np.testing.assert_allclose(fx.jit(function)(x, y, q), wanted(q), 1e-8, 1e-8)
    np.testing.assert_allclose(fx.jit(lambda q: function(x, y, q))(q), wanted(q), 1e-8, 1e-8)
    if hasattr(wanted, "derivative") and kwargs.get("extrapolate") is not False:
        own = getattr(interpolate, name)(x, y, *args, **kwargs)
        for nu in (1, 2):
            np.testing.assert_allclose(own(q, nu), wanted(q, nu), 1e-7, 1e-7)
        np.testing.assert_allclose(own.antiderivative()(q), wanted.antiderivative()(q), 1e-7, 1e-7)
        np.testing.assert_allclose(
            own.integrate(x[0] + 0.1, x[-1]), wanted.integrate(x[0] + 0.1, x[-1]), 1e-7
        )
    if order:
        check_grads(function, (x, y, q[1:-1] + 0.01), order=order)


def samples(n):
    return np.cumsum(R.uniform(0.5, 1, size=n)), R.normal(size=(n, 2))


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_cubic_splines(n):
    x, y = samples(n)
    for bc in CONDITIONS:
        assert_like_scipy("CubicSpline", x, y, bc_type=bc, order=n == 4 and bc == "natural")
    y[-1] = y[0]
    assert_like_scipy("CubicSpline", x, y, bc_type="periodic")
    assert_like_scipy("CubicSpline", x, y.T, axis=1, extrapolate=False)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_other_cubics(n):
    x, y = samples(n)
    assert_like_scipy("PchipInterpolator", x, y, order=n == 7)
    assert_like_scipy("CubicHermiteSpline", x, y, R.normal(size=(n, 2)))
    inside = np.linspace(x[0] + 0.01, x[-1] - 0.02, 5)[:, None]
    for method in ("akima", "makima"):
        assert_like_scipy("Akima1DInterpolator", x, y, method=method, places=inside, order=n == 7)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_b_splines(k):
    x, y = samples(8)
    assert_like_scipy("make_interp_spline", x, y, k, order=k == 3)


def test_b_splines_with_conditions_at_the_ends():
    x, y = samples(8)
    for bc in ("natural", "clamped", ([(1, np.ones(2))], [(2, np.ones(2))])):
        assert_like_scipy("make_interp_spline", x, y, bc_type=bc)


@pytest.mark.parametrize(
    "kind", ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic"]
)
def test_interp1d(kind):
    x, y = samples(8)
    assert_like_scipy("interp1d", x, y, kind, axis=0, fill_value="extrapolate")
    assert_like_scipy("interp1d", x, y, kind, axis=0, bounds_error=False, fill_value=(1.0, 2.0))
    assert_like_scipy("interp1d", x, y[:, 0], kind, places=(x[1:] + x[:-1]) / 2)


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"])
def test_grids(method):
    grid = tuple(samples(n)[0] for n in (7, 6))
    values = R.normal(size=(7, 6, 2))
    places = np.stack([R.uniform(g[0] + 0.01, g[-1] - 0.01, size=(2, 3)) for g in grid], -1)
    # SciPy solves the systems of the splines by iteration.
    tolerance = 1e-3 if method in ("cubic", "quintic") else 1e-9
    wanted = reference.RegularGridInterpolator(grid, values, method)(places)
    got = fx.jit(lambda v, q: interpolate.RegularGridInterpolator(grid, v, method)(q))(values, places)
    np.testing.assert_allclose(got, wanted, tolerance, tolerance)
    check_grads(lambda v, q: interpolate.interpn(grid, v, q, method), (values, places[0]), order=1)


def test_a_spline_through_a_cubic_is_it_on_a_grid():
    x, y = np.arange(5.0), np.arange(6.0)
    f = interpolate.RegularGridInterpolator((x, y), x[:, None] ** 3 * y**2, "cubic")
    np.testing.assert_allclose(f([1.5, 2.5]), 1.5**3 * 2.5**2)
    np.testing.assert_allclose(f([1.5, 2.5], nu=(1, 1)), 3 * 1.5**2 * 2 * 2.5)


def test_places_outside_are_value_errors_or_filled():
    f = interpolate.RegularGridInterpolator(([0.0, 1.0],), [0.0, 1.0])
    with pytest.raises(ValueError, match="out of bounds in dimension 0"):
        f([2.0])
    with pytest.raises(ValueError, match="above the interpolation range"):
        interpolate.interp1d([0.0, 1.0], [0.0, 1.0])(2.0)
    with pytest.raises(ValueError, match="strictly increasing"):
        interpolate.CubicSpline([0.0, 0.0, 1.0], [0.0, 1.0, 2.0])


def test_interpolants_pass_through_jit():
    x, y = samples(5)
    for made in (interpolate.CubicSpline(x, y), interpolate.make_interp_spline(x, y)):
        np.testing.assert_allclose(fx.jit(lambda f, q: f(q))(made, 1.0), made(1.0))
