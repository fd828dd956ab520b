"""Products of sparse matrices with dense ones and with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from ..errors import NotSupportedError, TensorError
from ..ops.matmul import inner_size_error
from .construction import coalesced, make_indices


def check_matrices(name: str, a: Tensor, b: Tensor) -> None:
    """Check that two matrices can be multiplied."""
    if a.ndim != 2 or b.ndim != 2:
        raise TensorError(
            f"{name}: expected 2D tensors, but got {a.ndim}D and {b.ndim}D",
            hint="torch.mv of a matrix and a vector; x.to_dense() for other ranks",
        )
    if a.shape[1] != b.shape[0]:
        raise inner_size_error(a.shape, b.shape)
    if a.dtype is not b.dtype:
        raise TensorError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}",
            hint=f"b.to({a.dtype})",
        )


def multiply(a: Tensor, b: Tensor, name: str = "mm") -> Any:
    """Multiply two matrices, at least one of them sparse; the product is sparse if both are."""
    check_matrices(name, a, b)
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return multiply_sparse(a, b)
    from .matrix_product import apply_matrix  # Functions take long to load, and few programs need them

    if isinstance(a, SparseTensor):
        return apply_matrix(a.entries, b, a.places, a.shape[0])
    return apply_matrix(b.entries, a.t(), b.places[::-1], b.shape[1]).t()


def multiply_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Multiply two sparse matrices. Each entry of the one meets those entries of the other that are in its row."""
    a, b = coalesced(a), coalesced(b)
    starts = np.searchsorted(b.places[0], np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[a.places[1]]
    left = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = starts[a.places[1]][left] + within
    products = a.entries[make_indices(left)] * b.entries[make_indices(right)]
    places = np.stack([a.places[0][left], b.places[1][right]])
    made = coalesced(SparseTensor.of(places, products, (a.shape[0], b.shape[1])))
    return SparseTensor.of(made.places, made.entries, made.shape, True, a.compressed and b.compressed)


def multiply_any(a: Tensor, b: Tensor) -> Any:
    """Multiply a matrix by a matrix or vector: `matmul`, where one of them is sparse."""
    if b.ndim == 1:
        return multiply(a, b.unsqueeze(1), "mv").squeeze(1)
    if a.ndim == 1:
        return multiply(a.unsqueeze(0), b, "matmul").squeeze(0)
    return multiply(a, b, "matmul")


def add_product(input: Tensor, mat1: Tensor, mat2: Tensor, beta: complex = 1, alpha: complex = 1) -> Any:
    """beta · input + alpha · mat1 @ mat2."""
    product = multiply(mat1, mat2, "addmm")
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


SparseTensor.OPERATIONS.update(mm=multiply, mv=multiply_any, matmul=multiply_any, addmm=add_product)


# -- torch.sparse ------------------------------------------
def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Any:
    """Multiply two matrices, the first of which is sparse; with derivatives by the entries and by the dense matrix.

    Args:
        sparse: a sparse matrix (n, m).
        dense: a dense or sparse matrix (m, p).
        reduce: how products are united; None and "sum", by their sum, are there.

    Returns:
        The product (n, p): dense, or sparse if both are.

    Raises:
        TensorError: shapes or dtypes that do not fit.
        NotSupportedError: another `reduce`.

    >>> s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(s, torch.eye(2))
    tensor([[0., 2.],
            [3., 0.]])
    """
    if reduce not in (None, "sum"):
        raise NotSupportedError(f"torch.sparse.mm: reduce={reduce!r} is not here", hint='reduce="sum"')
    if isinstance(sparse, SparseTensor) or isinstance(dense, SparseTensor):
        return multiply(sparse, dense)
    return sparse.mm(dense)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Any:
    """Return beta · input + alpha · mat1 @ mat2, where mat1 is sparse: see `mm`.

    >>> a = torch.tensor([[0.0, 2.0]]).to_sparse()
    >>> torch.sparse.addmm(torch.ones(1, 1), a, torch.tensor([[3.0], [4.0]]))
    tensor([[9.]])
    """
    return input.addmm(mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> SparseTensor:
    """Return beta · input + alpha · mat1 @ mat2 at the places of the sparse `input` alone.

    Args:
        input: a sparse matrix (n, p).
        mat1, mat2: dense matrices (n, m) and (m, p).

    Raises:
        TensorError: `input` is not sparse, or shapes do not fit.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     places = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(places, torch.ones(2, 1), torch.ones(1, 2)).values()
    tensor([2., 2.])
    """
    if not isinstance(input, SparseTensor):
        raise TensorError(
            "sampled_addmm: Expected self to have sparse csr layout, but got Strided",
            hint="input.to_sparse_csr()",
        )
    check_matrices("sampled_addmm", mat1, mat2)
    row, column = map(make_indices, input.places)
    products = (mat1.index_select(0, row) * mat2.t().index_select(0, column)).sum(1)
    return input.with_entries(input.entries * beta + products * alpha)
