"""Roots of functions, and their fixed points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    PyTree,
    StructureError,
    Tracer,
    UnsupportedError,
    api_boundary,
    grad,
    jacobian,
)
from ...numpy.documentation import described
from ..linalg.arguments import is_known_true
from ..reference import library
from .implicit import Unknowns, arguments, is_traced, make_result, result_class, solve_traced

# -- of many variables ------------------------------------------
WITH_JACOBIAN = {"hybr", "lm"}


@api_boundary
def root(
    fun: Callable[..., Any],
    x0: PyTree,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a system of equations by one of SciPy's methods, with derivatives of the root.

    Args:
        fun: (x, *args) → a pytree with as many numbers as x.
        x0: where to start: a pytree of arrays.
        args: further arguments, pytrees of arrays.
        method, tol, callback, options: as for `scipy.optimize.root`; "hybr" and "lm" are given the Jacobian.
        jac: None for this library's Jacobian; True where `fun` returns (value, Jacobian); a function; False for
            differences.

    Returns:
        SciPy's OptimizeResult: `x` like `x0`, `fun` the value there, `success`, and more. Where parameters are traced
        it has x, fun, success, status, nfev.

    Raises:
        StructureError: `fun` gives more or fewer numbers than there are unknowns.

    >>> f = lambda a: optimize.root(lambda x: x**2 - a, np.ones(2)).x
    >>> fx.jacobian(f)(np.array([1.0, 4.0])).round(6) + 0.0
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    unknowns, args = Unknowns(x0), arguments(args)

    def residual(x: Any) -> Any:
        found = fun(unknowns.restore(x), *args)
        return flatten(found[0] if jac is True else found, unknowns)

    choices = {"method": method, "tol": tol, "callback": callback, "options": options}

    def solver(residual: Any, start: Any, slope: Any = None) -> Any:
        if slope is None and method in WITH_JACOBIAN and jac is not False:
            own = jacobian(residual)
            slope = lambda x: np.asarray(own(np.asarray(x)))  # noqa: E731
        found = library("optimize", "fxgrad.scipy.optimize.root").root(
            lambda x: np.asarray(residual(x)), start, jac=slope, **choices
        )
        return found

    if not is_traced(unknowns, args, residual):
        result_class()
        slope = None
        if callable(jac):
            slope = lambda x: np.asarray(jac(unknowns.restore(x), *args))  # noqa: E731
        elif jac is True:
            slope = lambda x: np.asarray(fun(unknowns.restore(x), *args)[1])  # noqa: E731
        found = solver(residual, unknowns.start, slope)
        found.x = unknowns.restore(np.asarray(found.x, unknowns.start.dtype))
        return found

    def tell(residual: Any, start: Any) -> Any:
        found = solver(residual, start)
        return found.x, [found.success, found.get("status", 0), found.get("nfev", 0)]

    x, (success, status, nfev) = solve_traced(
        residual, lambda f: f, tell, unknowns.start, [True, 0, 0], (), method != "lm"
    )
    return make_result(x=unknowns.restore(x), fun=residual(x), success=success, status=status, nfev=nfev)


@api_boundary
def fsolve(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: Any = (),
    fprime: Callable[..., Any] | None = None,
    full_output: bool = False,
    col_deriv: bool = False,
    xtol: float = 1.49012e-08,
    maxfev: int = 0,
    band: tuple[int, int] | None = None,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: ArrayLike | None = None,
) -> Any:
    """Find a root of a system of equations, `root(func, x0, method="hybr").x`, in SciPy's older words.

    Args:
        func: (x, *args) → as many numbers as x has.
        x0: where to start: a vector or a number.
        args: further arguments, pytrees of arrays.
        fprime: (x, *args) → the Jacobian, transposed if `col_deriv`; None for this library's.
        full_output: return (x, a dict, a flag, a message) as SciPy does; only of known numbers.
        xtol, maxfev, band, epsfcn, factor, diag: as for `scipy.optimize.fsolve`.

    Returns:
        The root, a vector, with derivatives in everything that `func` reads.

    Raises:
        UnsupportedError: `full_output` where values are traced.

    >>> f = lambda a: optimize.fsolve(lambda x: [x[0] * x[1] - a, x[0] - x[1]], [1.0, 1.0])
    >>> fx.jacobian(f)(np.float64(4.0)).round(6)
    array([0.25, 0.25])
    """
    options = {"maxfev": maxfev, "band": band, "eps": epsfcn, "factor": factor, "diag": diag}
    slope = fprime
    if fprime is not None and col_deriv:
        slope = lambda x, *args: np.asarray(fprime(x, *args)).T  # noqa: E731
    found = root(func, fnp.atleast_1d(x0), args, "hybr", slope, xtol, options=options)
    if not full_output:
        return found.x
    if isinstance(found.x, Tracer):
        raise UnsupportedError(
            "fsolve: full_output of traced values", hint="fx.scipy.optimize.root, whose result has `success`"
        )
    details = {name: found[name] for name in ("nfev", "fjac", "r", "qtf") if name in found} | {
        "fvec": found.fun
    }
    return found.x, details, found.status, found.message


def flatten(value: Any, unknowns: Unknowns) -> Any:
    """Values of equations as a vector with as many entries as there are unknowns."""
    from ...tree import ravel_pytree

    vector = ravel_pytree(value)[0]
    if vector.shape != unknowns.start.shape:
        raise StructureError(
            f"the function gives {vector.size} numbers for {unknowns.start.size} unknowns",
            hint="optimize.least_squares for more equations than unknowns",
        )
    return fnp.astype(vector, unknowns.start.dtype)


@api_boundary
@described("scipy.optimize.fixed_point", "")
def fixed_point(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Array:
    """Find x = func(x, *args) by iteration, with derivatives of the fixed point.

    Raises:
        StructureError: the function gives not as many numbers as there are unknowns.

    >>> f = lambda a: optimize.fixed_point(lambda x: fx.numpy.cos(a * x), 0.5)
    >>> round(float(f(1.0)), 6), round(float(fx.grad(f)(1.0)), 6)
    (0.739085, -0.297474)
    """
    unknowns, args = Unknowns(x0), arguments(args)

    def step(x: Any) -> Any:
        return flatten(func(unknowns.restore(x), *args), unknowns)

    def solver(step: Any, start: Any) -> Any:
        find = library("optimize", "fxgrad.scipy.optimize.fixed_point").fixed_point
        return find(lambda x: np.asarray(step(x)), start, xtol=xtol, maxiter=maxiter, method=method), []

    if not is_traced(unknowns, args, step):
        return unknowns.restore(solver(step, unknowns.start)[0])
    return unknowns.restore(solve_traced(step, lambda f: lambda x: f(x) - x, solver, unknowns.start)[0])


# -- of one variable ------------------------------------------
WITH_SLOPE, WITH_CURVATURE = {"newton", "halley"}, {"halley"}


@api_boundary
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: ArrayLike | None = None,
    x1: ArrayLike | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a function of one real variable, with derivatives of the root.

    Args:
        f: (x, *args) → a real number.
        args: further arguments, pytrees of arrays.
        method: as for `scipy.optimize.root_scalar`; None: "brentq" with a bracket, else "newton".
        bracket: (a, b) at which f has different signs. No derivative depends on it, nor on x0 and x1.
        fprime, fprime2: derivatives, where this library's are not wanted.
        x0, x1: where to start.
        xtol, rtol, maxiter, options: as for SciPy.

    Returns:
        SciPy's RootResults; where parameters are traced an OptimizeResult with root, converged, iterations and
        function_calls.

    Raises:
        StructureError: neither `bracket` nor `x0` is given.

    >>> f = lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0.0, 3.0)).root
    >>> round(float(f(8.0)), 6), round(float(fx.grad(f)(8.0)), 6)
    (2.0, 0.083333)
    """
    args = arguments(args)
    if method is None:
        method = "brentq" if bracket is not None else "newton" if x1 is None else "secant"
    places = [p for p in (*(bracket or ()), x0, x1) if p is not None]
    if not places:
        raise StructureError(
            "root_scalar: where is the root to be looked for?", hint="bracket=(a, b), or x0=…"
        )
    unknowns = Unknowns(places[0])
    choices = {"method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}

    def residual(x: Any) -> Any:
        return fnp.reshape(fnp.asarray(f(fnp.reshape(x, ()), *args), unknowns.start.dtype), (1,))

    def solver(residual: Any, start: Any, *places: Any) -> Any:
        def value(x: Any) -> Any:
            return fnp.reshape(residual(fnp.reshape(x, (1,))), ())

        given = iter(float(p) for p in places)
        where = {
            "bracket": None if bracket is None else (next(given), next(given)),
            "x0": None if x0 is None else next(given),
            "x1": None if x1 is None else next(given),
        }
        slope, curvature = fprime, fprime2
        if method in WITH_SLOPE and slope is None:
            own = grad(value)
            slope = lambda x: float(own(float(x)))  # noqa: E731
        if method in WITH_CURVATURE and curvature is None:
            second = grad(grad(value))
            curvature = lambda x: float(second(float(x)))  # noqa: E731
        find = library("optimize", "fxgrad.scipy.optimize.root_scalar").root_scalar
        found = find(lambda x: float(value(float(x))), fprime=slope, fprime2=curvature, **where, **choices)
        return found

    if not is_traced(unknowns, (args, places), residual):
        return solver(residual, unknowns.start, *places)

    def tell(residual: Any, start: Any, *places: Any) -> Any:
        found = solver(residual, start, *places)
        return found.root, [found.converged, found.iterations, found.function_calls]

    settings = [fnp.asarray(p, float) for p in places]
    x, (converged, iterations, calls) = solve_traced(
        residual, lambda f: f, tell, unknowns.start, [True, 0, 0], settings
    )
    return make_result(
        root=fnp.reshape(x, ()), converged=converged, iterations=iterations, function_calls=calls
    )


class Bracketed(Protocol):
    """The type of the functions that find a root between two numbers."""

    def __call__(self, f: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: Any = (), xtol: float = 2e-12,
                 rtol: float = 8.881784197001252e-16, maxiter: int = 100, full_output: bool = False,
                 disp: bool = True) -> Any: ...  # fmt: skip


def bracketed(name: str) -> Bracketed:
    """Declare the method of `root_scalar` of this name as a function of its own."""

    def function(f: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: Any = (), xtol: float = 2e-12,
                 rtol: float = 8.881784197001252e-16, maxiter: int = 100, full_output: bool = False,
                 disp: bool = True) -> Any:  # fmt: skip
        found = root_scalar(f, args, name, (a, b), xtol=xtol, rtol=rtol, maxiter=maxiter)
        if disp and is_known_true(fnp.asarray(found.converged)) is False:
            raise RuntimeError(
                f"Failed to converge after {found.iterations} iterations, value is {found.root}."
            )
        return (found.root, found) if full_output else found.root

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The root of a function between a and b, by `root_scalar` with method={name!r}.

    Args:
        f: a function from a number, and `args`, to a number.
        a, b: numbers at which it has different signs.
        args: further arguments, by which the root is differentiated, as by what `f` closes over.
        xtol, rtol, maxiter: when to stop.
        full_output: give (root, what is known of the search).
        disp: raise an error where the search is known to have failed.

    Raises:
        ValueError: the function has one sign at both ends.
        RuntimeError: the search is known to have failed, with `disp`.

    https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.{name}.html

    >>> root = lambda c: fx.scipy.optimize.{name}(lambda x: x**2 - c, 0.0, 2.0)
    >>> round(float(root(2.0)), 6), round(float(fx.grad(root)(2.0)), 6)
    (1.414214, 0.353553)
    """
    return api_boundary(function)


bisect: Bracketed = bracketed("bisect")
brenth: Bracketed = bracketed("brenth")
brentq: Bracketed = bracketed("brentq")
ridder: Bracketed = bracketed("ridder")
toms748: Bracketed = bracketed("toms748")


@api_boundary
@described("scipy.optimize.newton", "")
def newton(
    func: Callable[..., Any],
    x0: ArrayLike,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: ArrayLike | None = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """The root of a function near x0 by Newton's method, whose slope need not be given.

    With x1 it is the secant method. An array x0 stands for as many functions of one variable.

    Raises:
        StructureError: the function gives not as many numbers as there are unknowns.

    >>> f = lambda a: optimize.newton(lambda x: x**2 - a, np.ones(2))
    >>> f(np.array([1.0, 4.0])), fx.grad(lambda a: f(a).sum())(np.array([1.0, 4.0]))
    (array([1., 2.]), array([0.5 , 0.25]))
    """
    args, unknowns = arguments(args), Unknowns(x0)

    def residual(x: Any) -> Any:
        return flatten(func(unknowns.restore(x), *args), unknowns)

    def solver(residual: Any, start: Any, *other: Any) -> Any:
        def total(x: Any) -> Any:
            return fnp.sum(residual(x))  # entries do not depend on each other: the gradient has all slopes

        slope = None if other else grad(total) if fprime is None else plain(fprime)
        curvature = None if fprime2 is None else plain(fprime2)
        find = library("optimize", "fxgrad.scipy.optimize.newton").newton
        steepness = None if slope is None else (lambda x: np.asarray(slope(x)))
        second = other[0] if other else None
        choices = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp}
        # One number is searched for by another of SciPy's functions, which tells it in another way.
        choices |= {"fprime2": curvature, "x1": second, "full_output": True}
        x, told, *_ = find(lambda x: np.asarray(residual(x)), start, steepness, **choices)
        return x, [bool(np.all(getattr(told, "converged", told)))]

    def plain(derivative: Any) -> Any:
        return lambda x: np.ravel(derivative(unknowns.restore(x), *args))

    other = [] if x1 is None else [fnp.ravel(fnp.asarray(x1, unknowns.start.dtype))]
    if not is_traced(unknowns, (args, other), residual):
        if full_output:
            find = library("optimize", "fxgrad.scipy.optimize.newton").newton
            own = grad(lambda x: fnp.sum(func(x, *args))) if fprime is None and x1 is None else None
            slope = fprime if own is None else lambda x, *_: own(x)
            return find(func, x0, slope, args, tol, maxiter, fprime2, x1, rtol, full_output, disp)
        return unknowns.restore(solver(residual, unknowns.start, *other)[0])
    if callable(fprime) or callable(fprime2):
        fprime = fprime2 = None
    x = unknowns.restore(solve_traced(residual, lambda f: f, solver, unknowns.start, [], other)[0])
    return (x, make_result(root=x)) if full_output else x


__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "fixed_point",
    "fsolve",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]  # fmt: skip
