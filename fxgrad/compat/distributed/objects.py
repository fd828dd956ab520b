"""Collectives of Python objects, which are sent as pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._declare.packages import complete_module
from ..errors import ArgumentError, ArgumentValueError, TensorError
from .arrays import check_list, choose_rank, ensure_other
from .groups import find_member_group


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all processes, in their order, into a list that has a place for each.

    Raises:
        TensorError: the list is not of that length.

    >>> losses = [None]
    >>> dist.all_gather_object(losses, {"loss": 0.5})
    >>> losses
    [{'loss': 0.5}]
    """
    found = find_member_group(group, "all_gather_object")
    if found is None:
        return
    if len(object_list) != found.size():
        raise TensorError(
            f"all_gather_object: a list of {len(object_list)} places for {found.size()} processes",
            hint="[None] * torch.distributed.get_world_size()",
        )
    object_list[:] = found._fx_communicator.gather_objects(obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the objects of all processes, in their order, into a list that one of them, `dst` (0), has.

    Args:
        object_gather_list: the list; None where nothing is received.

    Raises:
        ArgumentValueError: the list is not given there, or given elsewhere.

    >>> objects = [None]
    >>> dist.gather_object("a", objects, dst=0)
    >>> objects
    ['a']
    """
    found = find_member_group(group, "gather_object")
    if found is None:
        return
    here = choose_rank(found, dst, group_dst, "dst", 0) == found.rank()
    check_list(object_gather_list, here, "object_gather_list", "destination", "dst")
    objects = found._fx_communicator.gather_objects(obj)
    if object_gather_list is not None and here:
        object_gather_list[:] = objects


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Put the objects of the list that one process, `src` (0), has into those of all.

    Raises:
        RuntimeError: the list has another length than that of `src`.

    >>> objects = ["a"]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    ['a']
    """
    found = find_member_group(group, "broadcast_object_list")
    if found is None:
        return
    source = choose_rank(found, src, group_src, "src", 0)
    objects = found._fx_communicator.broadcast_object(list(object_list), source)
    if len(objects) != len(object_list):
        raise TensorError(
            f"broadcast_object_list: {len(objects)} objects have come, for a list of {len(object_list)}",
            hint=f"[None] * {len(objects)}",
        )
    object_list[:] = objects


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put each of the objects of the list that one process, `src` (0), has into the first place of another's.

    Args:
        scatter_object_output_list: a list, whose first place gets the object.
        scatter_object_input_list: an object for each process.

    Raises:
        TensorError: there is no place.
        ArgumentValueError: the process that is to have the objects has none.

    >>> received = [None]
    >>> dist.scatter_object_list(received, ["a"], src=0)
    >>> received
    ['a']
    """
    found = find_member_group(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise TensorError(
            "Expected argument scatter_object_output_list to be a list of size at least 1.", hint="[None]"
        )
    source = choose_rank(found, src, group_src, "src", 0)
    if source == found.rank() and scatter_object_input_list is None:
        raise ArgumentValueError(
            "source rank must provide non-None scatter_object_input_list",
            hint=f"a list of {found.size()} objects, one for each process",
        )
    scatter_object_output_list[0] = found._fx_communicator.scatter_objects(scatter_object_input_list, source)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to a process, which receives them by `recv_object_list`.

    Raises:
        ArgumentValueError: it is this process.

    >>> def pass_on(objects):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.send_object_list(objects, dst=1)
    ...     else:
    ...         dist.recv_object_list(objects, src=0)
    """
    found = find_member_group(group, "send_object_list")
    if found is None:
        return
    target = choose_rank(found, dst, group_dst, "dst")
    ensure_other(target, found, "destination")
    found._fx_communicator.send_object((found.rank(), list(object_list)), target)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Put the objects that a process sends into a list; None: any process.

    Args:
        src: the number of the sender in the group of all; None: any.

    Returns:
        The number of the sender; -1 outside of the group.

    Raises:
        ArgumentError: it is no list of their number.

    >>> def pass_on(objects):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.send_object_list(objects, dst=1)
    ...     else:
    ...         dist.recv_object_list(objects, src=0)
    """
    found = find_member_group(group, "recv_object_list")
    if found is None:
        return -1
    anybody = src is None and group_src is None
    source = None if anybody else choose_rank(found, src, group_src, "src")
    sender, objects = found._fx_communicator.recv_object(source)
    if len(objects) != len(object_list):
        raise ArgumentError(
            f"recv_object_list: {len(objects)} objects have come, for a list of {len(object_list)}",
            hint=f"[None] * {len(objects)}",
        )
    object_list[:] = objects
    return found._fx_ranks[sender]


__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


complete_module(globals(), "distributed")
