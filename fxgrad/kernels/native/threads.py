"""Threads that share the work of machine code, which releases the interpreter's lock.

The number of threads is given by the environment variable FXGRAD_NUM_THREADS, or else by OMP_NUM_THREADS, or else is
the number of processors available to the process. Results do not depend on it: what is shared are units of work that
nothing is summed across.
"""

from __future__ import annotations

import _thread
import contextlib
import contextvars
import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.costs import KERNEL_COMPILATION, THREAD_WORK
from ..lapack import linked_libraries
from . import board, engine
from .tier import Tier

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
Words = ctypes.c_int64 * board.MOST
LINE = 64  # units that begin together with a line of the cache, if they are entries
PIECES = 4  # that each thread may take: who comes late, or is slower, takes fewer


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


def worker_count() -> int:
    """How many threads share calls of Python."""
    return 1 if engine.mode() == "never" else thread_count()


class Pool:
    """The worker threads besides the calling thread. They are started when they are first needed, again in a process
    that was forked, and end with the interpreter. They hand work over in machine code (`board`): between two steps of
    Python the main thread may be interrupted (Ctrl-C), and then nobody would wait for them."""

    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.helpers = 0
        self.tier = Tier(self.prepare, KERNEL_COMPILATION, "a pool of threads")

    def prepare(self) -> Pool:
        """Compile the functions of the board, and make one."""
        code = engine.compile_functions([board.serve_function(), board.share_function()])
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.serve = engine.bind_function(code, "serve", pointer, number)
        self.share = engine.bind_function(
            code, "share", *[pointer] * 2, *[number] * 5, pointer, result=ctypes.c_int
        )
        self.most = max(thread_count() - 1, 63)
        memory = np.zeros(board.HELPERS + board.LINE * (self.most + 1), np.int64)
        self.words = memory[-memory.ctypes.data // 8 % board.LINE :]  # from the beginning of a line on
        self.address = self.words.ctypes.data
        for place, name in ((board.ACQUIRE, "acquire"), (board.RELEASE, "release")):
            self.words[place] = address_of(getattr(ctypes.pythonapi, f"PyThread_{name}_lock"))
        self.words[board.YIELD] = address_of(find_yield())
        self.words[board.FINISHED] = make_lock()
        return self

    def start(self, wanted: int) -> int:
        """Start threads up to a number; return how many there are."""
        if self.helpers >= wanted:
            return wanted
        with self.lock:
            while self.helpers < min(wanted, self.most):
                self.words[board.HELPERS + board.LINE * self.helpers + 1] = make_lock()
                self.helpers += 1  # first: an interruption may lose a number, but gives none to two
                try:
                    _thread.start_new_thread(self.help, (self.helpers - 1,))
                except RuntimeError:  # no thread can be started
                    self.helpers -= 1
                    break
        return min(self.helpers, wanted)

    def help(self, helper: int) -> None:
        """Help for ever; what is needed for that belongs to this call."""
        self.serve(self.address, helper)


def address_of(function: Any) -> int:
    """Return the address of a function of ctypes; `cast` would make it part of a cycle of references."""
    return ctypes.c_void_p.from_buffer(function).value or 0


def find_yield() -> Any:
    """Return the system's function that offers a processor to other threads."""
    if os.name == "nt":
        return ctypes.WinDLL("kernel32").SwitchToThread  # type: ignore[attr-defined]
    return ctypes.CDLL(None).sched_yield


def make_lock() -> int:
    """Return a lock of the interpreter that is held: for threads that sleep until it is released."""
    pointer, pythonapi = ctypes.c_void_p, ctypes.pythonapi
    lock = ctypes.PYFUNCTYPE(pointer)(("PyThread_allocate_lock", pythonapi))()
    ctypes.PYFUNCTYPE(ctypes.c_int, pointer, ctypes.c_int)(("PyThread_acquire_lock", pythonapi))(lock, 1)
    return lock


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.__init__)


class Crew:
    """A native function of (first, last, arguments…) on units of work, of which threads take pieces. It returns the
    exceptions that any of them has raised. `effort` is the work as entries times operations (a quarter of a nanosecond
    each). A function that is `numbered` is told after `last` which of the `thread_count()` threads calls it, for
    memory of its own."""

    def __init__(self, native: Any, units: int, effort: float, numbered: bool = False):
        self.native, self.effort, self.numbered = native, effort, numbered
        self.most = min(int(effort // THREAD_WORK), units)
        if self.most > 1 and len(native.argtypes) - 2 - numbered > board.MOST:
            self.most = 1  # more than a piece is handed over with
        if self.most > 1:
            self.function = address_of(native)
            self.kind = board.NUMBERED * numbered + board.RETURNS * (native.restype is not None)
            self.objects = [kind is ctypes.py_object for kind in native.argtypes[2 + numbered :]]

    def __call__(self, first: int, last: int, *arguments: Any) -> int:
        count = min(thread_count(), self.most) if self.most > 1 else 1
        pool: Any = POOL.tier.ask(self.effort) if count > 1 else None
        helpers = 0 if pool is None else pool.start(count - 1)
        if pool is None or not helpers:
            return self.native(first, last, *[0] * self.numbered, *arguments)
        words = Words(
            *[id(v) if is_object else v for is_object, v in zip(self.objects, arguments, strict=True)]
        )
        piece = -((first - last) // (PIECES * (helpers + 1)))
        if piece > 16 * LINE and type(self.native) is not CALLBACK:  # Python's units are larger than entries
            piece += -piece % LINE
        return pool.share(pool.address, self.function, first, last, piece, helpers, self.kind, words)


def share_calls(
    function: Callable[[int, int], Any], units: int, effort: float, holds_blas: bool = False
) -> None:
    """Call a function of Python, which lets go of the interpreter's lock, on pieces of units of work. To hand a piece
    over takes some ten microseconds. What calls BLAS `holds_blas` to one thread."""
    with HELD_BLAS if holds_blas and HELD_BLAS.is_needed() else NOTHING_HELD:
        if min(worker_count(), units, effort // THREAD_WORK) <= 1:
            function(0, units)
            return
        done: list[int] = []
        failures: list[BaseException] = []
        context = contextvars.copy_context()

        def call(first: int, last: int) -> None:
            try:
                context.copy().run(function, first, last)
                done.append(last - first)
            except BaseException as failure:
                failures.append(failure)

        Crew(CALLBACK(call), units, effort)(0, units)
        if failures:
            raise failures[0]
        if sum(done) != units:
            raise KeyboardInterrupt  # came between two lines of `call`, whose caller is no Python


class HeldBlas:
    """NumPy's OpenBLAS, held to one thread in the block of a `with`: by the first of several threads that enter, until
    the last one leaves. Its own threads are not asked then, and do not wait beside ours for more to do."""

    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.holders, self.before = 0, 1

    def is_needed(self) -> bool:
        """Whether BLAS has several threads, or would have them if somebody else did not hold it."""
        return self.holders > 0 or blas_threads()[0]() > 1

    def __enter__(self) -> None:
        get, set_to = blas_threads()
        with self.lock:
            self.holders += 1
            if self.holders == 1:
                self.before = get()
                if self.before > 1:
                    set_to(1)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.holders -= 1
            if self.holders == 0 and self.before > 1:
                blas_threads()[1](self.before)


def call_held(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that calls BLAS, which is held to one thread."""
    with HELD_BLAS if HELD_BLAS.is_needed() else NOTHING_HELD:
        return function(*arguments)


@functools.cache
def blas_threads() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Return the functions that tell and set how many threads NumPy's OpenBLAS has; other libraries have one."""
    for linked in linked_libraries():
        for form in ("scipy_openblas_{}64_", "openblas_{}64_", "openblas_{}"):
            try:
                get, set_to = (getattr(linked, form.format(f"{verb}_num_threads")) for verb in ("get", "set"))
            except AttributeError:
                continue
            set_to.restype = None
            return get, set_to
    return lambda: 1, lambda count: None


HELD_BLAS, NOTHING_HELD = HeldBlas(), contextlib.nullcontext()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=HELD_BLAS.__init__)
