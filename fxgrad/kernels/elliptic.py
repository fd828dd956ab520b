"""Carlson's symmetric integrals with any half-integer powers, on real or complex arrays of any namespace.

In u = log t the integrand is analytic in a strip around the real line and falls exponentially at both ends, so that
the trapezoidal rule converges geometrically (Trefethen and Weideman, "The exponentially convergent trapezoidal rule",
2014).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import FAR_CACHE_ENTRIES

SMALL = 40.0  # e⁻⁴⁰ is nothing beside 1
STEP, COMPLEX_STEP = 0.5, 0.2


def range_of_nodes(sizes: list[np.ndarray], powers: list[float], q: int) -> tuple[float, float]:
    """Return the ends between which log t counts, for operands of these absolute values."""
    seen = [v[(v > 0) & np.isfinite(v)] for v, power in zip(sizes, powers) if power]
    known = np.concatenate([*seen, np.ones(1)]) if not any(map(len, seen)) else np.concatenate(seen)
    zeros = sum(power for v, power in zip(sizes, powers) if power and np.any(v == 0))
    below, above = q + 1 - zeros, sum(powers) - q - 1
    low = math.log(known.min()) - SMALL / (below if below > 0 else 1)
    return low, math.log(known.max()) + SMALL / above


def symmetric_integral(xp: Any, *operands: Any, halves: tuple[int, ...], q: int) -> Any:
    """∫₀^∞ t^q·Π (t + xᵢ)^(−hᵢ/2) dt for arrays with one axis and hᵢ in `halves`; ∞ if it diverges at 0, NaN for
    negative numbers."""
    powers = [0.5 * h for h in halves]
    sizes = [np.abs(np.asarray(v)) for v in operands] if xp is np else [np.array([1e-3, 1e3])] * len(powers)
    low, high = range_of_nodes(sizes, powers, q)
    step = COMPLEX_STEP if any(v.dtype.kind == "c" for v in operands) else STEP
    nodes = np.arange(low, high + step, step)
    count, total = operands[0].shape[0], []
    width = max(1, FAR_CACHE_ENTRIES // len(nodes))
    for start in range(0, max(count, 1), width):
        part = [v[start : start + width] for v in operands]
        exponent = (q + 1) * xp.asarray(nodes)[:, None]
        t = xp.exp(xp.asarray(nodes))[:, None]
        for v, power in zip(part, powers):
            if power:
                exponent = exponent - power * xp.log(t + v)
        total.append(step * xp.sum(xp.exp(exponent), axis=0))
    result = xp.concatenate(total) if len(total) > 1 else total[0]
    at_zero = sum(power * (v == 0) for v, power in zip(operands, powers) if power)
    return xp.where(at_zero >= q + 1, math.inf, result)
