"""Linear and quadratic programs, with derivatives of their solutions in all that states them.

A solver tells which constraints hold with equality and press: these, and the slope of the objective, are linear
equations of the solution and its multipliers. The choice is a constant; where it changes, the solution has a kink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    ArrayLike,
    ConcretizationError,
    ShapeDtypeStruct,
    ShapeError,
    UnsupportedError,
    api_boundary,
    check_option,
    concretize,
    ops,
    pure_callback,
)
from ..reference import library
from .implicit import holds_tracers, make_result, warn_of_no_solution

METHODS = ("highs", "highs-ds", "highs-ipm")
STEPS, EXACT = 60, 1e-11  # of the interior-point method: at most, and to what part of the size of the data
TO_THE_BOUNDARY = 0.99  # how much of the way a step may go


def rows_of(name: str, a: Any, b: Any, size: int) -> tuple[Any, Any]:
    """Return the matrix and the right side of constraints, which may be None."""
    if a is None or b is None:
        if a is not b:
            raise ShapeError(
                f"{name} without its other half", hint="the matrix A_… and the vector b_… together"
            )
        return np.zeros((0, size)), np.zeros(0)
    a, b = fnp.atleast_2d(fnp.asarray(a, float)), fnp.atleast_1d(fnp.asarray(b, float))
    if a.shape != (b.size, size) or b.ndim != 1:
        raise ShapeError(
            f"{name}: a matrix of shape {a.shape} and a vector of shape {b.shape} for {size} unknowns",
            hint=f"shapes (m, {size}) and (m,)",
        )
    return a, b


def constraints_of(
    size: int, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the rows and sides of all inequalities, those of bounds among them, and those of the equations."""
    (upper, sides), (low, edges) = rows_of("A_ub", A_ub, b_ub, size), rows_of_bounds(bounds, size)
    equal, values = rows_of("A_eq", A_eq, b_eq, size)
    return fnp.concatenate([upper, low]), fnp.concatenate([sides, edges]), equal, values


def rows_of_bounds(bounds: Any, size: int) -> tuple[Any, Any]:
    """Return bounds as rows of a matrix and right sides: −x ≤ −low, x ≤ high, where there are any."""
    if bounds is None:
        return np.zeros((0, size)), np.zeros(0)
    pairs = [*bounds]
    if len(pairs) == 2 and all(np.ndim(p) == 0 for p in pairs):  # one pair for all
        pairs = [pairs] * size
    pairs = pairs * size if len(pairs) == 1 else pairs
    rows, sides = [], []
    for i, (low, high) in enumerate(pairs):
        for bound, sign in ((low, -1.0), (high, 1.0)):
            if bound is not None and not is_infinite(bound):
                rows.append(sign * np.eye(size)[i])
                sides.append(sign * fnp.asarray(bound, float))
    return (np.stack(rows), fnp.stack(sides)) if rows else (np.zeros((0, size)), np.zeros(0))


def is_infinite(bound: Any) -> bool:
    """Whether a bound is known to be none."""
    try:
        return bool(np.isinf(concretize(bound, "bounds")))
    except ConcretizationError:
        return False


def solve_linear(method: str, c: Any, upper: Any, sides: Any, equal: Any, values: Any) -> tuple[Any, ...]:
    """Return the solution of a linear program, which inequalities press, and (success, status, iterations)."""
    solver = library("optimize", "fxgrad.scipy.optimize.linprog").linprog
    given = (
        {"A_ub": upper, "b_ub": sides, "A_eq": equal, "b_eq": values}
        if len(equal)
        else {"A_ub": upper, "b_ub": sides}
    )
    found = solver(c, **given, bounds=(None, None), method=method)
    active = np.zeros(len(sides), bool)
    x = np.full(len(c), np.nan) if found.x is None else found.x
    if found.x is not None:
        # A vertex is where as many independent constraints meet as there are unknowns: those that press come first.
        slack, force = sides - upper @ x, -found.ineqlin.marginals
        chosen = [*equal]
        scale = 1e-7 * (1 + np.abs(sides))
        for i in np.lexsort((slack, -force)):
            meets = len(chosen) < len(c) and slack[i] <= scale[i]
            if meets and np.linalg.matrix_rank(np.array([*chosen, upper[i]])) > len(chosen):
                chosen.append(upper[i])
                active[i] = True
    return x, active, np.array(found.success), np.array(found.status), np.array(found.nit)


def solve_quadratic(p: Any, q: Any, upper: Any, sides: Any, equal: Any, values: Any) -> tuple[Any, ...]:
    """Return the solution of a convex quadratic program by Mehrotra's predictor and corrector (1992), which
    inequalities press, and (success, status, iterations)."""
    n, m, k = len(q), len(sides), len(values)
    size = 1 + max(np.abs(v).max(initial=0) for v in (p, q, upper, sides, equal, values))

    def errors(x: Any, y: Any, z: Any, s: Any) -> tuple[Any, Any, Any]:
        return p @ x + q + upper.T @ z + equal.T @ y, upper @ x + s - sides, equal @ x - values

    def advance(x: Any, y: Any, z: Any, s: Any) -> tuple[Any, ...]:
        slope, gap, miss = errors(x, y, z, s)
        matrix = np.block([[p + upper.T @ ((z / s)[:, None] * upper), equal.T], [equal, np.zeros((k, k))]])

        def direction(push: Any) -> tuple[Any, ...]:
            right = np.concatenate([-slope - upper.T @ ((z * gap - push) / s), -miss])
            step = np.linalg.lstsq(matrix, right, rcond=None)[0]
            ds = -gap - upper @ step[:n]
            return step[:n], step[n:], (-push - z * ds) / s, ds

        def length(dz: Any, ds: Any) -> float:
            held, changes = np.concatenate([z, s]), np.concatenate([dz, ds])
            shrinks = changes < 0
            return float(min(1.0, (-held[shrinks] / changes[shrinks]).min(initial=np.inf)))

        if not m:
            dx, dy, *_ = direction(s)
            return x + dx, y + dy, z, s
        mean = s @ z / m
        *_, dz, ds = direction(s * z)
        far = length(dz, ds)
        centre = ((s + far * ds) @ (z + far * dz) / m / mean) ** 3
        dx, dy, dz, ds = direction(s * z + ds * dz - centre * mean)
        far = min(1.0, TO_THE_BOUNDARY * length(dz, ds))
        return x + far * dx, y + far * dy, z + far * dz, s + far * ds

    point: tuple[Any, ...] = (np.zeros(n), np.zeros(k), np.ones(m), np.ones(m))
    steps, done = 0, False
    with np.errstate(all="ignore"):  # where nothing is feasible multipliers grow without bounds
        while not done and steps < STEPS and np.isfinite(point[2] / point[3]).all():
            steps += 1
            point = advance(*point)
            left = (*errors(*point), point[3] * point[2])
            done = max(np.abs(v).max(initial=0) for v in left) <= EXACT * size
    x, _, z, s = point
    return x, z > s, np.array(done), np.array(0 if done else 1), np.array(steps)


def solve_program(
    p: Any, q: Any, upper: Any, sides: Any, equal: Any, values: Any, solver: Callable[..., tuple[Any, ...]]
) -> Any:
    """Return the result of a program: minimize ½xᵀPx + qᵀx subject to upper·x ≤ sides and equal·x = values."""
    n, m, k = q.size, sides.size, values.size
    declared = [
        ShapeDtypeStruct((n,), float), ShapeDtypeStruct((m,), bool), ShapeDtypeStruct((), bool),
        ShapeDtypeStruct((), int), ShapeDtypeStruct((), int),
    ]  # fmt: skip
    operands = [ops.stop_gradient(v) for v in (p, q, upper, sides, equal, values)]
    differentiated = holds_tracers((p, q, upper, sides, equal, values))

    def solve(*given: Any) -> list[Any]:
        found = list(solver(*map(np.asarray, given)))
        if differentiated and not found[2]:
            warn_of_no_solution()
        return found

    found, active, success, status, steps = pure_callback(
        solve, declared, *operands, vmap_method="sequential"
    )
    # Rows of what presses; of the other inequalities the multiplier is zero.
    presses = fnp.astype(active, float)[:, None]
    matrix = fnp.concatenate(
        [
            fnp.concatenate([p, upper.T, equal.T], axis=1),
            fnp.concatenate([presses * upper, fnp.diag(1 - presses[:, 0]), np.zeros((m, k))], axis=1),
            fnp.concatenate([equal, np.zeros((k, m + k))], axis=1),
        ]
    )
    right = fnp.concatenate([-q, presses[:, 0] * sides, values])
    solution = fnp.linalg.lstsq(matrix, right)[0] if n else right
    x = solution[:n]
    x = ops.where(success, x, found)
    return make_result(
        x=x, fun=0.5 * (x @ p @ x) + q @ x, success=success, status=status, nit=steps,
        slack=sides - upper @ x, con=values - equal @ x,
    )  # fmt: skip


@api_boundary
def linprog(
    c: ArrayLike,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Minimize c·x subject to A_ub·x ≤ b_ub, A_eq·x = b_eq and bounds, with derivatives of the solution.

    The solution is a vertex: it moves with the constraints that meet there, and does not depend on c nearby.

    Args:
        c: the vector of the objective.
        A_ub, b_ub, A_eq, b_eq: the constraints, each a matrix and a vector.
        bounds: (low, high) for all unknowns, or one pair for each; None and infinities are none.
        method: "highs", "highs-ds" or "highs-ipm".
        callback, options, x0: have no effect.
        integrality: is refused: whole numbers have no derivatives.

    Returns:
        SciPy's OptimizeResult: x, fun, success, status, nit, slack (of A_ub and of bounds) and con.

    Raises:
        ShapeError: matrices and vectors that do not fit.
        StructureError: another `method`.
        UnsupportedError: `integrality`.

    >>> def lowest(b):
    ...     return fx.scipy.optimize.linprog([-1.0, -2.0], A_ub=[[1.0, 1.0], [0.0, 1.0]], b_ub=b).x
    >>> lowest(np.array([4.0, 3.0])).round(6)
    array([1., 3.])
    >>> fx.jacobian(lowest)(np.array([4.0, 3.0])).round(6) + 0.0
    array([[ 1., -1.],
           [ 0.,  1.]])
    """
    if integrality is not None:
        raise UnsupportedError(
            "linprog: integrality", hint="scipy.optimize.linprog, outside of what is transformed"
        )
    check_option("linprog", "method", method, METHODS)
    q = fnp.atleast_1d(fnp.asarray(c, float))

    def solver(p: Any, *given: Any) -> tuple[Any, ...]:
        return solve_linear(method, *given)

    rows = constraints_of(q.size, A_ub, b_ub, A_eq, b_eq, bounds)
    return solve_program(np.zeros((q.size, q.size)), q, *rows, solver)


@api_boundary
def quadprog(
    P: ArrayLike,
    q: ArrayLike,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = None,
) -> Any:
    """Minimize ½·xᵀPx + q·x subject to A_ub·x ≤ b_ub, A_eq·x = b_eq and bounds, with derivatives of the solution: a
    layer of a network (Amos and Kolter, "OptNet", 2017), a portfolio, a step of a controller. SciPy has no function of
    this kind.

    Args:
        P: a symmetric matrix, positive semidefinite.
        q: the vector of the objective.
        A_ub, b_ub, A_eq, b_eq, bounds: constraints as of `linprog`; unknowns have no bounds unless they are given.

    Returns:
        SciPy's OptimizeResult: x, fun, success, status, nit, slack and con.

    Raises:
        ShapeError: matrices and vectors that do not fit.

    >>> project = lambda q: fx.scipy.optimize.quadprog(np.eye(2), q, bounds=(0, None)).x
    >>> project(np.array([-2.0, 3.0])).round(6) + 0.0
    array([2., 0.])
    >>> fx.jacobian(project)(np.array([-2.0, 3.0])).round(6) + 0.0
    array([[-1.,  0.],
           [ 0.,  0.]])
    """
    q = fnp.atleast_1d(fnp.asarray(q, float))
    p = fnp.asarray(P, float)
    if p.shape != (q.size, q.size):
        raise ShapeError(
            f"quadprog: a matrix of shape {p.shape} for {q.size} unknowns", hint=f"shape {(q.size, q.size)}"
        )
    p = (p + p.T) / 2
    return solve_program(p, q, *constraints_of(q.size, A_ub, b_ub, A_eq, b_eq, bounds), solve_quadratic)


__all__ = ["linprog", "quadprog"]
