"""Distances and similarities of vectors, and losses of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....extend import aval_of, ops
from ..._declare.operation import operation
from ..._declare.spaces import expose
from ...errors import ArgumentValueError, TensorError
from ..arguments import normalize_dims
from ..declarers import expose_with
from ..reduction import p_norm
from .loss import hinge, loss, reduce_losses


@operation("x1 x2", promote="float", spaces="function nn.functional", out=False)
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 − x2 + eps along the last dimension."""
    return p_norm(x1 - x2 + eps, p, -1, keepdim)


@operation("x1 x2", promote="arithmetic", spaces="function nn.functional", out=False)
def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors: ⟨x1, x2⟩/(‖x1‖·‖x2‖) along a dimension; norms are not taken for less
    than eps."""
    if not eps >= 0:
        raise TensorError(f"eps must be non-negative, got: {eps}", hint=f"eps={-eps:g}")
    shape = np.broadcast_shapes(aval_of(x1).shape, aval_of(x2).shape)
    axes = normalize_dims(dim, len(shape))
    x1, x2 = (ops.broadcast_to(x, shape=shape) for x in (x1, x2))
    a, b = (
        x / ops.where(ops.less(n, eps), eps, n)
        for x, n in ((x1, p_norm(x1, 2, dim, True)), (x2, p_norm(x2, 2, dim, True)))
    )
    return ops.reduce_sum(a * b, axes=axes)


@operation("input", spaces="function nn.functional", out=False)
def pdist(input, p: float = 2.0) -> Any:
    """The p-norm distances of all pairs of rows i < j, in this order."""
    if aval_of(input).ndim != 2:
        raise TensorError(
            f"pdist only supports 2D tensors, got: {aval_of(input).ndim}D",
            hint="x.flatten(0, -2), or torch.cdist(x, x) of batches",
        )
    if not p >= 0:
        raise TensorError("pdist only supports non-negative p values", hint=f"p={abs(p)}")
    first, second = np.triu_indices(aval_of(input).shape[0], 1)
    take = (ops.ARRAY, slice(None, None, None))
    return p_norm(ops.getitem(input, first, index=take) - ops.getitem(input, second, index=take), p, 1)


@operation("input", spaces="", node="DivBackward0")
def normalize(input, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """The vectors x divided by its p-norm along a dimension, which is not taken for less than eps."""
    length = p_norm(input, p, dim, True)
    return input / ops.where(ops.less(length, eps), eps, length)


expose_with("input, p=2.0, dim=1, eps=1e-12, out=None", normalize, spaces="nn.functional")


@loss("input1 input2 target", "function", promote="float")
def cosine_embedding_loss(input1, input2, target, margin: float = 0, reduction: str = "mean") -> Any:
    """The loss of pairs by their cosine: 1 − cos of pairs where the target is 1, and max(cos − margin, 0) where it
    is −1."""
    axis = aval_of(input1).ndim - 1
    # torch's epsilon is added to the squares here.
    squares = [ops.reduce_sum(x * x, axes=(axis,)) + 1e-12 for x in (input1, input2)]
    cosine = ops.reduce_sum(input1 * input2, axes=(axis,)) / ops.sqrt(squares[0] * squares[1])
    alike = ops.where(ops.equal(target, 1), 1 - cosine, 0)
    apart = ops.where(ops.equal(target, -1), hinge(cosine - margin), 0)
    return reduce_losses(alike + apart, reduction)


def check_margin(margin: float) -> None:
    """Raise for a margin that would ask for nothing."""
    if margin <= 0:
        raise ArgumentValueError(f"margin must be greater than 0, got {margin}", hint="margin=1.0")


@loss("anchor positive negative", "function", promote="float")
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """The loss of triplets: max(‖anchor − positive‖ − ‖anchor − negative‖ + margin, 0); `swap` replaces the distance of
    the negative by the smaller of its distances to anchor and positive."""
    check_margin(margin)
    ranks = [aval_of(x).ndim for x in (anchor, positive, negative)]
    if len({*ranks}) > 1:
        raise TensorError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            "anchor {}D, positive {}D, and negative {}D inputs".format(*ranks),
            hint="x.unsqueeze(0) adds a dimension",
        )
    near = p_norm(anchor - positive + eps, p, -1)
    far = p_norm(anchor - negative + eps, p, -1)
    if swap:
        far = ops.minimum(far, p_norm(positive - negative + eps, p, -1))
    return reduce_losses(hinge(margin + near - far), reduction)


@expose("nn.functional")
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """The triplet_margin_loss with a distance of one's own: a function of two Tensors."""
    check_margin(margin)
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    losses = (margin + distance(anchor, positive) - far).clamp(min=0)
    return losses if reduction == "none" else getattr(losses, reduction)()
