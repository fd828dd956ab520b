"""Derivatives of the Cholesky factor, in blocks, so that nearly all of their work is products of matrices.

I. Murray, "Differentiation of the Cholesky decomposition", arXiv 1602.07527 (2016), section 4.
"""

from __future__ import annotations

import numpy as np

from ..core.costs import CHOLESKY_ORDER
from .lapack import solve_triangular


def half_triangle(a: np.ndarray) -> np.ndarray:
    """Return Φ(A), the lower triangle with half of the diagonal."""
    result = np.tril(a)
    np.einsum("...ii->...i", result)[...] *= 0.5
    return result


def transpose(a: np.ndarray) -> np.ndarray:
    """Aᵀ."""
    return np.swapaxes(a, -1, -2)


def divide(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L⁻¹B."""
    return solve_triangular(factor, b, True, False)


def divide_transposed(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L⁻ᵀB."""
    return solve_triangular(transpose(factor), b, False, False)


def cholesky_slope(factor: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return LΦ(L⁻¹HL⁻ᴴ), where H is the Hermitian part of T."""
    hermitian = t * 0.5
    hermitian = hermitian + np.conj(transpose(hermitian))
    inside = divide(factor, np.conj(transpose(divide(factor, hermitian))))  # Hermitian
    return np.tril(factor) @ half_triangle(inside)


def cholesky_slope_transpose(factor: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """The transpose of `cholesky_slope`: the cotangent of a Hermitian matrix, from that of its factor."""
    if np.iscomplexobj(factor) or np.iscomplexobj(ct):
        f = divide_transposed(factor, half_triangle(transpose(np.tril(factor)) @ ct))
        f = transpose(divide_transposed(np.conj(factor), transpose(f))) * 0.5
        return f + np.conj(transpose(f))
    n = factor.shape[-1]
    if n <= CHOLESKY_ORDER:
        m = of_block(np.tril(factor), ct) * 0.25
        return m + transpose(m)
    m = np.tril(ct)
    for stop in range(n, 0, -CHOLESKY_ORDER):
        start = max(0, stop - CHOLESKY_ORDER)
        here, left, below = slice(start, stop), slice(0, start), slice(stop, n)
        block, cts = np.tril(factor[..., here, here]), m[..., here, here]
        if stop < n:
            beside = divide_transposed(block, transpose(m[..., below, here]))  # the transpose of C̄D⁻¹
            m[..., below, here] = transpose(beside)
            m[..., below, left] -= transpose(beside) @ factor[..., here, left]
            m[..., here, left] -= beside @ factor[..., below, left]
            cts = cts - beside @ factor[..., below, here]
        inner = of_block(block, cts)
        m[..., here, here] = half_triangle(inner)
        m[..., here, left] -= inner @ factor[..., here, left]
    m *= 0.5
    return m + transpose(m)


def of_block(block: np.ndarray, ct: np.ndarray) -> np.ndarray:
    """Return D⁻ᵀ(P + Pᵀ)D⁻¹, P = Φ(DᵀC), of a block of the diagonal."""
    inner = half_triangle(transpose(block) @ ct)
    inner = divide_transposed(block, inner + transpose(inner))
    return transpose(divide_transposed(block, transpose(inner)))
