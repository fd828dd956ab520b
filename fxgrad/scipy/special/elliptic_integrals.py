"""Elliptic integrals of Legendre's and of Carlson's form, and Jacobi's elliptic functions.

Derivatives of Legendre's are Carlson's (https://dlmf.nist.gov/19.25), of which nothing cancels, and derivatives of
Carlson's are `ops.integrals.symmetric_integral`.
"""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...extend import Array, ArrayLike, ops
from .declare import partial_of_formula, result_of, special, tuple_of


# -- Carlson's integrals ------------------------------------------
def integral_partial(i: int, factor: float, halves: tuple[int, ...], q: int = 0) -> Callable[..., Any]:
    """Return the rule of operand i of factor·∫ t^q·Π (t + xᵢ)^(−hᵢ/2) dt."""
    raised = (*halves[:i], halves[i] + 2, *halves[i + 1 :])
    scale = -0.5 * halves[i] * factor

    def partial(t: Any, y: Any, *xs: Any) -> Any:
        filled = (*xs, 1.0, 1.0)[:4]
        return t * (scale * ops.symmetric_integral(*filled, halves=raised, q=q))

    return partial


def beside_principal_value(
    i: int, factor: float, halves: tuple[int, ...], principal: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the rule of operand i of an integral whose last operand may be negative: a principal value then, which
    equals a formula of integrals that are none."""
    ordinary, of_formula = integral_partial(i, factor, halves), partial_of_formula(principal, i)

    def partial(t: Any, y: Any, *xs: Any) -> Any:
        *others, last = xs
        negative = ops.less(last, 0)
        usual = ordinary(1.0, y, *others, ops.where(negative, 1.0, last))
        return t * ops.where(negative, of_formula(1.0, y, *others, ops.where(negative, last, -1.0)), usual)

    return partial


RC, RD, RJ = (1, 2, 0, 0), (1, 1, 3, 0), (1, 1, 1, 2)
# The integrals where they are no principal values.
ordinary_rc = result_of(
    "elliprc", None, *[integral_partial(i, 0.5, RC) for i in range(2)], variant="ordinary"
)
ordinary_rj = result_of(
    "elliprj", None, *[integral_partial(i, 1.5, RJ) for i in range(4)], variant="ordinary"
)


def principal_rc(x: Any, y: Any) -> Any:
    """R_C for y < 0 (https://dlmf.nist.gov/19.2.E20)."""
    return ops.sqrt(x / (x - y)) * ordinary_rc(x - y, -y)


def principal_rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """R_J for p < 0 (https://dlmf.nist.gov/19.20.E14)."""
    low, high = ops.minimum(ops.minimum(x, y), z), ops.maximum(ops.maximum(x, y), z)
    middle = ops.maximum(ops.minimum(x, y), ops.minimum(ops.maximum(x, y), z))
    shift = (high - middle) * (middle - low) / (middle - p)
    positive = middle + shift
    product = low * high + -p * positive
    none = ops.equal(low, 0)
    root = ops.where(none, 0.0, ops.sqrt(ops.where(none, 1.0, low)) * ops.sqrt(middle * high / product))
    whole = (
        shift * ordinary_rj(low, middle, high, positive)
        - 3 * elliprf(low, middle, high)
        + 3 * root * ordinary_rc(product, -p * positive)
    )
    return whole / (middle - p)


@special(*[beside_principal_value(i, 0.5, RC, principal_rc) for i in range(2)], at=(0.7, 0.4))
def elliprc(x: ArrayLike, y: ArrayLike) -> Array:
    """Carlson's degenerate integral ½·∫₀^∞ dt/((t + y)·√(t + x)) (https://dlmf.nist.gov/19.16.E6), the
    principal value for y < 0."""


@special(*[integral_partial(i, 1.5, RD) for i in range(3)], at=(0.7, 0.4, 1.3))
def elliprd(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Array:
    """Carlson's integral of the second kind 3/2·∫₀^∞ dt/((t + z)·√((t + x)(t + y)(t + z)))
    (https://dlmf.nist.gov/19.16.E5)."""


@special(
    lambda t, r, x, y, z: t * (elliprd(y, z, x) / -6),
    lambda t, r, x, y, z: t * (elliprd(z, x, y) / -6),
    lambda t, r, x, y, z: t * (elliprd(x, y, z) / -6),
    at=(0.7, 0.4, 1.3),
)
def elliprf(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Array:
    """Carlson's integral of the first kind ½·∫₀^∞ dt/√((t + x)(t + y)(t + z)) (https://dlmf.nist.gov/19.16.E1)."""


def second_kind_partial(i: int) -> Callable[..., Any]:
    """Return the rule of operand i of R_G, of which the derivative is ⅛·∫ t·(t + xᵢ)⁻¹/√((t + x)(t + y)(t + z)) dt."""
    halves = tuple(3 if k == i else int(k < 3) for k in range(4))
    return lambda t, r, x, y, z: t * (0.125 * ops.symmetric_integral(x, y, z, 1.0, halves=halves, q=1))


@special(*[second_kind_partial(i) for i in range(3)], at=(0.7, 0.4, 1.3))
def elliprg(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Array:
    """Carlson's completely symmetric integral of the second kind (https://dlmf.nist.gov/19.16.E2_5)."""


@special(*[beside_principal_value(i, 1.5, RJ, principal_rj) for i in range(4)], at=(0.7, 0.4, 1.3, 0.9))
def elliprj(x: ArrayLike, y: ArrayLike, z: ArrayLike, p: ArrayLike) -> Array:
    """Carlson's integral of the third kind 3/2·∫₀^∞ dt/((t + p)·√((t + x)(t + y)(t + z)))
    (https://dlmf.nist.gov/19.16.E2), the principal value for p < 0."""


# -- complete integrals ------------------------------------------
def complete_slope(rest: Any) -> Any:
    """The derivative R_D(0, 1, 1 − m)/6 of K(m), given 1 − m."""
    return elliprd(0.0, 1.0, rest) / 6


@special(lambda t, y, m: t * complete_slope(1 - m), at=(0.4,))
def ellipk(m: ArrayLike) -> Array:
    """The complete elliptic integral of the first kind K(m) for m < 1 (https://dlmf.nist.gov/19.2.E8)."""


@special(lambda t, y, p: t * -complete_slope(p), at=(0.4,))
def ellipkm1(p: ArrayLike) -> Array:
    """K(1 − p), for p near 0.

    Source: https://dlmf.nist.gov/19.2.
    """


@special(lambda t, y, m: t * (elliprd(0.0, 1 - m, 1.0) / -6), at=(0.4,))
def ellipe(m: ArrayLike) -> Array:
    """The complete elliptic integral of the second kind E(m) for m ≤ 1 (https://dlmf.nist.gov/19.2.E8)."""


# -- incomplete integrals ------------------------------------------
def delta_squared(phi: Any, m: Any) -> Any:
    return 1 - m * ops.square(ops.sin(phi))


def turns(phi: Any) -> tuple[Any, Any]:
    """Return k and φ − kπ, the latter at most π/2."""
    k = ops.rint(phi / math.pi)
    return k, phi - k * math.pi


def of_turns(k: Any, m: Any, complete: Callable[..., Any]) -> Any:
    """2k·complete(m), which is 0 for k = 0 also where the integral is infinite."""
    none = ops.equal(k, 0)
    return ops.where(none, 0.0, 2 * k * complete(ops.where(none, 0.5, m)))


def first_kind_partial(t: Any, y: Any, phi: Any, m: Any) -> Any:
    """With F = s·R_F(c², 1 − m·s², 1) for |φ| ≤ π/2, and F(φ + kπ) = F(φ) + 2k·K."""
    k, rest = turns(phi)
    s, c = ops.sin(rest), ops.cos(rest)
    slope = s**3 / 6 * elliprd(c * c, 1.0, 1 - m * s * s)
    return t * (slope + of_turns(k, m, lambda m: complete_slope(1 - m)))


def second_kind_partial_m(t: Any, y: Any, phi: Any, m: Any) -> Any:
    """∂E/∂m = −½·∫ sin²θ/√(1 − m·sin²θ) dθ, which is −s³/6·R_D(c², 1 − m·s², 1)."""
    k, rest = turns(phi)
    s, c = ops.sin(rest), ops.cos(rest)
    slope = s**3 / -6 * elliprd(c * c, 1 - m * s * s, 1.0)
    return t * (slope + of_turns(k, m, lambda m: elliprd(0.0, 1 - m, 1.0) / -6))


@special(
    lambda t, y, phi, m: t / ops.sqrt(delta_squared(phi, m)),
    first_kind_partial,
    at=(0.7, 0.4),
)
def ellipkinc(phi: ArrayLike, m: ArrayLike) -> Array:
    """The elliptic integral of the first kind F(φ, m) = ∫ dθ/√(1 − m·sin²θ) from 0 to φ (https://dlmf.nist.gov/19.2.E4)."""


@special(
    lambda t, y, phi, m: t * ops.sqrt(delta_squared(phi, m)),
    second_kind_partial_m,
    at=(0.7, 0.4),
)
def ellipeinc(phi: ArrayLike, m: ArrayLike) -> Array:
    """The elliptic integral of the second kind E(φ, m) = ∫ √(1 − m·sin²θ) dθ from 0 to φ
    (https://dlmf.nist.gov/19.2.E5)."""


# -- Jacobi's elliptic functions ------------------------------------------
def amplitude_slope(u: Any, m: Any) -> Any:
    """∂φ/∂m of the amplitude φ, for which F(φ, m) = u."""
    return -jacobi_dn(u, m) * first_kind_partial(1.0, None, jacobi_ph(u, m), m)


def dn_slope(y: Any, u: Any, m: Any) -> Any:
    """dn = √(1 − m·sn²)."""
    sn = jacobi_sn(u, m)
    return -0.5 * (sn * sn + 2 * m * sn * jacobi_cn(u, m) * amplitude_slope(u, m)) / y


jacobi_sn = result_of(
    "ellipj",
    0,
    lambda t, y, u, m: t * (jacobi_cn(u, m) * jacobi_dn(u, m)),
    lambda t, y, u, m: t * (jacobi_cn(u, m) * amplitude_slope(u, m)),
)
jacobi_cn = result_of(
    "ellipj",
    1,
    lambda t, y, u, m: t * -(jacobi_sn(u, m) * jacobi_dn(u, m)),
    lambda t, y, u, m: t * -(jacobi_sn(u, m) * amplitude_slope(u, m)),
)
jacobi_dn = result_of(
    "ellipj",
    2,
    lambda t, y, u, m: t * (-m * jacobi_sn(u, m) * jacobi_cn(u, m)),
    lambda t, y, u, m: t * dn_slope(y, u, m),
)
jacobi_ph = result_of(
    "ellipj",
    3,
    lambda t, y, u, m: t * jacobi_dn(u, m),
    lambda t, y, u, m: t * amplitude_slope(u, m),
)


@tuple_of(jacobi_sn, jacobi_cn, jacobi_dn, jacobi_ph, at=(0.7, 0.4))
def ellipj(u: ArrayLike, m: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Jacobi's elliptic functions sn, cn, dn and the amplitude, for 0 ≤ m ≤ 1 (https://dlmf.nist.gov/22)."""


__all__ = [
    "ellipe", "ellipeinc", "ellipj", "ellipk", "ellipkinc", "ellipkm1", "elliprc", "elliprd", "elliprf", "elliprg",
    "elliprj",
]  # fmt: skip
