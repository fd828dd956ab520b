"""Checks that all members of a group are about to make the same call.

With `check`, each member sends its call to all others as a line of text before a collective, and compares the texts.
All members see the same texts, so all raise the same error before any of them has started the collective. If a member
does not arrive, the others know which one is missing.

Without it, a checksum of that text is exchanged while the collective is under way. If they differ, the members compare
their texts and abandon the collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from ..core import source_info
from ..core.errors import CollectiveMismatchError
from .requests import load_mpi

if TYPE_CHECKING:
    from .group import MPIGroup

CHECK_TAG = 1  # of the messages on a group's second communicator of MPI
LENGTH = 2000  # of a text in bytes; what is longer is cut, and compared as far


class Call:
    """A call of a collective: its operand's shape and dtype, what else must be the same on all members, and the user's
    line.

    The line must be the same as well, unless the collective is `rooted`: members that do different things are often in
    different branches. A size that may differ is None in `shape`, and `dtype` is None where only the root knows it.
    `number` is its place among all calls of its `key`, a group; `partners` are those whose call of this number it
    needs, by their ranks among all.
    """

    __slots__ = (
        "agreement", "detail", "dtype", "key", "number", "operation", "partners", "rooted", "shape", "site",
    )  # fmt: skip

    def __init__(self, operation: str, key: str, number: int, partners: Sequence[int]):
        self.operation, self.key, self.number, self.partners = operation, key, number, partners
        self.dtype: Any = None
        self.shape: Sequence[int | None] = ()
        self.detail, self.rooted = "", False
        self.site = source_info.user_frame()
        self.agreement: Agreement | None = None

    def __str__(self) -> str:
        return text_of(self.operation, self.dtype, tuple(self.shape), self.detail)

    def text(self) -> str:
        """What must be the same on all members."""
        return str(self) if self.rooted else f"{self} {self.site}"

    def describe(self) -> str:
        return f"{self} at {self.site.describe()}"


def text_of(operation: str, dtype: Any, shape: tuple[int | None, ...], detail: str) -> str:
    """Write a call out."""
    sizes = ",".join("·" if size is None else str(size) for size in shape)
    operand = [] if dtype is None else [f"{dtype}[{sizes}]"]
    return f"{operation}({', '.join([*operand, *filter(None, [detail])])})"


def number_of(text: str) -> int:
    """Return a number that differs where texts do, but for one pair in 2³²."""
    return crc32(text.encode())


class Agreement:
    """Whether all members make the same call, found out by the greatest and the least of their numbers."""

    __slots__ = ("call", "group", "numbers", "request")

    def __init__(self, group: MPIGroup, call: Call):
        self.group, self.call = group, call
        number, mpi = number_of(str(call)), load_mpi()
        self.numbers = np.array([number, -number])
        self.request = group.comm.Iallreduce(mpi.IN_PLACE, self.numbers, mpi.MAX)

    def is_known(self) -> bool:
        """Whether all members have begun their calls, so that `is_broken` can be asked."""
        return self.request.Test()

    def is_broken(self) -> bool:
        """Whether there are different calls."""
        return bool(self.numbers.sum())

    def explain(self) -> None:
        """Raise the error that names all calls, where there are different ones."""
        compare(self.group, self.call)


def compare(group: MPIGroup, call: Call) -> None:
    """Raise CollectiveMismatchError on all members unless all are about to make this call, or have begun it."""
    others = [rank for rank in range(group.size) if rank != group.rank]
    own = f"{call.text()}\n{call.describe()}".encode()[:LENGTH]
    arriving = {rank: np.zeros(LENGTH, np.uint8) for rank in others}
    awaited = {rank: group.side.Irecv(arriving[rank], rank, CHECK_TAG) for rank in others}
    sent = [group.side.Isend(np.frombuffer(own, np.uint8), rank, CHECK_TAG) for rank in others]
    come: set[int] = set()

    def all_have_come() -> bool:
        come.update(rank for rank in others if rank not in come and awaited[rank].Test())
        return len(come) == len(others) and all(request.Test() for request in sent)

    group.kept.append((awaited, sent))  # with their memory, should the waiting be given up
    group.wait_until(all_have_come, call, lambda: [rank for rank in others if rank not in come])
    group.kept.pop()
    texts = {rank: bytes(text).rstrip(b"\0") for rank, text in arriving.items()} | {group.rank: own}
    calls: dict[str, list[int]] = {}
    agreements = set()
    for rank in range(group.size):
        agreement, _, description = texts[rank].decode(errors="replace").partition("\n")
        agreements.add(agreement)
        calls.setdefault(description, []).append(rank)
    if len(agreements) > 1:
        lines = [f"\n    {name_ranks(ranks, group)}: {description}" for description, ranks in calls.items()]
        raise CollectiveMismatchError(
            f"{call.operation}: the {group.size} processes are about to do different things:{''.join(lines)}",
            hint="all members of a group call the same collectives in the same order, on one shape and dtype",
        )


def name_ranks(ranks: list[int], group: MPIGroup) -> str:
    """Return `rank 2`, or `ranks 0, 1, 5`: the places among all processes."""
    names = [str(group.ranks[rank]) for rank in ranks]
    shown = names if len(names) <= 16 else [*names[:15], f"… ({len(names)} in all)"]
    return f"rank{'s' * (len(names) > 1)} {', '.join(shown)}"
