"""Scaled dot-product attention."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from .... import numpy as fnp
from ....extend import aval_of, kind_of, ops
from ..._core.dtypes import c_type_name, from_name, from_numpy_dtype
from ..._declare.operation import operation
from ...errors import TensorError
from ..declarers import first_result
from .dropout import dropout_factors

TRUTH, SINGLE = from_name("bool"), from_name("float32")
UNDERFLOW = -800.0  # where eˣ is 0 in every precision


def swap_last_axes(x) -> Any:
    return fnp.swapaxes(x, -1, -2)


def attention_tangent(ys, primals, tangents, params: dict) -> list[Any]:
    """The tangent rule, in terms of the weights, which are a result: nothing is computed twice."""
    weights = ys[1]
    (q, k, v, _, keep), (tq, tk, tv, tm, _) = primals, tangents
    scale = params["scale"]
    terms = [] if tq is None else [scale * fnp.matmul(tq, swap_last_axes(k))]
    terms += [] if tk is None else [scale * fnp.matmul(q, swap_last_axes(tk))]
    terms += [] if tm is None else [ops.broadcast_to(tm, shape=aval_of(weights).shape)]
    changes = [] if tv is None else [fnp.matmul(weights if keep is None else weights * keep, tv)]
    moved = None
    if terms:
        total = weights * reduce(ops.add, terms)
        moved = total - weights * fnp.sum(total, axis=-1, keepdims=True)
        changes.append(fnp.matmul(moved if keep is None else moved * keep, v))
    return [reduce(ops.add, changes), moved]


def attention_arguments(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Operands are checked, heads repeated, the factors of dropout drawn."""
    ranks = [x.ndim for x in (query, key, value)]
    if min(ranks) < 2:
        raise TensorError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and "
            "value.dim: {} instead.".format(*ranks),
            hint="(…, length, features); x.unsqueeze(0) adds a dimension",
        )
    if attn_mask is not None and attn_mask.dtype not in (query.dtype, TRUTH, SINGLE):
        raise TensorError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_type_name(attn_mask.dtype.numpy)} and  query.dtype: {c_type_name(query.dtype.numpy)} instead.",
            hint=f"attn_mask.bool(), True where a query takes part in a key, or attn_mask.to({query.dtype})",
        )
    if is_causal and attn_mask is not None and query.ndim != 4:
        raise TensorError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
            hint="is_causal=False with attn_mask.tril(), or no attn_mask",
        )
    if not 0 <= dropout_p <= 1:
        raise TensorError(
            f"dropout probability has to be between 0 and 1, but got {dropout_p:g}", hint="dropout_p=0.1"
        )
    if enable_gqa:
        count = query.shape[-3] // max(key.shape[-3], 1)
        key, value = (x.repeat_interleave(count, -3) for x in (key, value))
    keep = None
    if dropout_p > 0:
        shape = (*np.broadcast_shapes(query.shape[:-2], key.shape[:-2]), query.shape[-2], key.shape[-2])
        keep = dropout_factors(query, shape, dropout_p)
    scale = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    return (query, key, value, attn_mask, keep), {"is_causal": is_causal, "scale": scale}


@operation(
    "query key value attn_mask keep",
    arguments=attention_arguments,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    spaces="nn.functional",
    out=False,
    results=first_result,
    tangent=attention_tangent,
    by_value=False,
)
def scaled_dot_product_attention(query, key, value, attn_mask, keep, is_causal: bool, scale: float) -> Any:
    """The attention softmax(query @ keyᵀ·scale + attn_mask) @ value over the last two dimensions; zeros for a query to
    which all keys are masked.

    Args:
        attn_mask: added to the scores; a boolean one is True where a query takes part in a key.
        dropout_p: the part of the weights that is dropped at random.
        is_causal: queries see no later keys.
        scale: 1/√(size of the last dimension) where none is given.
        enable_gqa: each head of keys and values is that of several heads of queries.

    >>> q, v = torch.zeros(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.functional.scaled_dot_product_attention(q, v, v).tolist()
    [[2.0, 3.0]]
    """
    dtypes = [from_numpy_dtype(aval_of(x).dtype) for x in (query, key, value)]
    if len({*dtypes}) > 1:
        raise TensorError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            "{} key.dtype: {} and value.dtype: {} instead.".format(*dtypes),
            hint=f"convert all to one: .to({dtypes[0]})",
        )
    scores = fnp.matmul(query, swap_last_axes(key)) * scale
    if not aval_of(scores).shape[-1]:  # no keys
        return [fnp.matmul(scores, value), scores]
    if is_causal:
        scores = ops.where(np.tri(*aval_of(scores).shape[-2:], dtype=bool), scores, -math.inf)
    is_choice = attn_mask is not None and kind_of(aval_of(attn_mask).dtype) == "b"
    if is_choice:
        scores = ops.where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    top = fnp.max(ops.stop_gradient(scores), axis=-1, keepdims=True)
    distance = scores - ops.where(ops.equal(top, -math.inf), 0, top)
    if attn_mask is not None and not is_choice:  # numbers that underflow take a hundred times as long
        distance = ops.where(ops.less(distance, UNDERFLOW), -math.inf, distance)
    e = ops.exp(distance)
    total = fnp.sum(e, axis=-1, keepdims=True)
    weights = e / ops.where(ops.equal(total, 0), 1, total)
    # The weights are a result for the derivative.
    return [fnp.matmul(weights if keep is None else weights * keep, value), weights]
