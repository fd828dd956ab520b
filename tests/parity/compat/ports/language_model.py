"""A character-level transformer: causal attention, tied weights, label smoothing, warm-up, clipping."""

import math

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. " * 4


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads, block):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (z.view(B, T, self.heads, C // self.heads).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, d, heads, block):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, heads, block)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d, 4 * d), "act": nn.GELU(approximate="tanh"), "proj": nn.Linear(4 * d, d)}
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        h = self.mlp
        return x + h["proj"](h["act"](h["fc"](self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, vocab, d=16, heads=2, layers=2, block=12):
        super().__init__()
        self.block = block
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.zeros(1, block, d))
        self.blocks = nn.ModuleList([Block(d, heads, block) for _ in range(layers)])
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos[:, : idx.size(1)]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1, label_smoothing=0.1
            )
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -self.block :])
            idx = torch.cat((idx, logits[:, -1, :].argmax(-1, keepdim=True)), dim=1)
        return idx


def main():
    rng = np.random.default_rng(2)
    chars = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([stoi[c] for c in TEXT], dtype=torch.long)
    model = GPT(len(chars)).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.as_tensor(rng.normal(0, 0.08, p.shape)))
    decay = {n: p for n, p in model.named_parameters() if p.dim() >= 2}
    nodecay = {n: p for n, p in model.named_parameters() if p.dim() < 2}
    opt = torch.optim.AdamW(
        [
            {"params": list(decay.values()), "weight_decay": 0.1},
            {"params": list(nodecay.values()), "weight_decay": 0.0},
        ],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda it: min(1.0, (it + 1) / 4) * 0.5 * (1 + math.cos(math.pi * it / 20))
    )
    losses, lrs, norms = [], [], []
    for _ in range(12):
        ix = torch.from_numpy(rng.integers(0, len(data) - 13, 8))
        xb = torch.stack([data[i : i + 12] for i in ix])
        yb = torch.stack([data[i + 1 : i + 13] for i in ix]).clone()
        yb[0, :3] = -1
        _, loss = model(xb, yb)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        opt.step()
        sched.step()
        losses.append(loss.item())
        lrs.append(opt.param_groups[0]["lr"])
    model.eval()
    out = model.generate(torch.zeros((1, 1), dtype=torch.long), 20)[0].tolist()
    logits, _ = model(data[None, :12])
    sd = F.scaled_dot_product_attention(logits, logits, logits, is_causal=True)
    return {
        "losses": losses,
        "lrs": lrs,
        "norms": torch.stack(norms).numpy(),
        "text": "".join(chars[i] for i in out),
        "logits": logits.detach().numpy(),
        "sdpa": sd.detach().numpy(),
        "tied": model.head.weight is model.tok.weight,
        "names": [n for n, _ in model.named_parameters()],
        "keys": list(model.state_dict()),
    }
