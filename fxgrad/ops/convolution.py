"""Correlations, on which convolutions are built.

Params have one entry for each spatial axis; the spatial axes are the last ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.errors import ShapeError
from ..kernels.convolution import correlate_kernel, correlation_counts, dilated_length
from .kinds import bilinear
from .vocabulary import ops


def correlate_aval(self: Any, x: Aval, w: Aval, **params: Any) -> Aval:
    if x.shape[1:3] != (w.shape[0], w.shape[2]):
        raise ShapeError(
            f"correlate: groups and channels of shapes {x.shape} and {w.shape} differ",
            hint="w of as many input channels as x has in a group",
        )
    counts = correlation_counts(x.shape, w.shape, **params)
    return Aval((*x.shape[:2], w.shape[1], *counts), np.promote_types(x.dtype, w.dtype))


def reach(n: int, dilation: int) -> int:
    """Return how far n taps reach, dilation − 1 entries between each two of them; a length that no tap has is below
    1."""
    return (n - 1) * dilation + 1


def swap_batch_and_channels(x: Any) -> Any:
    """Swap the batch axis and the channels of (batch, group, channel, …), or the groups and channels of kernels."""
    return ops.permute(x, axes=(2, 1, 0, *range(3, aval_of(x).ndim)))


def correlate_transpose(
    i: int, ct: Any, aval: Aval, other: Any, *, steps: Any, pads: Any, x_dilations: Any, w_dilations: Any
) -> Any:
    """The cotangent of x is ct, with steps between its entries, against the reversed kernel. That of the kernel is x
    against ct, where batch entries are summed as channels are otherwise."""
    outer, inner = aval_of(ct).shape[3:], aval_of(other).shape[3:]
    if i == 0:
        fitted = []
        for n, m, k, (low, _), s, d, e in zip(
            aval.shape[3:], outer, inner, pads, steps, x_dilations, w_dilations
        ):
            before = reach(k, e) - 1 - low
            fitted.append((before, reach(n, d) + low - dilated_length(m, s)))
        rank = aval_of(other).ndim
        kernel = ops.flip(ops.permute(other, axes=(0, 2, 1, *range(3, rank))), axes=tuple(range(3, rank)))
        return correlate(
            ct, kernel, steps=x_dilations, pads=tuple(fitted), x_dilations=steps, w_dilations=w_dilations
        )
    fitted = [
        (low, reach(k, e) - 1 + reach(m, s) - dilated_length(n, d) - low)
        for n, m, k, (low, _), s, d, e in zip(
            inner, outer, aval.shape[3:], pads, steps, x_dilations, w_dilations
        )
    ]
    rank = aval_of(ct).ndim
    kernel = ops.permute(ct, axes=(1, 2, 0, *range(3, rank)))
    found = correlate(
        swap_batch_and_channels(other),
        kernel,
        steps=w_dilations,
        pads=tuple(fitted),
        x_dilations=x_dilations,
        w_dilations=steps,
    )
    return ops.permute(found, axes=(1, 2, 0, *range(3, rank)))


def correlate_batch(x: Any, w: Any, x_batched: bool, w_batched: bool, **params: Any) -> Any:
    """Put the mapped axis among the batch entries, the features, or the groups."""
    if not w_batched:
        size, count, *rest = aval_of(x).shape
        y = correlate(ops.reshape(x, shape=(size * count, *rest)), w, **params)
        return ops.reshape(y, shape=(size, count, *aval_of(y).shape[1:]))
    size, groups, features, *rest = aval_of(w).shape
    if not x_batched:
        w = ops.reshape(ops.move_axis(w, 0, 1), shape=(groups, size * features, *rest))
        y = correlate(x, w, **params)
        count, _, _, *outer = aval_of(y).shape
        return ops.move_axis(ops.reshape(y, shape=(count, groups, size, features, *outer)), 2, 0)
    x = ops.move_axis(x, 0, 1)
    count, _, _, *inner = aval_of(x).shape
    y = correlate(
        ops.reshape(x, shape=(count, size * groups, *inner)),
        ops.reshape(w, shape=(size * groups, features, *rest)),
        **params,
    )
    outer = aval_of(y).shape[2:]
    return ops.move_axis(ops.reshape(y, shape=(count, size, groups, *outer)), 1, 0)


# y[b, g, f, o] = Σ x[b, g, c, o·step + k·w_dilation]·w[g, f, c, k] over c and k, where x has x_dilation − 1 zeros
# between its entries, and zeros around it as `pads` say. Closed under its two transposes.
correlate = bilinear(
    "correlate",
    correlate_kernel,
    abstract_rule=correlate_aval,
    transpose_rule=correlate_transpose,
    batch_rule=correlate_batch,
)
