"""Functions of square matrices: see `linalg` for the axes.

For any function f that has enough derivatives on the spectrum of A, the derivative of f at A along T is the upper right
block of f([[A, T], [0, A]]): R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996); N. J. Higham, Functions of Matrices,
SIAM 2008, theorem 3.6. The second derivative is the same block of the derivative of the doubled matrix, and so on.

Results for a real matrix are real, because a dtype cannot depend on values: they are NaN where the function is complex.
Values of logarithms, square roots and powers are SciPy's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.library import load_library
from .kinds import on_numpy
from .linalg import compute_dtype, matrix_aval, matrix_function, matrix_transpose, require_square, sum_terms
from .matrix_equations import sylvester
from .vocabulary import ops


# -- blocks ------------------------------------------
def block_triangle(a: Any, t: Any, zero: Any) -> Any:
    """The block matrix [[A, T], [0, A]]."""
    rows, columns = aval_of(a).ndim - 2, aval_of(a).ndim - 1
    upper, lower = ops.concatenate(a, t, axis=columns), ops.concatenate(zero, a, axis=columns)
    return ops.concatenate(upper, lower, axis=rows)


def top_right_block(x: Any) -> Any:
    """The block at the top right."""
    aval = aval_of(x)
    n = aval.shape[-1] // 2
    return ops.getitem(x, index=(*(slice(None),) * (aval.ndim - 2), slice(None, n), slice(n, None)))


# -- declaring ------------------------------------------
def function_of_matrices(
    name: str,
    make_kernel: Callable[[Any], Any],
    slope_kernel: Callable[..., Any] | None = None,
    is_singular: Callable[..., bool] = lambda **params: False,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Declare a function of square matrices and its derivative along T, linear in T. make_kernel(xp) gives
    kernel(a, **params) → values, or None; slope_kernel(xp, a, t) may compute the derivative in fewer steps than the
    doubled matrix; is_singular(**params) says whether there is none where a matrix is singular."""

    def make_slope(xp: Any) -> Any:
        kernel = make_kernel(xp)
        if kernel is None:
            return None
        if slope_kernel is not None:
            return partial(slope_kernel, xp)

        def slope_by_blocks(a: Any, t: Any, **params: Any) -> Any:
            slope = top_right_block(kernel(block_triangle(a, t, xp.zeros_like(a)), **params))
            if is_singular(**params) and 0 not in a.shape:
                singular = (xp.linalg.slogdet(a)[0] == 0)[..., None, None]
                slope = xp.astype(xp.where(singular, xp.nan, slope), slope.dtype)
            return slope

        return slope_by_blocks

    def slope_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
        """The tangent rule: along A it is the slope of the doubled matrix along diag(Ȧ, Ȧ)."""
        (a, t), (da, dt) = primals, tangents
        zero = ops.zeros_like(a)
        second = (
            None
            if da is None
            else top_right_block(slope(block_triangle(a, t, zero), block_triangle(da, zero, zero), **params))
        )
        return sum_terms(None if dt is None else slope(a, dt, **params), second)

    def slope_aval(self: Any, a: Aval, t: Aval, **params: Any) -> Aval:
        require_square(name, a)
        return Aval(a.shape, compute_dtype(name, a, t))

    slope = matrix_function(
        f"{name}_slope",
        make_slope,
        abstract_rule=slope_aval,
        tangent_rule=slope_tangent,
        transpose_rule=lambda ct, a, t, **params: [None, slope(matrix_transpose(a), ct, **params)],
    )
    function = matrix_function(
        name,
        make_kernel,
        abstract_rule=matrix_aval,
        tangent_rule=lambda y, primals, tangents, params: slope(primals[0], tangents[0], **params),
    )
    return function, slope


# -- kernels ------------------------------------------
def array_kernels() -> Any:
    """Return the kernels of functions of matrices."""
    from ..kernels import matrix_functions  # when one is first computed: see `systems.lapack`

    return matrix_functions


def scipy_kernel(name: str) -> Callable[..., np.ndarray]:
    """Return a kernel that calls a function of scipy.linalg for every matrix."""

    def apply(a: np.ndarray, **params: Any) -> np.ndarray:
        function = getattr(load_library("scipy.linalg", "scipy", f"the function {name} of matrices"), name)
        result = np.empty_like(a)
        for index in np.ndindex(a.shape[:-2]) if a.size else ():
            found: Any = np.nan
            if np.isfinite(a[index]).all():
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")  # what is not accurate is as SciPy's, or NaN
                    found = function(a[index], **params)
                    found = found if np.iscomplexobj(a) else real_or_nan(found)
            result[index] = found
        return result

    return apply


def real_or_nan(x: Any) -> Any:
    """Return the real parts of a matrix whose imaginary parts are rounding errors, of another NaN."""
    if not np.iscomplexobj(x):
        return x
    is_real = np.abs(x.imag).max() <= np.abs(x).max() * float(np.finfo(x.dtype).eps) ** (2 / 3)
    return x.real if is_real else np.nan


def power_kernel(a: np.ndarray, *, exponent: float) -> np.ndarray:
    return scipy_kernel("fractional_matrix_power")(a, t=exponent)


# -- the functions ------------------------------------------
matrix_exp, matrix_exp_slope = function_of_matrices(
    "matrix_exp",
    lambda xp: lambda a: array_kernels().exponential(xp, a),
    lambda xp, a, t: array_kernels().exponential_slope(xp, a, t),
)
matrix_sign, matrix_sign_slope = function_of_matrices(
    "matrix_sign", lambda xp: lambda a: array_kernels().sign(xp, a)
)
matrix_log, matrix_log_slope = function_of_matrices(
    "matrix_log", on_numpy(scipy_kernel("logm")), is_singular=lambda: True
)
fractional_power, fractional_power_slope = function_of_matrices(
    "fractional_power", on_numpy(power_kernel), is_singular=lambda *, exponent: exponent < 1
)


# The derivative X of the root along T solves √A·X + X·√A = T: N. J. Higham, Functions of Matrices, section 6.1.
matrix_sqrt = matrix_function(
    "matrix_sqrt",
    lambda xp: scipy_kernel("sqrtm") if xp is np else lambda a: array_kernels().square_root(xp, a),
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: sylvester(y, y, tangents[0]),
)
