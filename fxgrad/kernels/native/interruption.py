"""Long-running machine code releases the interpreter, and can be interrupted (Ctrl-C).

    attach(memory)      as it begins: the interpreter's lock is let go of (on free-threaded Python: its thread state)
    poll(memory)        from time to time: whether a signal's handler, which runs here, has raised an exception
    detach(memory)      as it ends

The called functions are Python's own. Their addresses are in a table that each call is given, not part of the code,
which is kept on disk. The code must be a built-in function (`builtin`), which raises what a handler has raised.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from .ir import I32, PTR, Function, Value

POLL, INTERRUPTED = "poll", -2  # the function, and what code returns that was interrupted
NAMES = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals", "PyLong_FromLong", "PyLong_AsSsize_t"
)  # fmt: skip


@functools.cache
def addresses() -> np.ndarray:
    """Return the addresses of the interpreter's functions."""
    found = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in NAMES]
    return np.array(found, np.uint64)


def let_go(function: Function, memory: Value, table: Value) -> None:
    """Write the release of the GIL. The first words of the memory keep the thread state and the table of addresses."""
    function.store(table, memory, 1)
    save = function.load(table, PTR, 0)
    function.store(function.emit(f"call ptr {save.text}()", PTR), memory, 0)


def take_back(function: Function, memory: Value) -> None:
    """Write the acquisition of the GIL."""
    restore = function.load(function.load(memory, PTR, 1), PTR, 1)
    function.lines.append(f"  call void {restore.text}(ptr {function.load(memory, PTR, 0).text})")


def poll_function() -> Function:
    """Return the function that polls for signals, which returns 0 if there are none."""
    f = Function(POLL, [PTR], "i32", local=True, inline=False)
    (memory,) = f.arguments
    take_back(f, memory)
    table = f.load(memory, PTR, 1)
    found = f.emit(f"call i32 {f.load(table, PTR, 2).text}()", I32)
    let_go(f, memory, table)
    f.return_value(found)
    return f
