"""Collation of samples to batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..._core.dtypes import PUBLIC
from ..._core.tensor import Tensor
from ..._make.creation import as_tensor, tensor
from ...errors import ArgumentError, TensorError
from ...ops.joining import stack

# What a function of samples is, by the name with which other packages annotate theirs.
_collate_fn_t = Callable[[list[Any]], Any]
CollateMap: TypeAlias = dict[type | tuple[type, ...], Callable[..., Any]]


# Kinds of arrays that do not become Tensors, by the text of their dtype.
np_str_obj_array_pattern = re.compile("[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Sequence[Any]) -> Any:
    """Collate samples to a batch: Tensors, arrays and numbers become Tensors with one more dimension; dicts and
    sequences, containers of what their entries become; text stays as it is.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: anything else.

    >>> torch.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collate samples to a batch by functions for their classes: function(batch, collate_fn_map=…). Mappings and
    sequences are collated entry by entry."""
    first = batch[0]
    functions = collate_fn_map or {}
    found = functions.get(type(first)) or next(
        (f for classes, f in functions.items() if isinstance(first, classes)), None
    )
    if found is not None:
        return found(batch, collate_fn_map=functions)
    if isinstance(first, Mapping):
        return {key: collate([x[key] for x in batch], collate_fn_map=functions) for key in first}
    if isinstance(first, Sequence):
        if any(len(x) != len(first) for x in batch):
            raise TensorError(
                "each element in list of batch should be of equal size",
                hint="collate_fn= a function that pads: torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)",
            )
        columns = [collate(column, collate_fn_map=functions) for column in zip(*batch)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise ArgumentError(
        default_collate_err_msg_format.format(type(first)), hint="collate_fn= makes batches of anything else"
    )


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Collate Tensors."""
    return stack(list(batch))


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Collate arrays, or scalars of NumPy's."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise ArgumentError(
            default_collate_err_msg_format.format(batch[0].dtype),
            hint="collate_fn= makes batches of anything else",
        )
    return stack([as_tensor(x) for x in batch])


collate_numpy_scalar_fn = collate_numpy_array_fn


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Collate Python's floats."""
    return tensor(batch, dtype=PUBLIC["float64"])


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    """Collate Python's integers."""
    return tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Return texts as they are."""
    return batch


# By class, the function that collates: programs add theirs, or pass a map of their own to `collate`.
default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


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
