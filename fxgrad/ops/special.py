"""Special functions, closed under differentiation: the rules are exact at every order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..kernels import gamma, special
from ..kernels.special import real_kernel
from .kinds import elementwise
from .vocabulary import ops

# -- the normal distribution ------------------------------------------
DENSITY = 1 / math.sqrt(2 * math.pi)
normal_cdf = elementwise(
    "normal_cdf",
    lambda t, y, x: t * (DENSITY * ops.exp(-0.5 * x * x)),
    kernel=real_kernel(special.normal_cdf, "normal_cdf"),
)
normal_quantile = elementwise(
    "normal_quantile",
    lambda t, y, p: t * (ops.exp(0.5 * y * y) / DENSITY),
    kernel=real_kernel(special.normal_quantile, "normal_quantile"),
)

# -- error functions ------------------------------------------
SLOPE = 2 / math.sqrt(math.pi)
erf = elementwise(
    "erf", lambda t, y, x: t * (SLOPE * ops.exp(-x * x)), kernel=real_kernel(special.erf, "erf")
)
erfc = elementwise(
    "erfc", lambda t, y, x: t * (-SLOPE * ops.exp(-x * x)), kernel=real_kernel(special.erfc, "erfc")
)
erf_inv = elementwise(
    "erf_inv", lambda t, y, x: t * (ops.exp(y * y) / SLOPE), kernel=real_kernel(special.erf_inv, "erf_inv")
)
erfcx = elementwise(
    "erfcx", lambda t, y, x: t * (2 * x * y - SLOPE), kernel=real_kernel(special.erfcx, "erfcx")
)
# φ(x)/Φ(x) is the slope, of which neither side is lost in the tail.
log_normal_cdf = elementwise(
    "log_normal_cdf",
    lambda t, y, x: t * (math.sqrt(2 / math.pi) / erfcx(-math.sqrt(0.5) * x)),
    kernel=real_kernel(special.log_normal_cdf, "log_normal_cdf"),
)

# -- the gamma function ------------------------------------------
log_gamma = elementwise(
    "log_gamma",
    lambda t, y, x: t * polygamma(x, n=0),
    kernel=real_kernel(gamma.log_gamma, "log_gamma"),
)
polygamma = elementwise(
    "polygamma",
    lambda t, y, x, *, n: t * polygamma(x, n=n + 1),
    kernel=real_kernel(gamma.polygamma, "polygamma"),
    static=("n",),
)


def zeta_partial_q(t: Any, y: Any, s: Any, q: Any, *, power: int) -> Any:
    slope = -s * zeta(s + 1, q, power=power)
    return t * (slope - power * zeta(s + 1, q, power=power - 1) if power else slope)


# The derivative of order `power` of Hurwitz' zeta function Σ (q + k)⁻ˢ with respect to s.
zeta = elementwise(
    "zeta",
    lambda t, y, s, q, *, power: t * zeta(s, q, power=power + 1),
    zeta_partial_q,
    kernel=real_kernel(gamma.zeta, "zeta"),
    static=("power",),
)


# -- the gamma distribution ------------------------------------------
def tail_sign(upper: Any) -> Any:
    return ops.where(upper, 1.0, -1.0)


def gamma_moment_partial_w(t: Any, y: Any, a: Any, w: Any, upper: Any, *, n: int) -> Any:
    """Integrate by parts: ∂Mₙ/∂w = (z − a)·Mₙ ∓ n·Mₙ₋₁, and ∓1 in the place of the latter for n = 0."""
    boundary = 1.0 if n == 0 else n * gamma_moment(a, w, upper, n=n - 1)
    return t * ((ops.exp(w) - a) * y - tail_sign(upper) * boundary)


# ∫₀^∞ sⁿ·q(w ± s) ds / q(w) for the density q of log Γ(a), upwards from w where `upper` and else downwards.
gamma_moment = elementwise(
    "gamma_moment",
    lambda t, y, a, w, upper, *, n: t * (tail_sign(upper) * gamma_moment(a, w, upper, n=n + 1)),
    gamma_moment_partial_w,
    None,
    kernel=real_kernel(gamma.gamma_moment, "gamma_moment"),
    static=("n",),
)


def gamma_shift(a: Any, w: Any) -> Any:
    """dw/da at a fixed value of the distribution function F(w; a) of log Γ(a): −(∂F/∂a)/q(w). With ∂q/∂a = (w − ψ(a))·q
    that is an integral over the tail, of moments that can be differentiated again, to any order."""
    upper = ops.greater(ops.exp(w), ops.maximum(a, 1.5))  # the shorter tail
    centred = w - polygamma(a, n=0)
    return tail_sign(upper) * centred * gamma_moment(a, w, upper, n=0) + gamma_moment(a, w, upper, n=1)


# The density xᵃ⁻¹·e⁻ˣ/Γ(a).
gamma_density = elementwise(
    "gamma_density",
    lambda t, y, a, x: t * (y * (ops.log(x) - polygamma(a, n=0))),
    lambda t, y, a, x: t * (y * ((a - 1) / x - 1)),
    kernel=real_kernel(gamma.gamma_density, "gamma_density"),
)


def incomplete_partial_a(t: Any, y: Any, a: Any, x: Any, *, upper: bool) -> Any:
    at_end = ops.logical_or(ops.logical_or(ops.equal(x, 0), ops.isinf(x)), ops.isinf(a))
    a = ops.maximum(ops.where(ops.isinf(a), 1.0, a), 1e-30)  # below which the slope does not change
    slope = x * gamma_density(a, x) * gamma_shift(a, ops.log(x))
    return t * ((1 if upper else -1) * ops.where(at_end, 0.0, slope))


# The part of that distribution below x, or above.
incomplete_gamma = elementwise(
    "incomplete_gamma",
    incomplete_partial_a,
    lambda t, y, a, x, *, upper: t * ((-1 if upper else 1) * gamma_density(a, x)),
    kernel=real_kernel(gamma.incomplete_gamma, "incomplete_gamma"),
    static=("upper",),
)


# -- the beta distribution ------------------------------------------
def beta_moment_partials(moment: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rules of a, b, u and upper of a primitive that computes `kernels.beta.beta_moment`."""

    def partial_u(t: Any, y: Any, a: Any, b: Any, u: Any, upper: Any, *, m: int, n: int) -> Any:
        """By the theorem of Leibniz: what the end adds for m = n = 0, and what the powers and q(u) lose as it moves."""
        x = ops.sigmoid(u)
        slope = (a * (x - 1) + b * x) * y
        if m == n == 0:
            slope = slope + ops.where(upper, -1.0, 1.0)
        if m:
            slope = slope + m * (x - 1) * moment(a, b, u, upper, m=m - 1, n=n)
        if n:
            slope = slope + n * x * moment(a, b, u, upper, m=m, n=n - 1)
        return t * slope

    return (
        lambda t, y, a, b, u, upper, *, m, n: t * moment(a, b, u, upper, m=m + 1, n=n),
        lambda t, y, a, b, u, upper, *, m, n: t * moment(a, b, u, upper, m=m, n=n + 1),
        partial_u,
        None,
    )


# -- Bessel functions ------------------------------------------
def middle_difference(function: Callable[..., Any], order: Any, x: Any) -> Any:
    """(Cᵥ₋₁ − Cᵥ₊₁)/2, the derivative of J, Y and Hankel's functions (https://dlmf.nist.gov/10.6.E1)."""
    return 0.5 * (function(order - 1, x) - function(order + 1, x))


def middle_sum(function: Callable[..., Any], order: Any, x: Any) -> Any:
    """(Cᵥ₋₁ + Cᵥ₊₁)/2, the derivative of I, and but for its sign of K (https://dlmf.nist.gov/10.29.E1)."""
    return 0.5 * (function(order - 1, x) + function(order + 1, x))


def bessel_moment_partial(t: Any, y: Any, x: Any, *, order: int, power: int, degree: int) -> Any:
    slope = -ops.sign(x) * bessel_moment(x, order=order, power=power + 1, degree=degree)
    if degree:
        slope = slope + degree * bessel_moment(x, order=order, power=power, degree=degree - 1)
    return t * slope


# I_n(x)·e^−|x| for degree = order, as one of a family of integrals of positive functions: the derivative of the product
# would be a difference of nearly equal terms.
bessel_moment = elementwise(
    "bessel_moment",
    bessel_moment_partial,
    kernel=real_kernel(special.bessel_moment, "bessel_moment"),
    static=("order", "power", "degree"),
)
