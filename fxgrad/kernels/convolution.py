"""Kernels of correlations: matrix products with the windows, block by block, or direct kernels where these are faster.

Operands have the shapes (batch, group, channel, *n) and (group, feature, channel, *k). Along an axis, window o takes
the entries o·step + k·dilation, after zeros were inserted between and around the entries.
"""

from __future__ import annotations

import itertools
from math import gcd, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.costs import WINDOW_BYTES
from .matmul import multiply_stacks
from .registry import native_function
from .windows import tap_slices, window_counts, windows_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Numbers = Sequence[int]
    Pads = Sequence[tuple[int, int]]


def dilated_length(n: int, dilation: int) -> int:
    """Return the length of n entries with dilation − 1 zeros between them."""
    return (n - 1) * dilation + 1 if n else 0


def correlation_counts(
    x: Numbers, w: Numbers, steps: Numbers, pads: Pads, x_dilations: Numbers, w_dilations: Numbers
) -> tuple[int, ...]:
    """Return the spatial shape of a correlation of operands of these shapes."""
    extents = list(map(dilated_length, x[3:], x_dilations))
    return window_counts(extents, w[3:], steps, w_dilations, pads)


def correlate_kernel(xp: Any) -> Callable[..., Any]:
    """Return the kernel for an array namespace."""
    windows = windows_kernel(xp)
    permute = getattr(xp, "permute_dims", None) or xp.transpose
    matmul = multiply_stacks if xp is np else xp.matmul

    def correlate(x: Any, w: Any, *, steps: Any, pads: Any, x_dilations: Any, w_dilations: Any) -> Any:
        """Choose the way: half precision is computed in float32 and rounded once."""
        if xp is np and (x.dtype.itemsize == 2 or w.dtype.itemsize == 2):
            dtype = np.promote_types(x.dtype, w.dtype)
            if dtype.itemsize == 2 and dtype.kind in "fV":
                x, w = x.astype(np.float32), w.astype(np.float32)
                params = {"x_dilations": x_dilations, "w_dilations": w_dilations}
                return correlate(x, w, steps=steps, pads=pads, **params).astype(dtype)
        counts = correlation_counts(x.shape, w.shape, steps, pads, x_dilations, w_dilations)
        if 0 in counts or 0 in x.shape or 0 in w.shape:
            return xp.zeros((*x.shape[:2], w.shape[1], *counts), dtype=xp.result_type(x.dtype, w.dtype))
        if prod(x.shape[3:]) < prod(w.shape[3:]) and all(d == 1 for d in w_dilations):
            return exchange(correlate, x, w, counts, steps, pads, x_dilations)
        dilated = any(d > 1 for d in x_dilations)
        if dilated and any(s > 1 for s in steps):
            x, dilated = dilate_and_pad(xp, x, pads, x_dilations), False
            pads, x_dilations = ((0, 0),) * len(pads), (1,) * len(pads)
        if xp is np:
            y = native_function("conv.correlate")(x, w, counts, steps, pads, x_dilations, w_dilations)
            if y is not None:
                return y
        if dilated:
            return correlate_phases(correlate, xp, x, w, counts, pads, x_dilations, w_dilations)
        features, channels = w.shape[1:3]
        if all(s == 1 for s in steps) and features < channels and prod(w.shape[3:]) < 64:
            return add_taps(x, w, counts, pads, w_dilations)
        x = dilate_and_pad(xp, x, pads, (1,) * len(pads))
        view = windows(x, sizes=w.shape[3:], steps=steps, dilations=w_dilations)
        return (
            multiply_columns(view, w, counts)
            if prod(counts) >= prod(w.shape[3:])
            else multiply_rows(view, w, counts)
        )

    def exchange(correlate: Any, x: Any, w: Any, counts: Any, steps: Any, pads: Any, dilations: Any) -> Any:
        """Exchange the operands, so that the smaller one is the kernel: result o is then the last but o."""
        places = zip(x.shape[3:], w.shape[3:], counts, steps, pads, dilations)
        fitted = []
        for n, k, count, s, (low, _), d in places:
            before = (count - 1) * s - low
            fitted.append((before, (count - 1) * s + dilated_length(n, d) - k - before))
        inner = range(3, x.ndim)
        y = correlate(
            permute(w, (1, 0, 2, *inner)),
            permute(x, (1, 0, 2, *inner)),
            steps=steps,
            pads=tuple(fitted),
            x_dilations=(1,) * len(steps),
            w_dilations=dilations,
        )
        return permute(y, (2, 1, 0, *inner))[(..., *(slice(None, None, -1),) * len(steps))]

    def multiply_columns(view: Any, w: Any, counts: Any) -> Any:
        """Multiply by the windows as columns."""
        (b, g), (_, f, *inner) = view.shape[:2], w.shape
        w = xp.reshape(w, (g, f, prod(inner)))
        row = g * prod(inner) * prod(counts[1:])  # entries of a row of windows
        size = row * view.dtype.itemsize if xp is np else 0
        if size * b * counts[0] <= WINDOW_BYTES:
            columns = xp.reshape(view, (b, g, prod(inner), prod(counts)))
            return xp.reshape(matmul(w, columns), (b, g, f, *counts))
        y = np.empty((b, g, f, *counts), np.result_type(view, w))
        rows = max(min(WINDOW_BYTES // size, counts[0]), 1)
        lead = (slice(None),) * (view.ndim - 1 - len(counts))
        for samples in parts(b, WINDOW_BYTES // (size * counts[0])):
            for part in parts(counts[0], rows):
                columns = view[(samples, *lead, part)]
                shape = (len(columns), g, prod(inner), -1)
                out = y[samples, :, :, part].reshape(len(columns), g, f, -1)
                matmul(w, columns.reshape(shape), out)
        return y

    def multiply_rows(view: Any, w: Any, counts: Any) -> Any:
        """Multiply by the windows as rows, for windows that are few and large."""
        b, g, channels = view.shape[:3]
        features, k, inner = w.shape[1], len(counts), prod(w.shape[3:])
        rows = permute(view, (1, 0, *range(3 + k, 3 + 2 * k), *range(2, 3 + k)))  # g, b, *o, c, *k

        def multiply(rows: Any, w: Any) -> Any:
            rows = xp.reshape(rows, (len(w), b * prod(counts), -1))
            return matmul(xp.reshape(w, (len(w), features, -1)), permute(rows, (0, 2, 1)))

        size = b * prod(counts) * inner * view.dtype.itemsize if xp is np else 0  # of a channel
        if size * g * channels <= WINDOW_BYTES:
            y = multiply(rows, w)
        else:
            y = np.zeros((g, features, b * prod(counts)), np.result_type(view, w))
            for groups in parts(g, WINDOW_BYTES // (size * channels)):
                for part in parts(channels, WINDOW_BYTES // size):
                    y[groups] += multiply(rows[(groups, *(slice(None),) * (1 + k), part)], w[groups, :, part])
        return permute(xp.reshape(y, (g, features, b, *counts)), (2, 0, 1, *range(3, 3 + k)))

    def add_taps(x: Any, w: Any, counts: Any, pads: Any, dilations: Any) -> Any:
        """Multiply first, and add up the taps then: less to move if there are fewer features than channels."""
        (b, g, c, *extent), (_, f, _, *sizes) = x.shape, w.shape
        taps = xp.reshape(permute(w, (0, 1, *range(3, w.ndim), 2)), (g, f * prod(sizes), c))
        out = xp.zeros((b, g, f, *counts), dtype=xp.result_type(x.dtype, w.dtype))
        size = g * f * prod(sizes) * prod(extent) * out.dtype.itemsize if xp is np else 0
        axes = [
            [tap_slices(n, count, 1, k * d - low) for k in range(m)]
            for m, n, count, (low, _), d in zip(sizes, extent, counts, pads, dilations)
        ]
        places = [*itertools.product(*axes)]
        for samples in parts(b, WINDOW_BYTES // size if size else b):
            part = x[samples, ...]
            u = matmul(taps, xp.reshape(part, (-1, g, c, prod(extent))))
            u = xp.reshape(u, (-1, g, f, prod(sizes), *extent))
            for k, slices in enumerate(places):
                to, of = zip(*slices)
                out[(samples, slice(None), slice(None), *to)] += u[(slice(None),) * 3 + (k, *of)]
        return out

    return correlate


def parts(count: int, size: int) -> Iterator[slice]:
    """Cut a range into parts of a size, or of 1 where that is 0."""
    size = max(size, 1)
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def dilate_and_pad(xp: Any, x: Any, pads: Pads, dilations: Numbers) -> Any:
    """Insert dilation − 1 zeros between the entries of x, and pad it with zeros; negative pads crop."""
    if not any(map(any, pads)) and all(d == 1 for d in dilations):
        return x
    lead = x.ndim - len(pads)
    shape, to, of = [], [], []
    for n, (low, high), d in zip(x.shape[lead:], pads, dilations):
        total = max(dilated_length(n, d) + low + high, 0)
        inside, places = tap_slices(total, n, d, low)
        shape.append(total)
        of.append(inside)
        to.append(places)
    out = xp.zeros((*x.shape[:lead], *shape), dtype=x.dtype)
    out[(..., *to)] = x[(..., *of)]
    return out


def correlate_phases(
    correlate: Callable[..., Any],
    xp: Any,
    x: Any,
    w: Any,
    counts: Numbers,
    pads: Pads,
    x_dilations: Numbers,
    w_dilations: Numbers,
) -> Any:
    """Correlate a dilated input without its zeros: results at the same distance from an entry use the same taps of the
    kernel, and form a correlation with these."""
    out = xp.zeros((*x.shape[:2], w.shape[1], *counts), dtype=xp.result_type(x.dtype, w.dtype))
    rank = len(counts)
    axes = [phases(*one) for one in zip(x.shape[3:], w.shape[3:], counts, pads, x_dilations, w_dilations)]
    for chosen in itertools.product(*axes):
        places, taps, fitted, dilations = zip(*chosen)
        out[(..., *places)] = correlate(
            x,
            w[(..., *taps)],
            steps=(1,) * rank,
            pads=fitted,
            x_dilations=(1,) * rank,
            w_dilations=dilations,
        )
    return out


def phases(
    n: int, k: int, count: int, pads: tuple[int, int], d: int, e: int
) -> list[tuple[slice, slice, tuple[int, int], int]]:
    """Return (results, taps, pads, dilation of the taps) of each phase along one axis that meets a tap.

    Result r + t·d meets tap j at the entry number (r + t·d + j·e − low) / d where that is whole: for taps first,
    first + q, … with q = d / gcd(d, e), at t + start, t + start + e / gcd(d, e), …
    """
    low, shared = pads[0], gcd(d, e)
    found = []
    for r in range(min(d, count)):
        first = next((j for j in range(min(d // shared, k)) if (r + j * e - low) % d == 0), None)
        if first is not None:
            start, inner = (r + first * e - low) // d, e // shared
            taps = len(range(first, k, d // shared))
            here = len(range(r, count, d))
            fitted = (-start, here + (taps - 1) * inner - n + start)
            found.append((slice(r, None, d), slice(first, None, d // shared), fitted, inner))
    return found
