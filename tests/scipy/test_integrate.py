import numpy as np
import pytest
from scipy import integrate as reference

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.scipy import integrate
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


def test_solve_ivp_says_what_traced_programs_cannot_do():
    def solve(k, **options):
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1), **options).y

    assert solve(1e4, method="Radau").shape[0] == 1
    with pytest.raises(fx.ConcretizationError, match="t_eval"):
        fx.jit(solve)(1.0)
    with pytest.raises(fx.UnsupportedError, match="Radau"):
        fx.jit(lambda k: solve(k, method="Radau"))(1.0)
