"""Normalization of the dimensions that torch's arguments name, and shapes of reductions."""

from __future__ import annotations

from operator import index
from typing import Any

from ... import ops
from ...core.aval import aval_of
from .._core.error_messages import dimension_error
from .._core.errors import TensorError


def normalize_dim(dim, ndim: int) -> int:
    """Count a dimension from the front. A Tensor without any has one for this purpose."""
    place = index(dim)
    size = max(ndim, 1)
    if not -size <= place < size:
        raise dimension_error(place, ndim)
    return place % size


def normalize_dims(dim, ndim: int) -> tuple[int, ...]:
    """Count dimensions from the front; None and () stand for all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    if not isinstance(dim, tuple | list):
        dim = (dim,)
    found: list[int] = []
    for d in dim:
        place = normalize_dim(d, ndim)
        if place in found:
            raise TensorError(f"dim {place} appears multiple times in the list of dims")
        found.append(place)
    return tuple(found) if ndim else ()


def keepdim_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with reduced axes of length one."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def flatten_value(x) -> Any:
    """Reshape a value to one dimension."""
    return ops.reshape(x, shape=(aval_of(x).size,))


def reduction_size(value, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    count = 1
    for axis in axes:
        count *= aval_of(value).shape[axis]
    return count
