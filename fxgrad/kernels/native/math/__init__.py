"""Vectorized mathematical functions as machine code, which fused loops call for the primitives.

    if covers("erf", aval.dtype): …           is there code for this primitive on operands of this dtype?
    y = apply("erf", x)                       append it to the function that the Value x belongs to

Names are the primitives'. `covers(name, dtype, **params)` asks about the common dtype of the operands, to which NumPy
would convert them (of `where`, that of what is chosen from). `apply(name, *operands, **params)` takes Values of that
dtype, truth values as i1 (memory has i8), complex ones as two vectors, and returns what the primitive returns on one
entry. Half precision is computed in float32 and rounded once an operation, as NumPy and ml_dtypes do.

Each function is a Python function of Values: `@function` makes one that is called in machine code, once for a type, and
`@inline` one whose instructions stand where it is used. Results agree with exact ones to 2 ulp or what docstrings say.
A flag (invalid, divide by zero, overflow) is raised where NumPy's function raises it; lanes that a selection discards
compute with harmless numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from ....core.cache import Cache
from ..ir import Function, Type, Value
from . import complex_numbers
from .complex_numbers import Complex
from .declare import FUNCTIONS

ELEMENTS = {
    "float64": "double",
    "float32": "float",
    "float16": "half",
    "bfloat16": "bfloat",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "i64",
    "uint32": "i32",
    "uint16": "i16",
    "uint8": "i8",
    "bool": "i1",
    "complex128": "double",  # of each part
    "complex64": "float",
}


_made: Cache = Cache(512)


def covers(name: str, dtype: np.dtype | type | str, **params: object) -> bool:
    """Tell whether `apply` has code for a primitive on operands of this dtype."""
    load_all()
    dtype = np.dtype(dtype)
    kind = "f" if dtype.name == "bfloat16" else dtype.kind
    if kind == "c":
        return complex_numbers.covers(name, **params)
    if dtype.name not in ELEMENTS or (dtype.name == "float16" and not converts_half()):
        return False
    rule = FUNCTIONS.get(name)
    if rule is None or kind not in rule.kinds:
        return False
    check = getattr(rule.write, "covers", None)
    return check is None or check(dtype, **params)


def apply(name: str, *operands: Any, **params: object) -> Any:
    """Append the code of a primitive to the function of its operands; return the result."""
    load_all()
    if type(operands[-1]) is Complex:
        return complex_numbers.apply(name, *operands, **params)
    write, _, stands_there = FUNCTIONS[name]
    elements = {x.type.element for x in operands}
    short = elements & {"half", "bfloat"}
    if short:
        wide = [widen(x) if x.type.element in short else x for x in operands]
        result = apply(name, *wide, **params)
        return narrow(result, *short) if result.type.element == "float" else result
    if stands_there:
        return write(*operands, **params)
    return operands[0].call(name, *operands[1:])


def converts_half() -> bool:
    """Tell whether the processor has instructions for float16."""
    from ..processor import has_half_precision

    return has_half_precision()


def widen(x: Value) -> Value:
    """Convert half precision to float32. The processor converts whole registers, whose other numbers may raise
    exceptions: of a single one, the bits are taken apart."""
    if x.type.element == "half" and x.type.width > 1:
        return x.function.cast("fpext", x, x.type.of("float"))
    if x.type.element == "half":
        bits = x.function.cast("zext", x.bits_as("i16"), x.type.of("i32"))
        size = (bits & 0x7FFF) << 13
        is_finite = (bits & 0x7C00) < 0x7C00
        finite = (size.bits_as("float") * 2.0**112).bits_as("i32")
        return (is_finite.select(finite, size | 0x7F800000) | ((bits & 0x8000) << 16)).bits_as("float")
    bits = x.function.cast("zext", x.bits_as("i16"), x.type.of("i32"))
    return (bits << 16).bits_as("float")


def narrow(x: Value, element: str) -> Value:
    """Round float32 or double to half precision, ties to even; to bfloat16 by way of float32, as ml_dtypes does. The
    processor's own conversion to bfloat16 flushes subnormals, and none converts doubles."""
    if element == "half":
        single = round_to_odd(x) if x.type.element == "double" else x
        return x.function.cast("fptrunc", single, x.type.of("half"))
    x = x.function.cast("fptrunc", x, x.type.of("float"))
    bits = x.bits_as("i32")
    rounded = (bits + 0x7FFF + (bits.logical_shift(16) & 1)).logical_shift(16)
    quiet = bits.logical_shift(16) | 0x40
    bits = x.is_nan().select(quiet, rounded)
    return x.function.cast("trunc", bits, x.type.of("i16")).bits_as("bfloat")


def round_to_odd(x: Value) -> Value:
    """Round doubles to float32 with the last bit set if the rounding was inexact, so that a second one is correct."""
    near = x.function.cast("fptrunc", x, x.type.of("float"))
    back = x.function.cast("fpext", near, x.type)
    beyond = back.intrinsic("fabs") > x.intrinsic("fabs")
    bits = near.bits_as("i32")
    toward_zero = bits - x.function.cast("zext", beyond, bits.type)
    lost = ~back.equals(x) & ~x.is_nan()
    return lost.select(toward_zero | 1, bits).bits_as("float")


def definition(name: str, type: Type) -> Function:
    """Return the function of this name for vectors of a type."""
    key = (name, type)
    found = _made.get(key)
    if found is None:
        load_all()
        write = FUNCTIONS[name].write
        count = len(inspect.signature(write).parameters)
        found = Function(f"fx.{name}.{type.suffix}", [type] * count, str(type), local=True)
        found.return_value(write(*found.arguments))
        _made[key] = found
    return found


def definitions(functions: Iterable[Function]) -> str:
    """Return the text of everything that these functions call, directly or not, and of the declarations."""
    pending, found = list(functions), {}
    declared: dict[str, str] = {}
    while pending:
        current = pending.pop()
        declared.update(current.declarations)
        for key in current.needs:
            if key not in found:
                found[key] = definition(*key)
                pending.append(found[key])
    return "\n".join([*declared.values(), *map(str, found.values())])


def load_all() -> None:
    """Load the files that declare functions."""
    from . import (
        arithmetic,
        division,
        exponential,
        gamma,
        inverse_trigonometric,
        logarithm,
        normal,
        power,
        trigonometric,
    )
