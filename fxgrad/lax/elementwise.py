"""Elementwise operations that are NumPy's under the names of jax.lax.

What begins with an underscore is not among the names that `fxgrad.lax` takes from here: these are all others.
"""

from .. import numpy as _fnp
from ..core.typing import Binary as _Binary
from ..core.typing import Unary as _Unary

add: _Binary = _fnp.add
sub: _Binary = _fnp.subtract
mul: _Binary = _fnp.multiply
neg: _Unary = _fnp.negative
pow: _Binary = _fnp.power
rem: _Binary = _fnp.fmod
reciprocal: _Unary = _fnp.reciprocal
square: _Unary = _fnp.square
sqrt: _Unary = _fnp.sqrt
cbrt: _Unary = _fnp.cbrt
exp: _Unary = _fnp.exp
exp2: _Unary = _fnp.exp2
expm1: _Unary = _fnp.expm1
log: _Unary = _fnp.log
log1p: _Unary = _fnp.log1p
sin: _Unary = _fnp.sin
cos: _Unary = _fnp.cos
tan: _Unary = _fnp.tan
asin: _Unary = _fnp.asin
acos: _Unary = _fnp.acos
atan: _Unary = _fnp.atan
atan2: _Binary = _fnp.atan2
sinh: _Unary = _fnp.sinh
cosh: _Unary = _fnp.cosh
tanh: _Unary = _fnp.tanh
asinh: _Unary = _fnp.asinh
acosh: _Unary = _fnp.acosh
atanh: _Unary = _fnp.atanh
abs: _Unary = _fnp.abs
sign: _Unary = _fnp.sign
floor: _Unary = _fnp.floor
ceil: _Unary = _fnp.ceil
nextafter: _Binary = _fnp.nextafter
max: _Binary = _fnp.maximum
min: _Binary = _fnp.minimum
real: _Unary = _fnp.real
imag: _Unary = _fnp.imag
conj: _Unary = _fnp.conj
eq: _Binary = _fnp.equal
ne: _Binary = _fnp.not_equal
lt: _Binary = _fnp.less
le: _Binary = _fnp.less_equal
gt: _Binary = _fnp.greater
ge: _Binary = _fnp.greater_equal
bitwise_and: _Binary = _fnp.bitwise_and
bitwise_or: _Binary = _fnp.bitwise_or
bitwise_xor: _Binary = _fnp.bitwise_xor
bitwise_not: _Unary = _fnp.bitwise_not
shift_left: _Binary = _fnp.left_shift
shift_right_arithmetic: _Binary = _fnp.right_shift
is_finite: _Unary = _fnp.isfinite
