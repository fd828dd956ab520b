"""Kernels of windows: sliding views, overlapping sums, correlations. The spatial axes are the last ones.

Along an axis, window o takes the entries o·step + k·dilation.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def window_counts(
    shape: Sequence[int], sizes: Sequence[int], steps: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    """Return how many windows fit along each axis."""
    return tuple(
        max(n - (size - 1) * dilation - 1, -step) // step + 1
        for n, size, step, dilation in zip(shape, sizes, steps, dilations)
    )


def windows_kernel(xp: Any) -> Callable[..., Any]:
    def gather_windows(x: Any, *, sizes: Any, steps: Any, dilations: Any) -> Any:
        lead = x.ndim - len(sizes)
        counts = window_counts(x.shape[lead:], sizes, steps, dilations)
        for i, (size, step, dilation, count) in enumerate(zip(sizes, steps, dilations, counts)):
            places = xp.arange(size)[:, None] * dilation + xp.arange(count)[None, :] * step
            x = xp.take(x, xp.reshape(places, (-1,)), axis=lead + i)
        x = xp.reshape(x, (*x.shape[:lead], *itertools.chain(*zip(sizes, counts))))
        k = len(sizes)
        return xp.permute_dims(
            x, (*range(lead), *range(lead, lead + 2 * k, 2), *range(lead + 1, lead + 2 * k, 2))
        )

    def view_windows(x: Any, *, sizes: Any, steps: Any, dilations: Any) -> Any:
        lead = x.ndim - len(sizes)
        counts = window_counts(x.shape[lead:], sizes, steps, dilations)
        strides = x.strides[lead:]
        return np.lib.stride_tricks.as_strided(
            x,
            (*x.shape[:lead], *sizes, *counts),
            (
                *x.strides[:lead],
                *(s * d for s, d in zip(strides, dilations)),
                *(s * t for s, t in zip(strides, steps)),
            ),
            writeable=False,
        )

    return view_windows if xp is np else gather_windows


def window_sum_kernel(xp: Any) -> Callable[..., Any]:
    def window_sum(x: Any, *, sizes: Any, steps: Any, dilations: Any) -> Any:
        """Sum axis by axis, so that there are as many additions as the sizes' sum."""
        lead = x.ndim - len(sizes)
        counts = window_counts(x.shape[lead:], sizes, steps, dilations)
        for i, (size, step, dilation, count) in enumerate(zip(sizes, steps, dilations, counts)):
            axis = (slice(None),) * (lead + i)
            stop = (count - 1) * step + 1 if count else 0
            total = xp.asarray(x[(*axis, slice(0, stop, step), ...)], copy=True)
            for k in range(dilation, size * dilation, dilation):
                total += x[(*axis, slice(k, k + stop, step), ...)]
            x = total
        return x

    return window_sum


def col2im_kernel(xp: Any) -> Callable[..., Any]:
    def col2im(u: Any, *, shape: Any, steps: Any, dilations: Any) -> Any:
        """Add tap by tap, or window by window if there are fewer of them."""
        k = len(shape)
        lead = u.ndim - 2 * k
        sizes, counts = u.shape[lead : lead + k], u.shape[lead + k :]
        if 0 in counts or 0 in sizes:
            return xp.zeros((*u.shape[:lead], *shape), dtype=u.dtype)
        by_tap = prod(sizes) <= prod(counts)
        fixed, moving = (sizes, counts) if by_tap else (counts, sizes)
        start, stride = (dilations, steps) if by_tap else (steps, dilations)
        out = xp.zeros((*u.shape[:lead], *shape), dtype=u.dtype)
        every = (slice(None),) * k
        disjoint = all((n - 1) * d < s for n, d, s in zip(sizes, dilations, steps))
        for place in itertools.product(*map(range, fixed)):
            at = tuple(
                slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in zip(place, start, moving, stride)
            )
            part = u[(..., *place, *every)] if by_tap else u[(..., *every, *place)]
            if disjoint:
                out[(..., *at)] = part
            else:
                out[(..., *at)] += part
        return out

    return col2im


# -- correlations -----------------------------------------------------------------------------------------------------


def dilate_and_pad(xp: Any, x: Any, pads: Sequence[tuple[int, int]], dilations: Sequence[int]) -> Any:
    """Put dilation − 1 zeros between the entries of x, and zeros around it; negative pads cut off."""
    if not any(map(any, pads)) and all(d == 1 for d in dilations):
        return x
    lead = x.ndim - len(pads)
    shape, to, of = [], [], []
    for n, (low, high), d in zip(x.shape[lead:], pads, dilations):
        extent = (n - 1) * d + 1 if n else 0
        total = max(extent + low + high, 0)
        first = max(-(low // d), 0)  # the first entry that is not cut off
        last = min((total - 1 - low) // d, n - 1)
        shape.append(total)
        of.append(slice(first, max(last + 1, first)))
        to.append(slice(first * d + low, max(last * d + low + 1, first * d + low), d))
    out = xp.zeros((*x.shape[:lead], *shape), dtype=x.dtype)
    out[(..., *to)] = x[(..., *of)]
    return out


def matmul_kernel(xp: Any, a: Any, b: Any) -> Any:
    """Multiply matrices. bfloat16 has no product of its own: it is computed in float32 and rounded once."""
    if xp is np and a.dtype.kind == "V":
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return xp.matmul(a, b)


def correlate_kernel(xp: Any) -> Callable[..., Any]:
    windows = windows_kernel(xp)

    def correlate(x: Any, w: Any, *, steps: Any, pads: Any, x_dilations: Any, w_dilations: Any) -> Any:
        """Correlate by one matrix product: with windows if there are more features than channels, else before the taps
        are added up, which needs no zeros between the entries either."""
        counts = correlation_counts(x.shape, w.shape, steps, pads, x_dilations, w_dilations)
        features, channels = w.shape[1:3]
        spread = any(d > 1 for d in x_dilations)
        if all(s == 1 for s in steps) and (spread or features < channels) and prod(w.shape[3:]) < 64:
            return add_taps(x, w, counts, pads, x_dilations, w_dilations)
        x = dilate_and_pad(xp, x, pads, x_dilations)
        view = windows(x, sizes=w.shape[3:], steps=steps, dilations=w_dilations)
        return (
            multiply_columns(view, w, counts)
            if prod(counts) >= prod(w.shape[3:])
            else multiply_rows(view, w, counts)
        )

    def multiply_columns(view: Any, w: Any, counts: Any) -> Any:
        b, g = view.shape[:2]
        inner = prod(w.shape[2:])
        columns = xp.reshape(view, (b, g, inner, prod(counts)))
        return xp.reshape(
            matmul_kernel(xp, xp.reshape(w, (g, w.shape[1], inner)), columns), (b, g, w.shape[1], *counts)
        )

    def multiply_rows(view: Any, w: Any, counts: Any) -> Any:
        """Multiply by rows, for windows that are few and large."""
        b, g = view.shape[:2]
        k, inner = len(counts), prod(w.shape[2:])
        rows = permute(view, (1, 0, *range(3 + k, 3 + 2 * k), *range(2, 3 + k)))
        rows = xp.reshape(rows, (g, b * prod(counts), inner))
        y = matmul_kernel(xp, rows, permute(xp.reshape(w, (g, w.shape[1], inner)), (0, 2, 1)))
        y = xp.reshape(y, (g, b, prod(counts), w.shape[1]))
        return xp.reshape(permute(y, (1, 0, 3, 2)), (b, g, w.shape[1], *counts))

    def add_taps(x: Any, w: Any, counts: Any, pads: Any, x_dilations: Any, w_dilations: Any) -> Any:
        (b, g, c, *extent), (_, f, _, *sizes) = x.shape, w.shape
        taps = xp.reshape(permute(w, (0, 1, *range(3, w.ndim), 2)), (g, f * prod(sizes), c))
        u = xp.reshape(
            matmul_kernel(xp, taps, xp.reshape(x, (b, g, c, prod(extent)))), (b, g, f, *sizes, *extent)
        )
        out = xp.zeros((b, g, f, *counts), dtype=u.dtype)
        for place in itertools.product(*map(range, sizes)):
            to, of = [], []
            for k, n, count, (low, _), d, e in zip(place, extent, counts, pads, x_dilations, w_dilations):
                first = max(-((low - k * e) // d), 0)
                last = min((count - 1 + k * e - low) // d, n - 1)
                start = first * d + low - k * e
                of.append(slice(first, max(last + 1, first)))
                to.append(slice(start, max(last * d + low - k * e + 1, start), d))
            out[(..., *to)] += u[(slice(None),) * 3 + (*place, *of)]
        return out

    permute = getattr(xp, "permute_dims", None) or xp.transpose
    return correlate


def correlation_counts(
    x: Sequence[int], w: Sequence[int], steps: Any, pads: Any, x_dilations: Any, w_dilations: Any
) -> tuple[int, ...]:
    """Return the spatial shape of a correlation of operands of these shapes."""
    extents = [
        max((n - 1) * d + 1 if n else 0, 0) + low + high
        for n, d, (low, high) in zip(x[3:], x_dilations, pads)
    ]
    return window_counts(extents, w[3:], steps, w_dilations)
