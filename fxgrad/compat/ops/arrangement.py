"""Copies in another order: reversed, rolled, repeated, with other entries set to zero."""

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
from .._core.tensor import Tensor, make
from .._declare.operation import exposed, operation
from .._declare.out import with_out
from .._declare.rearrangement import Reordering
from .dimensions import dimension, dimensions
from .sizes import as_sizes, at, variadic
from .viewing import movedim, reshape

COPY: dict[str, Any] = {"out": False, "composite": Reordering}


# -- reversed and rolled ------------------------------------------
@operation("input", spaces="", name="flip", **COPY)
def flipped(input: Any, dims: Any) -> Any:
    """The entries in reverse order along some dimensions."""
    return ops.flip, (input,), {"axes": dimensions(dims, input.ndim) if dims and input.ndim else ()}


@exposed()
def flip(input: Tensor, dims: Any) -> Tensor:
    """A copy with the entries in reverse order along some dimensions."""
    return flipped(input, as_sizes(dims))


variadic(flip)


@exposed("function method")
def fliplr(input: Tensor) -> Tensor:
    """`flip` along the second dimension."""
    if len(input.shape) < 2:
        raise TensorError("Input must be >= 2-d.")
    return flipped(input, (1,))


@exposed("function method")
def flipud(input: Tensor) -> Tensor:
    """`flip` along the first dimension."""
    if not input.shape:
        raise TensorError("Input must be >= 1-d.")
    return flipped(input, (0,))


@operation("input", out=False)
def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
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
        d = dimension(dim, input.ndim)
        if input.shape[d]:
            result = fnp.roll(result, shift, d)
    return result


@exposed("function method")
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """A copy turned by k right angles in the plane of two dimensions."""
    ndim = len(input.shape)
    if len(dims) != 2:
        raise TensorError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise TensorError(f"expected total dims >= 2, but got total dims = {ndim}")
    a, b = (dimension(d, ndim) for d in dims)
    if a == b:
        raise TensorError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 2:
        return flipped(input, (a, b))
    if turns == 0:
        return input.clone()
    turned = flipped(input, (b,) if turns == 1 else (a,))
    return turned.transpose(a, b)


# -- repeated ------------------------------------------
@operation("input", spaces="", name="repeat", out=False)
def repeated(input: Any, sizes: Any) -> Any:
    """Copies beside one another, so many along each dimension."""
    extra = len(sizes) - len(input.shape)
    shape = (*(1,) * extra, *input.shape)
    apart = tuple([n for size in shape for n in (1, size)])
    spread = tuple([n for pair in zip(sizes, shape) for n in pair])
    wide = ops.broadcast_to(ops.reshape(input, shape=apart), shape=spread)
    result = ops.reshape(wide, shape=tuple([k * n for k, n in zip(sizes, shape)]))
    return result.copy() if is_array(result) else result


def repeat(self: Tensor, repeats: Any) -> Tensor:
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
    return repeated(self, sizes)


variadic(repeat)


@exposed()
def tile(input: Tensor, dims: Any) -> Tensor:
    """`repeat`; dimensions that `dims` does not reach are not repeated."""
    sizes = as_sizes(dims)
    return repeat(input, (*(1,) * (len(input.shape) - len(sizes)), *sizes))


variadic(tile)


@operation("input", spaces="", name="repeat_interleave", **COPY)
def interleaved(input: Any, places: Any, dim: int) -> Any:
    """The entries at these places along a dimension."""
    return ops.getitem, (input, places), {"index": at(dim, ops.ARRAY)}


@exposed("function method")
def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> Tensor:
    """Every entry along a dimension (of the flattened Tensor, without one) repeated so many times; of counts alone,
    every place as often as its count says."""
    if repeats is None:
        counts = np.asarray(known(input))
        return make(current_tape(), np.repeat(np.arange(counts.size), counts))
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    d = dimension(dim, len(input.shape))
    counts = np.asarray(known(repeats))
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
    return interleaved(input, places, d)


def known(value: Any) -> Any:
    """The numbers of a Tensor, which must be known; anything else as it is."""
    return value.numpy() if isinstance(value, Tensor) else value


# -- diagonals ------------------------------------------
@operation("input", spaces="", name="diag_embed", **COPY)
def on_diagonal(input: Any, offset: int) -> Any:
    """Vectors in the last dimension as the diagonals of matrices of zeros."""
    n = input.shape[-1]
    size = n + abs(offset)
    rows, columns = np.arange(n) - min(offset, 0), np.arange(n) + max(offset, 0)
    index = (*(slice(None),) * (input.ndim - 1), ops.ARRAY, ops.ARRAY)
    return ops.put, (input, rows, columns), {"index": index, "shape": (*input.shape[:-1], size, size)}


@exposed("function method")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in two dimensions of the result, with the vectors in the last dimension as their diagonals."""
    ndim = len(input.shape) + 1
    a, b = dimension(dim1, ndim), dimension(dim2, ndim)
    if a == b:
        raise TensorError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return movedim(on_diagonal(input, offset), (-2, -1), (a, b))


@exposed("function method")
@with_out
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with a vector as its diagonal, or a copy of the diagonal of a matrix."""
    ndim = len(input.shape)
    if ndim not in (1, 2):
        raise TensorError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return on_diagonal(input, diagonal)
    return input.diagonal(diagonal).clone()


@exposed("function method")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all entries along its diagonal."""
    return on_diagonal(reshape(input, (prod(input.shape),)), offset)


@operation("input")
def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise TensorError("trace: expected a matrix")
    places = np.arange(min(input.shape))
    entries = ops.getitem(input, places, places, index=(ops.ARRAY, ops.ARRAY))
    dtype = as_numpy_dtype(int) if kind_of(aval_of(input).dtype) in "biu" else None
    return fnp.sum(entries, dtype=dtype)


# -- triangles ------------------------------------------
def triangle_of(input: Any, diagonal: int) -> np.ndarray:
    """Whether entries of a matrix are not above a diagonal."""
    rows, columns = input.shape[-2:] if input.ndim > 1 else (0, 0)
    return np.tri(rows, columns, diagonal, dtype=bool)


def masked(input: Any, kept: np.ndarray) -> Any:
    if input.ndim < 2:
        raise TensorError("tril/triu: input tensor must have at least 2 dimensions")
    return ops.where(kept, input, np.zeros((), aval_of(input).dtype))


@operation("input", inplace=True)
def tril(input: Any, diagonal: int = 0) -> Any:
    """Matrices with zeros above a diagonal."""
    return masked(input, triangle_of(input, diagonal))


@operation("input", inplace=True)
def triu(input: Any, diagonal: int = 0) -> Any:
    """Matrices with zeros below a diagonal."""
    return masked(input, ~triangle_of(input, diagonal - 1))


def triangle(name: str, places: Any) -> Any:
    """Make tril_indices or triu_indices."""

    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
    ) -> Tensor:
        found = np.stack(places(row, offset, col))
        return make(current_tape(), found.astype(np.int64 if dtype is None else as_numpy_dtype(dtype)))

    function.__name__ = name
    function.__doc__ = (
        f"The places of the entries of a matrix that `{name[:4]}` keeps: their rows, and columns."
    )
    return exposed()(function)


tril_indices = triangle("tril_indices", np.tril_indices)
triu_indices = triangle("triu_indices", np.triu_indices)
