"""Special functions of sampling, on arrays of any namespace: the normal distribution and the gamma function.

Functions are of float64 arrays with axes; `real_kernel` makes kernels of them. The coefficients of `normal_quantile`
are those of Wichura, "Algorithm AS 241" (1988); those of `normal_cdf` were computed with 40 digits.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import aval_of, kind_of
from ..core.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 15  # entries at a time, so that intermediate results stay in the processor's cache


def in_chunks(xp: Any, function: Callable[..., Any], *flat: Any) -> Any:
    """function(*flat) of arrays with one axis: with NumPy a chunk at a time, and without warnings."""
    with np.errstate(all="ignore"):
        first = function(*[x[:CHUNK] for x in flat] if xp is np else flat)
        if xp is not np or len(flat[0]) <= CHUNK:
            return first
        result = np.empty(len(flat[0]), first.dtype)
        result[:CHUNK] = first
        for start in range(CHUNK, len(result), CHUNK):
            part = slice(start, start + CHUNK)
            result[part] = function(*[x[part] for x in flat])
        return result


def real_kernel(function: Callable[..., Any], name: str) -> Callable[[Any], Callable]:
    """The kernel factory of function(xp, *operands, **params) of real arrays: operands are broadcast and computed with
    in float64, the result has their common floating dtype (float64 for integers)."""

    def make_kernel(xp: Any) -> Callable:
        def kernel(*operands: Any, **params: Any) -> Any:
            arrays = [xp.asarray(x) for x in operands]
            kinds = [kind_of(aval_of(x).dtype) for x in arrays]
            if "c" in kinds:
                raise DTypeError(f"{name} is a function of real numbers, not complex ones")
            floating = [x for x, kind in zip(arrays, kinds) if kind == "f"]
            dtype = xp.result_type(*floating) if floating else xp.float64
            shape = np.broadcast_shapes(*[x.shape for x in arrays])
            flat = [xp.reshape(xp.broadcast_to(double(xp, x), shape), (-1,)) for x in arrays]
            result = xp.reshape(in_chunks(xp, partial(function, xp, **params), *flat), shape)
            return result.astype(dtype, copy=False)[()] if xp is np else xp.astype(result, dtype)

        return kernel

    return make_kernel


def double(xp: Any, x: Any) -> Any:
    """An array in float64."""
    return x.astype(np.float64, copy=False) if xp is np else xp.astype(x, xp.float64)


def fraction(xp: Any, words: Any) -> Any:
    """Uniform multiples of 2⁻⁵³ in [0, 1) from random words."""
    return double(xp, words >> 11) * 2.0**-53


def unit(xp: Any, words: Any) -> Any:
    """Uniform numbers inside (0, 1), symmetric about ½, from random words: the middles of 2⁵² intervals."""
    return double(xp, words >> 12) * 2.0**-52 + 2.0**-53


def places(xp: Any, mask: Any) -> Any:
    """An index of the entries where a mask holds: with NumPy their positions, which are faster than the mask."""
    return np.flatnonzero(mask) if xp is np else mask


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """Σ cₖ·xᵏ by Horner's rule."""
    *rest, y = coefficients
    y = x * y + rest.pop()
    for c in reversed(rest):
        y *= x
        y += c
    return y


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


def normal_quantile(xp: Any, p: Any) -> Any:
    """The inverse of the normal distribution function, to 1e-15 relative for all 0 < p < 1; ±∞ at 0 and 1."""
    q = p - 0.5
    central = 0.180625 - q * q
    y = q * (polynomial(CENTRAL[0], central) / polynomial(CENTRAL[1], central))
    outer = places(xp, ~(xp.abs(q) <= 0.425))
    p, q = p[outer], q[outer]
    r = xp.sqrt(-xp.log(xp.where(q < 0, p, 1 - p)))
    tail = polynomial(MIDDLE[0], r - 1.6) / polynomial(MIDDLE[1], r - 1.6)
    far = places(xp, r > 5)
    tail[far] = polynomial(FAR[0], r[far] - 5) / polynomial(FAR[1], r[far] - 5)
    tail = xp.where(r == math.inf, math.inf, tail)
    y[outer] = xp.where(q < 0, -tail, tail)
    return y


# Chebyshev coefficients of e^(x²/2)·(1 − Φ(x))/t in 2t − 1, where t = 4/(4 + x).
MILLS = (
    0.24261280114151915, 0.18792720420989265, 0.05554838891881276, 0.012129438315111521, 0.0017314801240606202,
    8.014961859953749e-05, -2.5136847908026697e-05, -4.725842254926741e-06, 2.5258922136865774e-07,
    1.536333687349456e-07, -8.452550300172939e-10, -5.171627015435708e-09, -2.8206509081173767e-11,
    1.9435038070971737e-10, -2.485356047851177e-12, -7.936207374645758e-12, 4.606201711176235e-13,
    3.2821541166777413e-13, -4.353840663163703e-14, -1.2268185079261061e-14, 3.232846081541394e-15,
    3.0451658804315853e-16, -2.0130368431552333e-16,
)  # fmt: skip


def normal_cdf(xp: Any, x: Any) -> Any:
    """Φ(x), to 1e-15 relative also in the lower tail."""
    size = xp.minimum(xp.abs(x), xp.full_like(x, 40.0))
    t = 4 / (4 + size)
    u = 4 * t - 2
    following, current = xp.zeros_like(t), xp.zeros_like(t)
    for c in MILLS[:0:-1]:  # Clenshaw's rule
        following, current = current, u * current - following + c
    mills = t * (0.5 * u * current - following + MILLS[0])
    # x² with its rounding error, which the exponential would magnify
    head = xp.floor(size * 16) / 16
    upper = mills * xp.exp(-0.5 * head * head) * xp.exp(-0.5 * (size - head) * (size + head))
    return xp.where(x < 0, upper, 1 - upper)


# -- the gamma function ------------------------------------------
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
SHIFT = 12  # the asymptotic series are summed at x + SHIFT


def log_gamma(xp: Any, x: Any) -> Any:
    """log Γ(x) for x > 0, to about 1e-15·(1 + |result|), by Stirling's series."""
    product = x
    for k in range(1, SHIFT):
        product = product * (x + k)
        if k == SHIFT // 2:
            product, first = x * 0 + 1, xp.log(product)
    y = x + SHIFT
    series = sum(b / (2 * k * (2 * k - 1)) / y ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1))
    return (y - 0.5) * xp.log(y) - y + 0.5 * math.log(2 * math.pi) + series - first - xp.log(product)


def polygamma(xp: Any, x: Any, *, n: int) -> Any:
    """The derivative of order n of the digamma function ψ = Γ′/Γ for x > 0; NaN for negative x.

    n!·(−1)ⁿ⁺¹·Σ (x + k)⁻ⁿ⁻¹, its first terms summed and the others by the Euler-Maclaurin formula; ψ has the logarithm
    in the place of the integral.
    """
    shift, sign = SHIFT + n, -1 if n % 2 == 0 else 1
    y = x + shift
    total = -xp.log(y) if n == 0 else math.factorial(n - 1) / y**n
    total = total + math.factorial(n) / y ** (n + 1) / 2
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b * (math.factorial(2 * k + n - 1) / math.factorial(2 * k)) / y ** (2 * k + n)
    for k in range(shift - 1, -1, -1):
        total = total + math.factorial(n) / (x + k) ** (n + 1)
    return xp.where(x < 0, math.nan, sign * total)


@cache
def quadrature(count: int) -> list[tuple[float, float]]:
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return [*zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist())]


def expm1_rest(xp: Any, x: Any) -> Any:
    """eˣ − 1 − x."""
    series = polynomial(tuple(1 / math.factorial(k) for k in range(2, 18)), x)
    return xp.where(xp.abs(x) < 1, x * x * series, xp.expm1(x) - x)


def gamma_moment(xp: Any, a: Any, w: Any, upper: Any, *, n: int) -> Any:
    """∫₀^∞ sⁿ·exp(±a·s − z·(e^±s − 1)) ds, where z = e^w, and + holds where `upper`.

    These are moments of the distribution of log Γ(a) beyond w, above it or below, over the density at w. For small z
    by the series of exp(z·e^−s), where z is large by 32 nodes up to where the integrand is e⁻⁴⁰: exact to 1e-13 for the
    shorter tail (above for z > a, below for z < a), where its logarithm falls and is concave.
    """
    z = xp.exp(w)
    sign = 2 * upper - 1
    small = (sign < 0) & (z <= 1.5)
    result = xp.zeros_like(z)

    b, y = a[small], z[small]
    term = series = math.factorial(n) * xp.exp(y)
    series = series / b ** (n + 1)
    for k in range(1, 30):
        term = term * (-y / k)
        series = series + term / (b + k) ** (n + 1)
    result[small] = series

    rest = ~small
    a, z, sign = a[rest], z[rest], sign[rest]
    slope = sign * (z - a)

    def exponent(s: Any) -> Any:
        return -slope * s - z * expm1_rest(xp, sign * s)

    # From bounds on the right of the root, in whose neighbourhood Newton's iteration runs to the left.
    above = 80 / (slope + xp.sqrt(slope * slope + 80 * z))
    below = 80 / (slope + xp.sqrt(slope * slope + 160 / 3 * z))
    end = xp.where(sign > 0, above, xp.where(below <= 1, below, (40 + z) / a))
    for _ in range(8):
        end = end - (exponent(end) + 40) / (sign * (a - z * xp.exp(sign * end)))
    total = xp.zeros_like(z)
    for node, weight in quadrature(32):
        s = node * end
        total = total + weight * s**n * xp.exp(exponent(s))
    result[rest] = total * end
    return result
