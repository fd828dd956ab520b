"""custom_root and custom_linear_solve: by closed forms."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests import ways
from tests.ways import same

M = np.array([[3.0, 0.5, -0.2], [0.1, 2.5, 0.4], [-0.3, 0.2, 2.0]])
B = np.array([1.0, -2.0, 0.5])


def iterated(a):
    """Solves a x = b by Richardson's iteration."""
    return lambda _, b: lax.fori_loop(0, 200, lambda i, x: x + 0.3 * (b - a @ x), fnp.zeros_like(b))


def solution(m, b):
    return lax.custom_linear_solve(lambda x: m @ x, b, iterated(m), iterated(m.T))


def test_a_linear_solve_under_every_transform():
    same(solution(M, B), np.linalg.solve(M, B))
    ways.agree(solution, M, B)


def test_its_derivatives():
    inverse = np.linalg.inv(M)
    x = inverse @ B
    same(fx.jacrev(solution, 1)(M, B), inverse)
    same(fx.jacfwd(solution)(M, B), -np.einsum("ij,k->ijk", inverse, x))
    same(fx.jacrev(solution)(M, B), -np.einsum("ij,k->ijk", inverse, x))
    expected = np.einsum("ip,qr,s->ipqrs", inverse, inverse, x) + np.einsum(
        "ir,sp,q->ipqrs", inverse, inverse, x
    )
    same(fx.jacrev(fx.jacfwd(solution))(M, B), expected, 1e-10)
    same(fx.jacfwd(fx.jacrev(solution))(M, B), expected, 1e-10)
    same(fx.jit(fx.jacrev(fx.jacrev(solution)))(M, B), expected, 1e-10)


def test_the_way_to_the_solution_is_not_differentiated():
    """The solver is a while loop of any number of steps, through which there is no reverse mode."""

    def solver(a):
        def solve(_, b):
            return lax.while_loop(
                lambda x: fnp.sum((b - a @ x) ** 2) > 1e-28,
                lambda x: x + 0.3 * (b - a @ x),
                fnp.zeros_like(b),
            )

        return solve

    def f(m, b):
        return fnp.sum(lax.custom_linear_solve(lambda x: m @ x, b, solver(m), solver(m.T)))

    inverse = np.linalg.inv(M)
    same(fx.grad(f, 1)(M, B), inverse.sum(0))
    same(fx.jit(fx.grad(f, 1))(M, B), inverse.sum(0))


def test_symmetric_systems_trees_and_auxiliary_results():
    scale = np.array([2.0, 4.0, 8.0])

    def f(scale, b):
        def matvec(x):
            return {"u": scale * x["u"], "v": 3.0 * x["v"]}

        def solve(_, b):
            return {"u": b["u"] / scale, "v": b["v"] / 3.0}, fnp.sum(b["u"])

        return lax.custom_linear_solve(matvec, b, solve, symmetric=True, has_aux=True)

    b = {"u": B, "v": 6.0}
    same(f(scale, b), ({"u": B / scale, "v": np.float64(2.0)}, np.sum(B)))
    gradient = fx.grad(lambda s, b: fnp.sum(f(s, b)[0]["u"]) + f(s, b)[0]["v"], (0, 1))(scale, b)
    same(gradient, (-B / scale**2, {"u": 1 / scale, "v": np.float64(1 / 3)}))
    assert fx.grad(lambda b: f(scale, b)[1])(b)["v"] == 0.0


def newton(f, x):
    return lax.fori_loop(0, 25, lambda i, x: x - f(x) / fx.grad(f)(x), x)


def scalar_tangent(g, y):
    return y / g(1.0)


def cubic(a):
    """The real root of x³ + x = a."""
    return lax.custom_root(lambda x: x**3 + x - a, 0.5, newton, scalar_tangent)


def test_a_root_under_every_transform():
    ways.agree(cubic, np.float64(2.0))
    x = cubic(2.0)
    slope = 1 / (3 * x**2 + 1)
    same((x, fx.grad(cubic)(2.0)), (np.float64(1.0), np.float64(slope)))
    same(fx.grad(fx.grad(cubic))(2.0), -6 * x * slope**3, 1e-10)
    same(fx.jvp(fx.grad(cubic), (2.0,), (1.0,))[1], -6 * x * slope**3, 1e-10)
    same(fx.jit(fx.grad(fx.grad(cubic)))(2.0), -6 * x * slope**3, 1e-10)


def test_a_root_of_a_system():
    """F(x) = M x + x³ − b, whose derivative is not symmetric."""

    def root(m, b):
        def f(x):
            return m @ x["x"] + x["x"] ** 3 - b

        def solve(f, start):
            def step(i, x):
                return x - 0.15 * f({"x": x})["x"]

            return {"x": lax.fori_loop(0, 300, step, start["x"])}

        def tangent_solve(g, y):
            def step(i, x):
                return x + 0.15 * (y["x"] - g({"x": x})["x"])

            return {"x": lax.fori_loop(0, 300, step, fnp.zeros_like(y["x"]))}

        return lax.custom_root(lambda x: {"x": f(x)}, {"x": np.zeros(3)}, solve, tangent_solve)["x"]

    x = root(M, B)
    np.testing.assert_allclose(M @ x + x**3, B, atol=1e-12)
    inverse = np.linalg.inv(M + np.diag(3 * x**2))
    same(fx.jacrev(root, 1)(M, B), inverse, 1e-10)
    same(fx.jacfwd(root, 1)(M, B), inverse, 1e-10)
    same(fx.jacrev(root)(M, B), -np.einsum("ij,k->ijk", inverse, x), 1e-10)
    batch = np.stack([B, 2 * B])
    same(fx.vmap(root, (None, 0))(M, batch), np.stack([root(M, b) for b in batch]))


def test_a_solver_in_python_and_auxiliary_results():
    """Outside `jit` the solver sees numbers, and may count."""

    def bisection(f, start):
        low, high, steps = 0.0, 10.0, 0
        while high - low > 1e-14:
            middle = (low + high) / 2
            low, high = (low, middle) if f(middle) > 0 else (middle, high)
            steps += 1
        return low, {"steps": steps}

    def f(a):
        return lax.custom_root(lambda x: x**2 - a, 1.0, bisection, scalar_tangent, has_aux=True)

    root, aux = f(9.0)
    assert abs(root - 3) < 1e-13 and aux["steps"] > 40
    slope, aux = fx.grad(f, has_aux=True)(9.0)
    np.testing.assert_allclose(slope, 1 / 6, rtol=1e-12)
    assert aux["steps"] > 40


TRANSFORMS = {
    "plain": lambda f: f(M, B),
    "jit": lambda f: fx.jit(f)(M, B),
    "grad": lambda f: fx.grad(lambda m, b: fnp.sum(f(m, b) ** 2), (0, 1))(M, B),
    "jvp": lambda f: fx.jvp(f, (M, B), (M, 2 * B)),
    "vmap": lambda f: fx.vmap(f, (None, 0))(M, np.stack([B, 2 * B])),
    "jit of grad": lambda f: fx.jit(fx.grad(lambda m, b: fnp.sum(f(m, b) ** 2)))(M, B),
    "grad of jit": lambda f: fx.grad(fx.jit(lambda m, b: fnp.sum(f(m, b) ** 2)))(M, B),
    "hessian": lambda f: fx.hessian(lambda b: fnp.sum(f(M * b[0], b) ** 2))(B),
    "vmap of grad": lambda f: fx.vmap(fx.grad(lambda m, b: fnp.sum(f(m, b) ** 2), 1), (None, 0))(
        M, np.stack([B, -B])
    ),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("way", ["returned", "used", "aux"])
def test_the_solver_of_a_root_may_close_over_traced_values(way, transform):
    def root(m, b):
        known = fnp.linalg.solve(m, b)

        def solve(f, x):
            if way == "used":
                x = x - fnp.linalg.solve(m, f(x))
            else:
                x = known
            return (x, {"known": known, "count": 3}) if way == "aux" else x

        def tangent_solve(g, y):
            return fnp.linalg.solve(fx.jacobian(g)(y), y)

        x = lax.custom_root(lambda x: m @ x - b, np.zeros(3), solve, tangent_solve, has_aux=way == "aux")
        return x[0] if way == "aux" else x

    same(transform(root), transform(fnp.linalg.solve), 1e-10)


def test_a_solver_that_escapes_for_good_is_refused():
    escaped = []
    fx.grad(lambda x: (escaped.append(x), x)[1])(1.0)
    with pytest.raises(fx.EscapedTracerError):
        fx.grad(lambda a: lax.custom_root(lambda x: x - a, 0.0, lambda f, x: escaped[0], scalar_tangent))(1.0)


def newton_on_entries(f, x):
    for _ in range(20):
        y, slope = fx.jvp(f, (x,), (np.ones(3),))
        x = x - y / slope
    return x


def test_a_root_is_not_the_guess_itself():
    guess = B.copy()
    root = lax.custom_root(lambda x: x - B, guess, lambda f, x: x, lambda g, y: y)
    root[:] = 0.0
    same(guess, B)


@pytest.mark.parametrize("f", [
    lambda b: lax.custom_root(lambda x: x**3 - b, np.ones_like(b), newton_on_entries, lambda g, y: y / g(np.ones(3))),
    lambda b: lax.custom_linear_solve(lambda x: x * b, np.ones_like(b), lambda _, right: right / b, symmetric=True),
    lambda b: lax.associative_scan(lambda x, y: x * y, np.ones_like(b)) * b,
])  # fmt: skip
def test_an_array_that_can_be_written_into_is_taken_as_an_array(f):
    """What NumPy's `ones_like` makes of a traced value is such an array."""
    ways.agree(f, np.abs(B))


@pytest.mark.parametrize("call, words", [
    (lambda: lax.custom_linear_solve(lambda x: x[:2], B, iterated(M)), r"matvec.*float64\[3\] in b and float64\[2\]"),
    (lambda: lax.custom_linear_solve(lambda x: (x, x), B, iterated(M)), "matvec has a result of structure"),
    (lambda: lax.custom_linear_solve(lambda x: x, B, lambda mv, b: b, has_aux=True), "must return a pair"),
    (lambda: fx.grad(lambda b: fnp.sum(lax.custom_linear_solve(lambda x: x, b, lambda mv, b: b)))(B),
     "transposed system.*transpose_solve"),
    (lambda: lax.custom_root(lambda x: (x, x), 1.0, newton, scalar_tangent), "f has a result of structure"),
    (lambda: lax.custom_root(lambda x: x, 1.0, lambda f, x: (x, x), scalar_tangent), "solve has a result of structure"),
])  # fmt: skip
def test_errors(call, words):
    with pytest.raises(fx.FxgradError, match=f"(?s){words}") as error:
        call()
    assert "control/test_solves.py" in str(error.value)
