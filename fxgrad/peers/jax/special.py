"""`jax.scipy.special`: what differs from `fxgrad.scipy.special`."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...scipy import special
from .arrays import value_of
from .lifting import lift

__all__ = ["logsumexp"]


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
