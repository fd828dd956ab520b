"""Norms of all elements or along dimensions, and functions of norms."""

from __future__ import annotations

from typing import Any

from ...extend import aval_of, ops
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import TensorError
from .arguments import as_whole, normalize_dim
from .declarers import expose_as_method
from .linalg import check_floating, linalg_matrix_norm
from .reduction import mean_operand, p_norm


@operation("input", name="norm", spaces="")
def norm_values(input, p, dim, keepdim: bool, dtype) -> Any:
    """The norm of order p, of all elements or along some dimensions."""
    x = mean_operand("norm", input, dtype)
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise TensorError(f"norm: order {p!r} is not known", hint='"fro", "nuc" or a number')
        p = 2
    return p_norm(x, p, dim, keepdim)


@expose("function")
def norm(input: Tensor, p="fro", dim=None, keepdim: bool = False, out=None, dtype=None) -> Tensor:
    """The norm of order p of the elements.

    >>> torch.norm(torch.tensor([3.0, 4.0])).item()
    5.0
    """
    if p == "nuc":
        plane = (-2, -1) if dim is None else dim
        return linalg_matrix_norm(input, "nuc", plane, keepdim, dtype=dtype, out=out)
    return norm_values(input, 2 if p is None else p, dim, keepdim, dtype, out=out)


expose_as_method(norm, "out")


@expose()
def frobenius_norm(input: Tensor, dim, keepdim: bool = False, *, out=None) -> Tensor:
    """The root of the sum of squared moduli along dimensions: see `linalg.vector_norm`."""
    return norm_values(input, 2, dim, keepdim, None, out=out)


@expose()
def nuclear_norm(input: Tensor, dim=(-2, -1), keepdim: bool = False, *, out=None) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions: see `linalg.matrix_norm`."""
    return linalg_matrix_norm(input, "nuc", dim, keepdim, out=out)


@expose()
def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norms of order `pow` of the slices along a dimension; -1 means the norm of all elements."""
    kept = as_whole(dim)
    others = None if kept == -1 else tuple(d for d in range(v.ndim) if d != kept)
    return norm_values(v, pow, others, kept != -1, None)


@operation("input other", promote="arithmetic", out=False)
def dist(input, other, p=2) -> Any:
    """The norm of order p of input - other."""
    return p_norm(mean_operand("norm", ops.subtract(input, other), None), p, None, False)


@operation("input", inplace=True)
def renorm(input, p, dim: int, maxnorm) -> Any:
    """The slices along a dimension; those with a norm above `maxnorm` are scaled down to it."""
    if not p > 0:
        raise TensorError("renorm: non-positive-norm not supported", hint="p=2")
    if not maxnorm >= 0:
        raise TensorError(
            f"renorm: expected maxnorm to be >= 0 but got {maxnorm}", hint=f"maxnorm={-maxnorm}"
        )
    if aval_of(input).ndim < 2:
        raise TensorError(
            f"renorm: input needs at least 2 dimensions, got {aval_of(input).ndim} dimensions",
            hint="x * (maxnorm / x.norm(p)).clamp(max=1) scales a vector as a whole",
        )
    check_floating("linalg.vector_norm", input)
    axis = normalize_dim(dim, aval_of(input).ndim)
    others = tuple(i for i in range(aval_of(input).ndim) if i != axis)
    size = p_norm(input, p, others, True)
    large = ops.greater(size, maxnorm)
    return ops.where(large, input * (maxnorm / (ops.where(large, size, 1) + 1e-7)), input)
