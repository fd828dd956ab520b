"""Equations of a Graph on vectors, one lane for each entry, with NumPy's dtypes and the functions of `math`.

Each dtype has an element type in registers, where booleans are masks (i1), and one in memory, where they are bytes.
Complex numbers are two vectors in registers; in memory, and in accumulators of sums, real and imaginary parts
alternate. Operands are converted as in NumPy's loops; Python numbers take the dtype of the array that they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import isfinite
from typing import Any

import numpy as np

from ...core.aval import WEAK_TYPES
from ...core.cache import Cache
from ...core.graph import Equation, Graph, Literal
from ...core.key import params_key
from . import math
from .ir import Function, Type, Value
from .math.complex_numbers import Complex
from .processor import vector_bytes

BOOL = np.dtype(bool)
MOVES = frozenset({"convert", "full_like", "broadcast_to", "stop_gradient", "with_derivative_of"})
PARTS = frozenset({"real", "imag", "angle"})  # functions of complex numbers that give real ones
KINDS = frozenset("biufc")
_known: Cache = Cache(256)  # dtypes
_loops: Cache = Cache()  # dtypes of loops, by primitives, dtypes and params


def is_known(dtype: Any) -> bool:
    """Whether values of a dtype can be in vectors."""
    found = _known.get(dtype)
    if found is None:
        found = dtype.isnative and dtype.name in math.ELEMENTS
        _known[dtype] = found
    return found


def parts_of(dtype: Any) -> int:
    """Return of how many parts a number of a dtype is made, which lie in memory one after the other."""
    return 2 if dtype.kind == "c" else 1


def part_dtype(dtype: Any) -> Any:
    """Return the dtype of the parts of complex numbers; any other dtype is returned unchanged."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def vector_width(graph: Graph) -> int:
    """Return the number of lanes of vectors, for which the values of a Graph fit into registers."""
    dtypes = {v.aval.dtype for e in graph.equations for v in (*e.inputs, *e.outputs) if not v.aval.weak}
    sizes = [part_dtype(d).itemsize for d in dtypes if d.kind != "b"] or [1]
    return vector_bytes() // max(sizes)


# -- memory ------------------------------------------
def memory_element(dtype: Any) -> str:
    """Return the element as which a dtype lies in memory."""
    return "i8" if dtype == BOOL else math.ELEMENTS[dtype.name]


def memory_type(dtype: Any, width: int) -> Type:
    """Return the type as which `width` entries of a dtype lie in memory."""
    return Type(memory_element(dtype), width * parts_of(dtype))


def from_memory(value: Value, dtype: Any) -> Any:
    """Return a loaded value as the element of its dtype."""
    if dtype.kind == "c":
        return Complex(*value.function.deinterleave(value))
    return value.compare("!=", 0) if dtype == BOOL else value


def to_memory(value: Any) -> Value:
    """Return a value as the element that is stored."""
    if isinstance(value, Complex):
        return value.function.interleave(*value)
    return value.function.cast("zext", value, value.type.of("i8")) if value.type.element == "i1" else value


def part_number(place: Any, dtype: Any) -> Any:
    """Return the number of an entry's first part from the number of the entry."""
    return place * 2 if dtype.kind == "c" else place


def mask_parts(mask: Value, dtype: Any) -> Value:
    """Return a mask of numbers as one of their parts."""
    return mask.function.interleave(mask, mask) if dtype.kind == "c" else mask


def load_repeated(function: Function, pointer: Value, dtype: Any, place: Value | int, width: int) -> Any:
    """Load one entry into all lanes."""
    one = function.load(pointer, memory_type(dtype, 1), part_number(place, dtype))
    if dtype.kind == "c":
        return Complex(*(function.splat(part, width) for part in function.deinterleave(one)))
    return from_memory(function.splat(one, width), dtype)


def load(
    function: Function, pointer: Value, dtype: Any, place: Value, width: int, present: Value | None = None
) -> Any:
    """Load consecutive entries. Where a mask says that there are none they are like the first: nothing is computed of
    which NumPy would not have warned."""
    type, at = memory_type(dtype, width), part_number(place, dtype)
    if present is None:
        return from_memory(function.load(pointer, type, at), dtype)
    first = to_memory(load_repeated(function, pointer, dtype, place, width))
    present = mask_parts(present, dtype)
    return from_memory(function.load_masked(pointer, present, type, at, first), dtype)


def store(
    function: Function, value: Any, pointer: Value, dtype: Any, place: Value, present: Value | None = None
) -> None:
    """Store consecutive entries, or only those that a mask sets."""
    at, held = part_number(place, dtype), to_memory(value)
    if present is None:
        function.store(held, pointer, at)
    else:
        function.store_masked(held, pointer, mask_parts(present, dtype), at)


# -- dtypes ------------------------------------------
def convert(value: Any, source: Any, target: Any) -> Any:
    """Convert a value to another dtype; not from floating-point numbers to integers, nor from complex to real ones."""
    if source == target:
        return value
    if target.kind == "c":
        part, own = part_dtype(target), part_dtype(source)
        if isinstance(value, Complex):
            return Complex(*(convert(v, own, part) for v in value))
        real = convert(value, source, part)
        return Complex(real, real.function.constant(0.0, real.type))
    if value.type.element in ("half", "bfloat"):
        value, source = math.widen(value), np.dtype(np.float32)
    element = math.ELEMENTS[target.name]
    if element in ("half", "bfloat"):
        exact = value.type.element == "double"
        return math.narrow(value if exact else convert(value, source, np.dtype(np.float32)), element)
    have, type, f = value.type, value.type.of(element), value.function
    if target == BOOL:
        return value.compare("!=", 0)
    if have.is_float:
        return f.cast("fpext" if type.bits > have.bits else "fptrunc", value, type)
    signed = source.kind == "i"
    if type.is_float:
        return f.cast("sitofp" if signed else "uitofp", value, type)
    return f.cast("trunc" if type.bits < have.bits else "sext" if signed else "zext", value, type)


def loop_dtypes(equation: Equation) -> list[Any]:
    """Return the dtypes to which NumPy converts the operands of an equation before it computes."""
    kernel, result = equation.primitive.kernel, equation.outputs[0].aval.dtype
    avals = [a.aval for a in equation.inputs]
    if isinstance(kernel, np.ufunc):
        numbers = all(a.weak for a in avals)  # which NumPy converts to their own dtypes
        kinds = [
            WEAK_TYPES[a.dtype.kind] if a.weak and a.dtype.kind != "b" and not numbers else a.dtype
            for a in avals
        ]
        return list(kernel.resolve_dtypes((*kinds, *(None,) * kernel.nout))[: len(kinds)])
    name = equation.primitive.computes
    if name == "where":
        return [BOOL, result, result]
    if name in PARTS:
        return [avals[0].dtype]
    if name == "make_complex":
        return [part_dtype(result)] * 2
    if name in MOVES:
        return [a.dtype for a in avals] if name != "with_derivative_of" else [result] * 2
    return [result] * len(avals)


def converts(source: Any, target: Any) -> bool:
    """Whether values can be converted: not from floating-point numbers to integers, where overflow depends on the
    machine, nor from complex to real numbers, where NumPy warns."""
    if source.kind == "c":
        return is_known(source) and target.kind == "c"
    return is_known(source) and not (source.kind in "fV" and target.kind in "iu")


def fits(atom: Any, dtype: Any) -> bool:
    """Whether an operand can be converted to a dtype, which has to have a number that is a literal."""
    if type(atom) is not Literal:
        return converts(atom.aval.dtype, dtype)
    value, kind = atom.value, atom.aval.dtype.kind
    if atom.aval.shape != () or kind not in KINDS:
        return False
    if kind == "c":
        parts = complex(value)
        return dtype.kind == "c" and all(is_in_range(v, part_dtype(dtype)) for v in (parts.real, parts.imag))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return kind != "f" and limits.min <= int(value) <= limits.max
    if dtype == BOOL or kind == "b":
        return True
    try:
        return is_in_range(float(value), part_dtype(dtype))
    except OverflowError:
        return False


def is_in_range(value: float, dtype: Any) -> bool:
    """Whether a number does not overflow in a floating dtype."""
    return not isfinite(value) or abs(value) <= largest(dtype)


@cache
def largest(dtype: Any) -> float:
    """Return the largest finite number of a floating dtype."""
    return float("inf") if dtype.kind == "V" else float(np.finfo(dtype).max)


def covers(equation: Equation) -> bool:
    """Whether `write` knows an equation: its function, and the dtypes of operands and result."""
    if len(equation.outputs) != 1 or not equation.inputs:
        return False
    params = equation.params
    key: Any = (
        equation.primitive,
        equation.outputs[0].aval.dtype,
        *[a.aval.dtype for a in equation.inputs],
        *[a.aval.weak for a in equation.inputs],
    )
    if params:
        key = (*key, params_key(params))
    found = _loops.get(key)
    if found is None:
        found = _loops[key] = covered_loop(equation)
    for a, dtype in zip(equation.inputs, found):
        if type(a) is Literal and not fits(a, dtype):
            return False
    return bool(found)


def covered_loop(equation: Equation) -> Sequence[Any]:
    """Return the dtypes to which `write` converts the operands of an equation, or None for an unsupported one."""
    name, result = equation.primitive.computes, equation.outputs[0].aval.dtype
    if not name:
        return ()
    try:
        dtypes = loop_dtypes(equation)
    except TypeError:  # NumPy has no loop
        return ()
    arrays = [(a, d) for a, d in zip(equation.inputs, dtypes) if type(a) is not Literal]
    if not (is_known(result) and all(map(is_known, dtypes)) and all(fits(a, d) for a, d in arrays)):
        return ()
    if name in MOVES:
        known = name == "full_like" or converts(equation.inputs[0].aval.dtype, result)
    elif dtypes[-1] == BOOL and name in LOGIC:
        known = not equation.params
    else:
        same = len({*dtypes[name == "where" :]}) == 1
        known = same and math.covers(name, dtypes[-1], **equation.params)
    return dtypes if known else ()


def vector(value: Any, dtype: Any, function: Function, width: int) -> Any:
    """Return a number as a vector of a dtype; a vector is one already."""
    if isinstance(value, (Value, Complex)):
        return value
    if dtype.kind == "c":
        number, part = complex(value), part_dtype(dtype)
        return Complex(*(vector(v, part, function, width) for v in (number.real, number.imag)))
    return function.constant(np.asarray(value).astype(dtype).item(), Type(math.ELEMENTS[dtype.name], width))


def write(equation: Equation, operands: Sequence[Any], function: Function, width: int) -> Any:
    """Append the instructions of an equation that is covered, on vectors and numbers; return its result."""
    name, params, result = equation.primitive.computes, equation.params, equation.outputs[0].aval.dtype
    if name == "full_like":
        return vector(params["value"], result, function, width)
    dtypes = loop_dtypes(equation)
    values = [
        convert(v, a.aval.dtype, d) if isinstance(v, (Value, Complex)) else vector(v, d, function, width)
        for v, a, d in zip(operands, equation.inputs, dtypes)
    ]
    if name in MOVES:
        return convert(values[0], dtypes[0], result)
    if dtypes[-1] == BOOL and name in LOGIC:
        return LOGIC[name](*values)
    return math.apply(str(name), *values, **params)


# What NumPy's loops for bool do.
LOGIC = {
    "add": lambda a, b: a | b,
    "maximum": lambda a, b: a | b,
    "logical_or": lambda a, b: a | b,
    "bitwise_or": lambda a, b: a | b,
    "multiply": lambda a, b: a & b,
    "minimum": lambda a, b: a & b,
    "logical_and": lambda a, b: a & b,
    "bitwise_and": lambda a, b: a & b,
    "logical_xor": lambda a, b: a ^ b,
    "bitwise_xor": lambda a, b: a ^ b,
    "not_equal": lambda a, b: a ^ b,
    "equal": lambda a, b: ~(a ^ b),
    "logical_not": lambda a: ~a,
    "bitwise_not": lambda a: ~a,
}
