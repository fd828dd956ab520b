"""Sequences of several lengths: padded to a common length, or packed, with all entries of one time step together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extend import aval_of, concretize, ops
from ..._core.tensor import Tensor, refresh, wrap
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import TensorError
from ..declarers import number_like


def as_counts(given, what: str) -> np.ndarray:
    """Convert a Tensor or a sequence of integers to an array."""
    value = concretize(refresh(given)._fx_value, what) if isinstance(given, Tensor) else given
    return np.asarray(value, np.int64)


def lengths_of(batch_sizes: np.ndarray) -> np.ndarray:
    """Compute the lengths of sequences from the number of sequences at each time."""
    return (np.arange(batch_sizes[0] if len(batch_sizes) else 0)[:, None] < batch_sizes).sum(1)


@operation("data places", name="_pad_packed_sequence", spaces="", out=False, by_value=False)
def place_rows(data, places, padding_value: float) -> Any:
    """The rows of `data` at given places; the last place is the padding."""
    row = np.full((1, *aval_of(data).shape[1:]), number_like(padding_value, data), aval_of(data).dtype)
    return ops.getitem(ops.concatenate(data, row, axis=0), places, index=(ops.ARRAY,))


def pad_packed(data, batch_sizes, padding_value: float, total_length: int | None) -> tuple[Any, np.ndarray]:
    """Return ((time, sequence, …), the lengths of the sequences) for packed sequences."""
    sizes = as_counts(batch_sizes, "batch_sizes")
    total, widest = int(sizes.sum()), int(sizes.max(initial=0))
    if total != data.shape[0]:
        raise TensorError(
            f"Expected `data` to have {total} rows, as many as `batch_sizes` count, but it has {data.shape[0]}",
            hint=f"data[:{total}]"
            if data.shape[0] > total
            else "batch_sizes as pack_padded_sequence gave them",
        )
    steps = len(sizes) if total_length is None else total_length
    places = np.full((steps, widest), total)
    firsts = np.cumsum(sizes) - sizes
    for time, (first, count) in enumerate(zip(firsts, sizes)):
        places[time, :count] = np.arange(first, first + count)
    return place_rows(data, wrap(places), padding_value), lengths_of(sizes)


def unpad_packed(padded, batch_sizes) -> Any:
    """Return the rows of (time, sequence, …) that are no padding, all of a time after another."""
    sizes = as_counts(batch_sizes, "batch_sizes")
    width = padded.shape[1]
    places = [time * width + np.arange(count) for time, count in enumerate(sizes)]
    rows = padded.reshape(padded.shape[0] * width, *padded.shape[2:])
    return rows.index_select(0, wrap(np.concatenate(places)))


@expose("function")
def _pack_padded_sequence(input, lengths, batch_first: bool) -> tuple[Any, Any]:
    """(data, batch sizes) of padded sequences, the longest first."""
    sizes = as_counts(lengths, "lengths")
    padded = input.transpose(0, 1) if batch_first else input
    if sizes.ndim != 1 or len(sizes) != padded.shape[1]:
        raise TensorError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {sizes.size} (batch_size={padded.shape[1]})",
            hint=f"batch_first={not batch_first}"
            if sizes.size == padded.shape[0]
            else f"{padded.shape[1]} lengths",
        )
    if not len(sizes):
        raise TensorError("Cannot pack empty tensors.", hint="only where there is a sequence")
    if sizes[-1] <= 0 or sizes.min() <= 0:
        raise TensorError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
            hint="leave the empty sequences out: lengths > 0",
        )
    if (np.diff(sizes) > 0).any():
        raise TensorError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability.",
            hint="enforce_sorted=False",
        )
    if sizes[0] > padded.shape[0]:
        raise TensorError(
            f"Expected `len(lengths)` to be at most the length of the padded sequences {padded.shape[0]}, but got "
            f"{sizes[0]}",
            hint=f"batch_first={not batch_first}"
            if sizes[0] <= padded.shape[1]
            else f"lengths.clamp(max={padded.shape[0]})",
        )
    counts = wrap(lengths_of(sizes))  # the same sum gives each of the two by the other
    return unpad_packed(padded, counts), counts


@expose("function")
def _pad_packed_sequence(
    data, batch_sizes, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Any, Any]:
    """(padded sequences, lengths) from packed sequences."""
    padded, lengths = pad_packed(data, batch_sizes, padding_value, total_length)
    return padded.transpose(0, 1) if batch_first else padded, wrap(lengths)
