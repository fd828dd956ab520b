"""`jax.nn`: what differs from `fxgrad.nn`."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ... import nn
from ... import numpy as fnp
from .lifting import lift
from .numpy import asarray

__all__ = ["hard_tanh", "leaky_relu", "one_hot", "relu"]


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Return ones at the places `x`, and zeros elsewhere, in single precision unless another dtype is given."""
    return lift(nn.one_hot)(x, num_classes, dtype=float if dtype is None else dtype, axis=axis)


def numbered(function: Any) -> Any:
    """Return a function of entries that takes truth values as integers."""
    lifted = lift(function)

    @wraps(function)
    def of_numbers(x: Any) -> Any:
        x = asarray(x)
        return lifted(x.astype(int) if x.dtype.kind == "b" else x)

    return of_numbers


hard_tanh, relu = numbered(nn.hard_tanh), numbered(nn.relu)


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """Return x where it is not negative, and a multiple of it elsewhere."""
    x = asarray(x)
    return lift(fnp.where)(x >= 0, x, negative_slope * x)
