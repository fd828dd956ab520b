"""Determinants of stacks of matrices, which may be singular. See `linalg` for the axes, `systems` for the factors that
operations may take after a matrix.

Formulas: M. B. Giles, "An extended collection of matrix derivative results", Oxford 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import has_devices
from ..core.aval import Aval
from .linalg import (
    compute_dtype,
    conjugate_transpose,
    diagonal,
    diagonal_mask,
    is_complex,
    matrix_aval,
    matrix_function,
    matrix_product,
    matrix_transpose,
    real_dtype,
    require_square,
)
from .systems import inv, inv_kernel, lapack
from .vocabulary import ops


def determinant_aval(self: Any, a: Aval, *factors: Aval) -> Aval:
    require_square(self.name, a)
    return Aval(a.shape[:-2], compute_dtype(self.name, a))


def trace_of_product(a: Any, b: Any) -> Any:
    """Compute tr(AB)."""
    y = a * matrix_transpose(b)
    return ops.reduce_sum(y, axes=(y.ndim - 2, y.ndim - 1))


def slogdet_kernel(xp: Any) -> Any:
    def slogdet(a: Any, *factors: Any) -> Any:
        if xp is not np or not factors or not lapack().are_factors(factors[1]):
            return xp.linalg.slogdet(a)
        return lapack().log_determinant(*factors)

    return slogdet


def det_kernel(xp: Any) -> Any:
    def det(a: Any, *factors: Any) -> Any:
        if xp is not np or not factors or not lapack().are_factors(factors[1]):
            return xp.linalg.det(a)
        sign, size = lapack().log_determinant(*factors)
        return sign * np.exp(size)  # as NumPy's, which overflows only where the determinant does

    return det


# The derivative is tr(adj(A)Ȧ), for singular matrices, too: the adjugate is a polynomial.
det = matrix_function(
    "det",
    det_kernel,
    abstract_rule=determinant_aval,
    tangent_rule=lambda y, primals, tangents, params: trace_of_product(adjugate(*primals), tangents[0]),
)


def products_without_one(xp: Any, s: Any) -> Any:
    """Return the products of all singular values but one."""
    s = s[..., None, :]
    return xp.prod(xp.where(diagonal_mask(xp, s), xp.ones_like(s), s), axis=-1)


def svd_with_phase(xp: Any, a: Any) -> tuple[Any, Any, Any, Any]:
    """Return (Uᴴ, s, V, φ) with A = U diag(s) Vᴴ and adj(A) = φ·V adj(diag(s)) Uᴴ."""
    finite = xp.all(xp.isfinite(a), axis=(-2, -1), keepdims=True)
    u, s, vh = xp.linalg.svd(xp.where(finite, a, xp.zeros_like(a)))  # which may not converge otherwise
    s = xp.where(finite[..., 0], s, xp.full_like(s, xp.nan))
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    return conjugate_transpose(xp, u), s, conjugate_transpose(xp, vh), phase[..., None, None]


def adjugate_kernel(xp: Any) -> Any:
    inverted, determinant = inv_kernel(xp), det_kernel(xp)

    def norm(a: Any) -> Any:
        return xp.sqrt(xp.sum(xp.abs(a) ** 2, axis=(-2, -1)))

    def adjugate(a: Any, *factors: Any) -> Any:
        inverse = inverted(a, *factors, strict=False)
        easy = norm(a) * norm(inverse) < float(xp.finfo(a.dtype).eps) ** (-1 / 3)
        waits = has_devices(xp)  # until the host knows what a device has computed: both ways are faster
        if not waits and xp.all(easy):
            return determinant(a, *factors)[..., None, None] * inverse  # a quarter of the time
        uh, s, v, phase = svd_with_phase(xp, a)
        found = phase * (v @ (products_without_one(xp, s)[..., None] * uh))
        if waits:
            found = xp.where(easy[..., None, None], xp.linalg.det(a)[..., None, None] * inverse, found)
        return found

    return adjugate


# adj(A) = det(A)·A⁻¹ without the quotient, by singular values: right for every rank.
adjugate = matrix_function(
    "adjugate",
    adjugate_kernel,
    abstract_rule=matrix_aval,
    tangent_rule=lambda y, primals, tangents, params: adjugate_slope(primals[0], tangents[0]),
)


def adjugate_slope_kernel(xp: Any) -> Any:
    def adjugate_slope(a: Any, t: Any) -> Any:
        uh, s, v, phase = svd_with_phase(xp, a)
        n = s.shape[-1]
        if n < 2:
            return xp.zeros_like(a)
        # Products without sᵢ and sⱼ, i < j: those without the lesser, sⱼ, divided by the greater, sᵢ. Where sᵢ = 0 a
        # third factor vanishes, too, unless these are the last two.
        divisor = xp.where(s == 0, xp.ones_like(s), s)[..., :, None]
        two = xp.triu(products_without_one(xp, s)[..., None, :] / divisor, k=1)
        last = xp.reshape(xp.arange(n * n) == n * n - n - 1, (n, n))
        two = xp.where(last, xp.prod(s[..., :-2], axis=-1)[..., None, None], two)
        two = two + conjugate_transpose(xp, two)
        e, eye = phase * ((uh @ t) @ v), diagonal_mask(xp, two)
        others = two @ xp.sum(xp.where(eye, e, xp.zeros_like(e)), axis=-1)[..., None]
        return v @ (xp.where(eye, others, -two * e) @ uh)

    return adjugate_slope


def adjugate_slope_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """The tangent is the third derivative of det, which is taken by the inverse, and so is NaN where A is singular."""
    (a, t), (x, dt) = primals, tangents
    if x is None:
        return adjugate_slope(a, dt)
    b, volume = inv(a, strict=False), ops.reshape(det(a), shape=(*a.shape[:-2], 1, 1))
    bt, bx = matrix_product(b, t), matrix_product(b, x)

    def trace(m: Any) -> Any:
        return ops.reshape(ops.reduce_sum(diagonal(m), axes=(m.ndim - 2,)), shape=(*m.shape[:-2], 1, 1))

    btbx = matrix_product(bt, bx)
    first = (
        trace(bx) * (b * trace(bt) - matrix_product(bt, b))
        - trace(btbx) * b
        - trace(bt) * matrix_product(bx, b)
    )
    second = volume * (first + matrix_product(btbx + matrix_product(bx, bt), b))
    return second if dt is None else second + adjugate_slope(a, dt)


# The derivative of adj(A) along T. ⟨C, D adj(A)[T]⟩ is symmetric in Cᵀ and T: the second derivative of det.
adjugate_slope = matrix_function(
    "adjugate_slope",
    adjugate_slope_kernel,
    abstract_rule=lambda self, a, t: matrix_aval(self, a),
    tangent_rule=adjugate_slope_tangent,
    transpose_rule=lambda ct, a, t: [None, matrix_transpose(adjugate_slope(a, matrix_transpose(ct)))],
)


def slogdet_aval(self: Any, a: Aval, *factors: Aval) -> list[Aval]:
    sign = determinant_aval(self, a)
    return [sign, Aval(sign.shape, real_dtype(sign.dtype))]


def slogdet_tangent(ys: Any, primals: Any, tangents: Any, params: dict) -> list[Any]:
    """The tangent of log|det| is Re tr(A⁻¹Ȧ), NaN where A is singular. The sign turns by the imaginary part."""
    change = trace_of_product(inv(*primals, strict=False), tangents[0])
    if not is_complex(change):
        return [None, change]
    return [ys[0] * ops.make_complex(0.0, ops.imag(change)), ops.real(change)]


slogdet = matrix_function(
    "slogdet",
    slogdet_kernel,
    abstract_rule=slogdet_aval,
    tangent_rule=slogdet_tangent,
    multiple=True,
)
