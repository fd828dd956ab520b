"""Reductions of segments of different lengths."""

from __future__ import annotations

import math

import numpy as np

from ...extend import concretize
from .._core.tensor import Tensor, refresh
from .._declare.spaces import SPACES, expose
from .._make.creation import full
from ..errors import TensorError
from .declarers import refuse
from .joining import stack

IDENTITIES = {"sum": 0.0, "mean": math.nan, "max": -math.inf, "min": math.inf, "prod": 1.0}
REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}
MERGERS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "mul"}


@expose()
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The reductions of consecutive segments along a dimension.

    Args:
        data: floating numbers.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: those of the segments in the last dimension, for each index of the dimensions before `axis`.
        offsets: instead of lengths, where segments begin, and where the last ends.
        axis: the dimension of the segments; those before it are those of lengths before its last.
        initial: what segments are reduced with, and what those without entries give.
        indices: None: segments are given by lengths or offsets, as in torch.
        unsafe: whether the lengths are taken as they are.

    Raises:
        RuntimeError: lengths that do not sum up to the size of the dimension, or neither lengths nor offsets.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([1, 2]))
    tensor([1., 6.])
    """
    refuse("biuc", data, operation="_segment_reduce")
    if reduce not in REDUCTIONS:
        raise TensorError(f"unsupported reduction given: {reduce}", hint="one of sum, mean, max, min, prod")
    given = offsets if lengths is None else lengths
    if given is None or indices is not None:
        raise TensorError(
            "segment_reduce(): Either lengths or offsets must be defined.",
            hint="lengths=torch.tensor([2, 1]), or offsets=torch.tensor([0, 2, 3])",
        )
    if given.ndim != axis + 1:
        raise TensorError(
            f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}, of lengths with "
            f"{given.ndim} dimensions",
            hint=f"axis={given.ndim - 1}",
        )
    counts = concretize(refresh(given)._fx_value, "segment_reduce()")
    if lengths is None:
        bounds = np.stack([counts[..., :-1], counts[..., 1:]], -1)
    else:
        stops = np.cumsum(counts, -1)
        bounds = np.stack([stops - counts, stops], -1)
        if (counts < 0).any() or (counts.sum(-1) != data.shape[axis]).any():
            raise TensorError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                f"!unsafe, which is {data.shape[axis]}, but they are {counts.tolist()}",
                hint=f"lengths that add up to {data.shape[axis]}",
            )
    return reduce_segments(data, bounds, reduce, initial)


def reduce_segments(data: Tensor, bounds: np.ndarray, reduce: str, initial: float | None) -> Tensor:
    """Reduce the segments between bounds, a pair for each, which has several for each entry of the first dimensions."""
    if bounds.ndim > 2:
        return stack([reduce_segments(part, b, reduce, initial) for part, b in zip(data.unbind(0), bounds)])
    if not len(bounds):
        return data[:0]
    return stack([reduce_segment(data[start:stop], reduce, initial) for start, stop in bounds.tolist()])


def reduce_segment(part: Tensor, reduce: str, initial: float | None) -> Tensor:
    """Reduce one segment along the first dimension."""
    methods = SPACES["method"]
    identity = IDENTITIES[reduce] if initial is None else initial
    if not part.shape[0]:
        return full(tuple(part.shape[1:]), identity, dtype=part.dtype, device=part.device)
    if initial is None:
        return methods[REDUCTIONS[reduce]](part, 0)
    first = full((), initial, dtype=part.dtype, device=part.device)
    if reduce == "mean":
        return (methods["sum"](part, 0) + first) / part.shape[0]
    return methods[MERGERS[reduce]](methods[REDUCTIONS[reduce]](part, 0), first)
