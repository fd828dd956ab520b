"""Operations on sparse Tensors, defined on their entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .._core.sparse_tensor import SparseTensor
from .._core.tensor import Tensor
from .._declare.operation import OPERATIONS
from ..errors import DimensionError, NotSupportedError, TensorError
from ..ops.arguments import normalize_dim, place_hint
from ..ops.joining import cat
from . import products, reductions  # noqa: F401  which say what theirs mean
from .construction import coalesced, compress, flat_places, make_indices, split_places

# Operations of one operand that leave zeros zero.
KEEPING_ZEROS = """
    abs asin asinh atan atanh ceil conj_physical deg2rad erf erfinv expm1 floor frac imag isinf isnan isneginf isposinf
    log1p nan_to_num neg positive rad2deg real relu round sgn sign signbit sin sinh sqrt square tan tanh trunc
"""


def apply_to_entries(name: str, x: SparseTensor, **params: Any) -> SparseTensor:
    """Apply an operation to the entries, after those of equal places have been summed."""
    x = coalesced(x)
    return x.with_entries(OPERATIONS[name]((x.entries,), params))


def copy(input: SparseTensor, memory_format: Any = None) -> SparseTensor:
    """Copy the entries."""
    return input.with_entries(input.entries.clone())


def raise_to_power(input: SparseTensor, exponent: Any) -> SparseTensor:
    """Raise the entries to a positive power."""
    if isinstance(exponent, Tensor) or (isinstance(input, Tensor) and exponent <= 0):
        raise TensorError("pow: a sparse Tensor is raised to positive numbers only", hint="x.to_dense()")
    x = coalesced(input)
    return x.with_entries(x.entries**exponent)


# -- arithmetic ------------------------------------------
def scale(x: Any, alpha: complex) -> Any:
    """Multiply by a number, if it is not 1."""
    return x if alpha == 1 else x * alpha


def add(input: Any, other: Any, alpha: complex = 1) -> Any:
    """Add two sparse Tensors, or a sparse one to a dense one, which gives a dense one."""
    if not isinstance(other, SparseTensor):
        raise TensorError(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
            hint="dense + sparse; a number is added to x.values()",
        )
    if not isinstance(input, Tensor):
        raise TensorError(
            "add(): a number and a sparse Tensor have a dense sum", hint="x.to_dense() + number"
        )
    if tuple(input.shape) != tuple(other.shape):
        raise TensorError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}",
            hint="sparse Tensors do not broadcast: x.to_dense() + y.to_dense()",
        )
    entries = scale(other.entries, alpha)
    if not isinstance(input, SparseTensor):
        return add_to_dense(input, other, entries)
    if len(input.places) != len(other.places):
        raise TensorError(
            f"add: expected 'self' and 'other' to have same number of sparse dimensions, but {len(input.places)} != "
            f"{len(other.places)}",
            hint=f"x.to_dense().to_sparse({len(input.places)}) of the second one",
        )
    compressed = input.compressed and other.compressed
    if np.array_equal(input.places, other.places):
        both = input.is_sorted and other.is_sorted
        return SparseTensor.of(input.places, input.entries + entries, input.shape, both, compressed)
    dtype = OPERATIONS["add"]((input.entries[:0], entries[:0]), {"alpha": 1}).dtype
    joined = cat([input.entries.to(dtype), entries.to(dtype)])
    made = SparseTensor.of(np.concatenate([input.places, other.places], 1), joined, input.shape)
    made = coalesced(made) if input.is_sorted and other.is_sorted else made
    return compress(made) if compressed else made


def add_to_dense(dense: Tensor, x: SparseTensor, entries: Tensor) -> Tensor:
    """Add entries to a dense Tensor at the places of a sparse one."""
    if not len(x.places):
        return dense + entries.sum(0)
    index = tuple(make_indices(row) for row in x.places)
    return dense.index_put(index, entries.to(dense.dtype), accumulate=True)


def subtract(input: Any, other: Any, alpha: complex = 1) -> Any:
    """Subtract, as `add` adds."""
    return add(input, other, -alpha)


def multiply(input: Any, other: Any) -> Any:
    """Multiply a sparse Tensor by a number, by another, or by a dense one: entries at the places that both have."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if not isinstance(other, Tensor) or (not other.ndim and not isinstance(other, SparseTensor)):
        return input.with_entries(input.entries * other)
    if tuple(input.shape) != tuple(other.shape):
        raise TensorError(
            f"mul: expected 'self' and 'other' to have same sizes, but {list(input.shape)} != {list(other.shape)}",
            hint="sparse Tensors do not broadcast: x.to_dense() * y.to_dense()",
        )
    x = coalesced(input)
    if not isinstance(other, SparseTensor):
        return x.with_entries(x.entries * other[tuple(make_indices(row) for row in x.places)])
    y = coalesced(other)
    leading = x.shape[: len(x.places)]
    if len(y.places) != len(x.places):
        raise TensorError(
            f"mul: operands have {len(x.places)} and {len(y.places)} sparse dimensions",
            hint=f"x.to_dense().to_sparse({len(x.places)}) of the second one",
        )
    numbers, here, there = np.intersect1d(
        flat_places(x.places, leading), flat_places(y.places, leading), True, return_indices=True
    )
    entries = x.entries[make_indices(here)] * y.entries[make_indices(there)]
    made = SparseTensor.of(split_places(numbers, leading), entries, x.shape, True)
    return compress(made) if x.compressed and y.compressed else made


def divide(input: Any, other: Any, rounding_mode: str | None = None) -> SparseTensor:
    """Divide a sparse Tensor by a number."""
    if isinstance(other, Tensor) and (isinstance(other, SparseTensor) or other.ndim):
        raise TensorError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)",
            hint="x * (1 / y), of a dense y of the same shape",
        )
    x = input if rounding_mode is None else coalesced(input)
    return x.with_entries(x.entries.div(other, rounding_mode=rounding_mode))


# -- arrangement ------------------------------------------
def permute(input: SparseTensor, dims: Sequence[int]) -> SparseTensor:
    """Permute the dimensions; those with places must stay before the others."""
    order = [normalize_dim(d, input.ndim) for d in dims]
    rank = len(input.places)
    if sorted(order[:rank]) != list(range(rank)):
        raise TensorError(
            "permute: dimensions with places and without cannot be exchanged", hint="x.to_dense()"
        )
    entries = input.entries
    if order[rank:] != list(range(rank, input.ndim)):
        entries = entries.permute(0, *[d - rank + 1 for d in order[rank:]])
    shape = [input.shape[d] for d in order]
    made = SparseTensor.of(input.places[order[:rank]], entries, tuple(shape))
    return compress(made) if input.compressed else made


def transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Exchange two dimensions."""
    order = list(range(input.ndim))
    a, b = (normalize_dim(d, input.ndim) for d in (dim0, dim1))
    order[a], order[b] = order[b], order[a]
    return permute(input, order)


def transpose_matrix(input: SparseTensor) -> SparseTensor:
    """Exchange the dimensions of a matrix."""
    if input.ndim > 2:
        raise TensorError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D",
            hint="x.transpose(dim0, dim1)",
        )
    return transpose(input, 0, 1) if input.ndim == 2 else input


def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    """Insert a dimension of size 1."""
    d = normalize_dim(dim, input.ndim + 1)
    shape, rank = (*input.shape[:d], 1, *input.shape[d:]), len(input.places)
    if d > rank:
        return SparseTensor.of(input.places, input.entries.unsqueeze(d - rank + 1), shape, input.is_sorted)
    return SparseTensor.of(np.insert(input.places, d, 0, 0), input.entries, shape, input.is_sorted)


def join(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:
    """Join sparse Tensors along a dimension."""
    if not all(isinstance(x, SparseTensor) for x in tensors):
        raise TensorError("cat: sparse Tensors are joined with sparse ones only", hint="x.to_sparse()")
    first = tensors[0]
    d = normalize_dim(dim, first.ndim)
    rank, total = len(first.places), 0
    found = []
    for x in tensors:
        if x.shape[:d] + x.shape[d + 1 :] != first.shape[:d] + first.shape[d + 1 :]:
            raise TensorError(
                f"cat: shapes {tuple(first.shape)} and {tuple(x.shape)} do not fit along {d}",
                hint="shapes that differ along the one dimension only",
            )
        places = x.places.copy()
        if d < rank:
            places[d] += total
        found.append(places)
        total += x.shape[d]
    if d >= rank:
        raise NotSupportedError("cat: sparse Tensors along a dense dimension", hint="x.to_dense()")
    shape = (*first.shape[:d], total, *first.shape[d + 1 :])
    return SparseTensor.of(np.concatenate(found, 1), cat([x.entries for x in tensors]), shape)


def stack(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:
    """Join sparse Tensors along a new dimension."""
    return join([unsqueeze(x, dim) for x in tensors], dim)


def index_select(input: SparseTensor, index: Tensor, dim: int) -> SparseTensor:
    """Choose places along a dimension by their numbers."""
    d = normalize_dim(dim, input.ndim)
    x, wanted = coalesced(input), np.asarray(index.numpy(), np.int64).reshape(-1)
    size, rank = x.shape[d], len(x.places)
    if wanted.size and (wanted.min() < 0 or wanted.max() >= size):
        raise DimensionError("index_select(): index out of range", hint=place_hint(size, 0))
    shape = (*x.shape[:d], len(wanted), *x.shape[d + 1 :])
    if d >= rank:
        entries = x.entries.index_select(d - rank + 1, make_indices(wanted))
        return SparseTensor.of(x.places, entries, shape, True)
    order = np.argsort(x.places[d], kind="stable")
    starts = np.searchsorted(x.places[d][order], np.arange(size + 1))
    counts = (starts[1:] - starts[:-1])[wanted]
    target = np.repeat(np.arange(len(wanted)), counts)
    within = np.arange(len(target)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = order[starts[wanted][target] + within]
    places = x.places[:, chosen]
    places[d] = target
    return coalesced(SparseTensor.of(places, x.entries[make_indices(chosen)], shape))


def select(input: SparseTensor, dim: int, index: int) -> Any:
    """Choose the entries with one number along a dimension, which is gone then."""
    d = normalize_dim(dim, input.ndim)
    size, rank = input.shape[d], len(input.places)
    if not -size <= index < size:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}",
            hint=place_hint(size),
        )
    shape = (*input.shape[:d], *input.shape[d + 1 :])
    if d >= rank:
        return SparseTensor.of(
            input.places, input.entries.select(d - rank + 1, index), shape, input.is_sorted
        )
    (chosen,) = np.nonzero(input.places[d] == index % size)
    entries = input.entries[make_indices(chosen)]
    if rank == 1:
        return entries.sum(0)
    return SparseTensor.of(np.delete(input.places[:, chosen], d, 0), entries, shape, input.is_sorted)


SparseTensor.OPERATIONS.update(
    {name: partial(apply_to_entries, name) for name in KEEPING_ZEROS.split() if name in OPERATIONS},
    add=add,
    cat=join,
    clone=copy,
    div=divide,
    index_select=index_select,
    mul=multiply,
    permute=permute,
    pow=raise_to_power,
    stack=stack,
    sub=subtract,
    t=transpose_matrix,
    transpose=transpose,
    unsqueeze=unsqueeze,
)
