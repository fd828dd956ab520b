"""Members of sparse Tensors in addition to those of all Tensors."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .._core.dtypes import dtype as torch_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from .._make.creation import zeros
from .._read.conversion import tensor_type_name
from ..errors import ArgumentError, NotSupportedError, TensorError
from . import operations
from .construction import coalesced, make_indices, sparse_coo, sparse_csr
from .tensor_types import new
from .text import sparse_text


# -- parts ------------------------------------------
def coalesce(self: SparseTensor) -> SparseTensor:
    """Return the same Tensor with its places in order and distinct, each with the sum of its entries."""
    ensure_coordinates(self, "coalesce")
    return coalesced(self)


def is_coalesced(self: SparseTensor) -> bool:
    """Whether the places are in order and distinct."""
    ensure_coordinates(self, "is_coalesced")
    return self.is_sorted


def ensure_coordinates(x: SparseTensor, name: str) -> None:
    """Raise unless the layout is sparse_coo."""
    if x.compressed:
        raise TensorError(
            f"{name} expected sparse coordinate tensor layout but got SparseCsr", hint="x.to_sparse_coo()"
        )


def indices(self: SparseTensor) -> Tensor:
    """Return the places: a Tensor (dimensions, number of places) of int64.

    Raises:
        TensorError: the Tensor is not coalesced.
    """
    ensure_coordinates(self, "indices")
    if not self.is_sorted:
        raise TensorError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first",
            hint="x.coalesce().indices(), in which each place is once",
        )
    return make_indices(self.places)


def values(self: SparseTensor) -> Tensor:
    """Return the entries: a Tensor (number of places, *further dimensions), with their history.

    Raises:
        TensorError: the Tensor is not coalesced.
    """
    if not self.is_sorted:
        raise TensorError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first",
            hint="x.coalesce().values(), in which the entries of a place are added",
        )
    return self.entries.view(self.entries.shape)


def crow_indices(self: SparseTensor) -> Tensor:
    """Return where each row begins among the entries, and their number."""
    if not self.compressed:
        raise TensorError(
            "crow_indices expected sparse row compressed tensor layout but got Sparse",
            hint="x.to_sparse_csr().crow_indices()",
        )
    return make_indices(np.searchsorted(self.places[0], np.arange(self.shape[0] + 1)))


def col_indices(self: SparseTensor) -> Tensor:
    """Return the columns of the entries."""
    if not self.compressed:
        raise TensorError(
            "col_indices expected sparse row compressed tensor layout but got Sparse",
            hint="x.to_sparse_csr().col_indices()",
        )
    return make_indices(self.places[1])


def to_dense(
    self: SparseTensor, dtype: torch_dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """Return the Tensor with all its zeros, and the history of the entries."""
    entries = self.entries if dtype is None else self.entries.to(dtype)
    empty = zeros(tuple(self.shape), dtype=entries.dtype, device=entries.device)
    return operations.add_to_dense(empty, self, entries)


def ensure_listed(x: SparseTensor, name: str) -> None:
    """Raise unless the layout is sparse_coo, the only one for which torch has such a kernel."""
    if x.compressed:
        raise NotSupportedError(
            f"Could not run 'aten::{name}' with arguments from the 'SparseCsrCPU' backend.",
            hint="x.crow_indices(), x.col_indices(), x.values()",
        )


def get_places(self: SparseTensor) -> Tensor:
    """Return the places, in order or not."""
    ensure_listed(self, "_indices")
    return make_indices(self.places)


def get_entries(self: SparseTensor) -> Tensor:
    """Return the entries at `_indices`, without their history."""
    ensure_listed(self, "_values")
    return self.entries.detach()


# -- as Tensors ------------------------------------------
def apply_to_parts(name: str) -> Any:
    """Return a method that applies the method of this name to the entries."""

    def method(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        found = getattr(self.entries, name)(*args, **options)
        return self if found is self.entries else self.with_entries(found)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`Tensor.{name}` of the entries."
    return method


def change_type(self: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the Tensor's type, such as 'torch.sparse.FloatTensor'; with a type, the Tensor converted to it."""
    return tensor_type_name(self) if dtype is None else apply_to_parts("type")(self, dtype)


def requires_grad_(self: SparseTensor, requires_grad: bool = True) -> SparseTensor:
    """Set `requires_grad` of a leaf, and return the Tensor."""
    self.entries.requires_grad_(requires_grad)
    return self


def get_grad(self: SparseTensor) -> Any:
    """The gradient that backward has accumulated, with the same places; or None."""
    found = self.entries.grad
    return None if found is None else self.with_entries(found)


def set_grad(self: SparseTensor, grad: SparseTensor | None) -> None:
    """Set the gradient, which must have the same places."""
    if grad is not None and not np.array_equal(grad.places, self.places):
        raise TensorError("the gradient of a sparse Tensor has its places", hint="gradient.sparse_mask(x)")
    self.entries.grad = None if grad is None else grad.entries


def take_place(self: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Give a sparse Tensor the parts of another."""
    if self.is_leaf and self.requires_grad and other.entries is not self.entries:
        raise TensorError(
            "a leaf Variable that requires grad is being used in an in-place operation.",
            hint="with torch.no_grad(): …, or x.clone()",
        )
    self.places, self.entries, self.is_sorted = other.places, other.entries, other.is_sorted
    return self


def zero_(self: SparseTensor) -> SparseTensor:
    """Remove all entries."""
    return take_place(
        self,
        SparseTensor.of(self.places[:, :0], self.entries.detach()[:0], self.shape, True, self.compressed),
    )


def detach_(self: SparseTensor) -> SparseTensor:
    """Take the history from this Tensor."""
    self.entries = self.entries.detach()
    return self


def in_place(name: str) -> Any:
    """Return the method that gives the Tensor the result of a method."""

    def method(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        return take_place(self, getattr(Tensor, name)(self, *args, **options))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"In-place version of `{name}`."
    return method


def getitem(self: SparseTensor, index: Any) -> Any:
    """Choose by whole numbers, from the first dimension on."""
    found: Any = self
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, bool) or not hasattr(i, "__index__"):
            raise NotSupportedError(
                "a sparse Tensor is indexed by whole numbers", hint="x.index_select(dim, index)"
            )
        found = operations.select(found, 0, int(i))
    return found


def select(self: SparseTensor, dim: int, index: int) -> Any:
    """Choose the entries with one number along a dimension, which is gone then."""
    return operations.select(self, dim, index)


def iterate(self: SparseTensor) -> Any:
    """The parts along the first dimension."""
    return iter([operations.select(self, 0, i) for i in range(self.shape[0])])


def refuse_array(self: SparseTensor, *args: Any, **options: Any) -> NoReturn:
    """Raise: an array has no places."""
    raise ArgumentError(
        "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
        hint="x.to_dense().numpy(), or x.values().numpy() of the entries alone",
    )


def refuse_reshape(self: SparseTensor, *args: Any, **options: Any) -> NoReturn:
    """Raise: places would have to be computed anew."""
    raise TensorError("reshape is not implemented for sparse tensors", hint="x.to_dense()")


def norm(
    self: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """Return the norm of all entries."""
    if dim is not None:
        raise NotSupportedError("norm of a sparse Tensor along dimensions", hint="x.to_dense()")
    return coalesced(self).entries.reshape(-1).norm(2 if p == "fro" else p, dtype=dtype)


def rebuild(places: np.ndarray, entries: Tensor, *parts: Any) -> SparseTensor:
    """Rebuild a sparse Tensor from its saved parts."""
    return SparseTensor.of(places, entries, *parts)


def reduce(self: SparseTensor, protocol: Any) -> Any:
    """Reduce the Tensor for `copy` and `pickle`."""
    return rebuild, (self.places, self.entries, tuple(self.shape), self.is_sorted, self.compressed)


CONVERSIONS = "to float double half bfloat16 int long short char byte bool cpu cuda type_as detach"
SparseTensor._fx_attach(
    **{name: apply_to_parts(name) for name in CONVERSIONS.split()},
    **{f"{name}_": in_place(name) for name in ("add", "sub", "mul", "div", "neg")},
    **{f"__i{name}__": in_place(name) for name in ("add", "sub", "mul")},
    __itruediv__=in_place("div"),
    __getitem__=getitem,
    __iter__=iterate,
    __repr__=lambda self, **options: sparse_text(self),
    __reduce_ex__=reduce,
    __deepcopy__=lambda self, memo: self.with_entries(self.entries.detach().clone()).requires_grad_(
        self.requires_grad
    ),
    _indices=get_places,
    _nnz=lambda self: self.places.shape[1],
    _values=get_entries,
    _coalesced_=lambda self, coalesced: take_place(
        self, SparseTensor.of(self.places, self.entries, self.shape, coalesced, self.compressed)
    ),
    coalesce=coalesce,
    col_indices=col_indices,
    crow_indices=crow_indices,
    data=property(lambda self: self.detach()),
    dense_dim=lambda self: len(self.shape) - len(self.places),
    detach_=detach_,
    device=property(lambda self: self.entries.device),
    grad=property(get_grad, set_grad),
    indices=indices,
    is_coalesced=is_coalesced,
    is_contiguous=lambda self, memory_format=None: False,
    is_cpu=property(lambda self: self.entries.is_cpu),
    is_cuda=property(lambda self: self.entries.is_cuda),
    is_sparse=property(lambda self: not self.compressed),
    is_sparse_csr=property(lambda self: self.compressed),
    layout=property(lambda self: sparse_csr if self.compressed else sparse_coo),
    new=new,
    norm=norm,
    numpy=refuse_array,
    __array__=refuse_array,
    requires_grad_=requires_grad_,
    requires_grad=property(
        lambda self: self.entries.requires_grad, lambda self, wanted: self.entries.requires_grad_(wanted)
    ),
    reshape=refuse_reshape,
    select=select,
    sparse_dim=lambda self: len(self.places),
    to_dense=to_dense,
    tolist=lambda self: self.to_dense().tolist(),
    type=change_type,
    values=values,
    view=refuse_reshape,
    zero_=zero_,
)
