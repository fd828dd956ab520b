"""Checks of stacks of matrices among the arguments, with NumPy's errors."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...core.common_errors import check_option
from ...core.typing import Array, ArrayLike
from ..composite import cast, dtype_of, operand


def as_inexact(x: Array) -> Array:
    """Return an array of a dtype that NumPy computes in; others are converted to float64."""
    return x if np.issubdtype(dtype_of(x), np.inexact) else cast(x, np.float64)


def as_matrix(value: ArrayLike) -> Array:
    """Check that an argument has two axes or more."""
    x = as_inexact(operand(value))
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"an array of shape {x.shape} is not a matrix")
    return x


def as_square_matrix(value: ArrayLike) -> Array:
    """Check that a matrix has as many rows as columns."""
    x = as_matrix(value)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def hermitian_matrix(value: ArrayLike, uplo: str = "L") -> Array:
    """Return the Hermitian matrix of which one triangle is given, with the derivative of a Hermitian
    matrix."""
    check_option("eigh", "UPLO", uplo, ("L", "U"), aliases=("l", "u"))
    return ops.mirror_triangle(as_square_matrix(value), upper=uplo.upper() == "U")


def batch_identity(a: Array, n: int) -> Array:
    """Return identities of order n, as many as there are matrices a (none of them empty)."""
    ones = ops.full_like(ops.getitem(a, index=(*(slice(None),) * (a.ndim - 2), slice(1), slice(1))), value=1)
    return ops.where(np.eye(n, dtype=bool), ops.broadcast_to(ones, shape=(*a.shape[:-2], n, n)), 0)


def machine_epsilon(a: Array) -> float:
    return float(np.finfo(dtype_of(a)).eps)


def relative_roundoff(a: Array) -> float:
    """Return the relative size of rounding errors in singular values, as NumPy takes it."""
    return max(a.shape[-2:]) * machine_epsilon(a)


__all__: list[str] = []
