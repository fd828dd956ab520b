"""Sparse matrices in coordinate form: data, rows and columns of equal length. Entries at the same place are summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.common_errors import no_kernel
from ..core.errors import ShapeError
from ..core.library import load_library
from .kinds import General, ensure_batched, linear, on_numpy, register
from .linalg import compute_dtype, linalg_kernel, sum_terms
from .projection import project
from .vocabulary import ops


class SparseOperation(General):
    """An operation (data, rows, columns, x) → y of a sparse matrix and the columns of a dense one, linear in x. Over
    a batch axis of x all columns are taken at once, over one of the entries the matrices are the blocks of one."""

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        data, rows, columns, x = values
        m, n = params["shape"]
        if not any(is_batched[:3]):
            k = aval_of(x).shape[-1]
            x = ops.reshape(ops.permute(x, axes=(1, 2, 0)), shape=(n, k * size))
            y = self.call(data, rows, columns, x, **params)
            return ops.permute(ops.reshape(y, shape=(m, k, size)), axes=(2, 0, 1)), True
        data, rows, columns, x = (ensure_batched(v, b, size) for v, b in zip(values, is_batched))
        first, count, k = np.arange(size)[:, None], size * aval_of(data).shape[-1], aval_of(x).shape[-1]
        y = self.call(
            ops.reshape(data, shape=(count,)),
            ops.reshape(ops.add(rows, first * m), shape=(count,)),
            ops.reshape(ops.add(columns, first * n), shape=(count,)),
            ops.reshape(x, shape=(size * n, k)),
            **{**params, "shape": (size * m, size * n)},
        )
        return ops.reshape(y, shape=(size, m, k)), True


def sparse_aval(self: Any, data: Aval, rows: Aval, columns: Aval, x: Aval, *, shape: tuple[int, int]) -> Aval:
    m, n = shape
    if not data.shape == rows.shape == columns.shape or len(x.shape) != 2 or x.shape[0] != n:
        raise ShapeError(
            f"{self.name}: {data.shape} entries at {rows.shape} rows and {columns.shape} columns of a matrix of shape "
            f"{shape}, and an operand of shape {x.shape}",
            hint=f"data, rows and columns of one length, and an operand [{n}, k]",
        )
    return Aval((m, x.shape[-1]), compute_dtype(self.name, data, x))


def sparse_operation(
    name: str, kernel: Callable[..., Any], portable: Callable[..., Any], **rules: Any
) -> Callable[..., Any]:
    """Declare a `SparseOperation`: kernel(matrix of SciPy's, x) for NumPy's arrays, portable(xp, data, rows, columns,
    x, shape) for those of other libraries."""

    def compute(data: Any, rows: Any, columns: Any, x: Any, *, shape: tuple[int, int]) -> Any:
        sparse = load_library("scipy.sparse", "scipy", name)
        dtype = compute_dtype(name, data, x)
        return kernel(sparse.coo_array((data.astype(dtype), (rows, columns)), shape=shape), x.astype(dtype))

    def make_kernel(xp: Any) -> Callable[..., Any]:
        if xp is np:
            return compute
        if not hasattr(xp.add, "at"):
            raise no_kernel(name, xp)
        return lambda data, rows, columns, x, *, shape: portable(xp, data, rows, columns, x, shape)

    return register(
        SparseOperation(name, make_kernel, abstract_rule=sparse_aval, batch_rule=None, **rules)
    ).call


def entries_of_product(left: Any, right: Any, rows: Any, columns: Any) -> Any:
    """Return the entries at places of LRᵀ."""
    index = (ops.ARRAY, slice(None))
    return ops.reduce_sum(
        ops.getitem(left, rows, index=index) * ops.getitem(right, columns, index=index), axes=(1,)
    )


def product_tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """Ȧx + Aẋ."""
    (data, rows, columns, x), (tdata, _, _, tx) = primals, tangents
    return sum_terms(
        None if tdata is None else sparse_matmul(tdata, rows, columns, x, **params),
        None if tx is None else sparse_matmul(data, rows, columns, tx, **params),
    )


def product_transpose(ct: Any, data: Any, rows: Any, columns: Any, x: Any, *, shape: tuple[int, int]) -> list:
    """Pull back to x by Aᵀ, and to the entries by those of ct·xᵀ."""
    if type(x) is Aval:
        return [None, None, None, sparse_matmul(data, columns, rows, ct, shape=shape[::-1])]
    return [entries_of_product(ct, x, rows, columns), None, None, None]


def add_products(xp: Any, data: Any, rows: Any, columns: Any, x: Any, shape: tuple[int, int]) -> Any:
    """Add to each row what its entries give."""
    terms = data[:, None] * x[columns, :]
    y = xp.zeros((shape[0], x.shape[-1]), dtype=terms.dtype)
    xp.add.at(y, rows, terms)
    return y


# Ax.
sparse_matmul = sparse_operation(
    "sparse_matmul",
    lambda a, x: a @ x,
    add_products,
    tangent_rule=product_tangent,
    transpose_rule=product_transpose,
)


def solve_kernel(a: Any, b: np.ndarray) -> np.ndarray:
    """Solve by SuperLU (X. S. Li, ACM Trans. Math. Software 31, 2005)."""
    if not b.size:
        return b
    linalg = load_library("scipy.sparse.linalg", "scipy", "sparse_solve")
    try:
        return linalg.splu(a.tocsc()).solve(np.ascontiguousarray(b))
    except RuntimeError as error:  # its own word for a zero pivot
        raise np.linalg.LinAlgError(str(error)) from None


def solve_dense(xp: Any, data: Any, rows: Any, columns: Any, b: Any, shape: tuple[int, int]) -> Any:
    """Solve with the whole matrix."""
    a = xp.zeros(shape, dtype=data.dtype)
    xp.add.at(a, (rows, columns), data)
    return xp.linalg.solve(a, b)


def solve_tangent(x: Any, primals: Any, tangents: Any, params: dict) -> Any:
    """A⁻¹(ḃ − Ȧx)."""
    (data, rows, columns, _), (tdata, _, _, tb) = primals, tangents
    moved = None if tdata is None else -sparse_matmul(tdata, rows, columns, x, **params)
    return sparse_solve(data, rows, columns, sum_terms(tb, moved), **params)


# A⁻¹b.
sparse_solve = sparse_operation(
    "sparse_solve",
    solve_kernel,
    solve_dense,
    tangent_rule=solve_tangent,
    transpose_rule=lambda ct, data, rows, columns, b, *, shape: [
        None,
        None,
        None,
        sparse_solve(data, columns, rows, ct, shape=shape),
    ],
)


# -- matrices of which products are known ------------------------------------------
def operator_aval(self: Any, x: Aval, *, operator: Any, transposed: bool) -> Aval:
    m, n = operator.shape[::-1] if transposed else operator.shape
    if len(x.shape) != 2 or x.shape[0] != n:
        raise ShapeError(
            f"{self.name}: an operator of shape {(m, n)} and an operand of shape {x.shape}",
            hint=f"an operand [{n}, k]",
        )
    return Aval((m, x.shape[1]), np.result_type(operator.dtype, compute_dtype(self.name, x)))


def operator_kernel(x: Any, *, operator: Any, transposed: bool) -> Any:
    """Multiply by A, or by Aᵀ, of which the operator knows the conjugate."""
    y = np.conj(operator.rmatmat(np.conj(x))) if transposed else operator.matmat(x)
    return np.asarray(y, np.result_type(operator.dtype, x.dtype, np.float32))


def operator_batch(x: Any, *, size: int, **params: Any) -> Any:
    _, n, k = aval_of(x).shape
    y = operator_product(ops.reshape(ops.permute(x, axes=(1, 2, 0)), shape=(n, k * size)), **params)
    return ops.permute(ops.reshape(y, shape=(aval_of(y).shape[0], k, size)), axes=(2, 0, 1))


# The product of an operator of scipy.sparse.linalg, which is constant, and the columns of x.
operator_product = linear(
    "operator_product",
    linalg_kernel("operator_product", on_numpy(operator_kernel)),
    abstract_rule=operator_aval,
    transpose_rule=lambda ct, x, *, operator, transposed: project(
        operator_product(ct, operator=operator, transposed=not transposed), x
    ),
    batch_rule=operator_batch,
    structural=False,
)
