"""L-BFGS: Newton's directions from the last few steps and changes of the gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.errors import ArgumentValueError, TensorError
from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.complex import view_as_real
from ..ops.joining import cat
from .optimizer import Optimizer, check_option

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_CURVATURE = 1e-10  # a step along which the gradient changes less than this teaches nothing
SUFFICIENT_DECREASE = 1e-4  # of the decrease that the slope promises: the first Wolfe condition
MAX_SLOPE_RATIO = 0.9  # of the slope at the start, at most: the second


class LBFGS(Optimizer):
    """Quasi-Newton steps of all parameters together. Source: Nocedal and Wright, 2006, algorithms 7.4 and 7.5.

    Args:
        max_iter, max_eval: directions, and calls of the closure, in one `step`; None: 1.25 · max_iter.
        tolerance_grad, tolerance_change: gradients, and steps and decreases, below which it ends.
        history_size: how many steps are remembered.
        line_search_fn: "strong_wolfe", or None for steps of length `lr`.

    Raises:
        ValueError: there are several groups of parameters.
        RuntimeError: in `step`, another line search.

    >>> import fxgrad.compat as torch
    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - torch.tensor([1.0, 2.0])) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     loss = optimizer.step(closure)
    >>> bool(closure() < 1e-6)
    True
    """

    def __init__(
        self,
        params,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        check_option(lr >= 0, "learning rate", lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ArgumentValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to `max_iter` steps; `closure` clears the gradients, computes them anew, and returns the loss, as it was
        before the first step."""
        (group,) = self.param_groups
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise TensorError("only 'strong_wolfe' is supported")
        parameters = group["params"]
        state = self.state[parameters[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> tuple[Any, float, Any]:
            with enable_grad():
                result = closure()
            state["func_evals"] += 1
            return result, float(result), flatten_gradients(parameters)

        first, loss, gradient = evaluate()
        start, done = state["func_evals"] - 1, 0
        small = float(abs(gradient).max()) <= group["tolerance_grad"]
        while not small and done < group["max_iter"]:
            done += 1
            state["n_iter"] += 1
            direction = self.search_direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            length = group["lr"]
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / float(gradient.abs().sum()))
            state["d"], state["t"] = direction, length
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                origin = [p.clone() for p in parameters]

                def evaluate_at(
                    length: float, origin=origin, direction=direction
                ) -> tuple[float, Any, float]:
                    for p, x in zip(parameters, origin):
                        p.copy_(x)
                    advance(parameters, direction, length)
                    _, value, gradient = evaluate()
                    return value, gradient, float(gradient.dot(direction))

                length, loss, gradient = strong_wolfe(
                    evaluate_at, length, (0.0, loss, gradient, slope), float(abs(direction).max())
                )
                for p, x in zip(parameters, origin):
                    p.copy_(x)
                advance(parameters, direction, length)
            else:
                advance(parameters, direction, length)
                if done < group["max_iter"]:
                    _, loss, gradient = evaluate()
            state["t"] = length
            small = float(abs(gradient).max()) <= group["tolerance_grad"]
            if (
                state["func_evals"] - start >= group["max_eval"]
                or float(abs(direction * length).max()) <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        return first

    def search_direction(self, state: dict[str, Any], gradient, size: int) -> Any:
        """The direction -H⁻¹·gradient, with H⁻¹ of the remembered steps, to which the last one is added first."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, scales = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > MIN_CURVATURE:
            for kept, new in ((changes, change), (steps, step), (scales, 1.0 / curvature)):
                if len(kept) == size:
                    kept.pop(0)
                kept.append(new)
            state["H_diag"] = curvature / change.dot(change)
        q, weights = -gradient, []
        for change, step, scale in reversed(list(zip(changes, steps, scales))):
            weights.append(step.dot(q) * scale)
            q = q - weights[-1] * change
        q = q * state["H_diag"]
        for change, step, scale, weight in zip(changes, steps, scales, reversed(weights)):
            q = q + (weight - change.dot(q) * scale) * step
        return q


def flatten_gradients(parameters) -> Any:
    """Concatenate all gradients to one vector of real numbers."""
    parts = []
    for p in parameters:
        g = p.new_zeros(p.shape) if p.grad is None else p.grad
        parts.append((view_as_real(g) if g.is_complex() else g).reshape(-1))
    return cat(parts)


def advance(parameters, direction, length: float) -> None:
    """Move the parameters so far in a direction."""
    offset = 0
    for p in parameters:
        real = view_as_real(p) if p.is_complex() else p
        part = direction[offset : offset + real.numel()]
        real.add_(part.view_as(real), alpha=length)
        offset += real.numel()


Point = tuple[float, float, Any, float]  # length, loss, gradient, slope along the direction


def strong_wolfe(
    evaluate_at: Callable[[float], tuple[float, Any, float]],
    length: float,
    start: Point,
    size: float,
    tolerance: float = 1e-9,
    rounds: int = 25,
) -> tuple[float, float, Any]:
    """(length, loss, gradient) of a step that meets both Wolfe conditions, if there is one in so many `rounds`.

    First the step grows until it has gone too far; then what lies between is narrowed by cubic interpolation.
    """
    _, loss, _, slope = start
    before, here = start, (length, *evaluate_at(length))
    low, high = start, here
    met, left = False, rounds
    while left:
        steep = here[1] > loss + SUFFICIENT_DECREASE * here[0] * slope or (
            before is not start and here[1] >= before[1]
        )
        if steep or here[3] >= 0 or abs(here[3]) <= -MAX_SLOPE_RATIO * slope:
            met = not steep and abs(here[3]) <= -MAX_SLOPE_RATIO * slope
            low, high = (here, here) if met else (before, here)
            break
        longer = cubic_minimum(before, here, here[0] + 0.01 * (here[0] - before[0]), here[0] * 10)
        before, here = here, (longer, *evaluate_at(longer))
        left -= 1
    else:
        low, high = start, here
    if high[1] < low[1]:
        low, high = high, low
    stuck = False
    while not met and left:
        left -= 1
        near, far = sorted((low[0], high[0]))
        if (far - near) * size < tolerance:
            break
        tried = cubic_minimum(low, high, near, far)
        margin = 0.1 * (far - near)
        if min(far - tried, tried - near) < margin:  # at an end: go there once, the second time stay off it
            if stuck or tried >= far or tried <= near:
                tried = far - margin if abs(tried - far) < abs(tried - near) else near + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = (tried, *evaluate_at(tried))
        if here[1] > loss + SUFFICIENT_DECREASE * tried * slope or here[1] >= low[1]:
            high = here
            if high[1] < low[1]:
                low, high = high, low
            continue
        met = abs(here[3]) <= -MAX_SLOPE_RATIO * slope
        if not met and here[3] * (high[0] - low[0]) >= 0:
            high = low
        low = here
    return low[:3]


def cubic_minimum(a: Point, b: Point, near: float, far: float) -> float:
    """The length between two at which the cubic of these losses and slopes is least; the middle where there is none."""
    (x, f, _, df), (y, g, _, dg) = sorted((a, b), key=lambda point: point[0])
    if x == y:
        return (near + far) / 2
    d = df + dg - 3 * (f - g) / (x - y)
    square = d * d - df * dg
    if not square >= 0:
        return (near + far) / 2
    root = math.sqrt(square)
    bottom = dg - df + 2 * root
    least = y - (y - x) * ((dg + root - d) / bottom) if bottom else math.nan
    return min(max(least, near), far) if np.isfinite(least) else (near + far) / 2
