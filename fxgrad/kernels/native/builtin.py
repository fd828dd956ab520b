"""Machine code as a built-in function of Python, which is called without `ctypes` in between.

    PyObject *name(PyObject *table, PyObject **arguments, Py_ssize_t count)     a PyCFunction with METH_FASTCALL

The arguments are NumPy arrays, the result is an integer. `table` has the addresses of Python's own functions
(`interruption.addresses`).
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays
from .interruption import INTERRUPTED, NAMES, addresses
from .ir import I64, PTR, Function, Type, Value

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
    """A built-in function under construction: the `function`, the address of its `table`, and its `arguments`."""

    def __init__(self, name: str, count: int):
        f = self.function = Function(name, [PTR, PTR, I64], "ptr")
        table, given, _ = f.arguments
        self.table = arrays.address(f, table)
        self.arguments = [f.load(given, PTR, k) for k in range(count)]

    def return_status(self, status: Value) -> None:
        """Write the end of the function: it returns the status, or raises what interrupted it."""
        f = self.function
        f.lines.append(f"  br i1 {status.equals(INTERRUPTED).text}, label %raised, label %returned")
        f.lines += ["raised:", "  ret ptr null", "returned:"]
        make = f.load(self.table, PTR, NAMES.index("PyLong_FromLong"))
        long = Type(f"i{8 * ctypes.sizeof(ctypes.c_long)}")
        number = f.cast("sext", status, long)
        f.return_value(f.emit(f"call ptr {make.text}({long} {number.text})", PTR))
