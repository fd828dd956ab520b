"""Machine code as a built-in function of Python, which is called without `ctypes` in between.

    PyObject *name(PyObject *table, PyObject **arguments, Py_ssize_t count)     a PyCFunction with METH_FASTCALL

The arguments are integers and NumPy arrays, the result is an integer. `table` has the addresses of Python's own
functions (`interruption.addresses`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, exceptions
from .groups import DOUBTFUL
from .interruption import INTERRUPTED, NAMES, addresses, let_go, take_back
from .ir import I32, I64, PTR, Function, Type, Value

if TYPE_CHECKING:
    from .processor import NativeCode

METH_FASTCALL = 0x80


class Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


class Table(np.ndarray):
    """The table of a built-in function, which owns it. The code and the definition live as long as the table."""

    code: NativeCode
    definition: Definition


@functools.cache
def constructor() -> Any:
    """Return CPython's PyCFunction_NewEx."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(Definition), ctypes.py_object, ctypes.c_void_p)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))


def make_builtin(code: NativeCode, name: str) -> Any:
    """Return the function of this name in the code as a built-in function."""
    table = addresses().view(Table)
    table.code = code
    table.definition = Definition(name.encode(), code.address(name), METH_FASTCALL, None)
    return constructor()(ctypes.byref(table.definition), table, None)


class BuiltinWriter:
    """A built-in function under construction: the `function`, the address of its `table`, and its arguments: `numbers`
    and `arguments`, which are arrays."""

    def __init__(self, name: str, count: int, numbers: int = 0):
        f = self.function = Function(name, [PTR, PTR, I64], "ptr")
        table, given, _ = f.arguments
        self.table = arrays.address(f, table)
        objects = [f.load(given, PTR, k) for k in range(numbers + count)]
        self.numbers, self.arguments = [*map(self.number, objects[:numbers])], objects[numbers:]

    def python(self, name: str) -> str:
        """Return one of Python's functions."""
        return self.function.load(self.table, PTR, NAMES.index(name)).text

    def number(self, value: Value) -> Value:
        """Return the number that an integer of Python is."""
        return self.function.emit(f"call i64 {self.python('PyLong_AsSsize_t')}(ptr {value.text})", I64)

    def call(self, name: str, operands: Sequence[Value], memory: Value, lets_go: bool) -> Value:
        """Write a call of machine code, in whose `memory` the first words are Python's if it `lets_go` of the
        interpreter; return the exceptions that it has raised, doubts, or whether it was interrupted."""
        f = self.function
        if lets_go:
            let_go(f, memory, self.table)
        with exceptions.watch(f) as raised:
            texts = ", ".join(f"{v.type} {v.text}" for v in (*operands, memory))
            found = f.emit(f"call i32 @{name}({texts})", I32)
        if lets_go:
            take_back(f, memory)
        return (found < 0).select(found, raised.value | found * DOUBTFUL)

    def return_status(self, status: Value) -> None:
        """Write the end of the function: it returns the status, or raises what interrupted it."""
        f = self.function
        f.lines.append(f"  br i1 {status.equals(INTERRUPTED).text}, label %raised, label %returned")
        f.lines += ["raised:", "  ret ptr null", "returned:"]
        long = Type(f"i{8 * ctypes.sizeof(ctypes.c_long)}")
        number = f.cast("sext", status, long)
        f.return_value(f.emit(f"call ptr {self.python('PyLong_FromLong')}({long} {number.text})", PTR))
