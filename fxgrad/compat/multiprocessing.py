"""torch.multiprocessing: Python's `multiprocessing`. Tensors are pickled; sharing strategies have no effect."""

from __future__ import annotations

import multiprocessing as _python
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
from typing import Any

from .errors import ArgumentValueError

STRATEGY = "file_descriptor"
# The part of a traceback that fits into a pipe without a reader.
LONGEST_TEXT = 10_000


class ProcessException(Exception):
    """The error of a process that `spawn` has started.

    >>> issubclass(mp.ProcessException, Exception)
    True
    """

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid


class ProcessRaisedException(ProcessException):
    """A process has raised an exception; the message is its traceback.

    >>> issubclass(mp.ProcessRaisedException, mp.ProcessException)
    True
    """


class ProcessExitedException(ProcessException):
    """A process has ended with an exit code that is not 0.

    >>> issubclass(mp.ProcessExitedException, mp.ProcessException)
    True
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def run_numbered(fn: Callable[..., object], number: int, args: tuple, errors: Any) -> None:
    """Call the function of a process, and send the traceback of what it raises."""
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # of the parent, which knows
    except Exception:
        errors.put(traceback.format_exc()[-LONGEST_TEXT:])
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `start_processes` has started.

    Args:
        errors: where processes write their errors.

    >>> mp.ProcessContext([], []).join()
    True
    """

    def __init__(self, processes: list[Any], errors: list[Any]):
        self.processes, self._fx_errors = processes, errors

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until the processes have ended. If one has failed, the others are ended.

        Args:
            timeout: seconds; None: for ever.
            grace_period: the seconds that the others have to end by themselves.

        Returns:
            Whether all have ended within `timeout` seconds.

        Raises:
            ProcessRaisedException: a process has raised.
            ProcessExitedException: a process was ended.
        """
        waiting = {
            process.sentinel: number for number, process in enumerate(self.processes) if process.is_alive()
        }
        if waiting:
            from multiprocessing import connection

            connection.wait(list(waiting), timeout=timeout)
        failed = next((n for n, p in enumerate(self.processes) if p.exitcode not in (None, 0)), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period or 30)
        process = self.processes[failed]
        if self._fx_errors[failed].empty():
            code = process.exitcode
            raise ProcessExitedException(
                f"process {failed} terminated with exit code {code}", failed, process.pid, code
            )
        text = self._fx_errors[failed].get()
        raise ProcessRaisedException(
            f"\n\n-- Process {failed} terminated with the following error:\n{text}", failed, process.pid
        )


def start_processes(
    fn: Callable[..., object],
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call `fn(number, *args)`.

    Args:
        fn: a function at the top of a module.
        args: what all of them get.
        nprocs: how many there are.
        join: whether to wait for them.
        daemon: whether they end with this process.
        start_method: "spawn", "fork" or "forkserver".

    Returns:
        The processes, or None if they were waited for.

    Raises:
        ProcessRaisedException: `join`, and one has raised.

    >>> def main():  # of a program; `work` is a function at the top of its file
    ...     mp.start_processes(work, args=(3,), nprocs=2)
    """
    context: Any = _python.get_context(start_method)
    processes, errors = [], []
    for number in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=run_numbered, args=(fn, number, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        errors.append(queue)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., object],
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes anew that call `fn(number, *args)`: see `start_processes`.

    Args:
        nprocs: how many processes.
        join: whether to wait for them.
        daemon: whether they end with this one.
        start_method: how they are started.

    Returns:
        A ProcessContext, or None after it was joined.

    >>> def main():  # of a program; `work` is a function at the top of its file
    ...     mp.spawn(work, args=(3,), nprocs=2)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


SpawnContext = ProcessContext


def get_all_sharing_strategies() -> set[str]:
    """The ways in which torch shares memory; nothing is shared here.

    Returns:
        A set.

    >>> mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    True
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The way in which torch would share memory.

    Returns:
        A str.

    >>> mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    True
    """
    return STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Remember the way in which torch would share memory.

    Args:
        new_strategy: its name.

    Raises:
        ArgumentValueError: there is no such way.

    >>> mp.set_sharing_strategy(mp.get_sharing_strategy())
    """
    global STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        raise ArgumentValueError(
            f"unknown sharing strategy {new_strategy!r}", hint=", ".join(sorted(get_all_sharing_strategies()))
        )
    STRATEGY = new_strategy


__all__ = [
    *_python.__all__,  # pyright: ignore[reportUnsupportedDunderAll]
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
