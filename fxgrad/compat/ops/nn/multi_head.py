"""Attention with several heads, as the function that MultiheadAttention calls. Source: Vaswani et al., 2017,
arXiv:1706.03762."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ....extend import source_info
from ..._declare.spaces import SPACES, expose
from ...errors import RequirementError, TensorError
from ..arguments import divisors, shape_hint
from ..joining import cat
from .attention import scaled_dot_product_attention
from .dropout import dropout
from .linear import linear
from .padding import pad
from .softmax import softmax


def mask_to_bias(mask, name: str, dtype, other_dtype=None, other: str = "") -> Any:
    """Convert a mask, true at keys to ignore, to numbers that are added to scores; None is returned unchanged."""
    if mask is None:
        return None
    is_floating = mask.is_floating_point()
    if not is_floating and str(mask.dtype) != "torch.bool":
        raise RequirementError(
            f"only bool and floating types of {name} are supported",
            hint=f"{name}.bool(): True where a key is not attended to",
        )
    if other_dtype is not None and mask.dtype != other_dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other} is deprecated. Use same type for both instead.",
            stacklevel=source_info.user_stacklevel(),
        )
    if is_floating:
        return mask
    return SPACES["function"]["zeros_like"](mask, dtype=dtype).masked_fill(mask, -math.inf)


def check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads: int) -> bool:
    """Return whether the inputs have a batch; raise if they differ in that."""
    rank = query.dim()
    if rank not in (2, 3):
        raise RequirementError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor",
            hint="(time, batch, embed_dim), or (time, embed_dim): query.flatten(0, -3)"
            if rank > 3
            else "query.unsqueeze(0), a sequence of one",
        )
    words = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise RequirementError(
            f"{words} `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively",
            hint="key and value (time, batch, features), as the query" if rank == 3 else "query.unsqueeze(1)",
        )
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise RequirementError(
            f"{words} `key_padding_mask` to be `None` or {rank - 1}-D but found {key_padding_mask.dim()}-D tensor "
            "instead",
            hint=shape_hint("key_padding_mask", key_padding_mask.shape, key.shape[:-1][::-1]),
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise RequirementError(
            f"{words} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
            hint="(queries, keys), or (batch · num_heads, queries, keys)",
        )
    if rank == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise RequirementError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
                hint=shape_hint("attn_mask", attn_mask.shape, expected),
            )
    return rank == 3


def check_mask_shape(mask, queries: int, keys: int, rows: int) -> None:
    """Raise unless a mask has the shape of the scores, for all rows (batch · heads) or for each."""
    expected = (queries, keys) if mask.dim() == 2 else (rows, queries, keys)
    if tuple(mask.shape) != expected:
        raise TensorError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.",
            hint=f"a mask (queries, keys), or one for every head, {(rows, queries, keys)}",
        )


def project(query, key, value, weight, bias, separate) -> list[Any]:
    """The linear images of query, key and value; by one product where all three are the same Tensor."""
    if separate is None and query is key and key is value:
        size = query.shape[-1]
        return list(linear(query, weight, bias).split(size, -1))
    weights = weight.chunk(3) if separate is None else separate
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


@expose("nn.functional")
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight,
    out_proj_bias,
    training: bool = True,
    key_padding_mask=None,
    need_weights: bool = True,
    attn_mask=None,
    use_separate_proj_weight: bool = False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention of linear images of query, key and value in several heads, and a linear image of the result.

    Args:
        query: (queries, batch, size), or (queries, size) without a batch.
        key, value: (keys, batch, size) likewise.
        embed_dim_to_check: the size of queries.
        num_heads: a divisor of it.
        in_proj_weight, in_proj_bias: (3·size, size), (3·size,): those of query, key and value.
        bias_k, bias_v: (1, 1, size), one more key and its value, or None.
        add_zero_attn: one more key and value are zero.
        dropout_p: the probability with which a weight is dropped in training.
        out_proj_weight, out_proj_bias: (size, size), (size,).
        training: whether weights are dropped.
        key_padding_mask: (batch, keys): true where a key is not attended to, or numbers that are added to scores.
        need_weights: whether the weights are returned.
        attn_mask: (queries, keys) or (batch·heads, queries, keys), likewise.
        use_separate_proj_weight: `q_proj_weight` (size, size), `k_proj_weight`, `v_proj_weight` stand for
            `in_proj_weight`; keys and values may have other sizes.
        static_k, static_v: (batch·heads, keys, size of a head), in place of images of keys and values.
        average_attn_weights: the weights are the means of all heads.
        is_causal: `attn_mask` hides all later keys.

    Returns:
        (results in the form of the queries; weights (batch, queries, keys), with heads (batch, heads, queries, keys),
        or None).

    Raises:
        AssertionError, RuntimeError: shapes or dtypes that do not fit, as torch has them.
    """
    is_batched = check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        shared = query is key and key is value
        query = query.unsqueeze(1)
        key, value = (query, query) if shared else (key.unsqueeze(1), value.unsqueeze(1))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, size = query.shape
    keys, head = key.shape[0], size // num_heads
    other = None if attn_mask is None else attn_mask.dtype
    padding = mask_to_bias(key_padding_mask, "key_padding_mask", query.dtype, other, "attn_mask")
    if is_causal and attn_mask is None:
        raise TensorError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask.",
            hint=f"attn_mask=torch.nn.Transformer.generate_square_subsequent_mask({queries})",
        )
    if size != embed_dim_to_check:
        raise RequirementError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}",
            hint=f"embed_dim={size}, or torch.nn.Linear({size}, {embed_dim_to_check}) before",
        )
    if head * num_heads != size:
        raise RequirementError(
            f"embed_dim {size} not divisible by num_heads {num_heads}",
            hint=f"num_heads: one of {divisors(size)}",
        )
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise RequirementError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
                hint="a value for each key",
            )
    elif key.shape != value.shape:
        raise RequirementError(
            f"key shape {key.shape} does not match value shape {value.shape}",
            hint="kdim=… and vdim=…, where keys and values have different sizes",
        )
    mask = mask_to_bias(attn_mask, "attn_mask", query.dtype)
    if mask is not None:
        check_mask_shape(mask, queries, keys, batch * num_heads)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = project(query, key, value, in_proj_weight, in_proj_bias, separate)
    added = 0
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, b.expand(1, batch, size)]) for x, b in ((k, bias_k), (v, bias_v)))
        added += 1
    q, k, v = (
        x.reshape(x.shape[0], batch, num_heads, head).permute(1, 2, 0, 3) for x in (q, k, v)
    )  # (batch, head, place, size)
    if static_k is not None:
        k = static_k.reshape(batch, num_heads, -1, head)
    if static_v is not None:
        v = static_v.reshape(batch, num_heads, -1, head)
    if add_zero_attn:
        k, v = (pad(x, (0, 0, 0, 1)) for x in (k, v))
        added += 1
    if mask is not None:
        mask = pad(mask, (0, added)) if added else mask
        mask = mask.reshape(batch, num_heads, queries, -1) if mask.dim() == 3 else mask
    if padding is not None:
        padding = pad(padding, (0, added)) if added else padding
        for i, n in enumerate((batch, k.shape[2])):
            if padding.shape[i] != n:
                raise RequirementError(
                    f"Expected key_padded_mask.shape[{i}] to be {n}, but got {padding.shape[i]}",
                    hint=f"key_padding_mask of shape {(batch, keys)}, with batch_first or without",
                )
        padding = padding.reshape(batch, 1, 1, -1)
        mask = padding if mask is None else mask + padding
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q * math.sqrt(1.0 / head)) @ k.transpose(-2, -1)
        weights = softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, p) if p > 0 else weights
        found = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights if is_batched else weights.squeeze(0)
    else:
        # A causal mask that is given need not be read, unless it was merged with another.
        causal = is_causal and key_padding_mask is None
        found = scaled_dot_product_attention(q, k, v, None if causal else mask, p, causal)
    result = linear(found.permute(2, 0, 1, 3).reshape(queries, batch, size), out_proj_weight, out_proj_bias)
    return result if is_batched else result.squeeze(1), weights
