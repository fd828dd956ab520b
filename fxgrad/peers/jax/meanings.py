"""The meaning of a function under JAX's door: the dtypes to which its operands and its result are converted.

A `Meaning` is found by the function's name, once; `lifting` applies it at each call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as fnp
from ... import ops
from .keywords import Keywords, place_of_out

# Functions with questions about dtypes and shapes, whose answers are Python's objects.
ASKING = frozenset([
    "broadcast_shapes", "can_cast", "conv_dimension_numbers", "einsum_path", "isdtype", "iscomplexobj", "isrealobj",
    "isscalar", "ndim", "printoptions", "promote_types", "set_printoptions", "get_printoptions", "shape", "size",
])  # fmt: skip
# Functions whose second argument is one axis or several, which may be given as a list.
ALONG_AXES = frozenset([
    "all", "any", "argmax", "argmin", "average", "count_nonzero", "expand_dims", "flip", "max", "mean", "median", "min",
    "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "prod", "ptp", "squeeze", "std", "sum", "var",
])  # fmt: skip
# Functions that are no ufuncs and whose arrays have one dtype.
JOINING = frozenset([
    "allclose", "append", "array_equal", "block", "clip", "column_stack", "concat", "concatenate", "convolve",
    "correlate", "cross", "dot", "dstack", "einsum", "hstack", "inner", "interp", "isclose", "kron", "matmul",
    "multi_dot", "outer", "polyval", "select", "solve", "stack", "tensordot", "vdot", "vecdot", "vstack",
    "where",
])  # fmt: skip
# Functions whose arrays have one dtype, and Python's numbers beside them as well if it has their kind: among so many
# operands, or in lists of them.
NUMBERED = {
    "append": 2, "block": 1, "column_stack": 1, "concat": 1, "concatenate": 1, "dstack": 1, "hstack": 1, "kron": 2,
    "outer": 2, "polyval": 2, "select": 3, "stack": 1, "vstack": 1,
}  # fmt: skip
# Functions whose floating-point results have the common dtype of their arrays, where NumPy takes some dtypes to others:
# halves are computed in single precision and rounded. So do all functions of the packages below.
ROUNDED = frozenset([
    "angle", "average", "corrcoef", "cov", "deg2rad", "degrees", "geomspace", "histogram2d", "histogram_bin_edges",
    "histogramdd", "i0", "interp", "intersect1d", "logspace", "nanstd", "nanvar", "poly", "polyadd", "polydiv",
    "polyfit", "polyint", "polysub", "rad2deg", "radians", "setdiff1d", "setxor1d", "sinc", "std", "tensordot",
    "trapezoid", "union1d", "unwrap", "vander", "var",
])  # fmt: skip
ROUNDING = (
    "nn", "numpy.linalg", "lax.linalg", "scipy.linalg", "scipy.special", "peers.jax.linalg", "peers.jax.special",
    "peers.jax.systems",
)  # fmt: skip
# Functions that take integers and truth values as floating-point numbers; they round as well.
FLOATING = frozenset([
    "convolve", "correlate", "gradient", "histogram", "median", "nanmedian", "nanpercentile", "nanquantile",
    "percentile", "polyder", "polymul", "quantile", "relu6",
])  # fmt: skip
# Functions of entries whose results are no longer weak in JAX, and others whose results stay weak, as do all functions
# of the packages below.
STRONG = frozenset([
    "angle", "beta", "bitwise_count", "dawsn", "dynamic_update_slice", "erfcx", "exp1", "expi", "fresnel", "frexp",
    "gamma", "gammasgn", "gelu", "ldexp", "log10", "log2", "log_ndtr", "loggamma", "logsumexp",
    "nan_to_num", "ndtr", "ndtri", "owens_t", "poch", "segment_max", "segment_min", "segment_prod", "segment_sum",
    "sici", "softmax", "spacing", "spence", "standardize", "wofz",
])  # fmt: skip
WEAK = frozenset([
    "append", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "clamp", "clip", "column_stack", "concat",
    "concatenate", "copy", "diag", "diagonal", "diff", "dot", "dstack", "einsum", "empty_like", "expand_dims", "fabs",
    "flip", "full", "full_like", "hstack", "i0", "imag", "inner", "invert", "kron", "matmul", "matrix_transpose",
    "moveaxis", "neg", "ones_like", "outer", "pad", "partition", "ravel", "real", "repeat", "reshape", "roll", "round",
    "select", "sinc", "sort", "split", "squeeze", "stack", "swapaxes", "take", "tensordot", "tile", "transpose",
    "vdot", "vstack", "where", "zeros_like",
])  # fmt: skip
# Functions whose first argument may be a list, or is no array; others of the packages below refuse lists for arrays.
LISTING = frozenset([
    "arange", "array", "array_equal", "array_equiv", "asarray", "block", "broadcast_shapes", "column_stack",
    "concat", "concatenate", "dot_product_attention", "dstack", "einsum", "einsum_path", "empty", "eye", "fftfreq",
    "frombuffer", "from_dlpack", "fromiter", "fromstring", "full", "geomspace", "histogramdd", "hstack",
    "identity", "indices", "iterable", "ix_", "lexsort", "linspace", "log_ndtr", "logspace", "mask_indices",
    "multi_dot", "ndtr", "one_hot", "ones", "piecewise", "ravel_multi_index", "rfftfreq", "row_stack", "select",
    "spence", "stack", "tri", "unravel_index", "vstack", "zeros",
])  # fmt: skip
REFUSING = ("numpy", "nn", "ops", "scipy.special", "lax.elementwise")
OF_TWO = frozenset([
    "allclose", "append", "convolve", "correlate", "cross", "dot", "inner", "isclose", "kron", "matmul", "outer",
    "searchsorted", "tensordot", "vdot", "vecdot",
])  # fmt: skip
WEAKENING = ("nn", "scipy.special", "lax", "peers.jax.special")
# Functions whose results depend on no operands.
CREATING = frozenset(
    ["arange", "empty", "eye", "identity", "indices", "ones", "tri", "tril_indices", "triu_indices", "zeros"]
)


class Meaning(NamedTuple):
    """How a function takes its arguments and gives its result."""

    name: str
    promotes: bool  # arrays get their common dtype
    first: int  # from this operand on
    limit: int  # the place of `out`
    takes_axes: bool
    operands: int  # so many are arrays or numbers, and no lists
    is_question: bool
    numbers: int  # of so many operands Python's numbers as well
    rounds: bool  # floating-point results have the common dtype of the arrays
    floats: bool  # integers are taken as floating-point numbers
    keeps_weak: bool
    keywords: Keywords
    plain: Callable[..., Any] | None  # what computes it on NumPy's arrays
    below: float  # of fewer entries than these
    creates: bool  # arrays of no operands


def meaning_of(function: Callable[..., Any]) -> Meaning:
    """Return what a function means by its name."""
    name = getattr(function, "__name__", "")
    is_ufunc = isinstance(getattr(np, name, None), np.ufunc)
    is_entrywise = is_ufunc or isinstance(getattr(function, "primitive", None), ops.kinds.Elementwise)
    path = getattr(function, "__module__", None) or ""
    return Meaning(
        name,
        promotes=name in JOINING or name in NUMBERED or (is_ufunc and name != "ldexp"),
        numbers=NUMBERED.get(name, 0),
        first=1 if name in ("where", "einsum", "select") else 0,
        limit=place_of_out(function, name),
        takes_axes=name in ALONG_AXES,
        operands=count_operands(function, name, path, is_entrywise),
        is_question=name in ASKING,
        rounds=name in ROUNDED or name in FLOATING or is_in(path, ROUNDING),
        floats=name in FLOATING,
        keeps_weak=name in WEAK or ((is_entrywise or is_in(path, WEAKENING)) and name not in STRONG),
        keywords=Keywords(function),
        plain=plain_function(function, name),
        below=getattr(function, "below", math.inf),
        creates=name in CREATING and getattr(fnp, name, None) is function,
    )


def plain_function(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """Return the function of NumPy's that one of ours is on NumPy's arrays, if it is known."""
    kernel = getattr(getattr(function, "primitive", None), "kernel", None)
    if isinstance(kernel, np.ufunc):
        return kernel
    if getattr(function, "__module__", "") == "_operator":
        return function
    namesake: Any = getattr(np, name, None)
    if getattr(fnp, name, None) is function and (name == "where" or isinstance(namesake, np.ufunc)):
        return namesake
    return getattr(function, "reference", None)


def count_operands(function: Callable[..., Any], name: str, path: str, is_entrywise: bool) -> int:
    """Return how many of a function's first arguments are arrays or numbers, and no lists."""
    if name in LISTING or name in ASKING or not is_in(path, REFUSING):
        return 0
    code = getattr(unwrap(function), "__code__", None)
    if not is_entrywise or code is None:
        return 2 if name in OF_TWO else 1
    ufunc = getattr(np, name, None)
    is_ufunc = isinstance(ufunc, np.ufunc)
    return ufunc.nin if is_ufunc else code.co_argcount - len(unwrap(function).__defaults__ or ())


def is_in(path: str, packages: tuple[str, ...]) -> bool:
    """Whether a module of this library is in one of some packages."""
    inside = path.partition(".")[2]
    return any(inside == package or inside.startswith(f"{package}.") for package in packages)
