"""Integrals and series that depend on parameters. The family is closed under differentiation by the parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.primitive import register
from ..kernels import beta, complex_gamma, elliptic, hypergeometric
from ..kernels.special import map_chunks, real_kernel
from .kinds import Elementwise
from .library import LIBRARY_FUNCTIONS
from .special import beta_moment_partials


def wide_kernel(function: Callable[..., Any]) -> Callable[[Any], Callable]:
    """Return the kernel factory of function(xp, *operands, **params) of real or complex arrays: operands are broadcast
    and computed with in double precision, the result has their common floating dtype."""

    def make_kernel(xp: Any) -> Callable:
        def kernel(*operands: Any, **params: Any) -> Any:
            dtype = xp.result_type(*operands)
            dtype = dtype if dtype.kind in "fc" else xp.float64
            arrays = [xp.asarray(x) for x in operands]
            wide = [x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in arrays]
            shape = np.broadcast_shapes(*[x.shape for x in arrays])
            flat = [xp.reshape(xp.broadcast_to(x, shape), (-1,)) for x in wide]
            result = map_chunks(xp, partial(function, xp, **params), *flat)
            return xp.reshape(result, shape).astype(dtype, copy=False)[()]

        return kernel

    return make_kernel


# -- the gamma function ------------------------------------------
# The derivative of order n ≥ 1 of the digamma function of complex numbers.
complex_polygamma = register(
    Elementwise(
        "complex_polygamma",
        wide_kernel(complex_gamma.polygamma),
        (lambda t, y, z, *, n: t * complex_polygamma(z, n=n + 1),),
        static=("n",),
    ),
    LIBRARY_FUNCTIONS,
).call


# -- elliptic integrals ------------------------------------------
def symmetric_partial(i: int) -> Callable[..., Any]:
    def partial_at(t: Any, y: Any, *operands: Any, halves: tuple[int, ...], q: int) -> Any:
        if not halves[i]:
            return t * 0.0
        raised = (*halves[:i], halves[i] + 2, *halves[i + 1 :])
        return t * (-0.5 * halves[i] * symmetric_integral(*operands, halves=raised, q=q))

    return partial_at


# ∫₀^∞ t^q·Π (t + xᵢ)^(−hᵢ/2) dt for hᵢ in `halves`: Carlson's integrals and all their derivatives.
symmetric_integral = register(
    Elementwise(
        "symmetric_integral",
        wide_kernel(elliptic.symmetric_integral),
        [symmetric_partial(i) for i in range(4)],
        static=("halves", "q"),
    ),
    LIBRARY_FUNCTIONS,
).call


# -- the beta distribution ------------------------------------------
beta_moment = register(
    Elementwise(
        "fine_beta_moment",
        real_kernel(partial(beta.beta_moment, rule=beta.FINE), "fine_beta_moment"),
        beta_moment_partials(lambda *operands, **params: beta_moment(*operands, **params)),
        static=("m", "n"),
    ),
    LIBRARY_FUNCTIONS,
).call


# -- hypergeometric series ------------------------------------------
def series_partial(i: int) -> Callable[..., Any]:
    def partial_at(t: Any, y: Any, *operands: Any, upper: int, orders: tuple[int, ...]) -> Any:
        raised = (*orders[:i], orders[i] + 1, *orders[i + 1 :])
        return t * hypergeometric_functions[len(operands)](*operands, upper=upper, orders=raised)

    return partial_at


# Hypergeometric series with two or three parameters, and all their derivatives.
hypergeometric_functions = {
    count: register(
        Elementwise(
            f"hypergeometric_series_{count}",
            wide_kernel(hypergeometric.hypergeometric_series),
            [series_partial(i) for i in range(count)],
            static=("upper", "orders"),
        ),
        LIBRARY_FUNCTIONS,
    ).call
    for count in (3, 4)
}


def kummer_series(a: Any, b: Any, z: Any) -> Any:
    """₁F₁(a; b; z) by its series."""
    return hypergeometric_functions[3](a, b, z, upper=1, orders=(0, 0, 0))


def gauss_series(a: Any, b: Any, c: Any, z: Any) -> Any:
    """₂F₁(a, b; c; z) by its series."""
    return hypergeometric_functions[4](a, b, c, z, upper=2, orders=(0, 0, 0, 0))
