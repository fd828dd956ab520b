"""Transformers: layers of attention and of feed-forward networks. Source: Vaswani et al., 2017, arXiv:1706.03762; with
`norm_first`, Xiong et al., 2020, arXiv:2002.04745.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ..._declare.packages import complete_module
from ..._declare.spaces import SPACES
from ...errors import TensorError
from .. import functional, init
from .attention import MultiheadAttention
from .container import ModuleList
from .functional_modules import MODULES
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Dropout: Any = MODULES["Dropout"]


def causal_mask(size: int, device=None, dtype=None) -> Any:
    """−∞ above the diagonal, and 0 elsewhere."""
    return SPACES["function"]["full"]((size, size), -math.inf, device=device, dtype=dtype).triu(1)


def is_causal_mask(mask, known: bool | None, size: int | None) -> bool:
    """Whether a mask hides all later keys: as stated by the caller, or otherwise as its entries show."""
    if known is not None or mask is None:
        return bool(known)
    causal = causal_mask(mask.shape[-2] if size is None else size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def length_of(x, batch_first: bool) -> int | None:
    """The length of sequences (length, batch, size), (batch, length, size), or (length, size)."""
    return x.shape[1 if batch_first and x.dim() == 3 else 0]


def activation_of(given: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The activation function, given by name or as a function."""
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise TensorError(
            f"activation should be relu/gelu, not {given}",
            hint="activation=torch.nn.functional.silu: any function of a Tensor is taken",
        )
    return getattr(functional, given)


def copies_of(module: Module, count: int) -> ModuleList:
    """Return a number of copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerLayer(Module):
    """The base of layers: blocks one after the other, each added to its input; `_fx_attentions` are the names of those
    that attend."""

    _fx_attentions: tuple[str, ...]
    dropout: Any
    linear1: Linear
    linear2: Linear

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._fx_attentions:
            made = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
            )
            setattr(self, name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        numbers = range(1, len(self._fx_attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = activation_of(activation)

    def _fx_add_block(self, x, number: int, block: Callable[[Any], Any]) -> Any:
        """x + block(x), normalized."""
        norm = getattr(self, f"norm{number}")
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _fx_attend(self, number: int, name: str, x, keys, mask, padding, is_causal: bool) -> Any:
        """The block of an attention."""
        attention = getattr(self, name)
        found, _ = attention(
            x,
            keys,
            keys,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )
        return getattr(self, f"dropout{number}")(found)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal: bool = False) -> Any:
        """The self-attention block."""
        return self._fx_attend(1, "self_attn", x, x, attn_mask, key_padding_mask, is_causal)

    def _ff_block(self, x) -> Any:
        """The block of the linear maps."""
        last = getattr(self, f"dropout{len(self._fx_attentions) + 1}")
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": functional.relu} | state)


class TransformerEncoderLayer(TransformerLayer):
    """Attention of a sequence to itself, then two linear maps.

    Source: A. Vaswani et al., Attention is all you need, NeurIPS 2017.

    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
    >>> layer(torch.zeros(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    _fx_attentions = ("self_attn",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 if the activation is ReLU, 2 if it is GELU, and 0 otherwise."""
        kinds = (functional.relu, MODULES["ReLU"]), (functional.gelu, MODULES["GELU"])
        for i, (function, cls) in enumerate(kinds, 1):
            if self.activation is function or isinstance(self.activation, cls):
                return i
        return 0

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal: bool = False) -> Any:
        """Change a sequence.

        Args:
            src: (length, batch, d_model), (batch, length, d_model) where `batch_first`, or (length, d_model).
            src_mask, src_key_padding_mask, is_causal: see `MultiheadAttention`.
        """
        x = self._fx_add_block(
            src, 1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)
        )
        return self._fx_add_block(x, 2, self._ff_block)


class TransformerDecoderLayer(TransformerLayer):
    """Attention of a sequence to itself, then to another one, then two linear maps.

    Source: A. Vaswani et al., Attention is all you need, NeurIPS 2017.

    >>> layer = torch.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> layer(torch.zeros(5, 3, 4), torch.zeros(7, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    _fx_attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Change a sequence by what an encoder made of another.

        Args:
            tgt: (length, batch, d_model), (batch, length, d_model) where `batch_first`, or (length, d_model).
            memory: the other sequence, likewise.
            tgt_mask, tgt_key_padding_mask, tgt_is_causal: those of `tgt`, see `MultiheadAttention`.
            memory_mask, memory_key_padding_mask, memory_is_causal: those of `memory`.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._fx_add_block(tgt, 1, lambda x: self._sa_block(x, *own))
        x = self._fx_add_block(x, 2, lambda x: self._mha_block(x, memory, *other))
        return self._fx_add_block(x, 3, self._ff_block)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal: bool = False) -> Any:
        """The block of attention to another sequence."""
        return self._fx_attend(2, "multihead_attn", x, mem, attn_mask, key_padding_mask, is_causal)


class TransformerEncoder(Module):
    """Copies of an encoder layer one after the other.

    Args:
        encoder_layer: the layer that is copied.
        enable_nested_tensor, mask_check: accepted and kept; they concern a faster way of torch's, and no results that
            count.

    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.zeros(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    norm: Module | None

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        super().__init__()
        self.layers = copies_of(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal: bool | None = None) -> Any:
        """Change a sequence by all layers; without `is_causal` they look whether `mask` hides all later keys.

        Args:
            src: the sequence.
            src_key_padding_mask: where keys are padding.
        """
        batch_first = self.layers[0].self_attn.batch_first
        causal = is_causal_mask(mask, is_causal, length_of(src, batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer one after the other.

    Args:
        decoder_layer: the layer that is copied.

    >>> layer = torch.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> torch.nn.TransformerDecoder(layer, 2)(torch.zeros(5, 3, 4), torch.zeros(7, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    norm: Module | None

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__()
        self.layers = copies_of(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Change a sequence by all layers; without `tgt_is_causal` they look whether `tgt_mask` hides later keys.

        Args:
            tgt: the sequence.
            memory: what the encoder made of the other one.
            tgt_mask, memory_mask: what is hidden from whom: see `nn.functional.scaled_dot_product_attention`.
            tgt_key_padding_mask, memory_key_padding_mask: where keys are padding.
            memory_is_causal: whether `memory_mask` hides all later keys.
        """
        batch_first = self.layers[0].self_attn.batch_first
        causal = is_causal_mask(tgt_mask, tgt_is_causal, length_of(tgt, batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that attends to what it made.

    Args:
        num_encoder_layers, num_decoder_layers: how many layers there are.
        custom_encoder, custom_decoder: modules in place of those that are made here.

    >>> model = torch.nn.Transformer(4, 2, 1, 1, dim_feedforward=8)
    >>> model(torch.zeros(7, 3, 4), torch.zeros(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        options: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options, **place)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*options, **place)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        """Draw all matrices anew."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Decode `tgt` after `src` was encoded; for the masks see `TransformerDecoderLayer.forward`.

        Raises:
            RuntimeError: batches that are not of one size, or vectors that are not of the size `d_model`.
        """
        axis = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[axis] != tgt.shape[axis]:
            raise TensorError(
                "the batch number of src and tgt must be equal",
                hint=f"batch_first={not self.batch_first}"
                if src.shape[1 - axis] == tgt.shape[1 - axis]
                else "src.expand(…)",
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise TensorError(
                "the feature number of src and tgt must be equal to d_model",
                hint=f"torch.nn.Linear(n, {self.d_model}) before, for vectors of another size n",
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device=None, dtype=None) -> Any:
        """The mask (sz, sz) that hides all later keys: −∞ above the diagonal, and 0 elsewhere.

        Args:
            sz: the length of the sequence.
            device, dtype: of the mask.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return causal_mask(sz, device, dtype)


complete_module(globals(), "nn.modules.transformer")
