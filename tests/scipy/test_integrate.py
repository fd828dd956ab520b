import numpy as np
import pytest
from scipy import integrate as reference

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import UnsupportedError
from fxgrad.scipy import integrate, interpolate
from fxgrad.testing import check_grads

R = np.random.default_rng(0)


# -- samples ------------------------------------------
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"])
def test_integrals_of_samples(name, n):
    y, places = R.normal(size=(3, n)), np.cumsum(R.uniform(0.5, 1, size=(3, n)), 1)
    for x in (None, places[0], places):
        wanted = getattr(reference, name)(y, x=x)
        got = fx.jit(lambda y, x=x: getattr(integrate, name)(y, x=x))(y)
        np.testing.assert_allclose(got, wanted, 1e-12, 1e-12)
        turned = fx.jit(lambda y, x=x: getattr(integrate, name)(y, x=None if x is None else x.T, axis=0))(y.T)
        np.testing.assert_allclose(turned.T, wanted, 1e-12, 1e-12)


def test_romb():
    y = R.normal(size=(2, 9))
    np.testing.assert_allclose(fx.jit(lambda y: integrate.romb(y, 0.2))(y), reference.romb(y, 0.2))
    with pytest.raises(ValueError, match="power of 2"):
        fx.jit(integrate.romb)(y[:, :8])


# -- functions ------------------------------------------
def area(p, a, b):
    return integrate.quad(lambda x: fnp.exp(-p[0] * x) * x ** p[1], a, b)[0]


def test_quad_has_derivatives_in_limits_and_parameters():
    p = np.array([1.3, 2.0])
    wanted = reference.quad(lambda x: np.exp(-1.3 * x) * x**2, 0.2, np.inf)[0]
    assert area(p, 0.2, np.inf) == wanted == fx.jit(area)(p, 0.2, np.inf)
    check_grads(area, (p, 0.2, 1.5), order=2)
    both = fx.vmap(fx.grad(area), (0, None, None))(np.stack([p, p + 1]), 0.0, np.inf)
    np.testing.assert_allclose(both[0], fx.grad(area)(p, 0.0, np.inf), 1e-9)


def test_nested_integrals():
    def volume(b):
        return integrate.dblquad(lambda y, x: fnp.exp(-x * y * b), 0.0, b, 0.0, lambda x: x * b)[0]

    step = 1e-5
    slope = (volume(1.2 + step) - volume(1.2 - step)) / (2 * step)
    np.testing.assert_allclose(fx.grad(volume)(1.2), slope, 1e-6)
    np.testing.assert_allclose(integrate.nquad(lambda x, y: x * y, [(0, 1), (0, 2)])[0], 1.0)


# -- differential equations ------------------------------------------
Y0, T = np.array([1.0, 2.0]), np.linspace(0, 4, 5)


def predators(y, t, a, b):
    return fnp.stack([y[0] * (a - b * y[1]), -y[1] * (1 - 0.5 * y[0])])


EXACT = reference.odeint(lambda y, t: np.asarray(predators(y, t, 1.1, 0.4)), Y0, T, rtol=1e-12, atol=1e-12)


def test_odeint_takes_arguments_as_scipy_and_as_jax_have_them():
    for rows in (
        integrate.odeint(predators, Y0, T, (1.1, 0.4)),
        integrate.odeint(predators, Y0, T, args=(1.1, 0.4)),
        integrate.odeint(predators, Y0, T, 1.1, 0.4),
        integrate.odeint(lambda y, t, p: predators(y, t, *p), Y0, T, (1.1, 0.4)),
        integrate.odeint(lambda t, y, a, b: predators(y, t, a, b), Y0, T, 1.1, 0.4, tfirst=True),
    ):
        np.testing.assert_allclose(rows, EXACT, 1e-5)


@pytest.mark.parametrize("method", ["DOP853", "RK45"])
def test_odeint_of_traced_values(method):
    def solve(y0, t, a):
        return integrate.odeint(predators, y0, t, a, 0.4, method=method)

    np.testing.assert_allclose(fx.jit(solve)(Y0, T, 1.1), EXACT, 1e-6)
    check_grads(solve, (Y0, T, 1.1), order=1, rtol=1e-3, atol=1e-3)


def test_odeint_backwards_under_vmap_and_in_pytrees():
    back = fx.jit(lambda y: integrate.odeint(predators, y, T[::-1], 1.1, 0.4))(EXACT[-1])
    np.testing.assert_allclose(back[::-1], EXACT, 1e-5)
    two = fx.vmap(lambda y: integrate.odeint(predators, y, T, 1.1, 0.4))(np.stack([Y0, Y0]))
    np.testing.assert_allclose(two[1], EXACT, 1e-6)
    turn = integrate.odeint(
        lambda y, t: {"a": y["b"], "b": -y["a"]}, {"a": 0.0, "b": 1.0}, np.array([0, np.pi / 2])
    )
    np.testing.assert_allclose(turn["a"][-1], 1.0, 1e-6)


def test_second_derivatives_of_a_solution():
    def end(k):
        return integrate.odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 1.0]), method="RK23")[-1]

    np.testing.assert_allclose(fx.grad(fx.grad(end))(2.0), np.exp(-2.0), 1e-3)


def test_what_is_not_reached_is_nan():
    rows = fx.jit(lambda y: integrate.odeint(lambda y, t: y**2, y, np.array([0.0, 0.5, 2.0])))(np.ones(1))
    np.testing.assert_allclose(rows[1], 2.0, 1e-6)
    assert np.isnan(rows[2])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_solve_ivp_takes_the_steps_of_scipy(method):
    def solve(a, t_eval=None):
        return integrate.solve_ivp(lambda t, y: predators(y, t, a, 0.4), (0.0, 4.0), Y0, method, t_eval).y

    plain = solve(1.1)
    np.testing.assert_allclose(fx.jvp(solve, (1.1,), (1.0,))[0], plain, 1e-9)
    np.testing.assert_allclose(fx.jit(lambda a: solve(a, T))(1.1), solve(1.1, T), 1e-9)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_between_steps_a_solution_knows_the_time(method):
    """The slope depends on the time; the places lie inside of steps."""

    def solve(a):
        options = {"method": method, "t_eval": np.linspace(0.1, 3.9, 23), "rtol": 1e-8, "atol": 1e-10}
        return integrate.solve_ivp(lambda t, y: a * np.cos(t) * y, (0.0, 4.0), np.ones(1), **options).y[0]

    places = np.linspace(0.1, 3.9, 23)
    tolerance = 1e-4 if method == "RK23" else 1e-6
    np.testing.assert_allclose(fx.jit(solve)(1.5), np.exp(1.5 * np.sin(places)), tolerance)
    slope = np.sin(places) * np.exp(1.5 * np.sin(places))
    np.testing.assert_allclose(fx.jacfwd(solve)(1.5), slope, tolerance, tolerance)


def test_solve_ivp_says_what_traced_programs_cannot_do():
    def solve(k, **options):
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1), **options).y

    assert solve(1e4, method="Radau").shape[0] == 1
    with pytest.raises(fx.ConcretizationError, match="t_eval"):
        fx.jit(solve)(1.0)
    with pytest.raises(fx.UnsupportedError, match="Radau"):
        fx.jit(lambda k: solve(k, method="Radau"))(1.0)


# -- boundary values ------------------------------------------
NODES = np.linspace(0.0, 1.0, 5)


def bratu(strength, x=NODES):
    """The problem of Bratu: u″ + strength·eᵘ = 0 between cold ends."""
    return integrate.solve_bvp(
        lambda x, y: np.stack([y[1], -strength * np.exp(y[0])]),
        lambda a, b: np.stack([a[0], b[0]]),
        x,
        np.zeros((2, len(x))),
        tol=1e-8,
    )


def central(function, at, step=1e-4):
    return (function(at + step) - function(at - step)) / (2 * step)


def test_solve_bvp_is_scipys_on_plain_values_and_near_it_on_traced_ones():
    found = bratu(1.0)
    wanted = reference.solve_bvp(
        lambda x, y: np.stack([y[1], -np.exp(y[0])]),
        lambda a, b: np.stack([a[0], b[0]]),
        NODES,
        np.zeros((2, 5)),
        tol=1e-8,
    )
    np.testing.assert_array_equal(found.y, wanted.y)
    x, y, yp, success = fx.jvp(lambda s: (lambda r: (r.x, r.y, r.yp, r.success))(bratu(s)), (1.0,), (1.0,))[0]
    np.testing.assert_array_equal(x, wanted.x)
    np.testing.assert_allclose(y, wanted.y, atol=1e-7)
    np.testing.assert_allclose(yp, wanted.yp, atol=1e-7)
    assert success
    between = interpolate.CubicHermiteSpline(x, y, yp, axis=1)(0.123)
    np.testing.assert_allclose(between, wanted.sol(0.123), atol=1e-7)


def test_derivatives_of_boundary_value_problems():
    def middle(s):
        return interpolate.CubicHermiteSpline(*(lambda r: (r.x, r.y[0], r.yp[0]))(bratu(s)))(0.4)

    slope = central(middle, 1.0)
    np.testing.assert_allclose(fx.grad(middle)(1.0), slope, rtol=1e-6)
    np.testing.assert_allclose(fx.jvp(middle, (1.0,), (1.0,))[1], slope, rtol=1e-6)
    np.testing.assert_allclose(fx.hessian(middle)(1.0), central(fx.grad(middle), 1.0), rtol=1e-5)


def test_the_interval_of_a_boundary_value_problem_can_be_traced():
    def end(length):
        return bratu(1.0, NODES * length).y[1, -1]

    np.testing.assert_allclose(fx.grad(end)(1.0), central(end, 1.0), rtol=1e-5)


def test_an_unknown_parameter_of_a_boundary_value_problem():
    """The wave number of a string, whose square is divided by the stiffness."""

    def wave_number(stiffness):
        guess = np.zeros((2, 5))
        guess[0, 1], guess[0, 3] = 1, -1
        return integrate.solve_bvp(
            lambda x, y, p: np.stack([y[1], -(p[0] ** 2) * y[0] / stiffness]),
            lambda a, b, p: np.stack([a[0], b[0], a[1] - p[0]]),
            NODES,
            guess,
            p=[6.0],
            tol=1e-7,
        ).p[0]

    value, slope = fx.value_and_grad(wave_number)(1.0)
    np.testing.assert_allclose([value, slope], [2 * np.pi, np.pi], rtol=1e-6)


def test_boundary_value_problems_on_a_given_mesh():
    """Where values are not known the mesh is the one that is given."""
    fine = np.linspace(0.0, 1.0, 21)
    solve = lambda s: bratu(s, fine).y[0]  # noqa: E731
    wanted = [bratu(s, fine).sol(fine)[0] for s in (1.0, 1.3)]
    np.testing.assert_allclose(fx.jit(solve)(1.0), wanted[0], atol=1e-6)
    np.testing.assert_allclose(fx.vmap(solve)(np.array([1.0, 1.3])), wanted, atol=1e-6)
    np.testing.assert_allclose(fx.grad(fx.jit(lambda s: solve(s)[10]))(1.0), 0.159188, atol=2e-5)


def test_solve_bvp_refuses_a_singular_term_of_traced_values():
    with pytest.raises(UnsupportedError, match="singular term"):
        fx.grad(
            lambda s: integrate.solve_bvp(
                lambda x, y: s * y, lambda a, b: np.stack([a[0], b[0]]), NODES, np.zeros((2, 5)), S=np.eye(2)
            ).y.sum()
        )(1.0)
