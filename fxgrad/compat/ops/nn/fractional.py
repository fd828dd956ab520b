"""Fractional max pooling: maxima of windows at random places. Source: Graham, 2014, arXiv:1412.6071."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....extend import aval_of, concretize, ops
from ..._core.tensor import Tensor, refresh, wrap
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ..._make.sampling import rand
from ...errors import ArgumentValueError, TensorError
from .spatial import per_dimension

# torch draws the last dimension of images first, and the dimensions of volumes in their order.
ORDER = {2: (1, 0), 3: (0, 1, 2)}


def window_starts(samples: np.ndarray, n: int, count: int, width: int) -> np.ndarray:
    """The first entries (…, count) of windows of a row of n, for samples (…) between 0 and 1: about evenly spaced, the
    last one at the end."""
    step = (n - width) / (count - 1) if count > 1 else 0.0
    shift = samples[..., None]
    # In the precision of the samples, as torch rounds them.
    steps = np.asarray(step, samples.dtype)
    starts = ((np.arange(count) + shift) * steps).astype(np.int64) - (shift * steps).astype(np.int64)
    starts[..., -1] = n - width
    return starts


def window_places(
    samples: np.ndarray, shape: tuple[int, ...], counts: tuple[int, ...], sizes: tuple[int, ...]
) -> np.ndarray:
    """The places (N, C, windows, taps) in the flattened image of all entries of windows."""
    rank = len(shape)
    starts = [
        window_starts(samples[..., which], n, count, width)
        for which, n, count, width in zip(ORDER[rank], shape, counts, sizes)
    ]
    flat: Any = 0
    for axis, (start, n) in enumerate(zip(starts, shape)):
        offsets = np.arange(sizes[axis])
        place = start[..., None] + offsets  # (N, C, count, taps)
        form = [1] * (2 * rank)
        form[axis], form[rank + axis] = counts[axis], sizes[axis]
        flat = flat * n + place.reshape(*place.shape[:2], *form)
    return flat.reshape(*flat.shape[:2], prod(counts), prod(sizes))


@operation(
    "input places",
    name="fractional_max_pool",
    spaces="",
    out=False,
    results=tuple,
    constant=(1,),
    by_value=False,
)
def greatest_of_windows(input, places, counts: tuple[int, ...]) -> list[Any]:
    """The greatest entry of each window, and its place in the flattened image."""
    shape, rank = aval_of(input).shape, len(counts)
    lead = shape[: len(shape) - rank]
    n, channels, windows, taps = aval_of(places).shape
    flat = ops.reshape(input, shape=(n, channels, prod(shape[-rank:])))
    entries = ops.take_along(flat, ops.reshape(places, shape=(n, channels, windows * taps)), 2)
    entries = ops.reshape(entries, shape=(n, channels, windows, taps))
    chosen = ops.argmax(entries, axis=3)
    indices = ops.take_along(places, ops.reshape(chosen, shape=(n, channels, windows, 1)), 3)
    indices = ops.reshape(indices, shape=(*lead, *counts))
    return [ops.pick(input, indices, rank=rank), indices]


def expose_fractional(rank: int) -> None:
    """Expose the maxima over a number of dimensions, with their places on request."""
    name = f"fractional_max_pool{rank}d"

    def with_indices(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples=None,
    ) -> tuple[Any, Any]:
        if output_size is None and output_ratio is None:
            raise ArgumentValueError(
                f"{name} requires specifying either an output_size or an output_ratio",
                hint="output_ratio=0.5, or output_size=…",
            )
        shape = tuple(input.shape[-rank:])
        if output_size is None:
            ratios = output_ratio if isinstance(output_ratio, list | tuple) else (output_ratio,) * rank
            output_size = [int(n * ratio) for n, ratio in zip(shape, ratios)]
        counts, sizes = per_dimension(output_size, rank), per_dimension(kernel_size, rank, "kernel_size")
        for what, n, count, width in zip(("time", "height", "width")[-rank:], shape, counts, sizes):
            if count + width - 1 > n:
                raise TensorError(
                    f"{name}(): pool {what} {width} too large relative to input {what} {n}",
                    hint=f"output_size={n - width + 1} at most in this dimension, or a smaller kernel_size",
                )
        lead = tuple(input.shape[:-rank])
        lead = lead if len(lead) == 2 else (1, *lead)
        if _random_samples is None:
            drawn = rand((*lead, rank), dtype=input.dtype)
        else:
            drawn = _random_samples
        samples = np.asarray(
            concretize(refresh(drawn)._fx_value, name) if isinstance(drawn, Tensor) else drawn
        )
        return greatest_of_windows(input, wrap(window_places(samples, shape, counts, sizes)), counts)

    def pool(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples=None,
    ) -> Any:
        results = with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return results if return_indices else results[0]

    pool.__doc__ = f"""Maxima of windows of {rank} dimensions, whose places are drawn at random.

    Args:
        input: (N, C, *spatial), or (C, *spatial).
        kernel_size: the size of windows, one number or one for each dimension.
        output_size, output_ratio: how many there are along each dimension, or how many for each entry.
        return_indices: places in the flattened image are returned, too.
        _random_samples: (N, C, {rank}) between 0 and 1, what decides the places; drawn where it is not given.

    Raises:
        ValueError: neither `output_size` nor `output_ratio`.
        RuntimeError: windows that are too large.
    """
    with_indices.__doc__ = f"(maxima, their places in the flattened image); see `{name}`."
    expose("nn.functional", name)(pool)
    expose("nn.functional", f"{name}_with_indices")(with_indices)


for dimensions in ORDER:
    expose_fractional(dimensions)
