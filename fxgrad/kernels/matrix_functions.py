"""Functions of square matrices, in the last two axes.

The scaling and squaring of Padé's approximant is that of N. J. Higham, SIAM J. Matrix Anal. Appl. 26 (2005), Newton's
iteration for the sign that of N. J. Higham, Functions of Matrices, SIAM 2008, chapter 5.
"""

from __future__ import annotations

import numpy as np

# Of the numerator of degree 13, from the lowest power up; good to rounding in double precision up to norms of
# 5.37 of the exponential, 4.74 of its derivative.
PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
RADIUS, SLOPE_RADIUS = 5.37, 4.74
SMALL = 8  # the order up to which fewer steps on a matrix of twice the order take less time
STEPS = 60  # of Newton's iteration: a norm is halved in each until it is near 1


def halve(a: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (the number of times that matrices are to be halved to have norms in a radius, the factor of that)."""
    size = one_norm(a)
    halvings = np.ceil(np.log2(np.where(np.isfinite(size) & (size > radius), size / radius, 1))).astype(int)
    return halvings, (2.0**-halvings).astype(np.finfo(a.dtype).dtype)


def weigh(powers: tuple[np.ndarray, ...], first: int) -> np.ndarray:
    """Return the sum of A², A⁴ and A⁶ by every second coefficient from a first one on."""
    a2, a4, a6 = powers
    return PADE[first] * a2 + PADE[first + 2] * a4 + PADE[first + 4] * a6


def exponential(a: np.ndarray) -> np.ndarray:
    """eᴬ as the 2ˢ-th power of e^(A/2ˢ)."""
    if not a.size:
        return a
    halvings, scale = halve(a, RADIUS)
    a = a * scale
    a2 = a @ a
    a4 = a2 @ a2
    powers, one = (a2, a4, a4 @ a2), np.eye(a.shape[-1], dtype=a.dtype)
    odd = a @ (powers[2] @ weigh(powers, 9) + weigh(powers, 3) + PADE[1] * one)
    even = powers[2] @ weigh(powers, 8) + weigh(powers, 2) + PADE[0] * one
    y = np.linalg.solve(even - odd, even + odd)
    with np.errstate(all="ignore"):  # of matrices that need fewer squares than others of a stack
        for k in range(int(halvings.max(initial=0))):
            y = np.where(halvings > k, y @ y, y)
    return y


def exponential_slope(a: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The derivative of eᴬ along T, by the derivative of every step: A. H. Al-Mohy and N. J. Higham, SIAM J. Matrix
    Anal. Appl. 30 (2009), algorithm 6.4."""
    if not a.size:
        return a
    n = a.shape[-1]
    if n <= SMALL:  # a block of the exponential of [[A, T], [0, A]]
        doubled = np.zeros((*a.shape[:-2], 2 * n, 2 * n), np.result_type(a, t))
        doubled[..., :n, :n] = doubled[..., n:, n:] = a
        doubled[..., :n, n:] = t
        return exponential(doubled)[..., :n, n:]
    halvings, scale = halve(a, SLOPE_RADIUS)
    a, t = a * scale, t * scale
    a2, t2 = a @ a, a @ t + t @ a
    a4, t4 = a2 @ a2, a2 @ t2 + t2 @ a2
    powers, slopes = (a2, a4, a4 @ a2), (t2, t4, a4 @ t2 + t4 @ a2)
    a6, t6, one = powers[2], slopes[2], np.eye(a.shape[-1], dtype=a.dtype)
    high_odd, high_even = weigh(powers, 9), weigh(powers, 8)
    factor = a6 @ high_odd + weigh(powers, 3) + PADE[1] * one
    odd, even = a @ factor, a6 @ high_even + weigh(powers, 2) + PADE[0] * one
    odd_slope = a @ (a6 @ weigh(slopes, 9) + t6 @ high_odd + weigh(slopes, 3)) + t @ factor
    even_slope = a6 @ weigh(slopes, 8) + t6 @ high_even + weigh(slopes, 2)
    inverse = np.linalg.inv(even - odd)
    y = inverse @ (even + odd)
    slope = inverse @ (odd_slope + even_slope + (odd_slope - even_slope) @ y)
    with np.errstate(all="ignore"):
        for k in range(int(halvings.max(initial=0))):
            again = halvings > k
            slope = np.where(again, y @ slope + slope @ y, slope)
            y = np.where(again, y @ y, y)
    return slope


def sign(a: np.ndarray) -> np.ndarray:
    """Return the matrix sign by Newton's iteration, scaled by determinants; NaN where an eigenvalue is imaginary."""
    if not a.size:
        return a
    n, x = a.shape[-1], a
    one, tolerance = np.finfo(a.dtype).dtype.type(1), n * float(np.finfo(a.dtype).eps)
    with np.errstate(all="ignore"):
        for step in range(STEPS):
            log_size = np.linalg.slogdet(x)[1]
            regular = np.isfinite(log_size)[..., None, None]
            inverse = np.where(regular, np.linalg.inv(np.where(regular, x, np.eye(n, dtype=a.dtype))), np.nan)
            scale = np.exp(-log_size / n)[..., None, None].astype(one.dtype)
            if step >= STEPS // 2:
                scale = one
            scale = np.where(np.abs(np.log(scale)) < 0.1, one, scale)
            after = ((x * scale + inverse / scale) * one / 2).astype(a.dtype)
            change, size = one_norm(after - x), one_norm(after)
            x = after
            if not (change > tolerance * size).any():
                return x
        return np.where(change <= np.sqrt(tolerance) * size, x, np.nan).astype(a.dtype)


def one_norm(a: np.ndarray) -> np.ndarray:
    """Return the greatest sum of moduli in a column, with axes of length one."""
    return np.abs(a).sum(-2, keepdims=True).max(-1, keepdims=True)
