"""The files of operations: importing them declares the operations, but for those that few programs use."""

from .._declare.spaces import SPACES, announce_families, expose
from . import (
    arithmetic,
    arrangement,
    casting,
    comparison,
    complex,
    contractions,
    copies,
    copying,
    cumulative,
    decompositions,
    exponential,
    foreach,
    former_names,
    gamma,
    gathering,
    indexing,
    joining,
    limits,
    linalg,
    matmul,
    norms,
    operators,
    pointwise,
    python_functions,
    reduction,
    scatter,
    slicing,
    sorting,
    spectrogram,
    statistics,
    viewing,
)
from .nn import _surface
from .overloads import aten
from .rare import RARE

# The methods in place that are functions as well: torch.sin_(x).
FUNCTIONS_IN_PLACE = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_
    ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp_ exp2_ expm1_ fix_ floor_
    frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log_ log10_ log1p_ log2_ logit_ nan_to_num_ neg_ negative_ rad2deg_
    reciprocal_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_
"""
for name in FUNCTIONS_IN_PLACE.split():
    expose("function", name)(SPACES["method"][name])
foreach.declare_foreach_functions()
announce_families(RARE, "fxgrad.compat.ops")
