"""`jax.nn`: what differs from `fxgrad.nn`."""

from __future__ import annotations

from typing import Any

from ... import nn
from .arrays import lift

__all__ = ["one_hot"]


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Return ones at the places `x`, and zeros elsewhere, in single precision unless another dtype is given."""
    return lift(nn.one_hot)(x, num_classes, dtype=float if dtype is None else dtype, axis=axis)
