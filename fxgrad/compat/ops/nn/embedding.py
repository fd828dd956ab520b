"""Embeddings: rows of a table, looked up by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extend import CURRENT, Tracer, aval_of, kind_of, ops, use_context
from ..._core.dtypes import type_name
from ..._core.modes import with_modes
from ..._core.tensor import make_tensor, refresh
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import (
    ArgumentValueError,
    DimensionError,
    NotSupportedError,
    RequirementError,
    TensorError,
)
from ..arguments import place_hint, shape_hint
from ..joining import cat
from ..reduction import p_norm
from ..sparse_gradient import choose_sparsely

ROWS = (ops.ARRAY, slice(None, None, None))


def check_indices(indices, count: int) -> None:
    """Raise for dtypes other than indices, and for concrete indices out of range."""
    if kind_of(aval_of(indices).dtype) != "i":
        raise TensorError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{type_name(aval_of(indices).dtype)} instead (while checking arguments for embedding)",
            hint="indices.long()",
        )
    if not isinstance(indices, Tracer) and is_any_outside(indices, count):
        raise DimensionError(
            "index out of range in self",
            hint=f"{place_hint(count, 0)}; num_embeddings={int(indices.max()) + 1} has all of these",
        )


def is_any_outside(indices, count: int) -> bool:
    """Whether a number is below 0 or above count - 1; a negative one is large when it is read without its sign."""
    return bool(indices.size) and bool(indices.view(f"u{indices.dtype.itemsize}").max() >= count)


def look_up_rows(weight, indices, padding_idx: int | None, by_frequency: bool) -> Any:
    """Look up rows; the padding has no derivative, and derivatives of other rows may be divided by their frequency."""
    count = aval_of(weight).shape[0]
    check_indices(indices, count)
    found = ops.getitem(weight, indices, index=ROWS)
    share: Any = None
    if padding_idx is not None:
        share = ops.convert(ops.not_equal(indices, padding_idx), dtype=aval_of(weight).dtype)
    if by_frequency:
        ones = ops.full_like(ops.reshape(indices, shape=(aval_of(indices).size,)), value=1)
        flat = ops.reshape(indices, shape=(aval_of(indices).size,))
        often = ops.getitem(
            ops.scatter_add(ones, flat, index=(ops.ARRAY,), shape=(count,)), indices, index=(ops.ARRAY,)
        )
        portion = ops.convert(1 / often, dtype=aval_of(weight).dtype)
        share = portion if share is None else share * portion
    if share is None:
        return found
    return ops.with_derivative_of(found, found * ops.reshape(share, shape=(*aval_of(indices).shape, 1)))


@operation("weight indices", spaces="function", out=False, name="embedding")
def torch_embedding(
    weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """nn.functional.embedding, with the table first."""
    return look_up_rows(weight, indices, None if padding_idx < 0 else padding_idx, scale_grad_by_freq)


def renormalize_rows(weight, indices, max_norm: float, norm_type: float) -> None:
    """Shorten in place the rows that are looked up and longer than `max_norm`."""
    with use_context(with_modes(CURRENT.get(), grad=False)):
        weight.copy_(embedding_renorm_values(weight.detach(), indices, max_norm, norm_type))


@operation("weight indices", spaces="", out=False, name="embedding_renorm")
def embedding_renorm_values(weight, indices, max_norm: float, norm_type: float) -> Any:
    """Scale the rows with these numbers down to the norm `max_norm`."""
    count = aval_of(weight).shape[0]
    length = p_norm(weight, norm_type, 1, True)
    flat = ops.reshape(indices, shape=(aval_of(indices).size,))
    used = ops.scatter_add(ops.full_like(flat, value=1), flat, index=(ops.ARRAY,), shape=(count,))
    long = ops.logical_and(ops.greater(length, max_norm), ops.reshape(ops.greater(used, 0), shape=(count, 1)))
    return ops.where(long, weight * (max_norm / (length + 1e-7)), weight)


def padding_row(padding_idx: int | None, count: int) -> int | None:
    """The non-negative row number of the padding."""
    if padding_idx is None:
        return None
    if not -count <= padding_idx < count:
        raise RequirementError("Padding_idx must be within num_embeddings", hint=place_hint(count))
    return padding_idx % count


@expose("nn.functional")
def embedding(
    input,
    weight,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` with the numbers `input`.

    Args:
        padding_idx: the row that has no derivative.
        max_norm: rows that are longer, in the norm `norm_type`, are shortened in place before.
        scale_grad_by_freq: derivatives are divided by how often the row occurs.
        sparse: whether the gradient of `weight`, where that is a leaf, is a sparse Tensor of the rows that were read.

    >>> torch.nn.functional.embedding(torch.tensor([2, 0]), torch.eye(3)).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    padding_idx = padding_row(padding_idx, weight.shape[0])
    if max_norm is not None:
        renormalize_rows(weight, input, max_norm, norm_type)
    if sparse:
        found = choose_rows(torch_embedding.operation, weight, input, padding_idx, scale_grad_by_freq)
        if found is not None:
            return found
    return torch_embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def choose_rows(op, weight, input, padding_idx: int | None, scale_grad_by_freq: bool) -> Any:
    """Look up rows so that the gradient of the table is sparse; None if that is impossible."""
    if scale_grad_by_freq:
        raise TensorError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients", hint="sparse=False"
        )
    index = refresh(input)._fx_value
    if type(index) is not np.ndarray:
        return None
    count = weight.shape[0]
    if is_any_outside(index, count):
        return None  # it is an error there
    kept = None if padding_idx is None else np.flatnonzero(index.reshape(-1) != padding_idx)
    return choose_sparsely(op, weight, (index,), kept)


def bag_arguments(
    input,
    weight,
    offsets=None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights=None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The bags are checked, rows that are too long shortened."""
    if mode not in ("sum", "mean", "max"):
        raise ArgumentValueError("mode has to be one of sum, mean or max", hint='mode="mean", "sum" or "max"')
    if input.ndim == 2 and offsets is not None:
        raise ArgumentValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            "sequences. However, found offsets of type <class 'torch.Tensor'>",
            hint="input.flatten() with offsets, or no offsets",
        )
    if input.ndim == 1 and offsets is None:
        raise ArgumentValueError(
            "offsets has to be a 1D Tensor but got None",
            hint="offsets=torch.tensor([0]) for one bag, or input.unsqueeze(0)",
        )
    if input.ndim not in (1, 2):
        raise ArgumentValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}",
            hint="input.flatten(0, -2), a bag in each row" if input.ndim else "input.reshape(1, 1)",
        )
    if offsets is not None and offsets.numel():
        first = refresh(offsets)._fx_value
        if type(first) is np.ndarray and first.flat[0]:
            raise TensorError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {first.flat[0]}",
                hint="offsets of where each bag begins; the first begins at 0",
            )
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotSupportedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                f"(got mode='{mode}'). Please open a feature request on GitHub.",
                hint="mode='sum'; weights that add up to 1 in each bag give a mean",
            )
        if per_sample_weights.shape != input.shape:
            raise ArgumentValueError(
                f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not None, it must have "
                f"the same shape as the input ({tuple(input.shape)})",
                hint=shape_hint("per_sample_weights", per_sample_weights.shape, input.shape),
            )
    padding_idx = padding_row(padding_idx, weight.shape[0])
    if max_norm is not None:
        renormalize_rows(weight, input, max_norm, norm_type)
    if sparse and mode != "max":
        found = choose_rows(torch_embedding.operation, weight, input, padding_idx, scale_grad_by_freq)
        if found is not None:  # the rows are the table from here on
            weight, numbers = found.reshape(-1, weight.shape[1]), np.arange(input.numel())
            if padding_idx is not None:
                weight = cat([weight, weight.new_zeros(1, weight.shape[1])])
                numbers = np.where(refresh(input)._fx_value.reshape(-1) == padding_idx, len(numbers), numbers)
                padding_idx = input.numel()
            input = make_tensor(input._fx_tape, numbers.reshape(input.shape))
    params = {
        "mode": mode,
        "padding_idx": padding_idx,
        "by_frequency": scale_grad_by_freq,
        "include_last_offset": include_last_offset,
    }
    return (weight, input, offsets, per_sample_weights), params


@operation(
    "weight indices offsets per_sample_weights", arguments=bag_arguments, spaces="nn.functional", out=False
)
def embedding_bag(
    weight,
    indices,
    offsets,
    per_sample_weights,
    mode: str,
    padding_idx: int | None,
    by_frequency: bool,
    include_last_offset: bool,
) -> Any:
    """Sums, means or maxima (`mode`) of bags of rows of `weight`, without the rows themselves.

    Args:
        input: row numbers: a row for each bag; or one after the other, with the `offsets` at which bags begin.
        per_sample_weights: of each row number; for sums only.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: the row that does not count. All others are as in `embedding`.
    """
    size = aval_of(indices).size
    if offsets is None:  # bags of one length are summed as they lie
        count, length = aval_of(indices).shape
        indices = ops.reshape(indices, shape=(size,))
        bag: Any = np.repeat(np.arange(count), length)
    else:
        count = aval_of(offsets).shape[0] - include_last_offset
        bag = ops.searchsorted(offsets, np.arange(size), side="right") - 1
    found = look_up_rows(weight, indices, padding_idx, by_frequency)
    used = ops.not_equal(indices, -1 if padding_idx is None else padding_idx)
    if include_last_offset and offsets is not None:
        used, bag = ops.logical_and(used, ops.less(bag, count)), ops.minimum(bag, count - 1)
    here = ops.reshape(used, shape=(size, 1))
    if mode == "max":
        return bag_maxima(found, here, bag, count)
    if per_sample_weights is not None:
        found = found * ops.reshape(per_sample_weights, shape=(size, 1))

    def total(values: Any) -> Any:
        rest = aval_of(values).shape[1:]
        if offsets is None:
            return ops.reduce_sum(ops.reshape(values, shape=(count, length, *rest)), axes=(1,))
        return ops.scatter_add(
            values, bag, index=(ops.ARRAY, *ROWS[1:])[: 1 + len(rest)], shape=(count, *rest)
        )

    sums = total(found if padding_idx is None and not include_last_offset else ops.where(here, found, 0))
    if mode == "sum":
        return sums
    often = total(ops.convert(used, dtype=aval_of(weight).dtype))
    return sums / ops.reshape(ops.maximum(often, 1), shape=(count, 1))


def bag_maxima(found, here, bag, count: int) -> Any:
    """The greatest entry of each bag in each column, of several the first; 0 for a bag without rows."""
    size, width = aval_of(found).shape
    values = ops.where(here, ops.stop_gradient(found), -np.inf)
    start = np.full((count, width), -np.inf, aval_of(found).dtype)
    greatest = ops.getitem(ops.scatter_max(start, values, bag, index=ROWS), bag, index=ROWS)
    reached = ops.logical_and(here, ops.logical_or(ops.equal(values, greatest), ops.isnan(values)))
    numbers = ops.where(reached, np.arange(size)[:, None], size)
    first = ops.scatter_min(np.full((count, width), size), numbers, bag, index=ROWS)
    is_empty = ops.equal(first, size)
    place = ops.where(is_empty, 0, first)
    return ops.where(is_empty, 0, ops.getitem(found, place, np.arange(width), index=(ops.ARRAY, ops.ARRAY)))
