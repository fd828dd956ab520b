"""Initial value problems of ordinary differential equations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    ConcretizationError,
    PyTree,
    StructureError,
    UnsupportedError,
    api_boundary,
    aval_of,
    concretize,
    jacobian,
    ops,
    vmap,
)
from ...tree import ravel_pytree
from ..optimize.implicit import arguments, holds_tracers, make_result
from ..reference import library
from . import runge_kutta

EXPLICIT = ("RK23", "RK45", "DOP853")


def as_vector(tree: Any) -> tuple[Any, Any]:
    """Return a pytree as a vector of floating or complex numbers, and the function that restores it."""
    vector, restore = ravel_pytree(tree)
    if aval_of(vector).dtype.kind not in "fc":
        vector, restore = ravel_pytree(fnp.astype(vector, float))[0], lambda v: restore_integers(tree, v)
    return vector, restore


def restore_integers(tree: Any, vector: Any) -> Any:
    """A vector of floating numbers in the structure of a pytree of integers."""
    from ...extend import pytree

    leaves, structure = pytree.flatten(tree)
    return ravel_pytree(pytree.unflatten(structure, [fnp.zeros(np.shape(v)) for v in leaves]))[1](vector)


# -- odeint ------------------------------------------
def scipy_arguments(func: Callable[..., Any], more: tuple[Any, ...], args: Any) -> tuple[Any, ...]:
    """The further arguments of the user's function, given as SciPy or as JAX has it.

    SciPy's fourth argument is a tuple of them, JAX's fourth and following are they. A lone tuple is SciPy's, unless
    the function takes just one more argument and not as many as the tuple has.
    """
    if not more:
        return arguments(args)
    if len(more) != 1 or not isinstance(more[0], tuple):
        return more
    with suppress(ValueError):  # a function without a signature
        try:
            inspect.signature(func).bind(None, None, *more[0])
        except TypeError:
            return more
    return more[0]


@api_boundary
def odeint(
    func: Callable[..., Any],
    y0: PyTree,
    t: ArrayLike,
    *more: Any,
    args: Any = (),
    rtol: float | None = None,
    atol: float | None = None,
    mxstep: int = 0,
    hmax: float = 0.0,
    h0: float = 0.0,
    tfirst: bool = False,
    method: str = "DOP853",
    **options: Any,
) -> Any:
    """Solve dy/dt = func(y, t, *args) from y0 at t[0], with derivatives in y0, in t, in arguments and closures.

    Plain values are SciPy's (LSODA). Traced ones are computed by an explicit Runge–Kutta method, and what is
    differentiated are its steps.

    Source of the steps: E. Hairer, S. P. Nørsett and G. Wanner, Solving Ordinary Differential Equations I, 1993.

    Args:
        func: (y, t, *args) → dy/dt, a pytree like y.
        y0: a pytree of arrays.
        t: times, ascending or descending, the first of which is that of y0.
        more: further arguments for `func`, one by one as for jax.experimental.ode, or as SciPy's tuple.
        args: the same by name.
        rtol, atol: the tolerated errors of a step; 1.49e-8.
        mxstep: the greatest number of steps; 0 for 500 from each time to the next, and in traced programs 10 000 in
            all. What is not reached is NaN. Reverse mode keeps something of each step.
        hmax, h0: bounds of the steps and the size of the first, 0 for none.
        tfirst: `func` takes (t, y, *args).
        method: of traced programs: "DOP853", "RK45" or "RK23".
        options: SciPy's others, on plain values.

    Returns:
        The solution at the times, a pytree like y0 whose leaves have an axis more, the first.

    Raises:
        StructureError: `t` is no sequence.
        UnsupportedError: options of traced values that only SciPy's solver has.

    >>> end = lambda y0, k: integrate.odeint(lambda y, t, k: -k * y, y0, np.array([0.0, 1.0]), k)[-1]
    >>> round(float(end(1.0, 2.0)), 6), round(float(fx.grad(end, argnums=1)(1.0, 2.0)), 6)
    (0.135335, -0.135335)
    """
    args = scipy_arguments(func, more, args)
    start, restore = as_vector(y0)
    times: Any = fnp.asarray(t)

    def field(now: Any, y: Any) -> Any:
        y = restore(y)
        slope = func(now, y, *args) if tfirst else func(y, now, *args)
        return fnp.astype(ravel_pytree(slope)[0], start.dtype)

    if times.ndim != 1 or not times.size:
        raise StructureError(
            f"odeint: t is a sequence of times, not an array of shape {times.shape}",
            hint="fnp.linspace(start, end, count)",
        )
    known = not holds_tracers((y0, t, args)) and start.dtype.kind == "f"
    if known and not holds_tracers(field(times[0], start)):
        chosen = {"rtol": rtol, "atol": atol, "mxstep": mxstep, "hmax": hmax, "h0": h0, **options}
        found = library("integrate", "fxgrad.scipy.integrate.odeint").odeint(
            lambda now, y: np.asarray(field(now, y)), np.asarray(start), times, tfirst=True, **chosen
        )
        rows, extra = (found[0], found[1:]) if isinstance(found, tuple) else (found, ())
        rows = vmap(restore)(rows.astype(start.dtype, copy=False))
        return (rows, *extra) if extra else rows
    if any(options.values()):
        raise UnsupportedError(
            f"odeint of traced values with {', '.join(k for k, v in options.items() if v)}",
            hint="leave them out; solve_ivp has method= and max_step=",
        )
    rtol, atol = (1.49012e-8 if v is None else v for v in (rtol, atol))
    times = fnp.astype(times, np.finfo(start.dtype).dtype)
    rows, _, _ = runge_kutta.solve(
        field, times, start, method, rtol, atol, hmax or np.inf, h0 or None, mxstep or 10_000
    )
    return vmap(restore)(rows)


# -- solve_ivp ------------------------------------------
@api_boundary
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: ArrayLike,
    method: Any = "RK45",
    t_eval: ArrayLike | None = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    max_steps: int = 10_000,
    **options: Any,
) -> Any:
    """Solve dy/dt = fun(t, y, *args), with derivatives in the time span, in y0, in arguments and closures.

    Sources: J. R. Dormand and P. J. Prince, "A family of embedded Runge–Kutta formulae", 1980 (RK45); P. Bogacki and L.
    F. Shampine, "A 3(2) pair of Runge–Kutta formulas", 1989 (RK23); E. Hairer, S. P. Nørsett and G. Wanner, Solving
    Ordinary Differential Equations I, 1993 (DOP853).

    Args:
        fun: (t, y, *args) → dy/dt.
        t_span: the first and the last time.
        y0: the solution at the first time, a vector.
        method: "RK45", "RK23" or "DOP853"; on plain values all of SciPy's, the implicit ones with our Jacobian.
        t_eval: the times of the result. None: the ends of the steps; `jit` and `vmap` need `t_eval`.
        dense_output, events, vectorized: as for SciPy; not with traced values.
        args: a tuple of further arguments.
        max_steps: of traced programs: the greatest number of steps.
        options: rtol, atol, max_step, first_step, and on plain values all others of the method.

    Returns:
        SciPy's result: t, y with shape (unknowns, times), success, status, nfev, and more. Of traced programs it is an
        OptimizeResult with t, y, success, status (0, or −1 where the last time was not reached) and the steps taken.

    Raises:
        UnsupportedError: implicit methods, events or dense output with traced values.
        ConcretizationError: no `t_eval` under `jit` or `vmap`.

    >>> def end(k):
    ...     found = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1), rtol=1e-8, atol=1e-8)
    ...     return found.y[0, -1]
    >>> round(float(end(2.0)), 6), round(float(fx.grad(end)(2.0)), 6)
    (0.135335, -0.135335)
    """
    args = () if args is None else tuple(args)
    start: Any = fnp.asarray(y0)
    if start.dtype.kind not in "fc":
        start = fnp.astype(start, float)

    def field(now: Any, y: Any) -> Any:
        return fnp.astype(fnp.asarray(fun(now, y, *args)), start.dtype)

    if not holds_tracers((t_span, y0, t_eval, args)) and not holds_tracers(fun(t_span[0], start, *args)):
        if method in ("Radau", "BDF") and options.get("jac") is None and start.dtype.kind == "f":
            own = jacobian(field, argnums=1)
            options["jac"] = lambda now, y: np.asarray(own(now, y))
        return library("integrate", "fxgrad.scipy.integrate.solve_ivp").solve_ivp(
            lambda now, y: np.asarray(fun(now, y, *args)), t_span, start, method, t_eval, dense_output, events,
            vectorized, **options,
        )  # fmt: skip
    if method not in EXPLICIT:
        raise UnsupportedError(
            f"solve_ivp of traced values by {method}", hint="method='RK45', 'RK23' or 'DOP853'"
        )
    if events is not None or dense_output:
        raise UnsupportedError("solve_ivp of traced values with events or dense_output", hint="t_eval=…")
    unknown = options.keys() - {"rtol", "atol", "max_step", "first_step"}
    if unknown:
        raise UnsupportedError(
            f"solve_ivp of traced values with {', '.join(sorted(unknown))}",
            hint="rtol, atol, max_step and first_step are its options",
        )
    if t_eval is None:
        t_eval = step_ends(fun, t_span, start, method, args, options)
    first, last = (fnp.asarray(v, float) for v in t_span)
    inner = fnp.asarray(t_eval, float)
    times = fnp.concatenate([first[None], inner, last[None]]).astype(np.finfo(start.dtype).dtype)
    rows, success, steps = runge_kutta.solve(
        field, times, start, method, options.get("rtol", 1e-3), options.get("atol", 1e-6),
        options.get("max_step", np.inf), options.get("first_step"), max_steps,
    )  # fmt: skip
    return make_result(
        t=times[1:-1], y=fnp.transpose(rows[1:-1]), success=success, status=ops.subtract(success.astype(int), 1),
        steps=steps,
    )  # fmt: skip


def step_ends(fun: Any, t_span: Any, start: Any, method: str, args: tuple, options: dict) -> Array:
    """The ends of the steps that SciPy takes for the values that are known of a program."""
    from ...extend import pytree

    def known(value: Any) -> Any:
        return pytree.map(lambda v: concretize(v, "solve_ivp"), value)

    try:
        values, span = known(start), [float(known(v)) for v in t_span]
        found = library("integrate", "fxgrad.scipy.integrate.solve_ivp").solve_ivp(
            lambda now, y: known(fun(now, y, *args)), span, values, method, **options
        )
    except ConcretizationError as error:
        raise ConcretizationError(
            "solve_ivp: how many steps there are is not known while the program is traced", hint="t_eval="
        ) from error
    ends = fnp.asarray(found.t)
    # The first and the last move with the time span.
    share = (ends - span[0]) / (span[1] - span[0])
    return t_span[0] + share * (t_span[1] - t_span[0])


__all__ = ["odeint", "solve_ivp"]
