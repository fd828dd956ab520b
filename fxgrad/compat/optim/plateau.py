"""Learning rates that decrease when a metric stops improving."""

from __future__ import annotations

import math
import warnings

from .._declare.packages import complete_module
from ..errors import ArgumentValueError
from .optimizer import Optimizer
from .scheduler import EPOCH_WARNING, LRScheduler, check_optimizer, set_option


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by `factor` when the measure was no better for more than `patience` epochs.

    Args:
        mode: whether a better measure is smaller ("min") or greater ("max").
        threshold: how much better it has to be, in relation to the best ("rel") or absolutely ("abs").
        cooldown: epochs after a change that do not count.
        min_lr: the least learning rate, or one for every group; changes of less than `eps` are not made.
        threshold_mode: whether the threshold is a part of the measure ("rel") or absolute ("abs").

    Raises:
        ValueError: `factor` is 1 or more, there is no such `mode` or `threshold_mode`, or not one `min_lr` for each
            group.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for measure in (3.0, 3.0, 3.0):
    ...     scheduler.step(measure)
    >>> scheduler.get_last_lr()
    [0.1]
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
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1.0:
            raise ArgumentValueError(
                "Factor should be < 1.0.", hint="factor=0.1, by which the learning rate is multiplied"
            )
        self.optimizer = check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != count:
                raise ArgumentValueError(
                    f"expected {count} min_lrs, got {len(min_lr)}",
                    hint=f"a list of {count}, one for each group, or one number for all",
                )
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        if mode not in ("min", "max"):
            raise ArgumentValueError(
                f"mode {mode} is unknown!", hint='mode="min" of a loss, mode="max" of an accuracy'
            )
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentValueError(
                f"threshold mode {threshold_mode} is unknown!",
                hint='threshold_mode="rel" of a part of the best, "abs" of a difference',
            )
        self.mode, self.factor, self.patience, self.cooldown, self.eps = mode, factor, patience, cooldown, eps
        self.threshold, self.threshold_mode, self.last_epoch = threshold, threshold_mode, 0
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._last_lr = self._fx_rates()
        self._reset()

    def _reset(self) -> None:
        """Forget the measures so far."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count now."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        """Whether a measure is better than the best so far by the threshold."""
        if math.isinf(best):
            return abs(a) < math.inf
        margin = self.threshold if self.threshold_mode == "abs" else best * self.threshold
        return a < best - margin if self.mode == "min" else a > best + margin

    def step(self, metrics, epoch: int | None = None) -> None:  # type: ignore[override]
        """Begin the next epoch: `metrics` is the measure of the one that ends."""
        measure = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(measure, self.best):
            self.best, self.num_bad_epochs = measure, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._fx_rates()

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # some were added
            if self.default_min_lr is None:
                raise ArgumentValueError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups.",
                    hint=f"scheduler.min_lrs += [0.0] * {len(groups) - len(self.min_lrs)}",
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)


complete_module(globals(), "optim.lr_scheduler")
