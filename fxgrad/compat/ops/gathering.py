"""Operations with index Tensors: entries at positions along a dimension, and positions of entries.

Indexing by brackets, `x[...]`, is in `indexing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...extend import aval_of, concretize, kind_of, native_function, ops
from .._core.dtypes import short_name
from .._core.memory import copy_array
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.plain import constant_array, make_result
from .._declare.rearrangement import Rearrangement
from .._declare.spaces import expose
from ..errors import DimensionError, TensorError
from .arguments import dim_index, normalize_dim, place_hint
from .declarers import value_dtype
from .direct import are_within
from .joining import cat
from .sparse_gradient import choose_sparsely
from .viewing import broadcast_shapes, expand_values, reshape


# -- entries at places ------------------------------------------
def ensure_integers(operation: str, index) -> None:
    """Raise unless places are whole numbers."""
    if kind_of(value_dtype(index)) not in "iu":
        raise TensorError(f"{operation}(): Expected dtype int32/int64 for index", hint="index.long()")


def check_index(operation: str, index, shape: tuple[int, ...], dim: int, error: type = TensorError) -> None:
    """Raise unless the places along a dimension are integers within bounds."""
    ensure_integers(operation, index)
    n = shape[dim] if shape else 1
    if type(index) is np.ndarray and not are_within(index, n):
        bad = index.min() if index.min() < 0 else index.max()
        raise error(f"index {bad} is out of bounds for dimension {dim} with size {n}", hint=place_hint(n, 0))


def check_index_fits(operation: str, index, input, dim: int, other: str = "input") -> None:
    """Raise unless the index fits into a Tensor along the other dimensions."""
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise TensorError(
            f"Index tensor must have the same number of dimensions as {other} tensor",
            hint=f"{input.ndim}, not {index.ndim}: index.unsqueeze(…), or torch.index_select for a vector of places",
        )
    for d, (n, m) in enumerate(zip(index.shape, input.shape)):
        if n > m and d != dim:
            raise TensorError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}",
                hint=f"index.narrow({d}, 0, {m})",
            )


def matched_indices(index, dim: int) -> list[Any]:
    """The index arrays of places along one dimension, matched with all positions along the others."""
    shape = index.shape
    return [
        index if d == dim else np.arange(n).reshape((-1,) + (1,) * (len(shape) - d - 1))
        for d, n in enumerate(shape)
    ]


def scatter_index(index, input, dim: int) -> tuple[list[Any], tuple[Any, ...]]:
    """Return (index arrays, the index of a primitive) for places along one dimension."""
    if not input.ndim:
        return [], ()
    index = index if index.ndim else ops.reshape(index, shape=(1,))
    return matched_indices(index, dim), (ops.ARRAY,) * input.ndim


def take_matched(values: Sequence[Any], params: dict) -> Any:
    """Return the function of machine code that reads entries at places and looks at these, too, where arrays match."""
    plain = all([type(v) is np.ndarray for v in values])
    return native_function("matched.taker")(*values, params["dim"]) if plain else None


@operation("input index", spaces="", name="gather", composite=Rearrangement, direct=take_matched)
def gather_values(input, index, dim: int) -> Any:
    """Take the entries at places along a dimension."""
    dim = normalize_dim(dim, input.ndim)
    check_index("gather", index, input.shape, dim)
    if aval_of(index).size:
        check_index_fits("gather", index, input, dim)
    rank = input.ndim if index.ndim else 0
    arrays = matched_indices(index, dim) if index.ndim == rank else [index] * rank  # there are none
    return ops.getitem, (input, *(arrays or [index])), {"index": (ops.ARRAY,) * rank}


@expose("function method")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out=None) -> Tensor:
    """The entries at places along a dimension; entries along the others are matched. With `sparse_grad` the gradient
    of `input`, where that is a leaf, is a sparse Tensor of the entries that were read.

    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[1], [0]])).tolist()
    [[2], [3]]
    """
    same_rank = len(input.shape) == len(index.shape)
    if same_rank and out is None and not sparse_grad:
        return gather_values(input, index, dim)
    d = normalize_dim(dim, len(input.shape))
    here, places = refresh(input)._fx_value, refresh(index)._fx_value
    check_index("gather", places, here.shape, d)
    if aval_of(places).size:
        check_index_fits("gather", places, here, d)
    if sparse_grad and out is None and same_rank and type(places) is np.ndarray:
        arrays = np.ix_(*map(np.arange, places.shape))
        matched = [places if i == d else np.broadcast_to(x, places.shape) for i, x in enumerate(arrays)]
        found = choose_sparsely(gather_values.operation, input, matched)
        if found is not None:
            return found
    if same_rank or not aval_of(places).size:
        return gather_values.operation((input, index), {"dim": d}, out)
    flat = gather_values.operation(
        (reshape(input, (prod(input.shape),)), reshape(index, (prod(index.shape),))), {"dim": 0}
    )
    result = reshape(flat, index.shape)
    return result if out is None else out.resize_(index.shape).copy_(result)


@operation("input index", composite=Rearrangement)
def index_select(input, dim: int, index) -> Any:
    """The entries at places along a dimension, one after the other."""
    d = normalize_dim(dim, input.ndim)
    if index.ndim > 1:
        raise DimensionError(
            "index_select(): Index is supposed to be a vector",
            hint=f"x.index_select({d}, index.flatten()), or x[{':, ' * d}index]",
        )
    if aval_of(index).dtype not in (np.dtype("i4"), np.dtype("i8")):
        raise TensorError("index_select(): Expected dtype int32 or int64 for index", hint="index.long()")
    n = input.shape[d] if input.ndim else 1
    if type(index) is np.ndarray and not are_within(index, n):
        raise DimensionError("index out of range in self", hint=place_hint(n, 0))
    if not input.ndim:
        if (count := aval_of(index).size) != 1:
            raise TensorError(
                f"index_select(): Index to scalar can have only 1 value, got {count} value(s)",
                hint=f"x.expand({count})",
            )
        # The number itself, for each index of a batch.
        place = ops.reshape(index, shape=())
        one = ops.convert(ops.equal(place, place), dtype=aval_of(input).dtype)
        return ops.multiply, (input, one), {}
    flat = index if index.ndim else ops.reshape(index, shape=(1,))
    return ops.getitem, (input, flat), {"index": dim_index(d, ops.ARRAY)}


@operation("input index", spaces="", name="take", composite=Rearrangement, out=False)
def take_values(input, index) -> Any:
    """The entries of a vector at these places."""
    return ops.getitem, (input, index), {"index": (ops.ARRAY,)}


def take_plainly(input: Tensor, index: Tensor, *, out=None) -> Tensor | None:
    """Do what `take` does on plain Tensors; None where there is more to decide."""
    value, places = constant_array(input), constant_array(index)
    if out is not None or value is None or places is None or places.dtype.kind not in "iu":
        return None
    try:
        return make_result(value.take(places), None, None, None)
    except IndexError:
        return None


@expose("function method", direct=take_plainly)
@with_out
def take(input: Tensor, index: Tensor) -> Tensor:
    """The entries at places in the flattened Tensor."""
    size = prod(input.shape)
    value = refresh(index)._fx_value
    if kind_of(aval_of(value).dtype) not in "iu":
        raise TensorError(
            f"take(): Expected a long tensor for index, but got {short_name(index.dtype)}",
            hint="index.long()",
        )
    least, greatest = 0, -1
    if type(value) is np.ndarray and value.size:
        least, greatest = np.minimum.reduce(value, axis=None), np.maximum.reduce(value, axis=None)
    if least < -size or greatest >= size:
        bad = least if least < -size else greatest
        raise DimensionError(
            f"out of range: tried to access index {bad} on a tensor of {size} elements.",
            hint=place_hint(size),
        )
    return take_values(input if len(input.shape) == 1 else reshape(input, (size,)), index)


@expose("function method")
@with_out
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The entries at places along a dimension, which may be negative; the other dimensions are broadcast. Without a
    dimension, the entries of the flattened Tensor."""
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if len(input.shape) != len(indices.shape):
        raise TensorError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(input.shape)} dimensions for input, and {len(indices.shape)} dimensions for indices",
            hint="indices.unsqueeze(…): sizes of 1 broadcast",
        )
    d = normalize_dim(dim, len(input.shape))
    own, theirs = list(input.shape), list(indices.shape)
    common = broadcast_shapes((*own[:d], 1, *own[d + 1 :]), (*theirs[:d], 1, *theirs[d + 1 :]))
    places = constant_array(indices)
    if places is None or places.dtype.kind != "i" or not are_within(places, own[d]):
        indices = indices + (indices < 0) * own[d]
    elif input.requires_grad:  # the node keeps them, and they may be modified
        indices = indices.clone()
    if common != own:
        input = expand_values(input, (*common[:d], own[d], *common[d + 1 :]))
    return gather(input, d, expand_values(indices, (*common[:d], theirs[d], *common[d + 1 :])))


# -- where entries are not zero ------------------------------------------
@expose("function method")
def nonzero(input: Tensor, *, as_tuple: bool = False, out=None) -> Any:
    """The places of the entries that are not zero, as rows, or as one index Tensor for each dimension."""
    value = concretize(refresh(input)._fx_value, "nonzero()")
    tape = current_tape()
    if as_tuple:
        return tuple([make_tensor(tape, a.copy()) for a in ops.find_nonzero(np.atleast_1d(value))])
    found = np.argwhere(value) if value.ndim == 0 else np.stack(ops.find_nonzero(value), 1)
    found = found if found.flags.c_contiguous else copy_array(found)
    if out is not None:
        return out.resize_(found.shape).copy_(make_tensor(tape, found))
    return make_tensor(tape, found)


@expose("function method")
@with_out
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`; if there are fewer, rows of `fill_value`."""
    found = nonzero(input)[:size]
    rest = found.new_full((size - found.shape[0], input.ndim), fill_value)
    return cat([found, rest])


@expose("function method")
def argwhere(input: Tensor) -> Tensor:
    """The places of the entries that are not zero, as rows."""
    return nonzero(input)
