"""The primitives: one file a family, each operation declared once with all its rules.

The package itself is the vocabulary of whoever computes with them (`ops.where`, `ops.reshape`); rules of the families
have it as `vocabulary`.
"""

from types import ModuleType

from . import operators, vocabulary  # rules are written with Python's operators
from .activation import relu, sigmoid, silu, softplus
from .bits import bitcast, reduce_precision
from .contraction import contract
from .convolution import correlate
from .determinants import adjugate, adjugate_slope, det, slogdet
from .elementwise import (
    absolute,
    add,
    angle,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bessel_i,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    checkpoint_name,
    conjugate,
    convert,
    copysign,
    cos,
    cosh,
    degrees,
    divide,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    make_complex,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    power,
    radians,
    real,
    reciprocal,
    remainder,
    right_shift,
    rint,
    round,
    sign,
    signbit,
    sin,
    sinh,
    spacing,
    sqrt,
    square,
    static_power,
    stop_gradient,
    subtract,
    tan,
    tanh,
    trunc,
    unit_vector,
    where,
    with_derivative_of,
)
from .fourier import fft, irfft, rfft
from .hermitian import cholesky, cholesky_slope, cholesky_slope_transpose, mirror_triangle
from .indexing import (
    ARRAY,
    getitem,
    move_axis,
    parse_index,
    scatter_add,
    take_along,
    update,
)
from .linalg import qr
from .random import (
    fold_in,
    multiply_high,
    random_binomial,
    random_bits,
    random_log_gamma,
    random_poisson,
    random_real,
)
from .reduction import (
    argmax,
    argmin,
    cummax,
    cummin,
    cumprod,
    cumsum,
    norm2,
    recurrence,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    restore_axes,
    shift_right,
)
from .sequence import (
    convolve,
)
from .shaping import (
    broadcast_to,
    concatenate,
    flip,
    from_sequence,
    full_like,
    pad,
    permute,
    promote_dtypes,
    reshape,
    result_dtype,
    stack,
    zeros_like,
)
from .slicing import dynamic_slice, dynamic_update_slice
from .sliding import (
    col2im,
    deposit,
    pick,
    spread_windows,
    window_max,
    window_min,
    window_places,
    window_sum,
    windows,
)
from .sorting import argsort, searchsorted, sort
from .special import (
    bessel_moment,
    erf,
    erf_inv,
    erfc,
    erfcx,
    gamma_density,
    gamma_moment,
    incomplete_gamma,
    log_gamma,
    log_normal_cdf,
    normal_cdf,
    normal_quantile,
    polygamma,
    zeta,
)
from .spectral import (
    eig,
    eigh,
    eigvalsh,
    singular_quotient,
    spectral_perturbation,
    svd,
    svdvals,
)
from .systems import (
    factorization,
    factors_of,
    inv,
    lstsq,
    singular_factors_of,
    solve,
    triangular_solve,
)

vocabulary.ops.__dict__.update(
    {k: v for k, v in globals().items() if not (k.startswith("_") or isinstance(v, ModuleType | type))}
)
