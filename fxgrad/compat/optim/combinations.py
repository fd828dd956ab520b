"""Combinations of schedulers: in sequence, or chained."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from .._declare.packages import complete_module
from ..errors import ArgumentError, ArgumentValueError
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler


class CombinedScheduler(LRScheduler):
    """The base of schedulers that are made of others."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """See `LRScheduler`; "_schedulers" are the states of the parts."""
        return super().state_dict() | {"_schedulers": [part.state_dict() for part in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        super().load_state_dict({name: x for name, x in state_dict.items() if name != "_schedulers"})
        for part, state in zip(self._schedulers, state_dict["_schedulers"]):
            part.load_state_dict(state)


def check_schedulers(owner: str, schedulers: Sequence[Any], optimizer: Optimizer | None) -> Optimizer:
    """Return the common optimizer of the schedulers, or the given one.

    Raises:
        ValueError: there are several, or a scheduler that needs a measure.
        TypeError: what is no scheduler.
    """
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise ArgumentError(
                f"{owner} at index {i} should have `optimizer` as its attribute.",
                hint="schedulers of one optimizer: [ExponentialLR(optimizer, 0.9), …]",
            )
        optimizer = scheduler.optimizer if optimizer is None else optimizer
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ArgumentValueError(
                f"{owner} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.",
                hint="plateau.step(loss) beside the step() of the others",
            )
        if scheduler.optimizer is not optimizer:
            raise ArgumentValueError(
                f"{owner} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                f"{optimizer}.",
                hint=f"{owner} for each optimizer",
            )
    if optimizer is None:
        raise ArgumentValueError(
            f"{owner} expects at least one scheduler", hint="[ExponentialLR(optimizer, 0.9)]"
        )
    return optimizer


class SequentialLR(CombinedScheduler):
    """Schedulers one after the other, each from its milestone on, where it begins with its first epoch.

    Args:
        milestones: the epochs at which the second and all others begin.

    Raises:
        ValueError: not one milestone less than schedulers, or they have different optimizers, or one goes by a loss.
        TypeError: one has no optimizer.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> first = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> then = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [first, then], milestones=[2])
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ):
        if len(schedulers) < 1:
            raise ArgumentValueError(
                "SequentialLR expects at least one scheduler, but got no scheduler.",
                hint="[ExponentialLR(optimizer, 0.9)], and milestones=[]",
            )
        check_schedulers("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}",
                hint=f"{len(schedulers) - 1} milestones: the numbers of steps after which the next scheduler begins",
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self.recursive_undo()
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the epochs that the parts began when they were made."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:  # type: ignore[attr-defined]
                self.recursive_undo(part)
        else:
            scheduler.last_epoch -= 1

    def _initial_step(self) -> None:
        self._schedulers[0]._initial_step()

    def step(self) -> None:  # type: ignore[override]
        """Begin the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(CombinedScheduler):
    """Several schedulers at once: each goes on from the rates that the ones before it set.

    Args:
        optimizer: the optimizer; None: theirs.

    Raises:
        ValueError: there are no schedulers, they have different optimizers, or one goes by a loss.
        TypeError: one has no optimizer.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> start = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=1)
    >>> both = torch.optim.lr_scheduler.ChainedScheduler([start, decay])
    >>> optimizer.step()
    >>> both.step()
    >>> both.get_last_lr()
    [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if len(schedulers) < 1:
            raise ArgumentValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
                hint="[ExponentialLR(optimizer, 0.9)]",
            )
        self.optimizer = check_schedulers("ChainedScheduler", schedulers, optimizer)
        self._schedulers = list(schedulers)
        self._last_lr = self._fx_rates()

    def _initial_step(self) -> None:
        for part in self._schedulers:
            part._initial_step()

    def step(self) -> None:  # type: ignore[override]
        """Begin the next epoch."""
        for part in self._schedulers:
            part.step()
        self._last_lr = self._fx_rates()


complete_module(globals(), "optim.lr_scheduler")
