"""Threads that share the work of machine code, which releases the interpreter's lock.

The number of threads is given by the environment variable FXGRAD_NUM_THREADS, or else by OMP_NUM_THREADS, or else is
the number of processors available to the process. Results do not depend on it.
"""

from __future__ import annotations

import _thread
import functools
import os
from collections.abc import Callable
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

from ...core.costs import THREAD_WORK


@functools.cache
def thread_count() -> int:
    """How many threads may work at once."""
    for name in ("FXGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(name, "").split(",")[0].strip()
        if asked:
            if not asked.isdecimal() or int(asked) < 1:
                raise ValueError(
                    f"the environment variable {name} is a number of threads from 1 on, not {asked!r}"
                )
            return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """The worker threads besides the calling thread. They are started when they are first needed, again in a process
    that was forked, and end with the interpreter.

    What waits here are queues written in C: the main thread is interrupted (Ctrl-C) between two steps of Python, which
    may be those that take a lock in `threading` or `concurrent.futures`.
    """

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[Callable[..., int], tuple, SimpleQueue[int]]] = SimpleQueue()
        self.lock = _thread.allocate_lock()
        self.count = 0

    def submit(self, function: Callable[..., int], *arguments: Any) -> Callable[[], int]:
        """Call a function in another thread; return a function that waits for its result."""
        result: SimpleQueue[int] = SimpleQueue()
        with self.lock:
            if self.count < thread_count() - 1:
                try:
                    _thread.start_new_thread(self.work, ())
                    self.count += 1
                except RuntimeError:  # no thread can be started
                    pass
        if not self.count:
            return functools.partial(function, *arguments)
        self.tasks.put((function, arguments, result))
        return result.get

    def work(self) -> None:
        """Carry out tasks."""
        while True:
            function, arguments, result = self.tasks.get()
            result.put(function(*arguments))
            del function, arguments, result


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.__init__)


class Crew:
    """A native function of (first, last, arrays…) on `units` pieces of work, shared between threads. It returns the
    exceptions that any of them has raised."""

    def __init__(self, native: Callable[..., int], units: int, effort: float):
        self.native, self.units = native, units
        self.most = min(int(effort // THREAD_WORK), units)

    def __call__(self, first: int, last: int, *arrays: Any) -> int:
        count = min(thread_count(), self.most)
        if count <= 1:
            return self.native(first, last, *arrays)
        bounds = [first + (last - first) * i // count for i in range(count + 1)]
        others = [POOL.submit(self.native, *pair, *arrays) for pair in pairwise(bounds[1:])]
        raised = self.native(*bounds[:2], *arrays)
        for wait in others:
            raised |= wait()
        return raised
