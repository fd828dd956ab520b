"""`jax.scipy.special`: what differs from `fxgrad.scipy.special`."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...scipy import special
from .arrays import array_of, value_of
from .lifting import lift

__all__ = ["bernoulli", "logsumexp", "polygamma"]


def bernoulli(n: int) -> Any:
    """Return the Bernoulli numbers B₀ … Bₙ."""
    from scipy.special import bernoulli as bernoulli_numbers  # which is loaded for nothing else here

    return array_of(bernoulli_numbers(n)[: n + 1])


def polygamma(n: Any, x: Any) -> Any:
    """Return the derivative ψ⁽ⁿ⁾(x) of the digamma function; of orders in an array by (-1)ⁿ⁺¹ n! ζ(n + 1, x).

    Source: DLMF 25.11.12 (https://dlmf.nist.gov/25.11.E12).
    """
    if isinstance(n, int):
        return of_order(n, x)
    return of_any_order(n, x)


def with_zeta(n: Any, x: Any) -> Any:
    """Return ψ⁽ⁿ⁾(x) by Hurwitz' zeta function, and ψ(x) for n = 0; NaN for what is no order."""
    n, x = fnp.broadcast_arrays(n, x)
    n = n.astype(fnp.result_type(x, 1.0))
    is_order = (n > 0) & (n == fnp.floor(n))
    order = fnp.where(is_order, n, 1)
    size = fnp.exp(special.gammaln(order + 1)) * special.zeta(order + 1, x)
    signed = fnp.where(order % 2 == 1, size, -size)
    return fnp.where(n == 0, special.digamma(x), fnp.where(is_order, signed, fnp.nan))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return the logarithm of a sum of exponentials, of those entries `where` it is said."""
    if where is not None:
        b = fnp.where(value_of(where), 1.0 if b is None else value_of(b), 0.0)
    return summed(a, axis, b, keepdims, return_sign)


summed = lift(special.logsumexp)
of_order, of_any_order = lift(special.polygamma), lift(with_zeta)
