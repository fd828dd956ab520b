"""Primitives of sequences along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from .kinds import bilinear
from .vocabulary import ops


def convolve_kernel(xp: Any) -> Any:
    def convolve(a: Any, v: Any) -> Any:
        if xp is np and a.ndim == v.ndim == 1:
            return np.convolve(a, v)
        if a.shape[-1] < v.shape[-1]:
            a, v = v, a
        n, m = a.shape[-1], v.shape[-1]
        batch = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
        out = xp.zeros((*batch, n + m - 1), dtype=xp.result_type(a, v))
        for k in range(m):
            out[..., k : k + n] += a * v[..., k : k + 1]
        return out

    return convolve


def convolve_aval(self: Any, a: Aval, v: Aval) -> Aval:
    batch = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
    return Aval((*batch, a.shape[-1] + v.shape[-1] - 1), np.result_type(a.dtype, v.dtype))


def convolve_transpose(i: int, ct: Any, aval: Aval, other: Any) -> Any:
    """The cotangent is Σₖ ctₖ·otherₖ₋ᵢ, the middle of a convolution with the other operand reversed."""
    other_aval = aval_of(other)
    full = convolve(ct, ops.flip(other, axes=(other_aval.ndim - 1,)))
    start = other_aval.shape[-1] - 1
    head = (slice(None),) * (aval_of(full).ndim - 1)
    return ops.getitem(full, index=(*head, slice(start, start + aval.shape[-1], None)))


def convolve_batch(a: Any, v: Any, a_batched: bool, v_batched: bool) -> Any:
    rank = max(aval_of(a).ndim - a_batched, aval_of(v).ndim - v_batched)

    def align(x: Any, is_batched: bool) -> Any:
        shape = aval_of(x).shape
        extra = rank + 1 - len(shape) if is_batched else 0
        return ops.reshape(x, shape=(shape[0], *(1,) * extra, *shape[1:])) if extra else x

    return convolve(align(a, a_batched), align(v, v_batched))


# yₖ = Σᵢ aᵢ·vₖ₋ᵢ for all k where it is not empty; the axes before the last broadcast.
convolve = bilinear(
    "convolve",
    convolve_kernel,
    abstract_rule=convolve_aval,
    transpose_rule=convolve_transpose,
    batch_rule=convolve_batch,
)
