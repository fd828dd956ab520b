"""Pools of workers, in the process that starts them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
import weakref
from collections.abc import Callable
from multiprocessing import connection as pipes
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from ...errors import TensorError
from .worker import GRACE, WorkerInfo, work

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from .fetch import Recipe


class Pool:
    """Processes that load batches, each at the other end of a pipe.

    They end with `finish`, which is called when the pool is no longer needed, and when nobody has it any more.
    """

    def __init__(
        self,
        recipe: Recipe,
        count: int,
        seed: int,
        prepare: Callable[[int], object] | None,
        context: Any = None,
    ):
        self.ends: list[Any] = []
        self.processes: list[Any] = []
        self.finish = weakref.finalize(self, end_processes, os.getpid(), self.ends, self.processes)
        self.passes = 0
        context = multiprocessing if context is None else context
        try:
            for number in range(count):
                ours, theirs = context.Pipe()
                self.ends.append(ours)
                info = WorkerInfo(number, count, seed + number, recipe.dataset)
                process = context.Process(
                    target=work, args=(theirs, ours, recipe, info, prepare), daemon=True
                )
                process.start()
                self.processes.append(process)
                theirs.close()
        except BaseException:
            self.finish()
            raise

    def begin(self) -> int:
        """Begin another pass over the dataset, drop the outstanding samples of the last one, and return its number."""
        self.passes += 1
        for number in range(len(self.ends)):
            self.send(number, -1, None)
        return self.passes

    def send(self, number: int, task: int, index: Any) -> None:
        """Ask a worker for the batch of these numbers."""
        try:
            self.ends[number].send((self.passes, task, index))
        except OSError:
            pass  # it is gone, which `receive` finds
        except BaseException:
            self.finish()  # the pipe may hold half of a message
            raise

    def receive(self, timeout: float) -> list[tuple[int, Any]]:
        """Receive the results that have come, of this pass: (task, batch, WorkerFailure or Exhausted) each. If there is
        none, it waits for the first.

        Raises:
            TensorError: a worker is gone, or none has come after `timeout` seconds (0: there is no limit).
        """
        deadline = time.monotonic() + timeout
        received: list[tuple[int, Any]] = []
        while not received:
            left = max(0.0, deadline - time.monotonic()) if timeout else None
            try:
                ready = pipes.wait([*self.ends, *(process.sentinel for process in self.processes)], left)
                messages = [end.recv_bytes() for end in self.ends if end in ready]
            except (EOFError, OSError):
                messages, ready = [], [None]
            except BaseException:
                self.finish()
                raise
            if not ready:
                self.finish()
                raise TensorError(
                    f"DataLoader timed out after {timeout} seconds",
                    hint=f"timeout=0 waits without end, timeout={2 * timeout} longer; num_workers=0 shows what "
                    "takes so long",
                )
            if not messages:
                self.fail()
            pickler: Any = ForkingPickler  # whose `loads` type checkers take for a method
            found = [pickler.loads(message) for message in messages]
            received = [(task, result) for number, task, result in found if number == self.passes]
        return received

    def fail(self) -> None:
        """End the other workers, since one is gone."""
        # Its pipe may end before it does, and its sentinel before it can be asked how.
        deadline = time.monotonic() + GRACE
        ended = pipes.wait([process.sentinel for process in self.processes], GRACE)
        gone = [
            process
            for process in self.processes
            if has_ended(process) or (process.sentinel in ended and await_end(process, deadline))
        ]
        pids = ", ".join(str(process.pid) for process in gone)
        codes = ", ".join("unknown" if (code := process.exitcode) is None else str(code) for process in gone)
        self.finish()
        raise TensorError(
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly",
            hint=f"exit code {codes}: −9 most often means that the memory was used up; num_workers=0 shows more",
        )


def end_processes(owner: int, ends: list[Any], processes: list[Any]) -> None:
    """Stop workers, and kill those that do not end in time."""
    if os.getpid() != owner:
        return  # a forked process has the pool as well
    for end in ends:
        with contextlib.suppress(OSError, ValueError):  # the worker is gone
            end.send(None)
        end.close()
    deadline = time.monotonic() + GRACE
    try:
        for process in processes:
            await_end(process, deadline)
    finally:
        stuck = [process for process in processes if not has_ended(process)]
        for process in stuck:
            process.kill()
        deadline = time.monotonic() + GRACE
        for process in stuck:
            await_end(process, deadline)


def await_end(process: BaseProcess, deadline: float) -> bool:
    """Wait until a worker has ended, or until a time of the monotonic clock; return whether the worker has ended."""
    # `process.join` would wait without a limit once the sentinel has ended.
    pipes.wait([process.sentinel], max(0.0, deadline - time.monotonic()))
    while not (ended := has_ended(process)) and time.monotonic() < deadline:
        time.sleep(0.001)
    return ended


def has_ended(process: BaseProcess) -> bool:
    """Return whether a worker has ended.

    Where the program ignores SIGCHLD (also if it was started so), or waits for all of its children itself, nobody can
    learn the exit code of a worker any more, and `multiprocessing` takes the worker to be alive for good.
    """
    if not process.is_alive():
        return True
    if os.name != "posix" or process.pid is None:  # elsewhere a signal 0 is no question
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is there
    return False
