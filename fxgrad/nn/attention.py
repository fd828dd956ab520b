"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core.errors import ShapeError, UnsupportedError
from ..core.typing import Array, ArrayLike
from ..numpy.composite import composite, operand
from .activations import floating
from .rows import softmax


@composite()
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
) -> Array:
    """softmax(query·keyᵀ·scale + bias)·value for each head (Vaswani et al., "Attention is all you need", 2017).

    Args:
        query: ([batch,] T, heads, H).
        key, value: ([batch,] S, K, H); where K is less than the heads, which are a multiple of it, a head of these
            serves several of the queries'.
        bias: added to the products, of a shape that broadcasts against (batch, heads, T, S).
        mask: truth values of such a shape: which products take part.
        scale: a factor, 1/√H by default.
        is_causal: a query at t sees keys at s ≤ t only.
        query_seq_lengths, key_value_seq_lengths: (batch,): how many entries of each sequence are to be used. Results
            of other queries are 0.
        local_window_size: how far a query sees to the left and to the right; one number for both.
        implementation: None or "xla", for programs written for JAX.

    Returns:
        Array of the shape of `query`; 0 for a query to which all keys are masked.

    Raises:
        ShapeError: heads or sizes do not fit. It is a ValueError.
        UnsupportedError: an implementation is asked for by name.

    >>> q, k = np.ones((2, 1, 4)), np.ones((3, 1, 4))
    >>> fx.nn.dot_product_attention(q, k, np.arange(12.0).reshape(3, 1, 4))[0]
    array([[4., 5., 6., 7.]])
    """
    if implementation not in (None, "xla"):
        raise UnsupportedError(f"dot_product_attention: implementation={implementation!r}", hint="None")
    query, key, value = floating(query), floating(key), floating(value)
    shape = query.shape
    query, key, value = (fnp.expand_dims(x, 0) if x.ndim == 3 else x for x in (query, key, value))
    check_shapes(query, key, value)
    length: int  # of the queries
    length, heads, width = query.shape[1:]
    keys, groups = key.shape[1:3]
    query = ops.reshape(query, shape=(query.shape[0], length, groups, heads // groups, width))
    scores = fnp.einsum("btkgh,bskh->bkgts", query, key) * (1 / math.sqrt(width) if scale is None else scale)
    scores = ops.reshape(scores, shape=(scores.shape[0], heads, length, keys))
    scores = scores if bias is None else scores + operand(bias)
    seen = visible(length, keys, mask, is_causal, key_value_seq_lengths, local_window_size)
    if seen is not None:
        scores = ops.where(seen, scores, -math.inf)
    with np.errstate(all="ignore"):  # a row without keys is 0/0
        weights = softmax(scores)
    if seen is not None:
        weights = ops.where(fnp.any(seen, -1, keepdims=True), weights, 0.0)
    weights = ops.reshape(weights, shape=(weights.shape[0], groups, heads // groups, length, keys))
    result = fnp.einsum("bkgts,bskh->btkgh", weights, value)
    result = ops.reshape(result, shape=(*result.shape[:2], heads, value.shape[-1]))
    if query_seq_lengths is not None:
        used = ops.less(np.arange(length), fnp.expand_dims(operand(query_seq_lengths), -1))
        result = ops.where(fnp.expand_dims(used, (2, 3)), result, 0.0)
    return result[0] if len(shape) == 3 else result


def check_shapes(query: Any, key: Any, value: Any) -> None:
    """Raise unless queries, keys and values fit together."""
    shapes = query.shape, key.shape, value.shape
    fit = all(len(s) == 4 for s in shapes) and key.shape[:3] == value.shape[:3]
    if not fit or query.shape[3] != key.shape[3] or query.shape[2] % key.shape[2]:
        raise ShapeError(
            f"dot_product_attention: query, key and value have the shapes {shapes}",
            hint="([batch,] T, heads, H), and twice ([batch,] S, K, H), where K divides the heads",
        )


def visible(length: int, keys: int, mask: Any, is_causal: bool, used: Any, window: Any) -> Any:
    """Return which keys a query sees, an array that broadcasts against (batch, heads, T, S); None: all."""
    conditions = [] if mask is None else [ops.not_equal(operand(mask), False)]
    offsets = np.arange(keys) - np.arange(length)[:, None]
    if is_causal:
        conditions.append(offsets <= 0)
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        conditions.append((-left <= offsets) & (offsets <= right))
    if used is not None:
        lengths = operand(used)
        conditions.append(ops.less(np.arange(keys), ops.reshape(lengths, shape=(*lengths.shape, 1, 1, 1))))
    result = None
    for condition in conditions:
        result = condition if result is None else ops.logical_and(result, condition)
    return result


__all__ = ["dot_product_attention"]
