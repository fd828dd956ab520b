"""Averages of weights: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._core.tensor import Tensor
from .._make.creation import tensor
from ..autograd.grad_mode import no_grad
from ..errors import ArgumentValueError
from ..nn.modules.module import Module
from ..nn.modules.normalization import _BatchNorm
from .optimizer import Optimizer
from .scheduler import LRScheduler, per_group

if TYPE_CHECKING:
    Average = Callable[[Tensor, Tensor, Tensor | int], Tensor]
    ListAverage = Callable[[list[Tensor], list[Tensor], Tensor | int], None]


def get_swa_avg_fn() -> Average:
    """Return the function (average, parameter, number so far) → the mean of all parameters so far.

    Source: P. Izmailov et al., Averaging weights leads to wider optima and better generalization, UAI 2018.

    >>> mean = torch.optim.swa_utils.get_swa_avg_fn()
    >>> mean(torch.tensor(0.0), torch.tensor(1.0), 1)
    tensor(0.5000)
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function (average, parameter, number so far) → decay · average + (1 - decay) · parameter.

    Raises:
        ValueError: a decay that is not from 0 to 1.

    >>> mean = torch.optim.swa_utils.get_ema_avg_fn(0.9)
    >>> mean(torch.tensor(0.0), torch.tensor(1.0), 1)
    tensor(0.1000)
    """
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Tensor | int) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_multi_avg_fn() -> ListAverage:
    """Return what `get_swa_avg_fn` returns, as a function of lists that writes into the first.

    Source: P. Izmailov et al., Averaging weights leads to wider optima and better generalization, UAI 2018.

    >>> mean = torch.optim.swa_utils.get_swa_multi_avg_fn()
    >>> averages = [torch.tensor(0.0)]
    >>> mean(averages, [torch.tensor(1.0)], 1)
    >>> averages
    [tensor(0.5000)]
    """
    return for_lists(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> ListAverage:
    """Return what `get_ema_avg_fn` returns, as a function of lists that writes into the first.

    Args:
        decay: how much of the average remains.

    >>> mean = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    >>> averages = [torch.tensor(0.0)]
    >>> mean(averages, [torch.tensor(1.0)], 1)
    >>> averages
    [tensor(0.1000)]
    """
    return for_lists(get_ema_avg_fn(decay))


def for_lists(average: Average) -> ListAverage:
    """Return the function of lists that writes averages into the first."""

    @no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor | int) -> None:
        for place, x in zip(averaged, current):
            place.copy_(average(place, x, num_averaged))

    return update


def check_decay(decay: float) -> None:
    """Raise for a decay that is not from 0 to 1."""
    if not 0 <= decay <= 1:
        raise ArgumentValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.",
            hint="decay=0.999: the part of the average that stays at each update",
        )


class AveragedModel(Module):
    """A copy of a model whose parameters are averages: of those of the model at each call of `update_parameters`.
    Source: Izmailov et al., 2018, arXiv:1803.05407.

    Args:
        model: the model, which is copied.
        device: where the copy is.
        avg_fn: (average, parameter, number so far) → the new average; None: their mean.
        multi_avg_fn: the same for lists, written into the first.
        use_buffers: whether buffers are averaged too; otherwise they are copied.

    Raises:
        AssertionError: both `avg_fn` and `multi_avg_fn` are given.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(torch.ones(1)).item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device=None,
        avg_fn: Average | None = None,
        multi_avg_fn: ListAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the parameters of the model into the averages."""

        def members(module: Module) -> list[Tensor]:
            buffers = module.buffers() if self.use_buffers else ()
            return list(chain(module.parameters(), buffers))

        averaged, current = members(self.module), [x.detach() for x in members(model)]
        if self.n_averaged == 0:
            for place, x in zip(averaged, current):
                place.copy_(x)
        elif self.avg_fn is not None:
            for place, x in zip(averaged, current):
                place.copy_(self.avg_fn(place.detach(), x, self.n_averaged))
        else:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            average([x.detach() for x in averaged], current, self.n_averaged)
        if not self.use_buffers:
            for place, x in zip(self.module.buffers(), model.buffers()):
                place.copy_(x)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device=None) -> None:
    """Compute the running statistics of the BatchNorms of a model anew, from one pass over the data.

    Args:
        loader: batches, or lists and tuples whose first element is the batch.
        model: the model, which is in training mode meanwhile.
        device: to which batches are moved.

    Returns:
        None.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta, was_training = [layer.momentum for layer in layers], model.training
    try:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # the mean of all batches
        for batch in loader:
            first = batch[0] if isinstance(batch, list | tuple) else batch
            model(first if device is None else first.to(device))
    finally:
        for layer, momentum in zip(layers, momenta):
            layer.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Move the learning rate to `swa_lr` in so many epochs, and keep it there.

    Source: P. Izmailov et al., Averaging weights leads to wider optima and better generalization, UAI 2018.

    Args:
        swa_lr: the rate, or that of every group.
        anneal_epochs: in how many epochs.
        anneal_strategy: "cos" or "linear".
        optimizer: the optimizer whose learning rates are set.
        last_epoch: the last epoch that was run; −1: none.

    Raises:
        ValueError: there is no such `anneal_strategy`, or `anneal_epochs` is negative.

    >>> parameter = torch.nn.Parameter(torch.zeros(1))
    >>> optimizer = torch.optim.SGD([parameter], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.55, 0.1, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        for rate, group in zip(per_group("swa_lr", swa_lr, optimizer), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}",
                hint='anneal_strategy="cos"',
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}",
                hint="anneal_epochs=0 changes the rate at once",
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _fx_share(self, epoch: int) -> float:
        """The part of `swa_lr` in the rate of an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        epoch = max(1, self.last_epoch) if self.anneal_epochs == 0 else self.last_epoch
        before, now = self._fx_share(epoch - 1), self._fx_share(epoch)
        rates = []
        for lr, group in zip(self._fx_rates(), self.optimizer.param_groups):
            target = group["swa_lr"]
            first = target if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * now + first * (1 - now))
        return rates


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
