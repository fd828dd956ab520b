"""Tails of the beta distribution, on arrays of any namespace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import NODE_ENTRIES


def double_exponential(step: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of the rule of Takahasi and Mori ("Double exponential formulas for numerical
    integration", 1974) for integrals from 0 to ∞, whose nodes are as dense on every scale."""
    grid = np.arange(-reach, reach + step / 2, step)
    nodes = np.exp(0.5 * math.pi * np.sinh(grid))
    return nodes, 0.5 * math.pi * step * np.cosh(grid) * nodes


# Exact to 1e-8, and to 1e-14, for the shorter tail.
COARSE, FINE = double_exponential(0.0625, 3.75), double_exponential(0.03125, 3.9)


def log_sigmoids(xp: Any, u: Any) -> tuple[Any, Any]:
    """log(1/(1 + e⁻ᵘ)), and the same of −u."""
    rest = xp.log1p(xp.exp(-xp.abs(u)))
    return xp.minimum(u, 0 * u) - rest, xp.minimum(-u, 0 * u) - rest


def beta_moment(
    xp: Any,
    a: Any,
    b: Any,
    u: Any,
    upper: Any,
    *,
    m: int,
    n: int,
    rule: tuple[np.ndarray, np.ndarray] = COARSE,
) -> Any:
    """∫ (l(v) − l(u))ᵐ·(r(v) − r(u))ⁿ·q(v)/q(u) dv over all v above or below u, by a rule of nodes and weights. Here
    l(v) is the logarithm of the sigmoid, r(v) = l(−v), and q = exp(a·l + b·r) is, up to a constant, the density of the
    log odds of a beta variable."""
    sign = 2 * upper - 1
    x = 1 / (1 + xp.exp(-u))
    scale = 1 / (xp.abs((a + b) * x - a) + xp.sqrt((a + b) * x * (1 - x)))
    left, right = log_sigmoids(xp, u)
    total = xp.zeros_like(u)
    count = max(1, NODE_ENTRIES // max(1, u.shape[0]))
    for start in range(0, len(rule[0]), count):
        nodes, weights = (xp.asarray(v[start : start + count, None]) for v in rule)
        v = u + sign * (scale * nodes)
        more_left, more_right = log_sigmoids(xp, v)
        more_left, more_right = more_left - left, more_right - right
        value = xp.exp(a * more_left + b * more_right) * more_left**m * more_right**n
        total = total + xp.sum(weights * value, axis=0)
    return total * scale
