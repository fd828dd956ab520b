"""Attention in linear time by random features, and in windows.

packages: local-attention, performer-pytorch
tolerance: 1e-3
"""

import torch
from local_attention import LocalAttention
from performer_pytorch import SelfAttention

torch.manual_seed(0)
x = torch.randn(1, 32, 16, requires_grad=True)
attention = SelfAttention(dim=16, heads=2, dim_head=8, causal=False, nb_features=12)
y = attention(x)
y.square().sum().backward()
print(y.norm().item(), x.grad.norm().item())
q, k, v = (torch.randn(2, 32, 8) for _ in range(3))
local = LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, autopad=True)
print(local(q, k, v, mask=torch.ones(2, 32, dtype=torch.bool)).norm().item())
