"""Sparse Tensors in files: their indices and entries, as torch saves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.memory import is_array
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Size, Tensor, warn_if_has_hooks
from ..errors import TensorError
from ..sparse.construction import (
    SparseLayout,
    flat_places,
    sparse_coo,
    sparse_coo_tensor,
    sparse_csr,
    sparse_csr_tensor,
)
from .errors import refuse

if TYPE_CHECKING:
    from .machine import Machine

LAYOUTS = {str(layout): layout for layout in (sparse_coo, sparse_csr)}


def reduce_sparse(tensor: SparseTensor, storages: Any) -> tuple[Any, ...]:
    """Take a sparse Tensor to pieces: (its layout, (its places, its entries, its shape)). As in torch, neither its
    history nor whether it requires a gradient is saved."""
    warn_if_has_hooks(tensor)
    entries, shape = tensor.entries.detach(), Size(tensor.shape)
    if tensor.compressed:
        return tensor.layout, (tensor.crow_indices(), tensor.col_indices(), entries, shape)
    return tensor.layout, (tensor._indices(), entries, shape, tensor.is_sorted)


def rebuild_sparse(machine: Machine, layout, data) -> SparseTensor:
    """Build a sparse Tensor of the pieces in a file, which are checked: places lie inside the shape.

    Raises:
        UnpicklingError: the pieces do not form a sparse Tensor.
    """
    if not isinstance(layout, SparseLayout) or type(data) is not tuple:
        raise refuse("A sparse Tensor has another layout than torch.sparse_coo and torch.sparse_csr")
    tensors, rest = (data[:3], data[3:]) if layout is sparse_csr else (data[:2], data[2:])
    shape = rest[0] if rest else None
    if len(rest) not in ((1,) if layout is sparse_csr else (1, 2)) or not all(map(is_plain, tensors)):
        raise refuse("A sparse Tensor has other parts than places and entries")
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
        raise refuse(f"A sparse Tensor has the shape {shape!r}")
    if any(x.dtype.name not in ("int32", "int64") for x in tensors[:-1]):
        raise refuse("The places of a sparse Tensor are no whole numbers")
    machine.charge(sum(x.numel() for x in tensors))
    made = SparseTensor.of(
        np.zeros((len(shape), 0), np.int64), tensors[-1], shape, True, layout is sparse_csr
    )
    machine.deferred.append(lambda: fill_sparse(made, tensors, rest[1:] == (True,)))
    return made


def fill_sparse(made: SparseTensor, tensors: tuple[Tensor, ...], is_sorted: bool) -> None:
    """Set the parts of a sparse Tensor after their entries have been read, and check them.

    Raises:
        UnpicklingError: they do not fit.
    """
    try:
        if made.compressed:
            found = sparse_csr_tensor(*tensors, made.shape)
        else:
            found = sparse_coo_tensor(*tensors, made.shape, check_invariants=True, is_coalesced=is_sorted)
    except TensorError as error:
        raise refuse(f"The parts of a sparse Tensor do not fit: {str(error).splitlines()[0]}") from None
    if is_sorted and not are_in_order(found.places, made.shape):
        raise refuse("The places of a sparse Tensor are not in order, though the file says so")
    made.places, made.entries, made.is_sorted = found.places, found.entries, found.is_sorted


def is_plain(x: object) -> bool:
    """Whether an object is a plain Tensor of an array."""
    return type(x) is Tensor and is_array(x._fx_value)


def are_in_order(places: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether places are in order and distinct."""
    if float(np.prod([float(n) for n in shape[: len(places)]])) >= 1 << 62:
        raise refuse(f"A sparse Tensor has the shape {tuple(shape)}")
    return bool((np.diff(flat_places(places, shape)) > 0).all())
