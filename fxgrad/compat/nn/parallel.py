"""torch.nn.parallel: modules on several devices. Here each process uses one device."""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias
from typing import Any

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.tensor import Tensor
from .._make.devices import as_device
from ..ops.joining import cat
from .distributed_data_parallel import DistributedDataParallel
from .modules.module import Module


class DataParallel(Module):
    """A module that torch would run on several devices, each with a part of the batch. Here it runs on the device where
    it is, with the whole batch, which gives the same result.

    Args:
        module: the module, in the attribute `module`; its parameters are `module.…` in the `state_dict`.
        device_ids, output_device, dim: accepted, and kept.

    >>> model = torch.nn.DataParallel(torch.nn.Linear(2, 3))
    >>> model(torch.ones(4, 2)).shape, [name for name, _ in model.named_parameters()]
    (torch.Size([4, 3]), ['module.weight', 'module.bias'])
    """

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ):
        super().__init__()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.device_ids = list(device_ids or [])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the output of the wrapped module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module with the whole batch, on its present device."""
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*args, **(module_kwargs or {}))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return the module for each of the devices: the module itself."""
    return [network for _ in devices]


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each module with its input, one after the other."""
    options = [{} for _ in modules] if kwargs_tup is None else kwargs_tup
    return [
        module(*(given if isinstance(given, list | tuple) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, options, strict=True)
    ]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Split the Tensors in containers into one part for each device."""
    count = len(target_gpus)
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(count, dim)
        return [part.to(as_device(target)) for part, target in zip(parts, target_gpus, strict=False)]
    if isinstance(inputs, dict):
        columns = [scatter(value, target_gpus, dim) for value in inputs.values()]
        return [type(inputs)(zip(inputs, row, strict=True)) for row in zip(*columns, strict=False)]
    if isinstance(inputs, list | tuple) and inputs:
        rows = zip(*(scatter(value, target_gpus, dim) for value in inputs), strict=False)
        named = hasattr(inputs, "_fields")
        return [type(inputs)(*row) if named else type(inputs)(row) for row in rows]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: Sequence[Any], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split the arguments of a module, and its keyword arguments, into one part for each device."""
    args = scatter(tuple(inputs), target_gpus, dim) if inputs else []
    options = scatter(kwargs, target_gpus, dim) if kwargs else []
    length = max(len(args), len(options))
    args += [()] * (length - len(args))
    options += [{}] * (length - len(options))
    return tuple(args), tuple(options)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join the outputs of several devices on one."""
    first = outputs[0]
    if isinstance(first, Tensor):
        target = as_device(target_device)
        return cat([x.reshape(1) if x.ndim == 0 else x for x in (y.to(target) for y in outputs)], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((key, gather([x[key] for x in outputs], target_device, dim)) for key in first)
    parts = [gather(list(column), target_device, dim) for column in zip(*outputs, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_kwargs",
]
