"""DistributedDataParallel: a module that several processes train together, each on its part of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._core.tensor import Tensor
from ..autograd.grad_mode import is_grad_enabled
from ..distributed import arrays
from ..distributed.algorithms.ddp_comm_hooks import default_hooks
from ..distributed.algorithms.join import Join, Joinable, JoinHook
from ..distributed.groups import ProcessGroup, ensure_inside
from ..distributed.reducer import Reducer
from ..errors import ArgumentError, ArgumentValueError, NotSupportedError, TensorError
from .modules.embedding import Embedding, EmbeddingBag
from .modules.module import Module
from .parameter import UninitializedParameter

BUCKET_CAP_MB = 25
BUILTIN_HOOKS = {
    "ALLREDUCE": default_hooks.allreduce_hook,
    "FP16_COMPRESS": default_hooks.fp16_compress_hook,
}


class DistributedDataParallel(Module, Joinable):
    """A module that several processes train together: each calls it with its part of the data, and `backward` gives all
    of them the average of their gradients, which are sent while it goes on.

    All processes begin with the parameters and buffers of the first one, and are to make the same steps. The averaged
    gradient is that of the mean of the processes' losses: where each has the mean over its part of a batch, and the
    parts are as long, it is that of the whole batch.

    Args:
        module: the module, in the attribute `module`; its parameters are `module.…` in the `state_dict`.
        device_ids, output_device: the GPU of this process; None for a module on the CPU.
        dim: kept.
        broadcast_buffers: whether buffers are those of the first process in every forward pass.
        init_sync: whether parameters and buffers are those of the first process to begin with.
        process_group: the processes; None: all.
        bucket_cap_mb: how many megabytes of gradients are sent together.
        find_unused_parameters: whether a backward pass may leave parameters without a gradient, on some processes or
            all.
        check_reduction, skip_all_reduce_unused_params, bucket_cap_mb_list, batched_grad_copy: accepted.
        gradient_as_bucket_view: whether gradients stay in the memory in which they were sent.
        static_graph: whether every pass uses the same parameters in the same way, as often as the first one.
        delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision: to be None.
        device_mesh: a mesh of one dimension, whose processes are meant.
        forward_sync_buffers: `broadcast_buffers` of forward passes alone.

    Raises:
        RuntimeError: no parameter requires a gradient, or the processes have different modules. In the forward pass:
            the last backward pass has left parameters without a gradient, and `find_unused_parameters` is False.
        ValueError: there is no group yet, or devices are given for a module on the CPU.

    >>> import fxgrad.compat.distributed as dist
    >>> dist.init_process_group("gloo")
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.module.weight.grad, [name for name, _ in model.named_parameters()]
    (tensor([[3., 3.]]), ['module.weight', 'module.bias'])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ):
        Module.__init__(self)
        Joinable.__init__(self)
        if mixed_precision or delay_all_reduce_named_params or param_to_hook_all_reduce:
            raise NotSupportedError(
                "DistributedDataParallel: mixed_precision and delay_all_reduce_named_params are not there",
                hint="torch.autocast; model.no_sync()",
            )
        if process_group is not None and device_mesh is not None:
            raise TensorError(
                "Cannot specify both process_group and device_mesh arguments.",
                hint="device_mesh alone; device_mesh.get_group() is its process_group",
            )
        self.process_group: ProcessGroup = ensure_inside(
            device_mesh.get_group() if device_mesh is not None else process_group
        )
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.module, self.dim = module, dim
        if any(isinstance(x, UninitializedParameter) for x in self._fx_synchronized_parameters()):
            raise TensorError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
                "forward pass to correctly initialize the modules",
                hint="model(batch) once, before DistributedDataParallel(model)",
            )
        parameters = self._fx_trained_parameters()
        if not parameters:
            raise TensorError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient.",
                hint="the module itself; parameter.requires_grad_() where it is to be trained",
            )
        self.device = parameters[0].device
        self.device_ids, self.output_device = check_devices(parameters, device_ids, output_device)
        syncs = True if broadcast_buffers is None else broadcast_buffers
        self.broadcast_buffers = syncs if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.bucket_bytes_cap = int((bucket_cap_mb or BUCKET_CAP_MB) * 1024 * 1024)
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._fx_check_same_module()
        if init_sync:
            buffers = self._fx_synchronized_buffers() if syncs or forward_sync_buffers is not None else []
            self._fx_broadcast([*self._fx_synchronized_parameters(), *buffers], 0)
        self.reducer = self._fx_make_reducer()

    # -- what is sent ------------------------------------------
    def _fx_synchronized_parameters(self) -> list[Tensor]:
        """The parameters that are averaged: all except the ignored ones."""
        named = self.module.named_parameters()
        return [x for name, x in named if name not in self.parameters_to_ignore]

    def _fx_trained_parameters(self) -> list[Tensor]:
        """The averaged parameters that require a gradient."""
        return [x for x in self._fx_synchronized_parameters() if x.requires_grad]

    def _fx_synchronized_buffers(self) -> list[Tensor]:
        """The buffers that are synchronized: all except the ignored ones."""
        return [x for name, x in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _fx_make_reducer(self) -> Reducer:
        """Make the reducer that averages the gradients of the parameters."""
        parameters, sparse = self._fx_trained_parameters(), self._fx_sparsely_used()
        return Reducer(
            parameters,
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.static_graph,
            self.gradient_as_bucket_view,
            [i for i, p in enumerate(parameters) if id(p) in sparse],
        )

    def _fx_sparsely_used(self) -> set[int]:
        """The ids of the parameters whose gradients are sparse."""
        tables = (m for m in self.module.modules() if isinstance(m, Embedding | EmbeddingBag))
        return {id(table.weight) for table in tables if table.sparse}

    def _fx_check_same_module(self) -> None:
        """Raise on all processes if their parameters differ."""
        trained, sent = (
            [(tuple(x.shape), str(x.dtype)) for x in tensors]
            for tensors in (
                self._fx_trained_parameters(),
                [*self._fx_synchronized_parameters(), *self._fx_synchronized_buffers()],
            )
        )
        found = self.process_group._fx_communicator.gather_objects((trained, sent))
        first, sent_first = found[0]
        for rank, (others, sent_there) in enumerate(found):
            if len(others) != len(first):
                raise TensorError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(first)} params, while rank {rank} "
                    f"has inconsistent {len(others)} params.",
                    hint="build the same module on every rank, with no condition on the rank",
                )
            for index, (mine, wanted) in enumerate(zip(others, first, strict=True)):
                if mine != wanted:
                    raise TensorError(
                        f"[{rank}]: params[{index}] in this process with sizes {list(mine[0])} appears not to match "
                        f"sizes of the same param in process 0: {list(wanted[0])} ({mine[1]}, {wanted[1]})",
                        hint="build the same module on every rank, with no condition on the rank",
                    )
            if sent_there != sent_first:
                raise TensorError(
                    f"[{rank}]: the buffers and frozen parameters in this process appear not to match those in "
                    "process 0",
                    hint="build the same module on every rank, with no condition on the rank",
                )

    def _fx_broadcast(self, tensors: Sequence[Tensor], root: int) -> None:
        """Copy Tensors from one process to all others; Tensors of one dtype are sent together."""
        kinds: dict[Any, list[Tensor]] = {}
        for x in tensors:
            kinds.setdefault(x.dtype, []).append(x)
        for alike in kinds.values():
            values = [arrays.read(x, "a parameter or buffer") for x in alike]
            flat = self.process_group._fx_communicator.broadcast(arrays.join(values), root)
            if root != self.process_group.rank():
                for x, part in zip(alike, arrays.cut(flat, [v.size for v in values]), strict=True):
                    arrays.write(x, part)

    # -- passes ------------------------------------------
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the output of the wrapped module."""
        active = Join.notify_join_context(self)
        averages = is_grad_enabled() and self.require_backward_grad_sync
        if is_grad_enabled():
            self.reducer.ensure_finished()
        if active is not None:
            self.reducer.count_active(active)
        if self._fx_syncs_buffers:
            self._fx_broadcast(self._fx_synchronized_buffers(), self._fx_find_source())
        if self._join_config.enable:
            self._fx_agree_on_averages(averages)
        if self.device_ids:
            inputs, kwargs = move(inputs, self.device), move(kwargs, self.device)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averages
        if averages:
            self.reducer.expect(list(find_tensors(output)))
        elif is_grad_enabled():
            self.reducer.start_anew()
        return output

    @property
    def _fx_syncs_buffers(self) -> bool:
        """Whether the next forward pass begins with the buffers of one process."""
        return (
            self.require_forward_param_sync
            and self.broadcast_buffers
            and bool(self._fx_synchronized_buffers())
        )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context manager in which gradients are not averaged, but add up in each process; the first backward pass
        of a forward pass after it averages the sums.

        >>> import fxgrad.compat.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(torch.ones(3, 2)).sum().backward()
        >>> model(torch.ones(3, 2)).sum().backward()
        >>> model.module.bias.grad
        tensor([6.])
        >>> dist.destroy_process_group()
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Register a function that sends the gradients: hook(state, bucket) returns a Future of the new
        `bucket.buffer()`. See `torch.distributed.algorithms.ddp_comm_hooks.default_hooks`.

        Raises:
            ArgumentError: it cannot be called.
            TensorError: there is one.
        """
        if not callable(hook):
            raise ArgumentError(
                "Communication hook must be callable.",
                hint="def hook(state, bucket): …, which returns a Future of bucket.buffer()",
            )
        self.reducer.register_hook(state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        """Send the gradients by one of torch's built-in hooks."""
        self.register_comm_hook(self.process_group, BUILTIN_HOOKS[comm_hook_type.name])

    def _set_static_graph(self) -> None:
        """Declare that every pass uses the same parameters, equally often, as the first one does."""
        self.static_graph = self.reducer.static = True

    # -- uneven inputs ------------------------------------------
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return a context manager in which processes may have different numbers of inputs: see
        `torch.distributed.algorithms.join.Join`.

        Args:
            divide_by_initial_world_size: whether averages are over all processes, also over those without input.
            enable: whether anything is done.
            throw_on_early_termination: whether all processes raise as soon as the inputs of one have ended.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return a hook that joins the averages of other processes after the inputs of this process have ended."""
        self.reducer.divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return AveragingHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group of processes."""
        return self.process_group

    def _fx_find_source(self, is_active: bool = True) -> int:
        """Return the rank whose buffers are copied: the first, or, with uneven inputs, the last that still has some."""
        if not self._join_config.enable:
            return 0
        mine = self.process_group.rank() if is_active else -1
        return int(self.process_group._fx_communicator.all_reduce(np.array(mine), "max"))

    def _fx_agree_on_averages(self, averages: bool) -> bool:
        """Return whether the processes that still have inputs average the gradients of this iteration."""
        return bool(self.process_group._fx_communicator.all_reduce(np.array(averages), "or"))

    # -- copies ------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("reducer", "process_group")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = ensure_inside(None)
        self.reducer = self._fx_make_reducer()


class AveragingHook(JoinHook):
    """A hook that keeps a DistributedDataParallel module averaging after its own inputs have ended."""

    def __init__(self, model: DistributedDataParallel):
        self.model = model

    def main_hook(self) -> None:
        """Take part in one iteration of the other processes."""
        model = self.model
        if model._fx_syncs_buffers:
            model._fx_broadcast(model._fx_synchronized_buffers(), model._fx_find_source(False))
        model.require_forward_param_sync = model._fx_agree_on_averages(False)
        if model.require_forward_param_sync:
            model.reducer.reduce_nothing()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Copy the parameters and buffers of the process whose inputs ended last."""
        model = self.model
        tensors = [*model._fx_synchronized_parameters(), *model._fx_synchronized_buffers()]
        model._fx_broadcast(tensors, model._fx_find_source(is_last_joiner))
        model.reducer.count_active(None)


def check_devices(
    parameters: Sequence[Tensor], device_ids: Sequence[Any] | None, output_device: Any
) -> tuple[list[Any] | None, Any]:
    """Return the devices that are given, which must be GPUs where the parameters are.

    Raises:
        ArgumentValueError: they are given for parameters on the CPU, or are several.
    """
    if device_ids is not None and len(device_ids) > 1:
        raise ArgumentValueError(
            "device_ids can only be None or contain a single element.",
            hint=f"device_ids=[{device_ids[0]!r}], and a process for every device",
        )
    devices = {str(p.device) for p in parameters}
    if len({device.partition(":")[0] for device in devices}) > 1:
        raise ArgumentValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
            f"locate in {devices}.",
            hint="module.to(device)",
        )
    if not device_ids and output_device is None:
        return None, None
    if parameters[0].device.type == "cpu":
        raise ArgumentValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            f"single-device/multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
            f"output_device {output_device}, and module parameters {devices}.",
            hint="leave device_ids out for a module on the CPU",
        )
    ids = list(device_ids or [])
    return ids, ids[0] if output_device is None and ids else output_device


def move(value: Any, device: Any) -> Any:
    """Return the arguments of a module with their Tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((key, move(part, device)) for key, part in value.items())
    if isinstance(value, list | tuple):
        parts = [move(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def find_tensors(value: Any) -> Iterator[Tensor]:
    """The Tensors in containers and objects, as modules return them."""
    waiting, seen = [value], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set):
            waiting += value
        elif is_dataclass(value) and not isinstance(value, type):
            waiting += [getattr(value, field.name) for field in fields(value)]
        elif not isinstance(value, type | FunctionType | ModuleType | Module):
            waiting += getattr(value, "__dict__", {}).values()


__all__ = ["DistributedDataParallel"]
