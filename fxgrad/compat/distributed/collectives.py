"""Collectives: calls that all members of a group make together. They fill Tensors in place, and are not differentiable;
those of `torch.distributed.nn.functional` are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...distributed.communicator import Done
from .._declare.packages import complete_module
from ..errors import ArgumentValueError, TensorError
from .arrays import (
    check_list,
    choose_rank,
    cut,
    ensure_one_dtype,
    ensure_shapes,
    ensure_tensor,
    ensure_tensors,
    join,
    read,
    write,
)
from .groups import find_member_group
from .reductions import ReduceOp, find_reduction
from .work import Work, conclude

if TYPE_CHECKING:
    from datetime import timedelta

    from .._core.tensor import Tensor


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce the Tensors of all processes, which have one shape and dtype, and write the result into each.

    Args:
        tensor: what this process gives, and where the result comes.

    Raises:
        TypeError: it is no Tensor.
        ValueError, RuntimeError: numbers of this dtype are not reduced in this way.

    >>> loss = torch.tensor(3.0)
    >>> dist.all_reduce(loss)
    >>> loss
    tensor(3.)
    """
    x, reduction = find_reduction(op, read(tensor, "tensor"), "all_reduce")
    found = find_member_group(group, "all_reduce")
    if found is None:
        return None
    started = found._fx_communicator.start_all_reduce(x, reduction)
    return conclude(Work(started, lambda y: [write(tensor, y)]), async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Reduce several Tensors at once: see `all_reduce`.

    Args:
        tensors: the Tensors.

    >>> values = [torch.ones(2), torch.ones(1)]
    >>> dist.all_reduce_coalesced(values)
    >>> values
    [tensor([1., 1.]), tensor([1.])]
    """
    ensure_tensors(tensors, "tensors")
    ensure_one_dtype(*tensors)
    found = find_member_group(group, "all_reduce_coalesced")
    if found is None or not tensors:
        return None
    arrays = [read(x, "tensors") for x in tensors]
    flat, reduction = find_reduction(op, join(arrays), "all_reduce")
    started = found._fx_communicator.start_all_reduce(flat, reduction)

    def finish(y: Any) -> list[Tensor]:
        parts = cut(y, [x.size for x in arrays])
        return [write(x, part) for x, part in zip(tensors, parts, strict=True)]

    return conclude(Work(started, finish), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Reduce the Tensors of all processes into that of one, `dst`; those of the others stay as they are.

    >>> x = torch.ones(2)
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 1.])
    """
    x, reduction = find_reduction(op, read(tensor, "tensor"), "reduce")
    found = find_member_group(group, "reduce")
    if found is None:
        return None
    target = choose_rank(found, dst, group_dst, "dst")
    started = found._fx_communicator.start_reduce(x, reduction, target)

    def finish(y: Any) -> list[Tensor]:
        return [write(tensor, y) if target == found.rank() else tensor]

    return conclude(Work(started, finish), async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Write the Tensor of one process, `src`, into those of all, which have its shape and dtype.

    >>> dist.broadcast(torch.ones(2), src=0)
    """
    x = read(tensor, "tensor")
    found = find_member_group(group, "broadcast")
    if found is None:
        return None
    source = choose_rank(found, src, group_src, "src")
    started = found._fx_communicator.start_broadcast(x, source)

    def finish(y: Any) -> list[Tensor]:
        return [tensor if source == found.rank() else write(tensor, y)]

    return conclude(Work(started, finish), async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """Write the Tensors of all processes, in their order, into the Tensors of a list.

    Args:
        tensor_list: a Tensor for each process, of the shape and dtype of `tensor`.
        tensor: what this process gives.

    Raises:
        RuntimeError: there are not as many Tensors as processes, or one is of another shape.
        ValueError: the dtypes differ.

    >>> parts = [torch.zeros(2)]
    >>> dist.all_gather(parts, torch.ones(2))
    >>> parts
    [tensor([1., 1.])]
    """
    ensure_tensors(tensor_list, "tensor_list")
    x = read(tensor, "tensor")
    ensure_one_dtype(*tensor_list, tensor)
    found = find_member_group(group, "all_gather")
    if found is None:
        return None
    ensure_shapes(tensor_list, tensor.shape, found.size(), "all_gather")
    started = found._fx_communicator.start_all_gather(x)
    return conclude(
        Work(started, lambda y: [write(part, row) for part, row in zip(tensor_list, y, strict=True)]),
        async_op,
    )


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """Write the Tensors of all processes, in their order, into one: joined along the first axis, or stacked.

    Args:
        output_tensor: of as many entries as all of them have together.
        input_tensor: what this process gives.

    Raises:
        RuntimeError: `output_tensor` is not of such a shape.

    >>> whole = torch.zeros(2)
    >>> dist.all_gather_into_tensor(whole, torch.ones(2))
    >>> whole
    tensor([1., 1.])
    """
    ensure_tensor(output_tensor, "output_tensor")
    x = read(input_tensor, "input_tensor")
    ensure_one_dtype(output_tensor, input_tensor)
    found = find_member_group(group, "all_gather_into_tensor")
    if found is None:
        return None
    if output_tensor.numel() != x.size * found.size():
        raise TensorError(
            f"all_gather_into_tensor: the output has {output_tensor.numel()} entries (shape "
            f"{tuple(output_tensor.shape)}), and {found.size()} processes give {x.size} each (shape {x.shape})",
            hint=f"an output of {x.size * found.size()} entries, those of the processes one after another",
        )
    started = found._fx_communicator.start_all_gather(x)
    return conclude(Work(started, lambda y: [write(output_tensor, y)]), async_op)


all_gather_into_tensor = _all_gather_base = all_gather_single


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Gather several Tensors: `output_tensor_lists` has a list for each process, of a Tensor for each that is given.

    Args:
        input_tensor_list: the Tensors of this process.

    Raises:
        ValueError: `output_tensor_lists` is no list.

    >>> parts = [[torch.zeros(2)]]
    >>> dist.all_gather_coalesced(parts, [torch.ones(2)])
    >>> parts
    [[tensor([1., 1.])]]
    """
    if not isinstance(output_tensor_lists, list | tuple):
        raise ArgumentValueError(
            "Invalid function argument: output_tensor_lists should be a list",
            hint="[[torch.empty_like(x) for _ in range(world_size)]]",
        )
    for tensors in output_tensor_lists:
        ensure_tensors(tensors, "output_tensor_lists")
    ensure_tensors(input_tensor_list, "input_tensor_list")
    found = find_member_group(group, "all_gather_coalesced")
    if found is None:
        return None
    columns = [list(column) for column in zip(*output_tensor_lists, strict=True)]
    works = [all_gather(column, x, found, True) for column, x in zip(columns, input_tensor_list, strict=True)]
    return conclude(Work(Done(works), lambda _: [work.result() for work in works]), async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Write the Tensors of all processes, in their order, into a list that one of them, `dst` (0), has.

    Args:
        gather_list: a Tensor for each process; None where nothing is received.

    Raises:
        ValueError: the list is not given there, or given elsewhere.

    >>> parts = [torch.zeros(2)]
    >>> dist.gather(torch.ones(2), parts, dst=0)
    >>> parts
    [tensor([1., 1.])]
    """
    x = read(tensor, "tensor")
    found = find_member_group(group, "gather")
    if found is None:
        return None
    target = choose_rank(found, dst, group_dst, "dst", 0)
    here = target == found.rank()
    check_list(gather_list, here, "gather_list", "destination", "dst")
    parts = gather_list or []
    if here:
        ensure_tensors(parts, "gather_list")
        ensure_one_dtype(*parts, tensor)
        ensure_shapes(parts, tensor.shape, found.size(), "gather")
    started = found._fx_communicator.start_gather(x, target)

    def finish(y: Any) -> list[Tensor]:
        return [write(part, row) for part, row in zip(parts, y, strict=True)] if here else []

    return conclude(Work(started, finish), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Write the Tensors of a list that one process, `src` (0), has into those of all, in their order.

    Args:
        scatter_list: a Tensor for each process; None where nothing is sent.

    Raises:
        ValueError: the list is not given there, or given elsewhere.

    >>> x = torch.zeros(2)
    >>> dist.scatter(x, [torch.ones(2)], src=0)
    >>> x
    tensor([1., 1.])
    """
    read(tensor, "tensor")
    found = find_member_group(group, "scatter")
    if found is None:
        return None
    source = choose_rank(found, src, group_src, "src", 0)
    here = source == found.rank()
    check_list(scatter_list, here, "scatter_list", "source", "src")
    stacked = None
    if here:
        ensure_tensors(scatter_list, "scatter_list")
        parts = list(scatter_list or [])
        ensure_one_dtype(*parts, tensor)
        ensure_shapes(parts, tensor.shape, found.size(), "scatter")
        stacked = join([read(x, "scatter_list") for x in parts]).reshape(len(parts), *tensor.shape)
    started = found._fx_communicator.start_scatter(stacked, source)
    return conclude(Work(started, lambda y: [write(tensor, y)]), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Reduce the lists of all processes, and write into the Tensor of each what belongs to it.

    Args:
        input_list: a Tensor for each process, of the shape and dtype of `output`.

    >>> x = torch.zeros(2)
    >>> dist.reduce_scatter(x, [torch.ones(2)])
    >>> x
    tensor([1., 1.])
    """
    ensure_tensor(output, "output")
    ensure_tensors(input_list, "input_list")
    ensure_one_dtype(output, *input_list)
    found = find_member_group(group, "reduce_scatter")
    if found is None:
        return None
    ensure_shapes(input_list, output.shape, found.size(), "reduce_scatter")
    rows = join([read(x, "input_list") for x in input_list]).reshape(found.size(), *output.shape)
    return start_reduce_scatter(output, rows, op, found, async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Reduce the Tensors of all processes, and write into `output` of each its part of the result: `input` is cut along
    the first axis into as many parts as there are processes.

    Raises:
        RuntimeError: `input` is not of as many entries as all outputs together.

    >>> x = torch.zeros(2)
    >>> dist.reduce_scatter_tensor(x, torch.ones(2))
    >>> x
    tensor([1., 1.])
    """
    ensure_tensor(output, "output")
    x = read(input, "input")
    ensure_one_dtype(output, input)
    found = find_member_group(group, "reduce_scatter_tensor")
    if found is None:
        return None
    if x.size != output.numel() * found.size():
        raise TensorError(
            f"reduce_scatter_tensor: the input has {x.size} entries (shape {x.shape}), and {found.size()} processes "
            f"are to get {output.numel()} each (shape {tuple(output.shape)})",
            hint=f"an input of {output.numel() * found.size()} entries, or an output of {x.size // found.size()}",
        )
    return start_reduce_scatter(output, x.reshape(found.size(), *output.shape), op, found, async_op)


reduce_scatter_tensor = _reduce_scatter_base = reduce_scatter_single


def start_reduce_scatter(output: Tensor, rows: Any, op: Any, group: Any, async_op: bool) -> Any:
    """Start to reduce rows, of which each process gets one."""
    rows, reduction = find_reduction(op, rows, "reduce_scatter")
    started = group._fx_communicator.start_reduce_scatter(rows, reduction)
    return conclude(Work(started, lambda y: [write(output, y)]), async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Any:
    """Wait until all processes have come here.

    Args:
        device_ids: accepted and without effect.

    >>> dist.barrier()
    """
    found = find_member_group(group, "barrier")
    if found is None:
        return None
    return conclude(Work(found._fx_communicator.start_barrier(), lambda _: []), async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all processes have come here: see `barrier`. `timeout` is how long, in place of the group's own.

    Args:
        wait_all_ranks: accepted and without effect.

    Raises:
        CollectiveTimeoutError: some have not come; a TimeoutError.

    >>> dist.monitored_barrier()
    """
    found = find_member_group(group, "monitored_barrier")
    if found is None:
        return
    usual = found._fx_communicator.timeout
    found._fx_communicator.timeout = usual if timeout is None else timeout.total_seconds()
    try:
        found._fx_communicator.barrier()
    finally:
        found._fx_communicator.timeout = usual


__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


complete_module(globals(), "distributed.collectives")
