"""Operations that copy entries in another order: flip, roll, repeat, diagonals and triangles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of, kind_of
from .._core.dtypes import as_numpy_dtype
from .._core.errors import TensorError
from .._core.memory import is_array
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from .._declare.operation import expose, operation
from .._declare.out import with_out
from .._declare.rearrangement import Reordering
from .dimensions import normalize_dim, normalize_dims
from .sizes import add_variadic_method, as_sizes, dim_index
from .viewing import movedim, reshape

COPY: dict[str, Any] = {"out": False, "composite": Reordering}


# -- reversed and rolled ------------------------------------------
@operation("input", spaces="", name="flip", **COPY)
def flip_values(input, dims) -> Any:
    """The entries in reverse order along some dimensions."""
    return ops.flip, (input,), {"axes": normalize_dims(dims, input.ndim) if dims and input.ndim else ()}


@expose()
def flip(input: Tensor, dims) -> Tensor:
    """A copy with the entries in reverse order along some dimensions."""
    return flip_values(input, as_sizes(dims))


add_variadic_method(flip)


@expose("function method")
def fliplr(input: Tensor) -> Tensor:
    """`flip` along the second dimension."""
    if len(input.shape) < 2:
        raise TensorError("Input must be >= 2-d.")
    return flip_values(input, (1,))


@expose("function method")
def flipud(input: Tensor) -> Tensor:
    """`flip` along the first dimension."""
    if not input.shape:
        raise TensorError("Input must be >= 1-d.")
    return flip_values(input, (0,))


@operation("input", out=False)
def roll(input, shifts, dims=()) -> Any:
    """The entries moved on, those at the end to the beginning; without `dims` in the flattened order."""
    shifts, dims = as_sizes(shifts), as_sizes(dims)
    if not shifts:
        raise TensorError("`shifts` required")
    if not dims and len(shifts) == 1:
        return fnp.roll(input, shifts[0]) if prod(input.shape) else input + 0
    if len(shifts) != len(dims):
        raise TensorError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    result = input
    for shift, dim in zip(shifts, dims):
        d = normalize_dim(dim, input.ndim)
        if input.shape[d]:
            result = fnp.roll(result, shift, d)
    return result


@expose("function method")
def rot90(input: Tensor, k: int = 1, dims=(0, 1)) -> Tensor:
    """A copy turned by k right angles in the plane of two dimensions."""
    ndim = len(input.shape)
    if len(dims) != 2:
        raise TensorError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise TensorError(f"expected total dims >= 2, but got total dims = {ndim}")
    a, b = (normalize_dim(d, ndim) for d in dims)
    if a == b:
        raise TensorError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 2:
        return flip_values(input, (a, b))
    if turns == 0:
        return input.clone()
    turned = flip_values(input, (b,) if turns == 1 else (a,))
    return turned.transpose(a, b)


# -- repeated ------------------------------------------
@operation("input", spaces="", name="repeat", out=False)
def repeat_values(input, sizes) -> Any:
    """Copies beside one another, so many along each dimension."""
    extra = len(sizes) - len(input.shape)
    shape = (*(1,) * extra, *input.shape)
    apart = tuple([n for size in shape for n in (1, size)])
    spread = tuple([n for pair in zip(sizes, shape) for n in pair])
    wide = ops.broadcast_to(ops.reshape(input, shape=apart), shape=spread)
    result = ops.reshape(wide, shape=tuple([k * n for k, n in zip(sizes, shape)]))
    return result.copy() if is_array(result) else result


def repeat(self: Tensor, repeats) -> Tensor:
    """Copies beside one another, so many along each dimension.

    >>> import fxgrad.compat as torch
    >>> torch.tensor([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    sizes = as_sizes(repeats)
    if len(sizes) < len(self.shape):
        raise TensorError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in sizes):
        raise TensorError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
    return repeat_values(self, sizes)


add_variadic_method(repeat)


@expose()
def tile(input: Tensor, dims) -> Tensor:
    """`repeat`; dimensions that `dims` does not reach are not repeated."""
    sizes = as_sizes(dims)
    return repeat(input, (*(1,) * (len(input.shape) - len(sizes)), *sizes))


add_variadic_method(tile)


@operation("input", spaces="", name="repeat_interleave", **COPY)
def repeat_interleave_values(input, places, dim: int) -> Any:
    """The entries at these places along a dimension."""
    return ops.getitem, (input, places), {"index": dim_index(dim, ops.ARRAY)}


@expose("function method")
def repeat_interleave(input, repeats=None, dim: int | None = None, *, output_size=None) -> Tensor:
    """Every entry along a dimension (of the flattened Tensor, without one) repeated so many times; of counts alone,
    every place as often as its count says."""
    if repeats is None:
        counts = np.asarray(concrete_values(input))
        return make_tensor(current_tape(), np.repeat(np.arange(counts.size), counts))
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    d = normalize_dim(dim, len(input.shape))
    counts = np.asarray(concrete_values(repeats))
    if counts.ndim > 1 or counts.dtype.kind not in "iu":
        raise TensorError(
            "repeat_interleave only accept 1D vector as repeat"
            if counts.ndim > 1
            else "repeats has to be Long or Int tensor"
        )
    if counts.size and counts.min() < 0:
        raise TensorError("repeats can not be negative")
    size = input.shape[d]
    if counts.ndim and counts.size not in (1, size):
        raise TensorError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({d}) = {size}"
        )
    places = np.repeat(np.arange(size), np.broadcast_to(counts.reshape(-1), (size,)))
    return repeat_interleave_values(input, places, d)


def concrete_values(value) -> Any:
    """The concrete numbers of a Tensor; anything else is returned as it is."""
    return value.numpy() if isinstance(value, Tensor) else value


# -- diagonals ------------------------------------------
@operation("input", spaces="", name="diag_embed", **COPY)
def diag_embed_values(input, offset: int) -> Any:
    """Put vectors from the last dimension on the diagonals of matrices of zeros."""
    n = input.shape[-1]
    size = n + abs(offset)
    rows, columns = np.arange(n) - min(offset, 0), np.arange(n) + max(offset, 0)
    index = (*(slice(None),) * (input.ndim - 1), ops.ARRAY, ops.ARRAY)
    return ops.scatter_add, (input, rows, columns), {"index": index, "shape": (*input.shape[:-1], size, size)}


@expose("function method")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in two dimensions of the result, with the vectors in the last dimension as their diagonals."""
    ndim = len(input.shape) + 1
    a, b = normalize_dim(dim1, ndim), normalize_dim(dim2, ndim)
    if a == b:
        raise TensorError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return movedim(diag_embed_values(input, offset), (-2, -1), (a, b))


@expose("function method")
@with_out
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with a vector as its diagonal, or a copy of the diagonal of a matrix."""
    ndim = len(input.shape)
    if ndim not in (1, 2):
        raise TensorError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed_values(input, diagonal)
    return input.diagonal(diagonal).clone()


@expose("function method")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all entries along its diagonal."""
    return diag_embed_values(reshape(input, (prod(input.shape),)), offset)


@operation("input")
def trace(input) -> Any:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise TensorError("trace: expected a matrix")
    places = np.arange(min(input.shape))
    entries = ops.getitem(input, places, places, index=(ops.ARRAY, ops.ARRAY))
    dtype = as_numpy_dtype(int) if kind_of(aval_of(input).dtype) in "biu" else None
    return fnp.sum(entries, dtype=dtype)


# -- triangles ------------------------------------------
def triangle_mask(input, diagonal: int) -> np.ndarray:
    """A mask of the entries of a matrix that are not above a diagonal."""
    rows, columns = input.shape[-2:] if input.ndim > 1 else (0, 0)
    return np.tri(rows, columns, diagonal, dtype=bool)


def mask_matrix(input, keep: np.ndarray) -> Any:
    if input.ndim < 2:
        raise TensorError("tril/triu: input tensor must have at least 2 dimensions")
    return ops.where(keep, input, np.zeros((), aval_of(input).dtype))


@operation("input", inplace=True)
def tril(input, diagonal: int = 0) -> Any:
    """Matrices with zeros above a diagonal."""
    return mask_matrix(input, triangle_mask(input, diagonal))


@operation("input", inplace=True)
def triu(input, diagonal: int = 0) -> Any:
    """Matrices with zeros below a diagonal."""
    return mask_matrix(input, ~triangle_mask(input, diagonal - 1))


def declare_indices(name: str, places) -> Any:
    """Declare tril_indices or triu_indices."""

    def function(row: int, col: int, offset: int = 0, *, dtype=None, device=None, layout=None) -> Tensor:
        found = np.stack(places(row, offset, col))
        return make_tensor(current_tape(), found.astype(np.int64 if dtype is None else as_numpy_dtype(dtype)))

    function.__name__ = name
    function.__doc__ = (
        f"The places of the entries of a matrix that `{name[:4]}` keeps: their rows, and columns."
    )
    return expose()(function)


tril_indices = declare_indices("tril_indices", np.tril_indices)
triu_indices = declare_indices("triu_indices", np.triu_indices)
