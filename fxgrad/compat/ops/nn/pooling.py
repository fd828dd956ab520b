"""Pooling: means, norms and maxima of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from ....extend import aval_of, costs, ops
from ..._core.dtypes import short_name
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, TensorError
from ..arguments import as_sizes, as_whole
from ..arithmetic import whole_quotient
from ..declarers import expose_with
from ..direct import window_maxima
from .spatial import image_error, per_dimension, spatial_operations


def rank_spaces(rank: int) -> str:
    """The spaces of operations that are in `torch.` itself over one dimension only."""
    return "function nn.functional" if rank == 1 else "nn.functional"


def count_windows(n: int, size: int, step: int, pad: int, dilation: int, ceil_mode: bool) -> int:
    """Count the windows. One that would begin in the padding at the end is left out."""
    extent = dilation * (size - 1)
    count = (n + 2 * pad - extent - 1 + (step - 1 if ceil_mode else 0)) // step + 1
    if ceil_mode and (count - 1) * step >= n + pad:
        count -= 1
    return count


class Windows:
    """The windows of a pooling over the last dimensions of images, checked."""

    def __init__(
        self, name: str, shape: tuple[int, ...], kernel_size, stride, padding, dilation, ceil_mode: bool
    ):
        rank = len(shape)
        self.shape = shape
        self.sizes = per_dimension(kernel_size, rank, f"{name}: kernel_size")
        none = stride is None or (isinstance(stride, list | tuple) and not len(stride))
        self.steps = self.sizes if none else per_dimension(stride, rank, f"{name}: stride")
        self.pads = per_dimension(padding, rank, f"{name}: padding")
        self.dilations = per_dimension(dilation, rank, f"{name}: dilation")
        if min(self.sizes) < 1 or min(self.steps) < 1:
            what = "kernel size" if min(self.sizes) < 1 else "stride"
            raise TensorError(
                f"{what} should be greater than zero, but got {min(self.sizes + self.steps)}",
                hint=f"{what.replace(' ', '_')}=1, or more",
            )
        for pad, size in zip(self.pads, self.sizes):
            if not 0 <= pad <= size // 2:
                raise TensorError(
                    f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={size} and "
                    "dilation=1",
                    hint=f"padding={size // 2}; torch.nn.functional.pad takes any widths",
                )
        self.counts = tuple(
            count_windows(*one, ceil_mode)
            for one in zip(shape, self.sizes, self.steps, self.pads, self.dilations)
        )
        if min(self.counts) < 1:
            raise TensorError(
                f"Given input size: {shape}. Calculated output size: {self.counts}. Output size is too small",
                hint=f"kernel_size={tuple(map(min, shape, self.sizes))}, or padding",
            )

    @property
    def params(self) -> dict[str, Any]:
        """The params of `ops.window_sum` and its like: padded, so that all windows lie inside, and no more."""
        pads = tuple(
            (pad, (count - 1) * step + (size - 1) * dilation + 1 - n - pad)
            for n, size, step, pad, dilation, count in zip(
                self.shape, self.sizes, self.steps, self.pads, self.dilations, self.counts
            )
        )
        return {"sizes": self.sizes, "steps": self.steps, "pads": pads, "dilations": self.dilations}

    def divisors(self, count_include_pad: bool) -> np.ndarray:
        """The number of entries of each window, including the padding but nothing beyond it."""
        result = np.ones(())
        for n, size, step, pad, count in zip(self.shape, self.sizes, self.steps, self.pads, self.counts):
            start = np.arange(count) * step - pad
            stop = np.minimum(start + size, n + pad)
            if not count_include_pad:
                start, stop = np.maximum(start, 0), np.minimum(stop, n)
            result = result[..., None] * (stop - start)
        return result


def flat_positions(shape: tuple[int, ...], tables: list[np.ndarray]) -> np.ndarray:
    """The places of the windows' taps in the flattened image, as (taps, windows), from those along each dimension."""
    rank = len(shape)
    flat = np.zeros((1,) * 2 * rank, np.int64)
    for i, (n, table) in enumerate(zip(shape, tables)):
        axes = [1] * 2 * rank
        axes[i], axes[rank + i] = table.shape
        flat = flat * n + table.reshape(axes)
    return flat.reshape(prod(flat.shape[:rank]), prod(flat.shape[rank:]))


# -- means ------------------------------------------
@spatial_operations(
    "avg_pool{}d", each=lambda rank: {"spaces": "nn.functional" * (rank > 1), "out": rank > 1}
)
def avg_pool(
    rank: int,
    input,
    kernel_size,
    stride=(),
    padding=0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window.

    Args:
        stride: that of the windows; the kernel size if there is none.
        padding: zeros on both sides, which count as entries with `count_include_pad`.
        ceil_mode: windows may reach beyond the end.
        divisor_override: by what to divide the sum instead.

    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    dtype = aval_of(input).dtype
    windows = Windows(
        f"avg_pool{rank}d", aval_of(input).shape[2:], kernel_size, stride, padding, 1, ceil_mode
    )
    total = ops.window_sum(input, **windows.params)
    if divisor_override == 0:
        raise TensorError(
            "divisor must be not zero", hint="divisor_override=None, which divides by the size of the window"
        )
    divisors: Any = divisor_override
    if divisor_override is None:
        divisors = windows.divisors(count_include_pad).astype(dtype)
    return whole_quotient(total, divisors) if dtype == np.int64 else total / divisors


expose_with(  # over one dimension torch has no divisor_override
    "input, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True",
    avg_pool[0],
    "avg_pool1d",
    "function nn.functional",
)


def adaptive_ranges(n: int, count: int) -> list[range]:
    """The ranges of `count` parts of n entries, which overlap where `count` does not divide n."""
    return [range(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def adaptive_sizes(output_size, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Complete the output size: None stands for the input's."""
    given = output_size if isinstance(output_size, list | tuple) else (output_size,) * len(shape)
    if len(given) != len(shape):
        raise TensorError(
            f"adaptive pooling: output_size must have {len(shape)} elements",
            hint=f"output_size={(*given, *[None] * len(shape))[: len(shape)]}",
        )
    sizes = tuple(n if m is None else as_whole(m) for n, m in zip(shape, given))
    if any(n < 0 for n in sizes):
        raise TensorError(
            f"adaptive pooling: elements of output_size must be greater than or equal to 0 but got {sizes}",
            hint=f"output_size={tuple([max(n, 1) for n in sizes])}; None keeps a size",
        )
    return sizes


@spatial_operations("adaptive_avg_pool{}d", each=lambda rank: {"spaces": rank_spaces(rank)})
def adaptive_avg_pool(rank: int, input, output_size) -> Any:
    """The means over `output_size` parts of each dimension; None keeps the dimension."""
    x = input
    shape = aval_of(x).shape
    lead, counts = shape[:2], adaptive_sizes(output_size, shape[2:])
    if set(counts) == {1} and 0 not in shape[2:]:  # the mean, to the last bit
        total = ops.reduce_sum(x, axes=tuple(range(2, 2 + rank)))
        return ops.reshape(total, shape=(*lead, *counts)) / prod(shape[2:])
    if all(counts) and not any(n % count for n, count in zip(shape[2:], counts)):
        parts = [(count, n // count) for n, count in zip(shape[2:], counts)]
        x = ops.reshape(x, shape=(*lead, *chain(*parts)))
        axes = tuple(range(3, 3 + 2 * rank, 2))
        return ops.reduce_sum(x, axes=axes) / prod(width for _, width in parts)
    for axis, count in enumerate(counts, 2):
        shape = aval_of(x).shape
        if not count:
            x = ops.getitem(x, index=(*(slice(None, None, None),) * axis, slice(0, 0, None)))
        else:
            head = (slice(None, None, None),) * axis
            pieces = [(slice(p.start, p.stop, None), len(p)) for p in adaptive_ranges(shape[axis], count)]
            means = [ops.reduce_sum(ops.getitem(x, index=(*head, p)), axes=(axis,)) / n for p, n in pieces]
            x = ops.stack(means, axis)
    return x


# -- maxima ------------------------------------------
WINDOWS = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


def maxima_options(rank: int) -> dict[str, Any]:
    """The tangents of maxima are those of the maximal entries."""
    return {"tangent": lambda ys, primals, tangents, params: (ops.pick(tangents[0], ys[1], rank=rank), None)}


def find_few_maxima(rank: int, values: Sequence[Any], params: dict) -> Any:
    """Return the function that finds the maxima of few windows without padding."""
    (x,), called = values, f"max_pool{rank}d"
    if not rank < x.ndim < rank + 3 or x.dtype not in (np.float32, np.float64) or not x.size:
        return None
    windows = Windows(called, x.shape[-rank:], *[params[key] for key in WINDOWS])
    axes = [*zip(windows.sizes, windows.counts, windows.steps, windows.dilations)]
    entries = prod(x.shape[:-rank]) * prod(windows.sizes) * prod(windows.counts)
    if entries >= costs.INDEXED_ENTRIES or any([n > 0 for pad in windows.params["pads"] for n in pad]):
        return None
    tables = [np.arange(size)[:, None] * gap + np.arange(count) * step for size, count, step, gap in axes]
    return window_maxima(x, flat_positions(windows.shape, tables), windows.counts)


def take_maxima(x, windows: Windows) -> list[Any]:
    """Return [the greatest entries of windows, their places in the flattened image], of several the first."""
    indices = ops.window_places(x, least=False, **windows.params)
    return [ops.pick(x, indices, rank=len(windows.sizes)), indices]


@spatial_operations(
    "max_pool{}d_with_indices",
    spaces="nn.functional",
    results=tuple,
    each=lambda rank: {**maxima_options(rank), "direct": partial(find_few_maxima, rank)},
)
def max_pool_with_indices(
    rank: int,
    input,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest entry of each window, and its place in the flattened image."""
    shape = aval_of(input).shape[2:]
    windows = Windows(f"max_pool{rank}d", shape, kernel_size, stride, padding, dilation, ceil_mode)
    return take_maxima(input, windows)


@spatial_operations(
    "adaptive_max_pool{}d",
    results=tuple,
    each=lambda rank: {"spaces": "function" * (rank == 1), **maxima_options(rank)},
)
def adaptive_max_pool_with_indices(rank: int, input, output_size) -> Any:
    """The greatest entries of parts, and their places in the flattened image."""
    lead, shape = aval_of(input).shape[:2], aval_of(input).shape[2:]
    counts = adaptive_sizes(output_size, shape)
    if all(count and n % count == 0 for n, count in zip(shape, counts)):
        sizes = tuple(n // count for n, count in zip(shape, counts))
        return take_maxima(input, Windows("adaptive_max_pool", shape, sizes, None, 0, 1, False))
    tables = []
    for n, count in zip(shape, counts):
        pieces = adaptive_ranges(n, count)
        longest = max(map(len, pieces), default=1)
        tables.append(np.array([[p[min(k, len(p) - 1)] for p in pieces] for k in range(longest)], np.intp))
    positions = flat_positions(shape, tables)
    flat = ops.reshape(input, shape=(*lead, prod(shape)))
    taps = ops.getitem(flat, positions, index=(slice(None, None, None),) * 2 + (ops.ARRAY,))
    indices = ops.getitem(
        positions, ops.argmax(taps, axis=2), np.arange(prod(counts)), index=(ops.ARRAY, ops.ARRAY)
    )
    indices = ops.reshape(indices, shape=(*lead, *counts))
    return [ops.pick(input, indices, rank=rank), indices]


def expose_maxima(rank: int) -> None:
    """Expose the maxima over a number of dimensions, with their places on request."""
    pool, adaptive = max_pool_with_indices[rank - 1], adaptive_max_pool_with_indices[rank - 1]
    with_indices = f"adaptive_max_pool{rank}d_with_indices"
    expose_with("input, output_size, return_indices=False", adaptive, with_indices, "nn.functional")

    @expose("nn.functional", f"max_pool{rank}d")
    def max_pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The greatest entry of each window, with `return_indices` also its place in the flattened image.

        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 4.0]]), 2).tolist()
        [[3.0, 5.0]]
        """
        results = pool(input, kernel_size, stride, padding, dilation, ceil_mode)
        return results if return_indices else results[0]

    windows = "input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False"
    expose_with(windows, max_pool, f"max_pool{rank}d")
    if rank == 1:
        expose_with(windows, pool, "max_pool1d_with_indices")

    @expose("nn.functional", f"adaptive_max_pool{rank}d")
    def adaptive_max_pool(input, output_size, return_indices: bool = False) -> Any:
        """The maxima over `output_size` parts of each dimension; None keeps the dimension."""
        results = adaptive(input, output_size)
        return results if return_indices else results[0]


def declare_lp_pool(rank: int) -> Any:
    """Declare the p-norm over windows of so many dimensions."""
    average, greatest = avg_pool[rank - 1], max_pool_with_indices[rank - 1]

    def lp_pool(input, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> Any:
        """The p-norm of each window, of the sum of the pth powers where p is odd; the greatest modulus for p = ∞, the
        least for p = −∞."""
        if math.isinf(norm_type):
            sign = 1 if norm_type > 0 else -1
            return greatest(input.abs() * sign, kernel_size, stride, ceil_mode=ceil_mode)[0] * sign
        mean = average(input**norm_type, kernel_size, stride, 0, ceil_mode)
        total = mean.abs().relu() * mean.sign() * prod(per_dimension(kernel_size, rank))
        return total ** (1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{rank}d"
    return expose("nn.functional")(lp_pool)


def unpool_arguments(rank: int, input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Any:
    """Return the arguments with the shape of the images that max_pool may have had."""
    sizes = per_dimension(kernel_size, rank)
    steps, pads = per_dimension(sizes if stride is None else stride, rank), per_dimension(padding, rank)
    name = f"max_unpool{rank}d"
    check_unpooled(name, rank, input, indices)
    outer = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-rank:], steps, pads, sizes))
    if output_size is None:
        return (input, indices), {"shape": outer}
    if len(output_size) not in (rank, rank + 2):
        raise ArgumentValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
            f"'{len(output_size)}'",
            hint=f"output_size={list(outer)}",
        )
    shape = as_sizes(tuple(output_size)[-rank:])
    for d, (n, middle, s) in enumerate(zip(shape, outer, steps)):
        if not middle - s < n < middle + s:
            raise ArgumentValueError(
                f'invalid output_size "{list(shape)}" (dim {d} must be between {middle - s} and {middle + s})',
                hint=f"output_size={list(outer)}, or x.shape of what was pooled",
            )
    return (input, indices), {"shape": shape}


def check_unpooled(name: str, rank: int, input, indices) -> None:
    """Raise unless these can be entries and the places that max_pool gave."""
    if indices.dtype.name != "int64":
        raise TensorError(
            f"elements in indices should be type int64 but got: {short_name(indices.dtype.numpy)}",
            hint="the places that max_pool gives with return_indices=True",
        )
    if len(input.shape) not in (rank + 1, rank + 2):
        raise image_error(name, list(input.shape), rank)
    if input.shape != indices.shape:
        raise TensorError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}",
            hint="the indices that came with this input from max_pool",
        )
    if 0 in input.shape[-rank - 1 :]:
        raise TensorError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}",
            hint="only where x.numel() > 0",
        )


def unpool_cotangents(y, operands, ct, params: dict) -> list[Any]:
    """Each entry gets the gradient at its place, even if another entry was written over it, as in torch: overlapping
    windows have common maxima."""
    shape, places = params["shape"], operands[1]
    flat = aval_of(places).shape[: aval_of(places).ndim - len(shape)]
    picked = ops.pick(ops.reshape(ct, shape=(*flat, *shape)), places, rank=len(shape))
    return [ops.reshape(picked, shape=aval_of(operands[0]).shape), None]


@spatial_operations(
    "max_unpool{}d",
    "input indices",
    spaces="nn.functional",
    cotangent=unpool_cotangents,
    each=lambda rank: {"arguments": partial(unpool_arguments, rank)},
)
def max_unpool(rank: int, input, indices, shape: tuple[int, ...]) -> Any:
    """Zeros with the entries at the places that max_pool gave."""
    lead, total = aval_of(input).shape[:2], aval_of(input).size
    size, count = prod(shape), prod(lead)
    if isinstance(indices, np.ndarray):
        for place in indices[(indices < 0) | (indices >= size)][:1]:
            raise TensorError(
                f"Found an invalid max index: {place} (output volumes are of size {'x'.join(map(str, shape))})",
                hint="output_size=x.shape of what was pooled",
            )
    first = np.arange(count).reshape((*lead, *(1,) * rank)) * size
    flat = ops.reshape(ops.add(indices, first), shape=(total,))
    zeros = np.zeros(count * size, aval_of(input).dtype)
    y = ops.update(zeros, ops.reshape(input, shape=(total,)), flat, index=(ops.ARRAY,))
    return ops.reshape(y, shape=(*lead, *shape))


for dimensions in (1, 2, 3):
    expose_maxima(dimensions)
    declare_lp_pool(dimensions)
