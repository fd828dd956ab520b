"""Arguments as stacks of matrices, with NumPy's errors for what is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ..composite import cast, dtype_of, operand


def inexact(x: Any) -> Any:
    """An array of a dtype that NumPy computes in; others are converted to float64."""
    return x if np.issubdtype(dtype_of(x), np.inexact) else cast(x, np.float64)


def matrix(value: Any) -> Any:
    """An argument with two axes or more."""
    x = inexact(operand(value))
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    return x


def square(value: Any) -> Any:
    """A matrix with as many rows as columns."""
    x = matrix(value)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def selfadjoint(value: Any, uplo: str = "L") -> Any:
    """The Hermitian matrix of which one triangle is given, with the derivative of a Hermitian matrix."""
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return ops.selfadjoint(square(value), upper=uplo.upper() == "U")


def identity(a: Any, n: int) -> Any:
    """Identities of order n, as many as there are matrices a (none of them empty)."""
    ones = ops.full_like(ops.getitem(a, index=(*(slice(None),) * (a.ndim - 2), slice(1), slice(1))), value=1)
    return ops.where(np.eye(n, dtype=bool), ops.broadcast_to(ones, shape=(*a.shape[:-2], n, n)), 0)


def epsilon(a: Any) -> float:
    return float(np.finfo(dtype_of(a)).eps)


def roundoff(a: Any) -> float:
    """The relative size of rounding errors in singular values, as NumPy takes it."""
    return max(a.shape[-2:]) * epsilon(a)


__all__: list[str] = []
