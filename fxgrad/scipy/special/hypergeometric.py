"""Hypergeometric functions, Lambert's W and Wright's functions."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

from typing import Any

from ...extend import Array, ArrayLike, ops
from ...numpy.composite import operand
from ..reference import scipy_function
from .declare import REFUSED, result_of, special


@special(REFUSED, lambda t, y, v, z: t * (hyp0f1(v + 1, z) / v), at=(2, 0.7))
def hyp0f1(v: ArrayLike, z: ArrayLike) -> Array:
    """The confluent limit ₀F₁(v; z) = Σ zᵏ/((v)ₖ·k!) of real v and real or complex z (https://dlmf.nist.gov/16.2)."""


def kummer_by_series(a: Any, b: Any, x: Any) -> Any:
    """₁F₁ by its series, for a negative real part of x after Kummer's transformation (https://dlmf.nist.gov/13.2.E39),
    so that terms do not cancel."""
    left = ops.less(ops.real(x), 0)
    size = ops.where(left, -x, x)
    return ops.where(left, ops.exp(ops.where(left, x, 0.0)), 1.0) * ops.kummer_series(
        ops.where(left, b - a, a), b, size
    )


@special(
    ...,
    ...,
    lambda t, y, a, b, x: t * (a / b * hyp1f1(a + 1, b + 1, x)),
    formula=kummer_by_series,
    at=(1.3, 2.4, 0.7),
)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's function ₁F₁(a; b; x) of real a, b and real or complex x (https://dlmf.nist.gov/13.2.E2); with
    derivatives in a and b for |x| < 700."""


def gauss_by_series(a: Any, b: Any, c: Any, z: Any) -> Any:
    """₂F₁ by its series, for a negative real part of z after Pfaff's transformation (https://dlmf.nist.gov/15.8.E1)."""
    left = ops.less(ops.real(z), 0)
    inner = ops.where(left, z, 0.0)
    factor = (1 - inner) ** ops.negative(a)
    return factor * ops.gauss_series(a, ops.where(left, c - b, b), c, ops.where(left, inner / (inner - 1), z))


@special(
    ...,
    ...,
    ...,
    lambda t, y, a, b, c, z: t * (a * b / c * hyp2f1(a + 1, b + 1, c + 1, z)),
    formula=gauss_by_series,
    at=(1.3, 0.6, 2.4, 0.3),
)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, z: ArrayLike) -> Array:
    """Gauss' function ₂F₁(a, b; c; z) of real a, b, c and real or complex z (https://dlmf.nist.gov/15.2.E1); with
    derivatives in a, b and c for |z| < 1 or a negative real part of z, and NaN elsewhere."""


@special(REFUSED, REFUSED, lambda t, y, a, b, x: t * (-a * hyperu(a + 1, b + 1, x)), at=(2, 3, 0.7))
def hyperu(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Tricomi's function U(a, b, x) (https://dlmf.nist.gov/13.2.E6)."""


@special(REFUSED, REFUSED, lambda t, y, a, b, x: t * wright_bessel(a, b + a, x), at=(1, 2, 0.7))
def wright_bessel(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Wright's generalized Bessel function Σ xᵏ/(k!·Γ(a·k + b)) (https://dlmf.nist.gov/10.46.E1)."""


@special(
    REFUSED,
    REFUSED,
    lambda t, y, a, b, x: t * ops.exp(log_wright_bessel(a, b + a, x) - y),
    at=(1, 2, 0.7),
)
def log_wright_bessel(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The logarithm of `wright_bessel`, without overflow.

    Source: https://dlmf.nist.gov/10.46.
    """


@special(lambda t, y, z: t * (y / (1 + y)), at=(0.7,))
def wrightomega(z: ArrayLike) -> Array:
    """Wright's ω, the solution of ω + log ω = z, for real or complex z (Corless and Jeffrey, "The Wright ω function",
    2002)."""


lambertw_branch = result_of("lambertw", None, lambda t, y, z, k, tol: t / (z + ops.exp(y)), None, None)


@scipy_function("special")
def lambertw(z: ArrayLike, k: ArrayLike = 0, tol: float = 1e-8) -> Array:
    """Lambert's W, the solution of w·eʷ = z on the branch k, a complex number (https://dlmf.nist.gov/4.13).

    Args:
        z: real or complex numbers.
        k: branches, whole numbers.
        tol: SciPy's tolerance.

    Returns:
        Complex array of the common shape.

    >>> print(f"{fx.scipy.special.lambertw(1.0).real:.12f}")
    0.567143290410
    """
    return lambertw_branch(operand(z), operand(k), tol)


__all__ = [
    "hyp0f1", "hyp1f1", "hyp2f1", "hyperu", "lambertw", "log_wright_bessel", "wright_bessel", "wrightomega",
]  # fmt: skip
