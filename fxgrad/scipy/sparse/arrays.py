"""Sparse matrices as pytrees: their entries are a leaf, the indices are part of the structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ShapeError, SparseMatrix, Tracer, api_boundary, fit_product, ops
from ...numpy.composite import dtype_of, normalize_axis_index, operand
from ...tree import register_pytree_node_class
from ..reference import library


class Places:
    """The rows and columns of entries, and the shape of the matrix; compared by value."""

    __slots__ = ("columns", "digest", "rows", "shape")

    def __init__(self, rows: Any, columns: Any, shape: tuple[int, int]):
        self.rows: np.ndarray = np.array(rows, np.intp)
        self.columns: np.ndarray = np.array(columns, np.intp)
        self.rows.flags.writeable = self.columns.flags.writeable = False
        m, n = shape
        self.shape: tuple[int, int] = (int(m), int(n))
        for name, positions, size in (
            ("row", self.rows, self.shape[0]),
            ("column", self.columns, self.shape[1]),
        ):
            if positions.ndim != 1 or (positions.size and not 0 <= positions.min() <= positions.max() < size):
                raise ShapeError(
                    f"{name} positions of shape {positions.shape} are no vector of numbers from 0 to {size - 1}",
                    hint=f"positions from 0 to {size - 1}, or a larger shape=",
                )
        self.digest: int = hash((self.shape, self.rows.tobytes(), self.columns.tobytes()))

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places) and (
            self is other
            or (
                self.shape == other.shape
                and np.array_equal(self.rows, other.rows)
                and np.array_equal(self.columns, other.columns)
            )
        )

    def __repr__(self) -> str:
        return f"{len(self.rows)} places of {self.shape[0]} x {self.shape[1]}"

    def transposed(self) -> Places:
        """Return the places of the transpose."""
        m, n = self.shape
        return Places(self.columns, self.rows, (n, m))


@register_pytree_node_class
class coo_array:
    """A sparse matrix given by entries, which may be traced, and by their rows and columns, which are known numbers.

    It is a pytree whose leaf is `data`: arguments and results of transforms may be such matrices, and a gradient is one
    with the same places. Entries at one place are summed.

    Args:
        arg1: (data, (row, col)), a sparse array of SciPy, a `fx.SparseMatrix`, or a dense matrix: what is not 0 of
            known numbers, all of traced ones.
        shape: the shape, if it is not that of `arg1` or of the greatest indices.

    Raises:
        ValueError: the entries and their positions are not equally many.

    >>> a = sparse.coo_array((fnp.array([2.0, 3.0]), ([0, 1], [1, 0])))
    >>> a @ fnp.array([1.0, 10.0])
    array([20.,  3.])
    >>> fx.grad(lambda a: fnp.sum(a @ fnp.array([1.0, 10.0])))(a).data
    array([10.,  1.])
    """

    data: Any
    places: Places
    __array_ufunc__ = None  # so that NumPy's arrays leave their operators to it

    @api_boundary
    def __init__(self, arg1: Any, shape: tuple[int, int] | None = None):
        if isinstance(arg1, coo_array):
            self.data, self.places = arg1.data, arg1.places
            return
        if isinstance(arg1, SparseMatrix):
            arg1, shape = (arg1.data, (arg1.rows, arg1.columns)), arg1.shape
        if isinstance(arg1, Tracer):
            rows, columns = np.indices(arg1.shape).reshape(arg1.ndim, -1)
            arg1, shape = (fnp.ravel(arg1), (rows, columns)), (arg1.shape[0], arg1.shape[1])
        if not isinstance(arg1, tuple):
            found = library("sparse", "fxgrad.scipy.sparse").coo_array(arg1)
            arg1, shape = (found.data, (found.row, found.col)), found.shape
        data, (row, col) = arg1
        data, row, col = operand(data), np.asarray(row), np.asarray(col)
        if shape is None:
            shape = (int(row.max(initial=-1)) + 1, int(col.max(initial=-1)) + 1)
        if data.shape != row.shape or row.shape != col.shape:
            raise ShapeError(
                f"coo_array: rows of shape {row.shape}, columns {col.shape} and data {data.shape}",
                hint="three vectors of one length, an entry of each for an entry of the matrix",
            )
        self.data, self.places = data, Places(row, col, shape)

    @classmethod
    def made_of(cls, data: Any, places: Places) -> coo_array:
        """Return the matrix with entries at places."""
        made = object.__new__(cls)
        made.data, made.places = data, places
        return made

    def tree_flatten(self) -> tuple[tuple[Any], Places]:
        """See `fxgrad.tree.register_pytree_node_class`."""
        return (self.data,), self.places

    @classmethod
    def tree_unflatten(cls, places: Places, children: Any) -> coo_array:
        """See `fxgrad.tree.register_pytree_node_class`."""
        (data,) = children
        return cls.made_of(data, places)

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.places.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return dtype_of(self.data)

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.places.rows)

    @property
    def row(self) -> np.ndarray:
        """The row of each entry."""
        return self.places.rows

    @property
    def col(self) -> np.ndarray:
        """The column of each entry."""
        return self.places.columns

    def transpose(self) -> coo_array:
        """Return the transpose."""
        return self.made_of(self.data, self.places.transposed())

    @property
    def T(self) -> coo_array:
        """The transpose."""
        return self.transpose()

    def conj(self) -> coo_array:
        """Return the complex conjugate."""
        return self.made_of(fnp.conj(self.data), self.places)

    def toarray(self) -> Array:
        """Return the dense matrix.

        >>> sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0]))).toarray()
        array([[0., 3.],
               [4., 0.]])
        """
        return fnp.at(fnp.zeros(self.shape, self.dtype))[self.row, self.col].add(self.data)

    todense = toarray

    def tocoo(self) -> coo_array:
        """Return the matrix itself, as do `tocsr`, `tocsc` and `asformat`: this class stands for all formats of
        SciPy's.

        >>> sparse.eye_array(2).tocsr().tocoo().shape
        (2, 2)
        """
        return self

    tocsr = tocsc = tocoo

    def asformat(self, format: str | None = None) -> coo_array:
        """Return the matrix itself: see `tocoo`."""
        return self

    def diagonal(self, k: int = 0) -> Array:
        """Return the k-th diagonal.

        >>> sparse.diags_array([fnp.array([2.0, 3.0])], offsets=[1]).diagonal(1)
        array([2., 3.])
        """
        m, n = self.shape
        size = max(min(m + min(k, 0), n - max(k, 0)), 0)
        chosen = np.flatnonzero(self.col - self.row == k)
        start = fnp.zeros((size,), self.dtype)
        return fnp.at(start)[np.minimum(self.row, self.col)[chosen]].add(self.data[chosen])

    def sum(self, axis: int | None = None) -> Array:
        """Return the sum of all entries, or along an axis.

        >>> sparse.eye_array(2, 3).sum(axis=0)
        array([1., 1., 0.])
        """
        if axis is None:
            return fnp.sum(self.data)
        kept = normalize_axis_index(axis, 2) ^ 1
        return fnp.at(fnp.zeros((self.shape[kept],), self.dtype))[(self.row, self.col)[kept]].add(self.data)

    @api_boundary
    def __matmul__(self, other: Any) -> Array:
        """The product with a vector or matrix, an array.

        Raises:
            ShapeError: the shapes do not fit.
        """
        return multiply_columns(self, other)

    @api_boundary
    def __rmatmul__(self, other: Any) -> Array:
        return multiply_rows(other, self)

    dot = __matmul__

    def multiply(self, other: Any) -> coo_array:
        """Return the product entry by entry with a number, or a dense array that broadcasts to this shape.

        >>> sparse.diags_array([2.0, 3.0]).multiply(fnp.array([10.0, 1.0])).toarray()
        array([[20.,  0.],
               [ 0.,  3.]])
        """
        full = fnp.broadcast_to(operand(other), self.shape)
        return self.made_of(self.data * full[self.row, self.col], self.places)

    def __mul__(self, factor: Any) -> coo_array:
        if np.shape(factor):
            return NotImplemented
        return self.made_of(self.data * factor, self.places)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> coo_array:
        return NotImplemented if np.shape(factor) else self.made_of(self.data / factor, self.places)

    def __neg__(self) -> coo_array:
        return self.made_of(-self.data, self.places)

    def __add__(self, other: Any) -> coo_array:
        other = coo_array(other)
        if self.shape != other.shape:
            raise ShapeError(
                f"inconsistent shapes {self.shape} and {other.shape} of sparse matrices",
                hint="b.T, or fxgrad.scipy.sparse.coo_array((data, (rows, columns)), shape=…)",
            )
        row, col = np.append(self.row, other.row), np.append(self.col, other.col)
        return self.made_of(fnp.concatenate([self.data, other.data]), Places(row, col, self.shape))

    __radd__ = __add__

    def __sub__(self, other: Any) -> coo_array:
        return self + -coo_array(other)

    def __repr__(self) -> str:
        return f"<coo_array of shape {self.shape} and dtype {self.dtype} with {self.nnz} entries>"


@api_boundary
def issparse(value: Any) -> bool:
    """Whether a value is a sparse matrix, one of this library or of SciPy: a bool.

    >>> fx.scipy.sparse.issparse(fnp.eye(2))
    False
    """
    if isinstance(value, (coo_array, SparseMatrix)):
        return True
    return type(value).__module__.startswith("scipy.sparse") and library("sparse", "").issparse(value)


def multiply_columns(a: Any, x: Any) -> Any:
    """Multiply a sparse matrix by a vector, or the columns of a dense matrix (…, n, k)."""
    a, x = coo_array(a), operand(x)
    n = x.shape[-2 if x.ndim > 1 else 0] if x.ndim else None
    if n != a.shape[1]:
        raise ShapeError(
            f"matmul: a sparse matrix of shape {a.shape} and an operand of shape {x.shape}",
            hint=fit_product(a.shape, x.shape) if x.ndim else "a * x for numbers",
        )
    front = fnp.moveaxis(x, -2, 0) if x.ndim > 1 else x
    flat = ops.reshape(front, shape=(n, int(np.prod(front.shape[1:]))))
    y = ops.sparse_matmul(a.data, a.row, a.col, flat, shape=a.shape)
    y = ops.reshape(y, shape=(a.shape[0], *front.shape[1:]))
    return fnp.moveaxis(y, 0, -2) if x.ndim > 1 else y


def multiply_rows(x: Any, a: Any) -> Any:
    """Multiply a vector, or the rows of a dense matrix (…, k, m), by a sparse matrix."""
    x = operand(x)
    if x.ndim < 2:
        return multiply_columns(coo_array(a).T, x)
    return fnp.matrix_transpose(multiply_columns(coo_array(a).T, fnp.matrix_transpose(x)))


def expand_pointers(indptr: Any) -> np.ndarray:
    """Return the row of each entry, from the places where rows begin."""
    indptr = np.asarray(indptr)
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


@api_boundary
def csr_array(arg1: Any, shape: tuple[int, int] | None = None) -> coo_array:
    """The matrix of (data, indices, indptr), or of the arguments of `coo_array`. The result is a `coo_array`.

    Args:
        arg1: entries row by row, their columns, and where rows begin; or another matrix.
        shape: (rows, columns); None: as many as are needed.

    >>> def product(data):
    ...     return sparse.csr_array((data, [1, 0], [0, 1, 2])) @ fnp.array([1.0, 10.0])
    >>> fx.jacobian(product)(fnp.array([2.0, 3.0]))
    array([[10.,  0.],
           [ 0.,  1.]])
    """
    if not (isinstance(arg1, tuple) and len(arg1) == 3):
        return coo_array(arg1, shape)
    data, indices, indptr = arg1
    if shape is None:
        shape = (len(indptr) - 1, int(np.max(indices, initial=-1)) + 1)
    return coo_array((data, (expand_pointers(indptr), indices)), shape)


@api_boundary
def csc_array(arg1: Any, shape: tuple[int, int] | None = None) -> coo_array:
    """The matrix of (data, indices, indptr), or of the arguments of `coo_array`. The result is a `coo_array`.

    Args:
        arg1: entries column by column, their rows, and where columns begin; or another matrix.
        shape: (rows, columns); None: as many as are needed.

    >>> m = fx.scipy.sparse.csc_array((fnp.array([3.0, 4.0]), fnp.array([0, 1]), fnp.array([0, 1, 2])))
    >>> m.toarray()
    array([[3., 0.],
           [0., 4.]])
    """
    if not (isinstance(arg1, tuple) and len(arg1) == 3):
        return coo_array(arg1, shape)
    return csr_array(arg1, None if shape is None else (shape[1], shape[0])).T


@api_boundary
def diags_array(diagonals: Any, /, *, offsets: Any = 0, shape: tuple[int, int] | None = None) -> coo_array:
    """The matrix with these diagonals.

    Args:
        diagonals: arrays, or numbers, which fill a diagonal.
        offsets: for each how far it is above (or, negative, below) the main one.
        shape: (rows, columns); None: as many as are needed.

    Raises:
        ValueError: not one offset for each diagonal, or a diagonal of the wrong length.

    >>> def product(d):
    ...     return sparse.diags_array([d, d[1:]], offsets=[0, 1]) @ fnp.ones(2)
    >>> fx.jacobian(product)(fnp.array([2.0, 3.0]))
    array([[1., 1.],
           [0., 1.]])
    """
    if np.ndim(offsets) == 0:
        diagonals, offsets = [diagonals], [offsets]
    parts, offsets = [operand(d) for d in diagonals], [int(k) for k in np.asarray(offsets)]
    if len(parts) != len(offsets):
        raise ShapeError(
            f"diags_array: {len(parts)} diagonals and {len(offsets)} offsets",
            hint="an offset for each diagonal",
        )
    if shape is None:
        shape = (parts[0].size + abs(offsets[0]),) * 2
    m, n = shape
    rows, columns, data = [], [], []
    for part, k in zip(parts, offsets):
        count = min(m + min(k, 0), n - max(k, 0))
        if part.size not in (1, count):
            raise ShapeError(
                f"diags_array: a diagonal of {part.size} entries at offset {k} of a matrix of shape {shape}",
                hint=f"{count} entries, or one for all",
            )
        rows.append(np.arange(count) + max(-k, 0))
        columns.append(np.arange(count) + max(k, 0))
        data.append(ops.broadcast_to(ops.reshape(part, shape=(part.size,)), shape=(count,)))
    return coo_array((fnp.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape)


@api_boundary
def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: tuple[int, int] | None = None,
    format: str | None = None,
    dtype: Any = None,
) -> coo_array:
    """The matrix with these diagonals: `diags_array` with SciPy's older signature.

    Args:
        diagonals, offsets, shape: as for `diags_array`.
        format: has no effect.
        dtype: that of the entries.

    >>> fx.scipy.sparse.diags([[1.0], [-2.0], [1.0]], [-1, 0, 1], shape=(3, 3)).toarray()
    array([[-2.,  1.,  0.],
           [ 1., -2.,  1.],
           [ 0.,  1., -2.]])
    """
    made = diags_array(diagonals, offsets=offsets, shape=shape)
    return made if dtype is None else made.made_of(fnp.astype(made.data, dtype), made.places)


@api_boundary
def eye_array(
    m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None
) -> coo_array:
    """The matrix with ones on a diagonal.

    Args:
        m, n: the numbers of rows and columns; as many columns as rows unless they are given.
        k: how far above the main diagonal.
        dtype: that of the entries.
        format: has no effect.

    >>> fx.scipy.sparse.eye_array(2) @ fnp.array([1.0, 3.0])
    array([1., 3.])
    """
    n = m if n is None else n
    rows = np.arange(max(-k, 0), max(min(m, n - k), max(-k, 0)))
    return coo_array((fnp.ones(rows.shape, dtype), (rows, rows + k)), (m, n))


@api_boundary
def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None) -> coo_array:
    """The matrix with ones on a diagonal: `eye_array` with SciPy's older signature.

    Args:
        m, n, k, dtype: as for `eye_array`.
        format: has no effect.

    >>> fx.scipy.sparse.eye(2, 3, 1).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    return eye_array(m, n, k=k, dtype=dtype)


@api_boundary
def identity(n: int, dtype: Any = float, format: str | None = None) -> coo_array:
    """The identity matrix.

    Args:
        n: the number of rows and of columns.
        dtype: that of the entries.
        format: has no effect.

    >>> fx.scipy.sparse.identity(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye_array(n, dtype=dtype)


@api_boundary
def kron(A: Any, B: Any, format: str | None = None) -> coo_array:
    """The Kronecker product of two matrices.

    Args:
        A, B: matrices, sparse or known dense ones.
        format: has no effect.

    >>> fx.scipy.sparse.kron(sparse.eye(2), np.array([[0.0, 1.0]])).toarray()
    array([[0., 1., 0., 0.],
           [0., 0., 0., 1.]])
    """
    a, b = coo_array(A), coo_array(B)
    (m, n), (p, q) = a.shape, b.shape
    data = ops.reshape(a.data[:, None] * b.data, shape=(a.nnz * b.nnz,))
    places = [np.add.outer(x * size, y).ravel() for x, y, size in ((a.row, b.row, p), (a.col, b.col, q))]
    return coo_array((data, (places[0], places[1])), (m * p, n * q))


@api_boundary
def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> coo_array:
    """The matrix of blocks in rows and columns.

    Args:
        blocks: a list of rows, each of matrices and None for zeros.
        format: has no effect.
        dtype: that of the entries.

    Raises:
        ShapeError: blocks of one row, or column, differ in size.

    >>> one = sparse.eye(1)
    >>> fx.scipy.sparse.block_array([[one, 2 * one], [None, one]]).toarray()
    array([[1., 2.],
           [0., 1.]])
    """
    grid = {
        (i, j): coo_array(block)
        for i, row in enumerate(blocks)
        for j, block in enumerate(row)
        if block is not None
    }
    starts = []
    for axis, count in enumerate((len(blocks), max(map(len, blocks)))):
        sizes = [
            {block.shape[axis] for place, block in grid.items() if place[axis] == i} for i in range(count)
        ]
        if any(len(size) != 1 for size in sizes):
            raise ShapeError(
                f"block_array: the blocks of {('rows', 'columns')[axis]} have the sizes {sizes}",
                hint="blocks of one size in each row and in each column, of which one at least is not None",
            )
        starts.append(np.cumsum([0, *(size.pop() for size in sizes)]))
    data = fnp.concatenate([block.data for block in grid.values()])
    row = np.concatenate([block.row + starts[0][i] for (i, _), block in grid.items()])
    col = np.concatenate([block.col + starts[1][j] for (_, j), block in grid.items()])
    made = coo_array((data, (row, col)), (int(starts[0][-1]), int(starts[1][-1])))
    return made if dtype is None else made.made_of(fnp.astype(made.data, dtype), made.places)


@api_boundary
def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> coo_array:
    """The matrices one below the other; arguments as of `block_array`.

    >>> fx.scipy.sparse.vstack([sparse.eye(1), sparse.eye(1)]).shape
    (2, 1)
    """
    return block_array([[block] for block in blocks], dtype=dtype)


@api_boundary
def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> coo_array:
    """The matrices one beside the other; arguments as of `block_array`.

    >>> fx.scipy.sparse.hstack([sparse.eye(1), sparse.eye(1)]).shape
    (1, 2)
    """
    return block_array([[*blocks]], dtype=dtype)


@api_boundary
def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> coo_array:
    """The matrices one after the other along the diagonal; arguments as of `block_array`.

    >>> fx.scipy.sparse.block_diag([sparse.eye(1), 2 * sparse.eye(1)]).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    mats = [*mats]
    return block_array(
        [[m if i == j else None for j in range(len(mats))] for i, m in enumerate(mats)], dtype=dtype
    )


__all__ = [
    "block_array", "block_diag", "coo_array", "csc_array", "csr_array", "diags", "diags_array", "eye", "eye_array",
    "hstack", "identity", "issparse", "kron", "vstack",
]  # fmt: skip
