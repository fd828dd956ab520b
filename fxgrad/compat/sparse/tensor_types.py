"""`torch.sparse.FloatTensor` and similar classes, and `x.new(…)`, the predecessors of `torch.sparse_coo_tensor`."""

from __future__ import annotations

from typing import Any

from .._core.dtypes import dtype as torch_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from .._make.tensor_types import TensorType
from ..errors import ArgumentError
from .construction import sparse_coo_tensor


def construct_sparse(dtype: torch_dtype, args: tuple[Any, ...], device: object = None) -> SparseTensor:
    """Construct a sparse Tensor of places, entries and perhaps a shape, with the dtype of the entries; or one without
    entries of sizes.

    Raises:
        ArgumentError: places and entries that are no Tensors.
    """
    if isinstance(args[0] if args else None, Tensor):
        return sparse_coo_tensor(*args, device=device)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args or (0,)
    if not all(isinstance(size, int) for size in sizes):
        kinds = ", ".join(type(given).__name__ for given in args)
        raise ArgumentError(
            f"new() received an invalid combination of arguments - got ({kinds})",
            hint="torch.sparse_coo_tensor(indices, values, size) takes lists as well",
        )
    return sparse_coo_tensor(sizes, dtype=dtype, device=device)


def new(self: SparseTensor, *args: Any) -> SparseTensor:
    """Make a sparse Tensor on the device of this one, in its dtype where no entries are given."""
    return construct_sparse(self.dtype, args, self.device)


class SparseTensorType(TensorType):
    """The class of types such as `torch.sparse.FloatTensor`.

    >>> x = torch.sparse.FloatTensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0]), (2, 2))
    >>> x.to_dense().tolist(), isinstance(x, torch.sparse.FloatTensor), isinstance(x, torch.FloatTensor)
    ([[0.0, 2.0], [3.0, 0.0]], True, False)
    """

    def __call__(cls, *args: Any, device: object = None) -> SparseTensor:
        """Make a sparse Tensor; see `construct_sparse`."""
        return construct_sparse(cls.dtype, args, device)
