"""Orthogonal polynomials and their derivatives by three-term recurrences.

p₀ = 1, p₁ = s·x + o, and pₘ₊₁ = (a·x + b)·pₘ - c·pₘ₋₁ with numbers that the family has for every m
(https://dlmf.nist.gov/18.9). The recurrence differentiated is one as well, so derivatives of all orders are exact
everywhere, also at the ends of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Recurrence = tuple[float, float, "Callable[[int], tuple[float, float, float]]"]


def chebyshev(slope: float, offset: float) -> Recurrence:
    return slope, offset, lambda m: (2, 0, 1)


def shifted_chebyshev(slope: float, offset: float) -> Recurrence:
    """The same of 2x - 1."""
    return 2 * slope, offset - slope, lambda m: (4, -2, 1)


# (s, o, m ↦ (a, b, c)) by the name of the family.
FAMILIES: dict[str, Recurrence] = {
    **{
        f"{prefix}chebyshev_polynomial_{kind}": declare(*first)
        for prefix, declare in (("", chebyshev), ("shifted_", shifted_chebyshev))
        for kind, first in {"t": (1, 0), "u": (2, 0), "v": (2, -1), "w": (2, 1)}.items()
    },
    "hermite_polynomial_h": (2, 0, lambda m: (2, 0, 2 * m)),
    "hermite_polynomial_he": (1, 0, lambda m: (1, 0, m)),
    "laguerre_polynomial_l": (-1, 1, lambda m: (-1 / (m + 1), (2 * m + 1) / (m + 1), m / (m + 1))),
    "legendre_polynomial_p": (1, 0, lambda m: ((2 * m + 1) / (m + 1), 0, m / (m + 1))),
}


MOST_STEPS = 1_000_000


def orthogonal_polynomial(xp: Any, x: Any, n: Any, *, family: str, order: int) -> Any:
    """The derivative of some order of the polynomials of degree n, a whole number in float64, at x. Degrees less than 0
    give 0, infinite ones and NaN give NaN, and so do those from which on every value has overflowed.

    Raises:
        ValueError: the recurrence would take more than MOST_STEPS steps.
    """
    slope, offset, coefficients = FAMILIES[family]
    n = xp.trunc(n)
    zero = xp.zeros_like(x)
    before = [zero] * (order + 1)  # p₋₁ and its derivatives
    current = [zero + 1, *before[1:]]
    result = xp.where(n < math.inf, zero, math.nan)
    degree = float(xp.max(xp.where(n < math.inf, n, -1.0))) if math.prod(n.shape) else -1
    m = 0
    while m <= degree:
        if m == MOST_STEPS:
            raise ValueError(
                f"{family} of degree {degree:.0f}: its recurrence has a step for each degree, and takes "
                f"{MOST_STEPS} at the most"
            )
        if m % 64 == 63 and not xp.any(xp.isfinite(current[order])):
            return xp.where((n >= m) & (n < math.inf), math.nan, result)
        result = xp.where(n == m, current[order], result)
        a, b, c = coefficients(m) if m else (slope, offset, 0)
        line = a * x + b if b else a * x  # -0.0 + 0 is 0
        after = [line * current[0] - c * before[0]]
        for k in range(1, order + 1):
            after.append(line * current[k] + k * a * current[k - 1] - c * before[k])
        before, current, m = current, after, m + 1
    return result
