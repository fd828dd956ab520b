"""Boundary value problems of ordinary differential equations, by collocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    ArrayLike,
    ConcretizationError,
    UnsupportedError,
    api_boundary,
    concretize,
    jacobian,
    pytree,
)
from ...numpy.documentation import described
from ..optimize.implicit import holds_tracers, make_result, solve_traced
from ..reference import library

__all__ = ["solve_bvp"]


@api_boundary
@described("scipy.integrate.solve_bvp", "")
def solve_bvp(
    fun: Callable[..., Any],
    bc: Callable[..., Any],
    x: ArrayLike,
    y: ArrayLike,
    p: ArrayLike | None = None,
    S: ArrayLike | None = None,
    fun_jac: Callable[..., Any] | None = None,
    bc_jac: Callable[..., Any] | None = None,
    tol: float = 1e-3,
    max_nodes: int = 1000,
    verbose: int = 0,
    bc_tol: float | None = None,
) -> Any:
    """Solve dy/dx = fun(x, y, p) with bc(y(a), y(b), p) = 0, with derivatives in all that both functions read.

    On plain values it is SciPy's function. Where they read traced values, or the interval is traced, SciPy chooses
    the mesh by the values that are known, and the collocation system on that mesh (of fourth order, as SciPy's:
    Kierzenka and Shampine 2001) is solved to the last digits and differentiated implicitly. The matrix of the
    system is dense: of a thousand unknowns, components times nodes, it takes 8 MB. Under `jit` and `vmap`, where
    the values are not known, the mesh is `x` as it is given: give one that is fine enough.

    Args:
        fun: (x, y), or (x, y, p), → the slopes [n, m], for nodes x [m] and y [n, m].
        bc: (ya, yb), or (ya, yb, p), → the n + k conditions at the ends.
        x: the nodes [m] of a first mesh, increasing. The ends may be traced.
        y: a first guess [n, m] at the nodes, of which the solution has no derivative.
        p: a first guess of k unknown parameters, or None.
        S: as for SciPy's; of plain values only.
        fun_jac, bc_jac: Jacobians for SciPy's search; by default it uses differences.
        tol, max_nodes, verbose, bc_tol: for SciPy's search and choice of the mesh.

    Returns:
        SciPy's result; on traced values one with x, y, yp (the slopes), p, success and status. The solution between
        nodes is `interpolate.CubicHermiteSpline(found.x, found.y, found.yp, axis=1)`, SciPy's `sol`.

    Raises:
        UnsupportedError: `S` beside traced values.

    A rod that is heated by s, whose ends are cold, has u = s x (1 − x) / 2; the derivative of its largest value in s:

    >>> def largest(s):
    ...     fun = lambda x, y: fnp.stack([y[1], -s * fnp.ones_like(x)])
    ...     cold = lambda a, b: fnp.stack([a[0], b[0]])
    ...     found = integrate.solve_bvp(fun, cold, np.linspace(0, 1, 5), np.zeros((2, 5)))
    ...     return found.y[0].max()
    >>> print(largest(1.0).round(6), fx.grad(largest)(1.0).round(6))
    0.125 0.125
    """
    traced = holds_tracers((x, y, p))
    mesh: Any = x if traced else np.asarray(x, float)
    guess: tuple[Any, ...] = (y if traced else np.asarray(y), *(() if p is None else (p,)))
    solver = library("integrate", "fxgrad.scipy.integrate.solve_bvp").solve_bvp
    choices = {
        "fun_jac": fun_jac, "bc_jac": bc_jac, "tol": tol, "max_nodes": max_nodes, "verbose": verbose, "bc_tol": bc_tol,
    }  # fmt: skip
    first = (fun(mesh, *guess), bc(guess[0][:, 0], guess[0][:, -1], *guess[1:]))
    if not traced and not holds_tracers((S, first)):
        plain = lambda f: lambda *given: np.asarray(f(*given))  # noqa: E731
        return solver(plain(fun), plain(bc), mesh, guess[0], p, S, **choices)
    if S is not None:
        raise UnsupportedError(
            "solve_bvp of traced values with a singular term S",
            hint="S @ y / (x - a) as a part of fun, for x > a",
        )

    def known(value: Any) -> Any:
        return pytree.map(lambda v: np.asarray(concretize(v, "solve_bvp")), value)

    def of_known(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: known(f(*given))

    try:
        found = solver(of_known(fun), of_known(bc), *known((mesh, *guess)), **choices)
        guess = (found.y, *(() if p is None else (found.p,)))
        share = (found.x - found.x[0]) / (found.x[-1] - found.x[0])
        mesh = mesh[0] + share * (mesh[-1] - mesh[0])  # it moves with the interval
    except ConcretizationError:
        mesh = fnp.asarray(mesh, float)
    return solve_on_mesh(fun, bc, mesh, *map(fnp.asarray, guess))


def solve_on_mesh(fun: Callable[..., Any], bc: Callable[..., Any], x: Any, y: Any, *p: Any) -> Any:
    """Solve the collocation system on a mesh, from a guess."""
    n, m = y.shape

    def split(unknowns: Any) -> tuple[Any, ...]:
        return (unknowns[: n * m].reshape(n, m), *([unknowns[n * m :]] if p else []))

    def residual(unknowns: Any) -> Any:
        values, *parameters = split(unknowns)
        conditions = bc(values[:, 0], values[:, -1], *parameters)
        return fnp.concatenate(
            [collocate(fun, x, values, parameters).ravel(), fnp.ravel(fnp.asarray(conditions))]
        )

    def solver(residual: Callable[[Any], Any], start: Any) -> Any:
        slope = jacobian(residual)
        found = library("optimize", "fxgrad.scipy.integrate.solve_bvp").root(
            lambda v: np.asarray(residual(v)), start, jac=lambda v: np.asarray(slope(v))
        )
        return found.x, [found.success, found.status]

    start = fnp.concatenate([fnp.ravel(v) for v in (y, *p)])
    unknowns, (success, status) = solve_traced(residual, lambda f: f, solver, start, [True, 0])
    values, *parameters = split(unknowns)
    slopes = fnp.asarray(fun(x, values, *parameters))
    told = {"p": parameters[0]} if parameters else {}
    return make_result(x=x, y=values, yp=slopes, success=success, status=status, **told)


def collocate(fun: Callable[..., Any], x: Any, y: Any, p: Any) -> Any:
    """Return what is left of the differential equation in each interval [n, m − 1] if a cubic spline takes the values y
    and the slopes of fun at the nodes: by Simpson's rule, with the slope at the middle of the spline."""
    h, f = x[1:] - x[:-1], fnp.asarray(fun(x, y, *p))
    middle = (y[:, 1:] + y[:, :-1]) / 2 - h / 8 * (f[:, 1:] - f[:, :-1])
    between = fnp.asarray(fun(x[:-1] + h / 2, middle, *p))
    return y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * between)
