"""Norms and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.common_errors import check_option
from ...core.errors import LinAlgError, ShapeError
from ...core.typing import Array, ArrayLike, Axis
from ...ops.operators import remember_radicand
from ..composite import composite, dtype_of, normalize_axes, operand
from ..manipulation import moveaxis
from ..reductions import any, keep_reduced_axes, max, min, squared_modulus, sum
from .decompositions import svdvals
from .matrices import as_inexact, as_matrix, as_square_matrix


def euclidean_norm(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return √Σ|x|². Its derivative at the origin is 0 by convention, and its square has the derivative of
    Σ|x|²."""
    y = keep_reduced_axes(ops.norm2(x, axes=axes), x.shape, axes, keepdims)
    return remember_radicand(y, lambda x: sum(squared_modulus(x), axes, keepdims=keepdims), x)


def norm_of_vectors(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return (Σ|x|ᵖ)^(1/p) and its limits. As for p = 2 the derivative at the origin is 0 for p ≥ 1; for p <
    0 it is where an entry is 0."""
    if ord is None or ord == 2:
        return euclidean_norm(x, axes, keepdims)
    if isinstance(ord, str):
        raise ShapeError(
            f"Invalid norm order {ord!r} for vectors",
            hint="a number, fnp.inf or None; 'fro' and 'nuc' are norms of matrices",
        )
    size = ops.absolute(x)
    if ord == np.inf:
        return max(size, axes, keepdims=keepdims)
    if ord == -np.inf:
        return min(size, axes, keepdims=keepdims)
    if ord == 0:
        return sum(ops.not_equal(x, 0), axes, dtype_of(size), keepdims=keepdims)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    if ord < 0:  # one entry that is 0 makes the norm 0
        zero = ops.equal(size, 0)
        gone, size = any(zero, axes, keepdims=keepdims), ops.where(zero, 1, size)
    # With the dominant modulus as unit no power overflows or underflows. The norm does not depend on the unit.
    fixed = ops.stop_gradient(size)
    unit = (
        max(fixed, axes, keepdims=True, initial=0)
        if ord > 0
        else min(fixed, axes, keepdims=True, initial=np.inf)
    )
    unit = ops.where(ops.logical_or(ops.equal(unit, 0), ops.isinf(unit)), 1, unit)
    total = sum(ops.power(ops.divide(size, unit), ord), axes, keepdims=keepdims)
    root = ops.multiply(ops.power(total, 1 / ord), ops.reshape(unit, shape=total.shape))
    return ops.where(gone, 0, root) if ord < 0 else ops.where(ops.equal(total, 0), total, root)


def norm_of_matrices(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """Return Frobenius' norm; the greatest or least column (1, -1) or row (inf, -inf) sum or singular value
    (2, -2); the sum of the singular values ("nuc"), whose derivative is UVᴴ with the vectors to values that
    are not zero."""
    if ord in (None, "fro", "f"):
        return euclidean_norm(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        s = svdvals(moveaxis(x, axes, (-2, -1)))
        y = min(s[..., -1:], -1) if ord == -2 else sum(s if ord == "nuc" else s[..., :1], -1)
        return keep_reduced_axes(y, x.shape, axes, keepdims)
    check_option("norm of a matrix", "ord", ord, ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf))
    sums = sum(ops.absolute(x), axes[0] if ord in (1, -1) else axes[1], keepdims=True)
    y = max(sums, axes, initial=0) if ord > 0 else min(sums, axes)
    return keep_reduced_axes(y, x.shape, axes, keepdims)


def shortening(norm: Any, max_norm: Any) -> Any:
    """Return the factors that shorten what has these norms to `max_norm`: 1 where it is not longer, as under an
    infinite one; NaN where the norm is."""
    fits = ops.less_equal(norm, max_norm)
    return ops.where(fits, 1.0, ops.divide(max_norm, ops.where(fits, 1.0, norm)))


@composite(np.linalg.norm)
def norm(x: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The norm of vectors (one axis) or matrices (two axes); without `axis` and `ord`, of all entries.

    At the origin its derivative is 0 by convention; its square is differentiable there. Singular values that are zero
    have derivative 0 likewise, so that the gradient of `ord="nuc"` is the shortest of all subgradients, U·Vᴴ with the
    vectors to values above zero. Where the greatest (`ord=2`) or least (`ord=-2`) is a repeated one the gradient is
    NaN.

    Raises:
        ValueError: there is no such `ord`, or it is given for neither one axis nor two.

    >>> fx.grad(fnp.linalg.norm)(fnp.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> fx.grad(fnp.linalg.norm)(fnp.zeros(2))
    array([0., 0.])
    >>> fx.hessian(lambda x: fnp.linalg.norm(x) ** 2)(fnp.zeros(2))
    array([[2., 0.],
           [0., 2.]])
    """
    x = as_inexact(operand(x))
    axes = normalize_axes(axis, x.ndim)
    if (axis is None and ord is None) or len(axes) == 1:
        return norm_of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError(
            f"norm: ord={ord!r} over {len(axes)} axes of an array of shape {x.shape}",
            hint="axis=-1 for vectors, (-2, -1) for matrices, or x.ravel()",
        )
    return norm_of_matrices(x, ord, axes, keepdims)  # type: ignore[arg-type]


@composite(np.linalg.vector_norm)
def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of the entries along axes, taken as one vector; orders, derivatives and the convention at 0 are those of
    `norm`.

    Raises:
        ValueError: there is no such `ord`.

    >>> fnp.linalg.vector_norm(fnp.array([[3.0, 0.0], [0.0, 4.0]]))
    np.float64(5.0)
    """
    x = as_inexact(operand(x))
    return norm_of_vectors(x, ord, normalize_axes(axis, x.ndim), keepdims)


@composite(np.linalg.matrix_norm)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two axes; orders and derivatives are those of `norm`.

    >>> fnp.linalg.matrix_norm(fnp.array([[3.0, 0.0], [0.0, 4.0]]), ord="nuc").round(6)
    np.float64(7.0)
    """
    return norm(x, ord, (-2, -1), keepdims)


@composite(np.linalg.cond)
def cond(x: ArrayLike, p: ArrayLike | None = None) -> Array:
    """The condition number ‖x‖·‖x⁻¹‖ in the matrix norm of order p; None is 2, by singular values. It is infinite for
    singular matrices.

    Raises:
        LinAlgError: `x` is empty.

    >>> fx.grad(fnp.linalg.cond)(fnp.array([[4.0, 0.0], [0.0, 2.0]]))
    array([[ 0.5,  0. ],
           [ 0. , -1. ]])
    """
    x = as_matrix(x)
    if 0 in x.shape[-2:]:
        raise LinAlgError(f"cond of an empty matrix, of shape {x.shape}", hint="look at x.size first")
    if p in (None, 2, -2):
        s = svdvals(x)
        above, below = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
        y = ops.divide(above, ops.where(ops.equal(below, 0), np.nan, below))
    else:
        y = norm(x, p, (-2, -1)) * norm(ops.inv(as_square_matrix(x), strict=False), p, (-2, -1))
    unknown = ops.logical_and(ops.isnan(y), ops.logical_not(any(ops.isnan(x), (-2, -1))))
    return ops.with_derivative_of(ops.where(unknown, np.inf, ops.stop_gradient(y)), y)


__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]
