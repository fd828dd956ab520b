"""NumPy's ufuncs: the primitives themselves, under all their names. On plain arrays they are NumPy's, at the cost of
one more Python call. They take operands only; `out=`, `where=` and `dtype=` belong to NumPy's ufuncs (`np.add` on
traced values understands the last two).

Conventions at kinks are those of `ops.elementwise`: |x|′ = 0 at 0, ties of maximum and minimum share the
derivative, steps have derivative 0.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from .. import ops
from ..core.interpreter import Tracer
from ..core.surface import is_box
from ..core.typing import Binary, Unary
from ..ops import operators
from .documentation import WITH_OPTIONS, described
from .ufunc_texts import describe_primitive


def show_part(function: Any) -> Any:
    """Return the function of the real or imaginary parts as one whose result is a view of an array under transforms, as
    NumPy's is."""
    name = function.__name__

    @wraps(function)
    def part(val: Any) -> Any:
        has_views = isinstance(val, Tracer) and hasattr(val, name)  # once methods are loaded
        return getattr(val, name) if has_views or is_box(val) else function(val)

    del part.__wrapped__  # which has NumPy's name for a ufunc's operand
    return part


add: Binary = ops.add
subtract: Binary = ops.subtract
multiply: Binary = ops.multiply
negative: Unary = ops.negative
positive: Unary = ops.positive
divide: Binary = ops.divide
true_divide: Binary = divide
floor_divide: Binary = ops.floor_divide
fmod: Binary = ops.fmod
reciprocal: Unary = ops.reciprocal
remainder: Binary = ops.remainder
mod: Binary = remainder
sqrt: Unary = described("numpy.sqrt", "", WITH_OPTIONS)(operators.sqrt)
square: Unary = described("numpy.square", "", WITH_OPTIONS)(operators.square)
cbrt: Unary = ops.cbrt
exp: Unary = ops.exp
exp2: Unary = ops.exp2
expm1: Unary = ops.expm1
log: Unary = ops.log
log2: Unary = ops.log2
log10: Unary = ops.log10
log1p: Unary = ops.log1p
logaddexp: Binary = ops.logaddexp
logaddexp2: Binary = ops.logaddexp2

sin: Unary = ops.sin
cos: Unary = ops.cos
tan: Unary = ops.tan
arcsin: Unary = ops.arcsin
asin: Unary = arcsin
arccos: Unary = ops.arccos
acos: Unary = arccos
arctan: Unary = ops.arctan
atan: Unary = arctan
sinh: Unary = ops.sinh
cosh: Unary = ops.cosh
tanh: Unary = ops.tanh
arcsinh: Unary = ops.arcsinh
asinh: Unary = arcsinh
arccosh: Unary = ops.arccosh
acosh: Unary = arccosh
arctanh: Unary = ops.arctanh
atanh: Unary = arctanh
arctan2: Binary = ops.arctan2
atan2: Binary = arctan2
degrees: Unary = ops.degrees
rad2deg: Unary = degrees
radians: Unary = ops.radians
deg2rad: Unary = radians

absolute: Unary = ops.absolute
abs: Unary = absolute
fabs: Unary = ops.fabs
hypot: Binary = ops.hypot
copysign: Binary = ops.copysign
signbit: Unary = ops.signbit
maximum: Binary = ops.maximum
minimum: Binary = ops.minimum
fmax: Binary = ops.fmax
fmin: Binary = ops.fmin
floor: Unary = ops.floor
ceil: Unary = ops.ceil
trunc: Unary = ops.trunc
rint: Unary = ops.rint
heaviside: Binary = ops.heaviside
nextafter: Binary = ops.nextafter
spacing: Unary = ops.spacing
ldexp: Binary = ops.ldexp
real: Unary = show_part(ops.real)
imag: Unary = show_part(ops.imag)
conjugate: Unary = ops.conjugate
conj: Unary = conjugate

equal: Binary = ops.equal
not_equal: Binary = ops.not_equal
less: Binary = ops.less
less_equal: Binary = ops.less_equal
greater: Binary = ops.greater
greater_equal: Binary = ops.greater_equal
isnan: Unary = ops.isnan
isinf: Unary = ops.isinf
isfinite: Unary = ops.isfinite
logical_and: Binary = ops.logical_and
logical_or: Binary = ops.logical_or
logical_xor: Binary = ops.logical_xor
logical_not: Unary = ops.logical_not
bitwise_and: Binary = ops.bitwise_and
bitwise_or: Binary = ops.bitwise_or
bitwise_xor: Binary = ops.bitwise_xor
bitwise_not: Unary = ops.bitwise_not
invert: Unary = bitwise_not
bitwise_invert: Unary = bitwise_not
left_shift: Binary = ops.left_shift
bitwise_left_shift: Binary = left_shift
right_shift: Binary = ops.right_shift
bitwise_right_shift: Binary = right_shift
gcd: Binary = ops.gcd
lcm: Binary = ops.lcm

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "imag",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]  # fmt: skip

for _name in __all__:
    _function = globals()[_name]
    if hasattr(_function, "primitive"):
        _function.__doc__ = describe_primitive(_function.primitive)
        _function.__module__ = __name__.rpartition(".")[0]  # where pickle finds it, and users do
    if isinstance(_ufunc := getattr(np, _name, None), np.ufunc):  # which hands traced values back
        for _method in ("accumulate", "at", "outer", "reduce", "reduceat"):
            setattr(_function, _method, getattr(_ufunc, _method))
