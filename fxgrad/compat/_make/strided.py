"""Tensors of arbitrary strides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np

from ...extend import BatchTracer
from .._core.dtypes import default_numpy_dtype
from .._core.layout import batch_levels, contiguous_strides, first_entry
from .._core.memory import strided_view
from .._core.tensor import Tensor
from .._declare.spaces import expose
from ..errors import TensorError
from .creation import create_with_options, options_like, parse_size
from .options import Options


@expose()
def empty_strided(size, stride, **options: Unpack[Options]) -> Tensor:
    """A Tensor of arbitrary numbers with these strides."""
    shape = parse_size((size,), "empty_strided")

    def make_array(numpy) -> np.ndarray:
        return allocate(shape, stride, numpy)

    return create_with_options(make_array, "empty_strided", default_numpy_dtype("f"), **options)


@expose()
def empty_permuted(size, physical_layout, **options: Unpack[Options]) -> Tensor:
    """A Tensor of arbitrary numbers whose dimensions lie in memory in this order, the last one next to one another.

    >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    shape = parse_size((size,), "empty_permuted")
    if sorted(physical_layout) != [*range(len(shape))]:
        raise TensorError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(physical_layout)}"
            if len(physical_layout) != len(shape)
            else f"physical_layout has to name each dimension once, not {tuple(physical_layout)}",
            hint=f"physical_layout={tuple(range(len(shape)))}, which is the usual order",
        )
    stride = [0] * len(shape)
    for d, step in zip(physical_layout, contiguous_strides([shape[d] for d in physical_layout])):
        stride[d] = step
    return empty_strided(shape, tuple(stride), **options)


@expose("method")
def new_empty_strided(self: Tensor, size, stride, **options: Unpack[Options]) -> Tensor:
    """`empty_strided` in the dtype and on the device of this Tensor; under `vmap` one for each entry of a batch.

    >>> torch.ones(4).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    given = options_like(self, options)
    levels = batch_levels(self._fx_value)
    if not levels:
        return empty_strided(size, stride, **given)
    shape = parse_size((size,), "new_empty_strided")
    batch = [level.size for level in reversed(levels)]

    def make_batch(numpy) -> Any:
        step = memory_size(shape, stride)
        steps = [s * step for s in contiguous_strides(batch)]
        value: Any = allocate((*batch, *shape), (*steps, *stride), numpy)
        for level in reversed(levels):
            value = BatchTracer(level, value)
        return value

    made = create_with_options(make_batch, "new_empty_strided", None, **given)
    made._fx_memory_layout = partial(first_entry, made._fx_value)
    return made


def memory_size(shape: Sequence[int], stride: Sequence[int]) -> int:
    """The number of entries from the first to the last of an array of these strides."""
    return 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 0


def allocate(shape: Sequence[int], stride: Sequence[int], numpy) -> np.ndarray:
    """Allocate an array of these strides, counted in entries."""
    memory = np.empty(memory_size(shape, stride), numpy)
    return strided_view(memory, shape, [s * numpy.itemsize for s in stride], 0)
