"""Exponential integrals, and those of sine and cosine."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ops
from .bessel_functions import spherical_in, spherical_jn
from .declare import REFUSED, result_of, special, tuple_of


@special(lambda t, y, z: t * (-ops.exp(-z) / z), at=(0.7,))
def exp1(z: ArrayLike) -> Array:
    """The exponential integral ∫₁^∞ e^(−z·t)/t dt of real or complex z (https://dlmf.nist.gov/6.2.E1)."""


@special(lambda t, y, z: t * (ops.exp(z) / z), at=(0.7,))
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei, the principal value of ∫ eᵗ/t dt from −∞ to x, of real or complex x
    (https://dlmf.nist.gov/6.2.E5)."""


def expn_partial(t: Any, y: Any, n: Any, x: Any) -> Any:
    """−Eₙ₋₁(x), where E₀(x) = e⁻ˣ/x."""
    zero = ops.equal(n, 0)
    lowest = (1 + 1 / x) * ops.exp(-x) / x
    return t * -ops.where(zero, lowest, expn(ops.where(zero, 1, n) - 1, x))


@special(REFUSED, expn_partial, at=(2, 0.7))
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The generalized exponential integral ∫₁^∞ e^(−x·t)/tⁿ dt of whole order n ≥ 0, for x ≥ 0
    (https://dlmf.nist.gov/8.19.E3)."""


# sin z/z and sinh z/z are spherical Bessel functions, also at 0.
sine_integral = result_of("sici", 0, lambda t, y, z: t * spherical_jn(0, z))
cosine_integral = result_of("sici", 1, lambda t, y, z: t * (fnp.cos(z) / z))
hyperbolic_sine_integral = result_of("shichi", 0, lambda t, y, z: t * spherical_in(0, z))
hyperbolic_cosine_integral = result_of("shichi", 1, lambda t, y, z: t * (fnp.cosh(z) / z))


@tuple_of(sine_integral, cosine_integral, at=(0.7,))
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals Si(x) of sine and Ci(x) of cosine, of real or complex x (https://dlmf.nist.gov/6.2.ii)."""


@tuple_of(hyperbolic_sine_integral, hyperbolic_cosine_integral, at=(0.7,))
def shichi(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals Shi(x) of hyperbolic sine and Chi(x) of hyperbolic cosine, of real or complex x
    (https://dlmf.nist.gov/6.2.iii)."""


__all__ = [
    "exp1", "expi", "expn", "shichi", "sici",
]  # fmt: skip
