"""Schedules: functions that map the number of steps, which may be traced, to a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import numpy as fnp
from .. import ops
from ..core.errors import StructureError
from ..core.interpreter import api_boundary

Schedule = Callable[[Any], Any]


@api_boundary
def constant_schedule(value: Any) -> Schedule:
    """A schedule that is constant.

    >>> schedule = fx.optim.constant_schedule(0.1)
    >>> [round(float(schedule(k)), 4) for k in (0, 100)]
    [0.1, 0.1]
    """
    return lambda count: value


def fraction_of(count: Any, steps: Any) -> Any:
    """The part of so many steps that is over, between 0 and 1."""
    return fnp.clip(count / steps, 0.0, 1.0)


@api_boundary
def polynomial_schedule(
    init_value: Any, end_value: Any, power: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """(init - end)·(1 - fraction)^power + end, from transition_begin on over transition_steps.

    Args:
        init_value: the value at first.
        end_value: the value in the end.
        power: of what is left of the way.
        transition_steps: how many steps the way takes.
        transition_begin: when it begins.

    >>> schedule = fx.optim.polynomial_schedule(1.0, 0.0, 2, 10)
    >>> [float(schedule(k)) for k in (0, 5, 20)]
    [1.0, 0.25, 0.0]
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)

    def schedule(count: Any) -> Any:
        left = 1 - fraction_of(count - transition_begin, transition_steps)
        return (init_value - end_value) * left**power + end_value

    return schedule


@api_boundary
def linear_schedule(
    init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """A schedule that changes linearly from one number to another.

    Args:
        init_value: the value at first.
        end_value: the value in the end.
        transition_steps: how many steps the way takes.
        transition_begin: when it begins.

    >>> schedule = fx.optim.linear_schedule(1.0, 0.0, 10)
    >>> [round(float(schedule(k)), 4) for k in (0, 5, 20)]
    [1.0, 0.5, 0.0]
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


@api_boundary
def exponential_decay(
    init_value: Any,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """init·rate^(steps/transition_steps), from transition_begin on.

    Args:
        init_value: at first.
        transition_steps: after how many steps the rate has been applied once.
        decay_rate: the rate.
        transition_begin: when it begins.
        staircase: whole powers only.
        end_value: where it stops; the least for a rate below 1, else the greatest.

    >>> schedule = fx.optim.exponential_decay(1.0, 10, 0.5)
    >>> [round(float(schedule(k)), 4) for k in (0, 10, 20)]
    [1.0, 0.5, 0.25]
    """

    def schedule(count: Any) -> Any:
        passed = ops.maximum(count - transition_begin, 0)
        exponent = passed / transition_steps
        value = init_value * decay_rate ** (ops.floor(exponent) if staircase else exponent)
        if end_value is None:
            return value
        return (ops.maximum if decay_rate < 1 else ops.minimum)(value, end_value)

    return schedule


@api_boundary
def cosine_decay_schedule(
    init_value: Any, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0
) -> Schedule:
    """From init to alpha·init along half a cosine (Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm
    restarts", 2016).

    Args:
        init_value: the value at first.
        decay_steps: how many steps the way takes.
        alpha: the share of it that is left in the end.
        exponent: of the cosine, which is between 0 and 1.

    Raises:
        StructureError: `decay_steps` is not positive.

    >>> schedule = fx.optim.cosine_decay_schedule(1.0, 10)
    >>> [round(float(schedule(k)), 6) for k in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """
    if decay_steps <= 0:
        raise StructureError(
            f"cosine_decay_schedule: decay_steps is positive, not {decay_steps}",
            hint="the number of steps until the end, 1000 say",
        )

    def schedule(count: Any) -> Any:
        falling = 0.5 * (1 + ops.cos(math.pi * fraction_of(count, decay_steps)))
        return init_value * ((1 - alpha) * falling**exponent + alpha)

    return schedule


@api_boundary
def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """A sequence of schedules, each counting from its own beginning: the second from boundaries[0] on.

    Args:
        schedules: functions of the number of steps since they began.
        boundaries: when all but the first begin.

    Raises:
        StructureError: not one boundary less than schedules.

    >>> schedule = fx.optim.join_schedules([fx.optim.constant_schedule(1.0), fx.optim.constant_schedule(0.1)], [5])
    >>> [round(float(schedule(k)), 4) for k in (0, 4, 5)]
    [1.0, 1.0, 0.1]
    """
    if len(boundaries) != len(schedules) - 1:
        raise StructureError(
            f"join_schedules: {len(schedules)} schedules with {len(boundaries)} boundaries",
            hint=f"{len(schedules) - 1} boundaries: the step at which each but the first begins",
        )

    def schedule(count: Any) -> Any:
        value = schedules[0](count)
        for boundary, following in zip(boundaries, schedules[1:]):
            value = ops.where(ops.less(count, boundary), value, following(count - boundary))
        return value

    return schedule


@api_boundary
def warmup_cosine_decay_schedule(
    init_value: float, peak_value: float, warmup_steps: int, decay_steps: int, end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:  # fmt: skip
    """A linear increase over warmup_steps, followed by a half-cosine decay until decay_steps.

    Source: I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2016; the warm-up is
    that of P. Goyal et al., "Accurate, large minibatch SGD", 2017.

    Args:
        init_value: the value at first.
        peak_value: the value after the warm-up.
        warmup_steps: how many steps that takes.
        decay_steps: how many steps there are in all.
        end_value: the value in the end.
        exponent: of the cosine.

    >>> schedule = fx.optim.warmup_cosine_decay_schedule(0.0, 1.0, 10, 110)
    >>> [round(float(schedule(k)), 4) for k in (0, 10, 60, 110)]
    [0.0, 1.0, 0.5, 0.0]
    """
    alpha = end_value / peak_value if peak_value else 0.0
    return join_schedules(
        [
            linear_schedule(init_value, peak_value, warmup_steps),
            cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent),
        ],
        [warmup_steps],
    )


@api_boundary
def piecewise_constant_schedule(
    init_value: float, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """A number that is multiplied by a scale at each of the given numbers of steps.

    Args:
        init_value: the value at first.
        boundaries_and_scales: numbers of steps, each with the factor from there on.

    >>> schedule = fx.optim.piecewise_constant_schedule(1.0, {5: 0.1, 8: 0.5})
    >>> [round(float(schedule(k)), 4) for k in (0, 5, 8)]
    [1.0, 0.1, 0.05]
    """

    def schedule(count: Any) -> Any:
        value: Any = init_value
        for boundary, factor in sorted((boundaries_and_scales or {}).items()):
            value = value * ops.where(ops.greater_equal(count, boundary), factor, 1.0)
        return value

    return schedule


__all__ = [
    "constant_schedule", "cosine_decay_schedule", "exponential_decay", "join_schedules", "linear_schedule",
    "piecewise_constant_schedule", "polynomial_schedule", "warmup_cosine_decay_schedule",
]  # fmt: skip
