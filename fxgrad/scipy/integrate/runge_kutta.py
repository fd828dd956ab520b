"""Explicit Runge–Kutta methods with adaptive steps, as a loop that supports all transforms.

E. Hairer, S. P. Nørsett and G. Wanner, "Solving Ordinary Differential Equations I", 1993: II.4 for the choice of steps,
II.6 for results between them. The coefficients are SciPy's: P. Bogacki and L. F. Shampine (RK23), J. R. Dormand and
P. J. Prince (RK45), Hairer (DOP853).

The derivative is that of the computed solution, with the steps as constants: it is exact for the returned numbers, in
both modes and to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as fnp
from ...extend import checkpoint, closure_convert, ops
from ...lax.control import while_loop
from ...numpy.composite import operand
from ..reference import library

SAFETY, LEAST, GREATEST = 0.9, 0.2, 10.0  # the factor of a new step, and its bounds


class Method(NamedTuple):
    """A method by its coefficients, as SciPy's class of solvers has them."""

    stages: Any
    exponent: float

    @classmethod
    def named(cls, name: str) -> Method:
        """The method of this name."""
        stages = getattr(library("integrate", f"the method {name}"), name)
        return cls(stages, -1.0 / (stages.error_estimator_order + 1))


def combine(coefficients: Any, slopes: Sequence[Any]) -> Any:
    """Σ cᵢ·kᵢ, without those that are zero."""
    total = None
    for c, k in zip(coefficients, slopes):
        if c:
            term = k * float(c)
            total = term if total is None else total + term
    return ops.zeros_like(slopes[0]) if total is None else total


def mean_size(x: Any) -> Any:
    """The root of the mean of squares."""
    squares = fnp.real(x) ** 2 + fnp.imag(x) ** 2 if x.dtype.kind == "c" else x * x
    return fnp.sqrt(fnp.sum(squares) / max(x.size, 1))


def error_size(method: Method, slopes: Sequence[Any], h: Any, scale: Any) -> Any:
    """The estimated error of a step, in units of the tolerance."""
    table = method.stages
    if not hasattr(table, "E5"):
        return mean_size(combine(table.E, slopes) * h / scale)
    fifth, third = (mean_size(combine(e, slopes) / scale) for e in (table.E5, table.E3))
    size = fifth**2 + 0.01 * third**2
    return abs(h) * fnp.where(size > 0, fifth**2 / fnp.sqrt(fnp.where(size > 0, size, 1.0)), 0.0)


def between(method: Method, field: Callable, t: Any, y: Any, new: Any, slopes: list[Any], h: Any) -> Callable:
    """The solution within a step, as a function of the fraction of it that is past."""
    table = method.stages
    if not hasattr(table, "D"):
        powers = [combine(column, slopes) * h for column in np.asarray(table.P).T]

        def evaluate(part: Any) -> Any:
            total = powers[-1] * part
            for power in reversed(powers[:-1]):
                total = (total + power) * part
            return y + total

        return evaluate
    slopes = list(slopes)
    for row, c in zip(table.A_EXTRA, table.C_EXTRA):
        slopes.append(field(t + h * float(c), y + combine(row, slopes) * h))
    change = new - y
    terms = [change, slopes[0] * h - change, 2 * change - (slopes[table.n_stages] + slopes[0]) * h]
    terms += [combine(row, slopes) * h for row in table.D]

    def evaluate(part: Any) -> Any:
        total = 0.0
        for i, term in enumerate(reversed(terms)):
            total = (total + term) * (part if i % 2 == 0 else 1 - part)
        return y + total

    return evaluate


def first_step_size(
    field: Callable, t: Any, y: Any, slope: Any, span: Any, method: Method, tolerance: Any
) -> Any:
    """The size of the first step (II.4, algorithm on page 169)."""
    scale = tolerance(y, y)
    size, steepness = mean_size(y / scale), mean_size(slope / scale)
    tiny = ops.logical_or(size < 1e-5, steepness < 1e-5)
    trial = fnp.minimum(fnp.where(tiny, 1e-6, 0.01 * size / fnp.where(tiny, 1.0, steepness)), span)
    moved = fnp.where(trial > 0, trial, 1.0)
    bend = mean_size((field(t + trial, y + trial * slope) - slope) / scale) / moved
    steepest = fnp.maximum(steepness, bend)
    flat = steepest <= 1e-15
    step = fnp.where(
        flat, fnp.maximum(1e-6, trial * 1e-3), (0.01 / fnp.where(flat, 1.0, steepest)) ** -method.exponent
    )
    return fnp.minimum(fnp.minimum(100 * trial, step), span)


def solve(
    field: Callable[[Any, Any], Any],
    times: Any,
    start: Any,
    method: str,
    rtol: Any,
    atol: Any,
    max_step: float,
    first_step: Any,
    max_steps: int,
) -> tuple[Any, Any, Any]:
    """Return the solution at times, (times, unknowns), whether it came so far, and the number of steps.

    Args:
        field: (t, y) → dy/dt of vectors.
        times: the first is that of `start`; ascending or descending.
        start: the solution at the first time.
        method: "RK23", "RK45" or "DOP853".
        rtol, atol: the tolerated error of a step, relative and absolute.
        max_step, first_step: bounds of all steps, and the size of the first or None.
        max_steps: the greatest number of steps; rows that are not reached then are NaN.
    """
    scheme = Method.named(method)
    times, start = operand(times), operand(start)
    direction = ops.stop_gradient(fnp.where(times[-1] < times[0], -1.0, 1.0)).astype(times.dtype)
    clock, rows = direction * times, times.size

    # Traced once: a step then reads each value that the field closes over once, however often it calls the field.
    converted, closed_over = closure_convert(
        lambda t, y: direction * field(direction * t, y), clock[0], start
    )

    def field_with(closed_over: Any) -> Callable[[Any, Any], Any]:
        return lambda t, y: converted(t, y, *closed_over)

    along = field_with(closed_over)

    def tolerance(y: Any, new: Any) -> Any:
        return atol + fnp.maximum(abs(y), abs(new)) * rtol

    end, slope = clock[-1], along(clock[0], start)

    def smallest_step(t: Any) -> Any:
        return 10 * np.finfo(times.dtype).eps * fnp.maximum(abs(t), abs(end))

    if first_step is None:
        t, y, k, span = (ops.stop_gradient(v) for v in (clock[0], start, slope, end - clock[0]))
        step = ops.stop_gradient(first_step_size(along, t, y, k, span, scheme, tolerance))
        step = fnp.maximum(step, 2 * smallest_step(t))
    else:
        step = fnp.asarray(first_step, times.dtype)
    step = fnp.minimum(step, max_step).astype(times.dtype)
    found = fnp.full((rows, start.size), np.nan, start.dtype)
    found = fnp.where((clock <= clock[0])[:, None], start, found)

    def is_under_way(state: Any) -> Any:
        t, _, _, h, *_ = state
        return ops.logical_and(t < end, h > smallest_step(t))

    @checkpoint  # of a step the backward pass keeps the state, and computes the stages again
    def advance(state: Any, closed_over: Any) -> Any:
        t, y, slope, h, found, greatest, count = state
        table, along = scheme.stages, field_with(closed_over)
        soon = fnp.minimum(t + h, end)
        step = soon - t
        slopes = [slope]
        for row, c in zip(table.A[1:], table.C[1:]):
            slopes.append(along(t + step * float(c), y + combine(row, slopes) * step))
        new = y + combine(table.B, slopes) * step
        slopes.append(along(soon, new))
        size = ops.stop_gradient(error_size(scheme, slopes, step, tolerance(y, new)))
        accepted = size < 1  # which NaN is not
        factor = fnp.where(size > 0, SAFETY * fnp.where(size > 0, size, 1.0) ** scheme.exponent, GREATEST)
        factor = fnp.where(accepted, fnp.minimum(factor, greatest), fnp.maximum(factor, LEAST))
        factor = fnp.where(fnp.isfinite(factor), factor, LEAST)
        inner = between(scheme, along, t, y, new, slopes, step)
        reached = ops.logical_and(ops.logical_and(clock > t, clock <= soon), accepted)
        part = fnp.where(reached, (clock - t) / step, 0.0)
        found = fnp.where(reached[:, None], inner(part[:, None]), found)
        h = fnp.minimum(ops.stop_gradient(step) * factor, max_step).astype(times.dtype)
        return (
            fnp.where(accepted, soon, t),
            fnp.where(accepted, new, y),
            fnp.where(accepted, slopes[-1], slope),
            h,
            found,
            fnp.where(accepted, GREATEST, 1.0),  # no longer step right after one that was refused
            count + 1,
        )

    state = (clock[0], start, slope, step, found, np.float64(GREATEST), np.int64(0))
    t, *_, found, _, count = while_loop(
        is_under_way, lambda state: advance(state, closed_over), state, max_steps
    )
    return found, t >= end, count
