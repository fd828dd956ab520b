"""L-BFGS: quasi-Newton directions from the last few steps and changes of the gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .._core.tensor import Tensor
from ..autograd.grad_mode import enable_grad, no_grad
from ..errors import ArgumentValueError, TensorError
from ..ops.complex import view_as_real
from ..ops.joining import cat
from .optimizer import Optimizer, ParamsT, check_learning_rate, check_option

MIN_CURVATURE = 1e-10  # a step along which the gradient changes less than this teaches nothing


class LBFGS(Optimizer):
    """Quasi-Newton steps of all parameters together. Source: Nocedal and Wright, 2006, algorithms 7.4 and 7.5.

    Args:
        max_iter, max_eval: directions, and calls of the closure, in one `step`; None: 1.25 · max_iter.
        tolerance_grad, tolerance_change: gradients, and steps and decreases, below which it ends.
        history_size: how many steps are remembered.
        line_search_fn: "strong_wolfe", or None for steps of length `lr`.
        params: Tensors, pairs of a name and a Tensor, or dicts of options with their "params".

    Raises:
        ValueError: there are several groups of parameters.
        RuntimeError: in `step`, another line search.

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
        params: ParamsT,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        check_learning_rate(lr)
        check_option(lr >= 0, "learning rate", lr, "0 or more")
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
            raise ArgumentValueError(
                "LBFGS doesn't support per-parameter options (parameter groups)",
                hint='one list of all parameters: [p for group in groups for p in group["params"]]',
            )

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _numel(self) -> int:
        return sum(p.numel() * (1 + p.is_complex()) for p in self._params)

    def _gather_flat_grad(self) -> Tensor:
        """Concatenate all gradients to one vector of real numbers."""
        parts = []
        for p in self._params:
            g = p.new_zeros(p.shape) if p.grad is None else p.grad
            g = g.to_dense() if getattr(g, "is_sparse", False) else g
            parts.append((view_as_real(g) if g.is_complex() else g).reshape(-1))
        return cat(parts)

    def _add_grad(self, step_size: float, direction: Tensor) -> None:
        """Move the parameters so far in a direction."""
        offset = 0
        for p in self._params:
            real = view_as_real(p) if p.is_complex() else p
            part = direction[offset : offset + real.numel()]
            real.add_(part.view_as(real), alpha=step_size)
            offset += real.numel()

    def _clone_param(self) -> list[Tensor]:
        return [p.clone() for p in self._params]

    def _set_param(self, params_data: list[Tensor]) -> None:
        for p, x in zip(self._params, params_data):
            p.copy_(x)

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[Tensor], t: float, d: Tensor
    ) -> tuple[float, Tensor]:
        """(loss, gradient) a step of length t from x along d; the parameters are x afterwards."""
        self._add_grad(t, d)
        loss = float(closure())
        gradient = self._gather_flat_grad()
        self._set_param(x)
        return loss, gradient

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to `max_iter` steps; `closure` clears the gradients, computes them anew, and returns the loss, as it was
        before the first step.

        Raises:
            RuntimeError: there is no such `line_search_fn`.
        """
        (group,) = self.param_groups
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise TensorError(
                "only 'strong_wolfe' is supported",
                hint='line_search_fn="strong_wolfe", or None for steps of length lr',
            )
        closure = enable_grad()(closure)
        lr = float(group["lr"])
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, gradient = float(first), self._gather_flat_grad()
        calls, done = 1, 0
        state["func_evals"] += 1
        small = float(gradient.abs().max()) <= group["tolerance_grad"]
        while not small and done < group["max_iter"]:
            done += 1
            state["n_iter"] += 1
            direction = self._fx_search_direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            length = lr
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / float(gradient.abs().sum()))
            state["d"], state["t"] = direction, length
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            more = 0
            if group["line_search_fn"] is not None:
                evaluate = partial(self._directional_evaluate, closure)
                loss, gradient, length, more = _strong_wolfe(
                    evaluate, self._clone_param(), length, direction, loss, gradient, slope
                )
                self._add_grad(length, direction)
            else:
                self._add_grad(length, direction)
                if done < group["max_iter"]:
                    loss, gradient, more = float(closure()), self._gather_flat_grad(), 1
            calls += more
            state["func_evals"] += more
            state["t"] = length
            small = float(gradient.abs().max()) <= group["tolerance_grad"]
            if (
                calls >= group["max_eval"]
                or float((direction * length).abs().max()) <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        return first

    def _fx_search_direction(self, state: dict[str, Any], gradient: Any, size: int) -> Tensor:
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
        weights = state.setdefault("al", [None] * size)
        q = -gradient
        for i in reversed(range(len(steps))):
            weights[i] = steps[i].dot(q) * scales[i]
            q = q - weights[i] * changes[i]
        q = q * state["H_diag"]
        for i in range(len(steps)):
            q = q + (weights[i] - changes[i].dot(q) * scales[i]) * steps[i]
        return q


class Point(NamedTuple):
    """A length along the direction of a line search, and what was found there."""

    length: float
    loss: float
    gradient: Any
    slope: float


def _strong_wolfe(
    obj_func: Callable[[Any, float, Any], tuple[float, Any]],
    x,
    t: float,
    d,
    f: float,
    g,
    gtd: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Any, float, int]:
    """Search along a direction for a step that meets both Wolfe conditions. First the step grows until it has gone too
    far; then what lies between is narrowed by cubic interpolation. Source: Nocedal and Wright, 2006, algorithms 3.5
    and 3.6.

    Args:
        obj_func: obj_func(x, t, d) is (loss, gradient) at x + t·d.
        x, d: where the search starts, and its direction.
        t: the first length.
        f, g, gtd: loss, gradient and slope at the start.
        c1: how much of the decrease that the slope promises is enough.
        c2: how much of the slope may be left.
        tolerance_change: steps shorter than this are not told apart.
        max_ls: the most rounds.

    Returns:
        (loss, gradient, length, number of calls); where no such step is found, the best that was tried.
    """
    calls = 0

    def look(length: float) -> Point:
        nonlocal calls
        calls += 1
        loss, gradient = obj_func(x, length, d)
        return Point(length, float(loss), gradient.clone(), float(gradient.dot(d)))

    start = Point(0.0, float(f), g.clone(), float(gtd))
    size = float(abs(d).max())
    before, here = start, look(t)
    low, high = start, here
    met, left = False, max_ls

    def descends_enough(point: Point) -> bool:
        return not point.loss > start.loss + c1 * point.length * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -c2 * start.slope

    while left:
        steep = not descends_enough(here) or (before is not start and here.loss >= before.loss)
        if steep or here.slope >= 0 or is_flat(here):
            met = not steep and is_flat(here)
            low, high = (here, here) if met else (before, here)
            break
        longer = interpolate(
            before, here, here.length + 0.01 * (here.length - before.length), here.length * 10
        )
        before, here = here, look(longer)
        left -= 1
    else:
        low, high = start, here
    if high.loss < low.loss:
        low, high = high, low
    stuck = False
    while not met and left:
        left -= 1
        near, far = sorted((low.length, high.length))
        if (far - near) * size < tolerance_change:
            break
        tried = interpolate(low, high, near, far)
        margin = 0.1 * (far - near)
        if min(far - tried, tried - near) < margin:  # at an end: go there once, the second time stay off it
            if stuck or tried >= far or tried <= near:
                tried = far - margin if abs(tried - far) < abs(tried - near) else near + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = look(tried)
        if not descends_enough(here) or here.loss >= low.loss:
            high = here
            if high.loss < low.loss:
                low, high = high, low
            continue
        met = is_flat(here)
        if not met and here.slope * (high.length - low.length) >= 0:
            high = low
        low = here
    return low.loss, low.gradient, low.length, calls


def interpolate(a: Point, b: Point, near: float, far: float) -> float:
    """The length between two at which the cubic through two points is least."""
    return _cubic_interpolate(a.length, a.loss, a.slope, b.length, b.loss, b.slope, (near, far))


def _cubic_interpolate(
    x1: float,
    f1: float,
    g1: float,
    x2: float,
    f2: float,
    g2: float,
    bounds: tuple[float, float] | None = None,
) -> float:
    """The place between bounds (the two places) at which the cubic of these values and slopes is least; their middle
    if there is none. Source: Nocedal and Wright, 2006, equation 3.59."""
    (x, f, df), (y, g, dg) = sorted(
        [(x1, float(f1), float(g1)), (x2, float(f2), float(g2))], key=itemgetter(0)
    )
    near, far = (x, y) if bounds is None else bounds
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
