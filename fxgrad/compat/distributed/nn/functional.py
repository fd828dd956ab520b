"""torch.distributed.nn.functional: differentiable collectives that return new Tensors.

The gradient on each process is that of the sum of the losses of all processes: the backward pass returns cotangents to
the processes that sent the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.tensor import Tensor
from ..._make.creation import empty_like, zeros_like
from ...autograd.function import Function
from ...ops.joining import cat
from .. import collectives, exchanges
from ..groups import get_rank, get_world_size
from ..reductions import ReduceOp


class Broadcast(Function):
    """Broadcast a Tensor of one process to all; backward sums the gradients of all processes."""

    @staticmethod
    def forward(ctx, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        collectives.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        total = Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad_outputs[0])
        return None, None, total if ctx.src == get_rank() else zeros_like(total)


class Reduce(Function):
    """Reduce the Tensors of all processes to one of them; the others keep theirs. Backward broadcasts its gradient."""

    @staticmethod
    def forward(ctx, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        made = tensor.clone()
        collectives.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, None, Broadcast.apply(ctx.dst, ctx.group, grad_outputs[0])


class Gather(Function):
    """Gather the Tensors of all processes in one of them; the others get zeros. Backward scatters its gradients."""

    @staticmethod
    def forward(ctx, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [zeros_like(tensor) for _ in range(get_world_size(group))]
        here = get_rank() == dst
        collectives.gather(tensor, parts if here else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, Scatter.apply(ctx.dst, ctx.group, *grad_outputs)


class Scatter(Function):
    """Scatter the Tensors of one process to all; backward gathers the gradients there, and gives the others zeros."""

    @staticmethod
    def forward(ctx, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        made = zeros_like(tensors[0])
        collectives.scatter(made, list(tensors) if get_rank() == src else None, src, group)
        return made

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, *Gather.apply(ctx.src, ctx.group, grad_outputs[0])


class AllGather(Function):
    """Gather the Tensors of all processes in each of them; backward sums the gradients of each Tensor in its
    process."""

    @staticmethod
    def forward(ctx, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        parts = [empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(parts, tensor, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grad_outputs)


class ReduceScatter(Function):
    """Of the reduction of what all have, for each its part; back, the gradients of all parts."""

    @staticmethod
    def forward(ctx, op: Any, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        made = empty_like(tensors[0])
        collectives.reduce_scatter(made, list(tensors), op, group)
        return made

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, *AllGather.apply(ctx.group, grad_outputs[0])


class AllToAll(Function):
    """From each process to each; back, the way that it came."""

    @staticmethod
    def forward(ctx, group: Any, shapes: Sequence[Any], *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [x.shape for x in tensors]
        parts = [tensors[0].new_empty(shape) for shape in shapes]
        exchanges.all_to_all(parts, list(tensors), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, *AllToAll.apply(ctx.group, ctx.shapes, *grad_outputs)


class AllReduce(Function):
    """The reduction of what all have, for all; back, the same reduction of the gradients."""

    @staticmethod
    def forward(ctx, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        collectives.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx, *grad_outputs: Tensor) -> Any:
        return None, None, AllReduce.apply(ctx.op, ctx.group, grad_outputs[0])


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the Tensor of the process `src`, on all."""
    return Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the Tensors of all processes on `dst`, zeros on the others."""
    return Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return the Tensor for this process among those of the process `src`."""
    return Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the Tensors of all processes on `dst`, and a copy of its own on each other."""
    return Reduce.apply(dst, op, group, tensor)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Return this process's part of the reduction of the lists of all processes. `output` gives the shape."""
    return ReduceScatter.apply(op, group, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the Tensors of all processes, in their order.

    >>> x = torch.ones(2, requires_grad=True)
    >>> sum(dist.nn.functional.all_gather(x)).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return AllGather.apply(group, tensor)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Return the Tensors received from all processes; `output_tensor_list` gives the shapes."""
    return AllToAll.apply(group, [x.shape for x in output_tensor_list], *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Return the Tensors received from all processes, joined along the first axis; `output` gives the shape."""
    count = get_world_size(group)
    wanted = output.detach().split(list(output_split_sizes or [output.shape[0] // count] * count))
    parts = input.split(list(input_split_sizes or [input.shape[0] // count] * count))
    return cat(AllToAll.apply(group, [x.shape for x in wanted], *parts))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the Tensors of all processes.

    >>> dist.nn.functional.all_reduce(torch.tensor(2.0, requires_grad=True))
    tensor(2., grad_fn=<AllReduceBackward>)
    """
    return AllReduce.apply(op, group, tensor)


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
