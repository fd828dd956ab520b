"""Bessel functions of both kinds, and Airy's, of real arrays of any namespace.

All come from one integral, K_ν(ζ) = ∫₀^∞ exp(-ζ·cosh t)·cosh(νt) dt at complex ζ (https://dlmf.nist.gov/10.32.E9).
With s = √(2ζ)·sinh(t/2) its integrand is a Gaussian times a function that is analytic far around the real line, so that
the trapezoidal rule converges geometrically (Trefethen and Weideman, "The exponentially convergent trapezoidal rule",
2014). Arguments near 0, where the singularities come close, have their power series.

Functions are of float64 arrays with one axis, as in `special`.
"""

from __future__ import annotations

import math
from typing import Any

NEAR = 1.0  # up to which there are power series
STEP = 0.125
NODES = [k * STEP for k in range(1, 58)]  # up to 7, where the Gaussian is 1e-22
TERMS = 14  # of power series: |x/2|²ᵏ/k!² at most 1e-25
EULER = 0.5772156649015329


def scaled_k(xp: Any, zeta: Any, order: float) -> Any:
    """exp(ζ)·K_ν(ζ) for a real or complex ζ with |ζ| > ½ and a real part that is not negative."""
    scale = xp.sqrt(2 * zeta)
    total = 0.5 + xp.zeros_like(zeta)
    for s in NODES:
        r = s / scale
        root = xp.sqrt(1 + r * r)
        power = (r + root) ** (2 * order) if order else 1
        total = total + math.exp(-s * s) * 0.5 * (power + 1 / power) / root
    return 2 * STEP / scale * total


def digamma_of_integer(n: int) -> float:
    return sum(1 / k for k in range(1, n)) - EULER


def series_of_bessel(xp: Any, x: Any, family: str, order: int) -> Any:
    """J, Y, I or K of an integer order by power series (https://dlmf.nist.gov/10.8, 10.31); I serves K."""
    half = 0.5 * x
    q = half * half * (1 if family == "K" else -1)
    first = second = 0 * x
    for k in reversed(range(TERMS)):
        weight = 1 / (math.factorial(k) * math.factorial(order + k))
        first = first * q + weight
        second = second * q + weight * (digamma_of_integer(k + 1) + digamma_of_integer(order + k + 1))
    first, second = first * half**order, second * half**order
    if family == "J":
        return first
    finite = sum(math.factorial(order - k - 1) / math.factorial(k) * (-q) ** k for k in range(order))
    regular = 2 * xp.log(half) * first - second
    if family == "Y":
        return (regular - finite * half**-order) / math.pi
    return 0.5 * (finite * half**-order - (-1) ** order * regular)


def bessel(xp: Any, x: Any, *, family: str, order: int, scaled: bool) -> Any:
    """J, Y or K of a non-negative integer order; K times exp(x) if `scaled`. Y and K are NaN of negative numbers and
    infinite at 0."""
    size = xp.abs(x)
    near, far = xp.minimum(size, NEAR), xp.maximum(size, NEAR)
    if family == "K":
        distant = scaled_k(xp, far, order) * (1 if scaled else xp.exp(-far))
    else:  # Hankel's function is K at an imaginary argument: https://dlmf.nist.gov/10.27.E8
        hankel = 2 / math.pi * (-1j) ** (order + 1) * xp.exp(1j * far) * scaled_k(xp, -1j * far, order)
        distant = hankel.real if family == "J" else hankel.imag
    close = series_of_bessel(xp, near, family, order) * (xp.exp(near) if scaled else 1)
    y = xp.where(size <= NEAR, close, distant)
    if family == "J":
        return xp.where(x < 0, -y, y) if order % 2 else y
    return xp.where(x < 0, math.nan, xp.where(x == 0, math.inf if family == "K" else -math.inf, y))


def airy_by_k(xp: Any, z: Any, slope: bool) -> Any:
    """Ai(z) or Ai'(z) for |arg z| < ⅔π (https://dlmf.nist.gov/9.6.E2, 9.6.E3)."""
    root = xp.sqrt(z)
    zeta = 2 / 3 * z * root
    decay = xp.exp(-zeta)
    if slope:
        return -z / (math.pi * math.sqrt(3)) * decay * scaled_k(xp, zeta, 2 / 3)
    return root / (math.pi * math.sqrt(3)) * decay * scaled_k(xp, zeta, 1 / 3)


def series_of_airy(x: Any, slope: bool) -> Any:
    """Ai(x) or Ai'(x) by Maclaurin's series (https://dlmf.nist.gov/9.4)."""
    constants = 3 ** (-2 / 3) / math.gamma(2 / 3), -(3 ** (-1 / 3)) / math.gamma(1 / 3)
    coefficients = [*constants, 0.0]
    for n in range(3, 3 * TERMS):
        coefficients.append(coefficients[n - 3] / (n * (n - 1)))
    if slope:
        coefficients = [n * c for n, c in enumerate(coefficients)][1:]
    total = 0 * x
    for c in reversed(coefficients):
        total = total * x + c
    return total


def airy(xp: Any, x: Any, *, slope: bool) -> Any:
    """Airy's function Ai, or its derivative if `slope`."""
    size = xp.abs(x)
    far = xp.maximum(size, NEAR)
    turned = airy_by_k(xp, far * complex(0.5, math.sqrt(0.75)), slope)  # https://dlmf.nist.gov/9.2.E14
    turned = turned * (complex(1, -math.sqrt(3)) if slope else complex(1, math.sqrt(3)))
    distant = xp.where(x < 0, turned.real, airy_by_k(xp, far, slope))
    return xp.where(size <= NEAR, series_of_airy(xp.clip(x, -NEAR, NEAR), slope), distant)
