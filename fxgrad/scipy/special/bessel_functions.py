"""Bessel functions of both kinds, modified, spherical and scaled; Hankel's, Airy's, Struve's and Kelvin's functions.

Their derivatives are those of https://dlmf.nist.gov/10.6, 10.29, 10.51, 9.2, 11.4 and 10.61. No closed form of a
derivative with respect to the order is known.
"""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from ...extend import Array, ArrayLike, NotDifferentiableError, StructureError, insert_before_example, ops
from ...numpy.composite import composite, operand
from ..reference import scipy_function
from .declare import REFUSED, F, is_complex, result_of, special

bessel = partial(special, source="https://dlmf.nist.gov/10.2")
modified = partial(special, source="https://dlmf.nist.gov/10.25")


# -- Bessel functions ------------------------------------------
@special(REFUSED, lambda t, y, v, z: t * ops.middle_difference(jv, v, z), at=(2, 1.7))
def jv(v: ArrayLike, z: ArrayLike) -> Array:
    """The Bessel function of the first kind of real order v, of real or complex z (https://dlmf.nist.gov/10.2.E2)."""


jn = jv


@special(REFUSED, lambda t, y, v, z: t * ops.middle_difference(yv, v, z), at=(2, 1.7))
def yv(v: ArrayLike, z: ArrayLike) -> Array:
    """The Bessel function of the second kind of real order v, of real or complex z (https://dlmf.nist.gov/10.2.E3)."""


@bessel(REFUSED, lambda t, y, n, x: t * ops.middle_difference(yn, n, x), at=(2, 1.7))
def yn(n: ArrayLike, x: ArrayLike) -> Array:
    """The Bessel function of the second kind of whole order n, of real x."""


@special(REFUSED, lambda t, y, v, z: t * ops.middle_sum(iv, v, z), at=(2, 1.7))
def iv(v: ArrayLike, z: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of real order v, of real or complex z
    (https://dlmf.nist.gov/10.25.E2)."""


@special(REFUSED, lambda t, y, v, z: t * -ops.middle_sum(kv, v, z), at=(2, 1.7))
def kv(v: ArrayLike, z: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of real order v, of real or complex z
    (https://dlmf.nist.gov/10.25.E3)."""


@modified(REFUSED, lambda t, y, n, x: t * -ops.middle_sum(kn, n, x), at=(2, 1.7))
def kn(n: ArrayLike, x: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of whole order n, of real x."""


@bessel(REFUSED, lambda t, y, v, z: t * ops.middle_difference(hankel1, v, z), at=(2, 1.7))
def hankel1(v: ArrayLike, z: ArrayLike) -> Array:
    """Hankel's function of the first kind J + i·Y, complex."""


@bessel(REFUSED, lambda t, y, v, z: t * ops.middle_difference(hankel2, v, z), at=(2, 1.7))
def hankel2(v: ArrayLike, z: ArrayLike) -> Array:
    """Hankel's function of the second kind J − i·Y, complex."""


# -- scaled ------------------------------------------
def scaled(declare: Callable[..., Any], slope: Callable[..., Any]) -> Callable[[F], F]:
    """Declare a function that is scaled by an absolute value, which has no complex derivative, by its derivative
    slope(v, z, y) for real z; `declare` is the declarer of its kind."""

    def complete(body: F) -> F:
        name = body.__name__

        def partial(t: Any, y: Any, v: Any, z: Any) -> Any:
            if is_complex(z):
                raise NotDifferentiableError(
                    f"scipy.special.{name} of complex z has no complex derivative: its scale is the exponential of "
                    "an absolute value",
                    hint=f"scipy.special.{name[:-1]}(v, z), times the scale that you need",
                )
            return t * slope(v, z, y)

        said = "NotDifferentiableError: z is complex, and the absolute value in the scale has no derivative."
        body.__doc__ = insert_before_example(body.__doc__ or "", f"Raises:\n    {said}")
        return declare(REFUSED, partial, at=(2, 1.7))(body)

    return complete


TERMS = 16


def far_slope(v: Any, x: Any, slope: Any, first: bool) -> Any:
    """The derivative `slope` of a scaled modified function of real x, for large x by its asymptotic series
    (https://dlmf.nist.gov/10.40): the difference of nearly equal terms would lose as many digits as x has.

    The series is c·Σ (±1)ᵏ·aₖ(v)/xᵏ⁺¹ᐟ², of which aₖ₊₁/aₖ is (4v² − (2k + 1)²)/(8(k + 1)).
    """
    if is_complex(x):
        return slope
    far = ops.greater(x, 50 + 2.0 * v * v)
    r = 1 / ops.where(far, x, math.inf)
    coefficient, power, total = 1.0, ops.sqrt(r) * r, 0.0
    for k in range(TERMS):
        total = total - (k + 0.5) * coefficient * power
        coefficient = coefficient * (4.0 * v * v - (2 * k + 1) ** 2) / (8 * (k + 1))
        power = power * (-r if first else r)
    scale = 1 / math.sqrt(2 * math.pi) if first else math.sqrt(math.pi / 2)
    return ops.where(far, scale * total, slope)


@scaled(bessel, lambda v, z, y: ops.middle_difference(jve, v, z))
def jve(v: ArrayLike, z: ArrayLike) -> Array:
    """`jv(v, z)·exp(−|Im z|)`, with derivatives for real z."""


@scaled(bessel, lambda v, z, y: ops.middle_difference(yve, v, z))
def yve(v: ArrayLike, z: ArrayLike) -> Array:
    """`yv(v, z)·exp(−|Im z|)`, with derivatives for real z."""


@scaled(modified, lambda v, z, y: far_slope(v, z, ops.middle_sum(ive, v, z) - ops.sign(z) * y, first=True))
def ive(v: ArrayLike, z: ArrayLike) -> Array:
    """`iv(v, z)·exp(−|Re z|)`, with derivatives for real z."""


@modified(
    REFUSED, lambda t, y, v, z: t * far_slope(v, z, y - ops.middle_sum(kve, v, z), first=False), at=(2, 1.7)
)
def kve(v: ArrayLike, z: ArrayLike) -> Array:
    """`kv(v, z)·exp(z)`."""


@bessel(REFUSED, lambda t, y, v, z: t * (ops.middle_difference(hankel1e, v, z) - 1j * y), at=(2, 1.7))
def hankel1e(v: ArrayLike, z: ArrayLike) -> Array:
    """`hankel1(v, z)·exp(−i·z)`."""


@bessel(REFUSED, lambda t, y, v, z: t * (ops.middle_difference(hankel2e, v, z) + 1j * y), at=(2, 1.7))
def hankel2e(v: ArrayLike, z: ArrayLike) -> Array:
    """`hankel2(v, z)·exp(i·z)`."""


# -- of the orders 0 and 1 ------------------------------------------
@bessel(lambda t, y, x: t * -j1(x), at=(1.7,))
def j0(x: ArrayLike) -> Array:
    """The Bessel function of the first kind of order 0, of real x."""


@bessel(lambda t, y, x: t * (0.5 * (j0(x) - jv(2.0, x))), at=(1.7,))
def j1(x: ArrayLike) -> Array:
    """The Bessel function of the first kind of order 1, of real x."""


@bessel(lambda t, y, x: t * -y1(x), at=(1.7,))
def y0(x: ArrayLike) -> Array:
    """The Bessel function of the second kind of order 0, of real x."""


@bessel(lambda t, y, x: t * (0.5 * (y0(x) - yv(2.0, x))), at=(1.7,))
def y1(x: ArrayLike) -> Array:
    """The Bessel function of the second kind of order 1, of real x."""


@modified(lambda t, y, x: t * i1(x), at=(1.7,))
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of order 0, of real x."""


@modified(lambda t, y, x: t * (0.5 * (i0(x) + iv(2.0, x))), at=(1.7,))
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind of order 1, of real x."""


def moment_slope(t: Any, x: Any, order: int) -> Any:
    """The derivative of `ops.bessel_moment`, whose terms do not cancel."""
    slope = -ops.sign(x) * ops.bessel_moment(x, order=order, power=1, degree=order)
    return t * (slope + ops.bessel_moment(x, order=order, power=0, degree=0) if order else slope)


@modified(lambda t, y, x: moment_slope(t, x, 0), at=(1.7,))
def i0e(x: ArrayLike) -> Array:
    """`i0(x)·exp(−|x|)`; its derivative at 0, a kink, is 0."""


@modified(lambda t, y, x: moment_slope(t, x, 1), at=(1.7,))
def i1e(x: ArrayLike) -> Array:
    """`i1(x)·exp(−|x|)`."""


@modified(lambda t, y, x: t * -k1(x), at=(1.7,))
def k0(x: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of order 0, of real x."""


@modified(lambda t, y, x: t * (-0.5 * (k0(x) + kv(2.0, x))), at=(1.7,))
def k1(x: ArrayLike) -> Array:
    """The modified Bessel function of the second kind of order 1, of real x."""


@modified(lambda t, y, x: t * far_slope(0.0, x, y - k1e(x), first=False), at=(1.7,))
def k0e(x: ArrayLike) -> Array:
    """`k0(x)·exp(x)`."""


@modified(lambda t, y, x: t * far_slope(1.0, x, y - 0.5 * (k0e(x) + kve(2.0, x)), first=False), at=(1.7,))
def k1e(x: ArrayLike) -> Array:
    """`k1(x)·exp(x)`."""


@special(lambda t, y, a, lmb, nu: t * ((jv(nu, 2 * a) - (lmb + 1) * y) / a), REFUSED, REFUSED, at=(0.7, 2, 1))
def besselpoly(a: ArrayLike, lmb: ArrayLike, nu: ArrayLike) -> Array:
    """∫₀¹ x^lmb·Jᵥ(2a·x) dx of the order v = nu.

    Source: https://dlmf.nist.gov/10.22.
    """


# -- derivatives by name ------------------------------------------
def derivative_of(function: Callable[..., Any], sign: int, factor: float = 0.5) -> Callable[[F], F]:
    """Declare the derivative of order n of a function C with C′ = factor·(Cᵥ₋₁ ± Cᵥ₊₁)."""

    def declare(body: F) -> F:
        @wraps(body)
        def derivative(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
            if not isinstance(n, int) or n < 0:
                raise StructureError(
                    f"{body.__name__}: n is a whole number from 0 on, not {n!r}",
                    hint="jv, yv, iv and kv take orders of every kind",
                )
            v, z, total = operand(v), operand(z), 0.0
            for k in range(n + 1):
                total = total + math.comb(n, k) * sign**k * function(v - n + 2 * k, z)
            return total * factor**n  # type: ignore[return-value]

        said = f"Source: https://dlmf.nist.gov/{'10.6.E7' if sign < 0 else '10.29.E5'}.\n\n"
        said += "Raises:\n    ValueError: `n` is no whole number from 0 on."
        derivative.__doc__ = insert_before_example(body.__doc__ or "", said)
        return scipy_function("special")(derivative)  # type: ignore[return-value]

    return declare


@derivative_of(jv, sign=-1)
def jvp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `jv` with respect to z.

    >>> print(f"{fx.scipy.special.jvp(0, 1.0):.12f}")
    -0.440050585745
    """


@derivative_of(yv, sign=-1)
def yvp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `yv` with respect to z.

    >>> fx.scipy.special.yvp(1.0, 2.0).round(6)
    np.float64(0.563892)
    """


@derivative_of(iv, sign=1)
def ivp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `iv` with respect to z.

    >>> fx.scipy.special.ivp(1.0, 2.0).round(6)
    np.float64(1.484267)
    """


@derivative_of(kv, sign=1, factor=-0.5)
def kvp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `kv` with respect to z.

    >>> fx.scipy.special.kvp(1.0, 2.0).round(6)
    np.float64(-0.183827)
    """


@derivative_of(hankel1, sign=-1)
def h1vp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `hankel1` with respect to z.

    >>> fx.scipy.special.h1vp(1.0, 2.0).round(6)
    np.complex128(-0.064472+0.563892j)
    """


@derivative_of(hankel2, sign=-1)
def h2vp(v: ArrayLike, z: ArrayLike, n: int = 1) -> Array:
    """The derivative of order n of `hankel2` with respect to z.

    >>> fx.scipy.special.h2vp(1.0, 2.0).round(6)
    np.complex128(-0.064472-0.563892j)
    """


@composite()
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions J₀ … Jᵥ of z, along a leading axis: a name of jax.scipy.special's.

    Args:
        z: real numbers.
        v: the highest order.
        n_iter: JAX's number of steps, of no importance here.

    Returns:
        Array of shape (v + 1, *z.shape).

    >>> fx.scipy.special.bessel_jn(0.0, v=2)
    array([1., 0., 0.])
    """
    z = operand(z)
    return jv(np.arange(v + 1).reshape(-1, *(1,) * z.ndim), z)


# -- spherical ------------------------------------------
def spherical(below: float, above: float) -> Callable[[F], F]:
    """Declare a spherical Bessel function by the signs in its derivative (±n·fₙ₋₁ ± (n + 1)·fₙ₊₁)/(2n + 1), of which
    the first term is 0 for n = 0 (https://dlmf.nist.gov/10.51)."""

    def declare(body: F) -> F:
        def slope(n: Any, z: Any) -> Any:
            first = n * value(ops.maximum(n - 1, 0), z)
            return (below * first + above * ((n + 1) * value(n + 1, z))) / (2 * n + 1)

        @wraps(body)
        def function(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
            return (slope if derivative else value)(operand(n), operand(z))

        value = result_of(body.__name__, None, REFUSED, lambda t, y, n, z: t * slope(n, z), operands="n z")
        return scipy_function("special")(function)  # type: ignore[return-value]

    return declare


@spherical(1.0, -1.0)
def spherical_jn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the first kind √(π/2z)·J_(n + ½)(z) (https://dlmf.nist.gov/10.47.E3).

    Args:
        n: whole numbers from 0 on.
        z: real or complex numbers.
        derivative: return the derivative with respect to z instead.

    Returns:
        Array of the common shape.

    >>> fx.testing.check_grads(fx.scipy.special.spherical_jn, (2, 1.7), order=1)
    """


@spherical(1.0, -1.0)
def spherical_yn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the second kind √(π/2z)·Y_(n + ½)(z); arguments as of `spherical_jn`.

    Source: https://dlmf.nist.gov/10.47.

    >>> fx.testing.check_grads(fx.scipy.special.spherical_yn, (2, 1.7), order=1)
    """


@spherical(1.0, 1.0)
def spherical_in(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the first kind √(π/2z)·I_(n + ½)(z); arguments as of `spherical_jn`.

    Source: https://dlmf.nist.gov/10.47.

    >>> fx.testing.check_grads(fx.scipy.special.spherical_in, (2, 1.7), order=1)
    """


@spherical(-1.0, -1.0)
def spherical_kn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the second kind √(π/2z)·K_(n + ½)(z); arguments as of `spherical_jn`.

    Source: https://dlmf.nist.gov/10.47.

    >>> fx.testing.check_grads(fx.scipy.special.spherical_kn, (2, 1.7), order=1)
    """


__all__ = [
    "bessel_jn", "besselpoly", "h1vp", "h2vp", "hankel1", "hankel1e", "hankel2", "hankel2e", "i0", "i0e", "i1",
    "i1e", "iv", "ive", "ivp", "j0", "j1", "jn", "jv", "jve", "jvp", "k0", "k0e", "k1", "k1e", "kn", "kv", "kve",
    "kvp", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "y0", "y1", "yn", "yv", "yve", "yvp",
]  # fmt: skip
