"""Learning rates given by formulas of the epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .._declare.packages import complete_module
from ..errors import ArgumentValueError
from .optimizer import Optimizer
from .scheduler import LRScheduler, load_functions, save_functions


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` after every `step_size` epochs.

    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        change = self.last_epoch and self.last_epoch % self.step_size == 0
        return [lr * self.gamma for lr in self._fx_rates()] if change else self._fx_rates()

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the epochs `milestones`.

    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3])
    >>> rates
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._fx_rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` after every epoch.

    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return self._fx_rates() if self._is_initial else [lr * self.gamma for lr in self._fx_rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class FunctionScheduler(LRScheduler):
    """The base of schedulers by functions of the epoch: one for all groups, or one for every group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ArgumentValueError(
                f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}",
                hint=f"a list of {count}, one for each group, or one function for all",
            )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """See `LRScheduler`; "lr_lambdas" are the attributes of callable objects."""
        return super().state_dict() | {"lr_lambdas": save_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        super().load_state_dict({name: x for name, x in state_dict.items() if name != "lr_lambdas"})
        load_functions(self.lr_lambdas, state_dict["lr_lambdas"])


class LambdaLR(FunctionScheduler):
    """The initial learning rate times a function of the epoch.

    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> rates
    [1.0, 0.5, 0.3333, 0.25]
    """

    def get_lr(self) -> list[Any]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(FunctionScheduler):
    """The learning rate times a function of the epoch.

    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.9)
    >>> rates
    [1.0, 0.9, 0.81, 0.729]
    """

    def get_lr(self) -> list[Any]:
        if self._is_initial:
            return self._fx_rates()
        return [lr * f(self.last_epoch) for lr, f in zip(self._fx_rates(), self.lr_lambdas)]


class LinearLR(LRScheduler):
    """The initial learning rate times a factor that goes linearly from `start_factor` to `end_factor`.

    Raises:
        ValueError: `start_factor` is outside (0, 1], or `end_factor` outside [0, 1].

    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
    >>> rates
    [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not 0 < start_factor <= 1:
            raise ArgumentValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
                hint="start_factor=1 / 3; lr of the optimizer is what it is multiplied with",
            )
        if not 0 <= end_factor <= 1:
            raise ArgumentValueError(
                "Ending multiplicative factor expected to be between 0 and 1.",
                hint="end_factor=1.0; lr of the optimizer is what it is multiplied with",
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        start, end, total, epoch = self.start_factor, self.end_factor, self.total_iters, self.last_epoch
        if epoch == 0:
            return [lr * start for lr in self._fx_rates()]
        if self._is_initial or epoch > total:
            return self._fx_rates()
        ratio = 1 + (end - start) / (total * start + (epoch - 1) * (end - start))
        return [lr * ratio for lr in self._fx_rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [
            base * (self.start_factor + (self.end_factor - self.start_factor) * part)
            for base in self.base_lrs
        ]


class ConstantLR(LRScheduler):
    """The initial learning rate times `factor` for so many epochs.

    Raises:
        ValueError: `factor` is outside [0, 1].

    >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1
    ):
        if not 0 <= factor <= 1:
            raise ArgumentValueError(
                "Constant multiplicative factor expected to be between 0 and 1.",
                hint="factor=1 / 3; lr of the optimizer is what it is multiplied with",
            )
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._fx_rates()]
        return (
            [lr / self.factor for lr in self._fx_rates()]
            if self.last_epoch == self.total_iters
            else self._fx_rates()
        )

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Move the learning rate to zero in so many epochs t: the initial one times (1 - epoch/t)^power.

    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, total = self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return self._fx_rates()
        decay = ((1 - epoch / total) / (1 - (epoch - 1) / total)) ** self.power
        return [lr * decay for lr in self._fx_rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1 - part) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Move the learning rate to `eta_min` along half a wave of the cosine, T_max epochs long, and so on.

    Source: Loshchilov and Hutter, 2016, arXiv:1608.03983, without restarts.

    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates
    [1.0, 0.8536, 0.5, 0.1464]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._fx_rates()
        if self._step_count == 1 and epoch > 0:  # a schedule that was set to this epoch
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom, where the ratio below is 0/0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, self._fx_rates())]
        now, before = (1 + math.cos(math.pi * t / self.T_max) for t in (epoch, epoch - 1))
        return [now / before * (lr - low) + low for lr in self._fx_rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


complete_module(globals(), "optim.lr_scheduler")
