"""`fxgrad.numpy.linalg`: norms that need no singular values, and the products that NumPy keeps here too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.errors import ShapeError, UnsupportedError
from ..ops.operators import rooted
from . import contraction, manipulation
from .composite import axes_tuple, cast, composite, dtype_of, operand
from .reductions import finished, max, min, squared_modulus, sum

matmul, matrix_transpose = contraction.matmul, manipulation.matrix_transpose


# -- norms ------------------------------------------
def inexact(x: Any) -> Any:
    """An array of a dtype that NumPy has norms of; others are converted to float64."""
    return x if np.issubdtype(dtype_of(x), np.inexact) else cast(x, np.float64)


def euclidean(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """√Σ|x|². Its derivative at the origin is 0 by convention, and its square has the derivative of Σ|x|²."""
    y = finished(ops.norm2(x, axes=axes), x.shape, axes, keepdims)
    return rooted(y, lambda: sum(squared_modulus(x), axes, keepdims=keepdims))


def of_vectors(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """(Σ|x|ᵖ)^(1/p) and its limits. As for p = 2 the derivative at the origin is 0 for p ≥ 1."""
    if ord is None or ord == 2:
        return euclidean(x, axes, keepdims)
    if isinstance(ord, str):
        raise ShapeError(f"Invalid norm order {ord!r} for vectors")
    size = ops.absolute(x)
    if ord == np.inf:
        return max(size, axes, keepdims=keepdims)
    if ord == -np.inf:
        return min(size, axes, keepdims=keepdims)
    if ord == 0:
        return sum(ops.not_equal(x, 0), axes, dtype_of(size), keepdims=keepdims)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    total = sum(ops.power(size, ord), axes, keepdims=keepdims)
    root = ops.power(total, 1 / ord)
    return ops.where(ops.equal(total, 0), total, root) if ord > 0 else root


def of_matrices(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """Frobenius' norm, and the greatest or least column (1, -1) or row (inf, -inf) sum."""
    if ord in (None, "fro", "f"):
        return euclidean(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        raise UnsupportedError(f"the matrix norm of order {ord!r} needs singular values, which are not there yet",
                               hint="orders None, 'fro', 1, -1, inf and -inf")  # fmt: skip
    if ord not in (1, -1, np.inf, -np.inf):
        raise ShapeError("Invalid norm order for matrices.")
    sums = sum(ops.absolute(x), axes[0] if ord in (1, -1) else axes[1], keepdims=True)
    return finished((max if ord > 0 else min)(sums, axes), x.shape, axes, keepdims)


@composite(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors (one axis) or matrices (two axes); without `axis` and `ord`, of all entries.

    At the origin its derivative is 0 by convention; its square is differentiable there.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.grad(fnp.linalg.norm)(fnp.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> fx.grad(fnp.linalg.norm)(fnp.zeros(2))
    array([0., 0.])
    >>> fx.hessian(lambda x: fnp.linalg.norm(x) ** 2)(fnp.zeros(2))
    array([[2., 0.],
           [0., 2.]])
    """
    x = inexact(operand(x))
    axes = axes_tuple(axis, x.ndim)
    if (axis is None and ord is None) or len(axes) == 1:
        return of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError("Improper number of dimensions to norm.")
    return of_matrices(x, ord, axes, keepdims)  # type: ignore[arg-type]


@composite(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of the entries along axes, taken as one vector."""
    x = inexact(operand(x))
    return of_vectors(x, ord, axes_tuple(axis, x.ndim), keepdims)


@composite(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


# -- products and diagonals, with the signatures of numpy.linalg ------------------------------------------
@composite(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return contraction.vecdot(x1, x2, axis=axis)


@composite(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return contraction.cross(x1, x2, axis=axis)


@composite(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return contraction.outer(x1, x2)


@composite(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return contraction.tensordot(x1, x2, axes)


@composite(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes."""
    return manipulation.diagonal(x, offset, -2, -1)


@composite(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The traces of the matrices in the last two axes."""
    return contraction.trace(x, offset, -2, -1, dtype)


__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_transpose", "norm", "outer", "tensordot", "trace",
    "vecdot", "vector_norm",
]  # fmt: skip
