"""Sums and softmax along the dimensions of sparse Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.dtypes import dtype as torch_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from .._make.creation import zeros
from ..errors import ArgumentError, NotSupportedError
from ..ops.arguments import normalize_dim
from .construction import coalesced, flat_places, make_indices


def add_up(
    input: SparseTensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: torch_dtype | None = None,
) -> Any:
    """Sum a sparse Tensor along dimensions: a dense Tensor if no dimension with places is left."""
    if keepdim:
        raise NotSupportedError("sum: keepdim=True of a sparse Tensor", hint="x.sum(dim).unsqueeze(dim)")
    given = range(input.ndim) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    gone = {normalize_dim(d, input.ndim) for d in given}
    rank = len(input.places)
    entries = input.entries if dtype is None else input.entries.to(dtype)
    inner = sorted(d - rank + 1 for d in gone if d >= rank)
    if inner:
        entries = entries.sum(inner)
    kept = [d for d in range(rank) if d not in gone]
    if not kept:
        return entries.sum(0)
    shape = tuple(n for d, n in enumerate(input.shape) if d not in gone)
    return coalesced(SparseTensor.of(input.places[kept], entries, shape))


SparseTensor.OPERATIONS["sum"] = add_up


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: torch_dtype | None = None) -> Any:
    """Sum a sparse Tensor.

    Args:
        input: a sparse Tensor.
        dim: the dimensions along which is summed; None: all.
        dtype: that in which is summed; None: as it is.

    Returns:
        A sparse Tensor of the other dimensions; a dense one if none of those has places.

    Raises:
        ArgumentError: the Tensor is dense.
        NotImplementedError: `keepdim=True`.

    >>> s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> torch.sparse.sum(s, 0).to_dense()
    tensor([4., 0., 8.])
    """
    return add_up(ensure_sparse("sum", input), dim, dtype=dtype)


def ensure_sparse(name: str, x: Tensor) -> SparseTensor:
    """Return the Tensor itself, which has to be sparse."""
    if not isinstance(x, SparseTensor):
        raise ArgumentError(f"torch.sparse.{name}: a sparse Tensor is needed", hint="x.to_sparse()")
    return x


def lines_along(x: SparseTensor, dim: int) -> tuple[Tensor, int]:
    """Return the number of the line along a dimension for each entry, and the number of lines that have entries."""
    others = [d for d in range(len(x.places)) if d != dim]
    flat = flat_places(x.places[others], [x.shape[d] for d in others])
    numbers, line = np.unique(flat, return_inverse=True)
    return make_indices(line.reshape(-1)), len(numbers)


def log_softmax(input: Tensor, dim: int, dtype: torch_dtype | None = None) -> SparseTensor:
    """Return the logarithm of `softmax`.

    Args:
        input: a sparse Tensor.
        dim: the dimension.
        dtype: the dtype of the result.

    Raises:
        TypeError: `input` is not sparse.

    >>> torch.sparse.log_softmax(torch.tensor([[0.0, 2.0]]).to_sparse(), dim=1).values()
    tensor([0.])
    """
    x = coalesced(ensure_sparse("log_softmax", input))
    entries = x.entries if dtype is None else x.entries.to(dtype)
    d = normalize_dim(dim, x.ndim)
    if d >= len(x.places):
        return x.with_entries(entries.log_softmax(d - len(x.places) + 1))
    line, count = lines_along(x, d)
    empty = zeros((count, *entries.shape[1:]), dtype=entries.dtype)
    greatest = empty.index_reduce(0, line, entries.detach(), "amax", include_self=False)
    shifted = entries - greatest[line]
    total = empty.index_add(0, line, shifted.exp())
    return x.with_entries(shifted - total.log()[line])


def softmax(input: Tensor, dim: int, dtype: torch_dtype | None = None) -> SparseTensor:
    """Apply softmax along a dimension to the entries that are there; what is not there counts as −∞.

    Args:
        input: a sparse Tensor.
        dim: the dimension.
        dtype: that to which the entries are converted before; None: as they are.

    Returns:
        A sparse Tensor with the same places.

    Raises:
        ArgumentError: the Tensor is dense.

    >>> s = torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> torch.sparse.softmax(s, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    found = log_softmax(ensure_sparse("softmax", input), dim, dtype=dtype)
    return found.with_entries(found.entries.exp())
