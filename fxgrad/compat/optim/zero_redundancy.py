"""ZeroRedundancyOptimizer: each process keeps the optimizer's state of a part of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..distributed import collectives
from ..distributed.algorithms.join import Join, Joinable, JoinHook
from ..distributed.groups import ensure_inside, get_global_rank
from ..errors import NotSupportedError, TensorError
from .optimizer import Optimizer, ParamsT


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state is spread over processes: each makes the steps of a part of the parameters, and sends
    them to the others. The parameters and gradients are the same on all, as DistributedDataParallel leaves them.

    Args:
        params: the parameters, or groups of them.
        optimizer_class: the optimizer that each process has for its part.
        process_group: the processes; None: all.
        parameters_as_bucket_view: accepted.
        overlap_with_ddp: to be False.
        defaults: the options of `optimizer_class`.

    >>> import fxgrad.compat.distributed as dist
    >>> from fxgrad.compat.optim.zero_redundancy import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo")
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = ZeroRedundancyOptimizer([w], torch.optim.SGD, lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 0.5]
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: ParamsT,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ):
        if overlap_with_ddp:
            raise NotSupportedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not there", hint="overlap_with_ddp=False"
            )
        self.process_group = ensure_inside(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.owners: dict[Any, int] = {}  # parameter → the process that has its state
        self.loads = [0] * self.world_size  # how many entries each process has
        self.optim: Any = None
        self.whole: dict[str, Any] | None = None
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.optim = optimizer_class([self.own_part(group) for group in self.param_groups], **defaults)
        self.take_options(self.optim.param_groups, self.param_groups)

    # -- parameters ------------------------------------------
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters and distribute it: each, largest first, goes to the process with the fewest
        entries."""
        Optimizer.add_param_group(self, param_group)
        group = self.param_groups[-1]
        for p in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
            owner = self.owners[p] = min(range(self.world_size), key=self.loads.__getitem__)
            self.loads[owner] += p.numel()
        if self.optim is not None:
            self.optim.add_param_group(self.own_part(group))
            self.take_options(self.optim.param_groups[-1:], [group])

    def own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return a group with those of its parameters that belong to this process."""
        return {**group, "params": [p for p in group["params"] if self.owners[p] == self.rank]}

    @staticmethod
    def take_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        """Give groups the options of others."""
        for given, group in zip(source, target, strict=True):
            group.update({name: x for name, x in given.items() if name != "params"})

    def all_parameters(self) -> list[Any]:
        """The parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    # -- steps ------------------------------------------
    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Make a step of this process's parameters, and take those of the others."""
        Join.notify_join_context(self)
        self.take_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        works = [
            collectives.broadcast(p.data, group=self.process_group, async_op=True, group_src=self.owners[p])
            for p in self.all_parameters()
        ]
        for work in works:
            work.wait()
        return loss

    # -- state ------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes on one, which has it as `state_dict()` until the next time."""
        own = {p: state for p, state in self.optim.state.items() if state}
        numbers = {p: i for i, p in enumerate(self.all_parameters())}
        parts = self.process_group._fx_communicator.gather_objects({numbers[p]: s for p, s in own.items()})
        if to == get_global_rank(self.process_group, self.rank):
            self.whole = {number: state for part in parts for number, state in part.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the options and the state of each parameter, as they were last collected on this process.

        Raises:
            TensorError: they were not.
        """
        if self.whole is None:
            raise TensorError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state.",
                hint=f"optimizer.consolidate_state_dict(to={self.rank}) on all ranks, then state_dict()",
            )
        self.take_options(self.optim.param_groups, self.param_groups)
        return {**Optimizer.state_dict(self), "state": dict(sorted(self.whole.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the options and the state that belong to this process from those of all."""
        numbers = {p: i for i, p in enumerate(self.all_parameters())}
        self.take_options(state_dict["param_groups"], self.param_groups)
        self.take_options(self.param_groups, self.optim.param_groups)
        local = self.optim.state_dict()
        mine = [p for group in self.optim.param_groups for p in group["params"]]
        found = {i: state_dict["state"].get(numbers[p]) for i, p in enumerate(mine)}
        self.optim.load_state_dict({**local, "state": {i: s for i, s in found.items() if s is not None}})

    # -- uneven inputs ------------------------------------------
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook that keeps making steps, as the other processes do, after the inputs of this one have
        ended."""
        return SteppingHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.all_parameters()[0].device

    @property
    def join_process_group(self) -> Any:
        """The group of processes."""
        return self.process_group


class SteppingHook(JoinHook):
    """The hook of a ZeroRedundancyOptimizer whose process has no inputs left: it still updates its parameters."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Make a step."""
        self.optimizer.step()


__all__ = ["ZeroRedundancyOptimizer"]
