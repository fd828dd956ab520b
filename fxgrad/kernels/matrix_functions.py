"""Functions of square matrices, in the last two axes.

Padé approximants with scaling and squaring are those of N. J. Higham, SIAM J. Matrix Anal. Appl. 26 (2005); Newton's
iteration for the sign is that of N. J. Higham, Functions of Matrices, SIAM 2008, chapter 5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import DOUBLED_ORDER

# Of the numerator of degree 13, from the lowest power up; good to rounding in double precision up to norms of
# 5.37 of the exponential, 4.74 of its derivative. Divided by the first, so that the exponential of 0 is 1 exactly.
PADE = tuple([c / 64764752532480000 for c in (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)])  # fmt: skip
RADIUS, SLOPE_RADIUS = 5.37, 4.74
STEPS = 60  # of Newton's iteration: a norm is halved in each until it is near 1


def halve(xp: Any, a: Any, radius: float) -> tuple[Any, Any]:
    """Return (the number of times that matrices are to be halved to have norms in a radius, the factor of that)."""
    size = one_norm(xp, a)
    much = xp.isfinite(size) & (size > radius)
    halvings = xp.ceil(xp.log2(xp.where(much, size / radius, xp.ones_like(size))))
    return halvings, xp.astype(2.0**-halvings, size.dtype)


def weigh(powers: tuple[Any, ...], first: int) -> Any:
    """Return the sum of A², A⁴ and A⁶ by every second coefficient from a first one on."""
    a2, a4, a6 = powers
    return PADE[first] * a2 + PADE[first + 2] * a4 + PADE[first + 4] * a6


def exponential(xp: Any, a: Any) -> Any:
    """eᴬ as the 2ˢ-th power of e^(A/2ˢ)."""
    if 0 in a.shape:
        return a
    halvings, scale = halve(xp, a, RADIUS)
    a = a * scale
    a2 = a @ a
    a4 = a2 @ a2
    powers, one = (a2, a4, a4 @ a2), xp.eye(a.shape[-1], dtype=a.dtype)
    odd = a @ (powers[2] @ weigh(powers, 9) + weigh(powers, 3) + PADE[1] * one)
    even = powers[2] @ weigh(powers, 8) + weigh(powers, 2) + PADE[0] * one
    y = xp.linalg.solve(even - odd, even + odd)
    with np.errstate(all="ignore"):  # of matrices that need fewer squares than others of a stack
        for k in range(int(xp.max(halvings))):
            y = xp.where(halvings > k, y @ y, y)
    return y


def exponential_slope(xp: Any, a: Any, t: Any) -> Any:
    """The derivative of eᴬ along T, by the derivative of every step: A. H. Al-Mohy and N. J. Higham, SIAM J. Matrix
    Anal. Appl. 30 (2009), algorithm 6.4."""
    if 0 in a.shape:
        return a
    n = a.shape[-1]
    if n <= DOUBLED_ORDER:  # a block of the exponential of [[A, T], [0, A]]
        doubled = xp.zeros((*a.shape[:-2], 2 * n, 2 * n), dtype=xp.result_type(a, t))
        doubled[..., :n, :n] = doubled[..., n:, n:] = a
        doubled[..., :n, n:] = t
        return exponential(xp, doubled)[..., :n, n:]
    halvings, scale = halve(xp, a, SLOPE_RADIUS)
    a, t = a * scale, t * scale
    a2, t2 = a @ a, a @ t + t @ a
    a4, t4 = a2 @ a2, a2 @ t2 + t2 @ a2
    powers, slopes = (a2, a4, a4 @ a2), (t2, t4, a4 @ t2 + t4 @ a2)
    a6, t6, one = powers[2], slopes[2], xp.eye(a.shape[-1], dtype=a.dtype)
    high_odd, high_even = weigh(powers, 9), weigh(powers, 8)
    factor = a6 @ high_odd + weigh(powers, 3) + PADE[1] * one
    odd, even = a @ factor, a6 @ high_even + weigh(powers, 2) + PADE[0] * one
    odd_slope = a @ (a6 @ weigh(slopes, 9) + t6 @ high_odd + weigh(slopes, 3)) + t @ factor
    even_slope = a6 @ weigh(slopes, 8) + t6 @ high_even + weigh(slopes, 2)
    inverse = xp.linalg.inv(even - odd)
    y = inverse @ (even + odd)
    slope = inverse @ (odd_slope + even_slope + (odd_slope - even_slope) @ y)
    with np.errstate(all="ignore"):
        for k in range(int(xp.max(halvings))):
            again = halvings > k
            slope = xp.where(again, y @ slope + slope @ y, slope)
            y = xp.where(again, y @ y, y)
    return slope


def sign(xp: Any, a: Any) -> Any:
    """Return the matrix sign by Newton's iteration, scaled by determinants; NaN where an eigenvalue is imaginary."""
    if 0 in a.shape:
        return a
    n, x = a.shape[-1], a
    real, tolerance = xp.abs(a[..., :0]).dtype, n * float(xp.finfo(a.dtype).eps)
    one = xp.eye(n, dtype=a.dtype)
    with np.errstate(all="ignore"):
        for step in range(STEPS):
            log_size = xp.linalg.slogdet(x)[1]
            regular = xp.isfinite(log_size)[..., None, None]
            inverse = xp.where(regular, xp.linalg.inv(xp.where(regular, x, one)), xp.nan)
            scale = xp.astype(xp.exp(-log_size / n)[..., None, None], real)
            unscaled = xp.abs(xp.log(scale)) < (0.1 if step < STEPS // 2 else xp.inf)
            scale = xp.where(unscaled | xp.isnan(scale), xp.ones_like(scale), scale)
            after = xp.astype((x * scale + inverse / scale) / 2, a.dtype)
            change, size = one_norm(xp, after - x), one_norm(xp, after)
            x = after
            if not xp.any(change > tolerance * size):
                return x
        return xp.astype(xp.where(change <= math.sqrt(tolerance) * size, x, xp.nan), a.dtype)


def one_norm(xp: Any, a: Any) -> Any:
    """Return the greatest sum of moduli in a column, with axes of length one."""
    return xp.max(xp.sum(xp.abs(a), axis=-2, keepdims=True), axis=-1, keepdims=True)


def square_root(xp: Any, a: Any) -> Any:
    """√A, a block of the sign of [[0, A], [1, 0]]: N. J. Higham, Functions of Matrices, section 6.7. NaN where a root
    of an eigenvalue is imaginary."""
    n = a.shape[-1]
    doubled = xp.zeros((*a.shape[:-2], 2 * n, 2 * n), dtype=a.dtype)
    doubled[..., :n, n:] = a
    doubled[..., n:, :n] = xp.eye(n, dtype=a.dtype)
    return sign(xp, doubled)[..., :n, n:]
