"""Hypergeometric series and their derivatives with respect to argument and parameters, on arrays of any namespace."""

from __future__ import annotations

import math
from typing import Any

MOST_TERMS = 20_000
CHECK = 16  # terms after which convergence is looked at


def times_factor(coefficients: list[Any], factor: Any, divisor: float) -> list[Any]:
    """Multiply a truncated polynomial in ε by (factor + ε)/divisor."""
    before = [0.0, *coefficients[:-1]]
    return [(c * factor + b) / divisor for c, b in zip(coefficients, before)]


def over_factor(coefficients: list[Any], factor: Any, multiplier: float) -> list[Any]:
    """Multiply a truncated polynomial in ε by multiplier/(factor + ε)."""
    result: list[Any] = []
    for c in coefficients:
        result.append((c * multiplier - (result[-1] if result else 0.0)) / factor)
    return result


def hypergeometric_series(xp: Any, *operands: Any, upper: int, orders: tuple[int, ...]) -> Any:
    """Σ Π (aᵢ)ₖ/Π (bⱼ)ₖ·zᵏ/k!, differentiated as often as `orders` says by each of the `upper` parameters aᵢ, as many
    bⱼ or one less, and z; NaN outside the circle of convergence, and where MOST_TERMS terms are too few.

    (a)ₖ/k! and k!/(b)ₖ are polynomials in what is added to a or b, of which the coefficients up to the order are kept.
    """
    *parameters, z = operands
    *by_parameter, by_z = orders
    more = 2 * upper - len(parameters)
    products = [[1.0 + 0 * z, *[0 * z] * order] for order in by_parameter]
    weight = (
        math.factorial(by_z) ** more + 0 * z
    )  # zᵏ⁻ʳ/(k − r)! for the order r by z, times k! for one a more
    scale = math.prod(map(math.factorial, by_parameter))
    outside = xp.abs(z) >= 1 if more else z != z
    total, settled = 0 * z, outside
    for k in range(MOST_TERMS):
        if k >= by_z:
            term = scale * weight
            for product in products:
                term = term * product[-1]
            total = total + term
            weight = weight * z * ((k + 1) ** more / (k + 1 - by_z))
            if k % CHECK == CHECK - 1:
                settled = (xp.abs(term) <= 1e-17 * xp.abs(total)) | ~xp.isfinite(total) | outside
                if bool(xp.all(settled)):
                    break
        products = [
            times_factor(product, parameter + k, k + 1.0)
            if i < upper
            else over_factor(product, parameter + k, k + 1.0)
            for i, (product, parameter) in enumerate(zip(products, parameters))
        ]
    return xp.where(settled & ~outside, total, math.nan)
