"""Windows that slide along the last axes, their sums and their extrema.

Params have one entry for each spatial axis; the spatial axes are the last ones. Window o takes the entries o·step +
k·dilation − low. `pads` are (low, high), the numbers of neutral entries before and after; negative ones crop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..kernels.windows import (
    col2im_kernel,
    deposit_kernel,
    pick_kernel,
    spread_windows_kernel,
    window_counts,
    window_extremum_kernel,
    window_places_kernel,
    window_sum_kernel,
    windows_kernel,
)
from .kinds import general, linear
from .masked import Masked, Support, ones_like
from .vocabulary import ops

Numbers = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def windows_shape(x: Aval, *, sizes: Numbers, steps: Numbers, dilations: Numbers) -> Numbers:
    lead = x.ndim - len(sizes)
    return (*x.shape[:lead], *sizes, *window_counts(x.shape[lead:], sizes, steps, dilations))


# (…, *n) → (…, *sizes, *counts): a view where the array library has views of that kind.
windows = linear(
    "windows",
    windows_kernel,
    shape_rule=windows_shape,
    transpose_rule=lambda ct, x, *, sizes, steps, dilations: col2im(
        ct, shape=x.shape[x.ndim - len(sizes) :], steps=steps, dilations=dilations
    ),
    batch_rule=lambda x, *, size, **params: windows(x, **params),
)


def col2im_transpose(ct: Any, u: Aval, *, shape: Numbers, steps: Numbers, dilations: Numbers) -> Any:
    k = len(shape)
    return windows(ct, sizes=u.shape[u.ndim - 2 * k : u.ndim - k], steps=steps, dilations=dilations)


# Σ of windows (…, *sizes, *counts) where they overlap, in an array (…, *shape): the transpose of `windows`.
col2im = linear(
    "col2im",
    col2im_kernel,
    shape_rule=lambda u, *, shape, steps, dilations: (*u.shape[: u.ndim - 2 * len(shape)], *shape),
    transpose_rule=col2im_transpose,
    batch_rule=lambda u, *, size, **params: col2im(u, **params),
)


def reduced_shape(x: Aval, *, sizes: Numbers, steps: Numbers, pads: Pads, dilations: Numbers) -> Numbers:
    lead = x.ndim - len(sizes)
    return (*x.shape[:lead], *window_counts(x.shape[lead:], sizes, steps, dilations, pads))


# The sums of the windows, (…, *n) → (…, *counts).
window_sum = linear(
    "window_sum",
    window_sum_kernel,
    shape_rule=reduced_shape,
    transpose_rule=lambda ct, x, *, sizes, **params: spread_windows(
        ct, shape=x.shape[x.ndim - len(sizes) :], sizes=sizes, **params
    ),
    batch_rule=lambda x, *, size, **params: window_sum(x, **params),
)

# Each number in all places of its window, (…, *counts) → (…, *shape), added up: the transpose of `window_sum`.
spread_windows = linear(
    "spread_windows",
    spread_windows_kernel,
    shape_rule=lambda u, *, shape, **params: (*u.shape[: u.ndim - len(shape)], *shape),
    transpose_rule=lambda ct, u, *, shape, **params: window_sum(ct, **params),
    batch_rule=lambda u, *, size, **params: spread_windows(u, **params),
)


# -- extrema ----------------------------------------------------------------------------------------------------------


def pick_transpose(ct: Any, x: Aval, places: Any, *, rank: int) -> Masked:
    shape = x.shape[x.ndim - rank :]

    def support() -> Any:
        return ops.not_equal(deposit(ones_like(ct, places), places, shape=shape), 0)

    return Masked(deposit(ct, places, shape=shape), Support(support), True)


def join_places(places: Any, size: int, indexed: bool) -> Any:
    """Return the places of a batch, of which there is one for each entry where they are `indexed`."""
    return places if indexed else ops.broadcast_to(places, shape=(size, *aval_of(places).shape))


# The entries of images (…, *n) at places (…, *counts), which count in each flattened image; 0 for places outside.
pick = linear(
    "pick",
    pick_kernel,
    shape_rule=lambda x, places, *, rank: places.shape,
    transpose_rule=pick_transpose,
    batch_rule=lambda x, places, *, size, rank, indexed=False: pick(
        x, join_places(places, size, indexed), rank=rank
    ),
)

# Zeros (…, *shape) with the entries of u added at their places: the transpose of `pick`.
deposit = linear(
    "deposit",
    deposit_kernel,
    shape_rule=lambda u, places, *, shape: (*u.shape[: u.ndim - len(shape)], *shape),
    transpose_rule=lambda ct, u, places, *, shape: pick(ct, places, rank=len(shape)),
    batch_rule=lambda u, places, *, size, shape, indexed=False: deposit(
        u, join_places(places, size, indexed), shape=shape
    ),
)

# The place of the greatest (or least) entry of each window in the flattened image, of several the first; NaN counts as
# the greatest and as the least. −1 where a window has no entry.
window_places = general(
    "window_places",
    window_places_kernel,
    abstract_rule=lambda self, x, *, least, **params: Aval(reduced_shape(x, **params), np.dtype(np.int64)),
    tangent_rule=None,
    batch_rule=lambda x, *, size, **params: window_places(x, **params),
)


def window_extremum(name: str, function: str, least: bool) -> Any:
    """Declare the greatest or the least entry of each window; the tangent is that of the first of those that tie."""

    def tangent(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
        places = window_places(primals[0], least=least, **params)
        return pick(tangents[0], places, rank=len(params["sizes"]))

    call = general(
        name,
        window_extremum_kernel(function, least),
        abstract_rule=lambda self, x, **params: Aval(reduced_shape(x, **params), x.dtype),
        tangent_rule=tangent,
        batch_rule=lambda x, *, size, **params: call(x, **params),
    )
    return call


window_max = window_extremum("window_max", "maximum", least=False)
window_min = window_extremum("window_min", "minimum", least=True)
