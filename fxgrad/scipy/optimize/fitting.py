"""Least squares and curve fitting."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    ArrayLike,
    PyTree,
    StructureError,
    Tracer,
    UnsupportedError,
    api_boundary,
    check_option,
    grad,
    jacobian,
)
from ...tree import ravel_pytree
from ..reference import library
from .implicit import Unknowns, arguments, is_traced, make_result, result_class, solve_traced
from .minimization import project_gradient

# ρ(z) of squares z of residuals, for each loss.
LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (fnp.sqrt(1 + z) - 1),
    "huber": lambda z: fnp.where(z <= 1, z, 2 * fnp.sqrt(fnp.where(z <= 1, 1.0, z)) - 1),
    "cauchy": fnp.log1p,
    "arctan": fnp.arctan,
}


@api_boundary
def least_squares(
    fun: Callable[..., Any],
    x0: PyTree,
    jac: Any = None,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    *,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Minimize ½·Σ ρ(residual²) by SciPy, with derivatives of the minimum.

    Args:
        fun: (x, *args, **kwargs) → residuals, a pytree of arrays.
        x0: where to start: a pytree of arrays.
        jac: None for this library's Jacobian, a function, or SciPy's "2-point", "3-point", "cs".
        bounds: (low, high), numbers or arrays as many as there are unknowns; they may be traced.
        method, ftol, xtol, gtol, x_scale, f_scale, options: as for `scipy.optimize.least_squares`.
        loss: "linear", "soft_l1", "huber", "cauchy" or "arctan".
        args, kwargs: further arguments.

    Returns:
        SciPy's OptimizeResult: `x` like `x0`, `fun` the residuals there, `cost`, `jac`, `success`, and more. Where
        parameters are traced it has x, fun, cost, jac, success, status and nfev.

    Raises:
        StructureError: there is no such `loss`.
        UnsupportedError: a function as `loss`, of traced values.

    >>> t = np.array([0.0, 1.0, 2.0])
    >>> fit = lambda y: optimize.least_squares(lambda p: p[0] + p[1] * t - y, np.zeros(2)).x
    >>> fx.jacobian(fit)(np.array([1.0, 2.0, 3.0])).round(6) + 0.0
    array([[ 0.833333,  0.333333, -0.166667],
           [-0.5     ,  0.      ,  0.5     ]])
    """
    unknowns, args, kwargs = Unknowns(x0), arguments(args), kwargs or {}
    if not callable(loss):
        check_option("least_squares", "loss", loss, LOSSES)

    def residuals(x: Any) -> Any:
        return ravel_pytree(fun(unknowns.restore(x), *args, **kwargs))[0]

    choices = {"method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale,
               **({} if x_scale is None else {"x_scale": x_scale}), **options}  # fmt: skip

    def solver(residuals: Any, start: Any, *limits: Any, slope: Any = None) -> Any:
        if slope is None:
            own = jacobian(residuals)
            slope = lambda x: np.asarray(own(np.asarray(x)))  # noqa: E731
        find = library("optimize", "fxgrad.scipy.optimize.least_squares").least_squares
        return find(
            lambda x: np.asarray(residuals(x), float), start, slope, limits or (-np.inf, np.inf), **choices
        )

    if not is_traced(unknowns, (args, kwargs, bounds), residuals):
        result_class()
        slope = (lambda x: np.asarray(jac(unknowns.restore(x), *args, **kwargs))) if callable(jac) else jac
        limits = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
        found = solver(residuals, unknowns.start, *limits, slope=slope)
        found.x = unknowns.restore(np.asarray(found.x, unknowns.start.dtype))
        return found
    if callable(loss):
        raise UnsupportedError(
            "least_squares of traced values with a function as loss", hint=f"one of {[*LOSSES]}"
        )
    low, high = bounds
    limits: Any = ()
    if not (is_infinite(low) and is_infinite(high)):
        limits = tuple(fnp.broadcast_to(fnp.asarray(b, float), unknowns.start.shape) for b in (low, high))

    def cost(residuals: Any) -> Any:
        rho = LOSSES[loss]
        return lambda x: 0.5 * f_scale**2 * fnp.sum(rho((residuals(x) / f_scale) ** 2))

    def conditions(residuals: Any) -> Any:
        return lambda x: project_gradient(x, grad(cost(residuals))(x), *(limits or (None, None)))

    def tell(residuals: Any, start: Any, *limits: Any) -> Any:
        found = solver(residuals, start, *limits)
        return found.x, [found.success, found.status, found.nfev]

    x, (success, status, nfev) = solve_traced(
        residuals, conditions, tell, unknowns.start, [True, 0, 0], limits
    )
    return make_result(
        x=unknowns.restore(x), fun=residuals(x), cost=cost(residuals)(x), jac=jacobian(residuals)(x), success=success,
        status=status, nfev=nfev,
    )  # fmt: skip


def is_infinite(bound: Any) -> bool:
    """Whether a bound is known to bind nothing."""
    return not isinstance(bound, Tracer) and bool(np.all(np.isinf(bound)))


@api_boundary
def curve_fit(
    f: Callable[..., Any],
    xdata: ArrayLike,
    ydata: ArrayLike,
    p0: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **options: Any,
) -> Any:
    """Fit the parameters of a curve f(x, *parameters) to data, with derivatives in the data, in sigma and in bounds.

    Args:
        f: (xdata, *parameters) → what ydata should be.
        xdata, ydata: the data.
        p0: where to start; None: ones.
        sigma: the uncertainties of ydata, or their covariance matrix.
        absolute_sigma, check_finite, bounds, method, jac, full_output, nan_policy, options: as for SciPy.

    Returns:
        The parameters, and their estimated covariance. (With `full_output` of plain values what SciPy returns.)

    Raises:
        StructureError: without `p0`, the parameters of `f` cannot be counted.

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> line = lambda x, a, b: a + b * x
    >>> fit = lambda y: optimize.curve_fit(line, x, y)[0][1]
    >>> fx.grad(fit)(np.array([1.0, 2.5, 3.0])).round(6) + 0.0
    array([-0.5,  0. ,  0.5])
    """
    if p0 is None:
        count = len(inspect.signature(f).parameters) - 1
        if any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(f).parameters.values()):
            raise StructureError("Unable to determine number of fit parameters.", hint="p0=")
        p0 = np.ones(count)
    unknowns = Unknowns(p0)
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds

    def curve(p: Any) -> Any:
        return f(xdata, *p)

    if not is_traced(unknowns, (xdata, ydata, sigma, low, high), curve):
        slope = jac
        if jac is None:
            own = jacobian(lambda p, x: fnp.ravel(f(x, *p)))
            slope = lambda x, *p: np.asarray(own(np.asarray(p, float), x))  # noqa: E731
        checks = {} if check_finite is None else {"check_finite": check_finite}
        return library("optimize", "fxgrad.scipy.optimize.curve_fit").curve_fit(
            f, xdata, ydata, unknowns.start, sigma, absolute_sigma, bounds=bounds, method=method, jac=slope,
            full_output=full_output, nan_policy=nan_policy, **checks, **options,
        )  # fmt: skip
    ydata = fnp.ravel(fnp.asarray(ydata, float))

    def residuals(p: Any) -> Any:
        difference = fnp.ravel(curve(p)) - ydata
        if sigma is None:
            return difference
        spread = fnp.asarray(sigma, float)
        if spread.ndim < 2:
            return difference / spread
        factor = fnp.linalg.cholesky(spread)
        return fnp.linalg.solve(factor, difference)

    if "maxfev" in options:  # as SciPy calls it with the method "lm"
        options["max_nfev"] = options.pop("maxfev")
    chosen = method or ("lm" if is_infinite(low) and is_infinite(high) else "trf")
    found = least_squares(residuals, unknowns.start, bounds=(low, high), method=chosen, **options)
    slope, count = found.jac, found.fun.size - unknowns.start.size
    covariance = fnp.linalg.inv(slope.T @ slope)
    if not absolute_sigma:
        covariance = covariance * (2 * found.cost / count) if count > 0 else covariance * np.inf
    return found.x, covariance


__all__ = ["curve_fit", "least_squares"]
