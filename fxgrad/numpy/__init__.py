"""NumPy's namespace (2.x, which is also the Array API's) for arrays, numbers, sequences and traced values alike.

    import fxgrad.numpy as fnp

On plain arrays a function here is NumPy's, with its values, dtypes and errors; on traced values it is made of
primitives, so that it can be differentiated, mapped and staged. Nothing is done in place and there is no `out=`.
"""

from typing import Any

from numpy import e, euler_gamma, inf, nan, newaxis, pi

from . import linalg
from .at import at
from .contraction import (
    cross, dot, einsum, einsum_path, inner, kron, matmul, matvec, outer, tensordot, trace, vdot, vecdot,
    vecmat,
)  # fmt: skip
from .creation import (
    arange, array, asanyarray, asarray, ascontiguousarray, astype, copy, empty, empty_like, eye, full,
    full_like, geomspace, identity, indices, linspace, logspace, meshgrid, ones, ones_like, tri, vander,
    zeros, zeros_like,
)  # fmt: skip
from .dtypes import (
    bool_, can_cast, complex128, complex64, finfo, float16, float32, float64, iinfo, int16, int32, int64,
    int8, isdtype, isscalar, issubdtype, ndim, promote_types, result_type, shape, size, uint16, uint32,
    uint64, uint8,
)  # fmt: skip
from .elementwise import (
    abs, absolute, acos, acosh, add, allclose, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2,
    arctanh, around, array_equal, array_equiv, asin, asinh, atan, atan2, atanh, bitwise_and,
    bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt,
    ceil, clip, conj, conjugate, copysign, cos, cosh, deg2rad, degrees, divide, divmod, equal, exp, exp2,
    expm1, fabs, fix, float_power, floor, floor_divide, fmax, fmin, fmod, gcd, greater, greater_equal,
    heaviside, hypot, imag, invert, isclose, iscomplex, iscomplexobj, isfinite, isinf, isnan, isneginf,
    isposinf, isreal, isrealobj, lcm, ldexp, left_shift, less, less_equal, log, log10, log1p, log2,
    logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, mod, modf,
    multiply, nan_to_num, negative, nextafter, not_equal, positive, pow, power, rad2deg, radians, real,
    reciprocal, remainder, right_shift, rint, round, sign, signbit, sin, sinh, spacing, sqrt, square,
    subtract, tan, tanh, true_divide, trunc,
)  # fmt: skip
from .indexing import (
    argwhere, choose, compress, diag_indices, extract, flatnonzero, ix_, mask_indices, nonzero,
    ravel_multi_index, select, take, take_along_axis, tril_indices, triu_indices, unravel_index, where,
)  # fmt: skip
from .manipulation import (
    append, array_split, atleast_1d, atleast_2d, atleast_3d, block, broadcast_arrays, broadcast_shapes,
    broadcast_to, column_stack, concat, concatenate, delete, diag, diagflat, diagonal, dsplit, dstack,
    expand_dims, flip, fliplr, flipud, hsplit, hstack, matrix_transpose, moveaxis, pad, permute_dims,
    ravel, repeat, reshape, resize, roll, rollaxis, rot90, split, squeeze, stack, swapaxes, tile,
    transpose, tril, triu, unstack, vsplit, vstack,
)  # fmt: skip
from .reductions import (
    all, amax, amin, any, argmax, argmin, average, count_nonzero, cumprod, cumsum, cumulative_prod,
    cumulative_sum, diff, max, mean, min, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar, prod,
    ptp, std, sum, trapezoid, var,
)  # fmt: skip

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any",
    "append", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argwhere", "around", "array", "array_equal", "array_equiv", "array_split",
    "asanyarray", "asarray", "ascontiguousarray", "asin", "asinh", "astype", "at", "atan", "atan2",
    "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "block",
    "bool_", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "cbrt", "ceil", "choose",
    "clip", "column_stack", "complex128", "complex64", "compress", "concat", "concatenate", "conj",
    "conjugate", "copy", "copysign", "cos", "cosh", "count_nonzero", "cross", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices",
    "diagflat", "diagonal", "diff", "divide", "divmod", "dot", "dsplit", "dstack", "e", "einsum",
    "einsum_path", "empty", "empty_like", "equal", "euler_gamma", "exp", "exp2", "expand_dims", "expm1",
    "extract", "eye", "fabs", "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float16",
    "float32", "float64", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "full",
    "full_like", "gcd", "geomspace", "greater", "greater_equal", "heaviside", "hsplit", "hstack", "hypot",
    "identity", "iinfo", "imag", "indices", "inf", "inner", "int16", "int32", "int64", "int8", "invert",
    "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype", "ix_", "kron", "lcm", "ldexp",
    "left_shift", "less", "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logspace",
    "mask_indices", "matmul", "matrix_transpose", "matvec", "max", "maximum", "mean", "meshgrid", "min",
    "minimum", "mod", "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar", "ndim", "negative", "newaxis", "nextafter", "nonzero",
    "not_equal", "ones", "ones_like", "outer", "pad", "permute_dims", "pi", "positive", "pow", "power",
    "prod", "promote_types", "ptp", "rad2deg", "radians", "ravel", "ravel_multi_index", "real",
    "reciprocal", "remainder", "repeat", "reshape", "resize", "result_type", "right_shift", "rint",
    "roll", "rollaxis", "rot90", "round", "select", "shape", "sign", "signbit", "sin", "sinh", "size",
    "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes",
    "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace", "transpose", "trapezoid",
    "tri", "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "uint16", "uint32",
    "uint64", "uint8", "unravel_index", "unstack", "vander", "var", "vdot", "vecdot", "vecmat", "vsplit",
    "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip

# For doctest, which does not look behind decorators.
__test__ = {name: globals()[name].__doc__ for name in __all__ if hasattr(globals()[name], "__wrapped__")}


def __getattr__(name: str) -> Any:
    """bfloat16, for which another library is loaded."""
    if name != "bfloat16":
        raise AttributeError(f"module 'fxgrad.numpy' has no attribute {name!r}")
    import ml_dtypes

    return ml_dtypes.bfloat16
