"""Members of an MPI group: the calls of each, and how it waits for the others.

Every message is non-blocking to MPI, and waiting is done here: so that it can be interrupted, has a limit, and hears of
members that have ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ..core.errors import CollectiveTimeoutError
from .checks import Agreement, Call, compare, name_ranks
from .communicator import Communicator
from .faults import Watch
from .requests import Request, advance, load_mpi

BURST = 64  # tests of a request between two looks at the clock
MOVING = 2e-4  # seconds; a burst that takes longer has moved data, or was interrupted
PATIENCE = 5e-4  # seconds of waiting without sleep, while whoever is waited for may need this processor
SUSPICION = 0.02  # seconds of waiting after which to ask whether the others still come
LONGEST_SLEEP = 1e-3

let_others_run = getattr(os, "sched_yield", lambda: time.sleep(0))  # where there is both, sleep takes 50 µs


class MPIGroup(Communicator):
    """A group of processes that MPI connects.

    `comm` is its communicator of mpi4py, a duplicate of the one that was given, and `side` another for messages of its
    own. `name` is the same on all members.
    """

    def __init__(self, comm: Any, name: str = "world", watch: Watch | None = None):
        super().__init__()
        self.comm, self.side = comm.Dup(), comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        everybody = load_mpi().COMM_WORLD.Get_group()
        places = comm.Get_group().Translate_ranks(None, everybody)
        self.ranks = tuple(int(rank) for rank in places)
        self.name, self.splits = name, 0
        self.kept: list[Any] = []  # what was begun and given up, with its memory
        self.watch = Watch(self) if watch is None else watch

    def begin(
        self, operation: str, x: Any = None, detail: str = "", *, shape: Any = None, rooted: bool = False
    ) -> Call:
        """Note that a collective begins, and compare it with the other members' first where that is asked for."""
        watch = self.watch
        call = watch.last = Call(operation, self.name, watch.count(self.name), self.ranks)
        call.detail, call.rooted = detail, rooted
        if x is not None:
            call.dtype, call.shape = x.dtype, x.shape if shape is None else shape
        if self.check and self.size > 1:
            compare(self, call)
        return call

    def begin_combining(self, operation: str, x: Any, detail: str = "", *, rooted: bool = False) -> Call:
        """Note that a collective begins whose operands must be alike; whether they are is found out on the way."""
        call = self.begin(operation, x, detail, rooted=rooted)
        if self.size > 1 and not self.check:
            call.agreement = Agreement(self, call)
        return call

    def begin_sending(self, x: Any, target: int, tag: int) -> Call:
        """Note that a message to a member begins."""
        key = f"{self.name}: {self.rank} to {target}"
        call = self.watch.last = Call("send", key, self.watch.count(key), ())
        call.dtype, call.shape, call.detail = x.dtype, x.shape, f"target={target}, tag={tag}"
        return call

    def begin_receiving(self, operation: str, source: int | None, tag: int) -> Call:
        """Note that a message from a member, or any, is awaited."""
        key = f"{self.name}: {source} to {self.rank}"
        partners = () if source is None else (self.ranks[source],)
        call = self.watch.last = Call(operation, key, self.watch.count(key), partners)
        call.detail = f"source={source}, tag={tag}"
        return call

    def wait_until(
        self, is_done: Callable[[], bool], call: Call, missing: Callable[[], list[int]] | None = None
    ) -> None:
        """Wait until something is done, in bursts, between which others may run, and longer and longer sleeps."""
        for _ in range(BURST):
            if is_done():
                return
        start = now = time.perf_counter()
        looked = SUSPICION
        while True:
            for _ in range(BURST):
                if is_done():
                    return
            if Request.unfinished:
                advance()
            before, now = now, time.perf_counter()
            waited = now - start
            if self.timeout is not None and waited > self.timeout:
                raise self.too_late(call, missing)
            if waited > 1.1 * looked:
                looked = waited
                self.watch.check_that_others_come(call)
            if waited < PATIENCE or now - before > MOVING:
                let_others_run()
            else:
                time.sleep(min(waited / 100, LONGEST_SLEEP))

    def too_late(self, call: Call, missing: Callable[[], list[int]] | None) -> CollectiveTimeoutError:
        """Return the error for a call that has waited too long, which names who has not come."""
        who = f"; not there: {name_ranks(missing(), self)}" if missing is not None else ""
        hint = None if who else "check=True of fx.distributed.world says who has not come"
        return CollectiveTimeoutError(
            f"{call}: rank {self.ranks[self.rank]} has waited {self.timeout:g} s for the others{who}",
            hint=hint,
            site=call.site,
        )
