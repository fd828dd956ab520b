"""Products and diagonals, with the signatures of numpy.linalg."""

from __future__ import annotations

import numpy as np

from ...core.errors import ShapeError
from ...core.typing import Array, ArrayLike, Axis, DType
from .. import contraction, manipulation
from ..composite import composite, operand

matmul, matrix_transpose = contraction.matmul, manipulation.matrix_transpose


@composite(np.linalg.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    return contraction.vecdot(x1, x2, axis=axis)


@composite(np.linalg.cross)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    return contraction.cross(x1, x2, axis=axis)


@composite(np.linalg.outer)
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    x1, x2 = operand(x1), operand(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return contraction.outer(x1, x2)


@composite(np.linalg.tensordot)
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Axis = 2) -> Array:
    return contraction.tensordot(x1, x2, axes)


@composite(np.linalg.diagonal)
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes."""
    return manipulation.diagonal(x, offset, -2, -1)


@composite(np.linalg.trace)
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DType = None) -> Array:
    """The traces of the matrices in the last two axes."""
    return contraction.trace(x, offset, -2, -1, dtype)


__all__ = ["cross", "diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]
