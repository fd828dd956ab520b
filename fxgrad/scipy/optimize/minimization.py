"""Minimization of functions of one and of many variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    PyTree,
    ShapeError,
    StructureError,
    UnsupportedError,
    api_boundary,
    grad,
    hessian,
    jacobian,
    jvp,
    value_and_grad,
)
from ..reference import library
from .implicit import Unknowns, arguments, is_traced, make_result, result_class, solve_traced

# The methods of SciPy that read the gradient, those that read products with the Hessian, and those that read it whole.
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
WITH_GRADIENT = {"cg", "bfgs", "l-bfgs-b", "l-bfgs", "tnc", "slsqp"} | WITH_PRODUCTS | WITH_HESSIAN
COUNTS = ("success", "status", "nfev", "njev", "nit")


@api_boundary
def minimize(
    fun: Callable[..., Any],
    x0: PyTree,
    args: Any = (),
    method: str | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function by one of SciPy's methods, with derivatives of the minimum.

    Gradients, products with the Hessian, and Jacobians of constraints are given to the method where it reads them.

    Args:
        fun: (x, *args) → a real number.
        x0: where to start: a pytree of arrays.
        args: further arguments, pytrees of arrays.
        method: as for `scipy.optimize.minimize`; "BFGS" is the default, "L-BFGS-B" with bounds.
        jac: None for this library's gradient; True where `fun` returns (value, gradient); a function, or SciPy's
            "2-point", "3-point", "cs" for differences.
        hess, hessp: functions for the Hessian and its products, where ours are not wanted.
        bounds: pairs (low, high) for the entries of x, None for none, or SciPy's `Bounds`.
        constraints: as for SciPy; not with traced values.
        tol, callback, options: as for SciPy.

    Returns:
        SciPy's OptimizeResult: `x` is like `x0`, `fun` the value there, `jac` the gradient, and more. Where parameters
        are traced it has x, fun, jac, success, status, nfev, njev and nit; x and what is computed from it have
        derivatives with respect to `args` and whatever `fun` closes over.

    Raises:
        ShapeError: `fun` has not one result.
        UnsupportedError: constraints on traced values.
        StructureError: not one pair of `bounds` for each unknown.

    >>> def lowest(a):
    ...     return optimize.minimize(lambda x, a: ((x - a) ** 2).sum() + (x[0] * x[1]) ** 2, np.ones(2), (a,)).x
    >>> lowest(np.array([1.0, 0.0])).round(4) + 0.0
    array([1., 0.])
    >>> fx.jacobian(lowest)(np.array([1.0, 0.0])).round(4) + 0.0
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    unknowns, args = Unknowns(x0), arguments(args)
    has_gradient = jac is True

    def value(x: Any) -> Any:
        found = fun(unknowns.restore(x), *args)
        found = found[0] if has_gradient else found
        if fnp.size(found) != 1:
            raise ShapeError(
                f"minimize: fun is a function with one result, not with one of shape {fnp.shape(found)}",
                hint="sum it, fnp.sum(…); for a sum of squares fx.scipy.optimize.least_squares",
            )
        return fnp.reshape(found, ())

    word = method.lower() if isinstance(method, str) else method
    if word is None:
        word = "slsqp" if constraints else "l-bfgs-b" if bounds is not None else "bfgs"
    if word == "l-bfgs":  # JAX's name
        word = "l-bfgs-b"
    choices = {"tol": tol, "options": options}
    if not is_traced(unknowns, (args, bounds), value):
        derivatives = choose_derivatives(value, word, jac, hess, hessp, unknowns, args, fun)
        constraints = [with_jacobian(c) for c in as_list(constraints)]
        found = library("optimize", "fxgrad.scipy.optimize.minimize").minimize(
            derivatives.pop("fun"), unknowns.start, method=word, bounds=bounds, constraints=constraints,
            callback=flat_callback(callback, unknowns), **derivatives, **choices,
        )  # fmt: skip
        return restore_result(found, unknowns)
    if constraints:
        raise UnsupportedError("minimize with constraints on traced values", hint="bounds=, or a penalty")
    low, high = bound_arrays(bounds, unknowns.start)

    def solver(value: Any, start: Any, *limits: Any) -> Any:
        derivatives = choose_derivatives(value, word, None, None, None, unknowns, (), value)
        pairs = list(zip(*limits)) if limits else None
        found = library("optimize", "fxgrad.scipy.optimize.minimize").minimize(
            derivatives.pop("fun"), start, method=word, bounds=pairs, **derivatives, **choices
        )
        return found.x, [found.get(name, 0) for name in COUNTS]

    def conditions(value: Any) -> Any:
        return lambda x: project_gradient(x, grad(value)(x), low, high)

    limits = () if low is None else (low, high)
    x, told = solve_traced(value, conditions, solver, unknowns.start, [True, 0, 0, 0, 0], limits)
    y, slope = value_and_grad(value)(x)
    return make_result(x=unknowns.restore(x), fun=y, jac=unknowns.restore(slope), **dict(zip(COUNTS, told)))


def as_list(constraints: Any) -> list[Any]:
    """Constraints as a list."""
    return list(constraints) if isinstance(constraints, list | tuple) else [constraints]


def project_gradient(x: Any, slope: Any, low: Any, high: Any) -> Any:
    """What vanishes at a minimum: the gradient, or x − P(x − gradient) with the projection P onto bounds."""
    if low is None:
        return slope
    return x - fnp.clip(x - slope, low, high)


def bound_arrays(bounds: Any, start: Any) -> tuple[Any, Any]:
    """Return lower and upper bounds as vectors, or (None, None)."""
    if bounds is None:
        return None, None
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = list(bounds)
        if len(pairs) != start.size:
            raise StructureError(
                f"minimize: bounds has {len(pairs)} pairs, x0 {start.size} entries",
                hint=f"[(low, high)] * {start.size}, with None for no bound",
            )
        low = fnp.stack([fnp.asarray(-np.inf if a is None else a, float) for a, _ in pairs])
        high = fnp.stack([fnp.asarray(np.inf if b is None else b, float) for _, b in pairs])
    return fnp.broadcast_to(low, start.shape), fnp.broadcast_to(high, start.shape)


def choose_derivatives(
    value: Any, method: Any, jac: Any, hess: Any, hessp: Any, unknowns: Unknowns, args: tuple, fun: Any
) -> dict[str, Any]:
    """Return the function for SciPy, with the derivatives that its method reads."""
    chosen: dict[str, Any] = {"fun": lambda x: float(value(x))}
    if jac is True:

        def both(x: Any) -> Any:
            y, slope = fun(unknowns.restore(x), *args)
            return float(y), Unknowns(slope).start

        chosen |= {"fun": both, "jac": True}
    elif callable(jac):
        chosen["jac"] = lambda x: np.asarray(Unknowns(jac(unknowns.restore(x), *args)).start)
    elif jac is not None and jac is not False:
        chosen["jac"] = jac
    elif callable(method) or method in WITH_GRADIENT:
        slope = value_and_grad(value)

        def valued(x: Any) -> Any:
            y, g = slope(np.asarray(x, unknowns.start.dtype))
            return float(y), np.asarray(g, float)

        chosen |= {"fun": valued, "jac": True}
    if hessp is not None:
        chosen["hessp"] = lambda x, p: Unknowns(hessp(unknowns.restore(x), unknowns.restore(p), *args)).start
    elif hess is not None:
        chosen["hess"] = (lambda x: np.asarray(hess(unknowns.restore(x), *args))) if callable(hess) else hess
    elif method in WITH_PRODUCTS:
        chosen["hessp"] = lambda x, p: np.asarray(
            jvp(grad(value), (np.asarray(x),), (np.asarray(p, float),))[1]
        )
    elif method in WITH_HESSIAN:
        chosen["hess"] = lambda x: np.asarray(hessian(value)(np.asarray(x)))
    return chosen


def with_jacobian(constraint: Any) -> Any:
    """A constraint given as a dictionary, with this library's Jacobian if there is none."""
    if not isinstance(constraint, dict) or constraint.get("jac") is not None:
        return constraint
    return {
        **constraint,
        "jac": lambda x, *args: np.asarray(jacobian(constraint["fun"])(np.asarray(x), *args)),
    }


def flat_callback(callback: Any, unknowns: Unknowns) -> Any:
    """The user's callback as a function of the vector, or of SciPy's intermediate result."""
    if callback is None:
        return None
    import inspect

    try:
        wants_result = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):
        wants_result = False
    if wants_result:
        return callback
    return lambda x, *rest: callback(unknowns.restore(x), *rest)


def restore_result(found: Any, unknowns: Unknowns) -> Any:
    """SciPy's result, with x and the gradient as pytrees like x0."""
    result_class()
    found.x = unknowns.restore(np.asarray(found.x, unknowns.start.dtype))
    slope = found.get("jac")
    if slope is not None and np.shape(slope) == unknowns.start.shape:
        found.jac = unknowns.restore(np.asarray(slope, unknowns.start.dtype))
    return found


@api_boundary
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: str | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function of one real variable by SciPy, with derivatives of the minimum.

    Args:
        fun: (x, *args) → a real number.
        bracket, bounds, method, tol, options: as for `scipy.optimize.minimize_scalar`.
        args: further arguments, pytrees of arrays.

    Returns:
        SciPy's OptimizeResult with `x`, `fun`, `success`, `nfev` and `nit`.

    >>> f = lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2 + 1).x
    >>> round(float(f(2.0)), 6), round(float(fx.grad(f)(2.0)), 6)
    (2.0, 1.0)
    """
    args = arguments(args)
    start = fnp.asarray(0.0 if bounds is None else (bounds[0] + bounds[1]) / 2, float)
    unknowns = Unknowns(start)

    def value(x: Any) -> Any:
        return fnp.reshape(fun(fnp.reshape(x, ()), *args), ())

    def solver(value: Any, start: Any, *limits: Any) -> Any:
        found = library("optimize", "fxgrad.scipy.optimize.minimize_scalar").minimize_scalar(
            lambda x: float(value(np.array([x]))),
            bracket=bracket, bounds=tuple(map(float, limits)) or None, method=method, tol=tol, options=options,
        )  # fmt: skip
        return np.array([found.x]), [found.success, found.nfev, found.nit]

    if not is_traced(unknowns, (args, bounds), value):
        return library("optimize", "fxgrad.scipy.optimize.minimize_scalar").minimize_scalar(
            lambda x: float(fun(x, *args)),
            bracket=bracket,
            bounds=bounds,
            method=method,
            tol=tol,
            options=options,
        )
    limits = () if bounds is None else tuple(fnp.asarray(b, float) for b in bounds)
    low, high = limits or (None, None)

    def conditions(value: Any) -> Any:
        return lambda x: project_gradient(x, grad(value)(x), low, high)

    x, (success, nfev, nit) = solve_traced(value, conditions, solver, unknowns.start, [True, 0, 0], limits)
    return make_result(x=fnp.reshape(x, ()), fun=value(x), success=success, nfev=nfev, nit=nit)


__all__ = ["minimize", "minimize_scalar"]
