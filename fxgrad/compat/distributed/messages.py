"""Messages from one process to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor
from .._declare.packages import complete_module
from ..errors import ArgumentValueError
from .arrays import choose_rank, ensure_other, read, write
from .groups import find_group, find_member_group
from .work import Work


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a Tensor to a process, which receives it by `recv` or `irecv`.

    Args:
        tensor: what is sent; it must not be modified before the Work is done.
        dst: the number of the process that is to receive it.

    Returns:
        A Work; None outside of the group.

    Raises:
        ValueError: there is no such process, or it is this one.

    >>> def pass_on(x):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.isend(x, dst=1).wait()
    ...     else:
    ...         dist.irecv(x, src=0).wait()
    """
    x = read(tensor, "tensor")
    found = find_member_group(group, "isend")
    if found is None:
        return None
    target = choose_rank(found, dst, group_dst, "dst")
    ensure_other(target, found, "destination")
    return Work(found._fx_communicator.start_send(x, target, tag), lambda _: [tensor])


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive what a process sends, into a Tensor of the shape and dtype of what is sent.

    Args:
        tensor: what is filled.
        src: the number of the process that sends; None: any.

    Returns:
        A Work; None outside of the group.

    Raises:
        ValueError: `src` is this process.

    >>> def pass_on(x):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.isend(x, dst=1).wait()
    ...     else:
    ...         dist.irecv(x, src=0).wait()
    """
    x = read(tensor, "tensor")
    found = find_member_group(group, "irecv")
    if found is None:
        return None
    anybody = src is None and group_src is None
    source = None if anybody else choose_rank(found, src, group_src, "src")
    ensure_other(source, found, "source")
    started: Any = found._fx_communicator.start_recv(x.copy(), source, tag)
    return Work(started, lambda y: [write(tensor, y)], lambda: found._fx_ranks[started.source])


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a Tensor to a process: see `isend`.

    >>> def pass_on(x):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.send(x, dst=1)
    ...     else:
    ...         dist.recv(x, src=0)
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive what a process sends: see `irecv`. Return the number of the sender, -1 outside of the group.

    Args:
        src: the number of the sender in the group of all; None: any.

    >>> def pass_on(x):  # on two processes
    ...     if dist.get_rank() == 0:
    ...         dist.send(x, dst=1)
    ...     else:
    ...         dist.recv(x, src=0)
    """
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


class P2POp:
    """A message that is sent or received together with others, by `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent or filled.
        peer: the number of the other process.
        group_peer: the number of the other process in the group, in place of `peer`.

    Raises:
        ArgumentValueError: `op` is another function.

    >>> def swap(x, y):  # on two processes
    ...     other = 1 - dist.get_rank()
    ...     messages = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    ...     for work in dist.batch_isend_irecv(messages):
    ...         work.wait()
    """

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ):
        if op not in (isend, irecv):
            raise ArgumentValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``.",
                hint="P2POp(dist.isend, x, peer): the function, not what it returns",
            )
        read(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        found = find_group(group)
        if found is not None:
            self.group_peer = choose_rank(found, peer, group_peer, "peer")
            self.peer = found._fx_ranks[self.group_peer]

    def __repr__(self) -> str:
        shape, dtype = self.tensor.shape, self.tensor.dtype
        return f"P2POp({self.op.__name__}, peer={self.peer}, {shape}, {dtype})"


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages at once, in whatever order they are given.

    Args:
        p2p_op_list: the messages.

    Raises:
        ArgumentValueError: there are none, or they are of several groups.

    >>> def swap(x, y):  # on two processes
    ...     other = 1 - dist.get_rank()
    ...     messages = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    ...     for work in dist.batch_isend_irecv(messages):
    ...         work.wait()
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ArgumentValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.",
            hint="[dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, y, peer)]",
        )
    if not p2p_op_list:
        raise ArgumentValueError(
            "Invalid ``p2p_op_list``. It is empty.", hint="if ops: dist.batch_isend_irecv(ops)"
        )
    if any(op.group is not p2p_op_list[0].group for op in p2p_op_list):
        raise ArgumentValueError("All ops need to use the same group.", hint="a call for each group")
    works = [op.op(op.tensor, None, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [work for work in works if work is not None]


__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


complete_module(globals(), "distributed")
