"""Linear and quadratic programs against SciPy's solvers, and their derivatives against differences."""

import numpy as np
import pytest
from scipy import optimize as reference

import fxgrad as fx
from fxgrad.scipy import optimize


def feasible(n, m, k, seed):
    """A program with n unknowns, m inequalities and k equations that has a solution."""
    rng = np.random.default_rng(seed)
    upper, equal = rng.normal(size=(m, n)), rng.normal(size=(k, n))
    x = rng.uniform(0.2, 1, n)
    return {
        "A_ub": upper, "b_ub": upper @ x + rng.uniform(0, 0.5, m), "A_eq": equal, "b_eq": equal @ x,
    }, rng.normal(size=n)  # fmt: skip


def check_slopes(f, point):
    """Compare derivatives along a direction, forward and reverse, with a difference."""
    rng = np.random.default_rng(5)
    direction = fx.tree.map(lambda x: rng.normal(size=np.shape(x)), point)
    step = lambda t: f(fx.tree.map(lambda x, d: x + t * d, point, direction))  # noqa: E731
    measured = (step(1e-5) - step(-1e-5)) / 2e-5
    np.testing.assert_allclose(fx.jacfwd(step)(0.0), measured, atol=1e-6)
    np.testing.assert_allclose(fx.jacrev(step)(0.0), measured, atol=1e-6)


CASES = [(4, 3, 1), (6, 2, 2), (5, 8, 0), (3, 1, 0)]


@pytest.mark.parametrize("sizes", CASES, ids=str)
def test_linear_programs(sizes):
    for seed in range(3):
        program, c = feasible(*sizes, seed)
        program = {name: v for name, v in program.items() if v.size}
        expected = reference.linprog(c, **program, bounds=(0, 1.5))
        found = optimize.linprog(c, **program, bounds=(0, 1.5))
        np.testing.assert_allclose(found.x, expected.x, atol=1e-9)
        np.testing.assert_allclose(found.fun, expected.fun, atol=1e-9)

        def solution(program, c):
            return optimize.linprog(c, **program, bounds=(0, 1.5)).x

        check_slopes(lambda p: solution(*p), (program, c))
        np.testing.assert_allclose(fx.jit(solution)(program, c), expected.x, atol=1e-9)
        duals = fx.grad(lambda p, c: optimize.linprog(c, **p, bounds=(0, 1.5)).fun)(program, c)
        np.testing.assert_allclose(duals["b_ub"], expected.ineqlin.marginals, atol=1e-7)


@pytest.mark.parametrize("sizes", CASES, ids=str)
def test_quadratic_programs(sizes):
    program, q = feasible(*sizes, 1)
    program = {name: v for name, v in program.items() if v.size}
    root = np.random.default_rng(2).normal(size=(q.size, q.size))
    p = root @ root.T + 0.1 * np.eye(q.size)

    def solution(p, q, program):
        return optimize.quadprog(p, q, **program, bounds=[(0, None)]).x

    constraints = [{"type": "ineq", "fun": lambda x: program["b_ub"] - program["A_ub"] @ x}]
    if "A_eq" in program:
        constraints.append({"type": "eq", "fun": lambda x: program["A_eq"] @ x - program["b_eq"]})
    expected = reference.minimize(
        lambda x: 0.5 * x @ p @ x + q @ x, np.ones(q.size), jac=lambda x: p @ x + q, method="SLSQP",
        constraints=constraints, bounds=[(0, None)] * q.size, tol=1e-14, options={"maxiter": 500},
    )  # fmt: skip
    np.testing.assert_allclose(solution(p, q, program), expected.x, atol=1e-6)
    check_slopes(lambda p: solution(*p), (p, q, program))
    batch = np.stack([q, 2 * q])
    np.testing.assert_allclose(
        fx.vmap(lambda q: solution(p, q, program))(batch),
        [solution(p, x, program) for x in batch],
        atol=1e-12,
    )


def test_programs_without_inequalities_are_systems():
    found = optimize.quadprog(2 * np.eye(2), [0.0, 0.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])
    np.testing.assert_allclose(found.x, [0.5, 0.5])
    assert found.success and abs(found.con[0]) < 1e-12


def test_programs_without_a_solution_say_so():
    found = optimize.linprog([1.0], A_ub=[[1.0]], b_ub=[-1.0])
    assert not found.success and found.status == reference.linprog([1.0], A_ub=[[1.0]], b_ub=[-1.0]).status


@pytest.mark.parametrize(
    "call",
    [
        lambda: optimize.linprog([1.0], A_ub=[[1.0]]),
        lambda: optimize.linprog([1.0], [[1.0, 2.0]], [1.0]),
        lambda: optimize.linprog([1.0], method="simplex"),
        lambda: optimize.linprog([1.0], integrality=1),
        lambda: optimize.quadprog(np.eye(2), [1.0]),
    ],
)
def test_messages(call):
    with pytest.raises(
        (fx.ShapeError, fx.StructureError, fx.UnsupportedError), match=r"linprog|quadprog|A_ub"
    ):
        call()
