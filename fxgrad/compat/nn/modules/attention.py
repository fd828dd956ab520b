"""Attention with several heads."""

from __future__ import annotations

import math
from typing import Any

from ..._core.errors import ArgumentValueError, NotSupportedError
from ..._make.creation import zeros_like
from .. import functional, init
from ..parameter import create_parameters
from .linear import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name by which torch shows it here."""


def mask_to_bias(mask, like) -> Any:
    """Convert a mask, true where a key is not attended to, to numbers that are added to scores."""
    if mask is None or mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)


class MultiheadAttention(Module):
    """softmax(q·kᵀ/√d)·v of linear images of query, key and value, each in `num_heads` parts. Source: Vaswani et al.,
    2017, arXiv:1706.03762.

    Args:
        embed_dim: the size of queries and results.
        num_heads: the parts, a divisor of it.
        dropout: the probability with which a weight is dropped in training.
        bias: whether the linear maps have biases.
        kdim, vdim: the sizes of keys and values, where they differ.
        batch_first: inputs are (batch, length, size), not (length, batch, size).

    Raises:
        NotSupportedError: `add_bias_kv` or `add_zero_attn`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ArgumentValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
        if add_bias_kv or add_zero_attn:
            raise NotSupportedError("MultiheadAttention: add_bias_kv and add_zero_attn are not there")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.head_dim = embed_dim // num_heads
        joint = self.kdim == self.vdim == embed_dim
        sizes = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        weights = {f"{name}_proj_weight": None if joint else (embed_dim, n) for name, n in sizes.items()}
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        create_parameters(
            self,
            device,
            dtype,
            **weights,
            in_proj_weight=(3 * embed_dim, embed_dim) if joint else None,
            in_proj_bias=3 * embed_dim if bias else None,
        )

    def reset_parameters(self) -> None:
        """Draw the weights anew; biases are zero."""
        for name in ("in", "q", "k", "v"):
            weight = getattr(self, f"{name}_proj_weight")
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)

    def _heads(self, inputs: tuple) -> list[Any]:
        """Queries, keys and values: (batch, head, length, size)."""
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = [getattr(self, f"{name}_proj_weight") for name in "qkv"]
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        images = [functional.linear(x, w, b) for x, w, b in zip(inputs, weights, biases)]
        return [x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for x in images]

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights: bool = True,
        attn_mask=None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """(results, weights or None). Masks are true where nothing is to be looked at, or are added to the scores;
        `is_causal` says that `attn_mask` does this for what comes later."""
        inputs = (query, key, value)
        single = query.dim() == 2
        if single:
            inputs = tuple([x.unsqueeze(0) for x in inputs])
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            inputs = tuple([x.transpose(0, 1) for x in inputs])
        q, k, v = self._heads(inputs)
        scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)
        mask = mask_to_bias(attn_mask, scores)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unflatten(0, (scores.shape[0], self.num_heads))
            scores = scores + mask
        padding = mask_to_bias(key_padding_mask, scores)
        if padding is not None:
            scores = scores + padding.unsqueeze(1).unsqueeze(1)
        weights = functional.dropout(scores.softmax(-1), self.dropout, self.training)
        result = self.out_proj((weights @ v).transpose(1, 2).flatten(-2))
        if need_weights and average_attn_weights:
            weights = weights.mean(1)
        if single:
            result, weights = result.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            result = result.transpose(0, 1)
        return result, weights if need_weights else None
