"""torch.linalg: the exponential of matrices."""

from __future__ import annotations

from typing import Any

from ...extend import ops
from .._declare.operation import operation
from .declarers import add_aliases
from .linalg import check_square


@operation("input", spaces="linalg", out=False)
def linalg_matrix_exp(input) -> Any:
    """The exponentials of square matrices.

    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    check_square("linalg.matrix_exp", input)
    return ops.matrix_exp(input)


add_aliases(matrix_exp=linalg_matrix_exp)
