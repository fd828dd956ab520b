"""Learning rates that change from epoch to epoch."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

from .._core.errors import ArgumentError, ArgumentValueError
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class LRScheduler:
    """The base of all schedulers: `step()`, once an epoch after the optimizer's steps, sets the learning rates
    of its groups to what `get_lr()` returns, which knows `last_epoch` and `base_lrs`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    f"last_epoch >= 0."
                )
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._step_count = 0
        self.advance()

    def get_lr(self) -> list[float]:
        """The learning rates of the groups in this epoch: subclasses define it."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The learning rates that the last step set."""
        return self._last_lr

    def step(self) -> None:
        """Begin the next epoch."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=2,
            )
        self.advance()

    def advance(self) -> None:
        """Begin the next epoch, whether or not the optimizer has made a step."""
        self._step_count += 1
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    @property
    def lrs(self) -> list[float]:
        """The learning rates of the groups as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and functions."""
        return {
            name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambdas")
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` after every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        change = self.last_epoch and self.last_epoch % self.step_size == 0
        return [lr * self.gamma for lr in self.lrs] if change else self.lrs


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the epochs `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self.lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [lr * self.gamma for lr in self.lrs] if self.last_epoch else self.lrs


class LambdaLR(LRScheduler):
    """The initial learning rate times a function of the epoch, or one for every group."""

    def __init__(self, optimizer: Optimizer, lr_lambda, last_epoch: int = -1):
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        )
        if len(self.lr_lambdas) != count:
            raise ArgumentValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LambdaLR):
    """The learning rate times a function of the epoch."""

    def get_lr(self) -> list[float]:
        if not self.last_epoch:
            return self.lrs
        return [lr * f(self.last_epoch) for lr, f in zip(self.lrs, self.lr_lambdas)]


class LinearLR(LRScheduler):
    """The initial learning rate times a factor that goes linearly from `start_factor` to `end_factor`."""

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
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if not 0 <= end_factor <= 1:
            raise ArgumentValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        start, end, total, epoch = self.start_factor, self.end_factor, self.total_iters, self.last_epoch
        if not epoch:
            return [lr * start for lr in self.lrs]
        if epoch > total:
            return self.lrs
        ratio = 1 + (end - start) / (total * start + (epoch - 1) * (end - start))
        return [lr * ratio for lr in self.lrs]


class ConstantLR(LRScheduler):
    """The initial learning rate times `factor` for so many epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1
    ):
        if not 0 <= factor <= 1:
            raise ArgumentValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if not self.last_epoch:
            return [lr * self.factor for lr in self.lrs]
        return [lr / self.factor for lr in self.lrs] if self.last_epoch == self.total_iters else self.lrs


class CosineAnnealingLR(LRScheduler):
    """Move the learning rate to `eta_min` along half a wave of the cosine, T_max epochs long, and so on.

    Source: Loshchilov and Hutter, 2016, arXiv:1608.03983, without restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, low = self.last_epoch, self.eta_min
        if not epoch:
            return self.lrs
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom, where the ratio below is 0/0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, self.lrs)]
        now, before = (1 + math.cos(math.pi * t / self.T_max) for t in (epoch, epoch - 1))
        return [now / before * (lr - low) + low for lr in self.lrs]


class SequentialLR(LRScheduler):
    """Schedulers one after the other, each from its milestone on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ):
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0].advance()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Begin the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i and self._milestones[i - 1] == self.last_epoch:
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"]
            scheduler.last_epoch = -1
        scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by `factor` when the measure was no better for more than `patience` epochs.

    Args:
        mode: whether a better measure is smaller ("min") or greater ("max").
        threshold: how much better it has to be, in relation to the best ("rel") or absolutely ("abs").
        cooldown: epochs after a change that do not count.
        min_lr: the least learning rate, or one for every group; changes of less than `eps` are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr=0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise ArgumentValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ArgumentValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentValueError(f"threshold mode {threshold_mode} is unknown!")
        count = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ArgumentValueError(f"expected {count} min_lrs, got {len(self.min_lrs)}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps, self.last_epoch = cooldown, eps, 0
        self._last_lr = self.lrs
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0

    def is_better(self, measure: float) -> bool:
        """Whether it is better than the best so far by the threshold."""
        if math.isinf(self.best):
            return abs(measure) < math.inf
        margin = self.threshold if self.threshold_mode == "abs" else self.best * self.threshold
        return measure < self.best - margin if self.mode == "min" else measure > self.best + margin

    def step(self, metrics) -> None:  # type: ignore[override]
        """Begin the next epoch: `metrics` is the measure of the one that ends."""
        measure = float(metrics)
        self.last_epoch += 1
        if self.is_better(measure):
            self.best, self.num_bad_epochs = measure, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                lr = max(group["lr"] * self.factor, least)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self.lrs


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
