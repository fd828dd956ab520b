"""The arrays that collectives send for Tensors, and the return of results into Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...extend import namespace_of
from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.error_messages import tensor_hint
from .._core.memory import is_array
from .._core.meta import is_meta
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE
from .._core.tensor import Tensor, make_tensor, unwrap
from ..autograd.grad_mode import no_grad
from ..errors import ArgumentError, ArgumentValueError, TensorError
from .groups import ProcessGroup, get_global_rank, get_group_rank


def ensure_tensor(given: Any, name: str) -> None:
    """Raise unless the argument is a Tensor."""
    if not isinstance(given, Tensor):
        raise ArgumentError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got {type(given)} "
            "instead.",
            hint=tensor_hint(given),
        )


def ensure_tensors(given: Any, name: str) -> None:
    """Raise unless the argument is a list of Tensors."""
    if not isinstance(given, list | tuple) or not all(isinstance(x, Tensor) for x in given):
        raise ArgumentError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but got "
            f"{type(given)} instead.",
            hint=f"[{name}]"
            if isinstance(given, Tensor)
            else "a list of Tensors: [torch.empty_like(x) for _ in range(world_size)]",
        )


def ensure_one_dtype(*tensors: Tensor) -> None:
    """Raise where the dtypes of Tensors differ."""
    for x in tensors:
        if x.dtype is not tensors[0].dtype:
            raise ArgumentValueError(
                f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {x.dtype}",
                hint=f"x.to({tensors[0].dtype})",
            )


def read(tensor: Tensor, name: str) -> Any:
    """Return the entries of a Tensor as an array, which may share its memory.

    Raises:
        TensorError: it is sparse, or inside a transform, so that there are no entries to send.
    """
    ensure_tensor(tensor, name)
    if isinstance(tensor, SparseTensor):
        raise TensorError(
            f"{name}: collectives are of dense Tensors here, and this one is sparse", hint="x.to_dense()"
        )
    value = unwrap(tensor.detach())
    if not is_array(value) or is_meta(value):
        raise TensorError(
            f"{name}: a Tensor without entries, of a transform or on the device meta, cannot be sent",
            hint="collectives inside vmap, grad and jit are those of fxgrad.lax, in the block of a "
            "fxgrad.distributed.Mesh",
        )
    return value


def write(tensor: Tensor, array: Any) -> Tensor:
    """Write a result into a Tensor, as a modification in place that is not recorded; return the Tensor."""
    if array.size != tensor.numel():
        raise TensorError(
            f"{array.size} entries have come, for a Tensor of shape {tuple(tensor.shape)}",
            hint="all processes give Tensors of the same shape",
        )
    with no_grad():
        tensor.detach().copy_(make_tensor(BASE_TAPE, array.reshape(tensor.shape)))
    return tensor


def join(arrays: Sequence[Any]) -> Any:
    """Return the entries of arrays one after another."""
    return (namespace_of(arrays[0]) or np).concatenate([x.reshape(-1) for x in arrays])


def cut(flat: Any, sizes: Sequence[int]) -> list[Any]:
    """Return the parts of these sizes that are one after another along the first axis."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [flat[start:end] for start, end in pairwise(ends)]


def ensure_shapes(tensors: Sequence[Tensor], shape: tuple[int, ...], count: int, name: str) -> None:
    """Raise where a list of Tensors is not one of `count` of a shape."""
    if len(tensors) != count:
        raise TensorError(
            f"{name}: invalid tensor list (expected length {count}, got {len(tensors)})",
            hint=f"as many Tensors as there are processes: {count}",
        )
    for index, x in enumerate(tensors):
        if tuple(x.shape) != tuple(shape):
            raise TensorError(
                f"{name}: invalid tensor size at index {index} (expected {tuple(shape)}, got {tuple(x.shape)})",
                hint=f"torch.empty({tuple(shape)})",
            )


def choose_rank(
    group: ProcessGroup,
    global_rank: int | None,
    group_rank: int | None,
    name: str,
    default: int | None = None,
) -> int:
    """Return the number in a group of the process that is given by its number among all, or in the group.

    Raises:
        ArgumentValueError: it is given both ways or not at all, or is not in the group.
    """
    if global_rank is not None and group_rank is not None:
        raise ArgumentValueError(
            "Can't specify both group_rank and global_rank", hint=f"{name}= or group_{name}=, not both"
        )
    if global_rank is not None:
        return get_group_rank(group, global_rank)
    group_rank = default if group_rank is None else group_rank
    if group_rank is None:
        raise ArgumentValueError("Must specify global_rank or group_rank", hint=f"{name}=0")
    get_global_rank(group, group_rank)  # which raises where there is no such member
    return group_rank


def ensure_other(rank: int | None, group: ProcessGroup, role: str) -> None:
    """Raise where the other end of a message, its destination or its source, is this process itself."""
    if rank == group.rank():
        raise ArgumentValueError(
            f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.",
            hint=f"if dist.get_rank() != {rank}: …; what stays in a process needs no message",
        )


def check_list(given: Any, here: bool, name: str, role: str, parameter: str) -> None:
    """Raise where a list that one process has is missing there, or given by another."""
    if here is not bool(given):
        words = f"must be specified on {role} rank" if here else f"must NOT be specified on non-{role} ranks"
        hint = f"{name}=[…] if dist.get_rank() == {parameter} else None"
        raise ArgumentValueError(f"Argument ``{name}`` {words}.", hint=hint)
