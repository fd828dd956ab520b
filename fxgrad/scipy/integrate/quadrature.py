"""Integrals of functions.

Values are SciPy's (QUADPACK). By Leibniz's rule d/dp ∫ₐᵇ f(x, p) dx = f(b) ḃ − f(a) ȧ + ∫ₐᵇ ∂f/∂p ṗ dx, where the
integral of ∂f/∂p is another of the same kind: so derivatives exist in both modes and to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    ShapeDtypeStruct,
    ShapeError,
    Tracer,
    UnsupportedError,
    api_boundary,
    as_value,
    aval_of,
    closure_convert,
    custom_jvp,
    is_differentiable,
    jacobian,
    jit,
    ops,
    pure_callback,
)
from ...numpy.documentation import described
from ..optimize.implicit import arguments, holds_tracers
from ..reference import library


# -- with derivatives ------------------------------------------
def compute_integral(
    integrand: Callable, choices: dict, shape: tuple, a: Any, b: Any, *parameters: Any
) -> Any:
    """Return an integral and the estimate of its error, as plain arrays; of several numbers one after the other."""
    integrate = library("integrate", "fxgrad.scipy.integrate.quad")
    a, b = float(a), float(b)
    count = int(np.prod(shape))
    if count == 1:
        found, error = integrate.quad(
            lambda x: float(np.reshape(integrand(x, *parameters), ())), a, b, **choices
        )[:2]
    else:
        tolerances = {k: choices[k] for k in ("epsabs", "epsrel") if k in choices}
        found, error = integrate.quad_vec(
            lambda x: np.ravel(integrand(x, *parameters)), a, b, norm="max", **tolerances
        )
    return np.reshape(np.asarray(found, float), shape), np.asarray(error, float)


@partial(custom_jvp, nondiff_argnums=(0, 1))
def integral(integrand: Callable, choices: dict, a: Any, b: Any, *parameters: Any) -> tuple[Any, Any]:
    """∫ integrand(x, *parameters) dx from a to b, and the estimate of its error."""
    shape = at_point(integrand, a, parameters).shape
    declared = ShapeDtypeStruct(shape, float), ShapeDtypeStruct((), float)
    call = partial(compute_integral, jit(integrand), choices, shape)
    return pure_callback(call, declared, a, b, *parameters, vmap_method="sequential")


def at_point(integrand: Callable, x: Any, parameters: Sequence[Any]) -> Any:
    """The integrand at the end of a range; at 0 where this is infinite."""
    return fnp.asarray(integrand(fnp.where(fnp.isfinite(x), x, 0.0), *parameters))


@integral.defjvp
def integral_tangent(integrand: Callable, choices: dict, primals: Any, tangents: Any) -> Any:
    """Leibniz's rule."""
    (a, b, *parameters), (da, db, *moves) = primals, tangents
    found = integral(integrand, choices, a, b, *parameters)

    def edge(x: Any, dx: Any) -> Any:
        """What a moving end of the range adds; an infinite one adds nothing."""
        return at_point(integrand, x, parameters) * fnp.where(fnp.isfinite(x), dx, 0.0)

    total = edge(b, db) - edge(a, da)
    for i, (p, move) in enumerate(zip(parameters, moves)):
        if not is_differentiable(aval_of(p).dtype):
            continue

        def slope(x: Any, *values: Any, i: int = i) -> Any:
            return jacobian(lambda v: integrand(x, *values[:i], v, *values[i + 1 :]))(values[i])

        slopes, _ = integral(slope, choices, a, b, *parameters)
        total = total + fnp.tensordot(slopes, move, fnp.ndim(move))
    return found, (total, ops.zeros_like(found[1]))


@api_boundary
@described("scipy.integrate.quad", "")
def quad(func: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: Any = (), full_output: Any = 0,
         epsabs: float = 1.49e-8, epsrel: float = 1.49e-8, limit: int = 50, points: Any = None, weight: Any = None,
         wvar: Any = None, wopts: Any = None, maxp1: int = 50, limlst: int = 50,
         complex_func: bool = False) -> Any:  # fmt: skip
    """The integral of a function of one variable by SciPy, with derivatives in the limits and in parameters.

    Source of the method: R. Piessens et al., QUADPACK, 1983; the derivative is Leibniz' rule.

    Args:
        func: (x, *args) → a real number.
        a, b: the range; it may be infinite.
        args: further arguments, pytrees of arrays; `func` may also close over traced values.
        epsabs, epsrel, limit, points: as for `scipy.integrate.quad`, as are all others on plain values.

    Returns:
        The integral, and an estimate of its error.

    Raises:
        UnsupportedError: full_output, weight or complex_func with traced values.

    >>> f = lambda p, b: integrate.quad(lambda x: x**p, 0.0, b)[0]
    >>> [round(float(v), 6) for v in (f(2.0, 1.0), *fx.grad(f, argnums=(0, 1))(2.0, 1.0))]
    [0.333333, -0.111111, 1.0]
    """
    args = arguments(args)
    choices = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    if points is not None:
        choices["points"] = points
    traced = holds_tracers((a, b, args))
    if not traced:
        middle = fnp.clip(
            (np.clip(np.asarray(a), -1e3, 1e3) + np.clip(np.asarray(b), -1e3, 1e3)) / 2, -1e3, 1e3
        )
        traced = holds_tracers(func(float(middle), *args))
    if not traced:
        return library("integrate", "fxgrad.scipy.integrate.quad").quad(
            func, a, b, args, full_output, weight=weight, wvar=wvar, wopts=wopts, maxp1=maxp1, limlst=limlst,
            complex_func=complex_func, **{"points": None, **choices},
        )  # fmt: skip
    if full_output or weight is not None or complex_func:
        raise UnsupportedError("quad of traced values with full_output, weight or complex_func",
                               hint="put the weight into the function; integrate real and imaginary parts")  # fmt: skip
    integrand, parameters = closure_convert(lambda x: fnp.asarray(func(x, *args), float), np.float64(0.5))
    a, b = (fnp.asarray(v, float) for v in (a, b))
    return integral(integrand, choices, a, b, *parameters)


@api_boundary
@described("scipy.integrate.dblquad", "")
def dblquad(func: Callable[..., Any], a: ArrayLike, b: ArrayLike, gfun: Any, hfun: Any, args: Any = (),
            epsabs: float = 1.49e-8, epsrel: float = 1.49e-8) -> Any:  # fmt: skip
    """The integral of func(y, x, *args) for x from a to b and y from gfun(x) to hfun(x), numbers or functions.

    Source of the method: R. Piessens et al., QUADPACK, 1983; the derivative is Leibniz' rule.

    >>> round(integrate.dblquad(lambda y, x: x * y, 0.0, 1.0, 0.0, lambda x: x)[0], 6)
    0.125
    """
    return nquad(func, [lambda x, *_: (value_at(gfun, x), value_at(hfun, x)), (a, b)], args,
                 {"epsabs": epsabs, "epsrel": epsrel})  # fmt: skip


@api_boundary
@described("scipy.integrate.tplquad", "")
def tplquad(func: Callable[..., Any], a: ArrayLike, b: ArrayLike, gfun: Any, hfun: Any, qfun: Any, rfun: Any,
            args: Any = (), epsabs: float = 1.49e-8, epsrel: float = 1.49e-8) -> Any:  # fmt: skip
    """The integral of func(z, y, x, *args) for x from a to b, y from gfun(x) to hfun(x), z from qfun(x, y) to
    rfun(x, y), numbers or functions.

    Source of the method: R. Piessens et al., QUADPACK, 1983; the derivative is Leibniz' rule.

    >>> round(fx.scipy.integrate.tplquad(lambda z, y, x: x, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)[0], 6)
    0.5
    """
    ranges = [
        lambda y, x, *_: (value_at(qfun, x, y), value_at(rfun, x, y)),
        lambda x, *_: (value_at(gfun, x), value_at(hfun, x)),
        (a, b),
    ]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def value_at(limit: Any, *places: Any) -> Any:
    """A limit of a range, which may be a function of the outer variables."""
    return limit(*places) if callable(limit) else limit


@api_boundary
@described("scipy.integrate.nquad", "")
def nquad(func: Callable[..., Any], ranges: Sequence[Any], args: Any = (), opts: Any = None,
          full_output: bool = False) -> Any:  # fmt: skip
    """The integral over several variables, func(x₀, x₁, …, *args), the first of which is the innermost.

    Source of the method: R. Piessens et al., QUADPACK, 1983; the derivative is Leibniz' rule.

    Args:
        func: a function of the variables.
        ranges: for each a pair, or a function of the variables after it that gives one.
        args: further arguments.
        opts: keywords for `quad`, for all, or a list with some for each; functions of the variables as well.

    Returns:
        The integral, and the estimate of the error of the outermost one or the greatest of all on plain values.

    Raises:
        ShapeError: not one entry of `opts` for each range.

    >>> round(fx.scipy.integrate.nquad(lambda x, y: x * y, [(0.0, 1.0), (0.0, 2.0)])[0], 6)
    1.0
    """
    args = arguments(args)
    options = list(opts) if isinstance(opts, list | tuple) else [opts or {}] * len(ranges)
    if len(options) != len(ranges):
        raise ShapeError(
            f"nquad: {len(options)} opts for {len(ranges)} ranges", hint="opts for each range, or one for all"
        )
    errors = [0.0]
    found, error = integrate_from(func, list(zip(ranges, options)), args, (), errors)
    return found, error if isinstance(error, Tracer) else max(errors)


def integrate_from(
    func: Callable[..., Any], variables: Sequence[Any], args: tuple, outer: tuple, errors: list[float]
) -> tuple[Any, Any]:
    """Integrate over variables, given by their ranges and options, with the values of the `outer` ones; plain errors of
    all integrals are appended to `errors`."""
    *inner, (limits, options) = variables

    def integrand(x: Any) -> Any:
        return integrate_from(func, inner, args, (x, *outer), errors)[0] if inner else func(x, *outer, *args)

    found, error = quad(integrand, *value_at(limits, *outer, *args), **value_at(options, *outer, *args))[:2]
    if not isinstance(error, Tracer):
        errors.append(float(error))
    return found, error


@api_boundary
@described("scipy.integrate.fixed_quad", "")
def fixed_quad(
    func: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: Any = (), n: int = 5
) -> tuple[Array, None]:
    """The integral of a function by Gauss quadrature with n points; the function is called once with all points.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 2.7.

    Raises:
        ValueError: a limit is infinite.

    >>> round(float(fx.grad(lambda b: integrate.fixed_quad(fx.numpy.cos, 0.0, b)[0])(0.0)), 6)
    1.0
    """
    a, b = as_value(a), as_value(b)
    if holds_tracers((a, b)) is False and (np.any(np.isinf(a)) or np.any(np.isinf(b))):
        raise ShapeError("fixed_quad: an infinite limit", hint="quad, which takes infinite limits")
    places, weights = np.polynomial.legendre.leggauss(n)
    x = (b - a) * (places + 1) / 2.0 + a
    return (b - a) / 2.0 * fnp.sum(weights * func(x, *arguments(args)), axis=-1), None


__all__ = ["dblquad", "fixed_quad", "nquad", "quad", "tplquad"]
