"""Construction of sparse Tensors from indices and entries, and from dense Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from .._core.dtypes import dtype as torch_dtype
from .._core.memory import is_array
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.spaces import expose
from .._make.attributes import MemoryLayout, strided
from .._make.creation import as_tensor, zeros
from ..errors import ArgumentError, NotSupportedError, TensorError
from ..ops.arguments import as_sizes


class SparseLayout(MemoryLayout):
    """The layout of sparse Tensors: by coordinates, or by compressed rows (`compressed`). With None it is not here."""

    def __init__(self, name: str, compressed: bool | None):
        self.name, self.compressed = name, compressed

    def __repr__(self) -> str:
        return f"torch.{self.name}"


sparse_coo, sparse_csr = SparseLayout("sparse_coo", False), SparseLayout("sparse_csr", True)
expose(name="sparse_coo")(sparse_coo)
expose(name="sparse_csr")(sparse_csr)


def absent_layout(name: str, layout: Any) -> NotSupportedError:
    """Return the error for a layout that is not here."""
    return NotSupportedError(
        f"{name}: the layout {layout} is not here", hint="to_sparse_coo() and to_sparse_csr() are"
    )


# -- places ------------------------------------------
def make_indices(array: np.ndarray) -> Tensor:
    """Make a Tensor of whole numbers for the user."""
    return make_tensor(BASE_TAPE, np.array(array, np.int64))


def read_indices(name: str, indices: Any) -> np.ndarray:
    """Read whole numbers that the user has given: a Tensor, array or list."""
    value = refresh(as_tensor(indices))._fx_value
    if not is_array(value):
        raise TensorError(f"{name}: its indices are traced", hint="the places of entries have to be known")
    return np.array(value, np.int64)


def flat_places(places: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return places as numbers in the order of row-major memory."""
    flat = np.zeros(places.shape[1], np.int64)
    for row, size in zip(places, shape):
        flat = flat * size + row
    return flat


def split_places(flat: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return places (dimensions, number of places) from numbers in the order of row-major memory."""
    if not len(shape):
        return np.zeros((0, len(flat)), np.int64)
    return np.array(np.unravel_index(flat, tuple(shape)), np.int64).reshape(len(shape), len(flat))


def coalesced(x: SparseTensor) -> SparseTensor:
    """Return the sparse Tensor with its places in order and distinct, each with the sum of its entries."""
    if x.is_sorted:
        return x
    leading = x.shape[: len(x.places)]
    flat, inverse = np.unique(flat_places(x.places, leading), return_inverse=True)
    empty = zeros((len(flat), *x.entries.shape[1:]), dtype=x.dtype, device=x.entries.device)
    entries = empty.index_add(0, make_indices(inverse.reshape(-1)), x.entries)
    return SparseTensor.of(split_places(flat, leading), entries, x.shape, True)


# -- from entries ------------------------------------------
@expose()
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: torch_dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """Make a sparse Tensor from places and entries.

    Args:
        indices: whole numbers (dimensions, n): where the entries are. A place may occur several times; it has the sum.
        values: the entries (n, *further dimensions, which are dense). The sparse Tensor has their history.
        size: the shape; None: the least that has all places. `sparse_coo_tensor(size=…)` alone has no entries.
        dtype, device: those of the entries; None: as they are.
        pin_memory: it changes nothing.
        requires_grad: whether it is a leaf that requires a gradient, which is sparse.
        check_invariants: whether places are looked at; None: as `check_sparse_tensor_invariants` says. What lies
            outside the shape is refused in any case when it is used.
        is_coalesced: whether the places are in order, and each there once; None: unknown.

    Returns:
        A Tensor of the layout `torch.sparse_coo`.

    Raises:
        TensorError: the numbers of places and entries, or of dimensions, do not fit; places outside of the shape.
        TypeError: neither entries nor a size.

    >>> s = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> s.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None and (indices is None) is not (size is None):  # the shape alone
        size = as_sizes(indices if size is None else size)
        indices, values = np.zeros((len(size), 0), np.int64), zeros(0, dtype=dtype, device=device)
    elif indices is None or values is None:
        raise ArgumentError(
            "sparse_coo_tensor() received an invalid combination of arguments",
            hint="sparse_coo_tensor(indices, values, size), or sparse_coo_tensor(size)",
        )
    given = isinstance(values, Tensor)
    entries = as_tensor(values, dtype=dtype, device=device)
    places = read_indices("sparse_coo_tensor", indices)
    if places.ndim != 2:
        raise TensorError(
            f"indices must be sparse_dim x nnz, but got: {list(places.shape)}",
            hint="a row of places for each dimension: [[0, 1], [2, 0]] are (0, 2) and (1, 0)",
        )
    if not entries.ndim:
        entries = entries.expand(places.shape[1])
    rank, count = places.shape
    if count != entries.shape[0]:
        raise TensorError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{count}, nnz from values: {entries.shape[0]}",
            hint="indices.T"
            if entries.shape[0] == rank
            else f"{count} values, one for each column of indices",
        )
    if size is None:
        size = (*(places.max(1) + 1 if count else np.zeros(rank, int)).tolist(), *entries.shape[1:])
    if len(size) != rank + entries.ndim - 1:
        raise TensorError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {rank}, "
            f"dense_dim = {entries.ndim - 1}",
            hint=f"{rank + entries.ndim - 1} sizes; without them the size is that which the indices need",
        )
    if check_invariants or (check_invariants is None and CHECKED[0]):
        check_places(places, size)
    if requires_grad:
        entries = entries.detach().requires_grad_()
    elif given and entries.is_leaf:
        entries = entries.view(entries.shape)  # the sparse Tensor is no leaf
    return SparseTensor.of(places, entries, tuple(size), bool(is_coalesced))


@expose()
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: torch_dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """Make a sparse matrix from compressed rows.

    Args:
        crow_indices: whole numbers (rows + 1,): where each row begins among the entries, and the number of entries.
        col_indices: whole numbers (n,): the columns of the entries.
        values: the entries (n,). All others are as in `sparse_coo_tensor`.
        size: the shape.
        check_invariants: whether places are looked at; None: as `check_sparse_tensor_invariants` says.

    Returns:
        A Tensor of the layout `torch.sparse_csr`.

    Raises:
        TensorError: the numbers do not fit.

    >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    starts, columns = (read_indices("sparse_csr_tensor", x) for x in (crow_indices, col_indices))
    lengths = np.diff(starts)
    if not len(starts) or starts[0] != 0 or (lengths < 0).any() or starts[-1] != len(columns):
        raise TensorError(
            "`crow_indices` must begin with 0, end with nnz, and not decrease",
            hint=f"[0, …, {len(columns)}]: where each row begins among the entries, and their number",
        )
    if size is None:
        size = (len(lengths), int(columns.max()) + 1 if len(columns) else 0)
    if len(lengths) != size[0]:
        raise TensorError(
            f"crow_indices.shape[-1] must be equal to nrows + 1, that is {size[0] + 1}",
            hint=f"size=({len(lengths)}, n), or {size[0] + 1} numbers",
        )
    places = np.stack([np.repeat(np.arange(len(lengths)), lengths), columns])
    made = sparse_coo_tensor(
        places, values, size, dtype=dtype, device=device, requires_grad=requires_grad, check_invariants=True
    )
    return SparseTensor.of(made.places, made.entries, made.shape, True, True)


# -- from dense Tensors ------------------------------------------
@expose("method")
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Any:
    """Return the Tensor by its entries that are not zero; its derivative is zero elsewhere.

    Args:
        sparse_dim: so many dimensions, the first ones, have places; None: all.
        layout: `torch.sparse_coo` or `torch.sparse_csr`; None: the former.
        blocksize: of layouts in blocks, which are not here.
        dense_dim: so many dimensions, the last ones, have no places; None: none.

    Raises:
        TensorError: there are not so many dimensions.
        NotImplementedError: the layout is no sparse one that there is.

    >>> torch.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    if layout is strided:
        return self.to_dense()
    if layout not in (None, sparse_coo, sparse_csr):
        raise absent_layout("to_sparse", layout)
    if blocksize is not None:
        raise absent_layout("to_sparse", "of blocks")
    if dense_dim is not None:
        sparse_dim = self.ndim - dense_dim
    if isinstance(self, SparseTensor):
        dense_form = self
    else:
        rank = self.ndim if sparse_dim is None else sparse_dim
        if not min(1, self.ndim) <= rank <= self.ndim:
            raise TensorError(
                f"dense_to_sparse: sparse_dim argument must be in [{min(1, self.ndim)}, {self.ndim}], but {rank} is "
                "given",
                hint=f"sparse_dim={self.ndim}, or x.to_sparse()",
            )
        value = refresh(self)._fx_value
        if not is_array(value):
            raise TensorError("to_sparse: the entries are traced", hint="which are zero has to be known")
        used = (value != 0).any(tuple(range(rank, self.ndim)), keepdims=not rank)
        if rank:
            places = np.array(np.nonzero(used), np.int64)
            entries = self[tuple(make_indices(row) for row in places)]
        else:
            places = np.zeros((0, int(used.any())), np.int64)
            entries = self.unsqueeze(0)[: places.shape[1]]
        dense_form = SparseTensor.of(places, entries, self.shape, True)
    return compress(dense_form) if layout is sparse_csr else expand_rows(dense_form)


def compress(x: SparseTensor) -> SparseTensor:
    """Return a sparse matrix in the layout of compressed rows."""
    if len(x.shape) != 2 or len(x.places) != 2:
        raise TensorError(
            f"to_sparse_csr: a matrix is needed, not a Tensor of the shape {tuple(x.shape)}",
            hint="x.to_sparse_coo(), which has any number of dimensions; x.reshape(len(x), -1).to_sparse_csr()",
        )
    x = coalesced(x)
    return SparseTensor.of(x.places, x.entries, x.shape, True, True)


def expand_rows(x: SparseTensor) -> SparseTensor:
    """Return a sparse Tensor in the layout of coordinates."""
    return SparseTensor.of(x.places, x.entries, x.shape, x.is_sorted) if x.compressed else x


@expose("method")
def to_sparse_coo(self: Tensor) -> Any:
    """Return the Tensor in the layout `torch.sparse_coo`: see `to_sparse`."""
    return to_sparse(self, layout=sparse_coo)


@expose("method")
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Any:
    """Return the matrix in the layout `torch.sparse_csr`: see `to_sparse`."""
    return to_sparse(self, layout=sparse_csr)


@expose("method")
def sparse_mask(self: Tensor, mask: Tensor) -> SparseTensor:
    """Return the entries at the places of a sparse Tensor `mask` of the same shape, as a sparse Tensor.

    Raises:
        TensorError: the mask is not sparse, or has another shape.
    """
    if not isinstance(mask, SparseTensor):
        raise TensorError(
            "sparse_mask(): expected mask to be a sparse Tensor",
            hint="mask.to_sparse(); x * mask for a dense result",
        )
    if tuple(mask.shape) != tuple(self.shape):
        raise TensorError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}",
            hint=f"a mask of size {list(self.shape)}",
        )
    mask = coalesced(mask)
    dense = self.to_dense()
    return mask.with_entries(dense[tuple(make_indices(row) for row in mask.places)])


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> SparseTensor:
    """Make a sparse matrix from its diagonals.

    Args:
        diagonals: (n, width): row i has the diagonal `offsets[i]`; entry j of it is in column j.
        offsets: whole numbers (n,), or one: 0 is the main diagonal, those above it are positive.
        shape: of the matrix.
        layout: see `to_sparse`.

    Returns:
        A sparse matrix.

    Raises:
        RuntimeError: not one offset for each diagonal, one comes twice, or they are traced.

    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    diagonals = diagonals if diagonals.ndim > 1 else diagonals.unsqueeze(0)
    numbers = read_indices("spdiags", offsets).reshape(-1)
    if len(numbers) != diagonals.shape[0]:
        raise TensorError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({len(numbers)})",
            hint=f"offsets=torch.arange({diagonals.shape[0]}), a number for each row of diagonals",
        )
    if len(set(numbers.tolist())) != len(numbers):
        raise TensorError(
            "Offset tensor contains duplicate values",
            hint="diagonals[i] + diagonals[j] of two with one offset",
        )
    which, column = np.indices((len(numbers), min(diagonals.shape[1], shape[1]))).reshape(2, -1)
    row = column - numbers[which]
    inside = (row >= 0) & (row < shape[0])
    which, column, row = which[inside], column[inside], row[inside]
    entries = diagonals[make_indices(which), make_indices(column)]
    made = SparseTensor.of(np.stack([row, column]), entries, tuple(shape))
    return compress(made) if layout is sparse_csr else made


# -- checks ------------------------------------------
CHECKED = [False]


def check_places(places: np.ndarray, size: Sequence[int]) -> None:
    """Check that places are inside a shape."""
    for d, (row, n) in enumerate(zip(places, size)):
        if row.size and row.min() < 0:
            raise TensorError(
                f"found negative index {row.min()} for dim {d}",
                hint=f"{row.min() + n}, counted from the beginning"
                if row.min() + n >= 0
                else "indices from 0 on",
            )
        if row.size and row.max() >= n:
            raise TensorError(
                f"size is inconsistent with indices: for dim {d}, size is {n} but found index {row.max()}",
                hint=f"size {row.max() + 1} or more there, or leave size out",
            )


class check_sparse_tensor_invariants:
    """Whether places are looked at where a sparse Tensor is made; also a context manager.

    Args:
        enable: whether they are looked at.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.0], (3,))
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TensorError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    ...
    """

    def __init__(self, enable: bool = True):
        self._fx_wanted, self._fx_before = enable, CHECKED[0]

    @staticmethod
    def is_enabled() -> bool:
        """Whether places are looked at."""
        return CHECKED[0]

    @staticmethod
    def enable() -> None:
        """Look at places from now on."""
        CHECKED[0] = True

    @staticmethod
    def disable() -> None:
        """Look at places no longer."""
        CHECKED[0] = False

    def __enter__(self) -> None:
        self._fx_before, CHECKED[0] = CHECKED[0], self._fx_wanted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CHECKED[0] = self._fx_before
