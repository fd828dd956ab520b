"""Products and diagonals, with the signatures of numpy.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ShapeError
from .. import contraction, manipulation
from ..composite import composite, operand

matmul, matrix_transpose = contraction.matmul, manipulation.matrix_transpose


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


__all__ = ["cross", "diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]
