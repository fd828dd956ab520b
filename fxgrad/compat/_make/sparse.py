"""Sparse Tensors without entries: the results of `zeros` and `empty` in a sparse layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from ..errors import NotSupportedError, TensorError, argument_error
from .attributes import MemoryLayout

# The functions whose results may be without entries.
ZERO_MAKERS = {"zeros", "empty", "new_zeros", "new_empty", "zeros_like", "empty_like"}


def create_sparse(
    layout: MemoryLayout,
    name: str,
    shape: tuple[int, ...] | None,
    rank: int | None,
    make_entries: Callable[[tuple[int, ...]], Tensor],
    out: Tensor | None = None,
) -> SparseTensor:
    """Make a sparse Tensor without entries.

    Args:
        layout: `torch.sparse_coo` or `torch.sparse_csr`.
        name: of the function that the user has called.
        shape: of the Tensor; None where the function does not know it.
        rank: so many dimensions, the first ones, have places; None: all.
        make_entries: a function that makes the Tensor of entries of a shape.
        out: what the user gave to be written into.

    Raises:
        ArgumentError: `layout` is none.
        NotSupportedError: the function makes Tensors with entries.
        TensorError: compressed rows of what is no matrix; there is an `out`.
    """
    if not isinstance(layout, MemoryLayout):
        hint = "torch.strided, torch.sparse_coo or torch.sparse_csr"
        raise argument_error(name, "layout", None, "torch.layout", layout, hint)
    if layout.compressed is None:
        raise NotSupportedError(
            f"{name}: the layout {layout} is not here", hint="torch.sparse_coo and torch.sparse_csr are"
        )
    if name not in ZERO_MAKERS or shape is None:
        raise NotSupportedError(
            f"{name}(...) is not implemented for sparse layout",
            hint="make the Tensor without layout=, and call to_sparse() of it",
        )
    if out is not None:
        raise TensorError("layout Sparse does not match layout of out parameter (Strided)", hint="no out=")
    if layout.compressed and len(shape) != 2:
        raise TensorError(
            f"torch.{name}: Only batched sparse compressed (non-block) tensors are supported, but got size "
            f"{list(shape)}",
            hint="two sizes: batches of matrices are not here",
        )
    rank = len(shape) if rank is None or layout.compressed else rank
    entries = make_entries((0, *shape[rank:]))
    return SparseTensor.of(np.zeros((rank, 0), np.int64), entries, shape, True, layout.compressed)
