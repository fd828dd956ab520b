import numpy as np
import pytest
from scipy import optimize as reference

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.scipy import optimize
from fxgrad.testing import check_grads


def valley(x, a):
    return 10 * ((x[1:] - x[:-1] ** 2) ** 2).sum() + ((a - x[:-1]) ** 2).sum()


METHODS = ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-exact", "SLSQP", "TNC", "Nelder-Mead"]


@pytest.mark.parametrize("method", METHODS)
def test_minimize_by_every_method(method):
    def lowest(a):
        return optimize.minimize(valley, np.full(2, 0.8), (a,), method, tol=1e-9).x

    np.testing.assert_allclose(lowest(1.0), [1, 1], atol=1e-3)
    np.testing.assert_allclose(fx.jacobian(lowest)(1.0), [1, 2], atol=1e-2)


def test_minimize_with_pytrees_under_every_transform():
    def result(a):
        def height(x):
            return ((x["u"] - a) ** 4).sum() + (x["v"] - a[0]) ** 2 + ((x["u"] - a) ** 2).sum()

        return optimize.minimize(height, {"u": np.zeros(2), "v": 1.0}, tol=1e-12)

    a = np.array([1.0, 2.0])

    def product(a):
        return result(a).x["v"] * a[1]

    np.testing.assert_allclose(fx.grad(product)(a), [2, 1], 1e-6)
    np.testing.assert_allclose(fx.jit(fx.grad(product))(a), [2, 1], 1e-6)
    np.testing.assert_allclose(fx.vmap(product)(np.stack([a, 2 * a])), [2, 8], 1e-6)
    np.testing.assert_allclose(fx.hessian(product)(a), [[0, 1], [1, 0]], atol=1e-6)
    assert fx.jit(result)(a).success


def test_bounds_stop_a_minimum_and_pass_their_derivative():
    def lowest(a):
        return optimize.minimize(
            lambda x: ((x - a) ** 2).sum(), np.zeros(2), bounds=[(None, a[1] / 8), (-1, 3)]
        ).x

    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(lowest(a), [0.25, 2], 1e-5)
    np.testing.assert_allclose(fx.jacobian(lowest)(a), [[0, 0.125], [0, 1]], atol=1e-6)


def test_second_derivatives_of_a_minimum():
    def lowest(a):
        return optimize.minimize(
            lambda x: ((x - a) ** 2).sum() + fnp.exp(x[0] * x[1] * a[0]),
            np.zeros(2),
            method="trust-exact",
            tol=1e-12,
        ).x

    check_grads(lowest, (np.array([0.5, 1.0]),), order=2, rtol=1e-3, atol=1e-3)


def test_constraints():
    found = optimize.minimize(
        lambda x: x @ x, np.ones(2), constraints={"type": "eq", "fun": lambda x: x.sum() - 1}
    )
    np.testing.assert_allclose(found.x, [0.5, 0.5])
    with pytest.raises(fx.UnsupportedError, match="constraints"):
        fx.grad(lambda a: optimize.minimize(lambda x: a * x @ x, np.ones(2), constraints=[{}]).fun)(1.0)


def test_minimize_scalar():
    def found(a, **options):
        return optimize.minimize_scalar(lambda x: fnp.exp(x) - a * x, tol=1e-12, **options)

    np.testing.assert_allclose(fx.grad(lambda a: found(a).x)(2.0), 0.5, 1e-6)
    np.testing.assert_allclose(fx.grad(lambda a: found(a).fun)(2.0), -np.log(2), 1e-6)
    bounded = fx.grad(lambda a: optimize.minimize_scalar(lambda x: fnp.exp(x) - a * x, bounds=(0, a / 4)).x)
    np.testing.assert_allclose(bounded(2.0), 0.25)


# -- roots ------------------------------------------
@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root(method):
    matrix = np.array([[3.0, 1], [1, 2]])

    def solution(b):
        return optimize.root(lambda x: matrix @ x + 0.1 * x**3 - b, np.zeros(2), method=method, tol=1e-10).x

    b = np.array([1.0, 2.0])
    x = solution(b)
    slope = np.linalg.inv(matrix + np.diag(0.3 * x**2))
    np.testing.assert_allclose(fx.jacobian(solution)(b), slope, 1e-5)
    np.testing.assert_allclose(fx.jit(solution)(b), x, 1e-6)


def test_fsolve():
    def system(x, a):
        return [x[0] * np.cos(x[1]) - a, x[0] * x[1] - x[1] - 5]

    def solution(a):
        return optimize.fsolve(system, [1, 1], (a,), xtol=1e-12)

    wanted = reference.fsolve(lambda x: system(x, 4.0), [1, 1], xtol=1e-12)
    np.testing.assert_allclose(solution(4.0), wanted, 1e-10)
    slope = (solution(4.0 + 1e-5) - solution(4.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(fx.jacobian(solution)(4.0), slope, 1e-6)
    x, details, flag, message = optimize.fsolve(system, [1.0, 1.0], (4.0,), full_output=True)
    assert flag == 1 and "converged" in message and np.abs(details["fvec"]).max() < 1e-8 and x.shape == (2,)
    np.testing.assert_allclose(optimize.fsolve(lambda x: x**2 - 2, 1.0), [np.sqrt(2)])
    with pytest.raises(fx.UnsupportedError, match="full_output"):
        fx.grad(lambda a: optimize.fsolve(system, [1.0, 1.0], (a,), full_output=True)[0][0])(4.0)


@pytest.mark.filterwarnings("ignore:the solver has not converged")
@pytest.mark.parametrize("transform", [lambda f: f, fx.grad])
def test_a_search_between_two_numbers_that_fails_says_so_as_scipys_does(transform):
    def root(c, **options):
        return fx.scipy.optimize.brentq(lambda x: x**3 - x - c, 0.0, 2.0, maxiter=2, **options)

    with pytest.raises(RuntimeError, match="Failed to converge after 2 iterations"):
        transform(root)(1.0)
    assert np.isfinite(transform(lambda c: root(c, disp=False))(1.0))


@pytest.mark.parametrize("method", ["brentq", "brenth", "bisect", "ridder", "toms748"])
def test_bracketed_roots(method):
    def cube_root(a):
        return getattr(optimize, method)(lambda x, a: x**3 - a, 0.0, 3.0, (a,))

    np.testing.assert_allclose([cube_root(8.0), fx.grad(cube_root)(8.0)], [2, 1 / 12], 1e-6)
    np.testing.assert_allclose(fx.grad(fx.grad(cube_root))(8.0), -1 / 144, 1e-6)
    np.testing.assert_allclose(fx.vmap(cube_root)(np.array([1.0, 8.0])), [1, 2], 1e-6)


@pytest.mark.parametrize("options", [{"method": "newton"}, {"method": "halley"}, {"x1": 2.5}], ids=str)
def test_roots_by_slopes(options):
    def cube_root(a):
        return optimize.root_scalar(lambda x: x**3 - a, x0=1.5, **options).root

    np.testing.assert_allclose([cube_root(8.0), fx.jit(fx.grad(cube_root))(8.0)], [2, 1 / 12], 1e-6)


def test_fixed_points_and_newton():
    slope = fx.grad(lambda a: optimize.fixed_point(lambda x: fnp.cos(a * x), 0.5))
    np.testing.assert_allclose(slope(1.0), -0.2974736, 1e-5)
    roots = fx.jit(lambda a: optimize.newton(lambda x: x**2 - a, np.ones(2)))
    np.testing.assert_allclose(roots(np.array([1.0, 4.0])), [1, 2])


def test_a_system_needs_as_many_equations_as_unknowns():
    with pytest.raises(ValueError, match="3 numbers for 2 unknowns"):
        optimize.root(lambda x: np.ones(3), np.zeros(2))


# -- fits ------------------------------------------
PLACES = np.linspace(0, 1, 7)
VALUES = np.exp(-1.3 * PLACES) * 2 + 0.01 * np.sin(9 * PLACES)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_least_squares(loss):
    settings = {"loss": loss, "f_scale": 0.01, "ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}

    def fit(y):
        return optimize.least_squares(lambda p: p[0] * fnp.exp(-p[1] * PLACES) - y, np.ones(2), **settings).x

    wanted = reference.least_squares(
        lambda p: p[0] * np.exp(-p[1] * PLACES) - VALUES, np.ones(2), **settings
    ).x
    np.testing.assert_allclose(fx.jit(fit)(VALUES), wanted, 1e-6)
    if loss in ("linear", "cauchy"):
        check_grads(fit, (VALUES,), order=1, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [{}, {"sigma": np.linspace(1, 2, 7)}, {"sigma": np.eye(7) * 4, "absolute_sigma": True}],
    ids=len,
)
def test_curve_fit(options):
    def curve(x, a, b):
        return a * fnp.exp(-b * x)

    wanted = reference.curve_fit(curve, PLACES, VALUES, **options)
    for found in (
        optimize.curve_fit(curve, PLACES, VALUES, **options),
        fx.jit(lambda y: optimize.curve_fit(curve, PLACES, y, **options))(VALUES),
    ):
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(a, b, 1e-5, 1e-9)


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: optimize.root(lambda x: x**2 + a, np.ones(1)).x[0],
        lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0.0, 9.0), maxiter=2).root,
        lambda a: optimize.minimize(lambda x: ((x - a) ** 4).sum(), np.ones(2), options={"maxiter": 1}).x[0],
        lambda a: optimize.least_squares(lambda x: fnp.exp(x) - a, 9 * np.ones(2), max_nfev=1).x[0],
        lambda a: optimize.newton(lambda x: x**3 - a, 9.0, maxiter=2, disp=False),
        lambda a: optimize.newton(lambda x: x**3 - a, 9.0, x1=8.0, maxiter=2, disp=False),
        lambda a: optimize.root(lambda x: x**2 + a, np.ones(1), method="lm").x[0],
        lambda a: optimize.curve_fit(
            lambda x, k: fnp.exp(k * x), np.arange(3.0), a * np.ones(3), 9.0, maxfev=2
        )[0][0],
        lambda a: optimize.linprog([1.0], A_ub=[[1.0], [-1.0]], b_ub=[-a, -a], bounds=(None, None)).fun,
        lambda a: optimize.quadprog([[1.0]], [1.0], A_ub=[[1.0], [-1.0]], b_ub=[-a, -a]).fun,
    ],
)
def test_derivatives_of_what_is_no_solution_warn(solve):
    with pytest.warns(RuntimeWarning, match="has not converged"):
        fx.grad(solve)(2.0)
    with pytest.warns(RuntimeWarning, match="has not converged"):
        fx.jit(fx.grad(solve))(2.0)
