"""The primitives: one file a family, each operation declared once with all its rules.

The package itself is the vocabulary in which rules of other families are written (`ops.where`, `ops.reshape`).
"""

from .elementwise import (
    absolute, add, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, bitwise_and,
    bitwise_not, bitwise_or, bitwise_xor, cbrt, ceil, conjugate, convert, copysign, cos, cosh,
    degrees, divide, equal, exp, exp2, expm1, fabs, floor, floor_divide, fmax, fmin, fmod, gcd,
    graft, greater, greater_equal, heaviside, hypot, imag, isfinite, isinf, isnan, lcm, ldexp,
    left_shift, less, less_equal, log, log10, log1p, log2, logaddexp, logaddexp2, logical_and,
    logical_not, logical_or, logical_xor, make_complex, maximum, minimum, multiply, negative,
    nextafter, not_equal, positive, power, radians, real, reciprocal, remainder, right_shift, rint,
    round, sign, signbit, sin, sinh, spacing, sqrt, square, static_power, stop_gradient, subtract,
    tan, tanh, trunc, unit, where,
)
from .shaping import (
    broadcast_to, concatenate, flip, from_sequence, full_like, pad, permute, promoted, reshape,
    result_dtype, stacked, zeros_like,
)
from .reduction import (
    argmax, argmin, cummax, cummin, cumprod, cumsum, delayed, expanded, norm2, recurrence,
    reduce_all, reduce_any, reduce_max, reduce_min, reduce_prod, reduce_sum,
)
from .indexing import (
    ARRAY, getitem, move_axis, put, split, take_along, update,
)
from .contraction import (
    contract,
)
from . import operators  # rules are written with Python's operators

__all__ = [
    "ARRAY", "absolute", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "argmax", "argmin", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast_to", "cbrt", "ceil", "concatenate", "conjugate", "contract",
    "convert", "copysign", "cos", "cosh", "cummax", "cummin", "cumprod", "cumsum", "degrees",
    "delayed", "divide", "equal", "exp", "exp2", "expanded", "expm1", "fabs", "flip", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "from_sequence", "full_like", "gcd", "getitem", "graft",
    "greater", "greater_equal", "heaviside", "hypot", "imag", "isfinite", "isinf", "isnan", "lcm",
    "ldexp", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "make_complex",
    "maximum", "minimum", "move_axis", "multiply", "negative", "nextafter", "norm2", "not_equal",
    "operators", "pad", "permute", "positive", "power", "promoted", "put", "radians", "real", "reciprocal",
    "recurrence", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod",
    "reduce_sum", "remainder", "reshape", "result_dtype", "right_shift", "rint", "round", "sign",
    "signbit", "sin", "sinh", "spacing", "split", "sqrt", "square", "stacked", "static_power",
    "stop_gradient", "subtract", "take_along", "tan", "tanh", "trunc", "unit", "update", "where",
    "zeros_like",
]
