"""Polygamma functions of complex arrays of any namespace."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import Any

SHIFT = 16.0  # real part from which on the asymptotic series is exact
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


def asymptotic(z: Any, n: int) -> Any:
    """ψ⁽ⁿ⁾(z), n ≥ 1, for a real part of SHIFT at least (https://dlmf.nist.gov/5.15.E9)."""
    total = 0.5 * math.factorial(n) / z ** (n + 1) + math.factorial(n - 1) / z**n
    for k, bernoulli in enumerate(BERNOULLI, 1):
        total = total + bernoulli * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / z ** (2 * k + n)
    return -((-1) ** n) * total


def cotangent_slope(xp: Any, z: Any, n: int) -> Any:
    """The derivative of order n ≥ 1 of π·cot(πz): 1/sin²(πz) times a polynomial in the cotangent c, of which the next
    one follows by c′ = −π·(1 + c²)."""
    coefficients = [-(math.pi**2)]
    for _ in range(n - 1):
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        terms = [[0.0, *(2 * c for c in coefficients)], slope, [0.0, 0.0, *slope]]
        coefficients = [-math.pi * sum(c) for c in zip_longest(*terms, fillvalue=0.0)]
    upper = z.imag >= 0
    turn = z - xp.round(z.real)
    e = xp.exp(2j * math.pi * xp.where(upper, turn, -turn))  # at most 1
    cotangent = xp.where(upper, -1j, 1j) * (1 + e) / (1 - e)
    total = 0 * z
    for c in reversed(coefficients):
        total = total * cotangent + c
    return total * (-4 * e / (1 - e) ** 2)


def polygamma(xp: Any, z: Any, *, n: int) -> Any:
    """ψ⁽ⁿ⁾(z), n ≥ 1, by recurrence and reflection (https://dlmf.nist.gov/5.15.E5, 5.15.E6)."""
    left = z.real < 0.5
    at = xp.where(left, 1 - z, z)
    result, sign = 0 * z, (-1) ** (n + 1) * math.factorial(n)
    for _ in range(int(SHIFT)):
        step = at.real < SHIFT
        result = xp.where(step, result + sign / xp.where(step, at, 1.0) ** (n + 1), result)
        at = xp.where(step, at + 1, at)
    result = result + asymptotic(at, n)
    # (−1)ⁿ·ψ⁽ⁿ⁾(1 − z) − ψ⁽ⁿ⁾(z) = (π·cot πz)⁽ⁿ⁾
    return xp.where(left, (-1) ** n * result - cotangent_slope(xp, z, n), result)
