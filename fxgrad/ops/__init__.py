"""The primitives: one file for each family, each operation declared once with all its rules.

Code outside uses the package to call primitives (`ops.where`, `ops.reshape`); the rules of the families call them
through `vocabulary`. Families that few programs use are loaded when one of their names is first used.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core.face import missing_attribute
from ..kernels.memory import copy, store, store_joined
from ..kernels.selection import find_nonzero, replace_rows, select_rows
from . import (
    activation,
    bits,
    contraction,
    elementwise,
    indexing,
    operators,  # rules are written with Python's operators
    reduction,
    shaping,
    slicing,
    vocabulary,
)
from .contraction import LETTERS, contract_aval
from .indexing import ARRAY, move_axis, parse_index, take_along
from .reduction import restore_axes, shift_right
from .shaping import broadcast_transpose, from_sequence, promote_dtypes, result_dtype, stack, zeros_like
from .slicing import zeros_of_shape

if TYPE_CHECKING:
    from .activation import *
    from .banded import *
    from .bits import *
    from .contraction import *
    from .convolution import *
    from .determinants import *
    from .elementwise import *
    from .elimination import *
    from .filters import *
    from .fourier import *
    from .hermitian import *
    from .indexing import *
    from .integrals import *
    from .library import *
    from .linalg import *
    from .matrix_equations import *
    from .matrix_functions import *
    from .projection import *
    from .random import *
    from .reduction import *
    from .reflections import *
    from .sequence import *
    from .shaping import *
    from .slicing import *
    from .sliding import *
    from .sorting import *
    from .sparse import *
    from .special import *
    from .spectral import *
    from .systems import *
    from .transfer import *
    from .trigonometric import *
    from .unitary import *

# The families that are loaded with the package: their primitives are its names.
for _family in (activation, bits, contraction, elementwise, indexing, reduction, shaping, slicing):
    globals().update({name: value for name, value in vars(_family).items() if hasattr(value, "primitive")})

# Families that are not loaded with the package, and their names.
_RARE = {
    "banded": "banded_product banded_solve transpose_band whole_matrix",
    "convolution": "correlate",
    "determinants": "adjugate adjugate_slope det slogdet",
    "elimination": "INFO column_order indefinite_minor ldl lu lu_triangles permuted_identity row_order "
    "take_rows zero_pivot",
    "filters": "all_pole",
    "fourier": "fft irfft rfft",
    "hermitian": "cholesky cholesky_slope cholesky_slope_transpose mirror_triangle",
    "integrals": "beta_moment complex_polygamma gauss_series kummer_series symmetric_integral",
    "library": "LIBRARY_ENTRIES library_function library_kernel special_functions",
    "linalg": "adjoint column_matrix diagonal hermitian_part identity_like matrix_transpose qr real_dtype",
    "matrix_equations": "riccati solve_stein sylvester",
    "matrix_functions": "fractional_power fractional_power_slope matrix_exp matrix_exp_slope matrix_log "
    "matrix_log_slope matrix_sign matrix_sign_slope matrix_sqrt",
    "random": "fold_in multiply_high random_binomial random_bits random_log_gamma random_poisson random_real",
    "projection": "project",
    "reflections": "apply_reflections multiply_reflections reflected_form",
    "scatter": "multiply_others scatter_max scatter_min scatter_mul",
    "sequence": "convolve",
    "sliding": "col2im deposit pick spread_windows window_max window_min window_places window_sum windows",
    "sorting": "argsort searchsorted sort",
    "sparse": "operator_product sparse_matmul sparse_solve",
    "special": "bessel_moment beta_moment_partials erf erf_inv erfc erfcx gamma_density gamma_moment gamma_shift "
    "incomplete_gamma incomplete_partial_a log_gamma log_normal_cdf middle_difference middle_sum normal_cdf "
    "normal_quantile polygamma zeta",
    "spectral": "eig eigh eigvalsh singular_quotient spectral_perturbation svd svdvals",
    "systems": "factorization factors_of inv lstsq singular_factors_of solve triangular_solve",
    "unitary": "hessenberg polar_unitary schur space_basis",
    "transfer": "location put transfer",
    "trigonometric": "trigonometric_transform",
}
_FAMILY = {name: family for family, names in _RARE.items() for name in names.split()}
# Functions of `jax.ops`, which users look for here. They are composed above this room, and listed as its only public
# names.
_SEGMENTS = ("segment_max", "segment_min", "segment_prod", "segment_sum")


def __dir__() -> list[str]:
    return [*_SEGMENTS, *(name for name in globals() if name.startswith("__"))]


def __getattr__(name: str) -> Any:
    """Load a family that is not loaded yet, for one of its names."""
    if name in _SEGMENTS:
        return getattr(import_module("fxgrad.lax.segments"), name)
    if name not in _FAMILY:
        raise missing_attribute(__name__, name)
    value = globals()[name] = getattr(import_module(f".{_FAMILY[name]}", __name__), name)
    setattr(vocabulary, name, value)
    return value


def load_families() -> None:
    """Declare every primitive of this room, as who lists them needs it."""
    for family in _RARE:
        import_module(f".{family}", __name__)


vocabulary.ops.__dict__.update(
    {k: v for k, v in globals().items() if not (k.startswith("_") or isinstance(v, ModuleType | type))}
)
