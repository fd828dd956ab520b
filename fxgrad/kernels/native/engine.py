"""Compilation of LLVM text to machine code, immediately or in the background, and the cache of compiled code."""

from __future__ import annotations

import _thread
import atexit
import ctypes
import functools
import os
from collections import deque
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...core.cache import Cache
from . import arrays, exceptions

if TYPE_CHECKING:
    from .ir import Function
    from .processor import NativeCode

LOCK = _thread.RLock()  # LLVM's global context serves one thread at a time
MODES = ("auto", "always", "never")
_compiled: Cache = Cache(128)  # text → what holds its machine code


@functools.cache
def mode() -> str:
    """When machine code is used, by the variable FXGRAD_NATIVE: "auto" (where it pays), "always" or "never"."""
    asked = os.environ.get("FXGRAD_NATIVE", "auto")
    if asked not in MODES:
        raise ValueError(
            f"the environment variable FXGRAD_NATIVE is one of {', '.join(MODES)}, not {asked!r}"
        )
    possible = find_spec("llvmlite") is not None and arrays.are_readable() and exceptions.are_readable()
    return asked if possible else "never"


def module_text(functions: Sequence[Function]) -> str:
    """Return the text of a module of functions and the functions that they call."""
    from .math import definitions  # most programs ask for the mode only
    from .processor import vector_bytes

    wide = 8 * vector_bytes()
    attributes = (
        f'attributes #0 = {{ nounwind "min-legal-vector-width"="{wide}" "prefer-vector-width"="{wide}" }}'
    )
    return "\n".join([definitions(functions), *map(str, functions), attributes, ""])


def compile_functions(functions: Sequence[Function]) -> NativeCode:
    """Compile functions, or find the code that was compiled from the same text. They are finished: nothing more is
    written."""
    from .processor import NativeCode

    text = module_text(functions)
    for function in functions:
        function.arguments.clear()  # which refer to it: memory is released by counting references
    with LOCK:
        found = _compiled.get(text)
        if found is None:
            found = _compiled[text] = NativeCode(text)
    return found


def bind_function(code: NativeCode, name: str, *argument_types: Any, result: Any = None) -> Any:
    """Return a function of the code that Python can call; it releases the interpreter's lock while it runs."""
    function = ctypes.CFUNCTYPE(result, *argument_types)(code.address(name))
    function.code = code  # type: ignore[attr-defined]  # kept alive
    return function


# -- in the background ------------------------------------------
class Background:
    """A thread that makes machine code, while there is some to be made.

    All of it is made there: an interruption (Ctrl-C) meets the main thread at any moment, also between taking a lock
    and knowing of it in llvmlite or `threading`, of which nothing is used here for that reason. As the interpreter ends
    `LOCK` is taken for good: what is being compiled is finished, nothing else is begun.
    """

    def __init__(self) -> None:
        self.jobs: deque[Callable[[], None]] = deque()
        self.lock = _thread.allocate_lock()
        self.is_working = False

    def add(self, job: Callable[[], None]) -> None:
        """Have a job done: by this thread where no other can be started."""
        with self.lock:
            self.jobs.append(job)
            if self.is_working:
                return
            try:
                _thread.start_new_thread(self.work, ())
                self.is_working = True
                return
            except RuntimeError:
                self.jobs.pop()
        job()

    def work(self) -> None:
        """Do the jobs, one after the other."""
        while True:
            with self.lock:
                if not self.jobs:
                    self.is_working = False
                    return
                job = self.jobs.popleft()
            job()
            del job

    def finish(self, job: Callable[[], None]) -> None:
        """Submit a job behind all others, and wait for it."""
        pending = _thread.allocate_lock()
        pending.acquire()

        def work() -> None:
            try:
                job()
            finally:
                pending.release()

        self.add(work)
        pending.acquire()


BACKGROUND = Background()


def renew() -> None:
    """Begin anew in a process that was forked, where only the thread that forked goes on."""
    LOCK.release()
    BACKGROUND.__init__()


if hasattr(os, "register_at_fork"):  # nothing is half compiled in the new process
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=renew)
atexit.register(LOCK.acquire)
