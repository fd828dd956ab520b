"""The processor's floating-point exceptions that a piece of code raises.

NumPy checks the same flags after each of its loops, and warns.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .ir import I32, I64, PTR, Value

if TYPE_CHECKING:
    from ...core.graph import Equation
    from .ir import Function

X86 = platform.machine().lower() in ("x86_64", "amd64")
ARM = platform.machine().lower() in ("arm64", "aarch64")
# The bits of the status register, by the names that NumPy's error state has for them.
BITS = (
    {"invalid": 1, "divide": 4, "over": 8, "under": 16}
    if X86
    else {"invalid": 1, "divide": 2, "over": 4, "under": 8}
)
ALL = 0x3F if X86 else 0x9F
NOTHING = frozenset({
    "absolute", "broadcast_to", "conjugate", "copysign", "equal", "fabs", "full_like", "greater", "greater_equal",
    "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log_gamma", "logical_and", "logical_not", "logical_or",
    "logical_xor", "make_complex", "maximum", "minimum", "negative", "not_equal", "permute", "polygamma", "positive",
    "real", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "relu", "reshape", "signbit", "stop_gradient",
    "where", "with_derivative_of",
})  # fmt: skip
NO_DIVISION = frozenset({
    "add", "convert", "cos", "erf", "exp", "multiply", "reduce_sum", "sigmoid", "sin", "sqrt", "square", "subtract",
    "tanh",
})  # fmt: skip


def possible(equation: Equation) -> int:
    """Return the exceptions that NumPy's function for an equation may tell of."""
    name = equation.primitive.computes
    if name in NOTHING and (name != "absolute" or equation.inputs[0].aval.dtype.kind != "c"):
        return 0
    every = sum(BITS.values())
    return every & ~BITS["divide"] if name in NO_DIVISION else every


def are_readable() -> bool:
    """Whether this processor's exceptions are known here."""
    return X86 or ARM


class Raised:
    """The exceptions raised by the code inside `watch`: `value`, an i32."""

    value: Value


@contextmanager
def watch(function: Function) -> Iterator[Raised]:
    """Write code whose exceptions are separated from earlier ones, which are raised again afterwards."""
    raised = Raised()
    before, place = read_status(function)
    write_status(function, before & ~ALL, place)
    yield raised
    after, place = read_status(function)
    raised.value = function.cast("trunc", after & sum(BITS.values()), I32)
    write_status(function, before, place)


def read_status(function: Function) -> tuple[Value, Value]:
    """Return the status register, and its place in memory."""
    if ARM:
        function.declare("@llvm.aarch64.get.fpsr", I64, [])
        return function.emit("call i64 @llvm.aarch64.get.fpsr()", I64), function.constant(0, I64)
    place = function.emit("alloca i32", PTR)
    function.declare("@llvm.x86.sse.stmxcsr", "void", ["ptr"])
    function.lines.append(f"  call void @llvm.x86.sse.stmxcsr(ptr {place.text})")
    return function.load(place, I32), place


def write_status(function: Function, value: Value, place: Value) -> None:
    """Set the status register."""
    if ARM:
        function.declare("@llvm.aarch64.set.fpsr", "void", ["i64"])
        function.lines.append(f"  call void @llvm.aarch64.set.fpsr(i64 {value.text})")
        return
    function.store(value, place)
    function.declare("@llvm.x86.sse.ldmxcsr", "void", ["ptr"])
    function.lines.append(f"  call void @llvm.x86.sse.ldmxcsr(ptr {place.text})")
