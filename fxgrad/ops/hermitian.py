"""Hermitian matrices given by one triangle, and their Cholesky factors. See `linalg` for the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from .linalg import (
    adjoint,
    conjugate_transpose,
    each_or_nan,
    hermitian_part,
    is_complex,
    lower_triangle,
    matrix_aval,
    matrix_function,
    matrix_product,
    matrix_transpose,
)
from .vocabulary import ops


def mirror_triangle_kernel(xp: Any) -> Any:
    def mirror_triangle(a: Any, *, upper: bool) -> Any:
        i = xp.arange(a.shape[-1])
        given = i[:, None] < i if upper else i[:, None] > i
        mirrored = xp.where(given, a, conjugate_transpose(xp, a))
        return xp.where(i[:, None] == i, xp.real(a), mirrored) if is_complex(a) else mirrored

    return mirror_triangle


# The Hermitian matrix of which one triangle is given, with the derivative of (A + Aᴴ)/2, so that the gradient of a
# function of Hermitian matrices is Hermitian. Off these the two are not of one function; see `checking.hermitian`.
mirror_triangle = matrix_function(
    "mirror_triangle",
    mirror_triangle_kernel,
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: hermitian_part(tangents[0]),
)


def cholesky_kernel(xp: Any) -> Any:
    def cholesky(a: Any, *, hermitian: bool = False, strict: bool = True) -> Any:
        a = a if hermitian else a * 0.5 + conjugate_transpose(xp, a) * 0.5
        if strict or xp is not np:
            return xp.linalg.cholesky(a)
        factor = each_or_nan(np.linalg.cholesky, a)
        return np.tril(factor) if np.isnan(factor[..., :1, :1]).any() else factor

    return cholesky


# Factors the Hermitian part of A. If `hermitian`, that is A itself, and one triangle is read. A matrix that is not
# definite is an error with `strict`, otherwise its factor is NaN.
cholesky = matrix_function(
    "cholesky",
    cholesky_kernel,
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: cholesky_slope(y, tangents[0]),
)


# -- its derivative, which is linear ------------------------------------------
def half_triangle(a: Any) -> Any:
    """Return Φ(A), the lower triangle with half of the diagonal."""
    triangle, main = lower_triangle(a), np.eye(aval_of(a).shape[-1], dtype=bool)
    return ops.where(main, triangle * 0.5, triangle)


def divide(factor: Any, b: Any) -> Any:
    """L⁻¹B."""
    return ops.triangular_solve(factor, b, lower=True, unit_diagonal=False)


def divide_transposed(factor: Any, b: Any) -> Any:
    """L⁻ᵀB."""
    return ops.triangular_solve(matrix_transpose(factor), b, lower=False, unit_diagonal=False)


def numpy_kernels() -> Any:
    """Return the kernels of the derivative."""
    from ..kernels import cholesky  # when it is first computed: see `systems.lapack`

    return cholesky


def slope_kernel(xp: Any) -> Any:
    return (lambda factor, t: numpy_kernels().cholesky_slope(factor, t)) if xp is np else slope


def slope(factor: Any, t: Any) -> Any:
    """LΦ(E), E = L⁻¹HL⁻ᴴ, where H is the Hermitian part of T."""
    return matrix_product(lower_triangle(factor), half_triangle(congruence(factor, hermitian_part(t))))


def congruence(factor: Any, h: Any) -> Any:
    """L⁻¹HL⁻ᴴ."""
    return divide(factor, adjoint(divide(factor, adjoint(h))))


def slope_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """L̇Φ(E) + LΦ(Ė) with Ė = L⁻¹ḢL⁻ᴴ − ZE − EZᴴ and Z = L⁻¹L̇."""
    (factor, t), (change, dt) = primals, tangents
    if change is None:
        return cholesky_slope(factor, dt)
    factor, change = lower_triangle(factor), lower_triangle(change)
    inside = congruence(factor, hermitian_part(t))
    turn = matrix_product(divide(factor, change), inside)
    moved = matrix_product(factor, half_triangle(turn + adjoint(turn)))
    first = matrix_product(change, half_triangle(inside)) - moved
    return first if dt is None else first + cholesky_slope(factor, dt)


def slope_transpose_kernel(xp: Any) -> Any:
    if xp is not np:
        return slope_transpose
    return lambda factor, ct: numpy_kernels().cholesky_slope_transpose(factor, ct)


def slope_transpose(factor: Any, ct: Any) -> Any:
    """The Hermitian part of F = L⁻ᵀΦ(LᵀC)L̄⁻¹."""
    factor = lower_triangle(factor)
    return hermitian_part(
        congruence_transpose(factor, half_triangle(matrix_product(matrix_transpose(factor), ct)))
    )


def congruence_transpose(factor: Any, g: Any) -> Any:
    """L⁻ᵀGL̄⁻¹."""
    left = matrix_transpose(divide_transposed(factor, g))
    return matrix_transpose(divide_transposed(ops.conjugate(factor) if is_complex(factor) else factor, left))


def slope_transpose_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The Hermitian part of L⁻ᵀ(Φ(L̇ᵀC + LᵀĊ) − WᵀΦ(LᵀC) − Φ(LᵀC)W̄)L̄⁻¹ with W = L̇L⁻¹."""
    (factor, ct), (change, dct) = primals, tangents
    if change is None:
        return cholesky_slope_transpose(factor, dct)
    factor, change = lower_triangle(factor), lower_triangle(change)
    conjugates = [ops.conjugate(x) if is_complex(x) else x for x in (factor, change)]
    f = congruence_transpose(factor, half_triangle(matrix_product(matrix_transpose(factor), ct)))
    moved = congruence_transpose(factor, half_triangle(matrix_product(matrix_transpose(change), ct)))
    left = divide_transposed(factor, matrix_product(matrix_transpose(change), f))
    right = divide_transposed(conjugates[0], matrix_transpose(matrix_product(f, conjugates[1])))
    first = hermitian_part(moved - left - matrix_transpose(right))
    return first if dct is None else first + cholesky_slope_transpose(factor, dct)


def slope_aval(self: Any, factor: Aval, t: Aval) -> Aval:
    return matrix_aval(self, factor)


# The derivative of the factor along the Hermitian part of T, and what it is transposed to. Of L a triangle is read.
cholesky_slope = matrix_function(
    "cholesky_slope",
    slope_kernel,
    abstract_rule=slope_aval,
    tangent_rule=slope_tangent,
    transpose_rule=lambda ct, factor, t: [None, cholesky_slope_transpose(factor, ct)],
)
cholesky_slope_transpose = matrix_function(
    "cholesky_slope_transpose",
    slope_transpose_kernel,
    abstract_rule=slope_aval,
    tangent_rule=slope_transpose_tangent,
    transpose_rule=lambda ct, factor, t: [None, cholesky_slope(factor, ct)],
)
