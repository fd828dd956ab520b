"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentValueError, RequirementError
from ...ops.arguments import divisors
from .. import functional, init
from ..parameter import register_parameters
from .linear import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear with the class name that torch shows for this layer."""


class MultiheadAttention(Module):
    """The attention softmax(q·kᵀ/√d)·v of linear images of query, key and value, each in `num_heads` parts. Source:
    Vaswani et al., 2017, arXiv:1706.03762.

    Args:
        embed_dim: the size of queries and results.
        num_heads: the parts, a divisor of it.
        dropout: the probability with which a weight is dropped in training.
        bias: whether the linear maps have biases.
        add_bias_kv: one more key and value are parameters, `bias_k` and `bias_v`.
        add_zero_attn: one more key and value are zero.
        kdim, vdim: the sizes of keys and values, where they differ.
        batch_first: inputs are (batch, length, size), not (length, batch, size).
        device, dtype: those of the parameters.

    Raises:
        ValueError, AssertionError: sizes that are not positive, or do not divide each other.

    >>> attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    >>> x = torch.zeros(3, 5, 4)
    >>> results, weights = attention(x, x, x)
    >>> results.shape, weights.shape
    (torch.Size([3, 5, 4]), torch.Size([3, 5, 5]))
    """

    bias_k: Any
    bias_v: Any

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
                "instead",
                hint=f"embed_dim={abs(embed_dim) or num_heads or 1}, num_heads={abs(num_heads) or 1}",
            )
        if embed_dim % num_heads:
            raise RequirementError(
                "embed_dim must be divisible by num_heads", hint=f"num_heads: one of {divisors(embed_dim)}"
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        joint = self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        sizes = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        weights = {f"{name}_proj_weight": None if joint else (embed_dim, n) for name, n in sizes.items()}
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        register_parameters(
            self,
            device,
            dtype,
            **weights,
            in_proj_weight=(3 * embed_dim, embed_dim) if joint else None,
            in_proj_bias=3 * embed_dim if bias else None,
            bias_k=(1, 1, embed_dim) if add_bias_kv else None,
            bias_v=(1, 1, embed_dim) if add_bias_kv else None,
        )
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the weights anew; biases of the linear maps are zero."""
        for name in ("in", "q", "k", "v"):
            weight = getattr(self, f"{name}_proj_weight")
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

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
        """Attend to keys.

        Args:
            query, key, value: see the class; without a batch (length, size).
            key_padding_mask: (batch, keys), true where a key is padding, or numbers that are added to scores.
            need_weights: whether the weights are returned; it is faster without.
            attn_mask: (queries, keys) or (batch·heads, queries, keys), likewise.
            average_attn_weights: the weights are the means of all heads.
            is_causal: `attn_mask` hides all later keys.

        Returns:
            (results in the form of the queries; weights (batch, queries, keys) or (batch, heads, queries, keys), or
            None).
        """
        swap = self.batch_first and query.dim() == 3
        if swap:
            given = {id(x): x.transpose(0, 1) for x in (query, key, value)}  # the same ones stay the same
            query, key, value = (given[id(x)] for x in (query, key, value))
        result, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return result.transpose(0, 1) if swap else result, weights
