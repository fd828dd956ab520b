"""The gamma function and related functions on arrays of any namespace: float64, with one axis.

For negative x the reflection formula subtracts, so results near zeros of the function are exact only up to the rounding
of its terms. Coefficients without a formula were computed with 50 digits.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..core.costs import NODE_ENTRIES
from .special import chebyshev, polynomial, replace_where, to_float64

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
LARGE = 10.0  # where asymptotic series take over from recurrence

# Chebyshev coefficients of log Γ(2 + z)/z in 2z.
LOG_GAMMA = (
    0.41418612492156676, 0.16322170068760064, -0.008658972394126285, 0.0006727515726001485,
    -6.139556963628233e-05, 6.110065797003576e-06, -6.410003033826223e-07, 6.962242692768951e-08,
    -7.747248733788217e-09, 8.774075140687239e-10, -1.0070266869830198e-10, 1.1678602130652374e-11,
    -1.3656871334744932e-12, 1.6079351149711552e-13, -1.9039501088488732e-14, 2.2653768767833064e-15,
    -2.706656814831896e-16, 3.245660731626191e-17,
)  # fmt: skip
# The zero of ψ in two parts, and Chebyshev coefficients of ψ(x)/(x − zero) in 2x − 3.
PSI_ZERO = (1.4616321449683622, 9.549995429965697e-17)
PSI = (
    0.983570260441567, -0.2270640863346444, 0.03336889902393011, -0.005320077271596548, 0.0008788656937820505,
    -0.00014773492650606044, 2.5060543468359146e-05, -4.2721034029993324e-06, 7.302769272465923e-07,
    -1.2502886813559594e-07, 2.1425009322359472e-08, -3.673295918565179e-09, 6.299717236108931e-10,
    -1.080593028883266e-10, 1.853735192053638e-11, -3.18023536582553e-12, 5.456147570322795e-13,
    -9.360993131036438e-14, 1.606064636295075e-14, -2.7555431377438815e-15, 4.727736178601912e-16,
    -8.11148420346509e-17,
)  # fmt: skip


def nearest_integer_offset(xp: Any, x: Any) -> Any:
    """Return x less the nearest integer."""
    return x - xp.round(x)


# -- log Γ ------------------------------------------
STIRLING = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1))


def log_gamma(xp: Any, x: Any) -> Any:
    """log |Γ(x)|; for x ≥ 0 to 1e-15 relative, also near its zeros 1 and 2. ∞ at the poles."""
    size = xp.where(x < 0, 1 - x, x)
    result = (size - 0.5) * (xp.log(size) - 1) + 0.5 * math.log(2 * math.pi / math.e)
    result = result + polynomial(STIRLING, 1 / (size * size)) / size
    result = replace_where(xp, result, size < LARGE, lambda size: log_gamma_below_ten(xp, size), size)

    def reflect(x: Any, mirrored: Any) -> Any:
        sine = xp.abs(xp.sin(math.pi * nearest_integer_offset(xp, x)))
        return xp.where(x == -math.inf, math.inf, xp.log(math.pi / sine) - mirrored)

    return replace_where(xp, result, x < 0, reflect, x, result)


def log_gamma_below_ten(xp: Any, x: Any) -> Any:
    """log Γ(x) for 0 ≤ x < 10, from log Γ(2 + z) for |z| ≤ ½."""
    product = 0 * x + 1
    for _ in range(8):
        beyond = x > 2.5
        x = xp.where(beyond, x - 1, x)
        product = xp.where(beyond, product * x, product)
    z = xp.where(x < 0.5, x, xp.where(x < 1.5, x - 1, x - 2))
    moved = xp.where(x < 1.5, -xp.log1p(z), xp.log(product))
    return z * chebyshev(LOG_GAMMA, 4 * z) + moved - xp.where(x < 0.5, xp.log(x), 0 * x)


# -- its derivatives ------------------------------------------
PSI_SERIES = tuple(-b / (2 * k) for k, b in enumerate(BERNOULLI, 1))


def polygamma(xp: Any, x: Any, *, n: int) -> Any:
    """The derivative of order n of the digamma function ψ = Γ′/Γ. At its poles ∞ where n is odd; else NaN, except
    at ±0, where it is ∓∞."""
    size = xp.where(x < 0, 1 - x, x)
    if n == 0:
        result = digamma(xp, size)
    else:
        result = (-1) ** (n + 1) * math.factorial(n) * hurwitz_zeta(xp, n + 1, size)

    def reflect(x: Any, mirrored: Any) -> Any:
        """The reflection formula ψ(1 − x) − ψ(x) = π·cot πx, differentiated."""
        apart = nearest_integer_offset(xp, x)
        # The tangent of the rest is exact where the cotangent is small.
        rest = xp.where(apart < 0, -0.5 - apart, 0.5 - apart)
        cot = xp.where(xp.abs(apart) > 0.25, xp.tan(math.pi * rest), 1 / xp.tan(math.pi * apart))
        reflected = (-1) ** n * mirrored - math.pi ** (n + 1) * polynomial(cot_derivative(n), cot)
        return reflected if n % 2 else xp.where(apart == 0, math.nan, reflected)

    return replace_where(xp, result, x < 0, reflect, x, result)


@cache
def cot_derivative(n: int) -> tuple[float, ...]:
    """Return the derivative of order n of cot x, as a polynomial in cot x."""
    slope = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        slope = slope.deriv() * np.polynomial.Polynomial([-1, 0, -1])
    return tuple(slope.coef.tolist())


def digamma(xp: Any, x: Any) -> Any:
    """ψ(x) for x ≥ 0, to 1e-15 relative, also near its zero."""
    inverse = 1 / x
    result = xp.log(x) - 0.5 * inverse + polynomial(PSI_SERIES, inverse * inverse) * inverse * inverse

    def recur(y: Any) -> Any:
        total = xp.where(y < 1, -1 / y, 0 * y)
        y = xp.where(y < 1, y + 1, y)
        for _ in range(8):
            beyond = y > 2
            y = xp.where(beyond, y - 1, y)
            total = xp.where(beyond, total + 1 / y, total)
        return total + (y - PSI_ZERO[0] - PSI_ZERO[1]) * chebyshev(PSI, 4 * y - 6)

    return replace_where(xp, result, x < LARGE, recur, x)


def hurwitz_zeta(xp: Any, s: Any, q: Any, power: int = 0) -> Any:
    """Σ f(q + k) for f(u) = (−log u)ᵖ·u⁻ˢ, s > 1 and q ≥ 0: the first terms directly, others by Euler–Maclaurin."""
    count = 12 + (s if isinstance(s, int) else 12)
    y = q + count
    log = -xp.log(y) if power else 0 * y
    falling = [(-1) ** j * math.perm(power, j) / (s - 1) ** (j + 1) for j in range(power, -1, -1)]
    total = y ** (1 - s) * horner(falling, log)
    decay, slope = y**-s, [0.0] * power + [1.0]
    total = total + 0.5 * decay * horner(slope, log)
    for m in range(
        2 * len(BERNOULLI) - 1
    ):  # the next derivative of f is u⁻ˢ⁻ᵐ⁻¹ times a polynomial in −log u
        above = [*(j * c for j, c in enumerate(slope[1:], 1)), 0.0]
        slope, decay = [-(s + m) * c - a for c, a in zip(slope, above)], decay / y
        if m % 2 == 0:
            term = BERNOULLI[m // 2] / math.factorial(m + 2) * decay * horner(slope, log)
            total = total - xp.where(decay == 0, 0.0, term)  # where the powers of s may have overflowed
    for u in [*(q + k for k in range(count - 1, 0, -1)), q]:
        total = total + (u**-s * (-xp.log(u)) ** power if power else u**-s)
    return total


def horner(coefficients: list, x: Any) -> Any:
    """Σ cₖ·xᵏ, where the coefficients may be arrays."""
    *rest, y = coefficients
    for c in reversed(rest):
        y = y * x + c
    return y


def zeta(xp: Any, s: Any, q: Any, *, power: int) -> Any:
    """A derivative of Σ (q + k)⁻ˢ with respect to s; ∞ for s = 1 and of the sum itself at q = 0, −1, …, NaN for s < 1.
    For other q < 0 the sum has values where s is an integer, and so no derivatives."""
    total = hurwitz_zeta(xp, s, xp.where(q == 0, 0.0, q), power)  # of −0, odd powers would be −∞
    if power == 0:
        total = replace_where(xp, total, q < 0, lambda s, q: zeta_negative_q(xp, s, q), s, q)
    else:
        total = xp.where(q < 0, math.nan, total)
    pole = math.inf if power % 2 == 0 else -math.inf
    return xp.where(s < 1, math.nan, xp.where(s == 1, pole, total))


def zeta_negative_q(xp: Any, s: Any, q: Any) -> Any:
    """Compute Σ (q + k)⁻ˢ for q < 0 as the difference of two sums: the terms with positive base, and reflected ones."""
    above, under = xp.ceil(q) - q, q - xp.floor(q)
    sign = xp.where(s % 1 == 0, 1 - 2 * (s % 2), math.nan)
    total = hurwitz_zeta(xp, s, under) + sign * (hurwitz_zeta(xp, s, above) - hurwitz_zeta(xp, s, 1 - q))
    return xp.where((above == 0) & (s > 1), math.inf, total)


# -- the gamma distribution ------------------------------------------
TINY = float(np.finfo(float).tiny)
NODES = 32  # of the quadrature


@cache
def quadrature(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss-Legendre quadrature on [0, 1], as columns."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return ((nodes + 1) / 2)[:, None], (weights / 2)[:, None]


EXPONENTIAL = tuple(1 / math.factorial(k) for k in range(2, 18))


def expm1_rest(xp: Any, x: Any) -> Any:
    """eˣ − 1 − x."""
    series = polynomial(EXPONENTIAL, x)
    return xp.where(xp.abs(x) < 1, x * x * series, xp.expm1(x) - x)


def gamma_moment(xp: Any, a: Any, w: Any, upper: Any, *, n: int) -> Any:
    """`tail_moment` at z = e^w."""
    return tail_moment(xp, a, xp.exp(w), upper, n=n)


def tail_moment(xp: Any, a: Any, z: Any, upper: Any, *, n: int) -> Any:
    """∫₀^∞ sⁿ·exp(±a·s − z·(e^±s − 1)) ds, where + holds where `upper`.

    These are moments of the distribution of log Γ(a) beyond log z, above it or below, over the density there. For
    small z by the series of exp(z·e^−s), where z is large by 32 nodes up to where the integrand is e⁻⁴⁰: exact to 1e-13
    for the shorter tail (above for z > a, below for z < a), where its logarithm falls and is concave.
    """
    small = (upper < 0.5) & (z <= 1.5)
    result = xp.zeros_like(z)
    result = replace_where(xp, result, small, lambda a, z: moment_by_series(xp, a, z, n), a, z)

    def integrate(a: Any, z: Any, sign: Any) -> Any:
        return moment_by_quadrature(xp, a, z, sign, n)

    return replace_where(xp, result, ~small, integrate, a, z, 2 * upper - 1)


def moment_by_series(xp: Any, a: Any, z: Any, n: int) -> Any:
    """The series of exp(z·e^−s), integrated term by term."""
    term = series = math.factorial(n) * xp.exp(z)
    series = series / a ** (n + 1)
    for k in range(1, 30):
        term = term * (-z / k)
        series = series + term / (a + k) ** (n + 1)
    return series


def moment_by_quadrature(xp: Any, a: Any, z: Any, sign: Any, n: int) -> Any:
    """The integral up to where the integrand is e⁻⁴⁰."""
    slope = sign * (z - a)

    def exponent(s: Any) -> Any:
        return -slope * s - z * expm1_rest(xp, sign * s)

    # From bounds on the right of the root, in whose neighbourhood Newton's iteration runs to the left.
    above = 80 / (slope + xp.sqrt(slope * slope + 80 * z))
    below = 80 / (slope + xp.sqrt(slope * slope + 160 / 3 * z))
    end = xp.where(sign > 0, above, xp.where(below <= 1, below, (40 + z) / a))
    for _ in range(8):
        end = end - (exponent(end) + 40) / (sign * (a - z - z * xp.expm1(sign * end)))
    total = xp.zeros_like(z)
    if xp is not np:  # nodes are numbers, which need not be moved to a device
        for node, weight in zip(*(v[:, 0].tolist() for v in quadrature(NODES))):
            s = node * end
            total = total + weight * s**n * xp.exp(exponent(s))
        return total * end
    count = max(1, NODE_ENTRIES // max(1, z.shape[0]))
    for start in range(0, NODES, count):
        nodes, weights = (v[start : start + count] for v in quadrature(NODES))
        s = nodes * end
        total = total + np.sum(weights * s**n * np.exp(exponent(s)), axis=0)
    return total * end


def log_density(xp: Any, a: Any, x: Any) -> Any:
    """xᵃ·e⁻ˣ/Γ(a), the density of the gamma distribution in log x; NaN outside a ≥ 0, x ≥ 0. For large a as a
    Gaussian function of the distance to the maximum, in which no large terms cancel."""
    usual = xp.minimum(x, xp.full_like(x, 1e3)) ** a * xp.exp(-x - log_gamma(xp, a))
    stirling = polynomial(STIRLING, 1 / (a * a)) / a
    large = xp.sqrt(a / (2 * math.pi)) * xp.exp(a * log_rest(xp, (x - a) / a, x / a) - stirling)
    result = xp.where(a > LARGE, large, usual)
    return xp.where((a >= 0) & (x >= 0), xp.where(x == math.inf, 0.0, result), math.nan)


def gamma_density(xp: Any, a: Any, x: Any) -> Any:
    """xᵃ⁻¹·e⁻ˣ/Γ(a)."""
    origin = xp.where((a > 0) & (a < 1), math.inf, xp.where(a == 1, 1.0, xp.where(a > 1, 0 * a, math.nan)))
    return xp.where(x == 0, origin, log_density(xp, a, x) / x)


def log_rest(xp: Any, x: Any, y: Any) -> Any:
    """log(y) − x for y = 1 + x."""
    v = x / (2 + x)
    series = v * (2 * v * v * polynomial(tuple(1 / k for k in range(3, 35, 2)), v * v) - x)
    return xp.where(xp.abs(x) < 0.5, series, xp.log(y) - x)


def incomplete_gamma(xp: Any, a: Any, x: Any, *, upper: bool) -> Any:
    """The probability of a gamma variable of shape a below or above x, computed from the shorter part. For a = 0 (or so
    small that its inverse overflows) it is all at 0."""
    longer = x > xp.where(a > 1.5, a, 0 * a + 1.5)
    tail = xp.minimum(
        log_density(xp, a, x) * tail_moment(xp, a, x, to_float64(xp, longer), n=0), xp.ones_like(x)
    )
    result = xp.where(longer == upper, tail, 1 - tail)
    below, above = (1.0, 0.0) if upper else (0.0, 1.0)
    result = xp.where(
        (x == 0) | (a == math.inf), below, xp.where((x == math.inf) | (a < TINY), above, result)
    )
    return xp.where((a >= 0) & (x >= 0) & (a + x > 0) & ((x < math.inf) | (a < math.inf)), result, math.nan)
