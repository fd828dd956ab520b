"""A small language model: a decoder with causal attention, trained on copies of sequences, and sampled with a cache."""

import dataclasses
import inspect
import math

import torch
import torch.nn as nn
from given import initialize, integers, norms
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


@dataclasses.dataclass
class Config:
    vocabulary: int = 11
    block: int = 12
    layers: int = 2
    heads: int = 2
    width: int = 16
    dropout: float = 0.0
    bias: bool = False
    recompute: bool = False


class LayerNorm(nn.Module):
    """Normalisation with an optional bias."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.width % config.heads == 0
        self.c_attn = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.c_proj = nn.Linear(config.width, config.width, bias=config.bias)
        self.heads, self.flash = config.heads, hasattr(F, "scaled_dot_product_attention")
        mask = torch.tril(torch.ones(config.block, config.block)).view(1, 1, config.block, config.block)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x, flash=True):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        if self.flash and flash:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm_1, self.norm_2 = LayerNorm(config.width, config.bias), LayerNorm(config.width, config.bias)
        self.attn = Attention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width, bias=config.bias),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width, bias=config.bias),
            nn.Dropout(config.dropout),
        )

    def forward(self, x):
        x = x + self.attn(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocabulary, config.width),
                wpe=nn.Embedding(config.block, config.width),
                drop=nn.Dropout(config.dropout),
                h=nn.ModuleList([Block(config) for _ in range(config.layers)]),
                ln_f=LayerNorm(config.width, bias=config.bias),
            )
        )
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.transformer.wte.weight = self.lm_head.weight  # tied
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.layers))

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if getattr(module, "bias", None) is not None:
                torch.nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = checkpoint(block, x, use_reentrant=False) if self.config.recompute else block(x)
        x = self.transformer.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizer(self, decay, lr):
        params = {n: p for n, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": decay},
            {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        extra = {"fused": False} if "fused" in inspect.signature(torch.optim.AdamW).parameters else {}
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), **extra)

    @torch.no_grad()
    def generate(self, idx, count, temperature=1.0, top_k=None):
        for _ in range(count):
            logits, _ = self(idx[:, -self.config.block :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            # quantiles instead of draws: the same with every generator
            total = F.softmax(logits, dim=-1).cumsum(-1)
            chosen = torch.searchsorted(total, torch.full_like(total[:, :1], 0.4)).clamp_(
                max=total.size(-1) - 1
            )
            idx = torch.cat((idx, chosen), dim=1)
        return idx


def rate(step, warmup=2, steps=8, high=1e-2, low=1e-3):
    if step < warmup:
        return high * (step + 1) / warmup
    share = (step - warmup) / (steps - warmup)
    return low + 0.5 * (1.0 + math.cos(math.pi * share)) * (high - low)


def run(folder):
    results = {}
    for recompute in (False, True):
        model = initialize(Decoder(Config(recompute=recompute)), seed=6, scale=0.1)
        optimizer = model.configure_optimizer(0.1, 1e-2)
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        losses = []
        for step in range(6):
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            for micro in range(2):  # gradients are accumulated
                half = integers(100 * step + micro, 11, 4, 6)
                sequence = torch.cat((half, half), 1)
                targets = sequence[:, 1:].clone()
                targets[:, :5] = -1
                with torch.autocast("cpu", enabled=False):
                    _, loss = model(sequence[:, :-1], targets)
                scaler.scale(loss / 2).backward()
                losses.append(loss.item())
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        model.eval()
        start = integers(9, 11, 2, 4)
        attention, x = model.transformer.h[0].attn, torch.linspace(-1, 1, 5 * 16).double().view(1, 5, 16)
        results["recomputed" if recompute else "kept"] = {
            "losses": losses,
            "parameters": norms(model.parameters()),
            "sampled": model.generate(start, 8, temperature=0.8, top_k=5).tolist(),
            "greedy": model.generate(start, 8, top_k=1).tolist(),
            "attention": torch.allclose(attention(x), attention(x, flash=False)),
            "count": sum(p.numel() for p in model.parameters()),
            "names": sorted(model.state_dict()),
        }
    results["text"] = repr(model)
    return results
