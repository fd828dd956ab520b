"""Special functions on arrays of any namespace: the normal distribution, error functions and Bessel functions.

Functions are of float64 arrays with one axis; `real_kernel` makes kernels of them. The coefficients of quantiles are
those of Wichura, "Algorithm AS 241" (1988); all others were computed with 40 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.aval import aval_of, kind_of
from ..core.costs import CACHE_ENTRIES, ENTRY_TIME, SPECIAL_PASSES, SPECIAL_TIME
from ..core.errors import DTypeError
from .registry import native_function, share_calls


def map_chunks(xp: Any, function: Callable[..., Any], *flat: Any) -> Any:
    """Compute function(*flat) of arrays with one axis, without warnings: with NumPy in chunks, which threads share."""
    with np.errstate(all="ignore"):
        first = function(*[x[:CACHE_ENTRIES] for x in flat] if xp is np else flat)
        if xp is not np or len(flat[0]) <= CACHE_ENTRIES:
            return first
        result = np.empty(len(flat[0]), first.dtype)
        result[:CACHE_ENTRIES] = first

        def compute(first: int, last: int) -> None:
            for chunk in range(first + 1, last + 1):
                part = slice(chunk * CACHE_ENTRIES, (chunk + 1) * CACHE_ENTRIES)
                result[part] = function(*[x[part] for x in flat])

        chunks = (len(result) - 1) // CACHE_ENTRIES
        share_calls(compute, chunks, SPECIAL_PASSES * len(result))
        return result


def real_kernel(function: Callable[..., Any], name: str) -> Callable[[Any], Callable]:
    """Return the kernel factory of function(xp, *operands, **params) of real arrays: operands are broadcast and
    computed with in float64, the result has their common floating dtype (float64 for integers)."""

    def make_kernel(xp: Any) -> Callable:
        def kernel(*operands: Any, **params: Any) -> Any:
            if xp is np and len(operands) == 1 and type(operands[0]) is np.ndarray:
                compute = native_function("entrywise.compute_entrywise")
                result = compute(name, operands[0], ENTRY_TIME * SPECIAL_PASSES, SPECIAL_TIME, **params)
                if result is not None:
                    return result
            arrays = [xp.asarray(x) for x in operands]
            kinds = [kind_of(aval_of(x).dtype) for x in arrays]
            if "c" in kinds:
                raise DTypeError(
                    f"{name} is a function of real numbers, not complex ones", hint="x.real or abs(x)"
                )
            floating = [x for x, kind in zip(arrays, kinds) if kind == "f"]
            dtype = xp.result_type(*floating) if floating else xp.float64
            shape = np.broadcast_shapes(*[x.shape for x in arrays])
            flat = [xp.reshape(xp.broadcast_to(to_float64(xp, x), shape), (-1,)) for x in arrays]
            result = xp.reshape(map_chunks(xp, partial(function, xp, **params), *flat), shape)
            if xp is not np:
                return xp.astype(result, dtype)
            with np.errstate(over="ignore"):
                return result.astype(dtype, copy=False)[()]

        kernel.passes = SPECIAL_PASSES  # type: ignore[attr-defined]
        return kernel

    return make_kernel


def to_float64(xp: Any, x: Any) -> Any:
    """Convert an array to float64."""
    return x.astype(np.float64, copy=False) if xp is np else xp.astype(x, xp.float64)


def uniform_from_bits(xp: Any, words: Any) -> Any:
    """Make uniform multiples of 2⁻⁵³ in [0, 1) from random words."""
    return to_float64(xp, words >> 11) * 2.0**-53


def open_uniform_from_bits(xp: Any, words: Any) -> Any:
    """Make uniform numbers inside (0, 1), symmetric about ½, from random words: the middles of 2⁵² intervals."""
    return to_float64(xp, words >> 12) * 2.0**-52 + 2.0**-53


def replace_where(xp: Any, result: Any, mask: Any, function: Callable[..., Any], *operands: Any) -> Any:
    """Replace the entries of a result where a mask holds by function(*operands). NumPy computes only there; on a device
    to look how many these are would take longer than to compute all."""
    if xp is not np:
        return xp.where(mask, function(*operands), result)
    places = np.flatnonzero(mask)
    result[places] = function(*[x[places] for x in operands])
    return result


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Σ cₖ·xᵏ by Horner's rule."""
    *rest, y = coefficients
    y = x * y + rest.pop()
    for c in reversed(rest):
        y *= x
        y += c
    return y


def chebyshev(coefficients: tuple[float, ...], u: Any) -> Any:
    """Σ cₖ·Tₖ(u/2) by Clenshaw's rule."""
    first, *rest = coefficients
    following = current = 0 * u
    for c in reversed(rest):
        following, current = current, u * current - following + c
    return 0.5 * u * current - following + first


# -- the normal distribution ------------------------------------------
CENTRAL = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
MIDDLE = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
FAR = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def quantile(xp: Any, q: Any, tail: Any) -> Any:
    """The inverse of Φ at ½ + q, given also the smaller one of the probabilities ½ ± q, to 1e-15 relative."""
    central = 0.180625 - q * q
    y = q * (polynomial(CENTRAL[0], central) / polynomial(CENTRAL[1], central))

    def outer(q: Any, tail: Any) -> Any:
        r = xp.sqrt(-xp.log(tail))
        size = polynomial(MIDDLE[0], r - 1.6) / polynomial(MIDDLE[1], r - 1.6)
        size = replace_where(xp, size, r > 5, far, r)
        size = xp.where(r == math.inf, math.inf, size)
        return xp.where(q < 0, -size, size)

    def far(r: Any) -> Any:
        return polynomial(FAR[0], r - 5) / polynomial(FAR[1], r - 5)

    return replace_where(xp, y, ~(xp.abs(q) <= 0.425), outer, q, tail)


def normal_quantile(xp: Any, p: Any) -> Any:
    """The inverse of the normal distribution function for all 0 < p < 1; ±∞ at 0 and 1."""
    return quantile(xp, p - 0.5, xp.where(p < 0.5, p, 1 - p))


def erf_inv(xp: Any, x: Any) -> Any:
    """The inverse of erf: erf(x) = 2·Φ(√2·x) − 1, so that no digit of a small x is lost."""
    return quantile(xp, 0.5 * x, 0.5 * (1 - xp.abs(x))) * math.sqrt(0.5)


# Chebyshev coefficients of e^(x²/2)·(1 − Φ(x))/t in 2t − 1, where t = 4/(4 + x).
MILLS = (
    0.24261280114151915, 0.18792720420989265, 0.05554838891881276, 0.012129438315111521, 0.0017314801240606202,
    8.014961859953749e-05, -2.5136847908026697e-05, -4.725842254926741e-06, 2.5258922136865774e-07,
    1.536333687349456e-07, -8.452550300172939e-10, -5.171627015435708e-09, -2.8206509081173767e-11,
    1.9435038070971737e-10, -2.485356047851177e-12, -7.936207374645758e-12, 4.606201711176235e-13,
    3.2821541166777413e-13, -4.353840663163703e-14, -1.2268185079261061e-14, 3.232846081541394e-15,
    3.0451658804315853e-16, -2.0130368431552333e-16,
)  # fmt: skip


def mills_ratio(x: Any) -> Any:
    """(1 − Φ(x))/exp(−x²/2) for x ≥ 0."""
    t = 4 / (4 + x)
    return t * chebyshev(MILLS, 4 * t - 2)


def gaussian(xp: Any, x: Any, rate: float) -> Any:
    """exp(−rate·x²), with the rounding error of x², which the exponential would magnify."""
    head = xp.floor(x * 16) / 16
    return xp.exp(-rate * head * head) * xp.exp(-rate * (x - head) * (x + head))


def normal_cdf(xp: Any, x: Any) -> Any:
    """Φ(x), to 1e-15 relative also in the lower tail."""
    size = xp.minimum(xp.abs(x), xp.full_like(x, 40.0))
    upper = mills_ratio(size) * gaussian(xp, size, 0.5)
    return xp.where(x < 0, upper, 1 - upper)


# -- the error functions ------------------------------------------
NEAR = 0.5  # erf by its power series inside, by its complement outside
ERROR_SERIES = tuple(
    2 / math.sqrt(math.pi) * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(13)
)


def erfc_positive(xp: Any, size: Any) -> Any:
    """erfc(x) for x ≥ 0."""
    size = xp.minimum(size, xp.full_like(size, 28.0))
    return 2 * mills_ratio(math.sqrt(2) * size) * gaussian(xp, size, 1.0)


def erf(xp: Any, x: Any) -> Any:
    """The error function, to 1e-15 relative."""
    size = xp.abs(x)
    y = 1 - erfc_positive(xp, size)
    y = xp.where(x < 0, -y, y)
    return replace_where(xp, y, size < NEAR, erf_near_zero, x)


def erf_near_zero(x: Any) -> Any:
    """The power series."""
    return x * polynomial(ERROR_SERIES, x * x)


def erfc(xp: Any, x: Any) -> Any:
    """1 − erf(x), to 1e-15 relative."""
    tail = erfc_positive(xp, xp.abs(x))
    y = xp.where(x < 0, 2 - tail, tail)
    return replace_where(xp, y, xp.abs(x) < NEAR, lambda x: 1 - erf_near_zero(x), x)


def erfcx(xp: Any, x: Any) -> Any:
    """exp(x²)·erfc(x), to 1e-15 relative."""
    size = xp.abs(x)
    tail = 2 * mills_ratio(math.sqrt(2) * size)
    return xp.where(x < 0, 2 / gaussian(xp, xp.minimum(size, xp.full_like(size, 28.0)), 1.0) - tail, tail)


def log_normal_cdf(xp: Any, x: Any) -> Any:
    """log Φ(x), also where Φ(x) is below all numbers."""
    size = xp.abs(x)
    far = mills_ratio(size)
    upper = far * gaussian(xp, xp.minimum(size, xp.full_like(size, 40.0)), 0.5)
    return xp.where(x < 0, xp.log(far) - 0.5 * size * size, xp.log1p(-upper))


# -- Bessel functions ------------------------------------------
NODES = 56
FAR_OUT = 100.0  # where the asymptotic series takes over from the midpoint rule


def bessel_moment(xp: Any, x: Any, *, order: int, power: int, degree: int) -> Any:
    """xᵈ·∫₀^π (1 − cos θ)ᵖ·sin²ⁿθ·e^(−|x|·(1 − cos θ)) dθ / (√π·2ⁿ·Γ(n + ½)), which is I_n(x)·e^−|x| for d = n and
    p = 0 (DLMF 10.32.2). By the midpoint rule, which converges geometrically; for large x by Watson's lemma."""
    scale = 2.0**-order / (math.sqrt(math.pi) * math.gamma(order + 0.5))
    size = xp.abs(x)
    result = 0 * size
    for k in range(NODES):
        angle = (k + 0.5) * (math.pi / NODES)
        fall = 2 * math.sin(angle / 2) ** 2
        weight = scale * math.pi / NODES * fall**power * math.sin(angle) ** (2 * order)
        result = result + weight * xp.exp(-fall * size)
    result = result * x**degree
    top = power + order + 0.5
    binomial, series = 2.0 ** (order - 0.5), []
    for k in range(16):
        series.append(scale * binomial * math.gamma(top + k))
        binomial *= (order - 0.5 - k) / (k + 1) * -0.5

    def asymptotic(x: Any, large: Any) -> Any:
        return polynomial(tuple(series), 1 / large) * large ** (degree - top) * xp.sign(x) ** degree

    return replace_where(xp, result, size > FAR_OUT, asymptotic, x, size)
