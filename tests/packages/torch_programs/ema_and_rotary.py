"""A moving average of a model's parameters, and rotary embeddings of queries and keys.

packages: ema-pytorch, rotary-embedding-torch
tolerance: 1e-5
"""

import torch
from ema_pytorch import EMA
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
net = torch.nn.Linear(8, 8)
ema = EMA(net, beta=0.9, update_after_step=2, update_every=1)
for _ in range(6):
    with torch.no_grad():
        net.weight.add_(0.1 * torch.randn(8, 8))
    ema.update()
x = torch.randn(2, 8)
print(ema(x).norm().item(), net(x).norm().item(), ema.ema_model.weight.sum().item())

rotary = RotaryEmbedding(dim=16)
q, k = torch.randn(1, 2, 12, 32, requires_grad=True), torch.randn(1, 2, 12, 32)
turned_q, turned_k = rotary.rotate_queries_or_keys(q), rotary.rotate_queries_or_keys(k)
scores = torch.einsum("bhid,bhjd->bhij", turned_q, turned_k)
scores.softmax(-1).square().sum().backward()
print(scores.sum().item(), q.grad.norm().item())
axial = RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=32)
print(apply_rotary_emb(axial.get_axial_freqs(4, 6), torch.randn(1, 4, 6, 64)).norm().item())
