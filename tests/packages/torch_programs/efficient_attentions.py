"""Attention in less than quadratic time: Reformer, Linformer.

packages: reformer-pytorch, linformer
tolerance: 1e-3
"""

import torch
from linformer import Linformer
from reformer_pytorch import ReformerLM

torch.manual_seed(0)
model = Linformer(dim=16, seq_len=32, depth=2, heads=2, k=8)
x = torch.randn(2, 32, 16, requires_grad=True)
y = model(x)
y.square().mean().backward()
print(y.norm().item(), x.grad.norm().item())
model = ReformerLM(
    num_tokens=30,
    dim=32,
    depth=2,
    max_seq_len=64,
    heads=2,
    bucket_size=8,
    n_hashes=2,
    causal=True,
    lsh_dropout=0.0,
)
ids = torch.randint(30, (1, 64))
logits = model(ids)
loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
print(loss.item(), model.token_emb.weight.grad.norm().item())
