"""Cyclic learning rates, with the momentum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._declare.packages import complete_module
from ..errors import ArgumentValueError
from .optimizer import Optimizer
from .scheduler import (
    LRScheduler,
    check_optimizer,
    load_functions,
    per_group,
    save_functions,
    set_momentum,
    set_option,
    uses_beta1,
)


class CyclicLR(LRScheduler):
    """Move the learning rate up and down between two bounds, once in every `step_size_up + step_size_down` epochs, and
    the momentum down and up. Source: Smith, 2015, arXiv:1506.01186.

    Args:
        base_lr, max_lr: the bounds, or those of every group.
        step_size_up, step_size_down: epochs on the way up, and down (None: as many).
        mode: "triangular", "triangular2" (halve the height after every cycle) or "exp_range" (times gamma^epoch).
        scale_fn: a function that the height is multiplied with, in place of `mode`'s: of the number of the cycle, or
            of the epoch with `scale_mode="iterations"`.

    Raises:
        ValueError: an unknown mode; lists of the wrong length; an optimizer without momentum where it is to move.

    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(
    ...     optimizer, base_lr=0.1, max_lr=1.0, step_size_up=2, cycle_momentum=False
    ... )
    >>> rates
    [0.1, 0.55, 1.0, 0.55]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ):
        groups = check_optimizer(optimizer).param_groups
        base_lrs = per_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, groups):
                set_option(group, "lr", lr)
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentValueError(
                "mode is invalid and scale_fn is None",
                hint='mode="triangular", "triangular2" or "exp_range"; scale_fn=lambda cycle: 1.0 for one of your own',
            )
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = "iterations" if scale_fn is None and mode == "exp_range" else scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            self.base_momentums = per_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for low, high, group in zip(self.base_momentums, self.max_momentums, groups):
                    set_momentum(group, self.use_beta1, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The factor of the height: of the number of the cycle, or of the epoch."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1 + self.last_epoch / self.total_size - cycle
        rising = place <= self.step_ratio
        height = place / self.step_ratio if rising else (place - 1) / (self.step_ratio - 1)
        factor = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups)
            for low, high, group in bounds:
                set_momentum(group, self.use_beta1, high - (high - low) * height * factor)
        return [base + (top - base) * height * factor for base, top in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """See `LRScheduler`; "_scale_fn_custom" are the attributes of a callable object."""
        (custom,) = save_functions([self._scale_fn_custom])
        return super().state_dict() | {"_scale_fn_custom": custom}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        super().load_state_dict({name: x for name, x in state_dict.items() if name != "_scale_fn_custom"})
        load_functions([self._scale_fn_custom], [state_dict["_scale_fn_custom"]])


class OneCycleLR(LRScheduler):
    """Move the learning rate up to `max_lr` and down to nearly nothing, once, one step after every batch, and the
    momentum the other way. Source: Smith and Topin, 2017, arXiv:1708.07120.

    Args:
        max_lr: the highest rate, or that of every group.
        total_steps, epochs, steps_per_epoch: how many steps there are.
        pct_start: the part of them on the way up.
        anneal_strategy: "cos" or "linear".
        div_factor, final_div_factor: highest / first rate, first / last rate.
        three_phase: come down to the first rate in as many steps, and then go on to the last.

    Raises:
        ValueError: an argument out of range; in `step`, more steps than there are.

    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5)
    >>> rates
    [0.04, 0.9505, 0.6113, 0.1883]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        groups = check_optimizer(optimizer).param_groups
        self.total_steps = count_steps(total_steps, epochs, steps_per_epoch)
        if isinstance(pct_start, bool) or not isinstance(pct_start, float | int) or not 0 <= pct_start <= 1:
            raise ArgumentValueError(
                f"Expected float between 0 and 1 pct_start, but got {pct_start}",
                hint="pct_start=0.3: three tenths of the steps go up",
            )
        if anneal_strategy not in ANNEALINGS:
            raise ArgumentValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}",
                hint='anneal_strategy="cos"',
            )
        rise = float(pct_start * self.total_steps)
        self._schedule_phases = [
            make_phase(rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        ]
        if three_phase:
            self._schedule_phases += [
                make_phase(2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                make_phase(self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            last = make_phase(self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
            self._schedule_phases.append(last)
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for top, group in zip(highest, groups):
                first = top / div_factor
                group.update(initial_lr=first, max_lr=top, min_lr=first / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            lows = per_group("base_momentum", base_momentum, optimizer)
            highs = per_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for low, high, group in zip(lows, highs, groups):
                    set_momentum(group, self.use_beta1, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The learning rate of each group; ValueError where all `total_steps` have been taken."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                hint=f"total_steps={step} or more; step() once a batch means epochs * steps_per_epoch",
            )
        anneal = ANNEALINGS[self._anneal_func_type]
        start, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if step <= phase["end_step"]:
                break
            start, phase = phase["end_step"], following
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                set_momentum(group, self.use_beta1, momentum)
        return rates


def count_steps(total: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """The number of steps, by itself or as that of the epochs times that of the steps in each."""
    if total is None and (epochs is None or steps_per_epoch is None):
        raise ArgumentValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch)",
            hint="total_steps=n, or epochs=n with steps_per_epoch=len(loader)",
        )
    given = (
        {"total_steps": total}
        if total is not None
        else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    )
    for name, count in given.items():
        if not isinstance(count, int) or count <= 0:
            raise ArgumentValueError(
                f"Expected positive integer {name}, but got {count}",
                hint=f"{name} as an int, 1 or more: {name}=100",
            )
    return math.prod(given.values())  # type: ignore[arg-type]


def make_phase(
    end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str
) -> dict[str, Any]:
    """Return a phase of a cycle, as states have it: when it ends, and the options between which it moves."""
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


ANNEALINGS: dict[str, Callable[[Any, Any, float], Any]] = {
    "cos": lambda start, end, part: end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1),
    "linear": lambda start, end, part: (end - start) * part + start,
}


class CosineAnnealingWarmRestarts(LRScheduler):
    """Move the learning rate to `eta_min` along half a wave of the cosine, again and again: the first time in T_0
    epochs, each next time in T_mult times as many. Source: Loshchilov and Hutter, 2016, arXiv:1608.03983.

    Raises:
        ValueError: lengths that are no positive integers.

    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ArgumentValueError(
                f"Expected positive integer T_0, but got {T_0}",
                hint="T_0=10: the number of epochs before the first restart",
            )
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentValueError(
                f"Expected integer T_mult >= 1, but got {T_mult}",
                hint="T_mult=1 restarts at equal distances, T_mult=2 at doubled ones",
            )
        if not isinstance(eta_min, float | int):
            raise ArgumentValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}",
                hint="eta_min=0.0; x.item() of a Tensor",
            )
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Begin the next epoch, or go to one, which may be a fraction: epoch + batch / batches.

        Raises:
            ValueError: the epoch is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ArgumentValueError(
                f"Expected non-negative epoch, but got {epoch}",
                hint="step() goes on by one epoch; step(0) begins anew",
            )
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0 if epoch >= self.T_0 else epoch
        else:
            count = max(0, int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult)))
            self.T_i = self.T_0 * self.T_mult**count
            self.T_cur = epoch - self.T_0 * (self.T_mult**count - 1) / (self.T_mult - 1)
        self.last_epoch = math.floor(epoch)
        with self._fx_inside_step():
            rates = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_option(group, "lr", rate)
        self._last_lr = self._fx_rates()


complete_module(globals(), "optim.lr_scheduler")
