"""The gamma function and its relatives: beta, binomials, factorials, zeta, incomplete integrals."""
# Declarations have no body, and rules name the function that they are declared with.
# pyright: reportGeneralTypeIssues=false, reportReturnType=false

from __future__ import annotations

import math
from functools import partial
from operator import index
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, StructureError, UnsupportedError, concretize, ops
from ...numpy.composite import composite, operand
from ..reference import scipy_function
from .declare import is_complex, partial_of_formula, result_of, slope, special
from .elementary import log1p_quotient, xlog1py, xlogy

complete_gamma = partial(special, source="https://dlmf.nist.gov/5.2")
gamma_law = partial(special, source="https://dlmf.nist.gov/8.2, for the incomplete gamma functions")
beta_law = partial(
    special,
    source="https://dlmf.nist.gov/8.17, for the incomplete beta function in terms of which it is written",
)


def trigamma(x: Any) -> Any:
    return ops.complex_polygamma(x, n=1) if is_complex(x) else ops.polygamma(x, n=1)


# -- the gamma function ------------------------------------------
@special(lambda t, y, z: t * (y * psi(z)), at=(1.7,))
def gamma(z: ArrayLike) -> Array:
    """Γ(z) of real or complex z (https://dlmf.nist.gov/5.2.E1)."""


@complete_gamma(lambda t, y, x: t * psi(x), native="log_gamma", at=(1.7,))
def gammaln(x: ArrayLike) -> Array:
    """log |Γ(x)| of real x, ∞ at the poles."""


@complete_gamma(lambda t, y, z: t * psi(z), at=(1.7,))
def loggamma(z: ArrayLike) -> Array:
    """The principal branch of log Γ(z) of real or complex z, NaN for negative real numbers."""


@complete_gamma(None, at=(-1.3,))
def gammasgn(x: ArrayLike) -> Array:
    """The sign of Γ(x), whose derivative is 0."""


def rgamma_partial(t: Any, y: Any, z: Any) -> Any:
    """−y·ψ(z), and left of ½ the derivative of Γ(1 − z)·sin(πz)/π, which has no pole."""
    left = ops.less(ops.real(z), 0.5)
    at = ops.where(left, z, 0.25)
    reflected = gamma(1 - at) * (fnp.cos(math.pi * at) - psi(1 - at) * fnp.sin(math.pi * at) / math.pi)
    gone = ops.equal(y, 0)  # far out
    return t * ops.where(left, reflected, -y * psi(ops.where(ops.logical_or(left, gone), 1.0, z)))


def psi_difference(z: Any, m: Any) -> Any:
    """ψ(z + m) − ψ(z), from its asymptotic series (https://dlmf.nist.gov/5.11.E2) where that cancels."""
    end = z + m
    far = ops.logical_and(ops.greater(z, 1e3), ops.greater(end, 1e3))
    start, end = ops.where(far, z, 1e4), ops.where(far, end, 1e4)
    infinite = ops.isinf(start)
    start, end = ops.where(infinite, 1.0, start), ops.where(infinite, 1.0, end)
    step, inner = ops.where(far, m, 0.0) / start, 1 / end
    series = ops.log1p(step) + 0.5 * step * inner + step * inner * (1 / start + inner) / 12
    near = psi(ops.where(far, 1.0, z + m)) - psi(ops.where(far, 1.0, z))
    return ops.where(far, ops.where(infinite, 0.0, series), near)


@complete_gamma(rgamma_partial, at=(1.7,))
def rgamma(z: ArrayLike) -> Array:
    """1/Γ(z) of real or complex z, 0 at the poles of Γ."""


@special(lambda t, y, z: t * trigamma(z), native="polygamma", params={"n": 0}, at=(1.7,))
def psi(z: ArrayLike) -> Array:
    """The digamma function Γ′(z)/Γ(z) of real or complex z (https://dlmf.nist.gov/5.2.E2)."""


digamma = psi


def polygamma_of_arrays(n: Any, x: Any) -> Any:
    """The reference for plain arrays: SciPy's, of which the zeta functions of many entries take longer than ours."""
    known = polygamma_by_order if np.size(x) > ops.LIBRARY_ENTRIES else ops.special_functions(np).polygamma
    return known(n, x)


@composite(polygamma_of_arrays)
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order n of the digamma function, of real x (https://dlmf.nist.gov/5.15).

    Args:
        n: orders, whole numbers from 0 on that are known (not traced).
        x: real numbers, which broadcast against n.

    Returns:
        Array of the dtype of x, with derivatives in x.

    Raises:
        ValueError: an order is no such number.

    >>> print(f"{fx.scipy.special.polygamma(1, 1.0):.12f}")  # π²/6
    1.644934066848
    """
    return polygamma_by_order(n, x)


def polygamma_by_order(n: Any, x: Any) -> Any:
    """Choose between the functions of the orders that there are."""
    orders = np.asarray(concretize(n, "the order of polygamma"))
    if np.any((orders < 0) | (orders != np.floor(orders)) | (orders > 170)):
        raise StructureError(
            f"polygamma: the order n={n} is not a whole number from 0 to 170", hint="int(n), from 0 to 170"
        )
    x, result = operand(x), None
    for order in np.unique(orders):
        value = psi(x) if order == 0 else ops.polygamma(x, n=int(order))
        result = value if result is None else ops.where(np.equal(orders, order), value, result)
    shape = np.broadcast_shapes(orders.shape, x.shape)
    return ops.broadcast_to(x + 0.0 if result is None else result, shape=shape)


@scipy_function("special")
def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the gamma function of d × d matrices, Σ log Γ(a − i/2) + d·(d − 1)/4·log π for i < d
    (https://dlmf.nist.gov/35.3.E4).

    Args:
        a: real numbers above (d − 1)/2.
        d: a whole number.

    Returns:
        Array of the shape of a.

    Raises:
        ValueError: d is no positive whole number.

    >>> print(f"{fx.scipy.special.multigammaln(5.0, 3):.12f}")
    9.140644699193
    """
    d = index(d)
    if d < 1:
        raise StructureError(f"multigammaln: d={d} is not a positive whole number", hint="d=1 is gammaln")
    a = operand(a)
    total = 0.25 * d * (d - 1) * math.log(math.pi)
    for i in range(d):
        total = total + gammaln(a - 0.5 * i)
    return total  # type: ignore[return-value]


def poch_at_zero(z: Any, m: Any) -> Any:
    """Γ(z + m)/Γ(z), for derivatives at the poles of Γ(z)."""
    return gamma(z + m) * rgamma(z)


@special(
    lambda t, y, z, m: ops.where(
        ops.equal(y, 0), partial_of_formula(poch_at_zero, 0)(t, y, z, m), t * (y * psi_difference(z, m))
    ),
    lambda t, y, z, m: t * ops.where(ops.equal(y, 0), 0.0, y * psi(z + m)),
    at=(1.7, 0.6),
)
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol Γ(z + m)/Γ(z) of real z and m (https://dlmf.nist.gov/5.2.iii)."""


# -- the beta function and binomials ------------------------------------------
@special(
    lambda t, y, a, b: t * (y * -psi_difference(a, b)),
    lambda t, y, a, b: t * (y * -psi_difference(b, a)),
    at=(1.7, 0.6),
)
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Γ(a)·Γ(b)/Γ(a + b) of real a and b (https://dlmf.nist.gov/5.12.E1)."""


@special(
    lambda t, y, a, b: t * -psi_difference(a, b),
    lambda t, y, a, b: t * -psi_difference(b, a),
    at=(1.7, 0.6),
)
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log |B(a, b)| of real a and b.

    Source: https://dlmf.nist.gov/5.12.
    """


def binom_at_zero(n: Any, k: Any) -> Any:
    """Γ(n + 1)/(Γ(k + 1)·Γ(n − k + 1)) as a product without poles."""
    return gamma(n + 1) * rgamma(k + 1) * rgamma(n - k + 1)


def binom_partial(i: int) -> Any:
    def partial(t: Any, y: Any, n: Any, k: Any) -> Any:
        ratio = psi_difference(k + 1, n - 2 * k) if i else psi_difference(n - k + 1, k)
        return ops.where(ops.equal(y, 0), partial_of_formula(binom_at_zero, i)(t, y, n, k), t * (y * ratio))

    return partial


@special(binom_partial(0), binom_partial(1), at=(4.7, 1.6))
def binom(n: ArrayLike, k: ArrayLike) -> Array:
    """Γ(n + 1)/(Γ(k + 1)·Γ(n − k + 1)), binomial coefficients of real n and k.

    Source: https://dlmf.nist.gov/26.3.
    """


def zero_outside(value: Any, outside: Any) -> Any:
    return ops.where(outside, 0.0, value)


@scipy_function("special")
def factorial(n: ArrayLike, exact: bool = False, extend: str = "zero") -> Array:
    """n! = Γ(n + 1) of real n; of complex n with `extend="complex"`.

    Source: https://dlmf.nist.gov/5.4.E1.

    Args:
        n: numbers. With `extend="zero"`, the factorial of negative ones is 0.
        exact: whole numbers without rounding, for plain integers only.
        extend: "zero" or "complex".

    Returns:
        Array of the shape of n.

    Raises:
        UnsupportedError: `exact` with traced n.

    >>> print(fx.scipy.special.factorial(4.0), f"{fx.grad(fx.scipy.special.factorial)(0.0):.12f}")
    24.0 -0.577215664902
    """
    refuse_exact("factorial", exact)
    n = operand(n)
    value = gamma(n + 1)
    return value if extend == "complex" else zero_outside(value, ops.less(n, 0))


def refuse_exact(name: str, exact: bool) -> None:
    """Raise for whole numbers without rounding, which a traced value is not."""
    if exact:
        raise UnsupportedError(f"{name} with exact=True of a traced value", hint="exact=False")


@scipy_function("special")
def comb(N: ArrayLike, k: ArrayLike, *, exact: bool = False, repetition: bool = False) -> Array:
    """The number of choices of k out of N things, `binom(N, k)`, and 0 unless 0 ≤ k ≤ N.

    Source: https://dlmf.nist.gov/26.3.

    Args:
        N: the number of things.
        k: the number that is chosen.
        exact: whole numbers without rounding, for plain integers only.
        repetition: things may be chosen more than once.

    Returns:
        Array of the common shape.

    Raises:
        UnsupportedError: `exact=True` of a traced value.

    >>> print(fx.scipy.special.comb(5, 2), fx.scipy.special.comb(5, 2, exact=True))
    10.0 10
    """
    refuse_exact("comb", exact)
    n, k = operand(N), operand(k)
    if repetition:
        return ops.where(ops.equal(k, 0), 1.0, comb(n + k - 1, k))
    outside = ops.logical_or(ops.less(n, 0), ops.logical_or(ops.less(k, 0), ops.greater(k, n)))
    return zero_outside(binom(n, k), outside)


@scipy_function("special")
def perm(N: ArrayLike, k: ArrayLike, exact: bool = False) -> Array:
    """The number of arrangements of k out of N things, Γ(N + 1)/Γ(N − k + 1), and 0 unless 0 ≤ k ≤ N.

    Source: https://dlmf.nist.gov/26.3.

    Args:
        N: the number of things.
        k: the number that is arranged.
        exact: whole numbers without rounding, for plain integers only.

    Returns:
        Array of the common shape.

    Raises:
        UnsupportedError: `exact=True` of a traced value.

    >>> print(fx.scipy.special.perm(5, 2))
    20.0
    """
    refuse_exact("perm", exact)
    n, k = operand(N), operand(k)
    outside = ops.logical_or(ops.less(n, 0), ops.logical_or(ops.less(k, 0), ops.greater(k, n)))
    return zero_outside(poch(n - k + 1, k), outside)


# -- zeta ------------------------------------------
def borwein_weights(count: int) -> list[float]:
    """Return weights wₖ with Σ (−1)ᵏ/(k + 1)ˢ = Σ wₖ/(k + 1)ˢ to 2.6·5.8⁻ᶜᵒᵘⁿᵗ for Re s ≥ ½ (Borwein, "An efficient
    algorithm for the Riemann zeta function", 2000)."""
    terms = [
        count * math.factorial(count + i - 1) * 4**i // (math.factorial(count - i) * math.factorial(2 * i))
        for i in range(count + 1)
    ]
    sums = [sum(terms[: k + 1]) for k in range(count + 1)]
    return [(-1) ** k * (sums[-1] - sums[k]) / sums[-1] for k in range(count)]


ETA = borwein_weights(28)


def zeta_by_sum(s: Any) -> Any:
    """ζ(s) by the alternating series, for a real part of −½ at least."""
    total = 0.0
    for k, weight in enumerate(ETA):
        total = total + weight * ops.exp(-math.log(k + 1) * s)
    return total / -ops.expm1((1 - s) * math.log(2))


def zeta_by_reflection(s: Any) -> Any:
    """ζ(s), by the functional equation for a real part below −½ (https://dlmf.nist.gov/25.4.E1)."""
    left = ops.less(ops.real(s), -0.5)
    at = ops.where(left, s, 0.0)
    factor = 2.0**at * math.pi ** (at - 1) * ops.sin(0.5 * math.pi * at) * gamma(1 - at)
    reflected = factor * zeta_by_sum(ops.where(left, 1 - s, 2.0))
    return ops.where(left, reflected, zeta_by_sum(ops.where(left, 2.0, s)))


def zeta_slope(x: Any) -> Any:
    """ζ′, to the right of 1 by the series of logarithms."""
    if is_complex(x):
        return slope(zeta_by_reflection, (x,), 0)
    right = ops.greater(x, 1)
    by_series = ops.zeta(ops.where(right, x, 2.0), 1.0, power=1)
    return ops.where(right, by_series, slope(zeta_by_reflection, (ops.where(right, 0.0, x),), 0))


@scipy_function("special")
def zeta(x: ArrayLike, q: ArrayLike | None = None, out: None = None) -> Array:
    """Hurwitz' zeta function Σ (q + k)⁻ˣ over k = 0, 1, …, and Riemann's without q (https://dlmf.nist.gov/25.11).

    Args:
        x: real numbers; with q above 1, and without q also complex numbers.
        q: real numbers, which broadcast against x.
        out: refused.

    Returns:
        Array of the common shape.

    >>> print(f"{fx.scipy.special.zeta(2.0):.12f}")  # π²/6
    1.644934066848
    """
    x = operand(x)
    return riemann_zeta(x) if q is None else hurwitz_zeta(x, operand(q))


riemann_zeta = result_of("zeta", None, lambda t, y, x: t * zeta_slope(x), variant="riemann")
hurwitz_zeta = result_of(
    "zeta",
    None,
    lambda t, y, x, q: t * ops.zeta(x, q, power=1),
    lambda t, y, x, q: t * (-x * hurwitz_zeta(x + 1, q)),
    variant="hurwitz",
)


@special(lambda t, y, x: t * zeta_slope(x), at=(2.7,))
def zetac(x: ArrayLike) -> Array:
    """ζ(x) − 1 of real x.

    Source: https://dlmf.nist.gov/25.2.
    """


@special(lambda t, y, z: t * -log1p_quotient(z - 1), at=(1.7,))
def spence(z: ArrayLike) -> Array:
    """The dilogarithm ∫₁ᶻ log(t)/(1 − t) dt of real or complex z (https://dlmf.nist.gov/25.12.i)."""


# -- incomplete gamma functions ------------------------------------------
@special(
    lambda t, y, a, x: ops.incomplete_partial_a(t, y, a, x, upper=False),
    lambda t, y, a, x: t * ops.gamma_density(a, x),
    at=(1.7, 0.6),
)
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The lower incomplete gamma function ∫₀ˣ tᵃ⁻¹·e⁻ᵗ dt / Γ(a) for a > 0 and x ≥ 0 (https://dlmf.nist.gov/8.2.E4)."""


@gamma_law(
    lambda t, y, a, x: ops.incomplete_partial_a(t, y, a, x, upper=True),
    lambda t, y, a, x: t * -ops.gamma_density(a, x),
    at=(1.7, 0.6),
)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """1 − `gammainc` without the subtraction."""


@gamma_law(equation=lambda x, a, y: gammainc(a, x) - y, at=(1.7, 0.4))
def gammaincinv(a: ArrayLike, y: ArrayLike) -> Array:
    """The x with `gammainc(a, x) = y`."""


@gamma_law(equation=lambda x, a, y: gammaincc(a, x) - y, at=(1.7, 0.4))
def gammainccinv(a: ArrayLike, y: ArrayLike) -> Array:
    """The x with `gammaincc(a, x) = y`."""


# -- incomplete beta functions ------------------------------------------
def beta_density(a: Any, b: Any, x: Any) -> Any:
    """xᵃ⁻¹·(1 − x)ᵇ⁻¹/B(a, b)."""
    return ops.exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


LEAST_SHAPE = 1e-30  # below which derivatives in shapes change no more


def beta_slope(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """∂I/∂a of the incomplete beta function I at x = 1 − `rest`, of which the lesser is not rounded. With ∂q/∂a =
    (log x − ψ(a) + ψ(a + b))·q for the density q of the log odds that is an integral over the shorter tail, as for the
    gamma distribution."""
    inside = ops.logical_and(ops.greater(x, 0), ops.greater(rest, 0))
    inside = ops.logical_and(inside, ops.logical_not(ops.logical_or(ops.isinf(a), ops.isinf(b))))
    a, b = (ops.maximum(ops.where(ops.isinf(v), 1.0, v), LEAST_SHAPE) for v in (a, b))
    x, rest = ops.where(inside, x, 0.5), ops.where(inside, rest, 0.5)
    upper = ops.greater(x * (a + b), a)
    log_x, log_rest = (
        ops.where(ops.less(p, 0.5), ops.log(p), ops.log1p(-ops.where(ops.less(p, 0.5), 0.5, q)))
        for p, q in ((x, rest), (rest, x))
    )
    u = log_x - log_rest
    centred = log_x + psi_difference(a, b)
    tail = ops.beta_moment(a, b, u, upper, m=1, n=0) + centred * ops.beta_moment(a, b, u, upper, m=0, n=0)
    density = ops.exp(a * log_x + b * log_rest - betaln(a, b))
    return ops.where(inside, ops.where(upper, -1.0, 1.0) * density * tail, 0.0)


@special(
    lambda t, y, a, b, x: t * beta_slope(a, b, x, 1 - x),
    lambda t, y, a, b, x: t * -beta_slope(b, a, 1 - x, x),
    lambda t, y, a, b, x: t * beta_density(a, b, x),
    at=(1.7, 0.6, 0.3),
)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function ∫₀ˣ tᵃ⁻¹·(1 − t)ᵇ⁻¹ dt / B(a, b) for a, b > 0 and 0 ≤ x ≤ 1
    (https://dlmf.nist.gov/8.17.E2)."""


@beta_law(
    lambda t, y, a, b, x: t * -beta_slope(a, b, x, 1 - x),
    lambda t, y, a, b, x: t * beta_slope(b, a, 1 - x, x),
    lambda t, y, a, b, x: t * -beta_density(a, b, x),
    at=(1.7, 0.6, 0.3),
)
def betaincc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """1 − `betainc` without the subtraction."""


@beta_law(equation=lambda x, a, b, y: betainc(a, b, x) - y, at=(1.7, 0.6, 0.4))
def betaincinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Array:
    """The x with `betainc(a, b, x) = y`."""


@beta_law(equation=lambda x, a, b, y: betaincc(a, b, x) - y, at=(1.7, 0.6, 0.4))
def betainccinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Array:
    """The x with `betaincc(a, b, x) = y`."""


__all__ = [
    "beta", "betainc", "betaincc", "betainccinv", "betaincinv", "betaln", "binom", "comb", "digamma", "factorial",
    "gamma", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "gammaln", "gammasgn", "loggamma",
    "multigammaln", "perm", "poch", "polygamma", "psi", "rgamma", "spence", "zeta", "zetac",
]  # fmt: skip
