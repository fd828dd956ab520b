"""Products and diagonals, with the signatures of numpy.linalg."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.common_errors import check_ndim
from ...core.errors import ShapeError
from ...core.typing import Array, ArrayLike, DType
from .. import contraction, manipulation
from ..composite import composite, operand
from ..contraction import matmul
from ..documentation import LINEAR
from ..manipulation import matrix_transpose


@composite(np.linalg.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The sum Σ conj(x1)·x2 along an axis, the other axes broadcast.

    >>> fnp.linalg.vecdot(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    np.float64(11.0)
    """
    return contraction.vecdot(x1, x2, axis=axis)


@composite(np.linalg.cross)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three components along an axis; ValueError for other lengths.

    Raises:
        ValueError: the vectors have not 3 components.

    >>> fnp.linalg.cross(fnp.array([1.0, 0.0, 0.0]), fnp.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    x1, x2 = operand(x1), operand(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ShapeError(
            f"cross: x1 has {x1.shape[axis]} and x2 {x2.shape[axis]} components along axis {axis}, expected 3",
            hint="axis=, along which the components are; fnp.cross takes two components as well",
        )
    return contraction.cross(x1, x2, axis=axis)


@composite(np.linalg.outer)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of all entries of one vector with all of another; ValueError for other arrays.

    Raises:
        ValueError: an operand has not one axis.

    >>> fnp.linalg.outer(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    x1, x2 = operand(x1), operand(x2)
    check_ndim("outer", "x1", x1, 1)
    check_ndim("outer", "x2", x2, 1)
    return contraction.outer(x1, x2)


@composite(np.linalg.tensordot)
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: int | Sequence[int | Sequence[int]] = 2) -> Array:
    """The sum over pairs of axes of two arrays, as `fxgrad.numpy.tensordot`.

    >>> fnp.linalg.tensordot(fnp.ones((2, 3)), fnp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return contraction.tensordot(x1, x2, axes)


@composite(np.linalg.diagonal, derivative=LINEAR)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes.

    >>> fnp.linalg.diagonal(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    return manipulation.diagonal(x, offset, -2, -1)


@composite(np.linalg.trace, derivative=LINEAR)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DType = None) -> Array:
    """The traces of the matrices in the last two axes.

    >>> fnp.linalg.trace(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    np.float64(5.0)
    """
    return contraction.trace(x, offset, -2, -1, dtype)


__all__ = ["cross", "diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]
