"""The names of `torch.sparse`."""

from .. import _surface
from .construction import check_sparse_tensor_invariants, spdiags
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum

__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]
