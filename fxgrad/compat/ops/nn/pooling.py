"""Pooling: means, norms and maxima of windows."""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from .... import numpy as fnp
from .... import ops
from ....core.aval import aval_of, kind_of
from ..._core.dtypes import short_name
from ..._core.errors import NotSupportedError, TensorError
from ..._declare.operation import expose, operation
from ..arithmetic import whole_quotient
from .spatial import add_batch_axis, per_dimension, remove_batch_axis


def declare_pooling(name: str, rank: int, **options) -> Any:
    """Declare a pooling over so many dimensions, whose node has torch's name."""
    node = "".join(part[:1].upper() + part[1:] for part in name.format(f"{rank}D").split("_"))
    return operation("input", name=name.format(f"{rank}d"), node=f"{node}Backward0", **options)


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
            raise TensorError(f"{what} should be greater than zero, but got {min(self.sizes + self.steps)}")
        for pad, size in zip(self.pads, self.sizes):
            if not 0 <= pad <= size // 2:
                raise TensorError(
                    f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={size} and "
                    "dilation=1"
                )
        self.counts = tuple(
            count_windows(*one, ceil_mode)
            for one in zip(shape, self.sizes, self.steps, self.pads, self.dilations)
        )
        if min(self.counts) < 1:
            raise TensorError(
                f"Given input size: {shape}. Calculated output size: {self.counts}. Output size is too small"
            )

    def pad_image(self, x, value) -> Any:
        """Pad x, so that all windows lie inside, and no more."""
        widths = []
        for n, size, step, pad, dilation, count in zip(
            self.shape, self.sizes, self.steps, self.pads, self.dilations, self.counts
        ):
            widths.append((pad, (count - 1) * step + (size - 1) * dilation + 1 - n - pad))
        lead = aval_of(x).ndim - len(widths)
        if any(high < 0 for _, high in widths):
            cut = tuple(slice(0, n + min(high, 0), None) for n, (_, high) in zip(self.shape, widths))
            x = ops.getitem(x, index=(slice(None, None, None),) * lead + cut)
        widths = [(low, max(high, 0)) for low, high in widths]
        if not any(map(any, widths)):
            return x
        widths = ((0, 0),) * lead + tuple(widths)
        if value == 0:
            return ops.pad(x, widths=widths)
        return fnp.pad(x, widths, constant_values=value)

    def taps(self, x, value) -> Any:
        """The entries of the windows: (…, *sizes, *counts)."""
        return ops.windows(
            self.pad_image(x, value), sizes=self.sizes, steps=self.steps, dilations=self.dilations
        )

    def sums(self, x) -> Any:
        """The sums of the windows, with zeros beyond the ends: (…, *counts)."""
        return ops.window_sum(
            self.pad_image(x, 0), sizes=self.sizes, steps=self.steps, dilations=self.dilations
        )

    def positions(self) -> np.ndarray:
        """The places in the flattened image of all taps, as (taps, windows); of those in the padding, one inside."""
        flat = np.zeros((1,) * 2 * len(self.shape), np.int64)
        rank = len(self.shape)
        for i, (n, size, step, pad, dilation, count) in enumerate(
            zip(self.shape, self.sizes, self.steps, self.pads, self.dilations, self.counts)
        ):
            at = np.arange(size)[:, None] * dilation + np.arange(count) * step - pad
            axes = [1] * 2 * rank
            axes[i], axes[rank + i] = size, count
            flat = flat * n + np.clip(at, 0, n - 1).reshape(axes)
        return flat.reshape(prod(self.sizes), prod(self.counts))

    def divisors(self, count_include_pad: bool) -> np.ndarray:
        """The number of entries of each window: with the padding, but not beyond it."""
        result = np.ones(())
        for n, size, step, pad, count in zip(self.shape, self.sizes, self.steps, self.pads, self.counts):
            start = np.arange(count) * step - pad
            stop = np.minimum(start + size, n + pad)
            if not count_include_pad:
                start, stop = np.maximum(start, 0), np.minimum(stop, n)
            result = result[..., None] * (stop - start)
        return result


# -- means ------------------------------------------
def declare_avg_pool(rank: int) -> Any:
    """Declare the mean over windows of so many dimensions."""

    @declare_pooling(
        "avg_pool{}", rank, spaces="function nn.functional" if rank == 1 else "nn.functional", out=rank > 1
    )
    def avg_pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        """The mean of each window.

        Args:
            stride: that of the windows; the kernel size where there is none.
            padding: zeros on both sides, which count as entries with `count_include_pad`.
            ceil_mode: windows may reach beyond the end.
            divisor_override: by what to divide the sum instead.

        >>> import fxgrad.compat as torch
        >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2).tolist()
        [[2.0, 6.0]]
        """
        name = f"avg_pool{rank}d"
        dtype = aval_of(input).dtype
        if kind_of(dtype) in "biu" and dtype != np.int64:
            raise NotSupportedError(
                f"\"{name}\" not implemented for '{short_name(dtype)}'", hint="x.to(torch.int64)"
            )
        x, had_batch = add_batch_axis(input, rank, name)
        windows = Windows(name, aval_of(x).shape[2:], kernel_size, stride, padding, 1, ceil_mode)
        total = windows.sums(x)
        if divisor_override == 0:
            raise TensorError("divisor must be not zero")
        divisors: Any = divisor_override
        if divisor_override is None:
            divisors = windows.divisors(count_include_pad).astype(aval_of(x).dtype)
        mean = whole_quotient(total, divisors) if dtype == np.int64 else total / divisors
        return remove_batch_axis(mean, had_batch)

    return avg_pool


avg_pool1d, avg_pool2d, avg_pool3d = map(declare_avg_pool, (1, 2, 3))


def adaptive_ranges(n: int, count: int) -> list[range]:
    """The ranges of `count` parts of n entries, which overlap where `count` does not divide n."""
    return [range(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def adaptive_sizes(output_size, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Complete the output size: None stands for the input's."""
    given = output_size if isinstance(output_size, list | tuple) else (output_size,) * len(shape)
    if len(given) != len(shape):
        raise TensorError(f"adaptive pooling: output_size must have {len(shape)} elements")
    return tuple(n if m is None else int(m) for n, m in zip(shape, given))


def declare_adaptive_avg_pool(rank: int) -> Any:
    """Declare the mean over parts of so many dimensions."""

    @declare_pooling(
        "adaptive_avg_pool{}",
        rank,
        spaces="function nn.functional" if rank == 1 else "nn.functional",
        out=False,
    )
    def adaptive_avg_pool(input, output_size) -> Any:
        """The means of as many parts of each dimension as `output_size` says; None keeps the dimension."""
        x, had_batch = add_batch_axis(input, rank, f"adaptive_avg_pool{rank}d")
        for axis, count in enumerate(adaptive_sizes(output_size, aval_of(x).shape[2:]), 2):
            shape = aval_of(x).shape
            if shape[axis] % max(count, 1) == 0 and count:
                x = ops.reshape(x, shape=(*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))
                x = ops.reduce_sum(x, axes=(axis + 1,)) / (shape[axis] // count)
            else:
                pieces = adaptive_ranges(shape[axis], count)
                head = (slice(None, None, None),) * axis
                x = ops.stack(
                    [
                        ops.reduce_sum(
                            ops.getitem(x, index=(*head, slice(p.start, p.stop, None))), axes=(axis,)
                        )
                        / len(p)
                        for p in pieces
                    ],
                    axis,
                )
        return remove_batch_axis(x, had_batch)

    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(declare_adaptive_avg_pool, (1, 2, 3))


def declare_lp_pool(rank: int) -> Any:
    """Declare the p-norm over windows of so many dimensions."""
    average = (avg_pool1d, avg_pool2d, avg_pool3d)[rank - 1]

    def lp_pool(input, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> Any:
        """The p-norm of each window, of the sum of the pth powers where p is odd; the greatest modulus for p = ∞, the
        least for p = −∞."""
        if math.isinf(norm_type):
            sign = 1 if norm_type > 0 else -1
            return MAX_POOLS[rank](input.abs() * sign, kernel_size, stride, ceil_mode=ceil_mode)[0] * sign
        mean = average(input**norm_type, kernel_size, stride, 0, ceil_mode)
        total = mean.abs().relu() * mean.sign() * prod(per_dimension(kernel_size, rank))
        return total ** (1.0 / norm_type)

    lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{rank}d"
    return expose("nn.functional")(lp_pool)


lp_pool1d, lp_pool2d, lp_pool3d = map(declare_lp_pool, (1, 2, 3))


# -- maxima ------------------------------------------
def gather_flat(x, indices, rank: int) -> Any:
    """The entries of images at places in the flattened image."""
    shape, outer = aval_of(x).shape, aval_of(indices).shape
    lead, size = shape[: len(shape) - rank], prod(shape[len(shape) - rank :])
    first = np.arange(prod(lead)).reshape((*lead, *(1,) * rank)) * size
    flat = ops.reshape(ops.add(indices, first), shape=(prod(outer),))
    return ops.reshape(
        ops.getitem(ops.reshape(x, shape=(prod(shape),)), flat, index=(ops.ARRAY,)), shape=outer
    )


def lowest_value(x) -> Any:
    """The least value of the dtype of x."""
    dtype = aval_of(x).dtype
    return -math.inf if kind_of(dtype) == "f" else int(np.iinfo(dtype).min)


def max_pool_values(rank: int, input, kernel_size, stride, padding, dilation, ceil_mode: bool) -> Any:
    """Return [the maxima of windows, their places in the flattened image]; of several the first."""
    name = f"max_pool{rank}d"
    x, had_batch = add_batch_axis(input, rank, name)
    windows = Windows(name, aval_of(x).shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    taps = windows.taps(x, lowest_value(x))
    lead = aval_of(x).shape[:2]
    count, outer = prod(windows.sizes), prod(windows.counts)
    tap = ops.argmax(ops.reshape(taps, shape=(*lead, count, outer)), axis=2)
    indices = ops.getitem(windows.positions(), tap, np.arange(outer), index=(ops.ARRAY, ops.ARRAY))
    indices = ops.reshape(indices, shape=(*lead, *windows.counts))
    return [remove_batch_axis(v, had_batch) for v in (gather_flat(x, indices, rank), indices)]


def adaptive_max_pool_values(rank: int, input, output_size) -> Any:
    """Return [the maxima of parts, their places in the flattened image]."""
    x, had_batch = add_batch_axis(input, rank, f"adaptive_max_pool{rank}d")
    shape = aval_of(x).shape
    places = np.zeros((1,) * 2 * rank, np.int64)
    for i, (n, count) in enumerate(zip(shape[2:], adaptive_sizes(output_size, shape[2:]))):
        pieces = adaptive_ranges(n, count)
        longest = max(map(len, pieces), default=1)
        table = np.array([[p[min(k, len(p) - 1)] for p in pieces] for k in range(longest)])
        axes = [1] * 2 * rank
        axes[i], axes[rank + i] = table.shape
        places = places * n + table.reshape(axes)
    outer = places.shape[rank:]
    places = places.reshape(prod(places.shape[:rank]), prod(outer))
    flat = ops.reshape(x, shape=(*shape[:2], prod(shape[2:])))
    taps = ops.getitem(flat, places, index=(slice(None, None, None),) * 2 + (ops.ARRAY,))
    tap = ops.argmax(taps, axis=2)
    indices = ops.getitem(places, tap, np.arange(prod(outer)), index=(ops.ARRAY, ops.ARRAY))
    indices = ops.reshape(indices, shape=(*shape[:2], *outer))
    return [remove_batch_axis(v, had_batch) for v in (gather_flat(x, indices, rank), indices)]


MAX_POOLS: dict[int, Any] = {}  # the operations below by the number of dimensions


def declare_max_pools(rank: int) -> None:
    """Declare the maxima of windows of so many dimensions."""

    def tangent(ys, primals, tangents, params: dict) -> tuple[Any, None]:
        """The tangents of the entries that are the maxima."""
        return gather_flat(tangents[0], ys[1], rank), None

    @declare_pooling(
        "max_pool{}_with_indices",
        rank,
        spaces="function nn.functional",
        results=tuple,
        tangent=tangent,
        out=False,
    )
    def max_pool_with_indices(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The greatest entry of each window, and its place in the flattened image."""
        return max_pool_values(rank, input, kernel_size, stride, padding, dilation, ceil_mode)

    MAX_POOLS[rank] = max_pool_with_indices

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

        >>> import fxgrad.compat as torch
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 4.0]]), 2).tolist()
        [[3.0, 5.0]]
        """
        results = max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return results if return_indices else results[0]

    expose("function", f"max_pool{rank}d")(max_pool)

    @declare_pooling(
        "adaptive_max_pool{}",
        rank,
        spaces="function" * (rank == 1),
        results=tuple,
        tangent=tangent,
        out=False,
    )
    def adaptive_with_indices(input, output_size) -> Any:
        """The greatest entries of parts, and their places in the flattened image."""
        return adaptive_max_pool_values(rank, input, output_size)

    expose("nn.functional", f"adaptive_max_pool{rank}d_with_indices")(adaptive_with_indices)

    @expose("nn.functional", f"adaptive_max_pool{rank}d")
    def adaptive_max_pool(input, output_size, return_indices: bool = False) -> Any:
        """The greatest entries of as many parts of each dimension as `output_size` says; None keeps the dimension."""
        results = adaptive_with_indices(input, output_size)
        return results if return_indices else results[0]


def declare_max_unpool(rank: int) -> None:
    """Declare the partial inverse of max_pool over so many dimensions."""

    @operation(
        "input indices", name=f"max_unpool{rank}d", spaces="", node=f"MaxUnpool{rank}DBackward0", out=False
    )
    def max_unpool_values(input, indices, shape: tuple[int, ...]) -> Any:
        """Images of zeros with the entries at places in the flattened image."""
        lead = aval_of(input).shape[:-rank]
        size, count = prod(shape), prod(lead)
        first = np.arange(count).reshape((*lead, *(1,) * rank)) * size
        flat = ops.reshape(ops.add(indices, first), shape=(aval_of(input).size,))
        zeros = np.zeros(count * size, aval_of(input).dtype)
        y = ops.update(zeros, ops.reshape(input, shape=(aval_of(input).size,)), flat, index=(ops.ARRAY,))
        return ops.reshape(y, shape=(*lead, *shape))

    @expose("nn.functional", f"max_unpool{rank}d")
    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Any:
        """Zeros with the entries at the places that max_pool gave."""
        sizes = per_dimension(kernel_size, rank)
        steps, pads = per_dimension(sizes if stride is None else stride, rank), per_dimension(padding, rank)
        outer = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-rank:], steps, pads, sizes))
        return max_unpool_values(input, indices, outer if output_size is None else tuple(output_size)[-rank:])


for dimensions in (1, 2, 3):
    declare_max_pools(dimensions)
    declare_max_unpool(dimensions)
