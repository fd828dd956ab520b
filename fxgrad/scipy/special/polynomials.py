"""Orthogonal polynomials, Legendre functions and spherical harmonics.

Derivatives with respect to x are those of https://dlmf.nist.gov/18.9.iii: a multiple of the next lower degree of a
neighbouring family. Degrees and parameters have none in closed form.
"""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...extend import Array, ArrayLike, UnsupportedError, ops
from ...numpy.composite import operand
from ..reference import scipy_function
from .declare import REFUSED, F, result_of, special


def polynomial(slope: Callable[..., Any], at: tuple) -> Callable[[F], F]:
    """Declare a polynomial by its derivative slope(n, *parameters, x) for the degrees n > 0."""

    def partial(t: Any, y: Any, n: Any, *rest: Any) -> Any:
        constant = ops.equal(n, 0)
        return t * ops.where(constant, 0.0, slope(ops.where(constant, 1, n), *rest))

    source = "https://dlmf.nist.gov/18.3; the derivative is of https://dlmf.nist.gov/18.9.iii"
    return special(*[REFUSED] * (len(at) - 1), partial, at=at, source=source)


# -- Jacobi's and Gegenbauer's ------------------------------------------
@polynomial(lambda n, a, b, x: 0.5 * (n + a + b + 1) * eval_jacobi(n - 1, a + 1, b + 1, x), at=(3, 1, 2, 0.4))
def eval_jacobi(n: ArrayLike, alpha: ArrayLike, beta: ArrayLike, x: ArrayLike) -> Array:
    """Jacobi's polynomial of degree n (https://dlmf.nist.gov/18.5.E7), of real or complex x."""


# Leading coefficients are 1, so that the derivative is n times the neighbouring polynomial.
@polynomial(lambda n, p, q, x: n * eval_sh_jacobi(n - 1, p + 2, q + 1, x), at=(3, 3, 2, 0.4))
def eval_sh_jacobi(n: ArrayLike, p: ArrayLike, q: ArrayLike, x: ArrayLike) -> Array:
    """Jacobi's shifted polynomial of degree n, with leading coefficient 1, of real or complex x."""


@polynomial(lambda n, a, x: 2 * a * eval_gegenbauer(n - 1, a + 1, x), at=(3, 2, 0.4))
def eval_gegenbauer(n: ArrayLike, alpha: ArrayLike, x: ArrayLike) -> Array:
    """Gegenbauer's polynomial of degree n (https://dlmf.nist.gov/18.5.E9), of real or complex x."""


# -- Chebyshev's and Legendre's ------------------------------------------
@polynomial(lambda n, x: n * eval_chebyu(n - 1, x), at=(3, 0.4))
def eval_chebyt(n: ArrayLike, x: ArrayLike) -> Array:
    """Chebyshev's polynomial of the first kind Tₙ (https://dlmf.nist.gov/18.5.E1), of real or complex x."""


@polynomial(lambda n, x: 2 * eval_gegenbauer(n - 1, 2, x), at=(3, 0.4))
def eval_chebyu(n: ArrayLike, x: ArrayLike) -> Array:
    """Chebyshev's polynomial of the second kind Uₙ (https://dlmf.nist.gov/18.5.E2), of real or complex x."""


@polynomial(lambda n, x: n * eval_chebys(n - 1, x), at=(3, 0.4))
def eval_chebyc(n: ArrayLike, x: ArrayLike) -> Array:
    """2·Tₙ(x/2) on [−2, 2], of real or complex x."""


@polynomial(lambda n, x: eval_gegenbauer(n - 1, 2, 0.5 * x), at=(3, 0.4))
def eval_chebys(n: ArrayLike, x: ArrayLike) -> Array:
    """Uₙ(x/2) on [−2, 2], of real or complex x."""


@polynomial(lambda n, x: 2 * n * eval_sh_chebyu(n - 1, x), at=(3, 0.4))
def eval_sh_chebyt(n: ArrayLike, x: ArrayLike) -> Array:
    """Tₙ(2x − 1) on [0, 1], of real or complex x."""


@polynomial(lambda n, x: 4 * eval_gegenbauer(n - 1, 2, 2 * x - 1), at=(3, 0.4))
def eval_sh_chebyu(n: ArrayLike, x: ArrayLike) -> Array:
    """Uₙ(2x − 1) on [0, 1], of real or complex x."""


@polynomial(lambda n, x: eval_gegenbauer(n - 1, 1.5, x), at=(3, 0.4))
def eval_legendre(n: ArrayLike, x: ArrayLike) -> Array:
    """Legendre's polynomial Pₙ (https://dlmf.nist.gov/18.5.T1), of real or complex x."""


@polynomial(lambda n, x: 2 * eval_gegenbauer(n - 1, 1.5, 2 * x - 1), at=(3, 0.4))
def eval_sh_legendre(n: ArrayLike, x: ArrayLike) -> Array:
    """Pₙ(2x − 1) on [0, 1], of real or complex x."""


# -- Laguerre's and Hermite's ------------------------------------------
@polynomial(lambda n, x: -eval_genlaguerre(n - 1, 1, x), at=(3, 0.4))
def eval_laguerre(n: ArrayLike, x: ArrayLike) -> Array:
    """Laguerre's polynomial Lₙ (https://dlmf.nist.gov/18.5.E12), of real or complex x."""


@polynomial(lambda n, a, x: -eval_genlaguerre(n - 1, a + 1, x), at=(3, 2, 0.4))
def eval_genlaguerre(n: ArrayLike, alpha: ArrayLike, x: ArrayLike) -> Array:
    """Laguerre's generalized polynomial of degree n (https://dlmf.nist.gov/18.5.E12), of real or complex x."""


@polynomial(lambda n, x: 2 * n * eval_hermite(n - 1, x), at=(3, 0.4))
def eval_hermite(n: ArrayLike, x: ArrayLike) -> Array:
    """The physicists' Hermite polynomial Hₙ of real x (https://dlmf.nist.gov/18.5.E13)."""


@polynomial(lambda n, x: n * eval_hermitenorm(n - 1, x), at=(3, 0.4))
def eval_hermitenorm(n: ArrayLike, x: ArrayLike) -> Array:
    """The probabilists' Hermite polynomial Heₙ of real x."""


# -- Legendre functions and spherical harmonics ------------------------------------------
@special(
    REFUSED,
    REFUSED,
    lambda t, y, m, v, x: t * ((v * x * y - (v + m) * lpmv(m, v - 1, x)) / ((x - 1) * (x + 1))),
    at=(1, 3, 0.4),
)
def lpmv(m: ArrayLike, v: ArrayLike, x: ArrayLike) -> Array:
    """The associated Legendre function of whole order m and real degree v for |x| ≤ 1, with Condon and Shortley's phase
    (https://dlmf.nist.gov/14.3.E6)."""


def polar_slope(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """∂Y/∂θ by the ladder operators, which have no singularity at the poles (https://dlmf.nist.gov/14.30)."""
    turn = ops.exp(1j * phi)

    def neighbour(step: int, size: Any) -> Any:
        present = ops.less_equal(ops.absolute(m + step), n)
        value = harmonic(n, ops.where(present, m + step, 0), theta, phi)
        return ops.where(present, ops.sqrt(ops.where(present, size, 1.0)) * value, 0.0)

    above = neighbour(1, (n - m) * (n + m + 1.0)) / turn
    below = neighbour(-1, (n + m) * (n - m + 1.0)) * turn
    return 0.5 * (above - below)


harmonic = result_of(
    "sph_harm_y",
    None,
    REFUSED,
    REFUSED,
    lambda t, y, n, m, theta, phi: t * polar_slope(n, m, theta, phi),
    lambda t, y, n, m, theta, phi: t * (1j * m * y),
    operands="n m theta phi",
)


@scipy_function("special")
def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, *, diff_n: int = 0
) -> Array | tuple[Array, ...]:
    """The spherical harmonic Yₙᵐ(θ, φ) (https://dlmf.nist.gov/14.30.E1), complex.

    Args:
        n: degrees, whole numbers from 0 on.
        m: orders, whole numbers from −n to n.
        theta: polar angles.
        phi: azimuths.
        diff_n: as SciPy's, for plain arrays only: return the derivatives up to this order as well.

    Returns:
        Complex array of the common shape.

    Raises:
        UnsupportedError: `diff_n` with traced values.

    >>> print(f"{fx.scipy.special.sph_harm_y(1, 0, 0.0, 0.0).real:.12f}")  # √(3/4π)
    0.488602511903
    """
    if diff_n:
        raise UnsupportedError(
            "sph_harm_y with diff_n of a traced value", hint="fx.jacfwd or fx.jvp, which give the derivatives"
        )
    return harmonic(operand(n), operand(m), operand(theta), operand(phi))


__all__ = [
    "eval_chebyc", "eval_chebys", "eval_chebyt", "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre", "eval_hermite",
    "eval_hermitenorm", "eval_jacobi", "eval_laguerre", "eval_legendre", "eval_sh_chebyt", "eval_sh_chebyu",
    "eval_sh_jacobi", "eval_sh_legendre", "lpmv", "sph_harm_y",
]  # fmt: skip
