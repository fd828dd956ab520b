"""The operands of a running frame that are not in its variables: iterators of loops, exits of `with` blocks, and parts
of expressions. They are read from the interpreter's memory, where its layout is known; elsewhere they stay hidden."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
import types
from collections.abc import Generator
from typing import Any

VERSIONS = ((3, 11), (3, 12), (3, 13))  # of CPython, with these places:
OF_INTERPRETER_FRAME = 24  # of the pointer to it in a frame
OF_VALUES = 72  # of the variables in an interpreter's frame, which the stack follows
SIZE = 8  # of a pointer


def operand(frame: types.FrameType, index: int) -> Any:
    """Return the operand at an index from the bottom of the stack, below those of the current instruction."""
    code = frame.f_code
    variables = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    inner = ctypes.c_void_p.from_address(id(frame) + OF_INTERPRETER_FRAME).value or 0
    place = inner + OF_VALUES + SIZE * (variables + index)
    if ctypes.c_void_p.from_address(place).value is None:
        return None  # an empty place, beside a function that is called
    return ctypes.py_object.from_address(place).value


def loop(values: list[Any]) -> Generator[Any]:
    """Yield the entries of a list, to which another function refers as well."""
    for value in values:
        yield value, lambda: values


def is_readable() -> bool:
    """Whether operands are where they are expected: the iterator of a loop is found by `operand`."""
    has_own_layout = hasattr(sys, "gettotalrefcount") or bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in VERSIONS or has_own_layout:
        return False
    if ctypes.sizeof(ctypes.c_void_p) != SIZE:
        return False
    values = [1, 2]
    running: Any = loop(values)
    next(running)
    iterator = operand(running.gi_frame, 0)
    return type(iterator) is type(iter(values)) and iterator.__reduce__()[1][0] is values


IS_READABLE = is_readable()
