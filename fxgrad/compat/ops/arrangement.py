"""Operations that copy entries in another order: flip, roll, repeat, diagonals and triangles."""

from __future__ import annotations

from math import prod
from typing import Any, Unpack

import numpy as np

from ... import numpy as fnp
from ...extend import BatchTracer, Tracer, aval_of, concretize, ops
from .._core.dtypes import as_numpy_dtype
from .._core.memory import is_array
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.plain import constant_array, make_result
from .._declare.rearrangement import Reordering
from .._declare.spaces import expose
from .._make.creation import create_with_options
from .._make.devices import CPU, device_of, move_array
from .._make.options import Options
from ..errors import TensorError
from .arguments import (
    add_variadic_method,
    as_sizes,
    diagonal_dims,
    dim_index,
    normalize_dim,
    normalize_dims,
)
from .declarers import kind, refuse
from .viewing import movedim, reshape

COPY: dict[str, Any] = {"out": False, "composite": Reordering}


# -- reversed and rolled ------------------------------------------
@operation("input", spaces="function", **COPY)
def flip(input, dims) -> Any:
    """A copy with the entries in reverse order along some dimensions."""
    dims = as_sizes(dims)
    return ops.flip, (input,), {"axes": normalize_dims(dims, input.ndim) if dims else ()}


add_variadic_method(flip)


@expose("function method")
def fliplr(input: Tensor) -> Tensor:
    """`flip` along the second dimension."""
    if len(input.shape) < 2:
        raise TensorError(
            "Input must be >= 2-d.",
            hint="x.flip(0), along the only dimension" if input.shape else "x.reshape(1, 1)",
        )
    return flip(input, (1,))


@expose("function method")
def flipud(input: Tensor) -> Tensor:
    """`flip` along the first dimension."""
    if not input.shape:
        raise TensorError("Input must be >= 1-d.", hint="x.reshape(1)")
    return flip(input, (0,))


@operation("input", out=False)
def roll(input, shifts, dims=()) -> Any:
    """The entries shifted along dimensions, from the end to the beginning; without `dims` in the flattened order."""
    shifts, dims = as_sizes(shifts), () if dims is None else as_sizes(dims)
    if not shifts:
        raise TensorError("`shifts` required", hint="shifts=1, or a tuple with one shift for each of dims")
    if not dims and len(shifts) == 1:
        return fnp.roll(input, shifts[0])
    if len(shifts) != len(dims):
        raise TensorError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
            hint=f"dims={tuple(range(len(shifts)))}"
            if len(shifts) > 1
            else f"shifts={(*shifts * len(dims),)}",
        )
    return fnp.roll(input, shifts, [normalize_dim(d, input.ndim) for d in dims])


@expose("function method")
def rot90(input: Tensor, k: int = 1, dims=(0, 1)) -> Tensor:
    """A copy turned by k right angles in the plane of two dimensions."""
    ndim = len(input.shape)
    if len(dims) != 2:
        raise TensorError(
            f"expected total rotation dims == 2, but got dims = {len(dims)}",
            hint="dims=(0, 1), which span the plane",
        )
    if ndim < 2:
        raise TensorError(
            f"expected total dims >= 2, but got total dims = {ndim}",
            hint="x.unsqueeze(0), a matrix of one row",
        )
    a, b = (normalize_dim(d, ndim) for d in dims)
    if a == b:
        raise TensorError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
            hint=f"dims=({a}, {(a + 1) % ndim})",
        )
    turns = k % 4
    if turns == 2:
        return flip(input, (a, b))
    if turns == 0:
        return input.clone()
    turned = flip(input, (b,) if turns == 1 else (a,))
    return turned.transpose(a, b)


# -- repeated ------------------------------------------
@operation("self", spaces="", out=False)
def repeat(self, repeats) -> Any:
    """Copies beside one another, so many along each dimension.

    >>> torch.tensor([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    sizes = as_sizes(repeats)
    extra = len(sizes) - len(self.shape)
    if extra < 0:
        raise TensorError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            hint=f"x.repeat{(1,) * -extra + sizes}",
        )
    if any(n < 0 for n in sizes):
        raise TensorError(
            f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}",
            hint="0 or more copies along every dimension",
        )
    shape = (*(1,) * extra, *self.shape)
    apart = tuple([n for size in shape for n in (1, size)])
    spread = tuple([n for pair in zip(sizes, shape) for n in pair])
    wide = ops.broadcast_to(ops.reshape(self, shape=apart), shape=spread)
    result = ops.reshape(wide, shape=tuple([k * n for k, n in zip(sizes, shape)]))
    return result.copy() if is_array(result) else result


add_variadic_method(repeat)


@expose()
def tile(input: Tensor, dims) -> Tensor:
    """`repeat`; dimensions that `dims` does not reach are not repeated."""
    sizes = as_sizes(dims)
    return repeat(input, (*(1,) * (len(input.shape) - len(sizes)), *sizes))


add_variadic_method(tile)


def repeat_interleave_arguments(input, repeats=None, dim: int | None = None, *, output_size=None) -> Any:
    """The counts are checked; of counts alone the places are repeated."""
    alone = repeats is None
    if alone:
        places = move_array(np.arange(input.numel()), device_of(input._fx_value))
        input, repeats = make_tensor(current_tape(), places), input
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    d = normalize_dim(dim, len(input.shape))
    counts = refresh(repeats)._fx_value if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.ndim > 1:
        raise TensorError(
            "repeat_interleave only accept 1D vector as repeat"
            if alone
            else "repeats must be 0-dim or 1-dim tensor",
            hint="repeats.flatten()",
        )
    refuse("fcb", counts, operation="repeat_interleave")
    size = input.shape[d]
    if counts.ndim and counts.shape[0] not in (1, size):
        raise TensorError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.shape[0]} and input.size({d}) = {size}",
            hint=f"{size} counts, or one number for all",
        )
    return (input, repeated_places(ops.broadcast_to(counts, shape=(size,)), output_size)), {"dim": d}


def repeated_places(counts, output_size: int | None) -> Any:
    """Return every place as often as its count says. Counts that differ between the entries of a batch must add up to
    the same number in all of them."""
    if isinstance(counts, Tracer):
        if output_size is None:
            output_size = common_value(fnp.sum(counts))
        return fnp.searchsorted(fnp.cumsum(counts), np.arange(output_size), side="right")
    counts = move_array(counts, CPU)  # which say how large the result is
    if counts.size and counts.min() < 0:
        raise TensorError("repeats can not be negative", hint="repeats.clamp(min=0)")
    places = np.repeat(np.arange(len(counts)), counts)
    if output_size is not None and output_size != len(places):
        raise TensorError("allocated size does not match required size", hint=f"output_size={len(places)}")
    return places


def repeat_plainly(input, repeats=None, dim: int | None = None, *, output_size=None) -> Tensor | None:
    """Do what `repeat_interleave` does on a plain Tensor, by a number; None where there is more to decide."""
    value = constant_array(input)
    if value is None or type(repeats) is not int or repeats < 0 or output_size is not None:
        return None
    if dim is not None and (type(dim) is not int or not -value.ndim <= dim < value.ndim):
        return None
    return make_result(value.repeat(repeats, dim), None, None, None)


@operation("input places", arguments=repeat_interleave_arguments, first=repeat_plainly, **COPY)
def repeat_interleave(input, places, dim: int) -> Any:
    """Every entry along a dimension (of the flattened Tensor, without one) repeated so many times; of counts alone,
    every place as often as its count says."""
    return ops.getitem, (input, places), {"index": dim_index(dim, ops.ARRAY)}


def common_value(value) -> int:
    """Return the number that a traced integer is in all entries of a batch."""
    while type(value) is BatchTracer:
        value = value.value
    first, *others = concretize(value, "repeat_interleave").reshape(-1).tolist()
    for i, other in enumerate(others, 1):
        if other != first:
            raise TensorError(
                f"stack expects each tensor to be equal size, but got [{first}] at entry 0 and [{other}] at entry {i}",
                hint="the counts of every entry of the batch must have the same sum",
            )
    return first


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
    dims = diagonal_dims(dim1, dim2, len(input.shape) + 1)
    return movedim(diag_embed_values(input, offset), (-2, -1), dims)


@expose("function method")
@with_out
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with a vector as its diagonal, or a copy of the diagonal of a matrix."""
    ndim = len(input.shape)
    if ndim not in (1, 2):
        raise TensorError(
            f"diag(): Supports 1D or 2D tensors. Got {ndim}D",
            hint="x.flatten(), or torch.diag_embed(x), which makes a matrix of every last row"
            if ndim
            else "x.reshape(1)",
        )
    if ndim == 1:
        return diag_embed_values(input, diagonal)
    return input.diagonal(diagonal).clone()


@expose("function method")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all entries along its diagonal."""
    return diag_embed_values(reshape(input, (prod(input.shape),)), offset)


@operation("input", out=False)
def trace(input) -> Any:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise TensorError(
            "trace: expected a matrix", hint="torch.diagonal(x, 0, -2, -1).sum(-1) for a batch of matrices"
        )
    return fnp.trace(input, dtype=as_numpy_dtype(int) if kind(input) in "biu" else None)


# -- triangles ------------------------------------------
def mask_matrices(x, keep) -> Any:
    """Replace the entries of matrices by 0 but where keep(rows, columns), a mask, is set."""
    if x.ndim < 2:
        raise TensorError(
            "tril/triu: input tensor must have at least 2 dimensions",
            hint="x.unsqueeze(0), a matrix of one row",
        )
    return ops.where(keep(*x.shape[-2:]), x, np.zeros((), aval_of(x).dtype))


@operation("input", inplace=True)
def tril(input, diagonal: int = 0) -> Any:
    """Matrices with zeros above a diagonal."""
    return mask_matrices(input, lambda n, m: np.tri(n, m, diagonal, dtype=bool))


@operation("input", inplace=True)
def triu(input, diagonal: int = 0) -> Any:
    """Matrices with zeros below a diagonal."""
    return mask_matrices(input, lambda n, m: ~np.tri(n, m, diagonal - 1, dtype=bool))


def declare_indices(name: str, places) -> Any:
    """Declare tril_indices or triu_indices."""

    def function(row: int, col: int, offset: int = 0, **options: Unpack[Options]) -> Tensor:
        def make_array(numpy) -> np.ndarray:
            return np.stack(places(row, offset, col)).astype(numpy)

        return create_with_options(make_array, name, np.dtype(np.int64), **options)

    function.__name__ = name
    function.__doc__ = (
        f"The places of the entries of a matrix that `{name[:4]}` keeps: their rows, and columns."
    )
    return expose()(function)


tril_indices = declare_indices("tril_indices", np.tril_indices)
triu_indices = declare_indices("triu_indices", np.triu_indices)
