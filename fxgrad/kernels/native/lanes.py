"""What an equation of a Graph does to vectors, one lane an entry: dtypes are NumPy's, functions are those of `math`.

A dtype is an element in registers, where truth values are masks (i1), and one in memory, where they are bytes. Operands
are converted as NumPy's loops do it; Python numbers take the dtype of the array that they meet.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.aval import WEAK_TYPES
from ...core.cache import Cache
from ...core.graph import Literal
from ...core.key import params_key
from . import math
from .ir import Type, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.graph import Equation
    from .ir import Function

BOOL = np.dtype(bool)
MOVES = frozenset({"convert", "full_like", "broadcast_to", "stop_gradient", "with_derivative_of"})
KINDS = frozenset("biuf")
_known: Cache = Cache(256)  # dtypes
_loops: Cache = Cache()  # dtypes of loops, by names, dtypes and params


def is_known(dtype: Any) -> bool:
    """Whether values of a dtype can be in vectors: real ones."""
    found = _known.get(dtype)
    if found is None:
        found = dtype.isnative and dtype.name in math.ELEMENTS and dtype.kind != "c"
        _known[dtype] = found
    return found


def memory_element(dtype: Any) -> str:
    """Return the element as which a dtype lies in memory."""
    return "i8" if dtype == BOOL else math.ELEMENTS[dtype.name]


def from_memory(value: Value, dtype: Any) -> Value:
    """Return a loaded value as the element of its dtype."""
    return value.compare("!=", 0) if dtype == BOOL else value


def to_memory(value: Value) -> Value:
    """Return a value as the element that is stored."""
    return value.function.cast("zext", value, value.type.of("i8")) if value.type.element == "i1" else value


def convert(value: Value, source: Any, target: Any) -> Value:
    """Convert a value to another dtype; not from floating to integer ones."""
    if source == target:
        return value
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
        kinds = [WEAK_TYPES[a.dtype.kind] if a.weak and a.dtype.kind != "b" else a.dtype for a in avals]
        return list(kernel.resolve_dtypes((*kinds, *(None,) * kernel.nout))[: len(kinds)])
    name = equation.primitive.name
    if name == "where":
        return [BOOL, result, result]
    if name in MOVES:
        return [a.dtype for a in avals] if name != "with_derivative_of" else [result] * 2
    return [result] * len(avals)


def converts(source: Any, target: Any) -> bool:
    """Whether values can be converted: not from floating to integer numbers, where what does not fit depends on the
    machine."""
    return is_known(source) and not (source.kind in "fV" and target.kind in "iu")


def fits(atom: Any, dtype: Any) -> bool:
    """Whether an operand can be converted to a dtype, which has to have a number that is a literal."""
    if type(atom) is not Literal:
        return converts(atom.aval.dtype, dtype)
    value, kind = atom.value, atom.aval.dtype.kind
    if atom.aval.shape != () or kind not in KINDS:
        return False
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return kind != "f" and limits.min <= int(value) <= limits.max
    if dtype == BOOL or kind == "b":
        return True
    try:
        value = float(value)
    except OverflowError:
        return False
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
        equation.primitive.name,
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
    """Return the dtypes to which `write` converts the operands of an equation, none where it does not know it."""
    name, result = equation.primitive.name, equation.outputs[0].aval.dtype
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


def vector(value: Any, dtype: Any, function: Function, width: int) -> Value:
    """Return a number as a vector of a dtype; a vector is one already."""
    if isinstance(value, Value):
        return value
    return function.constant(np.asarray(value).astype(dtype).item(), Type(math.ELEMENTS[dtype.name], width))


def write(equation: Equation, operands: Sequence[Any], function: Function, width: int) -> Value:
    """Append the instructions of an equation that is covered, on vectors and numbers; return its result."""
    name, params, result = equation.primitive.name, equation.params, equation.outputs[0].aval.dtype
    if name == "full_like":
        return vector(params["value"], result, function, width)
    dtypes = loop_dtypes(equation)
    values = [
        convert(v, a.aval.dtype, d) if isinstance(v, Value) else vector(v, d, function, width)
        for v, a, d in zip(operands, equation.inputs, dtypes)
    ]
    if name in MOVES:
        return convert(values[0], dtypes[0], result)
    if dtypes[-1] == BOOL and name in LOGIC:
        return LOGIC[name](*values)
    return math.apply(name, *values, **params)


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
