"""The end of processes: if one fails, all end together, with one message.

A failing process notifies the others, prints its error with the last collective that it called, and ends all. If
several fail at once, the one of lowest rank prints. A process that ends normally tells the others how many collectives
it has called: a process that waits for it in a later one raises an error instead of waiting forever.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import source_info
from ..core.errors import CollectiveMismatchError
from .requests import Request, load_mpi

if TYPE_CHECKING:
    from .checks import Call
    from .group import MPIGroup

END_TAG, FAILURE_TAG, REPORT_TAG = 2, 3, 4  # of the messages on the second communicator of all processes
PATIENCE = 0.1  # seconds in which a process of a lower rank may fail as well, and be the one that prints


class Watch:
    """What this process knows about the end of the others, and tells them about its own."""

    def __init__(self, everybody: MPIGroup):
        self.everybody, self.side = everybody, everybody.side
        self.started: dict[str, int] = {}  # group, or pair of ranks in it → how many calls of this process
        self.last: Call | None = None
        self.ended: dict[int, dict[str, int]] = {}  # rank among all → what it had started when it ended
        self.sent: list[Any] = []

    def install(self) -> None:
        """From now on this process tells the others how it ends."""
        sys.excepthook = self.fail
        atexit.register(self.end)

    def count(self, key: str) -> int:
        """Return the number of a call that begins, among all in the same group or to the same rank."""
        number = self.started[key] = self.started.get(key, 0) + 1
        return number

    def tell(self, tag: int, text: str = "") -> None:
        """Send all others a message, which nobody needs to await."""
        data = np.frombuffer(text.encode(), np.uint8)
        others = (rank for rank in range(self.everybody.size) if rank != self.everybody.rank)
        self.sent += [(data, self.side.Isend(data, rank, tag)) for rank in others]

    def has_been_told(self, tag: int) -> list[int]:
        """The ranks from which a message of this tag has come and has not been received."""
        return [
            r for r in range(self.everybody.size) if r != self.everybody.rank and self.side.Iprobe(r, tag)
        ]

    # -- an end as it should be ---------------------------------------------------------------------------------
    def end(self) -> None:
        """Tell the others, and keep in memory what they may still read, until it is sent or they have ended as well."""
        self.tell(END_TAG, "\n".join(f"{count} {name}" for name, count in self.started.items()))
        while Request.unfinished and len(self.ended) < self.everybody.size - 1:
            for work in list(Request.unfinished):
                work.test()
            self.look()
            time.sleep(0.001)

    def look(self) -> None:
        """Receive what others have said about their ends."""
        status = load_mpi().Status()
        while self.side.Iprobe(load_mpi().ANY_SOURCE, END_TAG, status):
            text = np.empty(status.Get_count(), np.uint8)
            self.side.Recv(text, status.Get_source(), END_TAG)
            counts = [line.split(" ", 1) for line in bytes(text).decode().splitlines()]
            self.ended[status.Get_source()] = {name: int(count) for count, name in counts}

    def check_that_others_come(self, call: Call) -> None:
        """Raise where a process has ended without its part in a call that this process is waiting in."""
        self.look()
        gone = [r for r in call.partners if r in self.ended and self.ended[r].get(call.key, 0) < call.number]
        if gone:
            raise CollectiveMismatchError(
                f"{call}: rank {', '.join(map(str, gone))} has ended without its part in it",
                hint="all members of a group call the same collectives in the same order",
                site=call.site,
            )

    # -- a failure ----------------------------------------------------------------------------------------------
    def fail(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print the error, unless another process prints its own, and end all processes: an excepthook."""
        try:
            self.tell(FAILURE_TAG)
            if self.another_reports():
                time.sleep(10 * PATIENCE)  # it ends this process as well
            else:
                self.tell(REPORT_TAG)
                sys.stdout.flush()
                sys.stderr.write(self.describe(error))
                sys.stderr.flush()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MPI would say once more that it is over
        finally:
            self.everybody.comm.Abort(1)

    def another_reports(self) -> bool:
        """Whether another process has printed its error, or one of lower rank is about to."""
        rank = self.everybody.rank
        deadline = time.monotonic() + PATIENCE * (rank > 0)
        while True:
            if self.has_been_told(REPORT_TAG) or min(self.has_been_told(FAILURE_TAG), default=rank) < rank:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.001)

    def describe(self, error: BaseException) -> str:
        """Return the one message: whose it is, the error with its traceback, and the last collective."""
        source_info.hide_frames(error)
        lines = traceback.format_exception(error)
        last = "none yet" if self.last is None else self.last.describe()
        return (
            f"rank {self.everybody.rank} of {self.everybody.size} has failed, and all processes end.\n"
            f"{''.join(lines)}its last collective: {last}\n"
        )
