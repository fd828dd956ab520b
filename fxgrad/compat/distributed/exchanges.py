"""Exchanges: each member of a group sends a different part to every other. See `collectives`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...distributed.communicator import Done
from .._core.tensor import Tensor
from .._declare.packages import complete_module
from ..errors import TensorError
from .arrays import cut, ensure_one_dtype, ensure_tensor, ensure_tensors, join, read, write
from .groups import ProcessGroup, find_member_group
from .work import Work, conclude


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Send each process a Tensor of a list, and write what comes from each into the Tensors of another.

    Args:
        output_tensor_list: a Tensor for each process, of the shape that it sends.
        input_tensor_list: a Tensor for each process; they may differ in shape.

    Raises:
        RuntimeError: not one Tensor for each process, or one of another size than what comes.

    >>> received = [torch.zeros(2)]
    >>> dist.all_to_all(received, [torch.ones(2)])
    >>> received
    [tensor([1., 1.])]
    """
    ensure_tensors(output_tensor_list, "output_tensor_list")
    ensure_tensors(input_tensor_list, "input_tensor_list")
    ensure_one_dtype(*output_tensor_list, *input_tensor_list)
    found = find_member_group(group, "all_to_all")
    if found is None:
        return None
    for tensors, name in (
        (output_tensor_list, "output_tensor_list"),
        (input_tensor_list, "input_tensor_list"),
    ):
        if len(tensors) != found.size():
            raise TensorError(
                f"all_to_all: {name} has {len(tensors)} Tensors for {found.size()} processes",
                hint=f"as many Tensors as there are processes: {found.size()}",
            )
    sent = [read(x, "input_tensor_list") for x in input_tensor_list]
    parts = exchange(found, sent, [x.numel() for x in output_tensor_list], "all_to_all")
    filled = [write(x, part) for x, part in zip(output_tensor_list, parts, strict=True)]
    return conclude(Work(Done(filled), list), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Send each process a part of a Tensor, and write what comes from each into the parts of another; the parts are
    along the first axis.

    Args:
        input: what is sent.
        output_split_sizes, input_split_sizes: the lengths of the parts; None: all are as long.

    Raises:
        RuntimeError: the lengths do not add up to that of the Tensor.

    >>> received = torch.zeros(2)
    >>> dist.all_to_all_single(received, torch.ones(2))
    >>> received
    tensor([1., 1.])
    """
    ensure_tensor(output, "output")
    x = read(input, "input")
    ensure_one_dtype(output, input)
    found = find_member_group(group, "all_to_all_single")
    if found is None:
        return None
    sent = split(x, input_split_sizes, found.size(), "input")
    wanted = split(read(output, "output"), output_split_sizes, found.size(), "output")
    parts = exchange(found, sent, [part.size for part in wanted], "all_to_all_single")
    return conclude(Work(Done([write(output, join(parts))]), list), async_op)


def exchange(group: ProcessGroup, sent: Sequence[Any], sizes: Sequence[int], name: str) -> list[Any]:
    """Send each member an array; return the entries that come from each, whose numbers must be `sizes`."""
    arrived = group._fx_communicator.all_to_all_rows(join(sent), [x.size for x in sent])
    if arrived.size != sum(sizes):
        raise TensorError(
            f"{name}: {arrived.size} entries have come, and there is place for {sum(sizes)}",
            hint="the output of one process has to be as long as the input that the other has for it",
        )
    return cut(arrived, sizes)


def split(x: Any, sizes: Sequence[int] | None, count: int, name: str) -> list[Any]:
    """Return the parts of an array along its first axis, one for each of `count` processes."""
    length = x.shape[0] if x.ndim else 0
    if not x.ndim or (not sizes and length % count):
        raise TensorError(
            f"all_to_all_single: tensor's dim 0 does not divide equally across group size: {name} has shape "
            f"{x.shape}, and there are {count} processes",
            hint=f"{name}_split_sizes=[…]",
        )
    lengths = list(sizes) if sizes else [length // count] * count
    if len(lengths) != count:
        raise TensorError(
            f"Number of tensor splits not equal to group size: {len(lengths)} and {count}",
            hint=f"as many lengths as there are processes: {count}",
        )
    if sum(lengths) != length:
        raise TensorError(
            f"Split sizes doesn't match total dim 0 size: {name}_split_sizes={lengths}, {length}",
            hint=f"lengths whose sum is {length}",
        )
    return cut(x, lengths)


__all__ = ["all_to_all", "all_to_all_single"]


complete_module(globals(), "distributed.collectives")
