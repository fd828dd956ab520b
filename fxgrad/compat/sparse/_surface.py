"""The names of `torch.sparse`."""

from .. import _surface
from .._make.tensor_types import make_types
from .construction import check_sparse_tensor_invariants, spdiags
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum
from .tensor_types import SparseTensorType

SPARSE_TYPES = make_types("sparse", SparseTensorType)
globals().update(SPARSE_TYPES)

__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
    *SPARSE_TYPES,
]
