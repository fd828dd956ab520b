"""Collation of samples to batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._core.dtypes import PUBLIC
from ..._core.tensor import Tensor
from ..._make.creation import as_tensor, tensor
from ...errors import ArgumentError, TensorError
from ...ops.joining import stack

# What a function of samples is, by the name with which other packages annotate theirs.
_collate_fn_t = Callable[[list[Any]], Any]


def default_collate(batch: Sequence[Any]) -> Any:
    """Collate samples to a batch: Tensors, arrays and numbers become Tensors with one more dimension; dicts and
    sequences, containers of what their entries become; text stays as it is.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: anything else.

    >>> torch.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic) and first.dtype.kind in "biufc":
        return stack([as_tensor(x) for x in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=PUBLIC["float64"])
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([x[key] for x in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(x) != len(first) for x in batch):
            raise TensorError(
                "each element in list of batch should be of equal size",
                hint="collate_fn= a function that pads: torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)",
            )
        columns = [default_collate(column) for column in zip(*batch)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise ArgumentError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        + str(type(first)),
        hint="collate_fn= makes batches of anything else",
    )


def default_convert(data) -> Any:
    """Convert the arrays of a sample to Tensors.

    Args:
        data: a sample.

    Returns:
        The sample.

    >>> torch.utils.data.default_convert({"x": np.ones(2)})
    {'x': tensor([1., 1.], dtype=torch.float64)}
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(x) for key, x in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        columns = [default_convert(x) for x in data]
        return type(data)(*columns) if hasattr(data, "_fields") else columns
    return data
