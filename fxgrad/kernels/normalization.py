"""Kernels of normalization over the last axes, by blocks of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from ..core.costs import FAR_CACHE_ENTRIES
from .matmul import dot

BLAS = {np.dtype("f4"), np.dtype("f8")}  # sums by products with ones are a quarter of the time


def row_layout(xp: Any, x: Any, axes: tuple[int, ...]) -> tuple[int, int] | None:
    """Return (count, width) of the rows that the axes form, or None if blocks of rows do not pay."""
    lead = x.ndim - len(axes)
    if xp is not np or x.dtype not in BLAS or not x.size or axes != tuple(range(lead, x.ndim)):
        return None
    return prod(x.shape[:lead]), prod(x.shape[lead:])


def row_blocks(count: int, width: int) -> Iterator[slice]:
    step = max(FAR_CACHE_ENTRIES // width, 1)
    return (slice(start, start + step) for start in range(0, count, step))


def mean(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return xp.sum(x, axis=axes, keepdims=True) / prod(x.shape[a] for a in axes)


def standardize_kernel(xp: Any) -> Callable[..., Any]:
    def standardize_whole(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, ...]:
        middle = mean(xp, x, axes)
        u = x - middle
        variance = mean(xp, u * u, axes)
        u *= 1 / xp.sqrt(variance + eps)
        return u, middle, variance

    def standardize_rows(x: Any, count: int, width: int, eps: float) -> tuple[Any, ...]:
        x = x.reshape(count, width)
        u, middle, variance = np.empty_like(x), np.empty((count, 1), x.dtype), np.empty((count, 1), x.dtype)
        ones = np.ones(width, x.dtype)
        for part in row_blocks(count, width):
            here, center, spread = u[part], middle[part], variance[part]
            dot(x[part], ones, center[:, 0])
            center /= width
            np.subtract(x[part], center, out=here)
            np.vecdot(here, here, out=spread[:, 0])
            spread /= width
            here *= 1 / np.sqrt(spread + eps)
        return u, middle, variance

    def standardize(x: Any, *, axes: tuple[int, ...], eps: float) -> tuple[Any, ...]:
        rows = row_layout(xp, x, axes)
        if rows is None:
            return standardize_whole(x, axes, eps)
        u, *small = standardize_rows(x, *rows, eps)
        shape = (*x.shape[: x.ndim - len(axes)], *(1,) * len(axes))
        return u.reshape(x.shape), *(s.reshape(shape) for s in small)

    return standardize


def deflate_kernel(xp: Any) -> Callable[..., Any]:
    def deflate_whole(t: Any, u: Any, before: Any, after: Any, axes: tuple[int, ...]) -> Any:
        t = t * before
        return after * (t - mean(xp, t, axes) - u * mean(xp, u * t, axes))

    def deflate_rows(t: Any, u: Any, row: Any, column: Any, count: int, width: int) -> Any:
        t, u = t.reshape(count, width), u.reshape(count, width)
        y = np.empty_like(t)
        ones = np.ones(width, t.dtype)
        buffer = np.empty_like(t[: max(FAR_CACHE_ENTRIES // width, 1)])
        for part in row_blocks(count, width):
            base, out = u[part], y[part]
            along = buffer[: len(out)]
            np.multiply(t[part], row, out=out)
            np.multiply(base, (np.vecdot(base, out) / width)[:, None], out=along)
            along += (dot(out, ones) / width)[:, None]
            out -= along
            out *= column[part]
        return y

    def deflate(t: Any, u: Any, before: Any, after: Any, *, axes: tuple[int, ...]) -> Any:
        rows = row_layout(xp, t, axes)
        if rows is not None and u.dtype == t.dtype == before.dtype == after.dtype:
            k = len(axes)
            if prod(before.shape[:-k]) == prod(after.shape[-k:]) == 1 and after.size in (1, rows[0]):
                row = np.broadcast_to(before.reshape(before.shape[-k:]), t.shape[-k:]).reshape(-1)
                column = np.broadcast_to(after.reshape(-1, 1), (rows[0], 1))
                return deflate_rows(t, u, row, column, *rows).reshape(t.shape)
        return deflate_whole(t, u, before, after, axes)

    return deflate
