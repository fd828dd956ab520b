"""LRScheduler: the base of all schedulers of learning rates."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..errors import ArgumentError, ArgumentValueError
from .optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


class LRScheduler:
    """The base of all schedulers: `step()`, once an epoch after the optimizer's steps, sets the learning rates of its
    groups to what `get_lr()` returns, which knows `last_epoch` and `base_lrs`.

    Args:
        optimizer: whose groups' "lr" it sets. Rates that are Tensors are written into.
        last_epoch: the epoch after which a schedule goes on; -1 begins one.

    Raises:
        TypeError: what is no optimizer.
        KeyError: a schedule that goes on, and groups without "initial_lr".

    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _is_initial = False  # whether this step is the one that begins the schedule
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        self.optimizer = check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_number(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    f"last_epoch >= 0."
                )
        self.base_lrs = [copy_number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Begin the first epoch, whether or not the optimizer has made a step."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The learning rates of the groups in this epoch: subclasses define it."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The learning rates that the last step set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Begin the next epoch, or the given one."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch, or of one: in closed form if there is one."""
        with self._fx_inside_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed()
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_option(group, "lr", rate)
        self._last_lr = self._fx_rates()

    @contextmanager
    def _fx_inside_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _fx_rates(self) -> list[Any]:
        """The learning rates of the groups as they are."""
        return [copy_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, and functions."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The name that LRScheduler had before."""


def check_optimizer(optimizer) -> Optimizer:
    """Raise for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError(
            f"{type(optimizer).__name__} is not an Optimizer",
            hint="torch.optim.SGD(parameters, lr=0.1); the scheduler comes after it",
        )
    return optimizer


def copy_number(x) -> Any:
    """Copy a number that may be a Tensor."""
    return x.detach().clone() if isinstance(x, Tensor) else x


def set_option(group: dict[str, Any], name: str, value) -> None:
    """Set an option of a group; a Tensor is written into."""
    if isinstance(group[name], Tensor):
        with no_grad():
            group[name].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def per_group(name: str, given, optimizer: Optimizer) -> list[Any]:
    """Return a value for each group: the given number repeated, or the given list."""
    groups = optimizer.param_groups
    if not isinstance(given, list | tuple):
        return [copy_number(given) for _ in groups]
    if len(given) != len(groups):
        raise ArgumentValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, "
            f"param_groups has {len(groups)}.",
            hint=f"a list of {len(groups)}, or one value for all groups",
        )
    return list(given)


# -- functions in states ------------------------------------------
def save_functions(functions: Sequence[Any]) -> list[dict[str, Any] | None]:
    """Return the attributes of callable objects, and None for functions, which states do not keep."""
    return [
        None if isinstance(f, FunctionType) or not hasattr(f, "__dict__") else dict(f.__dict__)
        for f in functions
    ]


def load_functions(functions: Sequence[Any], saved: Sequence[dict[str, Any] | None]) -> None:
    """Give callable objects the attributes that they had."""
    for function, attributes in zip(functions, saved):
        if attributes is not None:
            function.__dict__.update(attributes)


# -- the first coefficient of momentum ------------------------------------------
def uses_beta1(optimizer: Optimizer) -> bool:
    """Whether momentum is the first of "betas".

    Raises:
        ValueError: there is no momentum at all.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ArgumentValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
            hint="cycle_momentum=False, or SGD(…, momentum=0.9)",
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], is_beta1: bool, momentum: float) -> None:
    """Set the momentum of a group."""
    if is_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum
