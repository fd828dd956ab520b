"""Special functions under the names of jax.lax: accurate over their whole range, with derivatives of every order.

Arguments are real and broadcast. Values are computed in float64 and rounded to the arguments' dtype.
"""

from __future__ import annotations

from operator import index

import numpy as np

from .. import ops
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import concretize
from ..core.typing import Array, ArrayLike
from ..numpy.composite import composite
from ..numpy.composite import operand as array_of


# -- error functions ------------------------------------------
@composite()
def erf(x: ArrayLike) -> Array:
    """The error function 2/√π·∫₀ˣ e^(−t²) dt.

    >>> print(fx.lax.erf(1e-300), fx.lax.erf(1.0))
    1.1283791670955126e-300 0.8427007929497149
    """
    return ops.erf(array_of(x))


@composite()
def erfc(x: ArrayLike) -> Array:
    """1 − erf(x), without the subtraction: down to the smallest numbers.

    >>> print(f"{fx.lax.erfc(26.0):.12e}")
    5.663192408856e-296
    """
    return ops.erfc(array_of(x))


@composite()
def erf_inv(x: ArrayLike) -> Array:
    """The inverse of `erf`: ±∞ at ±1, NaN beyond.

    >>> print(f"{fx.lax.erf_inv(0.5):.12f}", fx.lax.erf_inv(1.0))
    0.476936276204 inf
    """
    return ops.erf_inv(array_of(x))


# -- the gamma function ------------------------------------------
@composite()
def lgamma(x: ArrayLike) -> Array:
    """log |Γ(x)|, ∞ at the poles.

    >>> print(fx.lax.lgamma(1 + 2**-40) * 2**40)  # −γ
    -0.5772156649007848
    """
    return ops.log_gamma(array_of(x))


@composite()
def digamma(x: ArrayLike) -> Array:
    """The derivative of `lgamma`; NaN at its poles, except ∓∞ at ±0.

    >>> print(f"{fx.lax.digamma(1.0):.12f}")
    -0.577215664902
    """
    return ops.polygamma(array_of(x), n=0)


@composite()
def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order m of `digamma` at x. The order is static: one whole number from 0 to 170, otherwise
    ValueError. At the poles ∞ for odd orders, and as `digamma` for even ones.

    Raises:
        ValueError: the order is no whole number from 0 to 170.

    >>> print(f"{fx.lax.polygamma(1, 1.0):.12f}")  # π²/6
    1.644934066848
    """
    order = concretize(m, "the order of polygamma")
    if np.ndim(order) or order not in range(171):
        raise StructureError(
            f"polygamma: the order m={order} is not a whole number from 0 to 170",
            hint="int(m), from 0 to 170",
        )
    return ops.polygamma(array_of(x), n=int(order))


@composite()
def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """The zeta function of Hurwitz, Σ (q + k)⁻ˣ over k = 0, 1, …, for x > 1; ∞ for x = 1 and at q = 0, −1, …; NaN for
    x < 1, and for other q < 0 where x is no integer.

    >>> print(f"{fx.lax.zeta(2.0, 1.0):.12f}")  # π²/6
    1.644934066848
    """
    return ops.zeta(array_of(x), array_of(q), power=0)


@composite()
def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The lower incomplete gamma function ∫₀ˣ tᵃ⁻¹·e⁻ᵗ dt / Γ(a) for a > 0 and x ≥ 0, to 1e-13 relative; 1 for a = 0.

    >>> print(f"{fx.lax.igamma(1.0, 2.0):.12f}")  # 1 − e⁻²
    0.864664716763
    """
    return ops.incomplete_gamma(array_of(a), array_of(x), upper=False)


@composite()
def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """1 − igamma(a, x), without the subtraction where x > a and x > 3/2, and then to 1e-13 relative.

    >>> print(f"{fx.lax.igammac(1.0, 700.0):.8e}")  # e⁻⁷⁰⁰
    9.85967654e-305
    """
    return ops.incomplete_gamma(array_of(a), array_of(x), upper=True)


# -- Bessel functions ------------------------------------------
@composite()
def bessel_i0e(x: ArrayLike) -> Array:
    """e^−|x|·I₀(x), the modified Bessel function scaled; its derivative at 0, a kink, is 0.

    >>> print(f"{fx.lax.bessel_i0e(1.0):.12f}")
    0.465759607594
    """
    return ops.bessel_moment(array_of(x), order=0, power=0, degree=0)


@composite()
def bessel_i1e(x: ArrayLike) -> Array:
    """e^−|x|·I₁(x), the modified Bessel function scaled.

    >>> print(f"{fx.lax.bessel_i1e(1.0):.12f}")
    0.207910415350
    """
    return ops.bessel_moment(array_of(x), order=1, power=0, degree=1)


# -- formats ------------------------------------------
@composite()
def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Floating-point numbers rounded to a format of fewer bits, in their own dtype: halves to even, too large ones to
    ±∞, subnormal ones to ±0. The derivative passes through.

    Args:
        operand: real numbers.
        exponent_bits, mantissa_bits: those of the format, without the sign and the leading bit.

    Raises:
        ValueError: there is no such format.

    >>> print(fx.lax.reduce_precision(3.1415926, 8, 7))  # to bfloat16
    3.140625
    """
    exponent, mantissa = index(exponent_bits), index(mantissa_bits)
    if exponent < 1 or mantissa < 0:
        raise ShapeError(
            f"reduce_precision: not a format: exponent_bits={exponent}, mantissa_bits={mantissa}",
            hint="exponent_bits=8, mantissa_bits=7 for bfloat16, 5 and 10 for float16",
        )
    return ops.reduce_precision(array_of(operand), exponent_bits=exponent, mantissa_bits=mantissa)


@composite()
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function I(a, b; x) for a, b > 0 and 0 ≤ x ≤ 1 (DLMF 8.17), with derivatives by
    all three.

    >>> print(f"{fx.lax.betainc(2.0, 3.0, 0.5):.4f}")
    0.6875
    """
    from ..scipy import special  # whose functions are declared when they are first used

    return special.betainc(a, b, x)


__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igammac",
    "lgamma",
    "polygamma",
    "reduce_precision",
    "zeta",
]
