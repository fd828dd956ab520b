"""SparseMatrix, the type of sparse derivatives while they are traced: `scipy.sparse` holds plain numbers only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary, concretize
from .dependence import sparse_library


class Places:
    """The places of the entries of a sparse matrix: `rows` and `columns` of a matrix of this `shape`, row by row. Equal
    ones are one to programs that are compiled for them."""

    __slots__ = ("columns", "hash", "rows", "shape")

    rows: Any
    columns: Any
    shape: tuple[int, int]
    hash: int

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]):
        self.rows, self.columns, self.shape = rows, columns, shape
        self.hash = hash((shape, rows.tobytes(), columns.tobytes()))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Places)
            and self.hash == other.hash
            and self.shape == other.shape
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
        )

    def __hash__(self) -> int:
        return self.hash


class SparseMatrix:
    """A sparse matrix whose entries may be traced: what `jacobian(…, sparsity=…)` gives inside other transforms, and
    what comes out of `jit`. It is a pytree with one leaf, `data`.

    `data` are its entries, of shape (n,) and under `vmap` with more axes before that; `rows` and `columns` their
    places. It is multiplied by dense vectors and matrices (`a @ x`); `todense()` gives an array, `to_scipy()` a
    `scipy.sparse.csr_array`.

    >>> pattern = np.eye(3, dtype=bool)
    >>> derivative = fx.jit(fx.jacobian(lambda x: x**2, sparsity=pattern))(np.arange(3.0))
    >>> derivative.shape, derivative.nnz
    ((3, 3), 3)
    >>> derivative @ np.ones(3)
    array([0., 2., 4.])
    """

    __slots__ = ("data", "places")

    data: Any
    places: Places

    @api_boundary
    def __init__(self, data: Any, places: Places):
        self.data, self.places = data, places

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (rows, columns)."""
        return self.places.shape

    @property
    def rows(self) -> Any:
        """The row of each entry: integers of shape (nnz,)."""
        return self.places.rows

    @property
    def columns(self) -> Any:
        """The column of each entry: integers of shape (nnz,)."""
        return self.places.columns

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return aval_of(self.data).dtype

    @property
    def nnz(self) -> int:
        """The number of entries that are stored."""
        return len(self.places.rows)

    def __matmul__(self, other: Any) -> Any:
        other = as_value(other)
        shape = aval_of(other).shape
        if len(shape) not in (1, 2) or shape[0] != self.shape[1]:
            raise ShapeError(
                f"a sparse matrix of shape {self.shape} times an operand of shape {shape}",
                hint=f"an operand of {self.shape[1]} rows, or the transposed matrix (.T)",
            )
        data = self.data if len(shape) == 1 else ops.reshape(self.data, shape=(self.nnz, 1))
        taken = ops.getitem(other, self.columns, index=(..., *[slice(None)] * (len(shape) - 1)))
        return ops.scatter_add(
            ops.multiply(data, taken),
            self.rows,
            index=(..., *[slice(None)] * (len(shape) - 1)),
            shape=(self.shape[0], *shape[1:]),
        )

    @property
    def T(self) -> SparseMatrix:
        """The transpose."""
        order = np.lexsort((self.rows, self.columns))
        places = Places(self.columns[order], self.rows[order], (self.shape[1], self.shape[0]))
        return SparseMatrix(ops.getitem(self.data, order, index=(...,)), places)

    def todense(self) -> Any:
        """Return the matrix as an array of all its entries."""
        return ops.scatter_add(self.data, self.rows, self.columns, index=(..., ...), shape=self.shape)

    def to_scipy(self) -> Any:
        """Return the matrix as a `scipy.sparse.csr_array`; raise ConcretizationError where its entries are not
        known."""
        data = self.data if type(self.data) is np.ndarray else concretize(self.data, "to_scipy()")
        return as_scipy(np.asarray(data), self.places)

    def __repr__(self) -> str:
        return f"<sparse matrix of shape {self.shape}, dtype {self.dtype}, with {self.nnz} entries>"


def as_scipy(data: np.ndarray, places: Places) -> Any:
    """Return entries that lie row by row as a `scipy.sparse.csr_array`."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(places.rows, minlength=places.shape[0]))])
    return sparse_library().csr_array((data, places.columns.copy(), starts), shape=places.shape)


def wrap_entries(data: Any, places: Places) -> Any:
    """Return a sparse matrix as the user gets it: SciPy's where its entries are plain numbers."""
    return as_scipy(data, places) if type(data) is np.ndarray else SparseMatrix(data, places)


def flatten(matrix: SparseMatrix) -> tuple[Iterable[Any], Hashable]:
    """Flatten a sparse matrix into its entries, and their places."""
    return (matrix.data,), matrix.places


def unflatten(places: Any, children: Iterable[Any]) -> SparseMatrix:
    """Make a sparse matrix of its entries and their places."""
    (data,) = children
    return SparseMatrix(data, places)


pytree.register_pytree_node(SparseMatrix, flatten, unflatten)
