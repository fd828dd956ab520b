"""The sparse attributes of dense Tensors, and layouts that are not supported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .._core.dtypes import dtype as torch_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from .._declare.spaces import expose
from ..errors import NotSupportedError, TensorError
from .construction import SparseLayout, absent_layout, sparse_csr, sparse_csr_tensor

# The layout that each method is of, in torch's words.
OF_LAYOUTS = {
    "sparse coordinate tensor layout": "coalesce indices is_coalesced",
    "sparse tensor layout": "values",
    "sparse row compressed tensor layout": "col_indices crow_indices",
    "sparse column compressed tensor layout": "ccol_indices row_indices",
}
LAYOUT_WORDS = {"torch.strided": "Strided", "torch.sparse_coo": "Sparse", "torch.sparse_csr": "SparseCsr"}
# Operators that torch has for its sparse layouts alone.
OF_SPARSE = "_indices _nnz _values sparse_resize_ sparse_resize_and_clear_"
ABSENT_LAYOUTS = ("sparse_csc", "sparse_bsr", "sparse_bsc")


def refuse_dense(name: str, words: str | None = None) -> None:
    """Expose a method that dense Tensors refuse: one of the layout of these words, or of torch's sparse kernels."""

    def method(self: Tensor, *args: object, **options: object) -> NoReturn:
        hint = "x.to_sparse() has it"
        if words:
            raise TensorError(f"{name} expected {words} but got {LAYOUT_WORDS[str(self.layout)]}", hint=hint)
        raise NotSupportedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend.", hint=hint
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Refuse: `{name}` is of {f'Tensors in {words}' if words else 'sparse Tensors'}."
    expose("method", name)(method)


for _words, _names in OF_LAYOUTS.items():
    for _name in _names.split():
        refuse_dense(_name, _words)
for _name in OF_SPARSE.split():
    refuse_dense(_name)


@expose("method")
def sparse_dim(self: Tensor) -> int:
    """The number of dimensions with places; 0 for a dense Tensor."""
    return 0


@expose("method")
def dense_dim(self: Tensor) -> int:
    """The number of dense dimensions; a dense Tensor has no others."""
    return self.ndim


# -- layouts that are not here ------------------------------------------
def expose_absent(layout: str) -> None:
    """Declare a layout that is absent here, and functions for it that raise."""
    expose(name=layout)(SparseLayout(layout, None))

    def make_refusal(name: str) -> Callable[..., NoReturn]:
        def refusal(*args: object, **options: object) -> NoReturn:
            raise absent_layout(name, f"torch.{layout}")

        refusal.__name__ = refusal.__qualname__ = name
        refusal.__doc__ = f"Refuse: Tensors of the layout torch.{layout} are not here."
        return refusal

    expose("method", f"to_{layout}")(make_refusal(f"to_{layout}"))
    expose("function", f"{layout}_tensor")(make_refusal(f"{layout}_tensor"))


for _name in ABSENT_LAYOUTS:
    expose_absent(_name)


@expose()
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    layout: SparseLayout | None = None,
    dtype: torch_dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """Make a sparse Tensor from compressed indices.

    Args:
        compressed_indices, plain_indices: for rows, `crow_indices` and `col_indices` of `sparse_csr_tensor`.
        values, size, dtype, device, requires_grad, check_invariants: see there.
        layout: `torch.sparse_csr`.

    Raises:
        TensorError: no layout is given.
        NotSupportedError: another layout.

    >>> torch.sparse_compressed_tensor([0, 1], [1], [3.0], (1, 2), layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.]])
    """
    if layout is None:
        raise TensorError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got none",
            hint="layout=torch.sparse_csr",
        )
    if layout is not sparse_csr:
        raise absent_layout("sparse_compressed_tensor", layout)
    return sparse_csr_tensor(
        compressed_indices,
        plain_indices,
        values,
        size,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )
