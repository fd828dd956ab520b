"""Airy's functions, Kelvin's and Struve's, parabolic cylinder functions, and integrals of Bessel functions."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...extend import Array, ArrayLike, NotDifferentiableError, ops
from .bessel_functions import i0, j0, k0, y0
from .declare import REFUSED, is_complex, result_of, special, tuple_of
from .gamma_functions import rgamma

KELVIN = "https://dlmf.nist.gov/10.61"
kelvin_function = partial(special, source=KELVIN)
struve_integral = partial(special, source="https://dlmf.nist.gov/11.7")

# -- Airy's functions ------------------------------------------
ai = result_of("airy", 0, lambda t, y, z: t * aip(z))
aip = result_of("airy", 1, lambda t, y, z: t * (z * ai(z)))
bi = result_of("airy", 2, lambda t, y, z: t * bip(z))
bip = result_of("airy", 3, lambda t, y, z: t * (z * bi(z)))


@tuple_of(ai, aip, bi, bip, at=(0.7,))
def airy(z: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Airy's functions and their derivatives Ai, Ai′, Bi, Bi′ of real or complex z (https://dlmf.nist.gov/9.2)."""


def rate(z: Any) -> Any:
    """The derivative of ⅔·z^(3/2), by whose real part Bi is scaled."""
    if is_complex(z):
        raise NotDifferentiableError(
            "scipy.special.airye: Bi is scaled by an absolute value, which has no complex derivative",
            hint="scipy.special.airy(z), times the scale that you need",
        )
    return ops.sqrt(ops.relu(z))


eai = result_of("airye", 0, lambda t, y, z: t * (eaip(z) + ops.sqrt(z) * y))
eaip = result_of("airye", 1, lambda t, y, z: t * (z * eai(z) + ops.sqrt(z) * y))
ebi = result_of("airye", 2, lambda t, y, z: t * (ebip(z) - rate(z) * y))
ebip = result_of("airye", 3, lambda t, y, z: t * (z * ebi(z) - rate(z) * y))


@tuple_of(eai, eaip, ebi, ebip, at=(0.7,))
def airye(z: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Airy's functions and their derivatives, those of Ai times exp(⅔z√z) and those of Bi times exp(−|Re ⅔z√z|), these
    with derivatives for real z.

    Source: https://dlmf.nist.gov/9.2.
    """


itairy_1 = result_of("itairy", 0, lambda t, y, x: t * ai(x))
itairy_2 = result_of("itairy", 1, lambda t, y, x: t * bi(x))
itairy_3 = result_of("itairy", 2, lambda t, y, x: t * ai(-x))
itairy_4 = result_of("itairy", 3, lambda t, y, x: t * bi(-x))


@tuple_of(itairy_1, itairy_2, itairy_3, itairy_4, at=(0.7,))
def itairy(x: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """The integrals of Ai(t), Bi(t), Ai(−t) and Bi(−t) from 0 to x ≥ 0.

    Source: https://dlmf.nist.gov/9.10.
    """


# -- integrals of Bessel functions ------------------------------------------
itj0 = result_of("itj0y0", 0, lambda t, y, x: t * j0(x))
ity0 = result_of("itj0y0", 1, lambda t, y, x: t * y0(x))
iti0 = result_of("iti0k0", 0, lambda t, y, x: t * i0(x))
itk0 = result_of("iti0k0", 1, lambda t, y, x: t * k0(x))
it2j0 = result_of("it2j0y0", 0, lambda t, y, x: t * ((1 - j0(x)) / x))
it2y0 = result_of("it2j0y0", 1, lambda t, y, x: t * (-y0(x) / x))
it2i0 = result_of("it2i0k0", 0, lambda t, y, x: t * ((i0(x) - 1) / x))
it2k0 = result_of("it2i0k0", 1, lambda t, y, x: t * (-k0(x) / x))


@tuple_of(itj0, ity0, at=(0.7,))
def itj0y0(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of J₀ and Y₀ from 0 to x.

    Source: https://dlmf.nist.gov/10.22.
    """


@tuple_of(iti0, itk0, at=(0.7,))
def iti0k0(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of I₀ and K₀ from 0 to x.

    Source: https://dlmf.nist.gov/10.43.
    """


@tuple_of(it2j0, it2y0, at=(0.7,))
def it2j0y0(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of (1 − J₀(t))/t from 0 to x, and of Y₀(t)/t from x to ∞.

    Source: https://dlmf.nist.gov/10.22.
    """


@tuple_of(it2i0, it2k0, at=(0.7,))
def it2i0k0(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of (I₀(t) − 1)/t from 0 to x, and of K₀(t)/t from x to ∞.

    Source: https://dlmf.nist.gov/10.43.
    """


# -- Struve's functions ------------------------------------------
def struve_term(v: Any, x: Any) -> Any:
    """(x/2)ᵛ/(2√π·Γ(v + 3/2))."""
    return (0.5 * x) ** v * rgamma(v + 1.5) * (0.5 / math.sqrt(math.pi))


@special(
    REFUSED,
    lambda t, y, v, x: t * (0.5 * (struve(v - 1, x) - struve(v + 1, x)) + struve_term(v, x)),
    at=(2, 1.7),
)
def struve(v: ArrayLike, x: ArrayLike) -> Array:
    """Struve's function H of real order v (https://dlmf.nist.gov/11.2.E1)."""


@special(
    REFUSED,
    lambda t, y, v, x: t * (0.5 * (modstruve(v - 1, x) + modstruve(v + 1, x)) + struve_term(v, x)),
    at=(2, 1.7),
)
def modstruve(v: ArrayLike, x: ArrayLike) -> Array:
    """Struve's modified function L of real order v (https://dlmf.nist.gov/11.2.E2)."""


@struve_integral(lambda t, y, x: t * struve(0, x), at=(0.7,))
def itstruve0(x: ArrayLike) -> Array:
    """The integral of H₀ from 0 to x."""


@struve_integral(lambda t, y, x: t * (-struve(0, x) / x), at=(0.7,))
def it2struve0(x: ArrayLike) -> Array:
    """The integral of H₀(t)/t from x to ∞."""


@struve_integral(lambda t, y, x: t * modstruve(0, x), at=(0.7,))
def itmodstruve0(x: ArrayLike) -> Array:
    """The integral of L₀ from 0 to x."""


# -- Kelvin's functions ------------------------------------------
def quotient(value: Any, x: Any, limit: complex) -> Any:
    """value/x, with a limit at 0."""
    zero = ops.equal(x, 0)
    return ops.where(zero, limit, value / ops.where(zero, 1.0, x))


@kelvin_function(lambda t, y, x: t * berp(x), at=(1.7,))
def ber(x: ArrayLike) -> Array:
    """Kelvin's function ber, the real part of J₀(x·e^(3πi/4)) (https://dlmf.nist.gov/10.61.E1)."""


@kelvin_function(lambda t, y, x: t * beip(x), at=(1.7,))
def bei(x: ArrayLike) -> Array:
    """Kelvin's function bei, the imaginary part of J₀(x·e^(3πi/4))."""


@kelvin_function(lambda t, y, x: t * kerp(x), at=(1.7,))
def ker(x: ArrayLike) -> Array:
    """Kelvin's function ker, the real part of K₀(x·e^(πi/4))."""


@kelvin_function(lambda t, y, x: t * keip(x), at=(1.7,))
def kei(x: ArrayLike) -> Array:
    """Kelvin's function kei, the imaginary part of K₀(x·e^(πi/4))."""


@kelvin_function(lambda t, y, x: t * (-bei(x) - quotient(y, x, 0.0)), at=(1.7,))
def berp(x: ArrayLike) -> Array:
    """The derivative of `ber`."""


@kelvin_function(lambda t, y, x: t * (ber(x) - quotient(y, x, 0.5)), at=(1.7,))
def beip(x: ArrayLike) -> Array:
    """The derivative of `bei`."""


@kelvin_function(lambda t, y, x: t * (-kei(x) - y / x), at=(1.7,))
def kerp(x: ArrayLike) -> Array:
    """The derivative of `ker`."""


@kelvin_function(lambda t, y, x: t * (ker(x) - y / x), at=(1.7,))
def keip(x: ArrayLike) -> Array:
    """The derivative of `kei`."""


kelvin_b = result_of("kelvin", 0, lambda t, y, x: t * kelvin_bp(x))
kelvin_k = result_of("kelvin", 1, lambda t, y, x: t * kelvin_kp(x))
kelvin_bp = result_of("kelvin", 2, lambda t, y, x: t * (1j * kelvin_b(x) - quotient(y, x, 0.5j)))
kelvin_kp = result_of("kelvin", 3, lambda t, y, x: t * (1j * kelvin_k(x) - y / x))


@tuple_of(kelvin_b, kelvin_k, kelvin_bp, kelvin_kp, at=(1.7,), source=KELVIN)
def kelvin(x: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """ber + i·bei, ker + i·kei and their derivatives, complex."""


# -- parabolic cylinder functions ------------------------------------------
def weber(v: Any, x: Any) -> Any:
    """w″/w of Weber's equation (https://dlmf.nist.gov/12.2.E4)."""
    return 0.25 * x * x - v - 0.5


pbdv_d = result_of("pbdv", 0, REFUSED, lambda t, y, v, x: t * pbdv_p(v, x), operands="v x")
pbdv_p = result_of("pbdv", 1, REFUSED, lambda t, y, v, x: t * (weber(v, x) * pbdv_d(v, x)), operands="v x")
pbvv_v = result_of("pbvv", 0, REFUSED, lambda t, y, v, x: t * pbvv_p(v, x), operands="v x")
pbvv_p = result_of("pbvv", 1, REFUSED, lambda t, y, v, x: t * (weber(v, x) * pbvv_v(v, x)), operands="v x")
pbwa_w = result_of("pbwa", 0, REFUSED, lambda t, y, a, x: t * pbwa_p(a, x), operands="a x")
pbwa_p = result_of(
    "pbwa", 1, REFUSED, lambda t, y, a, x: t * ((a - 0.25 * x * x) * pbwa_w(a, x)), operands="a x"
)


@tuple_of(pbdv_d, pbdv_p, at=(2, 0.7))
def pbdv(v: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The parabolic cylinder function Dᵥ(x) and its derivative with respect to x.

    Source: https://dlmf.nist.gov/12.2.
    """


@tuple_of(pbvv_v, pbvv_p, at=(2, 0.7))
def pbvv(v: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The parabolic cylinder function Vᵥ(x) and its derivative with respect to x.

    Source: https://dlmf.nist.gov/12.2.
    """


@tuple_of(pbwa_w, pbwa_p, at=(2, 0.7))
def pbwa(a: ArrayLike, x: ArrayLike) -> tuple[Array, Array]:
    """The parabolic cylinder function W(a, x) and its derivative with respect to x.

    Source: https://dlmf.nist.gov/12.14.
    """


__all__ = [
    "airy", "airye", "bei", "beip", "ber", "berp", "it2i0k0", "it2j0y0", "it2struve0", "itairy", "iti0k0", "itj0y0",
    "itmodstruve0", "itstruve0", "kei", "keip", "kelvin", "ker", "kerp", "modstruve", "pbdv", "pbvv", "pbwa",
    "struve",
]  # fmt: skip
