"""NumPy's ufuncs: the primitives themselves, under all their names. On plain arrays they are NumPy's, at the cost of
one more Python call. They take operands only; `out=`, `where=` and `dtype=` belong to NumPy's ufuncs (`np.add` on
traced values understands the last two).

Conventions at kinks are those of `ops.elementwise`: |x|′ = 0 at 0, ties of maximum and minimum share the
derivative, steps have derivative 0.

What begins with an underscore is not among the names that `fxgrad.numpy` takes from here: these are all others.
"""

from functools import wraps as _wraps
from typing import Any as _Any

import numpy as _np

from .. import ops as _ops
from ..core.interpreter import Tracer as _Tracer
from ..core.surface import is_box as _is_box
from ..core.typing import Binary as _Binary
from ..core.typing import Unary as _Unary
from ..ops import operators as _operators
from .documentation import WITH_OPTIONS as _WITH_OPTIONS
from .documentation import described as _described
from .ufunc_texts import describe_primitive as _describe_primitive


def _show_part(function: _Any) -> _Any:
    """Return the function of the real or imaginary parts as one whose result is a view of an array under transforms, as
    NumPy's is."""
    name = function.__name__

    @_wraps(function)
    def part(val: _Any) -> _Any:
        has_views = isinstance(val, _Tracer) and hasattr(val, name)  # once methods are loaded
        return getattr(val, name) if has_views or _is_box(val) else function(val)

    del part.__wrapped__  # which has NumPy's name for a ufunc's operand
    return part


add: _Binary = _ops.add
subtract: _Binary = _ops.subtract
multiply: _Binary = _ops.multiply
negative: _Unary = _ops.negative
positive: _Unary = _ops.positive
divide: _Binary = _ops.divide
true_divide: _Binary = divide
floor_divide: _Binary = _ops.floor_divide
fmod: _Binary = _ops.fmod
reciprocal: _Unary = _ops.reciprocal
remainder: _Binary = _ops.remainder
mod: _Binary = remainder
sqrt: _Unary = _described("numpy.sqrt", "", _WITH_OPTIONS)(_operators.sqrt)
square: _Unary = _described("numpy.square", "", _WITH_OPTIONS)(_operators.square)
cbrt: _Unary = _ops.cbrt
exp: _Unary = _ops.exp
exp2: _Unary = _ops.exp2
expm1: _Unary = _ops.expm1
log: _Unary = _ops.log
log2: _Unary = _ops.log2
log10: _Unary = _ops.log10
log1p: _Unary = _ops.log1p
logaddexp: _Binary = _ops.logaddexp
logaddexp2: _Binary = _ops.logaddexp2

sin: _Unary = _ops.sin
cos: _Unary = _ops.cos
tan: _Unary = _ops.tan
arcsin: _Unary = _ops.arcsin
asin: _Unary = arcsin
arccos: _Unary = _ops.arccos
acos: _Unary = arccos
arctan: _Unary = _ops.arctan
atan: _Unary = arctan
sinh: _Unary = _ops.sinh
cosh: _Unary = _ops.cosh
tanh: _Unary = _ops.tanh
arcsinh: _Unary = _ops.arcsinh
asinh: _Unary = arcsinh
arccosh: _Unary = _ops.arccosh
acosh: _Unary = arccosh
arctanh: _Unary = _ops.arctanh
atanh: _Unary = arctanh
arctan2: _Binary = _ops.arctan2
atan2: _Binary = arctan2
degrees: _Unary = _ops.degrees
rad2deg: _Unary = degrees
radians: _Unary = _ops.radians
deg2rad: _Unary = radians

absolute: _Unary = _ops.absolute
abs: _Unary = absolute
fabs: _Unary = _ops.fabs
hypot: _Binary = _ops.hypot
copysign: _Binary = _ops.copysign
signbit: _Unary = _ops.signbit
maximum: _Binary = _ops.maximum
minimum: _Binary = _ops.minimum
fmax: _Binary = _ops.fmax
fmin: _Binary = _ops.fmin
floor: _Unary = _ops.floor
ceil: _Unary = _ops.ceil
trunc: _Unary = _ops.trunc
rint: _Unary = _ops.rint
heaviside: _Binary = _ops.heaviside
nextafter: _Binary = _ops.nextafter
spacing: _Unary = _ops.spacing
ldexp: _Binary = _ops.ldexp
real: _Unary = _show_part(_ops.real)
imag: _Unary = _show_part(_ops.imag)
conjugate: _Unary = _ops.conjugate
conj: _Unary = conjugate

equal: _Binary = _ops.equal
not_equal: _Binary = _ops.not_equal
less: _Binary = _ops.less
less_equal: _Binary = _ops.less_equal
greater: _Binary = _ops.greater
greater_equal: _Binary = _ops.greater_equal
isnan: _Unary = _ops.isnan
isinf: _Unary = _ops.isinf
isfinite: _Unary = _ops.isfinite
logical_and: _Binary = _ops.logical_and
logical_or: _Binary = _ops.logical_or
logical_xor: _Binary = _ops.logical_xor
logical_not: _Unary = _ops.logical_not
bitwise_and: _Binary = _ops.bitwise_and
bitwise_or: _Binary = _ops.bitwise_or
bitwise_xor: _Binary = _ops.bitwise_xor
bitwise_not: _Unary = _ops.bitwise_not
invert: _Unary = bitwise_not
bitwise_invert: _Unary = bitwise_not
left_shift: _Binary = _ops.left_shift
bitwise_left_shift: _Binary = left_shift
right_shift: _Binary = _ops.right_shift
bitwise_right_shift: _Binary = right_shift
gcd: _Binary = _ops.gcd
lcm: _Binary = _ops.lcm

for _name, _function in [pair for pair in vars().items() if not pair[0].startswith("_")]:
    if hasattr(_function, "primitive"):
        _function.__doc__ = _describe_primitive(_function.primitive)
        _function.__module__ = __name__.rpartition(".")[0]  # where pickle finds it, and users do
    if isinstance(_ufunc := getattr(_np, _name, None), _np.ufunc):  # which hands traced values back
        for _method in ("accumulate", "at", "outer", "reduce", "reduceat"):
            setattr(_function, _method, getattr(_ufunc, _method))
