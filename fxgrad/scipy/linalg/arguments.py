"""Checks of matrix arguments, with SciPy's errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...extend import Array, ArrayLike, ConcretizationError, ShapeError, concretize, ops
from ...numpy.composite import cast, dtype_of, kind, operand
from ...numpy.linalg.matrices import as_inexact, hermitian_matrix


def is_known_true(condition: Any) -> bool | None:
    """Return whether all of a condition on values hold, and None where these are staged or batched."""
    try:
        found = ops.reduce_all(condition, axes=tuple(range(condition.ndim)))
        return bool(concretize(found, "bool()"))
    except ConcretizationError:
        return None


def as_array(value: ArrayLike, check_finite: bool = False) -> Array:
    """Return an argument as an array of a floating dtype; with `check_finite`, values that are known are looked at."""
    x = as_inexact(operand(value))
    if check_finite and is_known_true(ops.isfinite(ops.stop_gradient(x))) is False:
        raise ShapeError(
            "an operand has NaN or infinite entries", hint="check_finite=False, or fnp.nan_to_num(a)"
        )
    return x


def as_matrix(value: ArrayLike, check_finite: bool = False) -> Array:
    """Return an argument of two axes or more."""
    x = as_array(value, check_finite)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"expected a matrix, the operand has shape {x.shape}")
    return x


def as_square_matrix(value: ArrayLike, check_finite: bool = False) -> Array:
    """Return an argument that has as many rows as columns."""
    x = as_matrix(value, check_finite)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(f"expected a square matrix, the operand has shape {x.shape}")
    return x


def as_hermitian_matrix(value: ArrayLike, lower: bool, check_finite: bool = False) -> Array:
    """Return the Hermitian matrix of which one triangle is given."""
    return hermitian_matrix(as_square_matrix(value, check_finite), "L" if lower else "U")


def require_regular(diagonal: Any) -> None:
    """Raise LinAlgError where a zero is known to be on the diagonal of a triangle."""
    if is_known_true(ops.not_equal(ops.stop_gradient(diagonal), 0)) is False:
        raise np.linalg.LinAlgError("singular matrix: there is a zero on the diagonal")


def symmetric_matrix(a: Array, lower: bool) -> Array:
    """Return the symmetric matrix of which one triangle is given, with the derivative of (A + Aᵀ)/2."""
    if kind(a) != "c":
        return hermitian_matrix(a, "L" if lower else "U")
    n, other = a.shape[-1], ops.matrix_transpose(a)
    given = np.tri(n, dtype=bool) if lower else ~np.tri(n, k=-1, dtype=bool)
    return ops.with_derivative_of(ops.where(given, a, other), (a + other) * 0.5)


def epsilon(x: Any) -> float:
    """Return the machine epsilon of the dtype of x."""
    return float(np.finfo(dtype_of(x)).eps)


def real_part_or_nan(x: Any, like: Any) -> Any:
    """Return the real part of a complex matrix where a real one is its argument; NaN where it is not real up to
    rounding."""
    if kind(like) == "c":
        return x
    size = ops.absolute(ops.stop_gradient(x))
    axes = (x.ndim - 2, x.ndim - 1)
    most = ops.restore_axes(ops.reduce_max(size, axes=axes), size.shape, axes) if x.size else size
    wrong = ops.greater(ops.absolute(ops.imag(ops.stop_gradient(x))), most * epsilon(x) ** (2 / 3))
    wrong = ops.reduce_any(wrong, axes=axes)
    real = ops.where(ops.restore_axes(wrong, size.shape, axes), np.nan, ops.real(x))
    return cast(real, ops.real_dtype(dtype_of(x)))


__all__: list[str] = []
