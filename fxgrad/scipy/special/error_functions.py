"""The error function and its relatives, and the normal distribution."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...extend import Array, ArrayLike, ops
from .declare import is_complex, result_of, special, tuple_of

normal_law = partial(
    special,
    source="https://dlmf.nist.gov/7.2, for the error function in terms of which it is written",
)
SLOPE = 2 / math.sqrt(math.pi)
DENSITY = 1 / math.sqrt(2 * math.pi)
FAR = 10.0  # |x| from which on the asymptotic series is exact
# 1/2·(2k + 1)!!/2ᵏ: what 1 − 2x·F(x) is, but for the sign, in powers of 1/x² (https://dlmf.nist.gov/7.12).
TAIL = [0.5 * math.prod(range(1, 2 * k + 2, 2)) / 2.0**k for k in range(16)]


def tail_series(x: Any, sign: float) -> Any:
    """Σ (2k + 1)!!/2ᵏ⁺¹·(sign/x²)ᵏ / x², by Horner's rule."""
    q = sign / (x * x)
    total = TAIL[-1]
    for c in reversed(TAIL[:-1]):
        total = total * q + c
    return total / (x * x)


def is_far(x: Any) -> Any:
    return ops.greater(ops.absolute(x), FAR)


def erfcx_partial(t: Any, y: Any, x: Any) -> Any:
    """2x·y − 2/√π, of which nearly nothing is left for large x: there by its asymptotic series."""
    far = ops.greater(ops.real(x), FAR)
    series = -SLOPE * tail_series(ops.where(far, x, FAR), -1.0)
    return t * ops.where(far, series, 2 * x * y - SLOPE)


def dawsn_partial(t: Any, y: Any, x: Any) -> Any:
    """1 − 2x·y; for large real x by its asymptotic series."""
    if is_complex(x):
        return t * (1 - 2 * x * y)
    far = is_far(x)
    return t * ops.where(far, -tail_series(ops.where(far, x, FAR), 1.0), 1 - 2 * x * y)


def wofz_partial(t: Any, y: Any, z: Any) -> Any:
    """2i/√π − 2z·y; for large z in the upper half-plane by its asymptotic series."""
    far = ops.logical_and(is_far(z), ops.greater_equal(ops.imag(z), 0))
    series = -1j * SLOPE * tail_series(ops.where(far, z, FAR + 0j), 1.0)
    return t * ops.where(far, series, 1j * SLOPE - 2 * z * y)


# -- error functions ------------------------------------------
@special(native="erf", at=(0.7,))
def erf(x: ArrayLike) -> Array:
    """The error function 2/√π·∫₀ˣ e^(−t²) dt of real or complex x (https://dlmf.nist.gov/7.2.E1)."""


@special(native="erfc", at=(0.7,))
def erfc(x: ArrayLike) -> Array:
    """1 − erf(x) without the subtraction, of real or complex x (https://dlmf.nist.gov/7.2.E2)."""


@special(erfcx_partial, native="erfcx", at=(0.7,))
def erfcx(x: ArrayLike) -> Array:
    """exp(x²)·erfc(x) of real or complex x.

    Source: https://dlmf.nist.gov/7.2.
    """


@special(lambda t, y, z: t * (SLOPE * ops.exp(z * z)), at=(0.7,))
def erfi(z: ArrayLike) -> Array:
    """The imaginary error function −i·erf(i·z) of real or complex z.

    Source: https://dlmf.nist.gov/7.2.
    """


@special(native="erf_inv", at=(0.3,))
def erfinv(y: ArrayLike) -> Array:
    """The inverse of `erf` for −1 ≤ y ≤ 1: ±∞ at the ends, NaN beyond.

    Source: https://dlmf.nist.gov/7.17.
    """


@special(lambda t, y, x: t * (ops.exp(y * y) / -SLOPE), at=(0.3,))
def erfcinv(y: ArrayLike) -> Array:
    """The inverse of `erfc` for 0 ≤ y ≤ 2: ±∞ at the ends, NaN beyond.

    Source: https://dlmf.nist.gov/7.17.
    """


@special(dawsn_partial, at=(0.7,))
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral e^(−x²)·∫₀ˣ e^(t²) dt of real or complex x (https://dlmf.nist.gov/7.2.E5)."""


@special(wofz_partial, at=(0.7 + 0.4j,))
def wofz(z: ArrayLike) -> Array:
    """Faddeeva's function e^(−z²)·erfc(−i·z), complex (https://dlmf.nist.gov/7.2.E3)."""


def voigt_by_wofz(x: Any, sigma: Any, gamma: Any) -> Any:
    """Voigt's profile, which is Lorentz' where sigma is nothing beside the size of the point."""
    far = ops.logical_or(ops.isinf(x), ops.isinf(gamma))
    x, gamma = ops.where(far, 1.0, x), ops.where(far, 1.0, gamma)
    narrow = ops.less(ops.absolute(sigma), 1e-9 * (ops.absolute(x) + gamma))
    size = ops.hypot(x, ops.where(narrow, gamma, 1.0))
    scale = math.sqrt(2) * ops.where(narrow, 1.0, sigma)
    point = ops.where(narrow, 1.0, x) + 1j * ops.where(narrow, 1.0, gamma)
    profile = ops.real(wofz(point / scale)) / (scale * math.sqrt(math.pi))
    return ops.where(far, 0.0, ops.where(narrow, gamma / size / size / math.pi, profile))


@special(formula=voigt_by_wofz, at=(0.4, 0.8, 0.5))
def voigt_profile(x: ArrayLike, sigma: ArrayLike, gamma: ArrayLike) -> Array:
    """Voigt's profile (https://dlmf.nist.gov/7.19), the convolution of the normal density of deviation `sigma` > 0 with
    the Cauchy density of half width `gamma`."""


# -- Fresnel's integrals ------------------------------------------
fresnel_s = result_of("fresnel", 0, lambda t, y, z: t * ops.sin(0.5 * math.pi * z * z))
fresnel_c = result_of("fresnel", 1, lambda t, y, z: t * ops.cos(0.5 * math.pi * z * z))


@tuple_of(fresnel_s, fresnel_c, at=(0.7,))
def fresnel(z: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals S and C, ∫₀ᶻ sin(πt²/2) dt and the same of the cosine, of real or complex z
    (https://dlmf.nist.gov/7.2.iii)."""


QUARTER = complex(math.sqrt(0.5), -math.sqrt(0.5)) / math.sqrt(math.pi)  # e^(−iπ/4)/√π
modfresnelp_f = result_of("modfresnelp", 0, lambda t, y, x: -t * ops.exp(1j * x * x))
modfresnelp_k = result_of("modfresnelp", 1, lambda t, y, x: -t * (QUARTER + 2j * x * y))
modfresnelm_f = result_of("modfresnelm", 0, lambda t, y, x: -t * ops.exp(-1j * x * x))
modfresnelm_k = result_of("modfresnelm", 1, lambda t, y, x: -t * (QUARTER.conjugate() - 2j * x * y))


@tuple_of(modfresnelp_f, modfresnelp_k, at=(0.7,))
def modfresnelp(x: ArrayLike) -> tuple[Array, Array]:
    """The modified Fresnel integrals F(x) = ∫ₓ^∞ e^(it²) dt and e^(−i(x² + π/4))·F(x)/√π of real x.

    Source: https://dlmf.nist.gov/7.2.E6, in another scale.
    """


@tuple_of(modfresnelm_f, modfresnelm_k, at=(0.7,))
def modfresnelm(x: ArrayLike) -> tuple[Array, Array]:
    """The modified Fresnel integrals F(x) = ∫ₓ^∞ e^(−it²) dt and e^(i(x² + π/4))·F(x)/√π of real x.

    Source: https://dlmf.nist.gov/7.2.E6, in another scale.
    """


# -- the normal distribution ------------------------------------------
@normal_law(native="normal_cdf", at=(0.7,))
def ndtr(x: ArrayLike) -> Array:
    """Φ(x), the standard normal distribution function, of real or complex x."""


@normal_law(
    lambda t, y, x: t * (math.sqrt(2 / math.pi) / erfcx(-math.sqrt(0.5) * x)),
    native="log_normal_cdf",
    at=(0.7,),
)
def log_ndtr(x: ArrayLike) -> Array:
    """The logarithm of `ndtr`, also where `ndtr` underflows."""


@normal_law(native="normal_quantile", at=(0.3,))
def ndtri(y: ArrayLike) -> Array:
    """The inverse of `ndtr` for 0 ≤ y ≤ 1: ±∞ at the ends, NaN beyond."""


@normal_law(lambda t, y, p: t * (math.sqrt(math.pi / 2) * erfcx(-math.sqrt(0.5) * y)), at=(-0.7,))
def ndtri_exp(y: ArrayLike) -> Array:
    """The inverse of `log_ndtr`, `ndtri(exp(y))` for y ≤ 0 without the exponential."""


@normal_law(formula=lambda p, std, x: x - std * ndtri(p), at=(0.3, 1.2, 0.8))
def nrdtrimn(p: ArrayLike, std: ArrayLike, x: ArrayLike) -> Array:
    """The mean of the normal distribution of deviation `std` whose distribution function at x is p."""


@normal_law(formula=lambda mn, p, x: (x - mn) / ndtri(p), at=(0.3, 0.8, 1.5))
def nrdtrisd(mn: ArrayLike, p: ArrayLike, x: ArrayLike) -> Array:
    """The deviation of the normal distribution of mean `mn` whose distribution function at x is p."""


def owens_partial_h(t: Any, y: Any, h: Any, a: Any) -> Any:
    return t * (-0.5 * DENSITY * ops.exp(-0.5 * h * h) * erf(math.sqrt(0.5) * a * h))


def owens_partial_a(t: Any, y: Any, h: Any, a: Any) -> Any:
    r = 1 + a * a
    return t * (ops.exp(-0.5 * h * h * r) / (2 * math.pi * r))


@special(owens_partial_h, owens_partial_a, at=(0.7, 0.4))
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T, ∫₀ᵃ e^(−h²(1 + x²)/2)/(1 + x²) dx / 2π (Owen, "Tables for computing bivariate normal probabilities",
    1956)."""


__all__ = [
    "dawsn", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv", "fresnel", "log_ndtr", "modfresnelm", "modfresnelp",
    "ndtr", "ndtri", "ndtri_exp", "nrdtrimn", "nrdtrisd", "owens_t", "voigt_profile", "wofz",
]  # fmt: skip
