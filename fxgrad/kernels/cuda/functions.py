"""CUDA C++ expressions for primitives: operators, CUDA's mathematical library, and a few functions of our own.

Half precision is computed in float and rounded once an operation, as NumPy and ml_dtypes do.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.graph import Equation
from ..native.lanes import BOOL, MOVES, fits, loop_dtypes
from ..space import REDUCTIONS

# dtype → the type of its entries in memory, and that of numbers in registers
MEMORY = {
    "float64": "double",
    "float32": "float",
    "float16": "unsigned short",
    "bfloat16": "unsigned short",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint64": "unsigned long long",
    "uint32": "unsigned int",
    "uint16": "unsigned short",
    "uint8": "unsigned char",
    "bool": "bool",
}
REGISTERS = {**MEMORY, "float16": "float", "bfloat16": "float"}

# Kinds of dtypes (b, i, u, f) → primitives with their expression. {type} is that of the result, {operand} that of the
# operands, {bits} the unsigned one in which integers wrap around: C++ leaves open what becomes of signed ones.
ARITHMETIC = {
    "iu": {
        "add": "({bits}){0} + ({bits}){1}",
        "subtract": "({bits}){0} - ({bits}){1}",
        "multiply": "({bits}){0} * ({bits}){1}",
        "negative": "0 - ({bits}){0}",
        "square": "({bits}){0} * ({bits}){0}",
        "floor_divide": "whole_quotient({0}, {1})",
        "remainder": "whole_remainder({0}, {1})",
        "left_shift": "shift_left({0}, {1})",
        "right_shift": "shift_right({0}, {1})",
        "fmax": "fx_max({0}, {1})",
        "fmin": "fx_min({0}, {1})",
        "bitwise_not": "~{0}",
    },
    "i": {"absolute": "{0} < 0 ? 0 - ({bits}){0} : ({bits}){0}"},
    "u": {"absolute": "{0}"},
    "iuf": {
        "positive": "{0}",
        "real": "{0}",
        "conjugate": "{0}",
        "weaken": "{0}",
        "sign": "sign_of({0})",
        "maximum": "fx_max({0}, {1})",
        "minimum": "fx_min({0}, {1})",
    },
    "biuf": {
        "where": "{0} ? {1} : {2}",
        "equal": "{0} == {1}",
        "not_equal": "{0} != {1}",
        "less": "{0} < {1}",
        "less_equal": "{0} <= {1}",
        "greater": "{0} > {1}",
        "greater_equal": "{0} >= {1}",
    },
    "biu": {"bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}"},
    "b": {
        "add": "{0} || {1}",
        "maximum": "{0} || {1}",
        "multiply": "{0} && {1}",
        "minimum": "{0} && {1}",
        "logical_and": "{0} && {1}",
        "logical_or": "{0} || {1}",
        "logical_xor": "{0} != {1}",
        "logical_not": "!{0}",
        "bitwise_not": "!{0}",
    },
    "f": {
        "add": "{0} + {1}",
        "subtract": "{0} - {1}",
        "multiply": "{0} * {1}",
        "negative": "-{0}",
        "square": "{0} * {0}",
        "absolute": "fabs({0})",
        "divide": "{0} / {1}",
        "reciprocal": "1 / {0}",
        "degrees": f"{{0}} * ({{type}}){180 / math.pi!r}",
        "radians": f"{{0}} * ({{type}}){math.pi / 180!r}",
        "remainder": "floored_remainder({0}, {1})",
        "floor_divide": "floored_quotient({0}, {1})",
        "heaviside": "{0} != {0} ? {0} : {0} > 0 ? 1 : {0} < 0 ? 0 : {1}",
        "relu": "{0} > 0 || {0} != {0} ? {0} : 0",
        "isnan": "{0} != {0}",
        "isinf": "fabs({0}) == ({operand})infinity()",
        "isfinite": "fabs({0}) < ({operand})infinity()",
        "signbit": "copysign(({operand})1, {0}) < 0",
        "logaddexp": "log_sum({0}, {1})",
        "logaddexp2": "log2_sum({0}, {1})",
        "sigmoid": "logistic({0})",
        "sigmoid_slope": "logistic({0}) * logistic(-{0})",
        "silu": "{0} * logistic({0})",
        "silu_slope": "swish_slope({0})",
        "softplus": "({0} > 0 || {0} != {0} ? {0} : 0) + log1p(exp(-fabs({0})))",
        "log_normal_cdf": "log_normal_cdf({0})",
        "arctan2": "atan2({0}, {1})",
        "power": "pow({0}, {1})",
        "erf_inv": "erfinv({0})",
        "normal_cdf": "normcdf({0})",
        "normal_quantile": "normcdfinv({0})",
        "log_gamma": "lgamma({0})",
        **{f"arc{name}": f"a{name}({{0}})" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
        **{name: f"{name}({{0}}, {{1}})" for name in ("fmod", "hypot", "copysign", "fmax", "fmin")},
        **{
            name: f"{name}({{0}})"
            for name in (
                *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "fabs"),
                *("sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "erfc", "erfcx"),
                *("floor", "ceil", "trunc", "rint"),
            )
        },
    },
}
EXPRESSIONS = {
    (name, kind): text
    for kinds, table in ARITHMETIC.items()
    for kind in kinds
    for name, text in table.items()
}
POWERS = {0: "1", 1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}", -1: "1 / {0}", 0.5: "sqrt({0})"}

# What expressions call. The compiler knows CUDA's mathematical functions without a header.
PRELUDE = """\
__device__ inline double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
template <class T> __device__ inline T sign_of(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }
template <class T> __device__ inline T fx_max(T x, T y) { return x >= y || x != x ? x : y; }
template <class T> __device__ inline T fx_min(T x, T y) { return x <= y || x != x ? x : y; }
template <class T> __device__ inline T whole_quotient(T x, T y) {
    if (y == 0) return 0;
    if (y == T(-1) && y < 0) return T(0 - (unsigned long long)x);
    return x / y - T(x % y != 0 && (x < 0) != (y < 0));
}
template <class T> __device__ inline T whole_remainder(T x, T y) {
    if (y == 0 || (y == T(-1) && y < 0)) return 0;
    T rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? T(rest + y) : rest;
}
template <class T> __device__ inline T shift_left(T x, T y) {
    return (unsigned long long)y < 8 * sizeof(T) ? T((unsigned long long)x << y) : T(0);
}
template <class T> __device__ inline T shift_right(T x, T y) {
    return T((unsigned long long)y < 8 * sizeof(T) ? x >> y : x < 0 ? -1 : 0);
}
template <class T> __device__ inline T floored_remainder(T x, T y) {
    T rest = fmod(x, y);
    if (rest == 0) return copysign(T(0), y);
    return (y < 0) != (rest < 0) ? rest + y : rest;
}
template <class T> __device__ inline T floored_quotient(T x, T y) {
    if (y == 0) return x / y;
    T rest = fmod(x, y), quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(T(0), x / y);
    T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <class T> __device__ inline T logistic(T x) {
    T e = exp(-fabs(x));
    return (x < 0 ? e : T(1)) / (e + 1);
}
template <class T> __device__ inline T swish_slope(T x) {
    x = x < -1000 ? T(-1000) : x > 80 ? T(80) : x;
    T e = exp(x), rest = 1 / (1 + e);
    return e * rest * (1 + x * rest);
}
template <class T> __device__ inline T log_sum(T x, T y) {
    if (x == y) return x + T(0.6931471805599453);
    return fx_max(x, y) + log1p(exp(-fabs(x - y)));
}
template <class T> __device__ inline T log2_sum(T x, T y) {
    if (x == y) return x + 1;
    return fx_max(x, y) + T(1.4426950408889634) * log1p(exp2(-fabs(x - y)));
}
template <class T> __device__ inline T log_normal_cdf(T x) {
    if (x < -1) return log(erfcx(x * T(-0.7071067811865476)) * T(0.5)) - x * x * T(0.5);
    return log1p(-normcdf(-x));
}
"""
# The same for half precision, as bits in memory.
HALF = """\
__device__ inline float from_float16(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ inline unsigned short to_float16(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
__device__ inline unsigned short to_float16(double x) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
__device__ inline float from_bfloat16(unsigned short bits) { return __uint_as_float((unsigned int)bits << 16); }
__device__ inline unsigned short to_bfloat16(float x) {
    unsigned int bits = __float_as_uint(x);
    return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
"""


def kind_of(dtype: np.dtype) -> str:
    """The kind of a dtype; bfloat16 counts as a float."""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def is_short(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype are computed with in float."""
    return dtype.name in ("float16", "bfloat16")


def wrapping(dtype: np.dtype) -> str:
    """Return the unsigned type in which integers of a dtype are added and multiplied modulo a power of two."""
    return "unsigned long long" if dtype.itemsize == 8 else "unsigned int"


def covers(equation: Equation) -> bool:
    """Whether an equation can be written: its function, and the dtypes of operands and result."""
    name, result = equation.primitive.computes, equation.outputs[0].aval.dtype
    if len(equation.outputs) != 1 or not name or result.name not in MEMORY:
        return False
    if name in REDUCTIONS:
        return equation.inputs[0].aval.dtype.name in MEMORY
    try:
        dtypes = loop_dtypes(equation)
        if not all(d.name in MEMORY and fits(a, d) for a, d in zip(equation.inputs, dtypes)):
            return False
    except (TypeError, OverflowError):
        return False
    if name in MOVES:
        return name == "full_like" or fits(equation.inputs[0], result)
    if name == "static_power":
        p = equation.params["p"]
        return isinstance(p, int | float) and (kind_of(dtypes[0]) == "f" or p in (0, 1, 2, 3))
    return (name, kind_of(dtypes[-1])) in EXPRESSIONS and not equation.params


def number(value: Any, dtype: np.dtype) -> str:
    """Return the text of a number of a dtype."""
    kind, type = kind_of(dtype), REGISTERS[dtype.name]
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        least = dtype.name == "int64" and int(value) == -(1 << 63)  # of which C++ has no literal
        text = "-9223372036854775807LL - 1" if least else f"{int(value)}{'ULL' if kind == 'u' else 'LL'}"
        return f"({type})({text})"
    value = float(np.asarray(value).astype(dtype))
    if math.isnan(value):
        return f"({type})(infinity() - infinity())"
    if math.isinf(value):
        return f"({type}){'-' * (value < 0)}infinity()"
    return f"({type})({value!r})"


def expression(equation: Equation, operands: list[str]) -> str:
    """Return the text of an equation that is covered, on numbers in registers, with the type of its result."""
    name, params, result = equation.primitive.computes, equation.params, equation.outputs[0].aval.dtype
    type = REGISTERS[result.name]
    if name == "full_like":
        return number(params["value"], result)
    dtypes = loop_dtypes(equation)
    operands = [
        round_to(x, a.aval.dtype, d) if is_short(d) and a.aval.dtype != d else f"({REGISTERS[d.name]}){x}"
        for x, a, d in zip(operands, equation.inputs, dtypes)
    ]
    if name in MOVES and is_short(result):
        return round_to(operands[0], dtypes[0], result)
    if name in MOVES:
        text = f"{operands[0]} != 0" if result == BOOL else operands[0]
    elif name == "static_power":
        template = POWERS.get(params["p"], f"pow({{0}}, ({type}){float(params['p'])!r})")
        text = template.format(
            operands[0] if kind_of(result) == "f" else f"({wrapping(result)}){operands[0]}"
        )
    else:
        words = {"type": type, "operand": REGISTERS[dtypes[-1].name], "bits": wrapping(dtypes[-1])}
        text = EXPRESSIONS[name, kind_of(dtypes[-1])].format(*operands, **words)
    text = f"({type})({text})"
    return f"from_{result.name}(to_{result.name}({text}))" if is_short(result) else text


def round_to(text: str, source: np.dtype, target: np.dtype) -> str:
    """Return the text of a number of a dtype as one of half precision, which is rounded once."""
    text = f"(double){text}" if source.name == "float64" else f"(float){text}"
    return f"from_{target.name}(to_{target.name}({text}))"


def load(place: str, dtype: np.dtype) -> str:
    """Return the text of an entry in memory as a number in a register."""
    return f"from_{dtype.name}({place})" if is_short(dtype) else place


def store(value: str, dtype: np.dtype) -> str:
    """Return the text that converts a number to its storage type."""
    return f"to_{dtype.name}({value})" if is_short(dtype) else value
