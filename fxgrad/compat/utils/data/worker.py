"""Workers: the code of a process that loads batches."""

from __future__ import annotations

import os
import queue
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._make.generators import default_generator
from .fetch import Exhausted

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .fetch import Recipe

GRACE = 5.0  # seconds in which a worker may finish its sample, before it is ended


class WorkerInfo(NamedTuple):
    """The worker's view of itself: its number, the number of workers, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


OWN_INFO: list[WorkerInfo] = []  # of this process, if it is a worker


def get_worker_info() -> WorkerInfo | None:
    """Return what this process knows of itself as a worker of a DataLoader: None, unless it is one.

    >>> from fxgrad.compat.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return OWN_INFO[0] if OWN_INFO else None


class WorkerKeyError(str):
    """The message of a KeyError, which shows its lines as lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class WorkerFailure(NamedTuple):
    """An exception in a worker in the form that is sent: class and text."""

    kind: type[BaseException]
    text: str

    @classmethod
    def of(cls, error: BaseException, number: int) -> WorkerFailure:
        """Describe an exception of the worker of this number. It is called where that is handled."""
        name = type(error).__name__
        text = f"Caught {name} in DataLoader worker process {number}.\nOriginal {traceback.format_exc()}"
        return cls(type(error), text)

    def rebuild(self) -> BaseException:
        """Make the exception again, in the process that asked for the batch; a RuntimeError, where its class cannot
        be made of a text alone."""
        # It is returned and not raised here: a frame of its traceback that had it as a variable would keep it, and
        # the workers of the frames above, until the next garbage collection.
        if issubclass(self.kind, KeyError):
            return self.kind(WorkerKeyError(self.text))
        try:
            return self.kind(self.text)
        except Exception:
            return RuntimeError(self.text)


def work(
    connection: Connection,
    other_end: Connection,
    recipe: Recipe,
    info: WorkerInfo,
    prepare: Callable[[int], object] | None,
) -> None:
    """Load batches in this process until it receives a stop message, or until its parent process has ended.

    Messages are read from the pipe at once, and results are written by a separate thread. So neither side blocks on a
    full pipe, and batches are loaded ahead.

    Args:
        connection: this end of the pipe. Through it come (pass, task, index), with task −1 at the start of a pass, and
            None at the end; and go (pass, task, batch, WorkerFailure or Exhausted).
        other_end: the other end, to be closed: then the pipe ends with the process that holds it.
        recipe: what to load.
        info: who this is.
        prepare: `worker_init_fn`, called once with the number of the worker.
    """
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    OWN_INFO[:] = [info]
    seed_numbers(info.seed, info.id)
    requests: queue.SimpleQueue = queue.SimpleQueue()
    replies: queue.SimpleQueue = queue.SimpleQueue()
    stopping = threading.Event()
    threading.Thread(target=read, args=(connection, requests, stopping), daemon=True).start()
    threading.Thread(target=write, args=(connection, replies), daemon=True).start()
    failure = None
    try:
        if prepare is not None:
            prepare(info.id)
    except Exception as error:
        failure = WorkerFailure.of(error, info.id)
    load: Any = None
    while not stopping.is_set() and (request := requests.get()) is not None:
        number, task, index = request
        result: Any = failure
        try:
            if failure is not None:
                pass
            elif task < 0:
                load = None  # of a pass before
                load = recipe.prepare()
            else:
                result = load(index)
            reply = ForkingPickler.dumps((number, task, result))
        except Exhausted:
            reply = ForkingPickler.dumps((number, task, Exhausted()))
        except Exception as error:
            result = WorkerFailure.of(error, info.id)
            if task < 0:
                failure = result
            try:
                reply = ForkingPickler.dumps((number, task, result))
            except Exception:  # of a class that the other process cannot find
                reply = ForkingPickler.dumps((number, task, result._replace(kind=RuntimeError)))
        if task >= 0:
            replies.put(reply)


def seed_numbers(seed: int, number: int) -> None:
    """Seed the random numbers of Python, torch and NumPy in the process of a worker. A lock that a thread of the other
    process held when this one was forked would never be released, so the generator gets another."""
    random.seed(seed)
    default_generator.__init__()
    default_generator.manual_seed(seed)
    base = seed - number
    words = [number, base % 2**32, base >> 32]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))  # as in torch


def read(connection: Connection, requests: queue.SimpleQueue, stopping: threading.Event) -> None:
    """Read requests until the last one, or until the process at the other end is gone."""
    request: Any = ()
    while request is not None:
        try:
            request = connection.recv()
        except (EOFError, OSError):
            request = None
        if request is None:
            stopping.set()
        requests.put(request)
    time.sleep(GRACE)  # this thread ends with the process; if that has not ended by then, it is stuck
    os._exit(1)


def write(connection: Connection, replies: queue.SimpleQueue) -> None:
    """Send the replies in the order of their arrival."""
    try:
        while True:
            connection.send_bytes(replies.get())
    except OSError:
        pass  # nobody reads any more
