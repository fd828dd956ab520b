"""L-BFGS with a line search, for deterministic functions (Nocedal and Wright, "Numerical optimization", 2006, chapters
3 and 7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import lax, ops
from .. import numpy as fnp
from ..core.errors import StructureError
from ..core.interpreter import api_boundary
from ..core.typing import PyTree
from ..transforms.vjp import value_and_grad
from ..tree import ravel_pytree
from .transformations import (
    GradientTransformation,
    ScalarOrSchedule,
    apply_updates,
    chain,
    need_params,
    no_steps,
    scale,
    scale_by_learning_rate,
)


class LBFGSState(NamedTuple):
    """The last point and gradient as vectors, and the latest steps and gradient changes as rows.

    `count` is the number of updates; `params` and `gradient` are vectors of n entries, `steps` and `changes` have
    the shape (memory_size, n).

    >>> state = fx.optim.scale_by_lbfgs(memory_size=3).init(np.zeros(2))
    >>> state.steps.shape, state.gradient.shape
    ((3, 2), (2,))
    """

    count: Any
    params: Any
    gradient: Any
    steps: Any
    changes: Any


@api_boundary
def scale_by_lbfgs(memory_size: int = 10, scale_init_precond: bool = True) -> GradientTransformation:
    """Multiply by an approximation of the inverse Hessian computed from the latest steps, by the two-loop recursion.

    Source: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.

    Args:
        memory_size: how many steps.
        scale_init_precond: begin the recursion with the unit matrix scaled as the latest step says.

    A step along which the gradient does not grow says nothing of a minimum, and is left out.

    >>> transformation = fx.optim.scale_by_lbfgs()
    >>> updates, state = transformation.update(np.array([3.0, -0.5]), transformation.init(np.zeros(2)), np.zeros(2))
    >>> updates.round(4)
    array([ 3. , -0.5])
    """

    def init(params: PyTree) -> LBFGSState:
        flat = ravel_pytree(params)[0]
        rows = np.zeros((memory_size, *flat.shape), flat.dtype)
        return LBFGSState(no_steps(), fnp.zeros_like(flat), fnp.zeros_like(flat), rows, rows.copy())

    def update(
        updates: PyTree, state: LBFGSState, params: PyTree = None, **extra: Any
    ) -> tuple[PyTree, PyTree]:
        need_params(params, "scale_by_lbfgs")
        point, gradient = ravel_pytree(params)[0], ravel_pytree(updates)[0]
        step, change = point - state.params, gradient - state.gradient
        useful = ops.logical_and(ops.greater(state.count, 0), ops.greater(fnp.vdot(step, change), 0))
        steps = ops.where(useful, fnp.concatenate([state.steps[1:], step[None]]), state.steps)
        changes = ops.where(useful, fnp.concatenate([state.changes[1:], change[None]]), state.changes)
        direction = two_loops(gradient, steps, changes, scale_init_precond)
        state = LBFGSState(state.count + np.int32(1), point, gradient, steps, changes)
        return ravel_pytree(updates)[1](direction), state

    return GradientTransformation(init, update)


def two_loops(gradient: Any, steps: Any, changes: Any, scaled: bool) -> Any:
    """Multiply a gradient by the inverse Hessian that steps and changes, the latest last, stand for (Nocedal,
    "Updating quasi-Newton matrices with limited storage", 1980). Rows of zeros count for nothing."""
    products = fnp.sum(steps * changes, 1)
    weights = ops.where(ops.greater(products, 0), 1 / ops.where(ops.greater(products, 0), products, 1.0), 0.0)

    def first(q: Any, row: Any) -> tuple[Any, Any]:
        s, y, weight = row
        share = weight * (s @ q)
        return q - share * y, share

    q, shares = lax.scan(first, gradient, (steps, changes, weights), reverse=True)
    if scaled:
        square = changes[-1] @ changes[-1]
        known = ops.greater(square, 0)
        q = q * ops.where(known, products[-1] / ops.where(known, square, 1.0), 1.0)

    def second(q: Any, row: Any) -> tuple[Any, None]:
        s, y, weight, share = row
        return q + (share - weight * (y @ q)) * s, None

    return lax.scan(second, q, (steps, changes, weights, shares))[0]


class LineSearchState(NamedTuple):
    """The length of the last step, in units of the direction, and the value at its end.

    `learning_rate` is the length, `value` the value; both are arrays without axes.

    >>> fx.optim.scale_by_linesearch().init(np.zeros(2))
    LineSearchState(learning_rate=array(1.), value=array(inf))
    """

    learning_rate: Any
    value: Any


@api_boundary
def scale_by_linesearch(
    max_steps: int = 30, decrease: float = 1e-4, curvature: float = 0.9
) -> GradientTransformation:
    """Multiply a direction by a step length that satisfies the Wolfe conditions: the value decreases by at least the
    fraction `decrease` of the linear prediction, and the slope shrinks to at most the fraction `curvature` of itself.
    It is found by doubling and halving (Lewis and Overton, "Nonsmooth optimization via quasi-Newton methods", 2013), so
    kinks and infinite values do no harm.

    `update` takes two keywords more: `value_fn`, the function of the parameters, and `grad`, its gradient there (the
    updates that the chain was given).

    Args:
        max_steps: the most lengths that are tried; 0 is taken where none of them lets the value fall.
        decrease, curvature: see above; 0 < decrease < curvature < 1.

    Raises:
        StructureError: `update` was not given the function and the gradient.

    >>> f = lambda x: (x - 3.0) ** 2
    >>> search = fx.optim.scale_by_linesearch()
    >>> step, state = search.update(1.0, search.init(0.0), 0.0, value_fn=f, grad=-6.0)
    >>> bool(f(step) < f(0.0))
    True
    """

    def init(params: PyTree) -> LineSearchState:
        flat = ravel_pytree(params)[0]
        return LineSearchState(np.ones((), flat.dtype), np.full((), np.inf, flat.dtype))

    def update(
        updates: PyTree,
        state: LineSearchState,
        params: PyTree = None,
        *,
        value_fn: Callable[[PyTree], Any] | None = None,
        grad: PyTree = None,
        value: Any = None,
        **extra: Any,
    ) -> tuple[PyTree, PyTree]:
        need_params(params, "scale_by_linesearch")
        if value_fn is None or grad is None:
            raise StructureError(
                "scale_by_linesearch needs the function and the gradient",
                hint="optimizer.update(gradient, state, params, value_fn=f, grad=gradient)",
            )
        direction, unravel = ravel_pytree(updates)
        slope = fnp.vdot(ravel_pytree(grad)[0], direction)
        value = value_fn(params) if value is None else value

        def along(length: Any) -> Any:
            return value_fn(apply_updates(params, unravel(length * direction)))

        length, end = wolfe_length(along, value, slope, max_steps, decrease, curvature)
        return unravel(length * direction), LineSearchState(length, end)

    return GradientTransformation(init, update)


def wolfe_length(
    along: Callable[[Any], Any], value: Any, slope: Any, max_steps: int, decrease: float, curvature: float
) -> tuple[Any, Any]:
    """Return (length, value there): a length that fulfils Wolfe's conditions, or the longest that was found with less
    than `value`."""
    dtype = fnp.asarray(slope).dtype
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    start = fnp.asarray(value, dtype)

    def goes_on(state: tuple) -> Any:
        _, _, _, _, found, count = state
        return ops.logical_and(ops.logical_not(found), ops.less(count, max_steps))

    def halve_or_double(state: tuple) -> tuple:
        length, low, low_value, high, _, count = state
        end, end_slope = value_and_grad(along)(length)
        end, end_slope = fnp.asarray(end, dtype), fnp.asarray(end_slope, dtype)
        falls = ops.less_equal(end, start + decrease * length * slope)  # False for NaN
        flat = ops.greater_equal(end_slope, curvature * slope)
        low, low_value = ops.where(falls, length, low), ops.where(falls, end, low_value)
        high = ops.where(falls, high, length)
        following = ops.where(
            ops.isfinite(high), 0.5 * (low + ops.where(ops.isfinite(high), high, one)), 2 * low
        )
        found = ops.logical_and(falls, flat)
        return following, low, low_value, high, found, count + np.int32(1)

    state = one, zero, start, np.full((), np.inf, dtype), np.zeros((), bool), no_steps()
    _, low, low_value, _, _, _ = lax.while_loop(goes_on, halve_or_double, state)
    return low, low_value


@api_boundary
def lbfgs(
    learning_rate: ScalarOrSchedule | None = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = None,
) -> GradientTransformation:
    """L-BFGS, for deterministic functions.

    Source: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.

    Args:
        learning_rate: the length of a step; None leaves it to the line search.
        memory_size, scale_init_precond: see `scale_by_lbfgs`.
        linesearch: a transformation; None is `scale_by_linesearch()`, or none where there is a learning rate.

    Returns:
        A transformation whose `update` takes `value_fn` and `grad`, for the line search.

    >>> f = lambda x: fnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)  # Rosenbrock's
    >>> optimizer = fx.optim.lbfgs()
    >>> @fx.jit
    ... def step(x, state):
    ...     gradient = fx.grad(f)(x)
    ...     updates, state = optimizer.update(gradient, state, x, value_fn=f, grad=gradient)
    ...     return fx.optim.apply_updates(x, updates), state
    >>> x = np.zeros(4)
    >>> state = optimizer.init(x)
    >>> for _ in range(60):
    ...     x, state = step(x, state)
    >>> np.round(x, 6)
    array([1., 1., 1., 1.])
    """
    newton = scale_by_lbfgs(memory_size, scale_init_precond)
    if learning_rate is not None:
        down = scale_by_learning_rate(learning_rate)
        return chain(newton, down) if linesearch is None else chain(newton, down, linesearch)
    return chain(newton, scale(-1.0), linesearch or scale_by_linesearch())


__all__ = ["LBFGSState", "LineSearchState", "lbfgs", "scale_by_lbfgs", "scale_by_linesearch"]
