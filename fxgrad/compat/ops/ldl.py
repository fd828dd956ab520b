"""torch.linalg: LDL factorizations of symmetric and Hermitian matrices that need not be definite.

Bunch and Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems" (1977), with the
results in LAPACK's form: one matrix holds the block diagonal D and below it the columns of L, to which the exchanges of
later steps are not applied. Pivots count from 1; a block of two has the same negative pivot twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...extend import ops
from .._core.precision import value_dtype
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.spaces import expose
from ..errors import TensorError
from .entries import by_entries
from .linalg import check_pair, check_square, linalg_solve

THRESHOLD = (1 + math.sqrt(17)) / 8  # the growth of entries is least with it


def choose_pivot(a: np.ndarray, k: int) -> tuple[int, int]:
    """Return (the row that is exchanged, the size of the block) of step k."""
    size = np.abs(np.real(a)) + np.abs(np.imag(a))
    column = size[k + 1 :, k]
    if not column.size or max(size[k, k], column.max()) == 0:
        return k, 1
    place = k + 1 + int(column.argmax())
    most = column.max()
    if size[k, k] >= THRESHOLD * most:
        return k, 1
    row = max(size[place, k:place].max(), size[place + 1 :, place].max(initial=0))
    if size[k, k] * row >= THRESHOLD * most * most:
        return k, 1
    return place, 1 if size[place, place] >= THRESHOLD * row else 2


def exchange(a: np.ndarray, i: int, j: int, start: int) -> None:
    """Exchange two rows and columns of the part of a matrix that begins at `start`, in place."""
    a[[i, j], start:] = a[[j, i], start:]
    a[start:, [i, j]] = a[start:, [j, i]]


def factor(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (factors, pivots, the number of the first block that is zero, or 0) of the matrix with this lower
    triangle."""
    turned = np.conj if hermitian else np.positive
    a = np.tril(a) + turned(np.tril(a, -1)).T
    diagonal = np.diag_indices(len(a))
    pivots, info, k, n = np.zeros(len(a), ops.INFO), 0, 0, len(a)
    while k < n:
        place, step = choose_pivot(a, k)
        last = k + step
        exchange(a, last - 1, place, k)
        block, below = a[k:last, k:last], a[last:, k:last]
        pivots[k:last] = place + 1 if step == 1 else -(place + 1)
        if block.any():
            columns = np.linalg.solve(block.T, below.T).T
            a[last:, last:] -= columns @ turned(below).T
            a[last:, k:last] = columns
            if hermitian:
                a[diagonal] = np.real(a[diagonal])
        else:
            info = info or k + 1
        k = last
    return np.tril(a), pivots, info


def multiply_factors(packed: np.ndarray, pivots: np.ndarray, hermitian: bool) -> np.ndarray:
    """Return the matrix that has these factors."""
    turned = np.conj if hermitian else np.positive
    n = k = len(packed)
    a = np.zeros_like(packed)
    while k > 0:
        step = 1 if pivots[k - 1] > 0 else 2
        first = k - step
        place = abs(int(pivots[k - 1])) - 1
        block = packed[first:k, first:k]
        block = np.tril(block) + turned(np.tril(block, -1)).T
        columns = np.concatenate([np.eye(step, dtype=a.dtype), packed[k:, first:k]])
        a[first:n, first:n] += columns @ block @ turned(columns).T
        exchange(a, k - 1, place, first)
        k = first
    return a


@operation(
    "input",
    spaces="linalg",
    results=make_result_type("linalg_ldl_factor_ex", "LD", "pivots", "info"),
    constant=(0, 1, 2),
    by_value=True,
)
@by_entries
def linalg_ldl_factor_ex(input, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The LDL decomposition and error codes: (LD, pivots, info): as `ldl_factor`, and the number of the first block of
    D that is zero, or 0."""
    check_square("torch.linalg.ldl_factor_ex", input)
    (*batch, n, _), dtype = input.shape, value_dtype(input)
    packed = np.empty(input.shape, dtype)
    pivots, info = np.empty((*batch, n), ops.INFO), np.zeros(batch, ops.INFO)
    for i in np.ndindex(*batch):
        packed[i], pivots[i], info[i] = factor(input[i], hermitian)
    if check_errors and info.any():
        raise TensorError(
            f"linalg.ldl_factor_ex: D has a block that is zero, number {int(info[info > 0].flat[0])}",
            hint="A + eps * torch.eye(n) is regular",
        )
    return [packed, pivots, info]


FactorsOfLdl = make_result_type("linalg_ldl_factor", "LD", "pivots")


@expose("linalg", "ldl_factor")
@with_out
def linalg_ldl_factor(input: Tensor, *, hermitian: bool = False) -> Any:
    """A = LDLᵀ, or LDLᴴ if it is Hermitian, of which the lower triangle is read: D has blocks of one and two.

    Args:
        A: symmetric or Hermitian matrices of (…, n, n).
        hermitian: which of them, for complex entries.

    Returns:
        (LD, pivots) in LAPACK's form, for `ldl_solve`. There is no derivative.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[2.0], [6.0]])).flatten()
    tensor([3., 1.])
    """
    return FactorsOfLdl(*linalg_ldl_factor_ex(input, hermitian=hermitian)[:2])


@operation("LD pivots", spaces="", constant=(0,), by_value=True, out=False)
@by_entries
def matrix_of_factors(LD, pivots, hermitian: bool) -> Any:
    """The matrices that have these factors."""
    made = np.empty(LD.shape, value_dtype(LD))
    for i in np.ndindex(*LD.shape[:-2]):
        made[i] = multiply_factors(LD[i], pivots[i], hermitian)
    return made


@expose("linalg", "ldl_solve")
@with_out
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution X of AX = B, for the factors of A from `ldl_factor`; derivatives are taken by B only."""
    check_square("torch.linalg.ldl_solve", LD, "LD")
    check_pair("torch.linalg.ldl_solve", LD, B)
    if B.ndim < 2:
        raise TensorError(
            f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead",
            hint="B.unsqueeze(-1), one column",
        )
    if value_dtype(pivots) != ops.INFO:
        raise TensorError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype}",
            hint="pivots.to(torch.int32), as torch.linalg.ldl_factor gives them",
        )
    return linalg_solve(matrix_of_factors(LD, pivots, hermitian), B)
